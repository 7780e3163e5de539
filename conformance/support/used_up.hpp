// A memory pool that has no free memory.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstddef>
#include <vector>

#include "support/memory.hpp"
#include "support/status.hpp"

namespace conformance {

/// Holds all memory of a pool, to the last page, until release(). Leaves `left` contiguous bytes free.
class ExhaustedPool {
 public:
  explicit ExhaustedPool(hsa_amd_memory_pool_t pool, size_t left = 0) {
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
  ~ExhaustedPool() { release(); }
  ExhaustedPool(const ExhaustedPool&) = delete;
  ExhaustedPool& operator=(const ExhaustedPool&) = delete;

  void release() {
    for (void* block : blocks_) EXPECT_HSA(hsa_amd_memory_pool_free(block));
    blocks_.clear();
  }
  /// The status of the last allocation, which failed.
  hsa_status_t status() const { return status_; }
  size_t bytes() const { return bytes_; }

 private:
  std::vector<void*> blocks_;
  size_t bytes_ = 0;
  hsa_status_t status_ = HSA_STATUS_SUCCESS;
};

}  // namespace conformance
