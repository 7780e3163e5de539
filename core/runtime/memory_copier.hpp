// The copy engine's side of a device that has no copy engine, over `copy` of its backend's `memory` group: each copy
// keeps the thread that asks for it, or one of the copy engine's, until it is done.
#pragma once

#include "core/copy/device_copier.hpp"
#include "core/memory/memory_manager.hpp"
#include "core/topology/agent.hpp"

namespace rigel {

class MemoryCopier final : public DeviceCopier {
 public:
  MemoryCopier(const Agent& agent, const MemoryManager& memory) : agent_(agent), memory_(memory) {}

  Status copy(void* destination, const void* source, size_t size) override;
  Status fill(void* destination, uint32_t value, size_t count) override;

 private:
  const Agent& agent_;
  const MemoryManager& memory_;
};

}  // namespace rigel
