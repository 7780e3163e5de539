// The memory behind the handles of images and samplers: words that kernels and language runtimes read through
// the handle, which is their address.
//
// Slots of 64 bytes in pages that every agent reaches. One that was given back is the last to be used again,
// so that a handle that is used too late is likely to be told. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "api/support/mutex.hpp"
#include "core/base/status.hpp"

namespace rigel {

class HandleMemory {
 public:
  static constexpr size_t kSlotWords = 16;

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
  void give(uint32_t* slot);

 private:
  const Source source_;
  Mutex mutex_;
  std::vector<void*> pages_ RIGEL_GUARDED_BY(mutex_);
  std::deque<uint32_t*> free_ RIGEL_GUARDED_BY(mutex_);
};

}  // namespace rigel
