// A driver transport that is the virtual GPU, but for one operation that fails: for tests of what becomes of
// a runtime whose driver has run out of something.
//
// Test and transport share one FaultyDriver: the module exports it as `faulty_driver`. Any thread.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdint>

namespace rigel::testing {

struct FaultyDriver {
  /// Operations that may fail, counted since the test set it to 0: open, mmap, and ioctls but those that give
  /// something back, and those that wait but where only they count.
  std::atomic<uint32_t> operations;
  /// The first that fails, counted from 1, and how many do; 0: none.
  std::atomic<uint32_t> first;
  std::atomic<uint32_t> count;
  /// Only ioctls of this number count; 0: everything.
  std::atomic<uint32_t> only;
  std::atomic<int> problem;  ///< the errno
  /// What failed last: the number of an ioctl, or one of these.
  std::atomic<uint32_t> failed;
  static constexpr uint32_t kOpen = 1000, kMap = 1001;
  /// Nonzero: GPUs can retry faults, and `retries` says whether those of this process do.
  std::atomic<int> can_retry;
  std::atomic<int> retries;
  /// Nonzero: 64-bit atomics of GPUs do not reach the host, as links say.
  std::atomic<int> lacks_atomics;
  /// Queues of copy engines that were asked for.
  std::atomic<uint32_t> copy_queues;
  /// Of the memory object that was asked for last, KFD_MEM_.
  std::atomic<uint32_t> memory_flags;

  bool fails(uint32_t what) {
    if (only != 0 && only != what) return false;
    const uint32_t number = ++operations;
    const uint32_t begin = first;
    if (begin == 0 || number < begin || number - begin >= count) return false;
    failed = what;
    return true;
  }
  void fail(uint32_t from, uint32_t how_many = 1, uint32_t which = 0, int why = ENOMEM) {
    only = which;
    problem = why;
    count = how_many;
    failed = 0;
    operations = 0;
    first = from;
  }
  void heal() { first = 0; }
};

}  // namespace rigel::testing
