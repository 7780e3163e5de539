// Memory for handles of images and samplers: words that kernels and language runtimes read through the
// handle, which is their address.
//
// Slots have 64 bytes and are in pages that every agent can access. A released slot is reused last, so that
// late uses of its handle are likely to be detected. Releasing allocates no memory: free slots are linked
// through their last words, which handles do not use.
//
// *Threads:* any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "api/support/mutex.hpp"
#include "api/support/status.hpp"

namespace rigel {

class HandleMemory {
 public:
  static constexpr size_t kSlotWords = 16;
  /// maximum words of a handle
  static constexpr size_t kMaxWords = kSlotWords - sizeof(void*) / sizeof(uint32_t);

  /// Allocation and release of memory that all agents can access.
  struct Source {
    std::function<Result<void*>(size_t)> allocate;
    std::function<void(void*)> release;
  };

  explicit HandleMemory(Source source);
  ~HandleMemory();
  HandleMemory(const HandleMemory&) = delete;
  HandleMemory& operator=(const HandleMemory&) = delete;

  /// Returns kSlotWords words, all 0.
  Result<uint32_t*> take();
  void give(uint32_t* slot) noexcept;

 private:
  static uint32_t* next_of(const uint32_t* slot) noexcept;
  static void set_next(uint32_t* slot, uint32_t* next) noexcept;
  Status add_page() RIGEL_REQUIRES(mutex_);
  void append(uint32_t* slot) noexcept RIGEL_REQUIRES(mutex_);

  const Source source_;
  Mutex mutex_;
  std::vector<void*> pages_ RIGEL_GUARDED_BY(mutex_);
  uint32_t* oldest_ RIGEL_GUARDED_BY(mutex_) = nullptr;  // oldest free slot; null: none
  uint32_t* latest_ RIGEL_GUARDED_BY(mutex_) = nullptr;
  size_t free_ RIGEL_GUARDED_BY(mutex_) = 0;  // number of free slots
};

}  // namespace rigel
