#include "plugins/vgpu/kfd/buffer_metadata.hpp"

#include <utility>

namespace rigel::vgpu {

BufferMetadata BufferMetadataTable::Entry::get() const {
  const MutexLock lock(mutex_);
  return metadata_;
}

void BufferMetadataTable::Entry::set(BufferMetadata metadata) {
  const MutexLock lock(mutex_);
  metadata_ = std::move(metadata);
}

std::shared_ptr<BufferMetadataTable::Entry> BufferMetadataTable::open(uint64_t nonce) {
  if (nonce == 0) return std::make_shared<Entry>();
  const MutexLock lock(mutex_);
  std::weak_ptr<Entry>& weak_entry = entries_[nonce];
  std::shared_ptr<Entry> entry = weak_entry.lock();
  if (entry == nullptr) weak_entry = entry = std::make_shared<Entry>();
  return entry;
}

void BufferMetadataTable::forget(uint64_t nonce) {
  const MutexLock lock(mutex_);
  const auto it = entries_.find(nonce);
  if (it != entries_.end() && it->second.expired()) entries_.erase(it);
}

BufferMetadata BufferMetadataTable::find(uint64_t nonce) const {
  const MutexLock lock(mutex_);
  const auto it = entries_.find(nonce);
  const std::shared_ptr<Entry> entry = it != entries_.end() ? it->second.lock() : nullptr;
  return entry != nullptr ? entry->get() : BufferMetadata{};
}

}  // namespace rigel::vgpu
