// DebugInformation for builds without libdw's headers: always unavailable.
#include "plugins/vgpu/exec/report/source_lines.hpp"

namespace rigel::vgpu::exec {

std::unique_ptr<DebugInformation> open_debug_information(std::span<char>) {
  return nullptr;
}

}  // namespace rigel::vgpu::exec
