// A build without native code.
#include "plugins/vgpu/exec/native/native.hpp"

namespace rigel::vgpu::exec::native {

bool available() {
  return false;
}

std::string_view why_none(SimdLevel) {
  return "built without Xbyak, or for the first level alone";
}

const HostFeatures& host_features() {
  static constexpr HostFeatures none;
  return none;
}

CodeMemory::~CodeMemory() = default;

uint32_t compile(const Request&, CodeMemory&) {
  return 0;
}

GroupCode compile_group(const Request&, CodeMemory&) {
  return {};
}

}  // namespace rigel::vgpu::exec::native
