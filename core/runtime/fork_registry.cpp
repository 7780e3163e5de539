#include "core/runtime/fork_registry.hpp"

#include <iterator>

#include "api/support/mutex.hpp"
#include "core/driver/device_signals.hpp"
#include "core/driver/kfd.hpp"
#include "core/executable/fork.hpp"
#include "core/queue/intercept_queue.hpp"
#include "core/signal/shared_signals.hpp"
#include "core/signal/signal_pool.hpp"
#include "core/topology/device_clock.hpp"
#include "loader/module/loaded_backend.hpp"

namespace rigel::fork_registry {
namespace {

struct Entry {
  void (*before)() noexcept = nullptr;
  void (*after)() noexcept = nullptr;  // runs in parent and child
  void (*in_child)() noexcept = nullptr;
};

template <Mutex& (*kMutex)() noexcept>
RIGEL_UNCHECKED_LOCKS void lock() noexcept {
  kMutex().lock();
}
template <Mutex& (*kMutex)() noexcept>
RIGEL_UNCHECKED_LOCKS void unlock() noexcept {
  kMutex().unlock();
}

// Locks are held from `before` to `after`.
template <Mutex& (*kMutex)() noexcept>
constexpr Entry held{.before = lock<kMutex>, .after = unlock<kMutex>};

// In the order of acquisition.
constexpr Entry kEntries[] = {
    held<loaded_backends_mutex>,
    held<debug_list_mutex>,
    held<loaded_files_mutex>,
    {.in_child = DeviceClock::reset_after_fork},
    {.in_child = Kfd::reset_after_fork},
    {.in_child = DeviceSignals::reset_after_fork},
    {shared_signals::before_fork, shared_signals::after_fork, shared_signals::reset_after_fork},
    {.in_child = signal_pool::reset_after_fork},
    {.in_child = reset_intercept_queues_after_fork},
};

}  // namespace

void before_fork() noexcept {
  for (const Entry& entry : kEntries) {
    if (entry.before != nullptr) entry.before();
  }
}

void after_fork() noexcept {
  for (auto entry = std::rbegin(kEntries); entry != std::rend(kEntries); ++entry) {
    if (entry->after != nullptr) entry->after();
  }
}

void reset_child() noexcept {
  for (const Entry& entry : kEntries) {
    if (entry.in_child != nullptr) entry.in_child();
  }
}

}  // namespace rigel::fork_registry
