// out[i] = in[i] + 3 * i + more, with nothing of a library.
kernel void test(global const int* in, global int* out, int more) {
  const int i = (int)(__builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x());
  out[i] = in[i] + 3 * i + more;
}
