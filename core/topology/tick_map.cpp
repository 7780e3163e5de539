#include "core/topology/tick_map.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <new>

#include "api/support/mutex.hpp"

namespace rigel {
namespace {

// A correction is spread over kGently times its size, so that durations change by at most a thousandth. It
// takes at least kShortestBendNs and, if the map was slow, at most kLongestBendNs.
constexpr double kGently = 1000;
constexpr double kShortestBendNs = 10e6;
constexpr double kLongestBendNs = 1e9;

// The interval between readings for the measurement of a rate.
constexpr double kBaseNs = 1e9;

// Maximum drift of clocks, and maximum additional offset of a clock from its map. Larger differences are not
// drift.
constexpr double kLargestDrift = 1e-3;
constexpr double kLargestErrorNs = 1e6;

// The distance of segments grows with their number: at most a million per year, for any behaviour of the
// clocks.
constexpr double kRestNs = 10e6;
constexpr uint32_t kSegmentsPerRest = 256;

}  // namespace

uint64_t TickMap::fixed(double rate) noexcept {
  constexpr double kOne = double{1ull << kRateBits};
  return std::max<uint64_t>(1, static_cast<uint64_t>(std::min(rate * kOne, 0x1p62) + 0.5));
}

TickMap::TickMap(const ClockReading& first, std::span<const ClockReading> now,
                 uint64_t ticks_per_second) noexcept
    : origin_(first.ticks), rate_(ticks_per_second == 0 ? 0 : 1e9 / static_cast<double>(ticks_per_second)) {
  // for the annotations of the functions below; no other thread has access yet
  const MutexLock lock(calibrating_);
  const auto distance = static_cast<double>(now.back().ticks - first.ticks);
  if (rate_ == 0)
    rate_ = distance > 0 ? static_cast<double>(now.back().latest_ns - first.latest_ns) / distance : 1;
  const Bounds here = together(now);
  const int64_t middle = here.middle_ns();
  rate_ = rate_between(together({&first, 1}), {here.since, middle, middle});
  base_ = here;
  // The line goes through the later reading, because most requests are for recent ticks.
  const double begin = std::max(0., static_cast<double>(middle) - static_cast<double>(here.since) * rate_);
  last_.store(here.since, std::memory_order_relaxed);
  horizon_.store(static_cast<uint64_t>(static_cast<double>(kPromisedNs) / rate_), std::memory_order_relaxed);
  blocks_[0].store(first_block_.data(), std::memory_order_relaxed);
  segment(0) = {0, static_cast<uint64_t>(begin), 0, 0, fixed(rate_)};
  state_.store(pack(0, 1), std::memory_order_release);
}

TickMap::~TickMap() {
  for (uint32_t i = 1; i < kBlocks; ++i) delete[] blocks_[i].load(std::memory_order_relaxed);
}

TickMap::Segment& TickMap::segment(uint32_t index) const noexcept {
  const uint32_t block = static_cast<uint32_t>(std::bit_width(index / kFirstBlock + 1)) - 1;
  const uint32_t first = kFirstBlock * ((1u << block) - 1);
  return blocks_[block].load(std::memory_order_relaxed)[index - first];
}

bool TickMap::make_room(uint32_t index) noexcept {
  const uint32_t block = static_cast<uint32_t>(std::bit_width(index / kFirstBlock + 1)) - 1;
  if (block >= kBlocks) return false;
  if (blocks_[block].load(std::memory_order_relaxed) != nullptr) return true;
  auto* const segments = new (std::nothrow) Segment[kFirstBlock << block];
  if (segments == nullptr) return false;
  blocks_[block].store(segments, std::memory_order_relaxed);  // the state publishes it
  return true;
}

const TickMap::Segment& TickMap::segment_of(uint64_t state, uint64_t since) const noexcept {
  uint32_t low = 0, high = count(state);  // the segment is in [low, high)
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    (segment(middle).begin <= since ? low : high) = middle;
  }
  return segment(low);
}

// Converts ticks before the first reading, at the rate of the first segment.
uint64_t TickMap::before(uint64_t ticks) const noexcept {
  const Segment& first = segment(0);
  const Wide fraction = static_cast<Wide>(ticks) * first.rate;
  const Wide whole =
      // rounds up, so that a later tick has no earlier time
      (fraction >> kRateBits) + ((fraction & 0xffffffff) != 0);
  return whole > first.begin_ns ? 0 : first.begin_ns - static_cast<uint64_t>(whole);
}

// Fixes the segments of the returned state for ticks up to `since`.
uint64_t TickMap::promise(uint64_t state, uint64_t since) noexcept {
  const uint64_t last = last_.load(std::memory_order_relaxed);
  if (since > last && since - last > horizon_.load(std::memory_order_relaxed)) return state;
  while (since >= promised(state)) {
    const uint64_t promised_now = pack(step_up(since), count(state));
    if (state_.compare_exchange_weak(state, promised_now, std::memory_order_acquire)) return promised_now;
  }
  return state;
}

TickMap::Bounds TickMap::together(std::span<const ClockReading> looks) const noexcept {
  const uint64_t reference = looks.back().ticks;
  int64_t earliest = std::numeric_limits<int64_t>::min(), latest = std::numeric_limits<int64_t>::max();
  Bounds narrowest{reference - origin_, earliest, latest};
  for (const ClockReading& look : looks) {
    if (look.ticks > reference || look.earliest_ns > look.latest_ns) continue;
    const double age = static_cast<double>(reference - look.ticks) * rate_;
    // The tick had started, but perhaps just before the next one.
    const int64_t from = static_cast<int64_t>(look.earliest_ns) + std::llround(std::floor(age - rate_));
    const int64_t to = static_cast<int64_t>(look.latest_ns) + std::llround(std::ceil(age));
    earliest = std::max(earliest, from);
    latest = std::min(latest, to);
    if (to / 2 - from / 2 < narrowest.latest_ns / 2 - narrowest.earliest_ns / 2) {
      narrowest.earliest_ns = from;
      narrowest.latest_ns = to;
    }
  }
  if (earliest > latest) return narrowest;  // a clock was set between the readings, or stood still
  return {reference - origin_, earliest, latest};
}

// Returns the rate, changed by no more than two readings require.
double TickMap::rate_between(const Bounds& from, const Bounds& to) const noexcept {
  if (to.since <= from.since) return rate_;
  const auto distance = static_cast<double>(to.since - from.since);
  const double least = static_cast<double>(to.earliest_ns - from.latest_ns) / distance;
  const double most = static_cast<double>(to.latest_ns - from.earliest_ns) / distance;
  const double rate = std::clamp(rate_, least, std::max(least, most));
  return rate > 0 ? rate : rate_;
}

void TickMap::calibrate(std::span<const ClockReading> looks) noexcept {
  if (looks.empty() || !calibrating_.try_lock()) return;
  const MutexLock lock(calibrating_, std::adopt_lock);
  const Bounds now = together(looks);
  const uint64_t last = last_.load(std::memory_order_relaxed);
  // A clock that has gone back was reset with its device, so the reading is useless.
  if (now.since <= last || now.since > kFarthest) return;
  const uint64_t state = state_.load(std::memory_order_relaxed);
  const Segment& newest = segment(count(state) - 1);
  const double rest = kRestNs * (1 + count(state) / kSegmentsPerRest) / rate_;
  if (count(state) > 1 &&
      static_cast<double>(now.since) < static_cast<double>(newest.begin + newest.bend_ticks) + rest) {
    return;
  }
  double rate = rate_between(base_, now);
  if (std::abs(rate - rate_) > kLargestDrift * rate_) {
    // One of the clocks stood still or was set, for example during suspend.
    rate = rate_;
    base_ = now;
  }
  const auto mapped = static_cast<int64_t>(newest.at(now.since));
  const bool within = now.earliest_ns <= mapped && mapped <= now.latest_ns;
  const bool same = rate == rate_;
  rate_ = rate;
  if ((!within || !same) && !append(now, static_cast<double>(within ? mapped : now.middle_ns()))) return;
  last_.store(now.since, std::memory_order_relaxed);
  if (static_cast<double>(now.since - base_.since) * rate_ >= kBaseNs) base_ = now;
}

bool TickMap::fits(std::span<const ClockReading> looks) noexcept {
  const MutexLock lock(calibrating_);
  const Bounds now = together(looks);
  const uint64_t last = last_.load(std::memory_order_relaxed), state = state_.load(std::memory_order_relaxed);
  if (now.since < last || now.since > kFarthest) return false;
  const auto error =
      static_cast<double>(static_cast<int64_t>(segment_of(state, now.since).at(now.since)) - now.middle_ns());
  return std::abs(error) < kLargestErrorNs + kLargestDrift * static_cast<double>(now.since - last) * rate_;
}

// Appends a segment that meets `target_ns` at the reading's tick, or the corresponding time later at the
// rate.
bool TickMap::append(const Bounds& now, double target_ns) noexcept {
  uint64_t state = state_.load(std::memory_order_relaxed);
  const uint32_t index = count(state);
  if (!make_room(index)) return false;
  const Segment& newest = segment(index - 1);
  for (;;) {
    const uint64_t begin = std::max(
        {promised(state), step_up(last_.load(std::memory_order_relaxed)), newest.begin + newest.bend_ticks});
    const uint64_t begin_ns = newest.at(begin);
    // The reading's time for the start, which may be before or after it.
    const double distance = static_cast<double>(static_cast<int64_t>(now.since - begin));
    const double ahead = static_cast<double>(begin_ns) - (target_ns - distance * rate_);
    double bend_ns = std::clamp(kGently * std::abs(ahead), kShortestBendNs, kLongestBendNs);
    bend_ns = std::max(bend_ns, 2 * ahead);  // it never runs at less than half the rate
    const double bend = std::max(std::ceil(bend_ns / rate_), distance);
    segment(index) = {begin, begin_ns, static_cast<uint64_t>(bend), fixed(rate_ - ahead / bend),
                      fixed(rate_)};
    if (state_.compare_exchange_weak(state, pack(begin, index + 1), std::memory_order_acq_rel)) return true;
  }
}

}  // namespace rigel
