// y = a * x + y, in free-standing C++ for AMD GPUs.
#define KERNEL extern "C" __attribute__((amdgpu_kernel, visibility("protected")))

static unsigned work_item() {
  return __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();
}

KERNEL void saxpy(unsigned n, float a, const float* x, float* y) {
  const unsigned i = work_item();
  if (i < n) y[i] = a * x[i] + y[i];
}

// The same kernel with a bug: it writes past the end of y.
KERNEL void saxpy_with_a_bug(unsigned n, float a, const float* x, float* y) {
  const unsigned i = work_item();
  if (i < n) y[i + n] = a * x[i] + y[i];
}
