// Loads a code object into GPU memory: relocated segments, and a kernel's metadata.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/vgpu-exec/memory_bus.hpp"

namespace rigel::vgpu::runner {

struct Kernel {
  uint64_t descriptor_va = 0;
  uint32_t kernarg_bytes = 0;
  uint32_t group_bytes = 0;
  uint32_t private_bytes = 0;
  struct Argument {
    uint32_t offset = 0;
    uint32_t bytes = 0;
    std::string kind;  ///< "by_value", "global_buffer", "hidden_…"
  };
  std::vector<Argument> arguments;
};

/// Loads a code object and finds a kernel by name. An empty name means the only kernel. Throws
/// std::runtime_error with the problem.
Kernel load_kernel(const std::vector<char>& file, const std::string& name, MemoryBus& memory);

}  // namespace rigel::vgpu::runner
