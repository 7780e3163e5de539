#include "core/signal/wait.hpp"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <new>
#include <span>

#include "core/base/clock.hpp"
#include "core/base/log.hpp"
#include "core/base/spin.hpp"
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
  uint32_t index;  // of the term
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

  void gone() noexcept {
    outcome = Outcome::kGone;
    value = 0;
  }

  void look() noexcept {
    const int64_t now = signal->load<std::memory_order_acquire>();
    // A value may satisfy because it is a younger signal's: the generation says whose it was.
    if (signal->generation.load(std::memory_order_relaxed) != generation) [[unlikely]]
      return gone();
    value = now;
    if (holds(node.condition, now, node.compare)) outcome = Outcome::kMet;
  }

  // Takes the outcome from the node, once nobody else has it.
  void adopt() noexcept {
    const State state = node.state.load(std::memory_order_acquire);
    if (!open()) return;
    if (state == State::kSatisfied) {
      outcome = Outcome::kMet;
      value = node.seen;
    } else if (state == State::kSignalGone) {
      gone();
    }
  }
};

enum class Quantifier : uint8_t { kAny, kAll };

// One wait of one thread.
class Wait {
 public:
  Wait(std::span<Entry> entries, Quantifier quantifier) noexcept
      : entries_(entries), quantifier_(quantifier) {}

  // True if the wait is over; entries have their outcomes either way.
  bool run(uint64_t timeout_ns, Spin spin) noexcept {
    if (look()) return true;
    if (timeout_ns == 0) return false;
    const uint64_t start = system_time_ns();
    deadline_ = after(start, timeout_ns);
    return look_for_a_while(start, spin) || sleep();
  }

 private:
  bool look() noexcept {
    bool one_met = false;
    bool one_open = false;
    for (Entry& entry : entries_) {
      if (entry.open()) {
        entry.look();
        if (!entry.open() && linked_) withdraw(entry);
      }
      if (entry.outcome == Entry::Outcome::kMet) {
        one_met = true;
        if (quantifier_ == Quantifier::kAny) break;
      }
      one_open |= entry.open();
    }
    return !one_open || (one_met && quantifier_ == Quantifier::kAny);
  }

  // Until nothing has changed, and the device has had no use for the thread, for as long as it is to look.
  bool look_for_a_while(uint64_t start, Spin spin) noexcept {
    if (spinning_is_pointless()) return false;
    // Reading the clock is as dear as several looks at a few signals.
    const uint32_t looks =
        std::max<uint32_t>(1, 8 / static_cast<uint32_t>(std::min<size_t>(entries_.size(), 8)));
    const uint64_t look_ns = device_computes_on_host() ? spin.look_ns / 10 : spin.look_ns;
    uint64_t end = after(start, look_ns);
    for (uint64_t now = start; now < std::min(end, deadline_); now = system_time_ns()) {
      for (uint32_t i = 0; i < looks; ++i) {
        cpu_relax();
        if (look()) return true;
      }
      if (now - start < spin.lend_ns && lend_thread()) end = after(system_time_ns(), look_ns);
    }
    return false;
  }

  bool sleep() noexcept {
    for (;;) {
      const bool poll = link();
      const SignalHooks* const hooks = hooks_of_entries();
      bool over;
      if (hooks != nullptr && !poll && deadline_ == UINT64_MAX) {
        over = sleep_until_posted(*hooks);
      } else {
        if (hooks != nullptr) hooks->watch();
        const Ended ended = sleep_and_look(poll);
        if (ended == Ended::kTimedOut) return finished();  // what was posted at the last moment counts
        over = ended == Ended::kOver;
      }
      if (over || finished()) return true;
      // Posted, but not done: of several signals, one was destroyed. Wait for the rest.
    }
  }

  // Linked when this begins, and unlinked when it ends. Whether the wait was over at the last look.
  bool sleep_until_posted(const SignalHooks& hooks) noexcept {
    const bool over = look();
    DeviceSleeper sleeper{parker_};
    if (!over) hooks.sleep(sleeper);
    unlink();
    if (!over) hooks.awake(sleeper);
    return over;
  }

  // The same for a wait that ends in time, or that looks now and then.
  enum class Ended : uint8_t { kOver, kPosted, kTimedOut };
  Ended sleep_and_look(bool poll) noexcept {
    const auto end = [this](Ended how) {
      unlink();
      return how;
    };
    PollInterval interval;
    BellListener bells;
    for (;;) {
      if (poll) listen(bells);
      if (look()) return end(Ended::kOver);
      const uint64_t now = poll ? system_time_ns() : 0;
      const uint64_t until = poll ? std::min(deadline_, now + interval.next()) : deadline_;
      if (parker_.park(until, &bells)) return end(Ended::kPosted);
      if (system_time_ns() >= deadline_) return end(look() ? Ended::kOver : Ended::kTimedOut);
    }
  }

  // Null if devices change none of the signals.
  const SignalHooks* hooks_of_entries() const noexcept {
    const bool by_devices = std::ranges::any_of(
        entries_, [](const Entry& entry) { return entry.open() && entry.signal->is_changed_by_devices(); });
    return by_devices ? installed_signal_hooks() : nullptr;
  }

  // True if the signals have to be polled besides.
  bool link() noexcept {
    uint32_t open = 0;
    for (const Entry& entry : entries_) open += entry.open();
    parker_.expect(quantifier_ == Quantifier::kAll ? open : 1);
    linked_ = true;
    bool poll = false;
    for (Entry& entry : entries_) {
      if (!entry.open()) continue;
      entry.node.parker = &parker_;
      if (link_waiter(*entry.signal, entry.node, entry.generation)) {
        poll |= needs_polling(*entry.signal);
      } else {
        entry.gone();
        if (quantifier_ == Quantifier::kAll) static_cast<void>(parker_.post());
      }
    }
    // Where this fails, signals either have kFence or are polled.
    if (!asymmetric_fence::heavy()) {
      for (const Entry& entry : entries_) poll |= entry.open() && needs_polling(*entry.signal);
    }
    return poll;
  }

  // To changes by other processes. Before a look.
  void listen(BellListener& bells) const noexcept {
    bells.forget();
    for (const Entry& entry : entries_) {
      if (!entry.open() || !entry.signal->has_attribute(kSignalIpc)) continue;
      if (ChangeBell* const bell = shared_signals::bell_of(*entry.signal)) bells.listen(*bell);
    }
  }

  // This thread has seen the end of an entry itself: whoever unlinks a node counts its post.
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

// Entries for the terms that are to be waited for: a few on the stack, many on the heap.
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

// With no memory for entries: looks once a millisecond.
template <class Look>
bool wait_by_polling(uint64_t timeout_ns, Look look) noexcept {
  const uint64_t start = system_time_ns();
  const uint64_t deadline = after(start, timeout_ns);
  for (;;) {
    if (look()) return true;
    const uint64_t now = system_time_ns();
    if (now >= deadline) return false;
    Parker(Parker::Until::kFirst).park(std::min(deadline, now + PollInterval::kLongestNs));
  }
}

bool term_holds(const WaitTerm& term, int64_t& value) noexcept {
  value = term.signal->load<std::memory_order_acquire>();
  return holds(term.condition, value, term.compare) &&
         // After the value, which may be a younger signal's.
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
  const auto look = [&](uint32_t& index) {
    for (index = 0; index < count; ++index) {
      const Signal* signal = terms[index].signal;
      if (signal != nullptr && signal->kind() == AMD_SIGNAL_KIND_USER && term_holds(terms[index], seen))
        return true;
    }
    return false;
  };
  uint32_t index;
  if (look(index)) return met(index, seen);
  if (timeout_ns == 0) return kWaitTimedOut;

  const Entries entries(terms, count);
  if (entries.failed()) {
    return wait_by_polling(timeout_ns, [&] { return look(index); }) ? met(index, seen) : kWaitTimedOut;
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
    // Without a place to remember what has been seen, all have to hold at once.
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
