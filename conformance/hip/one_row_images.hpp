// Images of one row, which not every runtime supports.
#pragma once

#include "check.hpp"

/// On gfx8, ROCr 5.2.3 ends the process for an image without a height, which HIP creates for 1D arrays.
inline bool has_rows() {
  hipDeviceProp_t properties{};
  HIP_OK(hipGetDeviceProperties(&properties, 0));
  const char* const runtime = std::getenv("VGPU_RUNTIME");
  const bool is_rocr = runtime != nullptr && std::string(runtime) == "system";
  return !is_rocr || std::string(properties.gcnArchName).rfind("gfx8", 0) != 0;
}
