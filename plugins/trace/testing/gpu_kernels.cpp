// A free-standing kernel with a mangled name.
#include "kernels.hpp"

namespace traced {

__attribute__((amdgpu_kernel, visibility("protected"))) void triple(TripleArgs args) {
  const uint32_t i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  if (i < args.count) args.to[i] = 3 * args.from[i];
}

}  // namespace traced
