// Compares programs of consecutive seeds, several per file, at varying optimisation levels.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tools/vgpu-opencl-fuzz/run.hpp"

namespace rigel::vgpu::opencl_fuzz {

struct Finding {
  Program program;
  Build build;
  std::string mismatch;
};

struct Count {
  uint64_t compared = 0, by_host = 0, by_model = 0, differ = 0;
};

/// Compares programs [first, first + count) on a chip. Calls `found` for each mismatch. Stops if
/// `should_continue` returns false. Throws std::runtime_error if a program cannot be compiled.
Count compare_many(ProgramCompiler& compiler, const std::string& gpu, uint64_t first, uint64_t count,
                   const std::function<void(const Finding&)>& found,
                   const std::function<bool()>& should_continue);

}  // namespace rigel::vgpu::opencl_fuzz
