#include "core/signal/wait.hpp"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <new>
#include <span>

#include "api/support/clock.hpp"
#include "api/support/log.hpp"
#include "api/support/spin.hpp"
#include "core/signal/device_sleeper.hpp"
#include "core/signal/lent_thread.hpp"
#include "core/signal/poll_interval.hpp"
#include "core/signal/shared_signals.hpp"
#include "core/signal/wait_node.hpp"

namespace rigel {
namespace {

using State = WaitNode::State;

uint64_t after(uint64_t start, uint64_t ns) noexcept {
  return start + std::min(ns, UINT64_MAX - start);
}

bool spinning_is_pointless() noexcept {
  static constinit std::atomic<int> processors{0};
  int count = processors.load(std::memory_order_relaxed);
  if (count == 0) {
    count = std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
    processors.store(count, std::memory_order_relaxed);
  }
  return count == 1;
}

struct Entry {
  enum class Outcome : uint8_t { kOpen, kMet, kGone };

  WaitNode node;
  Signal* signal;
  uint32_t generation;
  uint32_t index;  // index of the term
  Outcome outcome = Outcome::kOpen;
  int64_t value = 0;

  Entry(const WaitTerm& term, uint32_t index_of_term) noexcept
      : signal(term.signal),
        generation(term.generation != 0 ? term.generation
                                        : term.signal->generation.load(std::memory_order_acquire)),
        index(index_of_term) {
    node.condition = term.condition;
    node.compare = term.compare;
  }

  bool open() const noexcept { return outcome == Outcome::kOpen; }

  void mark_destroyed() noexcept {
    outcome = Outcome::kGone;
    value = 0;
  }

  void poll() noexcept {
    const int64_t now = signal->load<std::memory_order_acquire>();
    // The value may be a newer signal's: the generation, read after it, identifies the signal.
    if (signal->generation.load(std::memory_order_relaxed) != generation) [[unlikely]]
      return mark_destroyed();
    value = now;
    if (holds(node.condition, now, node.compare)) outcome = Outcome::kMet;
  }

  // Takes the outcome from the node, once no other thread accesses it.
  void adopt() noexcept {
    const State state = node.state.load(std::memory_order_acquire);
    if (!open()) return;
    if (state == State::kSatisfied) {
      outcome = Outcome::kMet;
      value = node.seen;
    } else if (state == State::kSignalGone) {
      mark_destroyed();
    }
  }
};

enum class Quantifier : uint8_t { kAny, kAll };

class Wait {
 public:
  Wait(std::span<Entry> entries, Quantifier quantifier) noexcept
      : entries_(entries), quantifier_(quantifier) {}

  // Returns true if the wait is over. Entries have their outcomes in both cases.
  bool run(uint64_t timeout_ns, Spin spin) noexcept {
    if (poll()) return true;
    if (timeout_ns == 0) return false;
    const uint64_t start = system_time_ns();
    deadline_ = after(start, timeout_ns);
    return look_for_a_while(start, spin) || sleep();
  }

 private:
  bool poll() noexcept {
    bool any_met = false;
    bool any_open = false;
    for (Entry& entry : entries_) {
      if (entry.open()) {
        entry.poll();
        if (!entry.open() && linked_) withdraw(entry);
      }
      if (entry.outcome == Entry::Outcome::kMet) {
        any_met = true;
        if (quantifier_ == Quantifier::kAny) break;
      }
      any_open |= entry.open();
    }
    return !any_open || (any_met && quantifier_ == Quantifier::kAny);
  }

  // Polls until neither a change nor work for the device has occurred for the polling time.
  bool look_for_a_while(uint64_t start, Spin spin) noexcept {
    if (spinning_is_pointless()) return false;
    // Reading the clock costs as much as several polls of a few signals.
    const uint32_t looks =
        std::max<uint32_t>(1, 8 / static_cast<uint32_t>(std::min<size_t>(entries_.size(), 8)));
    const uint64_t look_ns = device_computes_on_host() ? spin.look_ns / 10 : spin.look_ns;
    uint64_t end = after(start, look_ns);
    for (uint64_t now = start; now < std::min(end, deadline_); now = system_time_ns()) {
      for (uint32_t i = 0; i < looks; ++i) {
        cpu_relax();
        if (poll()) return true;
      }
      if (now - start < spin.lend_ns && lend_thread()) end = after(system_time_ns(), look_ns);
    }
    return false;
  }

  bool sleep() noexcept {
    for (;;) {
      const bool must_poll = link();
      const SignalHooks* const hooks = hooks_of_entries();
      bool over;
      if (hooks != nullptr && !must_poll && deadline_ == UINT64_MAX) {
        over = sleep_until_posted(*hooks);
      } else {
        if (hooks != nullptr) hooks->watch();
        const Ended ended = sleep_and_look(must_poll);
        if (ended == Ended::kTimedOut) return finished();  // a post may have arrived after the last poll
        over = ended == Ended::kOver;
      }
      if (over || finished()) return true;
      // Posted but not finished: one of several signals was destroyed. Wait for the others.
    }
  }

  // Sleeps in the driver, without a timeout. Expects linked entries and unlinks them. Returns whether the
  // wait was over at the last poll.
  bool sleep_until_posted(const SignalHooks& hooks) noexcept {
    const bool over = poll();
    DeviceSleeper sleeper{parker_};
    if (!over) hooks.sleep(sleeper);
    unlink();
    if (!over) hooks.awake(sleeper);
    return over;
  }

  // Sleeps outside the driver: the wait has a timeout, or signals that must be polled. Expects linked entries
  // and unlinks them.
  enum class Ended : uint8_t { kOver, kPosted, kTimedOut };
  Ended sleep_and_look(bool must_poll) noexcept {
    const auto end = [this](Ended how) {
      unlink();
      return how;
    };
    PollInterval interval;
    ChangeListener listener;
    for (;;) {
      if (must_poll) listen(listener);
      if (poll()) return end(Ended::kOver);
      const uint64_t now = must_poll ? system_time_ns() : 0;
      const uint64_t until = must_poll ? std::min(deadline_, now + interval.next()) : deadline_;
      if (parker_.park(until, &listener)) return end(Ended::kPosted);
      if (system_time_ns() >= deadline_) return end(poll() ? Ended::kOver : Ended::kTimedOut);
    }
  }

  // Returns null if devices change none of the signals.
  const SignalHooks* hooks_of_entries() const noexcept {
    const bool by_devices = std::ranges::any_of(
        entries_, [](const Entry& entry) { return entry.open() && entry.signal->is_changed_by_devices(); });
    return by_devices ? installed_signal_hooks() : nullptr;
  }

  // Returns true if signals must also be polled.
  bool link() noexcept {
    uint32_t open = 0;
    for (const Entry& entry : entries_) open += entry.open();
    parker_.expect(quantifier_ == Quantifier::kAll ? open : 1);
    linked_ = true;
    bool must_poll = false;
    for (Entry& entry : entries_) {
      if (!entry.open()) continue;
      entry.node.parker = &parker_;
      if (link_waiter(*entry.signal, entry.node, entry.generation)) {
        must_poll |= needs_polling(*entry.signal);
      } else {
        entry.mark_destroyed();
        if (quantifier_ == Quantifier::kAll) static_cast<void>(parker_.post());
      }
    }
    // If this fails, signals either have kFence or are polled.
    if (!asymmetric_fence::heavy()) {
      for (const Entry& entry : entries_) must_poll |= entry.open() && needs_polling(*entry.signal);
    }
    return must_poll;
  }

  // Listens to changes by other processes. Call before a poll.
  void listen(ChangeListener& listener) const noexcept {
    listener.forget();
    for (const Entry& entry : entries_) {
      if (!entry.open() || !entry.signal->has_attribute(kSignalIpc)) continue;
      if (ChangeNotifier* const notifier = shared_signals::notifier_of(*entry.signal))
        listener.listen(*notifier);
    }
  }

  // Counts the post for an entry that this thread has found finished: the thread that unlinks a node posts.
  void withdraw(Entry& entry) noexcept {
    if (unlink_waiter(*entry.signal, entry.node) && quantifier_ == Quantifier::kAll) {
      static_cast<void>(parker_.post());
    }
  }

  void unlink() noexcept {
    for (Entry& entry : entries_) {
      unlink_waiter(*entry.signal, entry.node);
      entry.adopt();
    }
    linked_ = false;
  }

  bool finished() const noexcept {
    const auto met = [](const Entry& entry) { return entry.outcome == Entry::Outcome::kMet; };
    if (quantifier_ == Quantifier::kAny && std::ranges::any_of(entries_, met)) return true;
    return std::ranges::none_of(entries_, &Entry::open);
  }

  const std::span<Entry> entries_;
  const Quantifier quantifier_;
  bool linked_ = false;
  uint64_t deadline_ = 0;
  Parker parker_{quantifier_ == Quantifier::kAll ? Parker::Until::kLast : Parker::Until::kFirst};
};

bool is_waitable(const Signal& signal) noexcept {
  if (signal.kind() == AMD_SIGNAL_KIND_USER) [[likely]]
    return true;
  log_message(LogLevel::kError, LogTopic::kSignal, "wait: signal {:#x}: destroyed or a doorbell",
              signal.handle().handle);
  return false;
}

// Entries for the terms to wait for: a few on the stack, many on the heap.
class Entries {
 public:
  Entries(const WaitTerm* terms, uint32_t count) noexcept {
    if (count > kInline) {
      heap_.reset(new (std::nothrow) std::byte[count * sizeof(Entry)]);
      if (heap_ == nullptr) {
        failed_ = true;
        return;
      }
    }
    auto* entries = reinterpret_cast<Entry*>(count > kInline ? heap_.get() : inline_);
    uint32_t used = 0;
    for (uint32_t i = 0; i < count; ++i) {
      if (terms[i].signal != nullptr && is_waitable(*terms[i].signal))
        new (&entries[used++]) Entry(terms[i], i);
    }
    entries_ = {entries, used};
  }

  bool failed() const noexcept { return failed_; }
  std::span<Entry> span() const noexcept { return entries_; }

 private:
  static constexpr uint32_t kInline = 16;
  alignas(Entry) std::byte inline_[kInline * sizeof(Entry)];
  std::unique_ptr<std::byte[]> heap_;
  std::span<Entry> entries_;
  bool failed_ = false;
};
static_assert(std::is_trivially_destructible_v<Entry>);

// Used without memory for entries: polls once a millisecond.
template <class Look>
bool wait_by_polling(uint64_t timeout_ns, Look poll) noexcept {
  const uint64_t start = system_time_ns();
  const uint64_t deadline = after(start, timeout_ns);
  for (;;) {
    if (poll()) return true;
    const uint64_t now = system_time_ns();
    if (now >= deadline) return false;
    Parker(Parker::Until::kFirst).park(std::min(deadline, now + PollInterval::kLongestNs));
  }
}

bool term_holds(const WaitTerm& term, int64_t& value) noexcept {
  value = term.signal->load<std::memory_order_acquire>();
  return holds(term.condition, value, term.compare) &&
         // Read after the value, which may be a newer signal's.
         (term.generation == 0 || term.signal->generation.load(std::memory_order_relaxed) == term.generation);
}

}  // namespace

int64_t wait(Signal& signal, SignalCondition condition, int64_t compare, uint64_t timeout_ns,
             Spin spin) noexcept {
  if (!is_waitable(signal)) return 0;
  const WaitTerm term{&signal, condition, compare};
  int64_t value;
  if (term_holds(term, value) || timeout_ns == 0 || condition > HSA_SIGNAL_CONDITION_GTE) return value;
  Entry entry(term, 0);
  Wait({&entry, 1}, Quantifier::kAny).run(timeout_ns, spin);
  return entry.value;
}

uint32_t wait_any(const WaitTerm* terms, uint32_t count, uint64_t timeout_ns, Spin spin,
                  int64_t* value) noexcept {
  const auto met = [&](uint32_t index, int64_t with) {
    if (value != nullptr) *value = with;
    return index;
  };
  int64_t seen;
  const auto poll = [&](uint32_t& index) {
    for (index = 0; index < count; ++index) {
      const Signal* signal = terms[index].signal;
      if (signal != nullptr && signal->kind() == AMD_SIGNAL_KIND_USER && term_holds(terms[index], seen))
        return true;
    }
    return false;
  };
  uint32_t index;
  if (poll(index)) return met(index, seen);
  if (timeout_ns == 0) return kWaitTimedOut;

  const Entries entries(terms, count);
  if (entries.failed()) {
    return wait_by_polling(timeout_ns, [&] { return poll(index); }) ? met(index, seen) : kWaitTimedOut;
  }
  if (entries.span().empty()) return kWaitTimedOut;
  if (!Wait(entries.span(), Quantifier::kAny).run(timeout_ns, spin)) return kWaitTimedOut;
  for (const Entry& entry : entries.span()) {
    if (entry.outcome == Entry::Outcome::kMet) return met(entry.index, entry.value);
  }
  return kWaitTimedOut;
}

bool wait_all(const WaitTerm* terms, uint32_t count, uint64_t timeout_ns, Spin spin,
              int64_t* values) noexcept {
  if (values != nullptr) std::fill_n(values, count, 0);
  const Entries entries(terms, count);
  if (entries.failed()) {
    // Without memory for outcomes, all terms must hold in one poll.
    return wait_by_polling(timeout_ns, [&] {
      bool all = true;
      for (uint32_t i = 0; i < count; ++i) {
        int64_t value = 0;
        if (terms[i].signal != nullptr) all &= term_holds(terms[i], value);
        if (values != nullptr) values[i] = value;
      }
      return all;
    });
  }
  const bool all = Wait(entries.span(), Quantifier::kAll).run(timeout_ns, spin);
  if (values != nullptr) {
    for (const Entry& entry : entries.span()) values[entry.index] = entry.value;
  }
  return all;
}

}  // namespace rigel
