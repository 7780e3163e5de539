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

#include "core/base/status.hpp"
#include "core/memory/agents.hpp"

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

  // Virtual memory, for providers that have it.

  virtual Result<std::unique_ptr<PhysicalMemory>> create_physical(size_t size) {
    return fail(Status(HSA_STATUS_ERROR_NOT_SUPPORTED), "no {} bytes without an address in this pool", size);
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

}  // namespace rigel
