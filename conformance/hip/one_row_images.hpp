// Images that are one row, which not every runtime makes.
#pragma once

#include "check.hpp"

/// On gfx8 an image without a height, which is what HIP makes rows of, ends the process of ROCr 5.2.3.
inline bool has_rows() {
  hipDeviceProp_t properties{};
  HIP_OK(hipGetDeviceProperties(&properties, 0));
  const char* const runtime = std::getenv("VGPU_RUNTIME");
  const bool is_rocr = runtime != nullptr && std::string(runtime) == "system";
  return !is_rocr || std::string(properties.gcnArchName).rfind("gfx8", 0) != 0;
}
