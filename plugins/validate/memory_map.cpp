#include <algorithm>
#include <utility>

#include "api/support/mutex.hpp"
#include "plugins/validate/memory.hpp"

namespace validate {
namespace {

constexpr size_t kMaxFreedBlocks = 1024;

}  // namespace

const Block* MemoryMap::find_locked(uint64_t address) const {
  auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return nullptr;
  const Block& block = std::prev(after)->second;
  return block.contains(address) ? &block : nullptr;
}

void MemoryMap::add(Block block) {
  const rigel::WriterLock lock(mutex_);
  std::erase_if(freed_, [&](const Block& old) {
    return old.base < block.base + block.size && block.base < old.base + old.size;
  });
  const uint64_t base = block.base;
  blocks_[base] = std::move(block);
}

bool MemoryMap::remove(uint64_t base, const Event& freed) {
  const rigel::WriterLock lock(mutex_);
  const auto found = blocks_.find(base);
  if (found == blocks_.end()) return false;
  found->second.freed = freed;
  freed_.push_back(std::move(found->second));
  blocks_.erase(found);
  if (freed_.size() > kMaxFreedBlocks) freed_.pop_front();
  return true;
}

void MemoryMap::restore(uint64_t base) {
  const rigel::WriterLock lock(mutex_);
  const auto found =
      std::find_if(freed_.rbegin(), freed_.rend(), [&](const Block& b) { return b.base == base; });
  if (found == freed_.rend()) return;
  blocks_[base] = std::move(*found);
  freed_.erase(std::next(found).base());
}

void MemoryMap::allow(uint64_t address, std::span<const hsa_agent_t> agents) {
  const rigel::WriterLock lock(mutex_);
  const Block* const found = find_locked(address);
  if (found == nullptr) return;
  Block& block = blocks_[found->base];
  block.allowed.clear();
  for (const hsa_agent_t agent : agents) block.allowed.push_back(agent.handle);
}

std::optional<Block> MemoryMap::find(uint64_t address) const {
  const rigel::ReaderLock lock(mutex_);
  const Block* const found = find_locked(address);
  if (found == nullptr) return std::nullopt;
  return *found;
}

std::optional<Block> MemoryMap::find_freed(uint64_t address) const {
  const rigel::ReaderLock lock(mutex_);
  const auto found =
      std::find_if(freed_.rbegin(), freed_.rend(), [&](const Block& b) { return b.contains(address); });
  if (found == freed_.rend()) return std::nullopt;
  return *found;
}

std::vector<Block> MemoryMap::find_all(std::span<const uint64_t> words) const {
  std::vector<Block> out;
  const rigel::ReaderLock lock(mutex_);
  for (const uint64_t word : words) {
    const Block* const found = find_locked(word);
    if (found == nullptr) continue;
    const auto same = [&](const Block& b) { return b.base == found->base; };
    if (std::none_of(out.begin(), out.end(), same)) out.push_back(*found);
  }
  return out;
}

}  // namespace validate
