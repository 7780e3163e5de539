// Copies of a device without a copy engine, by `copy` of its backend's `memory` group. Each copy blocks the
// calling thread, or a thread of the copy engine, until it is complete.
#pragma once

#include "core/copy/device_copier.hpp"
#include "core/memory/pointer_map.hpp"
#include "core/topology/agent.hpp"

namespace rigel {

class MemoryCopier final : public DeviceCopier {
 public:
  MemoryCopier(const Agent& agent, const PointerMap& memory) : agent_(agent), memory_(memory) {}

  Status copy(void* destination, const void* source, size_t size) override;
  Status fill(void* destination, uint32_t value, size_t count) override;

 private:
  const Agent& agent_;
  const PointerMap& memory_;
};

}  // namespace rigel
