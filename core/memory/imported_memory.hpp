// Memory of other processes and drivers that is mapped here: its address, the agents with access, and the
// program's data for it. The counterpart of allocations, for hsa_amd_ipc_memory_attach and
// hsa_amd_interop_map_buffer.
//
// *Threads:* any thread. One lock guards the table of entries; the importer is never called under it.
// Detaching memory that another thread of the program uses makes that thread fault, but leaves the table
// consistent.
// *Lifetime:* owned by SharedMemory.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "api/support/mutex.hpp"
#include "api/support/status.hpp"
#include "core/memory/heaps.hpp"
#include "core/memory/provider.hpp"
#include "core/topology/agent_directory.hpp"

namespace rigel {

/// A block of an importer, closed with its last owner. Create it before opening the block, which then has an
/// owner immediately.
class OpenBlock {
 public:
  explicit OpenBlock(MemoryImporter& importer) : importer_(importer) {}
  ~OpenBlock() {
    if (block_) importer_.close(*block_);
  }
  OpenBlock(const OpenBlock&) = delete;
  OpenBlock& operator=(const OpenBlock&) = delete;

  /// Takes a block. Call once.
  void adopt(ImportedBlock block) noexcept { block_.emplace(std::move(block)); }
  const ImportedBlock& operator*() const { return *block_; }
  const ImportedBlock* operator->() const { return &*block_; }

 private:
  MemoryImporter& importer_;
  std::optional<ImportedBlock> block_;
};

class ImportedMemory {
 public:
  /// The program's part of a block: an allocation of the exporting process.
  struct Entry {
    hsa_amd_pointer_type_t type = HSA_EXT_POINTER_TYPE_IPC;
    uintptr_t base = 0;
    size_t size = 0;  ///< in bytes
    AgentSet agents;
    void* user_data = nullptr;
    std::vector<DeallocationCallback> callbacks;
    std::shared_ptr<const OpenBlock> block;
  };
  struct View {
    hsa_amd_pointer_type_t type = HSA_EXT_POINTER_TYPE_IPC;
    uintptr_t base = 0;
    size_t size = 0;
    AgentSet agents;
    void* user_data = nullptr;
    size_t owner = ImportedBlock::kNobody;
    bool host_accessible = false;
  };

  ImportedMemory() = default;
  ImportedMemory(const ImportedMemory&) = delete;
  ImportedMemory& operator=(const ImportedMemory&) = delete;

  /// Called while the runtime starts.
  void set_importer(std::unique_ptr<MemoryImporter> importer) { importer_ = std::move(importer); }
  /// Returns null if imports are not supported.
  MemoryImporter* importer() noexcept { return importer_.get(); }

  /// Gives the entry's agents access and adds it. Returns the exporter's metadata, valid until the entry is
  /// removed.
  Result<const std::vector<std::byte>*> add(Entry entry);
  /// Removes the entry of this type that starts at `address` and calls its callbacks. The block is closed
  /// then, or at the end of a concurrent `set_access`. Returns false if there is no such entry.
  bool remove(uintptr_t address, hsa_amd_pointer_type_t type);

  std::optional<View> view(uintptr_t address) const;
  /// Implements hsa_amd_agents_allow_access. Changes do not overlap. Returns nothing if no entry starts at
  /// `address`.
  std::optional<Status> set_access(uintptr_t address, const AgentSet& agents);
  bool set_user_data(uintptr_t address, void* user_data);
  /// Returns false if no entry contains `callback.ptr`.
  bool add_callback(const DeallocationCallback& callback);
  size_t remove_callbacks(const void* ptr, hsa_amd_deallocation_callback_t function);

 private:
  using Entries = std::map<uintptr_t, Entry>;
  Entries::const_iterator around(uintptr_t address) const RIGEL_REQUIRES_SHARED(mutex_);

  std::unique_ptr<MemoryImporter> importer_;
  mutable SharedMutex mutex_;
  Entries entries_ RIGEL_GUARDED_BY(mutex_);
};

}  // namespace rigel
