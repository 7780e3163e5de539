// All services for memory of one runtime.
//
// *Lifetime:* the agents and the server outlive it; later members use earlier ones.
#pragma once

#include "core/memory/heaps.hpp"
#include "core/memory/locked_memory.hpp"
#include "core/memory/pointer_map.hpp"
#include "core/memory/shared_memory.hpp"
#include "core/memory/virtual_memory.hpp"

namespace rigel {

struct Memory {
  Memory(const AgentDirectory& agents, DescriptorServer& server)
      : heaps(agents),
        virtual_memory(agents, heaps),
        shared(agents, heaps, server),
        locked(agents, heaps),
        pointers(agents, heaps, virtual_memory, shared, locked) {}

  Heaps heaps;
  VirtualMemory virtual_memory;
  SharedMemory shared;
  LockedMemory locked;
  PointerMap pointers;
};

}  // namespace rigel
