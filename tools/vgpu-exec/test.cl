// out[i] = in[i] + 3 * i + more, without library functions, through a generic pointer.
__attribute__((noinline)) void add(int* to, int value) { *to += value; }
kernel void test(global const int* in, global int* out, int more) {
  const int i = (int)(__builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x());
  int sum = in[i];
  add(&sum, 3 * i + more);
  out[i] = sum;
}
