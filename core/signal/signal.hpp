// A signal: the object of an hsa_signal_t, and the operations on its value.
//
// The handle is the address of the 64-byte amd_signal_t that hardware and compilers access. It is the first
// half of a Signal; the second half is private to the runtime.
//
// *Lifetime:* signals are in slabs that stay mapped until the process ends (signal_pool.hpp). An access after
// destruction therefore reaches a Signal, perhaps a newer one at the same address, and never other memory.
// Correct programs need this:
//
//     A: store(s, 0)                      B: wait(s == 0); destroy(s)
//
// B may return and destroy the signal between A's store and A's check for waiters. The *generation* of a
// signal counts creations and destructions, so that a thread can detect that the signal at an address has
// been replaced.
//
// *Threads:* any thread, between creation and destruction. A handle must be live; `load` does not check it.
// Operations that write check the kind first, which is in the value's cache line. A store to a doorbell rings
// it. All other writes leave a destroyed signal or a doorbell unchanged and log an error.
// *Memory order:* the template argument orders the value, as in std::atomic. HSA's scacquire and screlease
// are acquire and release here, as in other HSA runtimes: store_screlease followed by load_scacquire of
// another signal is not a full fence.
//
// *Notification* wakes the waiters of a signal whose condition holds. The signaller needs no fence. It
// changes the value and then reads `attention`; a waiter links itself and then reads the value once more:
//
//     signaller                           waiter
//     S1  value = v                       W1  link a node, attention |= kWaiters   (under the wake lock)
//         light fence: compiler only      W2  heavy fence: membarrier
//     S2  read attention                  W3  read value
//                                         W4  sleep until posted
//
// A wake-up is lost only if S2 misses W1 and W3 misses S1. W2 runs a full fence on the signaller's CPU at
// some point of the signaller's program. If that point is after S1, the store is visible at W3: the waiter
// does not sleep. If it is before S1, it is also before S2, and W1 is visible at S2: the signaller calls
// `notify`, takes the wake lock, finds the node and posts. The light fence keeps the compiler from moving S2
// before S1. On x86 a store and its check are two plain instructions. wake_protocol_test.cpp enumerates all
// interleavings, with store buffers.
//
// Without membarrier, signals are created with kFence in `attention`: every change takes the slow path, which
// runs the full fence.
//
// *Devices* change a value without reading `attention`, and then interrupt. One of the waiting threads sleeps
// in the driver (SignalHooks); when it returns, it calls `notify` for each signal that has waiters. If no
// thread sleeps in the driver, the driver keeps the interrupt for the next thread that does.
//
// A device has two steps: D1 (value = v) and D2 (interrupt). A wake-up is lost only if W3 misses D1 and the
// thread that takes the interrupt misses W1. If W3 misses D1, W1 precedes D1 and therefore D2. The thread
// that takes the interrupt checks the waiters after D2, so it finds the node of W1. It is the event leader
// until it has checked them. Until then no other thread is in the driver, so no thread can take an interrupt
// without checking the waiters (core/driver/event_duty.hpp; event_duty_protocol_test.cpp enumerates it).
// Waiters of kSignalSilent signals poll.
//
// docs/internals/waiting.md lists the steps of a wait.
#pragma once

#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "api/support/device_barrier.hpp"
#include "core/signal/asymmetric_fence.hpp"
#include "core/signal/wake_lock.hpp"

namespace rigel {

struct DeviceSleeper;
struct WaitNode;

/// Attributes of a signal: the low half as in hsa_amd_signal_attribute_t, the high half private to the
/// runtime.
enum SignalAttributes : uint32_t {
  kSignalGpuOnly = HSA_AMD_SIGNAL_AMD_GPU_ONLY,
  kSignalIpc = HSA_AMD_SIGNAL_IPC,
  kSignalApiAttributes = kSignalGpuOnly | kSignalIpc,

  /// The value may change without a call of `notify`. Waiters poll it (poll_interval.hpp).
  kSignalSilent = 1u << 16,
  /// Devices change the signal. SignalHooks are called when waiting starts and ends.
  kSignalHooked = 1u << 17,
  /// An *exception signal*: devices change it rarely and the runtime waits for it permanently. It has a
  /// dedicated interrupt.
  kSignalException = 1u << 21,
  /// A doorbell whose ring is mapped write-combining: ringing it starts with a store fence.
  kSignalRingIsWriteCombined = 1u << 18,
  /// A legacy doorbell that takes a position in the ring, in dwords, instead of the packet index. The ring is
  /// mapped twice in a row.
  kSignalDoorbellInDwords = 1u << 19,
  /// A doorbell that is rung by a *doorbell call*, a call of `doorbell_call`, which orders memory itself.
  kSignalDoorbellIsCalled = 1u << 22,
  /// A doorbell, which is destroyed with its queue. The doorbell of a software queue is otherwise an
  /// ordinary signal.
  kSignalOfQueue = 1u << 23,
};

/// An hsa_signal_condition_t, or any other number that a program has passed as one.
using SignalCondition = hsa_signal_condition32_t;

/// Evaluates `value <condition> compare`. Returns false for an unknown condition.
constexpr bool holds(SignalCondition condition, int64_t value, int64_t compare) noexcept {
  switch (condition) {
    case HSA_SIGNAL_CONDITION_EQ:
      return value == compare;
    case HSA_SIGNAL_CONDITION_NE:
      return value != compare;
    case HSA_SIGNAL_CONDITION_LT:
      return value < compare;
    case HSA_SIGNAL_CONDITION_GTE:
      return value >= compare;
  }
  return false;
}

class alignas(128) Signal {
 public:
  // --- Known to hardware and compilers (64 bytes) ---
  amd_signal_t abi;

  // --- Private to the runtime (64 bytes) ---

  /// copy_start_ts and copy_end_ts are device clock ticks of the asynchronous copy that completes this
  /// signal. Each is at the start of a 32-byte block, as time-stamp packets of copy engines require. In a
  /// doorbell with kSignalDoorbellIsCalled, doorbell_call and doorbell_context have the place of the two time
  /// stamps.
  union {
    volatile uint64_t copy_start_ts;
    void (*doorbell_call)(void* context, uint64_t value);
  };
  /// If it is not zero, a change of the value must take the slow path. The fast path reads no other
  /// member for notification.
  std::atomic<uint32_t> attention;
  /// Guards `waiters`, the nodes in it, and the kWaiters bit.
  WakeLock wake_lock;
  WaitNode* waiters;
  /// Odd while the signal is live; incremented by each creation and destruction.
  std::atomic<uint32_t> generation;
  /// Index of the signal in the pool. Constant.
  uint32_t index;
  union {
    volatile uint64_t copy_end_ts;
    void* doorbell_context;
  };
  /// Free-list link, owned by the pool: one plus the index of the next free signal.
  std::atomic<uint32_t> next_free;
  std::atomic<uint32_t> attributes;
  /// Owned by the hooks. Zero in new memory; kept when the signal's memory is reused.
  uint64_t hook_data[2];

  // Bits of `attention`.
  static constexpr uint32_t kWaiters = 1;  ///< the list of waiters is not empty
  static constexpr uint32_t kFence = 2;    ///< signallers must run the full fence; constant from creation

  hsa_signal_t handle() const noexcept { return {reinterpret_cast<uint64_t>(&abi)}; }

  /// Returns the signal of a handle that must be live.
  static Signal& of_live(hsa_signal_t handle) noexcept { return *reinterpret_cast<Signal*>(handle.handle); }

  /// Returns the signal of any handle; null if the handle is 0, destroyed, or not a signal of this process.
  /// Lock-free.
  static Signal* from_handle(hsa_signal_t handle) noexcept;

  int64_t kind() const noexcept {
    return std::atomic_ref(const_cast<int64_t&>(abi.kind)).load(std::memory_order_relaxed);
  }

  bool has_attribute(SignalAttributes attribute) const noexcept {
    return (attributes.load(std::memory_order_relaxed) & attribute) != 0;
  }
  /// Whether the hooks must be notified of threads that sleep on this signal.
  bool is_changed_by_devices() const noexcept {
    return (attributes.load(std::memory_order_relaxed) & (kSignalHooked | kSignalException)) == kSignalHooked;
  }

  template <std::memory_order kOrder = std::memory_order_relaxed>
  int64_t load() const noexcept {
    return value().load(kOrder);
  }

  /// The device whose clock the copy times use, or null for the system's. It is in a reserved field, because
  /// a signal has no other. Compared only, never dereferenced.
  const void* clock_owner() const noexcept { return reinterpret_cast<const void*>(abi.reserved2); }
  void set_clock_owner(const void* owner) noexcept { abi.reserved2 = reinterpret_cast<uint64_t>(owner); }

  /// Makes `function` the doorbell's call. The handle must not be visible to other threads yet.
  void call_doorbell(void (*function)(void* context, uint64_t value), void* context) noexcept;

  /// Stores the value and wakes matching waiters. For a doorbell, rings it instead.
  template <std::memory_order kOrder = std::memory_order_relaxed>
  void store(int64_t new_value) noexcept {
    const int64_t current_kind = kind();
    if (current_kind == AMD_SIGNAL_KIND_USER) [[likely]] {
      value().store(new_value, kOrder);
      announce();
    } else if (current_kind == AMD_SIGNAL_KIND_DOORBELL) {
      ring(static_cast<uint64_t>(new_value));
    } else {
      store_elsewhere(new_value);
    }
  }

  /// Stores without waking. Waiters see the value when another event wakes them.
  template <std::memory_order kOrder = std::memory_order_relaxed>
  void silent_store(int64_t new_value) noexcept {
    if (kind() == AMD_SIGNAL_KIND_USER) [[likely]] {
      value().store(new_value, kOrder);
    } else {
      store<kOrder>(new_value);
    }
  }

  template <std::memory_order kOrder = std::memory_order_relaxed>
  int64_t exchange(int64_t new_value) noexcept {
    if (kind() != AMD_SIGNAL_KIND_USER) [[unlikely]]
      return misused("exchange");
    const int64_t old = value().exchange(new_value, kOrder);
    announce();
    return old;
  }

  /// Returns the previous value; the exchange took place if it equals `expected`.
  template <std::memory_order kOrder = std::memory_order_relaxed>
  int64_t compare_exchange(int64_t expected, int64_t new_value) noexcept {
    if (kind() != AMD_SIGNAL_KIND_USER) [[unlikely]]
      return misused("compare and exchange");
    if (value().compare_exchange_strong(expected, new_value, kOrder, failure_order(kOrder))) announce();
    return expected;
  }

  template <std::memory_order kOrder = std::memory_order_relaxed>
  void add(int64_t amount) noexcept {
    if (kind() != AMD_SIGNAL_KIND_USER) [[unlikely]]
      return static_cast<void>(misused("add"));
    value().fetch_add(amount, kOrder);
    announce();
  }

  template <std::memory_order kOrder = std::memory_order_relaxed>
  void subtract(int64_t amount) noexcept {
    if (kind() != AMD_SIGNAL_KIND_USER) [[unlikely]]
      return static_cast<void>(misused("subtract"));
    value().fetch_sub(amount, kOrder);
    announce();
  }

  template <std::memory_order kOrder = std::memory_order_relaxed>
  void bit_and(int64_t mask) noexcept {
    if (kind() != AMD_SIGNAL_KIND_USER) [[unlikely]]
      return static_cast<void>(misused("and"));
    value().fetch_and(mask, kOrder);
    announce();
  }

  template <std::memory_order kOrder = std::memory_order_relaxed>
  void bit_or(int64_t mask) noexcept {
    if (kind() != AMD_SIGNAL_KIND_USER) [[unlikely]]
      return static_cast<void>(misused("or"));
    value().fetch_or(mask, kOrder);
    announce();
  }

  template <std::memory_order kOrder = std::memory_order_relaxed>
  void bit_xor(int64_t mask) noexcept {
    if (kind() != AMD_SIGNAL_KIND_USER) [[unlikely]]
      return static_cast<void>(misused("xor"));
    value().fetch_xor(mask, kOrder);
    announce();
  }

  /// Reads the value and posts every waiter and handler whose condition it satisfies. For changes by a device
  /// or through a pointer. Any thread, also after destruction of the signal: a newer signal at this address
  /// is then notified, with its own value.
  [[gnu::cold]] void notify() noexcept;
  /// Does the same in this process only, for changes by another process.
  [[gnu::cold]] void notify_here() noexcept;

 private:
  std::atomic_ref<int64_t> value() const noexcept {
    return std::atomic_ref<int64_t>(const_cast<int64_t&>(abi.value));
  }

  static constexpr std::memory_order failure_order(std::memory_order order) noexcept {
    if (order == std::memory_order_acq_rel) return std::memory_order_acquire;
    if (order == std::memory_order_release) return std::memory_order_relaxed;
    return order;
  }

  void announce() noexcept {
    asymmetric_fence::light();
    if (attention.load(std::memory_order_relaxed) != 0) [[unlikely]]
      notify();
  }

  void ring(uint64_t packet_index) noexcept {
    // One test for both: a hardware doorbell with its ring in ordinary memory costs one branch.
    constexpr uint32_t kNotPlain = kSignalDoorbellIsCalled | kSignalRingIsWriteCombined;
    if ((attributes.load(std::memory_order_relaxed) & kNotPlain) != 0) [[unlikely]]
      return ring_elsewhere(packet_index);
    order_stores_before_register();
    *abi.hardware_doorbell_ptr = packet_index;
  }

  /// Slow path of ring(): doorbell calls and write-combined rings.
  [[gnu::noinline]] void ring_elsewhere(uint64_t packet_index) noexcept;
  /// Makes the doorbell call, unless the signal has been destroyed.
  void make_doorbell_call(uint64_t value) noexcept;
  friend void ring_legacy_doorbell(Signal& signal, uint64_t packet_index);
  /// Stores to a legacy doorbell; rejects other kinds.
  [[gnu::cold]] void store_elsewhere(int64_t new_value) noexcept;
  /// Logs an operation that the signal's kind does not support. Returns 0.
  [[gnu::cold]] int64_t misused(const char* operation) const noexcept;
};

static_assert(sizeof(Signal) == 128);
static_assert(offsetof(Signal, abi) == 0 && sizeof(amd_signal_t) == 64);
static_assert(offsetof(Signal, copy_start_ts) % 32 == 0 && offsetof(Signal, copy_end_ts) % 32 == 0);
static_assert(std::atomic_ref<int64_t>::is_always_lock_free);

/// Callbacks of the driver layer for signals that devices change (kSignalHooked).
struct SignalHooks {
  // The first two are called under the signal's wake lock: they must be short and must not access signals.

  /// The signal's first waiter has been linked and has not read the value for the last time yet.
  void (*waiting_began)(Signal& signal) noexcept;
  /// The signal's last waiter has been unlinked.
  void (*waiting_ended)(Signal& signal) noexcept;

  // The other callbacks are called without a lock of signals and do not concern exception signals.

  /// A waiter that will not call `sleep` has been linked: a handler, or a thread that sleeps with a timeout.
  void (*watch)() noexcept;
  /// Sleeps until the sleeper's parker is released. Called after the last read of the value.
  void (*sleep)(DeviceSleeper& sleeper) noexcept;
  /// Called after each `sleep`, when the sleeper is unlinked from all signals.
  void (*awake)(DeviceSleeper& sleeper) noexcept;
  /// Wakes the thread that sleeps in the driver. Called after its parker has been released
  /// (Parker::Wake::kInDriver).
  void (*wake_in_driver)() noexcept;
};

/// Installs or removes (null) hooks. The struct must stay valid. No hooked signal may exist.
void install_signal_hooks(const SignalHooks* hooks) noexcept;
const SignalHooks* installed_signal_hooks() noexcept;

}  // namespace rigel
