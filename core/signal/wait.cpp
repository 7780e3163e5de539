#include "core/signal/wait.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <new>
#include <span>

#include "core/base/clock.hpp"
#include "core/base/log.hpp"
#include "core/base/spin.hpp"
#include "core/signal/blocked_spin.hpp"
#include "core/signal/foresight.hpp"
#include "core/signal/lent_thread.hpp"
#include "core/signal/shared_signals.hpp"
#include "core/signal/wait_node.hpp"

namespace rigel {
namespace {

using State = WaitNode::State;

constexpr uint64_t kPoliteAfterNs = 10'000;
// What is sooner over needs no help.
constexpr uint64_t kHelpAfterNs = 1'000;
// Who could help lately looks on: a device that is being helped is soon done, or wants more.
constexpr uint64_t kLookOnNs = 50'000;
// But what a thread helps with may be somebody else's, and never end.
constexpr uint64_t kHelpfulForNs = 20'000'000;
// Of blocked waits, where there is other work and yields are too dear: the most.
constexpr uint64_t kImpoliteSpinNs = 50'000;
// Whoever gets the processor by a yield keeps it for a turn of the scheduler, milliseconds, however low its
// priority. Where that has happened, there is other work than what is waited for.
constexpr uint64_t kDearYieldNs = 500'000;
constexpr uint64_t kNotPoliteForNs = 100'000'000;
// Between two looks at a signal that changes in silence: short at first, for what is nearly done.
constexpr uint64_t kShortestPollNs = 50'000;
constexpr uint64_t kLongestPollNs = 1'000'000;

uint64_t after(uint64_t start, uint64_t ns) noexcept {
  return start + std::min(ns, UINT64_MAX - start);
}

// Of waits that were told to sleep.
constinit thread_local BlockedSpin blocked_spin;
// Of waits that were told to spin and took longer.
constinit thread_local Foresight foresight;
// Until then waits of this thread give the processor to nobody.
constinit thread_local uint64_t polite_from_ns = 0;

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
        generation(term.signal->generation.load(std::memory_order_acquire)),
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
    const bool blocked = spin.ns == Spin::blocked().ns, foresees = spin.ns == Spin::active().ns;
    if (blocked || foresees) help_until_ = std::min(deadline_, after(start, kHelpfulForNs));
    if (blocked) spin.ns = std::min(blocked_spin.ns(), start < polite_from_ns ? kImpoliteSpinNs : UINT64_MAX);
    if (spin_until(start, std::min(deadline_, after(start, spin.ns)))) {
      if (blocked && !helped_) blocked_spin.found(looked_at_ - start);
      return true;
    }
    const bool over = (foresees && sleep_until_it_should_end(start)) || sleep(deadline_);
    const uint64_t took = system_time_ns() - start;
    if (foresees && over) foresight.took(took);
    if (blocked) over ? blocked_spin.woken(took) : blocked_spin.in_vain();
    return over;
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

  bool spin_until(uint64_t start, uint64_t end) noexcept {
    if (spinning_is_pointless()) return false;
    // Reading the clock is as dear as several looks at a few signals.
    const uint32_t looks =
        std::max<uint32_t>(1, 8 / static_cast<uint32_t>(std::min<size_t>(entries_.size(), 8)));
    for (uint64_t now = start; now < end; now = system_time_ns()) {
      looked_at_ = now;
      // What takes longer may be waiting for this processor.
      if (now - start > kPoliteAfterNs && now >= polite_from_ns) {
        sched_yield();
        const uint64_t back = system_time_ns();
        if (back - now > kDearYieldNs) polite_from_ns = back + kNotPoliteForNs;
      }
      if (now - start > kHelpAfterNs && now < help_until_ && lend_thread()) {
        helped_ = true;
        end = std::max(end, std::min(after(system_time_ns(), kLookOnNs), help_until_));
      }
      for (uint32_t i = 0; i < looks; ++i) {
        cpu_relax();
        if (look()) return true;
      }
    }
    return false;
  }

  // Awake when it should be over, as far as that is foreseen. True if it is.
  bool sleep_until_it_should_end(uint64_t start) noexcept {
    const Foresight::Window window = foresight.window();
    const uint64_t begin = std::min(after(start, window.begin), deadline_);
    const uint64_t end = std::min(after(start, window.end), deadline_);
    uint64_t now = system_time_ns();
    if (end <= now) return false;
    if (begin > now + Foresight::kWakeUpNs) {
      if (sleep(begin)) return true;
      now = system_time_ns();
    }
    return spin_until(now, end);
  }

  bool sleep(uint64_t deadline) noexcept {
    for (;;) {
      const bool poll = link();
      uint64_t poll_ns = kShortestPollNs;
      bool posted = false;
      BellListener bells;
      if (poll) listen(bells);
      bool over = look();
      while (!over && !posted) {
        const uint64_t until = poll ? std::min(deadline, system_time_ns() + poll_ns) : deadline;
        posted = parker_.park(until, &bells);
        if (posted) break;
        if (poll) listen(bells);
        over = look();
        if (!over && system_time_ns() >= deadline) {
          unlink();
          return finished();  // what was posted at the last moment counts
        }
        poll_ns = std::min(2 * poll_ns, kLongestPollNs);
      }
      unlink();
      if (over || finished()) return true;
      // Posted, but not done: of several signals, one was destroyed. Wait for the rest.
    }
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
  uint64_t looked_at_ = 0;   // about when it last did, while spinning
  uint64_t help_until_ = 0;  // a device that computes on processors of the host
  bool helped_ = false;
  Parker parker_{quantifier_ == Quantifier::kAll ? Parker::Until::kLast : Parker::Until::kFirst};
};

bool is_waitable(const Signal& signal) noexcept {
  if (signal.kind() == AMD_SIGNAL_KIND_USER) [[likely]]
    return true;
  log_message(LogLevel::kError, LogTopic::kSignal,
              "wait on a signal that was destroyed, or a doorbell: {:#x}", signal.handle().handle);
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
    Parker(Parker::Until::kFirst).park(std::min(deadline, now + kLongestPollNs));
  }
}

bool term_holds(const WaitTerm& term, int64_t& value) noexcept {
  value = term.signal->load<std::memory_order_acquire>();
  return holds(term.condition, value, term.compare);
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
