// A ring of records from one thread to the writer: no lock, no allocation, and no waiting on either side.
//
// A record is a run of 64-bit words and lies in one piece: behind the end of the ring there is room for the
// longest, so that one that begins near the end goes on there. Both positions count words and never go back.
// What the owner has written before `commit` is visible to the reader behind `end`; a slot is the owner's
// again when the reader's `release` is.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace trace {

class Ring {
 public:
  static constexpr size_t kLongest = 64;  ///< words of a record

  /// `words`: a power of two, at least four of the longest records.
  explicit Ring(size_t words) : words_(words), mask_(words - 1), memory_(new uint64_t[words + kLongest]) {}

  // Of the owning thread.

  /// Room for a record of `length` words, if another `kept` words would still fit behind it; else null.
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
  /// Whether more than half is taken, asked for the first time since the reader has come by.
  bool fills_up() noexcept {
    if (head_.load(std::memory_order_relaxed) - seen_tail_ <= words_ / 2) [[likely]]
      return false;
    const uint64_t tail = tail_.load(std::memory_order_acquire);
    if (tail == asked_at_) return false;
    seen_tail_ = tail;
    if (head_.load(std::memory_order_relaxed) - tail <= words_ / 2) return false;
    asked_at_ = tail;
    return true;
  }

  // Of the reader.

  uint64_t end() const noexcept { return head_.load(std::memory_order_acquire); }
  uint64_t begin() const noexcept { return tail_.load(std::memory_order_relaxed); }
  const uint64_t* at(uint64_t position) const noexcept { return &memory_[position & mask_]; }
  void release(uint64_t position) noexcept { tail_.store(position, std::memory_order_release); }

 private:
  const size_t words_;
  const size_t mask_;
  const std::unique_ptr<uint64_t[]> memory_;
  alignas(64) std::atomic<uint64_t> head_{0};
  uint64_t seen_tail_ = 0;  // of the owner
  uint64_t asked_at_ = UINT64_MAX;
  alignas(64) std::atomic<uint64_t> tail_{0};
};

}  // namespace trace
