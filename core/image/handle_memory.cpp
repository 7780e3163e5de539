#include "core/image/handle_memory.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "api/support/mutex.hpp"
#include "api/support/page_size.hpp"

namespace rigel {
namespace {

constexpr size_t kSlots = kPageBytes / (HandleMemory::kSlotWords * sizeof(uint32_t));

}  // namespace

HandleMemory::HandleMemory(Source source) : source_(std::move(source)) {}

HandleMemory::~HandleMemory() {
  for (void* page : pages_) source_.release(page);
}

uint32_t* HandleMemory::next_of(const uint32_t* slot) noexcept {
  uint32_t* next = nullptr;
  std::memcpy(&next, slot + kMaxWords, sizeof next);
  return next;
}

void HandleMemory::set_next(uint32_t* slot, uint32_t* next) noexcept {
  std::memcpy(slot + kMaxWords, &next, sizeof next);
}

void HandleMemory::append(uint32_t* slot) noexcept {
  set_next(slot, nullptr);
  if (oldest_ == nullptr) {
    oldest_ = slot;
  } else {
    set_next(latest_, slot);
  }
  latest_ = slot;
  ++free_;
}

Status HandleMemory::add_page() {
  pages_.reserve(pages_.size() + 1);
  const auto page = source_.allocate(kPageBytes);
  if (!page) return page.error();
  pages_.push_back(*page);
  for (size_t i = 0; i < kSlots; ++i) append(static_cast<uint32_t*>(*page) + i * kSlotWords);
  return HSA_STATUS_SUCCESS;
}

Result<uint32_t*> HandleMemory::take() {
  const MutexLock lock(mutex_);
  // Keeps some slots free for a while.
  const Status status = free_ > kSlots / 2 ? HSA_STATUS_SUCCESS : add_page();
  if (oldest_ == nullptr) return error(status);
  uint32_t* const slot = oldest_;
  oldest_ = next_of(slot);
  --free_;
  std::fill_n(slot, kSlotWords, 0u);
  return slot;
}

void HandleMemory::give(uint32_t* slot) noexcept {
  const MutexLock lock(mutex_);
  append(slot);
}

}  // namespace rigel
