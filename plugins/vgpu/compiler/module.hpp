// What the module with the compiler exports, by the name "rigel_vgpu_compile". It belongs to the library that loads it:
// both are of one build.
#pragma once

#include <memory>
#include <string>

#include "plugins/vgpu/compiler/plan.hpp"

namespace rigel::vgpu::exec::compiler {

struct Compiled {
  Run run = nullptr;
  std::shared_ptr<void> memory;  ///< What the code lies in.
  std::string error;             ///< Why there is none.
};

/// Any thread, several at once.
using Compile = Compiled (*)(const Plan& plan);

}  // namespace rigel::vgpu::exec::compiler
