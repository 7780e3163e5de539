#include "plugins/vgpu/exec/group.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

#include "plugins/vgpu/check/findings.hpp"
#include "plugins/vgpu/cp/host_fault.hpp"
#include "plugins/vgpu/exec/wave_row.hpp"

namespace rigel::vgpu::exec {
namespace {

constexpr size_t kAlignment = 64;

constexpr size_t rounded(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

size_t lds_bytes(const Launch& launch) {
  static_assert(kLdsMargin % kAlignment == 0);
  return rounded(kLdsMargin + launch.dispatch().lds_bytes + kLdsMargin);
}

}  // namespace

Group::Group(const Launch& launch)
    : layout_(launch.layout()), lds_room_(static_cast<uint32_t>(lds_bytes(launch))) {
  const uint32_t waves = launch.waves_per_group();
  // Five extra lines per wave, so that the same rows of different waves do not map to the same cache set.
  const size_t wave_bytes = rounded(layout_.bytes()) + kAlignment * 5;
  has_undefined_lds_ = launch.tracks_undefined();
  bytes_ = wave_bytes * waves + lds_room_ * (has_undefined_lds_ ? 2u : 1u);
  memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded(bytes_))));
  if (memory_ == nullptr) throw std::bad_alloc();
  std::memset(memory_.get(), 0, rounded(bytes_));
  waves_.resize(waves);
  slots_.resize(waves);
  for (uint32_t i = 0; i < waves; ++i) waves_[i].registers = memory_.get() + wave_bytes * i;
  std::byte* const lds_room = memory_.get() + wave_bytes * waves;
  work_group_.lds = lds_room + kLdsMargin;
  // Poison the margins: reads past LDS return 0 by the range check, not because the memory holds 0.
  std::memset(lds_room, 0xa5, lds_room_);
  std::memset(work_group_.lds, 0, launch.dispatch().lds_bytes);
  if (has_undefined_lds_) work_group_.lds_undefined = lds_room + lds_room_ + kLdsMargin;
  work_group_.waves = waves_.data();
}

bool Group::fits(const Launch& launch) const {
  return layout_ == launch.layout() && waves_.size() == launch.waves_per_group() &&
         lds_room_ == lds_bytes(launch) && has_undefined_lds_ == launch.tracks_undefined();
}

bool Group::reserve(std::shared_ptr<Launch> launch) {
  has_slots_ = launch->scratch() != nullptr;
  if (has_slots_ && !launch->scratch()->take(static_cast<uint32_t>(waves_.size()), slots_.data())) {
    has_slots_ = false;
    return false;
  }
  launch_ = std::move(launch);
  started_ = false;
  launch_->prepare_group(work_group_, has_slots_ ? slots_.data() : nullptr);
  if (launch_->is_checked() && checker_ == nullptr)
    checker_ = std::make_unique<GroupChecker>(check::Findings::of_process());
  work_group_.checker = launch_->is_checked() ? checker_.get() : nullptr;
  work_group_.counters = launch_->profile() != nullptr ? &counters_ : nullptr;
  const bool is_sampled = launch_->profile() != nullptr && launch_->profile()->sampling().interval != 0;
  counters_.sampler = is_sampled ? &sampler_ : nullptr;
  return true;
}

void Group::start(uint64_t index, uint64_t end) {
  started_ = true;
  index_ = index;
  failed_ = nullptr;
  instructions_ = 0;
  launch_->start_group(work_group_, index, end);
  if (checker() != nullptr) checker()->start(*launch_, work_group_);
  if (sampler() != nullptr) {
    const auto waves = static_cast<uint32_t>(waves_.size());
    sampler_.start(index, waves, launch_->profile()->sampling().interval);
  }
  random_state_ = launch_->schedule().seed ^ index * 0x9e3779b97f4a7c15u;
}

void Group::end() {
  if (has_slots_) launch_->scratch()->release(static_cast<uint32_t>(waves_.size()), slots_.data());
  has_slots_ = false;
  launch_.reset();
}

Group::Outcome Group::run(WaveMemory& memory, FloatEnvironment& environment, int64_t time_slice) {
  executed_ = 0;
  ended_ = 0;
  Outcome outcome = Outcome::kFailed;
  memory.lane_faults().clear();
  // The program may unmap memory that a wave uses. The fault then leaves the handler with longjmp. This is
  // safe because handlers and their callers here own no resources.
  if (!guarded([&] { outcome = run_waves(memory, environment, time_slice); },
               [&](std::byte* host) { return memory.is_gpu_memory(host); })) {
    const HostFault& lost = last_host_fault();
    Wave& wave = *work_group_.running;
    environment.restore(wave.mode);
    if (work_group_.row.end != 0) end_batch();
    executed_ += time_slice - wave.budget;
    wave.stop = Stop::kFault;
    wave.fault_va = memory.address_of(lost.address);
    wave.fault_access = static_cast<uint8_t>(lost.access);
    wave.fault_reason = static_cast<uint8_t>(lost.reason);
    wave.left_in_handler = true;
    failed_ = &wave;
    outcome = Outcome::kFailed;
  }
  // executed_ may be negative if a wave stops within a block: a forward branch in the block has a negative
  // cost for the skipped instructions, and those after its target are charged at the end of the block.
  instructions_ += static_cast<uint64_t>(executed_);
  last_instructions_ = executed_ > 0 ? static_cast<uint64_t>(executed_) : 0;
  return outcome;
}

void Group::append_waves(std::vector<WaveAt>& to) const {
  for (uint32_t i = 0; i < work_group_.wave_count; ++i) {
    const uint32_t bit = 1u << i;
    const bool can_run = ((work_group_.ready | work_group_.yielded) & bit) != 0;
    if (!can_run && ((work_group_.at_barrier | work_group_.halted) & bit) == 0) continue;
    WaveAt at{waves_[i].op, {work_group_.id[0], work_group_.id[1], work_group_.id[2]}, i};
    if ((work_group_.at_barrier & bit) != 0) at.state = WaveAt::State::kAtBarrier;
    if ((work_group_.halted & bit) != 0) at.state = WaveAt::State::kHalted;
    if (can_run && waves_[i].stop == Stop::kSleep) at.state = WaveAt::State::kSleeps;
    to.push_back(at);
  }
}

void Group::run_batch(WaveMemory& memory, FloatEnvironment& environment, int64_t time_slice) {
  for (uint32_t i = 0; i < work_group_.wave_count; ++i) {
    waves_[i].memory = &memory;
    waves_[i].budget = time_slice;
  }
  work_group_.row.turn = time_slice;
  work_group_.row.left = kSlicesPerBatch * time_slice;
  Wave* const first = next_in_row(work_group_);
  environment.enter(first->mode);
  first->stop = Stop::kRunning;
  first->op->handler(first->op, first, first->registers, first->launched_exec);
  environment.leave(work_group_.running->mode);
  end_batch();
  executed_ += time_slice - work_group_.running->budget;
}

// The waves of the last work-group continue one by one.
void Group::end_batch() {
  WorkGroup::Row& row = work_group_.row;
  executed_ += kSlicesPerBatch * row.turn - row.left;
  const uint64_t ended = work_group_.id[0] - row.first;
  index_ += ended;
  ended_ += ended;
  row.end = 0;
}

void Group::sort_stopped(const Wave& wave, uint32_t& next_pass) {
  const uint32_t bit = 1u << wave.id_in_group;
  switch (wave.stop) {
    case Stop::kBarrier:
      // The barrier was complete after the wave's signal.
      if ((work_group_.passed & bit) != 0) {
        work_group_.passed &= ~bit;
        next_pass |= bit;
      } else {
        work_group_.at_barrier |= bit;
      }
      break;
    case Stop::kYield:
      work_group_.yielded |= bit;
      break;
    case Stop::kEnd:
      break;
    case Stop::kRunning:
    case Stop::kBudget:
    case Stop::kUndefined:
    case Stop::kSleep:
      next_pass |= bit;
      break;
    case Stop::kHalt:
      work_group_.halted |= bit;
      break;
    case Stop::kFault:
    case Stop::kIllegal:
    case Stop::kNoMemory:
    case Stop::kTrap:
      failed_ = &wave;
      break;
  }
}

// SplitMix64 (Steele, Lea and Flood, 2014).
uint64_t Group::random() {
  uint64_t z = random_state_ += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

void Group::run_pass(WaveMemory& memory, FloatEnvironment& environment, int64_t time_slice) {
  const bool is_random = launch_->schedule().order == Schedule::Order::kRandom;
  uint32_t next_pass = 0;
  const int64_t max_executed = is_random ? time_slice * work_group_.wave_count : INT64_MAX;
  for (uint32_t& ready = work_group_.ready; ready != 0 && failed_ == nullptr && executed_ < max_executed;) {
    uint32_t candidates = ready;
    // A wave that has yielded waits for a load, which takes less time than the slice of a spinning wave.
    constexpr int64_t kLoadSlice = 512;
    int64_t budget = work_group_.yielded == 0 ? time_slice : std::min(time_slice, kLoadSlice);
    if (is_random) {
      constexpr uint64_t kLongestRandomSlice = 256;
      budget = std::min<int64_t>(time_slice, static_cast<int64_t>(random() % kLongestRandomSlice));
      const auto count = static_cast<uint64_t>(__builtin_popcount(ready));
      for (uint64_t skipped = random() % count; skipped != 0; --skipped) candidates &= candidates - 1;
    }
    const auto i = static_cast<uint32_t>(__builtin_ctz(candidates));
    ready &= ~(1u << i);
    Wave& wave = waves_[i];
    wave.memory = &memory;
    wave.budget = budget;
    environment.enter(wave.mode);
    work_group_.running = &wave;
    if (wave.stop == Stop::kBudget) go_on_compiled(wave);
    run_wave(&wave);
    environment.leave(wave.mode);
    executed_ += budget - wave.budget;
    sort_stopped(wave, next_pass);
    if (is_random) {  // Only waves that sleep wait for the next pass.
      ready |= std::exchange(work_group_.yielded, 0);
      if (wave.stop == Stop::kBudget) ready |= std::exchange(next_pass, 0);
    }
  }
  work_group_.ready |= next_pass;
}

// Releases the waves at the barrier if the others have signalled and run on: they may wait for those.
void Group::pass_split_barrier() {
  WorkGroup& group = work_group_;
  const uint32_t running = group.ready | group.yielded | group.halted;
  if (group.at_barrier == 0 || (running & ~(group.signalled & ~group.passed)) != 0) return;
  group.passed |= running;
  group.signalled = 0;
  if (checker() != nullptr) checker()->release(group.at_barrier);
  group.ready |= std::exchange(group.at_barrier, 0);
}

Group::Outcome Group::run_waves(WaveMemory& memory, FloatEnvironment& environment, int64_t time_slice) {
  WorkGroup& group = work_group_;
  if (group.row.end != 0) {
    run_batch(memory, environment, time_slice);
    sort_stopped(*group.running, group.ready);
    if (failed_ != nullptr) return Outcome::kFailed;
    if (group.running->stop == Stop::kBudget) return Outcome::kTurnOver;
  }
  const int64_t max_executed = time_slice * group.wave_count;
  do {
    run_pass(memory, environment, time_slice);
    if (failed_ != nullptr) return Outcome::kFailed;
    if ((group.ready | group.yielded) != 0) pass_split_barrier();
    if (group.yielded != 0) {
      group.ready |= std::exchange(group.yielded, 0);
      continue;
    }
    if (group.ready != 0) {
      for (uint32_t waves = group.ready; waves != 0; waves &= waves - 1) {
        if (waves_[static_cast<size_t>(__builtin_ctz(waves))].stop != Stop::kSleep) return Outcome::kTurnOver;
      }
      return Outcome::kSleeping;
    }
    if (group.halted != 0) return Outcome::kHalted;
    if (group.at_barrier == 0) {
      ++ended_;
      return Outcome::kEnded;
    }
    group.ready = std::exchange(group.at_barrier, 0);
    group.signalled = 0;
    if (checker() != nullptr) checker()->release(group.ready);
  } while (executed_ < max_executed);
  return Outcome::kTurnOver;
}

}  // namespace rigel::vgpu::exec
