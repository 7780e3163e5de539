// Memory that is shared with other processes and drivers: exports it as dmabufs, names it for other
// processes, and imports it.
//
// A program passes memory to another process by a *name*, an hsa_amd_ipc_memory_t. There are two kinds:
// - A ticket, with which the other process fetches a dmabuf from this process's descriptor server. It is
//   valid while the allocation exists. The driver must be able to export dmabufs.
// - The driver's name of the buffer, for older drivers.
//
// A function `f` implements hsa_amd_f of the API. After an allocation is freed, its memory is not reused if
// it was exported or named, because another process may still use it.
//
// *Threads:* any thread, except that set_importer and prefer_driver_names run while the runtime starts.
// *Lifetime:* the agents, heaps and the server outlive it.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "api/support/mutex.hpp"
#include "api/support/status.hpp"
#include "core/memory/heaps.hpp"
#include "core/memory/imported_memory.hpp"
#include "core/sharing/descriptor_server.hpp"
#include "core/topology/agent_directory.hpp"

namespace rigel {

class SharedMemory {
 public:
  /// `server` passes descriptors of this process's memory to other processes.
  SharedMemory(const AgentDirectory& agents, Heaps& heaps, DescriptorServer& server)
      : agents_(agents), heaps_(heaps), server_(server) {}
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// Enables imports of memory of other processes and drivers. Called while the runtime starts.
  void set_importer(std::unique_ptr<MemoryImporter> importer) { imported_.set_importer(std::move(importer)); }
  /// Makes processes share memory by the driver's names, if supported, instead of descriptors. Called while
  /// the runtime starts.
  void prefer_driver_names(bool prefer) noexcept { prefer_driver_names_ = prefer; }

  Status portable_export_dmabuf(const void* ptr, size_t size, int* dmabuf, uint64_t* offset, uint64_t flags);
  Status portable_close_dmabuf(int dmabuf);
  Status interop_map_buffer(uint32_t num_agents, const hsa_agent_t* agents, int interop_handle,
                            uint32_t flags, size_t* size, void** ptr, size_t* metadata_size,
                            const void** metadata);
  Status interop_unmap_buffer(void* ptr);
  Status ipc_memory_create(void* ptr, size_t len, hsa_amd_ipc_memory_t* handle);
  Status ipc_memory_attach(const hsa_amd_ipc_memory_t* handle, size_t len, uint32_t num_agents,
                           const hsa_agent_t* mapping_agents, void** mapped_ptr);
  Status ipc_memory_detach(void* mapped_ptr);

  /// Imported memory.
  ImportedMemory& imported() noexcept { return imported_; }
  const ImportedMemory& imported() const noexcept { return imported_; }
  /// Returns the heap of a device that owns imported memory, or null.
  const Heap* heap_of(const ImportedMemory::View& view) const noexcept { return heap_of(view.owner); }
  /// Implements hsa_amd_agents_allow_access. Returns nothing if no imported memory starts at `address`.
  std::optional<Status> allow_access(uintptr_t address, const hsa_agent_t* agents, uint32_t count);

 private:
  Result<Heaps::Name> make_name(const Heaps::Exposed& exposed);
  const Heap* heap_of(size_t owner) const noexcept;
  Result<AgentSet> with_access(const ImportedBlock& block, const AgentSet& wanted, bool all) const;

  const AgentDirectory& agents_;
  Heaps& heaps_;
  DescriptorServer& server_;
  ImportedMemory imported_;
  bool prefer_driver_names_ = false;
  Mutex access_mutex_;  // changes of access do not overlap
};

}  // namespace rigel
