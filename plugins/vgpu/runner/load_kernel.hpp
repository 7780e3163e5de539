// Loads code objects into GPU memory: relocated segments, and the metadata of their kernels.
//
// Errors: functions throw std::runtime_error with the problem, or nlohmann::json::exception for metadata that
// lack a member.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "plugins/vgpu/runner/memory_bus.hpp"

namespace rigel::vgpu::runner {

struct Kernel {
  std::string name;
  uint64_t descriptor_va = 0;
  uint32_t kernarg_bytes = 0;
  uint32_t group_bytes = 0;
  uint32_t private_bytes = 0;
  uint32_t max_group_items = 0;              ///< The maximum size of its work-groups; 0: not in the metadata.
  std::array<uint32_t, 3> required_group{};  ///< The only size of its work-groups; zeros: any size.
  struct Argument {
    uint32_t offset = 0;
    uint32_t bytes = 0;
    std::string kind;  ///< "by_value", "global_buffer", "hidden_…"
  };
  std::vector<Argument> arguments;
};

struct CodeObject {
  std::string target;  ///< "gfx906:xnack-"; empty before code object version 4.
  std::vector<Kernel> kernels;
};

/// Loads a code object. Bytes after its end are ignored.
CodeObject load_code_object(std::span<const char> file, MemoryBus& memory);

/// Loads a code object and finds a kernel by name. An empty name means the only kernel.
Kernel load_kernel(std::span<const char> file, const std::string& name, MemoryBus& memory);

/// Finds the code objects for AMD GPUs in a file: the file itself, or those that a program or library
/// contains uncompressed. Each result starts with a code object and ends with the file.
std::vector<std::span<const char>> find_code_objects(std::span<const char> file);

}  // namespace rigel::vgpu::runner
