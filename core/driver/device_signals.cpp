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

// The slabs of this process and the object that pins them. Constant-initialised, never destroyed.
struct Slabs {
  Mutex mutex;
  void* list[4096] RIGEL_GUARDED_BY(mutex) = {};
  size_t count RIGEL_GUARDED_BY(mutex) = 0;
  DeviceSignals* owner RIGEL_GUARDED_BY(mutex) = nullptr;
  bool uses_second_allocator RIGEL_GUARDED_BY(mutex) =
      false;  // which of two equal allocators is installed: a change makes the pool use new slabs
  uint64_t address_limit RIGEL_GUARDED_BY(mutex) = 0;
};
constinit Slabs slabs;

// Signals that have waiters: rings through their hook_data, {next, previous}, with a head that is not a
// signal. Linked and unlinked under the signal's wake lock and `ring_lock`.
struct Ring {
  uint64_t head[2];
  uint64_t cursor[2];  // linked while only the signals before it have been announced

  uint64_t head_node() const noexcept { return reinterpret_cast<uint64_t>(head); }
  uint64_t cursor_node() const noexcept { return reinterpret_cast<uint64_t>(cursor); }
};
constinit WakeLock ring_lock;
constinit Ring usual_ring{}, exception_ring{};

uint64_t* links_of(uint64_t node) noexcept {
  for (Ring* ring : {&usual_ring, &exception_ring}) {
    if (node == ring->head_node()) return ring->head;
    if (node == ring->cursor_node()) return ring->cursor;
  }
  return reinterpret_cast<Signal*>(node)->hook_data;
}

void link_after(uint64_t before, uint64_t node) noexcept {
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
  Ring& ring = signal.has_attribute(kSignalException) ? exception_ring : usual_ring;
  const std::lock_guard lock(ring_lock);
  if (signal.hook_data[0] != 0) return;
  if (ring.head[0] == 0) ring.head[0] = ring.head[1] = ring.head_node();
  link_after(ring.head_node(), reinterpret_cast<uint64_t>(&signal));
}

void waiting_ended(Signal& signal) noexcept {
  const std::lock_guard lock(ring_lock);
  if (signal.hook_data[0] != 0) unlink(signal.hook_data);
}

constexpr SignalHooks kHooks{waiting_began,     waiting_ended,     event_duty::watch,
                             event_duty::sleep, event_duty::awake, event_duty::wake_in_driver};

// Notifies in batches, because there may be no memory for a list of all. Signals' memory stays mapped, so
// signals that were destroyed after they were found do not matter. Signals that were linked later have been
// polled by their waiters.
void notify_all(Ring& ring) noexcept {
  for (bool more = true; more;) {
    Signal* found[64];
    size_t count = 0;
    {
      const std::lock_guard lock(ring_lock);
      uint64_t node = ring.head[0];
      if (ring.cursor[0] != 0) {
        node = ring.cursor[0];
        unlink(ring.cursor);
      }
      for (; node != 0 && node != ring.head_node() && count != std::size(found); node = links_of(node)[0])
        found[count++] = reinterpret_cast<Signal*>(node);
      more = node != 0 && node != ring.head_node();
      if (more) link_after(links_of(node)[1], ring.cursor_node());
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
    // At the host's address, which the GPUs must be able to use.
    const Kfd& kfd = slabs.owner->kfd_;
    void* const cursor = kfd.reserve(kBytes, kBytes);
    if (cursor == nullptr) return nullptr;
    slab = kfd.transport().mmap(cursor, kBytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (slab == nullptr) {
      kfd.release_addresses(cursor, kBytes);
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
                                                            signal_pool::Interrupt exception) {
  std::unique_ptr<DeviceSignals> self(new DeviceSignals(kfd));
  bool uses_second_allocator;
  {
    const MutexLock lock(slabs.mutex);
    // These GPUs may address less than those of an earlier runtime. Signals in slabs beyond their limit are
    // for the host only, and no signals are created there.
    const auto out_of_reach = [&](void* slab) {
      return reinterpret_cast<uint64_t>(slab) + signal_pool::kSlabBytes - 1 > kfd.address_limit();
    };
    void** const end = std::remove_if(slabs.list, slabs.list + slabs.count, out_of_reach);
    const auto left = static_cast<size_t>(end - slabs.list);
    slabs.uses_second_allocator ^= left != slabs.count;
    slabs.count = left;
    for (size_t i = 0; i < slabs.count; ++i) {
      if (const Status status = self->pin_slab(slabs.list[i]); status != HSA_STATUS_SUCCESS) {
        return error(status);
      }
    }
    slabs.owner = self.get();
    uses_second_allocator = slabs.uses_second_allocator;
  }
  static constexpr signal_pool::SlabAllocator kAllocators[] = {{allocate_slab, nullptr, nullptr, true},
                                                               {allocate_slab, nullptr, nullptr, true}};
  signal_pool::install_allocator(&kAllocators[uses_second_allocator]);
  install_signal_hooks(&kHooks);  // never removed: signals that are waited on outlive a runtime
  signal_pool::set_interrupts(usual, exception);
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
      usual_ring.head[0] == usual_ring.cursor_node() ? usual_ring.cursor[0] : usual_ring.head[0];
  return first != 0 && first != usual_ring.head_node();
}

void DeviceSignals::announce() noexcept {
  notify_all(usual_ring);
}

void DeviceSignals::announce_exceptions() noexcept {
  notify_all(exception_ring);
}

void DeviceSignals::reset_after_fork() noexcept {
  new (&slabs.mutex) Mutex;
  const MutexLock lock(slabs.mutex);
  slabs.owner = nullptr;
  slabs.count = 0;  // the parent's signals are not signals in this process
  ring_lock.reset_after_fork();
  usual_ring = exception_ring = {};
  event_duty::reset_after_fork();
}

}  // namespace rigel
