// Where a heap's memory comes from. The core decides who gets which bytes; a provider only maps and unmaps
// whole blocks: anonymous memory of a NUMA node here, buffer objects of a driver in a device's case.
//
// A provider is owned by its heap's allocator. Its functions are called from any thread, several at a time,
// with no lock of memory management held, and must not call back into it. Whatever knowledge of a device or
// generation is needed sits behind this interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/status.hpp"
#include "core/memory/agents.hpp"
#include "core/sharing/ipc_name.hpp"

namespace rigel {

/// A block as its provider mapped it.
struct Backing {
  void* address = nullptr;  ///< where every agent (and the host, if the heap is host accessible) addresses it
  size_t size = 0;          ///< in bytes
  uint64_t cookie = 0;      ///< the provider's own, for example a driver's handle
};

struct BlockRequest {
  size_t size = 0;          ///< in bytes, a multiple of the heap's granule
  size_t alignment = 0;     ///< of the address, a power of two
  uint32_t flags = 0;       ///< hsa_amd_memory_pool_flag_t bits, of those the heap said it supports
  bool one_object = false;  ///< the block is one allocation, so it will be used as a whole: large pages pay
};

/// What the host may do with mapped memory, and which agents may do anything, by their index.
struct MappingAccess {
  bool host_reads = false;
  bool host_writes = false;
  AgentSet readers;
  AgentSet writers;
};

/// Memory without an address: what a handle of the virtual memory API names. It exists as long as the object,
/// its mappings, or an exported descriptor. Calls never overlap.
class PhysicalMemory {
 public:
  virtual ~PhysicalMemory() = default;

  /// Puts its first `size` bytes at reserved addresses, for nobody to access yet.
  virtual Status map(void* address, size_t size) = 0;
  /// Makes what `map` mapped reserved addresses again.
  virtual void unmap(void* address, size_t size) noexcept = 0;
  /// Says who may do what with a mapping. On failure, what was before still holds.
  virtual Status set_access(void* address, size_t size, const MappingAccess& access) = 0;
  /// A new descriptor, the caller's to close.
  virtual Result<int> export_descriptor() = 0;
};

class MemoryProvider {
 public:
  virtual ~MemoryProvider() = default;

  /// Maps a block that its heap's owner can read and write, filled with zeroes where the host can see it.
  /// Out of memory or addresses: HSA_STATUS_ERROR_OUT_OF_RESOURCES.
  virtual Result<Backing> map(const BlockRequest& request) = 0;

  /// Gives a block back. Its pages and addresses may belong to anybody from here on.
  virtual void unmap(const Backing& backing) noexcept = 0;

  /// Lets exactly these agents, besides the owner, reach the block.
  virtual Status set_access(const Backing& backing, const AgentSet& agents) = 0;

  // Sharing a block with other processes and drivers, for providers that can.

  /// A new descriptor of a block's memory, the caller's to close. It keeps the memory, whatever happens to
  /// the block.
  virtual Result<int> export_block(const Backing&) {
    return fail(Status(HSA_STATUS_ERROR_INVALID_AGENT), "memory: cannot be exported");
  }
  struct NamedBlock {
    DriverName name{};
    uint32_t device = 0;
  };
  /// The driver's own name for a block. NOT_SUPPORTED if it has no such names.
  virtual Result<NamedBlock> name_block(const Backing&) {
    return error(Status(HSA_STATUS_ERROR_NOT_SUPPORTED));
  }
  /// Whether either can work.
  virtual bool is_shareable() const { return false; }

  // Virtual memory, for providers that have it.

  /// `flags` as in BlockRequest.
  virtual Result<std::unique_ptr<PhysicalMemory>> create_physical(size_t size, uint32_t) {
    return fail(Status(HSA_STATUS_ERROR_NOT_SUPPORTED),
                "memory pool: {} bytes of physical memory cannot be created here", size);
  }

  struct Imported {
    std::unique_ptr<PhysicalMemory> memory;
    size_t size = 0;  ///< in bytes
  };
  /// The memory behind a descriptor that another process exported. Whoever it belongs to closes the
  /// descriptor. INVALID_ALLOCATION if it is no memory of a kind that this provider knows.
  virtual Result<Imported> import_physical(int) { return error(HSA_STATUS_ERROR_INVALID_ALLOCATION); }
};

/// Lets devices reach memory that the application got from its own allocator. Absent where there are only CPU
/// agents, who reach it anyway. Any thread.
class HostPinner {
 public:
  virtual ~HostPinner() = default;

  /// Makes [host, host + size) reachable for `agents`; the result is its address as they see it.
  virtual Result<void*> pin(void* host, size_t size, const AgentSet& agents, uint32_t global_flags) = 0;
  virtual void unpin(void* host, size_t size, void* agent_address) noexcept = 0;
};

/// The application's memory, which devices reach for as long as this lives.
class PinnedMemory {
 public:
  PinnedMemory(HostPinner& pinner, void* host, size_t size) noexcept
      : pinner_(pinner), host_(host), size_(size) {}
  ~PinnedMemory() {
    if (address_ != nullptr) pinner_.unpin(host_, size_, address_);
  }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  /// Once.
  Status pin(const AgentSet& agents, uint32_t global_flags) {
    const auto seen = pinner_.pin(host_, size_, agents, global_flags);
    if (!seen) return seen.error();
    address_ = *seen;
    return HSA_STATUS_SUCCESS;
  }
  /// Of its first byte, as agents see it.
  void* address() const noexcept { return address_; }

 private:
  HostPinner& pinner_;
  void* const host_;
  const size_t size_;
  void* address_ = nullptr;
};

/// A block of memory that another process or driver made.
struct ImportedBlock {
  void* address = nullptr;  ///< for agents, and for the host if it has access
  size_t size = 0;          ///< in bytes
  uint64_t cookie = 0;      ///< the importer's own
  size_t owner = kNobody;   ///< the agent whose memory it is, by its index
  bool host_accessible = false;
  std::vector<std::byte> metadata;  ///< what the maker says of the contents

  static constexpr size_t kNobody = SIZE_MAX;  ///< no agent of this process
};

/// Brings in what others have exported. Absent where there are only CPU agents. Any thread, several calls at
/// a time, with no lock of memory management held.
class MemoryImporter {
 public:
  virtual ~MemoryImporter() = default;

  /// What is behind a descriptor, at addresses of its own, reachable for no agent yet (the host aside).
  /// `wanted` has the agents that will be let in. The descriptor stays the caller's and may be closed at
  /// once. INVALID_ARGUMENT: it is of no memory that agents can use.
  virtual Result<ImportedBlock> open(int descriptor, const AgentSet& wanted) = 0;
  /// The same for a block of `size` bytes that the driver has a name for.
  virtual Result<ImportedBlock> open(const MemoryProvider::NamedBlock& named, size_t size) = 0;
  /// Lets exactly these agents in. On failure, what was before still holds.
  virtual Status set_access(const ImportedBlock& block, const AgentSet& agents) = 0;
  virtual void close(const ImportedBlock& block) noexcept = 0;
};

}  // namespace rigel
