#include "core/image/handle_memory.hpp"

#include <algorithm>
#include <utility>

#include "api/support/mutex.hpp"

namespace rigel {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kSlots = kPageBytes / (HandleMemory::kSlotWords * sizeof(uint32_t));

}  // namespace

HandleMemory::HandleMemory(Source source) : source_(std::move(source)) {}

HandleMemory::~HandleMemory() {
  for (void* page : pages_) source_.release(page);
}

Result<uint32_t*> HandleMemory::take() {
  const MutexLock lock(mutex_);
  // Some are left to rest.
  if (free_.size() <= kSlots / 2) {
    const auto page = source_.allocate(kPageBytes);
    if (page) {
      pages_.push_back(*page);
      for (size_t i = 0; i < kSlots; ++i) free_.push_back(static_cast<uint32_t*>(*page) + i * kSlotWords);
    } else if (free_.empty()) {
      return error(page.error());
    }
  }
  uint32_t* const slot = free_.front();
  free_.pop_front();
  std::fill_n(slot, kSlotWords, 0u);
  return slot;
}

void HandleMemory::give(uint32_t* slot) {
  const MutexLock lock(mutex_);
  free_.push_back(slot);
}

}  // namespace rigel
