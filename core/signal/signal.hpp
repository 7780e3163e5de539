// A signal: what an hsa_signal_t names, and the operations on its value.
//
// The handle is the address of the 64-byte amd_signal_t that hardware and compilers know. That is the first
// half of a Signal; the second half is the runtime's own. Signals live in slabs that are never unmapped while
// the process lives (signal_pool.hpp), so whoever comes late to a destroyed signal reads and writes a Signal
// still, perhaps a younger one, and never anything else. That is not a courtesy to wrong programs. In
//
//     A: store(s, 0)                      B: wait(s == 0); destroy(s)
//
// B may return and destroy between A's store and A's look for waiters, and both programs are right.
//
// Who calls: any thread, any time between creation and destruction. The operations check nothing that costs:
// a handle must be live. `load` returns what is there; operations that write look at the kind, which shares
// the value's cache line, so that a dead signal or a doorbell is left alone and said to be, in the log.
//
// Order: the template argument orders the value, as in std::atomic. HSA's scacquire and screlease are acquire
// and release here, as in every HSA runtime so far; store_screlease followed by load_scacquire of another
// signal is not a full fence.
//
// Waking, and why no fence is paid for it. The signaller changes the value and then looks whether anybody
// sleeps (`attention`); a waiter says that it is about to sleep and then looks at the value a last time:
//
//     signaller                           waiter
//     S1  value = v                       W1  link a node, attention |= kWaiters   (under the wake lock)
//         light fence: compiler only      W2  heavy fence: membarrier
//     S2  look at attention               W3  look at value
//                                         W4  sleep until posted
//
// The wake-up is lost only if S2 misses W1 and W3 misses S1. W2 runs a full fence on the signaller's CPU at
// some point of its program. If that point is after S1, the store is visible at W3: the waiter does not
// sleep. If it is before S1, it is before S2 too, and W1 is visible at S2: the signaller goes to `notify`,
// takes the wake lock, finds the node and posts. The light fence keeps the compiler from moving S2 before S1
// or caching it; nothing else is needed, and on x86 a store and its look are two plain instructions. (The
// protocol is enumerated exhaustively, with store buffers, in wake_protocol_test.cpp.)
//
// Where membarrier is not available, signals are born with kFence in `attention`: every change takes the slow
// path, which makes the full fence.
//
// A device that changes a value does so without looking at `attention`, and then interrupts. Of those who wait for
// devices, one is in the driver (SignalHooks); when it returns, it calls `notify` for each signal that anybody waits
// for. The driver keeps an interrupt that finds nobody there for who comes next, so with D1 (value = v) and D2
// (interrupt) in the signaller's place, the wake-up is lost only if W3 misses D1 and the thread that takes the
// interrupt misses W1. If W3 misses D1, W1 is before D1 and so before D2, and whoever takes the interrupt looks at the
// waiters after that. Who takes it has the duty of looking until it has looked, and nobody else is in the driver as
// long as it has: so none can take an interrupt and leave. (core/driver/event_duty.hpp. This, and the handing over, is
// enumerated as well.) For signals that change in silence (kSignalSilent), waiters look again every now and then.
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

/// Attributes of a signal: the low half as in hsa_amd_signal_attribute_t, the high half the runtime's own.
enum SignalAttributes : uint32_t {
  kSignalGpuOnly = HSA_AMD_SIGNAL_AMD_GPU_ONLY,
  kSignalIpc = HSA_AMD_SIGNAL_IPC,
  kSignalApiAttributes = kSignalGpuOnly | kSignalIpc,

  /// The value may change without anybody calling `notify`: waiters poll, at most every millisecond.
  kSignalSilent = 1u << 16,
  /// SignalHooks want to know when somebody begins and ends to wait.
  kSignalHooked = 1u << 17,
  /// Devices change it rarely, and somebody waits for that all the time: it has an interrupt of its own.
  kSignalAlarm = 1u << 21,
  /// A doorbell whose ring is mapped write-combining: a store fence goes before the doorbell.
  kSignalRingIsWriteCombined = 1u << 18,
  /// A legacy doorbell that takes dwords, of a ring that is mapped twice in a row, and not the packet index.
  kSignalDoorbellInDwords = 1u << 19,
  /// A doorbell that is rung by a call: `doorbell_call` is meant, which sees to the order itself.
  kSignalDoorbellIsCalled = 1u << 22,
  /// A doorbell: it ends with its queue. Those of queues in software are no different otherwise.
  kSignalOfQueue = 1u << 23,
};

/// An hsa_signal_condition_t, or any other number that a program has passed for one.
using SignalCondition = hsa_signal_condition32_t;

/// Compares as the condition says. False for a condition that is none.
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
  // --- What others know (64 bytes) ---
  amd_signal_t abi;

  // --- The runtime's own (64 bytes) ---

  /// Device clock ticks around an asynchronous copy that completes this signal. Each begins a 32-byte block,
  /// because the copy engines' time-stamp packets need that. Or, of a kSignalDoorbellIsCalled doorbell, which
  /// no copy completes: what rings.
  union {
    volatile uint64_t copy_start_ts;
    void (*doorbell_call)(void* context, uint64_t value);
  };
  /// Not zero: a change of the value has to take the slow path. The signaller's only extra read.
  std::atomic<uint32_t> attention;
  /// Guards `waiters`, the nodes in it, and the kWaiters bit.
  WakeLock wake_lock;
  WaitNode* waiters;
  /// Odd while the signal lives; one more at each creation and destruction.
  std::atomic<uint32_t> generation;
  /// The signal's place in the pool. Never changes.
  uint32_t index;
  union {
    volatile uint64_t copy_end_ts;
    void* doorbell_context;
  };
  /// The pool's: which signal is free besides this one.
  std::atomic<uint32_t> next_free;
  /// SignalAttributes.
  std::atomic<uint32_t> attributes;
  /// The hooks' own. Zero in new memory; a signal that is made of an old one's leaves it as it is.
  uint64_t hook_data[2];

  // Bits of `attention`.
  static constexpr uint32_t kWaiters = 1;  ///< the list of waiters is not empty
  static constexpr uint32_t kFence =
      2;  ///< the signaller has to make the full fence; set for life at creation

  hsa_signal_t handle() const noexcept { return {reinterpret_cast<uint64_t>(&abi)}; }

  /// The signal of a handle that is known to be live.
  static Signal& of_live(hsa_signal_t handle) noexcept { return *reinterpret_cast<Signal*>(handle.handle); }

  /// The signal of any handle; null if it is 0, freed, or no signal of this process. Lock-free.
  static Signal* from_handle(hsa_signal_t handle) noexcept;

  int64_t kind() const noexcept {
    return std::atomic_ref(const_cast<int64_t&>(abi.kind)).load(std::memory_order_relaxed);
  }

  bool has_attribute(SignalAttributes attribute) const noexcept {
    return (attributes.load(std::memory_order_relaxed) & attribute) != 0;
  }
  /// Whether hooks have to be told of each who sleeps until it changes.
  bool is_changed_by_devices() const noexcept {
    return (attributes.load(std::memory_order_relaxed) & (kSignalHooked | kSignalAlarm)) == kSignalHooked;
  }

  template <std::memory_order kOrder = std::memory_order_relaxed>
  int64_t load() const noexcept {
    return value().load(kOrder);
  }

  /// Has a doorbell that nobody has seen yet rung by calls.
  void call_doorbell(void (*function)(void* context, uint64_t value), void* context) noexcept;

  /// Stores to the value and wakes whom it concerns; rings the bell if the signal is a doorbell.
  template <std::memory_order kOrder = std::memory_order_relaxed>
  void store(int64_t new_value) noexcept {
    const int64_t what = kind();
    if (what == AMD_SIGNAL_KIND_USER) [[likely]] {
      value().store(new_value, kOrder);
      announce();
    } else if (what == AMD_SIGNAL_KIND_DOORBELL) {
      ring(static_cast<uint64_t>(new_value));
    } else {
      store_elsewhere(new_value);
    }
  }

  /// Stores and wakes nobody. Whoever waits sees the value when something else wakes it.
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

  /// Returns the value before; the exchange was made if that is `expected`.
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

  /// Looks at the value, and posts every waiter and handler whose condition it satisfies. For changes made by
  /// a device or through a pointer. Any thread, as often as one likes, also on a signal that was destroyed in
  /// the meantime. (Only what the value is now counts: what the caller wrote may have been a former
  /// signal's.)
  [[gnu::cold]] void notify() noexcept;
  /// The same for this process alone, where the change is somebody else's.
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
    // One look for both: a doorbell of hardware whose ring is in ordinary memory pays for one branch.
    constexpr uint32_t kNotPlain = kSignalDoorbellIsCalled | kSignalRingIsWriteCombined;
    if ((attributes.load(std::memory_order_relaxed) & kNotPlain) != 0) [[unlikely]]
      return ring_elsewhere(packet_index);
    order_stores_before_register();
    *abi.hardware_doorbell_ptr = packet_index;
  }

  /// A doorbell that is called, or whose ring is write-combined.
  [[gnu::noinline]] void ring_elsewhere(uint64_t packet_index) noexcept;
  /// Calls the bell, unless the signal has ended in the meantime.
  void call_bell(uint64_t value) noexcept;
  friend void ring_legacy_doorbell(Signal& signal, uint64_t packet_index);
  /// A store to what is neither a value nor a 64-bit doorbell.
  [[gnu::cold]] void store_elsewhere(int64_t new_value) noexcept;
  /// An operation that the signal's kind does not have. Logs, changes nothing and returns 0.
  [[gnu::cold]] int64_t misused(const char* operation) const noexcept;
};

static_assert(sizeof(Signal) == 128);
static_assert(offsetof(Signal, abi) == 0 && sizeof(amd_signal_t) == 64);
static_assert(offsetof(Signal, copy_start_ts) % 32 == 0 && offsetof(Signal, copy_end_ts) % 32 == 0);
static_assert(std::atomic_ref<int64_t>::is_always_lock_free);

/// What the owner of devices has to know and to do about signals with kSignalHooked, which they change.
struct SignalHooks {
  /// The first waiter or handler has been linked, before its last look at the value; and the last one has gone. Called
  /// under the signal's wake lock: must be short, and may not touch signals.
  void (*waiting_began)(Signal& signal) noexcept;
  void (*waiting_ended)(Signal& signal) noexcept;

  // The others are called without a lock of signals, and concern those that are not kSignalAlarm.

  /// Somebody has been linked who does not call `sleep`: a handler, or a thread that does not sleep for ever.
  void (*watch)() noexcept;
  /// Sleeps until the sleeper's parker is released. After the last look at the value.
  void (*sleep)(DeviceSleeper& sleeper) noexcept;
  /// After each `sleep`, once the sleeper is no longer linked to signals.
  void (*awake)(DeviceSleeper& sleeper) noexcept;
  /// Wakes whoever is in the driver, because its parker has been released: Parker::Wake::kInDriver.
  void (*wake_in_driver)() noexcept;
};

/// Installs hooks, or takes them away (null). The struct must stay valid. Not while hooked signals exist.
void install_signal_hooks(const SignalHooks* hooks) noexcept;
/// Those that are installed, or null.
const SignalHooks* installed_signal_hooks() noexcept;

}  // namespace rigel
