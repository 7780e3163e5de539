// The kernel of kernels.hpp with variables that its code object does not define, for all AMD GPUs.
#include "kernels/kernels.hpp"

using namespace conformance;

extern "C" {
extern __attribute__((visibility("default"))) uint32_t outside_factor;
extern __attribute__((visibility("default"))) const uint32_t outside_table[kOutsideTable];
}

extern "C" __attribute__((amdgpu_kernel, visibility("protected"))) void scale_outside(ScaleArgs args) {
  const uint32_t i = __builtin_amdgcn_workitem_id_x();
  if (i >= args.count) return;
  args.out[i] = args.in[i] * outside_factor + outside_table[i % kOutsideTable];
  if (i == 0) ++outside_factor;
}
