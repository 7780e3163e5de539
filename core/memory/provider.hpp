// Where a heap's memory comes from. The core decides who gets which bytes; a provider only maps and unmaps
// whole blocks: anonymous memory of a NUMA node here, buffer objects of a driver in a device's case.
//
// A provider is owned by its heap's allocator. Its functions are called from any thread, several at a time,
// with no lock of memory management held, and must not call back into it. Whatever knowledge of a device or
// generation is needed sits behind this interface.
#pragma once

#include <cstddef>
#include <cstdint>

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
