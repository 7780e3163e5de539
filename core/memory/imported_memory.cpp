#include "core/memory/imported_memory.hpp"

#include "api/support/mutex.hpp"

namespace rigel {

Result<const std::vector<std::byte>*> ImportedMemory::add(Entry entry) {
  const Status status = importer_->set_access(**entry.block, entry.agents);
  if (status != HSA_STATUS_SUCCESS) return error(status);
  const std::vector<std::byte>* const metadata = &(*entry.block)->metadata;
  const WriterLock lock(mutex_);
  entries_.emplace(entry.base, std::move(entry));
  return metadata;
}

bool ImportedMemory::remove(uintptr_t address, hsa_amd_pointer_type_t type) {
  Entry entry;
  {
    const WriterLock lock(mutex_);
    const auto found = entries_.find(address);
    if (found == entries_.end() || found->second.type != type) return false;
    entry = std::move(found->second);
    entries_.erase(found);
  }
  for (const DeallocationCallback& callback : entry.callbacks)
    callback.function(callback.ptr, callback.user_data);
  return true;
}

ImportedMemory::Entries::const_iterator ImportedMemory::around(uintptr_t address) const {
  auto after = entries_.upper_bound(address);
  if (after == entries_.begin()) return entries_.end();
  --after;
  return address - after->first < after->second.size ? after : entries_.end();
}

std::optional<ImportedMemory::View> ImportedMemory::view(uintptr_t address) const {
  const ReaderLock lock(mutex_);
  const auto found = around(address);
  if (found == entries_.end()) return std::nullopt;
  const Entry& entry = found->second;
  return View{entry.type,
              entry.base,
              entry.size,
              entry.agents,
              entry.user_data,
              (*entry.block)->owner,
              (*entry.block)->host_accessible};
}

std::optional<Status> ImportedMemory::set_access(uintptr_t address, const AgentSet& agents) {
  std::shared_ptr<const OpenBlock> block;
  {
    const ReaderLock lock(mutex_);
    const auto found = entries_.find(address);
    if (found == entries_.end()) return std::nullopt;
    block = found->second.block;
  }
  const Status status = importer_->set_access(**block, agents);
  if (status != HSA_STATUS_SUCCESS) return status;
  const WriterLock lock(mutex_);
  const auto found = entries_.find(address);
  if (found != entries_.end() && found->second.block == block) found->second.agents = agents;
  return status;
}

bool ImportedMemory::set_user_data(uintptr_t address, void* user_data) {
  const WriterLock lock(mutex_);
  const auto found = entries_.find(address);
  if (found == entries_.end()) return false;
  found->second.user_data = user_data;
  return true;
}

bool ImportedMemory::add_callback(const DeallocationCallback& callback) {
  const WriterLock lock(mutex_);
  const auto found = around(reinterpret_cast<uintptr_t>(callback.ptr));
  if (found == entries_.end()) return false;
  entries_.at(found->first).callbacks.push_back(callback);
  return true;
}

size_t ImportedMemory::remove_callbacks(const void* ptr, hsa_amd_deallocation_callback_t function) {
  const WriterLock lock(mutex_);
  const auto found = around(reinterpret_cast<uintptr_t>(ptr));
  if (found == entries_.end()) return 0;
  return std::erase_if(entries_.at(found->first).callbacks, [&](const DeallocationCallback& one) {
    return one.ptr == ptr && one.function == function;
  });
}

}  // namespace rigel
