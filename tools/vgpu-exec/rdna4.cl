// Instructions of gfx1201 against plain arithmetic. Each work-item sets a bit for each result that differs.
typedef half h8 __attribute__((ext_vector_type(8)));
typedef half h16 __attribute__((ext_vector_type(16)));
typedef float f8 __attribute__((ext_vector_type(8)));
typedef int i2 __attribute__((ext_vector_type(2)));
typedef int i8 __attribute__((ext_vector_type(8)));
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

// Matrices of small integers.
int a_at(uint i, uint k) { return (int)((i + 2 * k) % 5) - 2; }
int b_at(uint k, uint j) { return (int)((3 * k + j) % 7) - 3; }

// `step`: of four elements of a row of A, all or the first and the third.
int product(uint i, uint j, uint inner, uint step) {
  int sum = 0;
  for (uint k = 0; k < inner; k += step) sum += a_at(i, k) * b_at(k, j);
  return sum;
}

uint of_halves(uint lane) {
  h8 a, b;
  for (uint e = 0; e < 8; ++e) {
    const uint k = e % 4 + 4 * (lane / 16) + 8 * (e / 4);
    a[e] = (half)a_at(lane % 16, k);
    b[e] = (half)b_at(k, lane % 16);
  }
  const f8 d = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, (f8)(0.5f));
  for (uint e = 0; e < 8; ++e)
    if (d[e] != 0.5f + (float)product(e + 8 * (lane / 16), lane % 16, 16, 1)) return 1;
  return 0;
}

uint of_bytes(uint lane) {
  i2 a = 0, b = 0;
  for (uint e = 0; e < 8; ++e) {
    const uint k = e + 8 * (lane / 16);
    a[e / 4] |= (a_at(lane % 16, k) & 0xff) << e % 4 * 8;
    b[e / 4] |= (b_at(k, lane % 16) & 0xff) << e % 4 * 8;
  }
  const i8 d = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(1, a, 1, b, (i8)(7), 0);
  for (uint e = 0; e < 8; ++e)
    if (d[e] != 7 + product(e + 8 * (lane / 16), lane % 16, 16, 1)) return 2;
  return 0;
}

uint of_sparse_halves(uint lane) {
  h8 a;
  h16 b;
  for (uint e = 0; e < 8; ++e) {
    const uint stored = e % 4 + 4 * (lane / 16) + 8 * (e / 4);
    a[e] = (half)a_at(lane % 16, 2 * stored);
  }
  for (uint e = 0; e < 16; ++e) b[e] = (half)b_at(e % 8 + 8 * (lane / 16) + 16 * (e / 8), lane % 16);
  const f8 d = __builtin_amdgcn_swmmac_f32_16x16x32_f16_w32(a, b, (f8)(0.0f), 0x8888);
  for (uint e = 0; e < 8; ++e)
    if (d[e] != (float)product(e + 8 * (lane / 16), lane % 16, 32, 2)) return 4;
  return 0;
}

uint of_floats(uint lane) {
  const float x = (float)lane - 3.5f, y = 2.25f * (float)(lane & 7), nan = __builtin_nanf("");
  uint wrong = 0;
  if (__builtin_fminf(x, y) != (x < y ? x : y) || __builtin_fmaxf(nan, y) != y) wrong |= 8;
  const int packed = __builtin_amdgcn_cvt_pk_fp8_f32(x < 8 ? x : 8, y, 0, 0);
  if (__builtin_amdgcn_cvt_f32_fp8(packed, 0) != (x < 8 ? x : 8)) wrong |= 16;
  // A scalar: 6.5 * 1.5 - floor(6.5 / 2)
  const float scalar = as_float(__builtin_amdgcn_readfirstlane(as_int(x + 10.0f)));
  if (scalar * 1.5f - __builtin_floorf(scalar * 0.5f) != 6.75f) wrong |= 32;
  return wrong;
}

kernel void check(global uint* differences) {
  local uint shared[64];
  const uint x = __builtin_amdgcn_workgroup_id_x(), y = __builtin_amdgcn_workgroup_id_y(),
             z = __builtin_amdgcn_workgroup_id_z(), item = __builtin_amdgcn_workitem_id_x();
  const uint group = x + 2 * (y + 2 * z);
  shared[item] = item * item;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  uint wrong = shared[63 - item] == (63 - item) * (63 - item) ? 0 : 64;
  volatile uint scratch[8];
  for (uint i = 0; i < 8; ++i) scratch[i] = item + i;
  if (scratch[item % 8] != item + item % 8) wrong |= 128;
  const uint lane = item % 32;
  wrong |= of_halves(lane) | of_bytes(lane) | of_sparse_halves(lane) | of_floats(lane);
  differences[group * 64 + item] = wrong;
}
