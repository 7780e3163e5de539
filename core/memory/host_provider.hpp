// Host memory: anonymous pages, preferably of one NUMA node.
#pragma once

#include <cstdint>

#include "core/memory/provider.hpp"

namespace rigel {

class HostProvider : public MemoryProvider {
 public:
  static constexpr int kAnyNode = -1;

  /// Pages come from `numa_node` while it has free ones, then from others; with kAnyNode the kernel chooses,
  /// for machines with one node.
  explicit HostProvider(int numa_node = kAnyNode) : numa_node_(numa_node) {}

  /// Pages are at addresses that `reserve` returns: an aligned, inaccessible mapping, or null if there are
  /// none.
  using Reserve = void* (*)(void* context, size_t size, size_t alignment);
  HostProvider(int numa_node, Reserve reserve, void* context)
      : numa_node_(numa_node), reserve_(reserve), context_(context) {}

  Result<Backing> map(const BlockRequest& request) override;
  void unmap(const Backing& backing) noexcept override;
  /// Agents that access host memory without a driver can access all of it.
  Status set_access(const Backing& backing, const AgentSet& agents) override;

  /// Creates memory files (memfd_create(2)), which can be mapped repeatedly and passed to another process.
  Result<std::unique_ptr<PhysicalMemory>> create_physical(size_t size, uint32_t flags) override;
  Result<Imported> import_physical(int descriptor) override;

 private:
  void* place(size_t size, size_t alignment, int protection) const;

  const int numa_node_;
  const Reserve reserve_ = nullptr;
  void* const context_ = nullptr;
};

}  // namespace rigel
