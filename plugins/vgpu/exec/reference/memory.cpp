// DS, FLAT, GLOBAL and MUBUF on a small memory.
#include "plugins/vgpu/exec/reference/model.hpp"

namespace rigel::vgpu::exec::reference {

Outcome execute_memory(const isa::Instruction&, State&) {
  return Outcome::kNotModelled;
}

}  // namespace rigel::vgpu::exec::reference
