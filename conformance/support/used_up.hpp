// A pool whose memory somebody else has.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstddef>
#include <vector>

#include "support/memory.hpp"
#include "support/status.hpp"

namespace conformance {

/// All memory of a pool, to the last pages, until it is let go; but `left` bytes in one piece.
class PoolUsedUp {
 public:
  explicit PoolUsedUp(hsa_amd_memory_pool_t pool, size_t left = 0) {
    constexpr size_t kLargest = 64 << 20, kPage = 4096;
    void* spared = nullptr;
    if (left != 0) {
      EXPECT_HSA(hsa_amd_memory_pool_allocate(pool, (left + kPage - 1) / kPage * kPage, 0, &spared));
    }
    for (size_t size = kLargest; size >= kPage; size /= 2) {
      void* block = nullptr;
      while ((status_ = hsa_amd_memory_pool_allocate(pool, size, 0, &block)) == HSA_STATUS_SUCCESS) {
        blocks_.push_back(block);
        bytes_ += size;
      }
    }
    if (spared != nullptr) {
      EXPECT_HSA(hsa_amd_memory_pool_free(spared));
    }
  }
  ~PoolUsedUp() { release(); }
  PoolUsedUp(const PoolUsedUp&) = delete;
  PoolUsedUp& operator=(const PoolUsedUp&) = delete;

  void release() {
    for (void* block : blocks_) EXPECT_HSA(hsa_amd_memory_pool_free(block));
    blocks_.clear();
  }
  /// What the allocation was told that failed at last.
  hsa_status_t status() const { return status_; }
  size_t bytes() const { return bytes_; }

 private:
  std::vector<void*> blocks_;
  size_t bytes_ = 0;
  hsa_status_t status_ = HSA_STATUS_SUCCESS;
};

}  // namespace conformance
