// Programs of consecutive seeds, several to a file, at optimisations that take turns.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tools/vgpu-opencl-fuzz/run.hpp"

namespace rigel::vgpu::opencl_fuzz {

struct Found {
  Program program;
  Build build;
  std::string what;
};

struct Count {
  uint64_t compared = 0, by_host = 0, by_model = 0, differ = 0;
};

/// Programs [first, first + count) on a chip. `found` is called for each that differs. `go_on` is asked from time to
/// time. Throws std::runtime_error if one cannot be compiled.
Count compare_many(Workshop& workshop, const std::string& gpu, uint64_t first, uint64_t count,
                   const std::function<void(const Found&)>& found, const std::function<bool()>& go_on);

}  // namespace rigel::vgpu::opencl_fuzz
