#include "core/memory/extent.hpp"

#include <sched.h>

#include "api/support/spin.hpp"

namespace rigel {

std::optional<AllocationView> Extent::view(uintptr_t address) const noexcept {
  constexpr auto acquire = std::memory_order_acquire;
  constexpr unsigned kSpins = 64;
  for (unsigned attempt = 0;; ++attempt) {
    // A writer keeps the counter odd for a few stores. If it lost its CPU in between, this thread must not
    // spin.
    if (attempt > 0) attempt % kSpins == 0 ? static_cast<void>(sched_yield()) : cpu_relax();

    const uint64_t sequence = published.sequence.load(acquire);
    if (sequence % 2 != 0) continue;
    const uintptr_t base = published.base.load(acquire);
    const size_t offset = address - base;
    const bool inside = offset < published.size.load(acquire);
    AllocationView view;
    bool found = false;
    if (inside) {
      const uint32_t pages = published.object_pages.load(acquire);
      const uint32_t index = object_index(offset, pages);
      ObjectRecord* records = published.records.load(acquire);
      if (index < published.object_count.load(acquire) && records != nullptr) {
        const ObjectRecord& record = records[index];
        view.base = base + size_t{index} * pages * kPageBytes;
        view.size = record.size();
        view.user_data = record.user_data();
        view.marks = record.marks();
        view.heap = published.heap.load(acquire);
        found = address - view.base < view.size;
      }
    }
    if (published.sequence.load(std::memory_order_relaxed) != sequence) continue;
    if (!found) return std::nullopt;
    return view;
  }
}

}  // namespace rigel
