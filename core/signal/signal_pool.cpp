#include "core/signal/signal_pool.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <mutex>

#include "api/support/log.hpp"
#include "core/signal/thread_free_list.hpp"
#include "core/signal/wait_node.hpp"

namespace rigel {
namespace signal_pool {
namespace {

constexpr uint32_t kMaxSlabs = 4096;
constexpr uint32_t kSlotBits = 14;
static_assert(size_t{1} << kSlotBits == kSignalsPerSlab);

// The signals that are free for any thread form a stack. The low bits of its head are the index of the top
// signal plus one (0: empty). The bits above are a tag that changes with each pop and push. A stale head
// therefore differs from the current one (a tag repeats after 137 thousand million operations).
constexpr uint64_t kIndexMask = (uint64_t{1} << 27) - 1;
constexpr uint64_t kTagUnit = kIndexMask + 1;
static_assert(uint64_t{kMaxSlabs} << kSlotBits <= kIndexMask);

struct alignas(64) FreeList {
  std::atomic<uint64_t> head{0};
};

// A thread first uses the signals that it has destroyed itself. Static TLS, which is accessed without a call:
// 24 bytes.
enum class CacheState : uint8_t { kUnused, kOpen, kThreadEnds };
[[gnu::tls_model("initial-exec")]] constinit thread_local ThreadFreeList cached;
[[gnu::tls_model("initial-exec")]] constinit thread_local CacheState cache_state = CacheState::kUnused;

// Signals that are created from a slab at once if none is free: a page of them.
constexpr uint32_t kCarved = 32;

constinit FreeList free_list;
constinit std::array<std::atomic<Signal*>, kMaxSlabs> slabs{};
constinit std::atomic<uint32_t> first_index{0};  // first signal in the slabs of the current allocator

// Event by which devices announce that they have changed a signal. The mailbox is set last and cleared first.
struct DeviceInterrupt {
  std::atomic<uint64_t> mailbox{0};
  std::atomic<uint32_t> event{0};
};
constinit DeviceInterrupt usual_interrupt, exception_interrupt;

// Set of slab addresses: open addressing by slab number of the address, entries only added.
constexpr uint32_t kRegistryBits = 13;
static_assert(1u << kRegistryBits >= 2 * kMaxSlabs);
constinit std::array<std::atomic<uintptr_t>, size_t{1} << kRegistryBits> registry{};

void* map_anonymous_slab(void*) noexcept {
  // Twice the size contains an aligned slab; the rest is unmapped.
  void* const mapped = mmap(nullptr, 2 * kSlabBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(mapped);
  const size_t misaligned = reinterpret_cast<uintptr_t>(mapped) % kSlabBytes;
  const size_t before = misaligned == 0 ? 0 : kSlabBytes - misaligned;
  if (before != 0) munmap(begin, before);
  munmap(begin + before + kSlabBytes, kSlabBytes - before);
  return begin + before;
}

constexpr SlabAllocator kAnonymousSlabs{map_anonymous_slab, nullptr, nullptr, true};

// State under the lock that adds slabs.
struct Growth {
  WakeLock lock;
  const SlabAllocator* allocator = &kAnonymousSlabs;
  uint32_t slab_count = 0;                // total
  uint32_t first_slab = 0;                // index of the current allocator's first slab
  uint32_t first_of_process = 0;          // index of this process's first slab
  uint32_t slots_used = kSignalsPerSlab;  // number of used slots in the last slab
  uint32_t registered = 0;                // slabs, including those taken by take_slab
  uint32_t epoch = 0;                     // changes with the allocator
  std::array<bool, kMaxSlabs> inherited_by_fork{};
  std::array<uint16_t, kMaxSlabs> slots_carved{};  // number of carved slots in each slab
};
constinit Growth growth;

Signal& at(uint32_t index) noexcept {
  return slabs[index >> kSlotBits].load(std::memory_order_relaxed)[index & (kSignalsPerSlab - 1)];
}

Signal* pop() noexcept {
  uint64_t head = free_list.head.load(std::memory_order_acquire);
  while ((head & kIndexMask) != 0) {
    Signal& top = at(static_cast<uint32_t>(head & kIndexMask) - 1);
    // If another thread pops it first, this reads a signal in use, and the tag differs.
    const uint64_t next = top.next_free.load(std::memory_order_relaxed);
    const uint64_t popped = ((head & ~kIndexMask) + kTagUnit) | next;
    if (free_list.head.compare_exchange_weak(head, popped, std::memory_order_acquire)) return &top;
  }
  return nullptr;
}

// Pushes a chain of signals that next_free links from first to last.
void push(Signal& first, Signal& last) noexcept {
  uint64_t head = free_list.head.load(std::memory_order_relaxed);
  uint64_t pushed;
  do {
    last.next_free.store(static_cast<uint32_t>(head & kIndexMask), std::memory_order_relaxed);
    pushed = ((head & ~kIndexMask) + kTagUnit) | (first.index + 1);
  } while (!free_list.head.compare_exchange_weak(head, pushed, std::memory_order_release,
                                                 std::memory_order_relaxed));
}

// Returns the signal that this thread has destroyed last; null if it keeps none.
Signal* take_cached() noexcept {
  const uint32_t oldest = first_index.load(std::memory_order_relaxed);
  while (!cached.empty()) {
    Signal& last = cached.take(at);
    if (last.index >= oldest) return &last;  // otherwise it is from a previous allocator
  }
  return nullptr;
}

// Releases this thread's free signals to all threads.
void release_cached() noexcept {
  Signal* const first = take_cached();
  if (first == nullptr) return;
  Signal* last = first;
  while (Signal* next = take_cached()) {
    last->next_free.store(next->index + 1, std::memory_order_relaxed);
    last = next;
  }
  push(*first, *last);
}

void at_thread_end(void*) noexcept {
  cache_state = CacheState::kThreadEnds;  // later destructors of the thread may still destroy signals
  release_cached();
}

// A key instead of a thread_local object: without memory for the destructor of such an object, the C library
// ends the process. Created without a lock, because a forked child could inherit it locked.
constinit std::atomic<uint64_t> thread_end_key{0};  // the key plus one; 0: not created

bool heed_thread_end() noexcept {
  uint64_t known = thread_end_key.load();
  if (known == 0) {
    pthread_key_t made = 0;
    if (pthread_key_create(&made, at_thread_end) != 0) return false;
    if (thread_end_key.compare_exchange_strong(known, uint64_t{made} + 1)) {
      known = uint64_t{made} + 1;
    } else {
      pthread_key_delete(made);
    }
  }
  return pthread_setspecific(static_cast<pthread_key_t>(known - 1), &cached) == 0;
}

void free_signal(Signal& signal) noexcept {
  if (cache_state != CacheState::kOpen) [[unlikely]] {
    if (cache_state == CacheState::kThreadEnds || !heed_thread_end()) return push(signal, signal);
    cache_state = CacheState::kOpen;
  }
  if (cached.full()) [[unlikely]]
    release_cached();
  cached.put(signal);
}

size_t registry_slot(uintptr_t slab) noexcept {
  return (slab / kSlabBytes) * 0x9e3779b97f4a7c15u >> (64 - kRegistryBits);
}

void register_slab(uintptr_t slab) noexcept {
  size_t slot = registry_slot(slab);
  while (registry[slot].load(std::memory_order_relaxed) != 0) slot = (slot + 1) % registry.size();
  registry[slot].store(slab, std::memory_order_release);
}

bool is_slab(uintptr_t slab) noexcept {
  for (size_t slot = registry_slot(slab);; slot = (slot + 1) % registry.size()) {
    const uintptr_t entry = registry[slot].load(std::memory_order_acquire);
    if (entry == 0) return false;
    if (entry == slab) return true;
  }
}

// Called under growth.lock.
void* new_slab() noexcept {
  if (growth.registered == kMaxSlabs) {
    log_message(LogLevel::kError, LogTopic::kSignal, "signals: the maximum of {} is reached",
                kMaxSlabs * kSignalsPerSlab);
    return nullptr;
  }
  void* const slab = growth.allocator->allocate(growth.allocator->context);
  if (slab == nullptr || reinterpret_cast<uintptr_t>(slab) % kSlabBytes != 0) {
    log_message(LogLevel::kError, LogTopic::kSignal,
                "signals: out of memory ({} of {} slabs; the allocator returned {})", growth.slab_count,
                kMaxSlabs, slab);
    return nullptr;
  }
  ++growth.registered;
  register_slab(reinterpret_cast<uintptr_t>(slab));
  return slab;
}

// Called under growth.lock.
bool add_slab() noexcept {
  void* const slab = new_slab();
  if (slab == nullptr) return false;
  slabs[growth.slab_count].store(static_cast<Signal*>(slab), std::memory_order_relaxed);
  growth.inherited_by_fork[growth.slab_count] = growth.allocator->inherited_by_fork;
  ++growth.slab_count;
  growth.slots_used = 0;
  return true;
}

// Creates signals in new memory: returns one and frees the others of its page.
Signal* carve() noexcept {
  const std::lock_guard lock(growth.lock);
  if (Signal* signal = pop()) return signal;  // another thread has added signals
  if (growth.slots_used == kSignalsPerSlab && !add_slab()) return nullptr;
  const uint32_t begin = ((growth.slab_count - 1) << kSlotBits) + growth.slots_used;
  growth.slots_used += kCarved;
  growth.slots_carved[growth.slab_count - 1] = static_cast<uint16_t>(growth.slots_used);
  for (uint32_t i = begin; i < begin + kCarved; ++i) {
    Signal& signal = at(i);
    signal.index = i;
    signal.next_free.store(i + 2, std::memory_order_relaxed);  // index of the next signal, plus one
  }
  push(at(begin + 1), at(begin + kCarved - 1));
  return &at(begin);
}
static_assert(kSignalsPerSlab % kCarved == 0);

void forget_free_signals() noexcept {
  ++growth.epoch;
  growth.first_slab = growth.slab_count;
  growth.slots_used = kSignalsPerSlab;
  first_index.store(growth.slab_count << kSlotBits, std::memory_order_relaxed);
  // The tag continues, for threads that have read the old head.
  uint64_t head = free_list.head.load(std::memory_order_relaxed);
  while (!free_list.head.compare_exchange_weak(head, (head & ~kIndexMask) + kTagUnit)) {
  }
}

}  // namespace

void install_allocator(const SlabAllocator* allocator) noexcept {
  if (allocator == nullptr) allocator = &kAnonymousSlabs;
  const std::lock_guard lock(growth.lock);
  if (allocator == growth.allocator) return;
  if (growth.allocator->retire != nullptr) {
    for (uint32_t i = growth.first_slab; i < growth.slab_count; ++i) {
      growth.allocator->retire(growth.allocator->context, slabs[i].load(std::memory_order_relaxed));
    }
  }
  growth.allocator = allocator;
  forget_free_signals();
}

void set_interrupts(Interrupt usual, Interrupt exception) noexcept {
  const auto set = [](DeviceInterrupt& interrupt, const Interrupt& value) {
    interrupt.mailbox.store(0, std::memory_order_release);
    interrupt.event.store(value.event_id, std::memory_order_release);
    interrupt.mailbox.store(value.mailbox, std::memory_order_release);
  };
  set(usual_interrupt, usual);
  set(exception_interrupt, exception);
}

Signal* create(int64_t initial_value, uint32_t attributes, amd_signal_kind_t kind) noexcept {
  Signal* signal = take_cached();
  if (signal == nullptr) signal = pop();
  if (signal == nullptr) [[unlikely]] {
    signal = carve();
    if (signal == nullptr) return nullptr;
  }
  if ((attributes & kSignalApiAttributes) != 0) attributes |= kSignalSilent;
  // Atomic if a late access to the memory's previous signal is possible: see signal.hpp. The list of waiters,
  // its lock and the hooks' data are kept: they are valid, and late callers may be using them.
  amd_signal_t& abi = signal->abi;
  std::atomic_ref(const_cast<int64_t&>(abi.value)).store(initial_value, std::memory_order_relaxed);
  const DeviceInterrupt& interrupt =
      (attributes & kSignalException) == 0 ? usual_interrupt : exception_interrupt;
  const uint64_t mailbox = interrupt.mailbox.load(std::memory_order_acquire);
  const bool interrupts = mailbox != 0 && kind == AMD_SIGNAL_KIND_USER && (attributes & kSignalSilent) == 0;
  if (interrupts) attributes |= kSignalHooked;
  abi.event_mailbox_ptr = interrupts ? mailbox : 0;
  abi.event_id = interrupts ? interrupt.event.load(std::memory_order_relaxed) : 0;
  abi.reserved1 = 0;
  abi.start_ts = 0;
  abi.end_ts = 0;
  abi.reserved2 = 0;
  const uint32_t generation = signal->generation.load(std::memory_order_relaxed) + 1;
  abi.reserved3[0] = generation;  // for backends: see amd_hsa_signal.h
  abi.reserved3[1] = 0;
  signal->copy_start_ts = 0;
  signal->copy_end_ts = 0;
  signal->attributes.store(attributes, std::memory_order_relaxed);
  signal->attention.store(asymmetric_fence::available() ? 0 : Signal::kFence, std::memory_order_relaxed);
  std::atomic_ref(abi.kind).store(kind, std::memory_order_relaxed);
  signal->generation.store(generation, std::memory_order_release);
  return signal;
}

bool destroy(Signal& signal) noexcept {
  uint32_t generation = signal.generation.load(std::memory_order_relaxed);
  if (generation % 2 == 0 || !signal.generation.compare_exchange_strong(generation, generation + 1))
    return false;
  std::atomic_ref(signal.abi.kind).store(AMD_SIGNAL_KIND_INVALID, std::memory_order_relaxed);
  release_waiters(signal);
  if (signal.index >= first_index.load(std::memory_order_relaxed)) free_signal(signal);
  return true;
}

void* take_slab() noexcept {
  const std::lock_guard lock(growth.lock);
  return new_slab();
}

uint32_t allocator_epoch() noexcept {
  const std::lock_guard lock(growth.lock);
  return growth.epoch;
}

size_t capacity() noexcept {
  const std::lock_guard lock(growth.lock);
  return (size_t{growth.slab_count} << kSlotBits) - (kSignalsPerSlab - growth.slots_used);
}

void reset_after_fork() noexcept {
  growth.lock.reset_after_fork();
  for (uint32_t i = growth.first_of_process; i < growth.slab_count; ++i) {
    if (!growth.inherited_by_fork[i]) continue;
    // Waiters were threads of the parent, and locks may have been held. A store to such a signal must neither
    // walk the list nor wait for the lock. (Reading keeps the pages shared with the parent.)
    for (uint32_t slot = 0; slot < growth.slots_carved[i]; ++slot) {
      Signal& signal = at((i << kSlotBits) + slot);
      if ((signal.attention.load(std::memory_order_relaxed) & Signal::kWaiters) == 0) continue;
      signal.wake_lock.reset_after_fork();
      signal.waiters = nullptr;
      signal.attention.fetch_and(~Signal::kWaiters, std::memory_order_relaxed);
    }
  }
  for (auto& entry : registry) {
    if (entry.load(std::memory_order_relaxed) != 0) entry.store(0, std::memory_order_relaxed);
  }
  growth.first_of_process = growth.slab_count;
  growth.allocator = &kAnonymousSlabs;
  for (DeviceInterrupt* interrupt : {&usual_interrupt, &exception_interrupt})
    interrupt->mailbox.store(0, std::memory_order_relaxed);
  forget_free_signals();
  asymmetric_fence::reset_after_fork();
}

}  // namespace signal_pool

Signal* Signal::from_handle(hsa_signal_t handle) noexcept {
  const uintptr_t address = handle.handle;
  if (address % sizeof(Signal) != 0) return nullptr;
  if (!signal_pool::is_slab(address & ~(uintptr_t{signal_pool::kSlabBytes} - 1))) return nullptr;
  auto* const signal = reinterpret_cast<Signal*>(address);
  return signal->generation.load(std::memory_order_acquire) % 2 == 1 ? signal : nullptr;
}

}  // namespace rigel
