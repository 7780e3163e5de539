// Imports memory of other processes and drivers for GPUs of amdkfd: dmabufs and memory that the driver has a
// name for.
#pragma once

#include <unordered_map>

#include "api/support/mutex.hpp"
#include "core/memory/kfd_memory.hpp"
#include "core/memory/provider.hpp"

namespace rigel {

class KfdImporter final : public MemoryImporter {
 public:
  explicit KfdImporter(const KfdAgents& agents) : agents_(agents) {}

  Result<ImportedBlock> open(int descriptor, const AgentSet& wanted) override;
  Result<ImportedBlock> open(const MemoryProvider::NamedBlock& named, size_t size) override;
  Status set_access(const ImportedBlock& block, const AgentSet& agents) override;
  void close(const ImportedBlock& block) noexcept override;

 private:
  ImportedBlock finish(ImportedBlock block, const KfdGpu& gpu, bool host_accessible);

  const KfdAgents& agents_;
  Mutex mutex_;
  std::unordered_map<uint64_t, KfdMapping> mappings_ RIGEL_GUARDED_BY(mutex_);  // by handle
};

}  // namespace rigel
