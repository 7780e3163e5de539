#include "plugins/vgpu/kfd/svm_ranges.hpp"

namespace rigel::vgpu {

void SvmRanges::split(uint64_t page) {
  auto it = ranges_.upper_bound(page);
  if (it == ranges_.begin()) return;
  --it;
  if (it->first == page || it->second.end_page <= page) return;
  ranges_.emplace(page, it->second);  // before the change of the entry, because emplace may throw
  it->second.end_page = page;
}

void SvmRanges::merge(uint64_t first, uint64_t end) {
  auto it = ranges_.lower_bound(first);
  if (it != ranges_.begin()) --it;
  while (it != ranges_.end() && it->first <= end) {
    const auto next = std::next(it);
    if (next == ranges_.end()) break;
    if (it->second.end_page == next->first && it->second.attributes == next->second.attributes) {
      it->second.end_page = next->second.end_page;
      ranges_.erase(next);
    } else {
      it = next;
    }
  }
}

bool SvmRanges::overlaps(uint64_t first, uint64_t end) const {
  bool found = false;
  visit(first, end, [&](uint64_t, uint64_t, const SvmAttributes* a) { found |= a != nullptr; });
  return found;
}

void SvmRanges::erase(uint64_t first, uint64_t end) {
  split(first);
  split(end);
  ranges_.erase(ranges_.lower_bound(first), ranges_.lower_bound(end));
}

}  // namespace rigel::vgpu
