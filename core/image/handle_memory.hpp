// The memory behind the handles of images and samplers: words that kernels and language runtimes read through
// the handle, which is their address.
//
// Slots of 64 bytes in pages that every agent reaches. One that was given back is the last to be used again,
// so that a handle that is used too late is likely to be told. Giving back needs no memory: those that are free are
// linked through their last words, which no handle needs. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "api/support/mutex.hpp"
#include "core/base/status.hpp"

namespace rigel {

class HandleMemory {
 public:
  static constexpr size_t kSlotWords = 16;
  static constexpr size_t kMostWords = kSlotWords - sizeof(void*) / sizeof(uint32_t);  ///< behind a handle

  /// Memory that all agents reach, and its end.
  struct Source {
    std::function<Result<void*>(size_t)> allocate;
    std::function<void(void*)> release;
  };

  explicit HandleMemory(Source source);
  ~HandleMemory();
  HandleMemory(const HandleMemory&) = delete;
  HandleMemory& operator=(const HandleMemory&) = delete;

  /// kSlotWords words, all 0.
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
  uint32_t* oldest_ RIGEL_GUARDED_BY(mutex_) = nullptr;  // of those that are free; null: none is
  uint32_t* latest_ RIGEL_GUARDED_BY(mutex_) = nullptr;
  size_t free_ RIGEL_GUARDED_BY(mutex_) = 0;  // how many are
};

}  // namespace rigel
