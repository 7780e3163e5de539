// Memory that other processes and drivers made and that is mapped here: where it is, who may reach it, and
// what the program has attached to it. The counterpart of allocations, for hsa_amd_ipc_memory_attach and
// hsa_amd_interop_map_buffer.
//
// Any thread. One lock guards the table of entries; the importer is never called under it. The memory manager
// owns this object and asks it about pointers. A program that detaches memory which another of its threads still
// uses makes that thread fault, but leaves the table in order.
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
#include "core/base/status.hpp"
#include "core/memory/agents.hpp"
#include "core/memory/provider.hpp"

namespace rigel {

/// A block of an importer, which is closed with its last owner. It is made empty, so that a block has an
/// owner as soon as it is open.
class OpenBlock {
 public:
  explicit OpenBlock(MemoryImporter& importer) : importer_(importer) {}
  ~OpenBlock() {
    if (block_) importer_.close(*block_);
  }
  OpenBlock(const OpenBlock&) = delete;
  OpenBlock& operator=(const OpenBlock&) = delete;

  /// Once.
  void adopt(ImportedBlock block) noexcept { block_.emplace(std::move(block)); }
  const ImportedBlock& operator*() const { return *block_; }
  const ImportedBlock* operator->() const { return &*block_; }

 private:
  MemoryImporter& importer_;
  std::optional<ImportedBlock> block_;
};

class ImportedMemory {
 public:
  /// Who wants to know when memory goes, and for what address.
  struct Callback {
    void* ptr;
    hsa_amd_deallocation_callback_t function;
    void* user_data;
  };
  /// What the program sees of a block: an allocation of the maker's in it.
  struct Entry {
    hsa_amd_pointer_type_t type = HSA_EXT_POINTER_TYPE_IPC;
    uintptr_t base = 0;
    size_t size = 0;  ///< in bytes
    AgentSet agents;
    void* user_data = nullptr;
    std::vector<Callback> callbacks;
    std::shared_ptr<const OpenBlock> block;
  };
  /// What a pointer query wants of an entry.
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

  /// While the runtime starts.
  void set_importer(std::unique_ptr<MemoryImporter> importer) { importer_ = std::move(importer); }
  /// Null: nothing can be imported.
  MemoryImporter* importer() noexcept { return importer_.get(); }

  /// Lets the entry's agents in and adds it. The result is where the maker's
  /// metadata is until the entry goes.
  Result<const std::vector<std::byte>*> add(Entry entry);
  /// Takes out the entry of this type that starts at `address` and calls its callbacks. The block is closed
  /// then, or when a `set_access` that another thread is in has ended. False if there is none.
  bool remove(uintptr_t address, hsa_amd_pointer_type_t type);

  std::optional<View> view(uintptr_t address) const;
  /// hsa_amd_agents_allow_access. Changes one at a time. False if no entry starts at `address`.
  std::optional<Status> set_access(uintptr_t address, const AgentSet& agents);
  bool set_user_data(uintptr_t address, void* user_data);
  /// False if `callback.ptr` is in no entry.
  bool add_callback(const Callback& callback);
  /// How many were taken out.
  size_t remove_callbacks(const void* ptr, hsa_amd_deallocation_callback_t function);

 private:
  using Entries = std::map<uintptr_t, Entry>;
  Entries::const_iterator around(uintptr_t address) const RIGEL_REQUIRES_SHARED(mutex_);

  std::unique_ptr<MemoryImporter> importer_;
  mutable SharedMutex mutex_;
  Entries entries_ RIGEL_GUARDED_BY(mutex_);
};

}  // namespace rigel
