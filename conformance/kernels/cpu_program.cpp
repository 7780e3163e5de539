// A program code object for programs with CPU agents: a variable that the kernel of amdgpu_external.cpp uses.
#include "kernels/kernels.hpp"

#include <hsa_cpu/kernel.hpp>

extern "C" __attribute__((visibility("default"))) uint32_t outside_factor;
uint32_t outside_factor = conformance::kProgramFactor;
