#include "core/signal/signal.hpp"

#include <hsa/amd_hsa_queue.h>
#include <sched.h>

#include "api/support/log.hpp"
#include "api/support/spin.hpp"
#include "core/signal/shared_signals.hpp"
#include "core/signal/wait_node.hpp"

namespace rigel {
namespace {

constinit std::atomic<const SignalHooks*> signal_hooks{nullptr};

using State = WaitNode::State;

// Threads to wake after the wake lock has been released, because waking is a system call.
class WakeUps {
 public:
  bool full() const noexcept { return count_ == kCapacity; }
  void add(const void* address) noexcept { addresses_[count_++] = address; }
  void post(Parker& parker) noexcept {
    const void* const address = parker.address();
    switch (parker.post()) {
      case Parker::Wake::kNobody:
        break;
      case Parker::Wake::kOnWord:
        add(address);
        break;
      case Parker::Wake::kInDriver:
        in_driver_ = true;
        break;
    }
  }
  void send() noexcept {
    for (; count_ != 0; --count_) futex_wake_one(addresses_[count_ - 1]);
    if (!in_driver_) return;
    in_driver_ = false;
    if (const auto* hooks = installed_signal_hooks()) hooks->wake_in_driver();
  }

 private:
  static constexpr uint32_t kCapacity = 32;
  uint32_t count_ = 0;
  bool in_driver_ = false;
  const void* addresses_[kCapacity];
};

// Returns the signal that has the list of waiters: see shared_signals.hpp.
using shared_signals::local_half;

// Insertion and removal are under the wake lock, with the signal's local half.

void insert(Signal& signal, WaitNode& node) {
  const bool first = signal.waiters == nullptr;
  node.previous = nullptr;
  node.next = signal.waiters;
  if (!first) signal.waiters->previous = &node;
  signal.waiters = &node;
  if (!first) return;
  signal.attention.fetch_or(Signal::kWaiters);
  if (signal.has_attribute(kSignalHooked)) [[unlikely]] {
    if (const auto* hooks = installed_signal_hooks()) hooks->waiting_began(signal);
  }
}

void remove(Signal& signal, WaitNode& node) {
  if (node.next != nullptr) node.next->previous = node.previous;
  if (node.previous != nullptr) {
    node.previous->next = node.next;
  } else {
    signal.waiters = node.next;
  }
  if (signal.waiters != nullptr) return;
  signal.attention.fetch_and(~Signal::kWaiters, std::memory_order_relaxed);
  // A late waiter may have linked itself to a recycled signal with other attributes.
  if (signal.has_attribute(kSignalHooked) || signal.hook_data[0] != 0) [[unlikely]] {
    if (const auto* hooks = installed_signal_hooks()) hooks->waiting_ended(signal);
  }
}

void release_thread(Signal& signal, WaitNode& node, State state, WakeUps& wake_ups) {
  remove(signal, node);
  wake_ups.post(*node.parker);
  node.state.store(state, std::memory_order_release);  // the last access: see wait_node.hpp
}

void send_handler(HandlerNode& node, State state, bool fires, WakeUps& wake_ups) {
  node.state.store(state, std::memory_order_relaxed);
  node.fires = fires;
  const void* address = node.queue->address();
  if (node.queue->push(node)) wake_ups.add(address);
}

}  // namespace

void ring_legacy_doorbell(Signal& signal, uint64_t packet_index) {
  auto& queue = *signal.abi.queue_ptr;
  // Devices share the lock: any agent may submit to the queue.
  const std::atomic_ref lock(const_cast<uint32_t&>(queue.legacy_doorbell_lock));
  for (uint32_t spins = 0, expected = 0; !lock.compare_exchange_weak(expected, 1, std::memory_order_acquire);
       expected = 0) {
    ++spins % 64 == 0 ? static_cast<void>(sched_yield()) : cpu_relax();
  }
  const uint64_t end = packet_index + 1;
  const std::atomic_ref furthest(const_cast<uint64_t&>(queue.max_legacy_doorbell_dispatch_id_plus_1));
  if (end > furthest.load(std::memory_order_relaxed)) {  // neither a duplicate nor a step backwards
    // The hardware reads this word as its write pointer when the queue is mapped. Stored after the packets
    // and before the doorbell.
    furthest.store(end, std::memory_order_release);
    uint32_t rung = static_cast<uint32_t>(end);
    if (signal.has_attribute(kSignalDoorbellInDwords)) {
      constexpr uint32_t kDwordsPerPacket = 16;
      const uint64_t mapped = uint64_t{queue.hsa_queue.size} * 2;
      rung = static_cast<uint32_t>((end & (mapped - 1)) * kDwordsPerPacket);
    }
    if (signal.has_attribute(kSignalDoorbellIsCalled)) {
      signal.make_doorbell_call(rung);
    } else {
      order_write_combined_stores_before_register();
      *signal.abi.legacy_hardware_doorbell_ptr = rung;
    }
  }
  lock.store(0, std::memory_order_release);
}

void Signal::call_doorbell(void (*function)(void*, uint64_t), void* context) noexcept {
  doorbell_call = function;
  doorbell_context = context;
  attributes.fetch_or(kSignalDoorbellIsCalled, std::memory_order_release);
}

// Another thread may destroy the queue and its doorbell signal during the call. A late call is harmless, but
// the function and context read here count only if the generation is unchanged: a recycled signal has others.
void Signal::make_doorbell_call(uint64_t value) noexcept {
  const uint32_t called_generation = generation.load(std::memory_order_acquire);
  if (called_generation % 2 == 0 ||
      (attributes.load(std::memory_order_acquire) & kSignalDoorbellIsCalled) == 0)
    return;
  const auto function = std::atomic_ref(doorbell_call).load(std::memory_order_relaxed);
  void* const context = std::atomic_ref(doorbell_context).load(std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (generation.load(std::memory_order_relaxed) == called_generation) function(context, value);
}

void Signal::ring_elsewhere(uint64_t packet_index) noexcept {
  if (has_attribute(kSignalDoorbellIsCalled)) {
    make_doorbell_call(packet_index);
    return;
  }
  order_write_combined_stores_before_register();
  *abi.hardware_doorbell_ptr = packet_index;
}

void install_signal_hooks(const SignalHooks* hooks) noexcept {
  signal_hooks.store(hooks, std::memory_order_release);
}

const SignalHooks* installed_signal_hooks() noexcept {
  return signal_hooks.load(std::memory_order_acquire);
}

void Signal::notify() noexcept {
  // For signals with kFence this is the signaller's fence. For other signals it orders the caller's change
  // before the reads under the lock.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (ChangeNotifier* const notifier = shared_signals::notifier_of(*this)) notifier->notify();
  notify_here();
}

void Signal::notify_here() noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  Signal& side = local_half(*this);
  if ((side.attention.load(std::memory_order_relaxed) & kWaiters) == 0) return;
  for (bool more = true; more;) {
    WakeUps wake_ups;
    more = false;
    side.wake_lock.lock();
    const int64_t now = load<std::memory_order_acquire>();
    for (WaitNode *node = side.waiters, *next; node != nullptr; node = next) {
      next = node->next;
      if (node->state.load(std::memory_order_relaxed) != State::kArmed) continue;
      if (!holds(node->condition, now, node->compare)) continue;
      if (wake_ups.full()) {
        more = true;
        break;
      }
      node->seen = now;
      if (node->owner == WaitNode::Owner::kThread) {
        release_thread(side, *node, State::kSatisfied, wake_ups);
      } else {
        send_handler(static_cast<HandlerNode&>(*node), State::kReady, true, wake_ups);
      }
    }
    side.wake_lock.unlock();
    wake_ups.send();
  }
}

void Signal::store_elsewhere(int64_t new_value) noexcept {
  if (kind() == AMD_SIGNAL_KIND_LEGACY_DOORBELL) {
    ring_legacy_doorbell(*this, static_cast<uint64_t>(new_value));
  } else {
    misused("store");
  }
}

int64_t Signal::misused(const char* operation) const noexcept {
  const int64_t current_kind = kind();
  log_message(LogLevel::kError, LogTopic::kSignal, "signal {:#x}: {} is ignored because it is {}",
              reinterpret_cast<uint64_t>(this), operation,
              current_kind == AMD_SIGNAL_KIND_INVALID ? "destroyed" : "a doorbell");
  return 0;
}

bool needs_polling(const Signal& signal) noexcept {
  if (signal.has_attribute(kSignalSilent)) return true;
  return (signal.attention.load(std::memory_order_relaxed) & Signal::kFence) == 0 &&
         !asymmetric_fence::available();
}

bool link_waiter(Signal& signal, WaitNode& node, uint32_t generation) noexcept {
  Signal& side = local_half(signal);
  side.wake_lock.lock();
  node.state.store(State::kArmed, std::memory_order_relaxed);
  insert(side, node);
  // Destruction changes the generation and then reads `attention`; this function does the reverse. One of the
  // two sees the other's change.
  const bool live = generation % 2 != 0 && signal.generation.load() == generation;
  if (!live) {
    remove(side, node);
    node.state.store(State::kUnlinked, std::memory_order_relaxed);
  }
  side.wake_lock.unlock();
  if (live && node.owner == WaitNode::Owner::kHandler && side.is_changed_by_devices()) {
    if (const auto* hooks = installed_signal_hooks()) hooks->watch();
  }
  return live;
}

bool unlink_waiter(Signal& signal, WaitNode& node) noexcept {
  if (node.state.load(std::memory_order_acquire) != State::kArmed) return false;
  Signal& side = local_half(signal);
  side.wake_lock.lock();
  const bool armed = node.state.load(std::memory_order_relaxed) == State::kArmed;
  if (armed) {
    remove(side, node);
    node.state.store(State::kUnlinked, std::memory_order_relaxed);
  }
  side.wake_lock.unlock();
  return armed;
}

bool take_handler(Signal& signal, HandlerNode& node, int64_t& value) noexcept {
  Signal& side = local_half(signal);
  side.wake_lock.lock();
  value = node.seen;
  if (node.state.load(std::memory_order_relaxed) == State::kReady) {
    // The signal is the same, and its current value may satisfy too.
    const int64_t now = signal.load<std::memory_order_acquire>();
    if (holds(node.condition, now, node.compare)) value = now;
  }
  const bool fires = node.fires;
  side.wake_lock.unlock();
  return fires;
}

bool rearm_handler(Signal& signal, HandlerNode& node) noexcept {
  Signal& side = local_half(signal);
  WakeUps wake_ups;
  side.wake_lock.lock();
  const bool live = node.state.load(std::memory_order_relaxed) != State::kSignalGone;
  if (live) {
    // The node was linked throughout, so every signaller has come through `notify`, and either finds it armed
    // or is visible here: no fence is needed.
    const int64_t now = signal.load<std::memory_order_acquire>();
    if (holds(node.condition, now, node.compare)) {
      node.seen = now;
      send_handler(node, State::kReady, true, wake_ups);
    } else {
      node.state.store(State::kArmed, std::memory_order_relaxed);
    }
  }
  side.wake_lock.unlock();
  wake_ups.send();
  return live;
}

void unlink_handler(Signal& signal, HandlerNode& node) noexcept {
  Signal& side = local_half(signal);
  side.wake_lock.lock();
  const State state = node.state.load(std::memory_order_relaxed);
  if (state == State::kArmed || state == State::kReady) {
    remove(side, node);
    node.state.store(State::kUnlinked, std::memory_order_relaxed);
  }
  side.wake_lock.unlock();
}

void release_waiters(Signal& signal) noexcept {
  if ((signal.attention.load() & Signal::kWaiters) == 0) return;
  for (bool more = true; more;) {
    WakeUps wake_ups;
    more = false;
    signal.wake_lock.lock();
    const int64_t last = signal.load<std::memory_order_acquire>();
    while (signal.waiters != nullptr) {
      if (wake_ups.full()) {
        more = true;
        break;
      }
      WaitNode& node = *signal.waiters;
      if (node.owner == WaitNode::Owner::kThread) {
        node.seen = 0;
        release_thread(signal, node, State::kSignalGone, wake_ups);
        continue;
      }
      remove(signal, node);
      if (node.state.load(std::memory_order_relaxed) == State::kReady) {
        node.state.store(State::kSignalGone, std::memory_order_relaxed);
        continue;
      }
      const bool fires = holds(node.condition, last, node.compare);
      if (fires) node.seen = last;
      send_handler(static_cast<HandlerNode&>(node), State::kSignalGone, fires, wake_ups);
    }
    signal.wake_lock.unlock();
    wake_ups.send();
  }
}

}  // namespace rigel
