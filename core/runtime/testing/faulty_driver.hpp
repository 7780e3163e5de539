// A driver transport that is the virtual GPU with failing operations, for tests of a runtime whose driver
// runs out of resources.
//
// Test and transport share one FaultyDriver: the module exports it as `faulty_driver`. Any thread.
#pragma once

#include <hsa_plugin/hsa_driver.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

namespace rigel::testing {

struct FaultyDriver {
  /// Number of operations that can fail, counted since the test has set it to 0. These are open, mmap and
  /// ioctls. Ioctls that release resources are not counted. Those that wait are counted only if `only`
  /// selects them.
  std::atomic<uint32_t> operations;
  /// The first operation that fails, counted from 1, and the number of failing ones; 0: none.
  std::atomic<uint32_t> first;
  std::atomic<uint32_t> count;
  /// Only ioctls of this number count; 0: everything.
  std::atomic<uint32_t> only;
  std::atomic<int> problem;  ///< the errno
  /// The last failed operation: the number of an ioctl, or one of the constants.
  std::atomic<uint32_t> failed;
  static constexpr uint32_t kOpen = 1000, kMap = 1001;
  /// Not 0: GPUs can retry faults; `retries` is the setting of this process.
  std::atomic<int> can_retry;
  std::atomic<int> retries;
  /// Not 0: 64-bit atomics of GPUs do not reach the host, according to the links.
  std::atomic<int> lacks_atomics;
  std::atomic<uint32_t> copy_queues;
  /// KFD_MEM_ flags of the last requested memory object.
  std::atomic<uint32_t> memory_flags;
  hsadrv_sampler_t sampler;  ///< of the last start of sampling, for the thread that starts it

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
