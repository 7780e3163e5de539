#pragma once

#include <functional>

#include "plugins/vgpu/exec/opencl_bench/bench.hpp"

namespace rigel::vgpu::bench {

/// `allocate` returns zeroed memory that lives as long as the cases.
std::vector<Case> make_cases(const std::function<void*(size_t bytes)>& allocate);

}  // namespace rigel::vgpu::bench
