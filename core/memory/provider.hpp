// Source of a heap's memory. The core allocates; a provider only maps and unmaps whole blocks: anonymous
// memory of a NUMA node, or buffer objects of a driver for a device. Everything specific to a device or
// generation is in its implementations.
//
// *Threads:* called from any thread, also concurrently, without locks of memory management. Must not call
// memory management.
// *Lifetime:* owned by its heap's allocator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "api/support/status.hpp"
#include "core/sharing/ipc_name.hpp"
#include "core/topology/agent_directory.hpp"

namespace rigel {

struct Backing {
  void* address = nullptr;  ///< address for all agents, and for the host if the heap is host accessible
  size_t size = 0;          ///< in bytes
  uint64_t cookie = 0;      ///< private to the provider, for example a driver's handle
};

struct BlockRequest {
  size_t size = 0;          ///< in bytes, a multiple of the heap's granule
  size_t alignment = 0;     ///< alignment of the address, a power of two
  uint32_t flags = 0;       ///< hsa_amd_memory_pool_flag_t bits that the heap supports
  bool one_object = false;  ///< the block is one allocation, used as a whole: large pages are worthwhile
};

/// The host's rights to mapped memory, and the agents with access, by index.
struct MappingAccess {
  bool host_reads = false;
  bool host_writes = false;
  AgentSet readers;
  AgentSet writers;
};

/// Memory without an address: a handle of the virtual memory API. It exists while the object, a mapping or an
/// exported descriptor does. Calls do not overlap.
class PhysicalMemory {
 public:
  virtual ~PhysicalMemory() = default;

  /// Maps its first `size` bytes at reserved addresses, inaccessible.
  virtual Status map(void* address, size_t size) = 0;
  /// Turns a mapping into reserved addresses again.
  virtual void unmap(void* address, size_t size) noexcept = 0;
  /// Sets the access to a mapping. On failure, the previous access remains.
  virtual Status set_access(void* address, size_t size, const MappingAccess& access) = 0;
  /// Returns a new descriptor, owned by the caller.
  virtual Result<int> export_descriptor() = 0;
};

class MemoryProvider {
 public:
  virtual ~MemoryProvider() = default;

  /// Maps a block that its heap's owner can read and write, filled with zeroes if the host can access it.
  /// Fails with HSA_STATUS_ERROR_OUT_OF_RESOURCES without memory or addresses.
  virtual Result<Backing> map(const BlockRequest& request) = 0;

  /// Releases a block. Its pages and addresses may be reused at once.
  virtual void unmap(const Backing& backing) noexcept = 0;

  /// Gives exactly these agents, and the owner, access to the block.
  virtual Status set_access(const Backing& backing, const AgentSet& agents) = 0;

  // Sharing of blocks with other processes and drivers, if supported.

  /// Returns a new descriptor of a block's memory, owned by the caller. It keeps the memory beyond the block.
  virtual Result<int> export_block(const Backing&) {
    return fail(Status(HSA_STATUS_ERROR_INVALID_AGENT), "memory: cannot be exported");
  }
  struct NamedBlock {
    DriverName name{};
    uint32_t device = 0;
  };
  /// Returns the driver's name of a block. Fails with NOT_SUPPORTED without such names.
  virtual Result<NamedBlock> name_block(const Backing&) {
    return error(Status(HSA_STATUS_ERROR_NOT_SUPPORTED));
  }
  /// Whether a block can be exported or named.
  virtual bool is_shareable() const { return false; }

  // Virtual memory, if supported.

  /// `flags` as in BlockRequest.
  virtual Result<std::unique_ptr<PhysicalMemory>> create_physical(size_t size, uint32_t) {
    return fail(Status(HSA_STATUS_ERROR_NOT_SUPPORTED),
                "memory pool: {} bytes of physical memory cannot be created here", size);
  }

  struct Imported {
    std::unique_ptr<PhysicalMemory> memory;
    size_t size = 0;  ///< in bytes
  };
  /// Imports the memory of a descriptor that another process exported. The caller closes the descriptor.
  /// Fails with INVALID_ALLOCATION if it is not memory that this provider supports.
  virtual Result<Imported> import_physical(int) { return error(HSA_STATUS_ERROR_INVALID_ALLOCATION); }
};

/// Gives devices access to memory of the application. Absent if there are only CPU agents, which have access
/// without it. Any thread.
class HostPinner {
 public:
  virtual ~HostPinner() = default;

  /// Makes [host, host + size) accessible to `agents` and returns its address for them.
  virtual Result<void*> pin(void* host, size_t size, const AgentSet& agents, uint32_t global_flags) = 0;
  virtual void unpin(void* host, size_t size, void* agent_address) noexcept = 0;
};

/// Memory of the application that devices can access while this object lives.
class PinnedMemory {
 public:
  PinnedMemory(HostPinner& pinner, void* host, size_t size) noexcept
      : pinner_(pinner), host_(host), size_(size) {}
  ~PinnedMemory() {
    if (address_ != nullptr) pinner_.unpin(host_, size_, address_);
  }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  /// Call once.
  Status pin(const AgentSet& agents, uint32_t global_flags) {
    const auto seen = pinner_.pin(host_, size_, agents, global_flags);
    if (!seen) return seen.error();
    address_ = *seen;
    return HSA_STATUS_SUCCESS;
  }
  /// Address of its first byte for agents.
  void* address() const noexcept { return address_; }

 private:
  HostPinner& pinner_;
  void* const host_;
  const size_t size_;
  void* address_ = nullptr;
};

/// A block of memory of another process or driver.
struct ImportedBlock {
  void* address = nullptr;  ///< address for agents, and for the host if it has access
  size_t size = 0;          ///< in bytes
  uint64_t cookie = 0;      ///< private to the importer
  size_t owner = kNobody;   ///< index of the agent that owns the memory
  bool host_accessible = false;
  std::vector<std::byte> metadata;  ///< the exporter's description of the contents

  static constexpr size_t kNobody = SIZE_MAX;  ///< not an agent of this process
};

/// Imports memory of other processes and drivers. Absent if there are only CPU agents. Called from any
/// thread, also concurrently, without locks of memory management.
class MemoryImporter {
 public:
  virtual ~MemoryImporter() = default;

  /// Opens the memory of a descriptor at new addresses, without access for agents; the host may have access.
  /// `wanted` is the agents that will get access. The descriptor remains the caller's and may be closed at
  /// once. Fails with INVALID_ARGUMENT if agents cannot use the memory.
  virtual Result<ImportedBlock> open(int descriptor, const AgentSet& wanted) = 0;
  /// Opens a block of `size` bytes by the driver's name.
  virtual Result<ImportedBlock> open(const MemoryProvider::NamedBlock& named, size_t size) = 0;
  /// Gives exactly these agents access. On failure, the previous access remains.
  virtual Status set_access(const ImportedBlock& block, const AgentSet& agents) = 0;
  virtual void close(const ImportedBlock& block) noexcept = 0;
};

}  // namespace rigel
