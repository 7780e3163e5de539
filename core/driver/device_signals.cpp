#include "core/driver/device_signals.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "api/support/mutex.hpp"
#include "core/driver/event_duty.hpp"
#include "core/signal/signal.hpp"
#include "core/signal/signal_pool.hpp"
#include "core/signal/wake_lock.hpp"

namespace rigel {
namespace {

// The slabs of this process, and who pins them. Constant-initialised, never destroyed.
struct Slabs {
  Mutex mutex;
  void* list[4096] RIGEL_GUARDED_BY(mutex) = {};
  size_t count RIGEL_GUARDED_BY(mutex) = 0;
  DeviceSignals* owner RIGEL_GUARDED_BY(mutex) = nullptr;
  bool turn RIGEL_GUARDED_BY(mutex) =
      false;  // which of two equal allocators is installed: the pool starts anew with another
  uint64_t address_limit RIGEL_GUARDED_BY(mutex) = 0;
};
constinit Slabs slabs;

// Signals that somebody waits for: rings through their hook_data, {next, previous}, with a head that is no
// signal. Linked and unlinked under the signal's own wake lock and this one.
struct Ring {
  uint64_t head[2];
  uint64_t place[2];  // is linked while only the signals before it have been announced

  uint64_t head_node() const noexcept { return reinterpret_cast<uint64_t>(head); }
  uint64_t place_node() const noexcept { return reinterpret_cast<uint64_t>(place); }
};
constinit WakeLock ring_lock;
constinit Ring usual_ring{}, alarm_ring{};

uint64_t* links_of(uint64_t node) noexcept {
  for (Ring* ring : {&usual_ring, &alarm_ring}) {
    if (node == ring->head_node()) return ring->head;
    if (node == ring->place_node()) return ring->place;
  }
  return reinterpret_cast<Signal*>(node)->hook_data;
}

void link_behind(uint64_t before, uint64_t node) noexcept {
  uint64_t* const links = links_of(node);
  links[0] = links_of(before)[0];
  links[1] = before;
  links_of(links[0])[1] = node;
  links_of(before)[0] = node;
}

void unlink(uint64_t* links) noexcept {
  links_of(links[1])[0] = links[0];
  links_of(links[0])[1] = links[1];
  links[0] = links[1] = 0;
}

void waiting_began(Signal& signal) noexcept {
  Ring& ring = signal.has_attribute(kSignalAlarm) ? alarm_ring : usual_ring;
  const std::lock_guard lock(ring_lock);
  if (signal.hook_data[0] != 0) return;
  if (ring.head[0] == 0) ring.head[0] = ring.head[1] = ring.head_node();
  link_behind(ring.head_node(), reinterpret_cast<uint64_t>(&signal));
}

void waiting_ended(Signal& signal) noexcept {
  const std::lock_guard lock(ring_lock);
  if (signal.hook_data[0] != 0) unlink(signal.hook_data);
}

constexpr SignalHooks kHooks{waiting_began,     waiting_ended,     event_duty::watch,
                             event_duty::sleep, event_duty::awake, event_duty::wake_in_driver};

// So many at a time, as there may be no memory for all. Signals' memory stays, so it does not matter that some may have
// been destroyed since they were found; nor that those who came since are left out, who have looked for themselves.
void notify_all(Ring& ring) noexcept {
  for (bool more = true; more;) {
    Signal* found[64];
    size_t count = 0;
    {
      const std::lock_guard lock(ring_lock);
      uint64_t node = ring.head[0];
      if (ring.place[0] != 0) {
        node = ring.place[0];
        unlink(ring.place);
      }
      for (; node != 0 && node != ring.head_node() && count != std::size(found); node = links_of(node)[0])
        found[count++] = reinterpret_cast<Signal*>(node);
      more = node != 0 && node != ring.head_node();
      if (more) link_behind(links_of(node)[1], ring.place_node());
    }
    for (size_t i = 0; i < count; ++i) found[i]->notify();
  }
}

}  // namespace

void* DeviceSignals::allocate_slab(void*) noexcept {
  const MutexLock lock(slabs.mutex);
  if (slabs.count == std::size(slabs.list)) return nullptr;
  constexpr size_t kBytes = signal_pool::kSlabBytes;
  void* slab = nullptr;
  if (slabs.owner != nullptr) {
    // Where the GPUs can address it, at the host's own address.
    const Kfd& kfd = slabs.owner->kfd_;
    void* const place = kfd.reserve(kBytes, kBytes);
    if (place == nullptr) return nullptr;
    slab = kfd.transport().mmap(place, kBytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (slab == nullptr) {
      kfd.release_addresses(place, kBytes);
      return nullptr;
    }
    if (slabs.owner->pin_slab(slab) != HSA_STATUS_SUCCESS) {
      kfd.release_addresses(slab, kBytes);
      return nullptr;
    }
  } else {
    void* const raw = ::mmap(nullptr, 2 * kBytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED) return nullptr;
    const auto at = (reinterpret_cast<uintptr_t>(raw) + kBytes - 1) & ~(kBytes - 1);
    slab = reinterpret_cast<void*>(at);
    const size_t before = at - reinterpret_cast<uintptr_t>(raw);
    if (before != 0) ::munmap(raw, before);
    ::munmap(static_cast<std::byte*>(slab) + kBytes, kBytes - before);
  }
  slabs.list[slabs.count++] = slab;
  return slab;
}

Status DeviceSignals::pin_slab(void* slab) {
  const auto handle =
      kfd_.pin(*kfd_.gpus().front(), slab, signal_pool::kSlabBytes,
               KFD_MEM_WRITABLE | KFD_MEM_EXECUTABLE | KFD_MEM_COHERENT | KFD_MEM_NO_SUBSTITUTE,
               reinterpret_cast<uint64_t>(slab));
  if (!handle) return handle.error();
  const Status status = kfd_.map(*handle, kfd_.all_gpu_ids());
  if (status != HSA_STATUS_SUCCESS) {
    kfd_.free_handle(*handle);
    return status;
  }
  try {
    handles_.push_back(*handle);
  } catch (const std::bad_alloc&) {
    kfd_.free_handle(*handle);
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  }
  return HSA_STATUS_SUCCESS;
}

Result<std::unique_ptr<DeviceSignals>> DeviceSignals::begin(Kfd& kfd, signal_pool::Interrupt usual,
                                                            signal_pool::Interrupt alarm) {
  std::unique_ptr<DeviceSignals> self(new DeviceSignals(kfd));
  bool turn;
  {
    const MutexLock lock(slabs.mutex);
    // These GPUs may see fewer addresses than those of an earlier life. Signals that live where they do not
    // look stay the host's, and no more are made there.
    const auto out_of_reach = [&](void* slab) {
      return reinterpret_cast<uint64_t>(slab) + signal_pool::kSlabBytes - 1 > kfd.address_limit();
    };
    void** const end = std::remove_if(slabs.list, slabs.list + slabs.count, out_of_reach);
    const auto left = static_cast<size_t>(end - slabs.list);
    slabs.turn ^= left != slabs.count;
    slabs.count = left;
    for (size_t i = 0; i < slabs.count; ++i) {
      if (const Status status = self->pin_slab(slabs.list[i]); status != HSA_STATUS_SUCCESS) {
        return error(status);
      }
    }
    slabs.owner = self.get();
    turn = slabs.turn;
  }
  static constexpr signal_pool::SlabAllocator kAllocators[] = {{allocate_slab, nullptr, nullptr, true},
                                                               {allocate_slab, nullptr, nullptr, true}};
  signal_pool::install_allocator(&kAllocators[turn]);
  install_signal_hooks(&kHooks);  // they stay: signals that are waited for outlive a runtime
  signal_pool::set_interrupts(usual, alarm);
  return self;
}

DeviceSignals::~DeviceSignals() {
  {
    const MutexLock lock(slabs.mutex);
    if (slabs.owner == this) {
      slabs.owner = nullptr;
      signal_pool::set_interrupts({}, {});
    }
  }
  for (const uint64_t handle : handles_) kfd_.free_handle(handle);
}

bool DeviceSignals::anyone_waits() noexcept {
  const std::lock_guard lock(ring_lock);
  const uint64_t first =
      usual_ring.head[0] == usual_ring.place_node() ? usual_ring.place[0] : usual_ring.head[0];
  return first != 0 && first != usual_ring.head_node();
}

void DeviceSignals::announce() noexcept {
  notify_all(usual_ring);
}

void DeviceSignals::announce_alarms() noexcept {
  notify_all(alarm_ring);
}

void DeviceSignals::reset_after_fork() noexcept {
  new (&slabs.mutex) Mutex;
  const MutexLock lock(slabs.mutex);
  slabs.owner = nullptr;
  slabs.count = 0;  // the parent's signals are no signals here
  ring_lock.reset_after_fork();
  usual_ring = alarm_ring = {};
  event_duty::reset_after_fork();
}

}  // namespace rigel
