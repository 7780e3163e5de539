// A ring of records from one owner thread to one reader, without locks, allocation or waiting.
//
// A record is a contiguous run of 64-bit words. The memory extends past the end of the ring by the longest
// record, so that a record near the end does not wrap. Both positions count words and only increase.
//
// *Threads:* reserve, commit, fills_up: the owner. end, begin, at, release: the reader.
// *Memory order:* commit releases the record's words to a reader that acquires them by end(). release()
// returns the words to the owner, which acquires the position in reserve().
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace trace {

class Ring {
 public:
  static constexpr size_t kLongest = 64;  ///< maximum number of words of a record

  /// `words`: a power of two, at least 4 * kLongest.
  explicit Ring(size_t words) : words_(words), mask_(words - 1), memory_(new uint64_t[words + kLongest]) {}

  // Called by the owner.

  /// Returns room for a record of `length` words, or null unless `kept` more words fit after it.
  uint64_t* reserve(size_t length, size_t kept) noexcept {
    const uint64_t head = head_.load(std::memory_order_relaxed);
    if (head + length + kept - seen_tail_ > words_) [[unlikely]] {
      seen_tail_ = tail_.load(std::memory_order_acquire);
      if (head + length + kept - seen_tail_ > words_) return nullptr;
    }
    return &memory_[head & mask_];
  }
  void commit(size_t length) noexcept {
    head_.store(head_.load(std::memory_order_relaxed) + length, std::memory_order_release);
  }
  /// Whether more than half of the ring is used, once per release() of the reader.
  bool fills_up() noexcept {
    if (head_.load(std::memory_order_relaxed) - seen_tail_ <= words_ / 2) [[likely]]
      return false;
    const uint64_t tail = tail_.load(std::memory_order_acquire);
    if (tail == reported_tail_) return false;
    seen_tail_ = tail;
    if (head_.load(std::memory_order_relaxed) - tail <= words_ / 2) return false;
    reported_tail_ = tail;
    return true;
  }

  // Called by the reader.

  uint64_t end() const noexcept { return head_.load(std::memory_order_acquire); }
  uint64_t begin() const noexcept { return tail_.load(std::memory_order_relaxed); }
  const uint64_t* at(uint64_t position) const noexcept { return &memory_[position & mask_]; }
  void release(uint64_t position) noexcept { tail_.store(position, std::memory_order_release); }

 private:
  const size_t words_;
  const size_t mask_;
  const std::unique_ptr<uint64_t[]> memory_;
  alignas(64) std::atomic<uint64_t> head_{0};
  uint64_t seen_tail_ = 0;  // the owner's copy of tail_
  uint64_t reported_tail_ = UINT64_MAX;
  alignas(64) std::atomic<uint64_t> tail_{0};
};

}  // namespace trace
