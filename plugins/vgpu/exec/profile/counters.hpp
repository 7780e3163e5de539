// Counters of executed instructions, for profiles. Interpreted code has one counter for each instruction of
// each block. Compiled code has one for each segment (Segment in native/plan.hpp), and one for each
// instruction, which is used if control leaves within a segment. A counter has the same index in all
// work-groups.
#pragma once

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

/// The counters of one resident work-group.
///
/// Threads: the worker of the work-group.
class GroupCounters {
 public:
  /// Counts an instruction with `lanes` active lanes. Called by handlers; does not throw.
  void count(uint32_t index, unsigned lanes) noexcept {
    if (index >= size_ && !grow(index)) return;
    profile::Count& count = counts_.get()[index];
    ++count.times;
    count.lanes += lanes;
  }

  /// Counts dwords that a block has moved. Called by handlers; does not throw.
  void count_block(uint32_t index, uint64_t dwords) noexcept {
    if (index < size_ || grow(index)) counts_.get()[index].block_dwords += dwords;
  }

  /// Returns `count` counters from index `first` on, or null if the host has no memory. The pointer is valid
  /// until another counter is used for the first time.
  profile::Count* range(uint32_t first, uint32_t count) noexcept {
    if (first + count > size_ && !grow(first + count - 1)) return nullptr;
    return counts_.get() + first;
  }

  /// Null: waves are not sampled. The owner of the work-group sets it.
  GroupSampler* sampler = nullptr;

  uint32_t size() const { return size_; }
  profile::Count& operator[](uint32_t index) { return counts_.get()[index]; }
  /// Whether counts are missing because the host had no memory.
  bool is_incomplete() const { return is_incomplete_; }

  void clear() {
    if (size_ != 0) std::memset(static_cast<void*>(counts_.get()), 0, size_ * sizeof(profile::Count));
  }

 private:
  bool grow(uint32_t index) noexcept {
    const uint32_t size = (index + 1) * 2;
    void* const larger = std::realloc(counts_.get(), size * sizeof(profile::Count));
    is_incomplete_ |= larger == nullptr;
    if (larger == nullptr) return false;
    (void)counts_.release();
    counts_.reset(static_cast<profile::Count*>(larger));
    std::memset(static_cast<void*>(counts_.get() + size_), 0, (size - size_) * sizeof(profile::Count));
    size_ = size;
    return true;
  }

  std::unique_ptr<profile::Count, decltype(&std::free)> counts_{nullptr, std::free};
  uint32_t size_ = 0;
  bool is_incomplete_ = false;
};

}  // namespace rigel::vgpu::exec
