#include "plugins/vgpu/exec/check/memory_shadow.hpp"

namespace rigel::vgpu::exec {
namespace {

constexpr uint64_t cell_of(uint32_t undefined, uint32_t content) {
  return undefined == 0 ? 0 : uint64_t{content} << 32 | undefined;
}
constexpr uint32_t undefined_of(uint64_t cell, uint32_t content) {
  return cell >> 32 == content ? static_cast<uint32_t>(cell) : 0;
}

}  // namespace

uint32_t MemoryShadow::Page::undefined(uint32_t dword, uint32_t content) const {
  const Cells* const cells = published_.load(std::memory_order_acquire);
  return cells == nullptr ? 0 : undefined_of((*cells)[dword].load(std::memory_order_relaxed), content);
}

void MemoryShadow::Page::store(uint32_t dword, uint32_t content, uint32_t next, uint32_t written,
                               uint32_t undefined) {
  Cells* cells = published_.load(std::memory_order_acquire);
  if (cells == nullptr) {
    if (undefined == 0) return;
    const MutexLock lock(mutex_);
    if (cells_ == nullptr) cells_ = std::make_unique<Cells>();
    cells = cells_.get();
    published_.store(cells, std::memory_order_release);
  }
  std::atomic<uint64_t>& cell = (*cells)[dword];
  const uint64_t before = cell.load(std::memory_order_relaxed);
  const uint64_t after = cell_of((undefined_of(before, content) & ~written) | (undefined & written), next);
  if (before == after) return;
  cell.store(after, std::memory_order_relaxed);
  if (before == 0 && undefined_.fetch_add(1, std::memory_order_relaxed) == 0)
    of_process().epoch_.fetch_add(1, std::memory_order_release);
  if (after == 0) undefined_.fetch_sub(1, std::memory_order_relaxed);
}

MemoryShadow& MemoryShadow::of_process() {
  static MemoryShadow* const shadow = new MemoryShadow;
  return *shadow;
}

void MemoryShadow::start(Page& page, uint64_t allocation, uint32_t fill, const uint32_t* contents) {
  const MutexLock lock(page.mutex_);
  uint32_t count = 0;
  for (uint32_t i = 0; contents != nullptr && i < kDwords; ++i) count += contents[i] == fill ? 1 : 0;
  if (count != 0 && page.cells_ == nullptr) page.cells_ = std::make_unique<Page::Cells>();
  if (page.cells_ != nullptr) {
    for (uint32_t i = 0; i < kDwords; ++i) {
      const bool is_undefined = contents != nullptr && contents[i] == fill;
      (*page.cells_)[i].store(is_undefined ? cell_of(~0u, fill) : 0, std::memory_order_relaxed);
    }
    page.published_.store(page.cells_.get(), std::memory_order_release);
  }
  page.undefined_.store(count, std::memory_order_relaxed);
  page.allocation_.store(allocation, std::memory_order_relaxed);
}

}  // namespace rigel::vgpu::exec
