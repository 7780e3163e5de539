// Counters of executed instructions, for profiles. Interpreted code has one counter for each instruction of
// each block. Compiled code has one for each segment (Segment in native/plan.hpp), and one for each
// instruction, which is used if control leaves within a segment. A counter has the same index in all
// work-groups.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "api/support/mutex.hpp"
#include "plugins/vgpu/profile/kernel_profile.hpp"

namespace rigel::vgpu::exec {

/// The instructions that each counter of a kernel's code counts.
///
/// Threads: any.
class CountedPlaces {
 public:
  /// Returns the index of a new counter for the instruction at `pc`.
  uint32_t add(uint64_t pc) { return add_all({{pc}}); }
  /// Adds a counter for each element, the addresses of instructions that are executed together. Returns the
  /// index of the first one; the others follow.
  uint32_t add_all(const std::vector<std::vector<uint64_t>>& counters) {
    const MutexLock lock(mutex_);
    const auto first = static_cast<uint32_t>(ends_.size());
    for (const std::vector<uint64_t>& pcs : counters) {
      pcs_.insert(pcs_.end(), pcs.begin(), pcs.end());
      ends_.push_back(static_cast<uint32_t>(pcs_.size()));
    }
    return first;
  }
  /// Calls `visit(pc, index)` for each instruction of each counter.
  template <class Visit>
  void for_each(Visit visit) {
    const MutexLock lock(mutex_);
    for (uint32_t index = 0, i = 0; index < ends_.size(); ++index) {
      for (; i < ends_[index]; ++i) visit(pcs_[i], index);
    }
  }

 private:
  Mutex mutex_;
  std::vector<uint64_t> pcs_ RIGEL_GUARDED_BY(mutex_);
  std::vector<uint32_t> ends_ RIGEL_GUARDED_BY(mutex_);  // of each counter, in pcs_
};

class GroupSampler;
struct MicroOp;
struct Wave;

/// Handler of the micro-operation after a block: counts the dwords that it has moved. `aux`: the counter of
/// the instruction.
void count_block(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec);

/// Counts of one counter since GroupCounters::clear(), for one work-group.
struct Counter {
  static constexpr unsigned kLanesShift = 24;

  profile::Count count;
  /// Bits 0 to 23 count executions by compiled code, the others their active lanes. Compiled code adds to
  /// both at once. The scheduler clears counters after each slice, which has fewer than 2^22 instructions.
  uint64_t segments = 0;

  profile::Count sum() const {
    profile::Count sum = count;
    sum.times += segments & ((uint64_t{1} << kLanesShift) - 1);
    sum.lanes += segments >> kLanesShift;
    return sum;
  }
};

/// The counters of one resident work-group.
///
/// Threads: the worker of the work-group.
class GroupCounters {
 public:
  /// Counts an instruction with `lanes` active lanes. Called by handlers; does not throw.
  void count(uint32_t index, unsigned lanes) noexcept {
    if (index >= size_ && !grow(index)) return;
    use(index, index + 1);
    profile::Count& count = counters_.get()[index].count;
    ++count.times;
    count.lanes += lanes;
  }

  /// Counts dwords that a block has moved. Called by handlers; does not throw.
  void count_block(uint32_t index, uint64_t dwords) noexcept {
    if (index >= size_ && !grow(index)) return;
    use(index, index + 1);
    counters_.get()[index].count.block_dwords += dwords;
  }

  /// Makes the counters [0, count) and returns true, or returns false if the host has no memory.
  bool reserve(uint32_t count) noexcept { return count <= size_ || grow(count - 1); }
  /// Returns counters that have been reserved, to be changed before clear(). The pointer is valid until a
  /// counter is used that has not been reserved.
  Counter* range(uint32_t first, uint32_t count) noexcept {
    use(first, first + count);
    return counters_.get() + first;
  }

  /// Null: waves are not sampled. The owner of the work-group sets it.
  GroupSampler* sampler = nullptr;

  /// The counters outside of [begin(), end()) are 0. A slice of compiled code uses few of a kernel's
  /// counters.
  uint32_t begin() const { return begin_; }
  uint32_t end() const { return end_; }
  profile::Count operator[](uint32_t index) const { return counters_.get()[index].sum(); }
  /// Whether counts are missing because the host had no memory.
  bool is_incomplete() const { return is_incomplete_; }

  void clear() {
    if (end_ != 0)
      std::memset(static_cast<void*>(counters_.get() + begin_), 0, (end_ - begin_) * sizeof(Counter));
    begin_ = UINT32_MAX;
    end_ = 0;
  }

 private:
  void use(uint32_t begin, uint32_t end) {
    begin_ = std::min(begin_, begin);
    end_ = std::max(end_, end);
  }
  bool grow(uint32_t index) noexcept {
    const uint32_t size = (index + 1) * 2;
    void* const larger = std::realloc(counters_.get(), size * sizeof(Counter));
    is_incomplete_ |= larger == nullptr;
    if (larger == nullptr) return false;
    (void)counters_.release();
    counters_.reset(static_cast<Counter*>(larger));
    std::memset(static_cast<void*>(counters_.get() + size_), 0, (size - size_) * sizeof(Counter));
    size_ = size;
    return true;
  }

  std::unique_ptr<Counter, decltype(&std::free)> counters_{nullptr, std::free};
  uint32_t size_ = 0;
  uint32_t begin_ = UINT32_MAX, end_ = 0;
  bool is_incomplete_ = false;
};

}  // namespace rigel::vgpu::exec
