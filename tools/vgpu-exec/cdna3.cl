// Instructions of gfx942 against plain arithmetic. Each work-item sets a bit for each result that differs.
typedef float f4 __attribute__((ext_vector_type(4)));
typedef float f2 __attribute__((ext_vector_type(2)));
typedef double d4 __attribute__((ext_vector_type(4)));
typedef int i4 __attribute__((ext_vector_type(4)));
typedef int i2 __attribute__((ext_vector_type(2)));
typedef half h4 __attribute__((ext_vector_type(4)));
typedef half h8 __attribute__((ext_vector_type(8)));
typedef short s2 __attribute__((ext_vector_type(2)));
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

// Matrices of small integers.
int a_at(uint i, uint k) { return (int)((i + 2 * k) % 5) - 2; }
int b_at(uint k, uint j) { return (int)((3 * k + j) % 7) - 3; }
int product(uint i, uint j, uint inner) {
  int sum = 0;
  for (uint k = 0; k < inner; ++k) sum += a_at(i, k) * b_at(k, j);
  return sum;
}

uint differs(f4 d, uint lane, uint inner, uint bit) {
  for (uint v = 0; v < 4; ++v) {
    if (d[v] != (float)product(4 * (lane / 16) + v, lane % 16, inner)) return 1u << bit;
  }
  return 0;
}

uint of_halves(uint lane) {
  h4 a, b;
  for (uint e = 0; e < 4; ++e) {
    a[e] = (half)a_at(lane % 16, 4 * (lane / 16) + e);
    b[e] = (half)b_at(4 * (lane / 16) + e, lane % 16);
  }
  return differs(__builtin_amdgcn_mfma_f32_16x16x16f16(a, b, (f4)(0), 0, 0, 0), lane, 16, 0);
}

uint of_xf32(uint lane) {
  f2 a, b;
  for (uint e = 0; e < 2; ++e) {
    a[e] = a_at(lane % 16, 2 * (lane / 16) + e);
    b[e] = b_at(2 * (lane / 16) + e, lane % 16);
  }
  return differs(__builtin_amdgcn_mfma_f32_16x16x8_xf32(a, b, (f4)(0), 0, 0, 0), lane, 8, 1);
}

uint of_fp8(uint lane) {
  int a[2] = {0, 0}, b[2] = {0, 0};
  for (uint w = 0; w < 2; ++w) {
    const uint i = lane % 16, k = 8 * (lane / 16) + 4 * w;
    a[w] = __builtin_amdgcn_cvt_pk_fp8_f32(a_at(i, k), a_at(i, k + 1), a[w], false);
    a[w] = __builtin_amdgcn_cvt_pk_fp8_f32(a_at(i, k + 2), a_at(i, k + 3), a[w], true);
    b[w] = __builtin_amdgcn_cvt_pk_bf8_f32(b_at(k, i), b_at(k + 1, i), b[w], false);
    b[w] = __builtin_amdgcn_cvt_pk_bf8_f32(b_at(k + 2, i), b_at(k + 3, i), b[w], true);
  }
  const long x = (uint)a[0] | (ulong)(uint)a[1] << 32, y = (uint)b[0] | (ulong)(uint)b[1] << 32;
  return differs(__builtin_amdgcn_mfma_f32_16x16x32_fp8_bf8(x, y, (f4)(0), 0, 0, 0), lane, 32, 2);
}

uint of_bytes(uint lane) {
  ulong a = 0, b = 0;
  for (uint e = 0; e < 8; ++e) {
    a |= (ulong)(uchar)a_at(lane % 16, 8 * (lane / 16) + e) << 8 * e;
    b |= (ulong)(uchar)b_at(8 * (lane / 16) + e, lane % 16) << 8 * e;
  }
  const i4 d = __builtin_amdgcn_mfma_i32_16x16x32_i8(a, b, (i4)(0), 0, 0, 0);
  return differs((f4)(d.x, d.y, d.z, d.w), lane, 32, 3);
}

// Of each four elements with consecutive k, A has those with k % 4 of 1 and 3.
uint of_sparse_halves(uint lane) {
  h4 a;
  h8 b;
  for (uint e = 0; e < 8; ++e) {
    const uint k = 8 * (lane / 16) + e;
    if (e % 2 != 0) a[e / 2] = (half)a_at(lane % 16, k);
    b[e] = (half)b_at(k, lane % 16);
  }
  const uint indices = 0xdd00;  // the second set: 1 and 3, twice
  const f4 d = __builtin_amdgcn_smfmac_f32_16x16x32_f16(a, b, (f4)(0), indices, 0, 1);
  for (uint v = 0; v < 4; ++v) {
    int sum = 0;
    for (uint k = 1; k < 32; k += 2) sum += a_at(4 * (lane / 16) + v, k) * b_at(k, lane % 16);
    if (d[v] != (float)sum) return 1u << 4;
  }
  return 0;
}

uint of_doubles(uint lane) {
  const double a = a_at(lane % 16, lane / 16), b = b_at(lane / 16, lane % 16);
  const d4 d = __builtin_amdgcn_mfma_f64_16x16x4f64(a, b, (d4)(0), 0, 0, 0);
  for (uint v = 0; v < 4; ++v) {
    if (d[v] != (double)product(lane / 16 + 4 * v, lane % 16, 4)) return 1u << 5;
  }
  return 0;
}

// Scratch, with an index that the compiler does not know, and LDS.
uint of_memory(uint lane, const global int* index, local uint* words) {
  uint mine[16];
  for (uint i = 0; i < 16; ++i) mine[i] = lane * 16 + i;
  for (uint i = 0; i < 16; ++i) mine[index[(lane + i) % 64] & 15] += i;
  words[lane] = mine[index[lane] & 15];
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  const uint other = 63 - lane;
  uint expected = other * 16 + (index[other] & 15);
  for (uint i = 0; i < 16; ++i) {
    if ((index[(other + i) % 64] & 15) == (index[other] & 15)) expected += i;
  }
  return words[other] == expected ? 0 : 1u << 6;
}

uint of_conversions(uint lane) {
  const f2 both = __builtin_amdgcn_cvt_pk_f32_fp8(0x3840 | lane << 16, false);  // 1.0 and 0.5 are 0x40 and 0x38
  const int noisy = __builtin_amdgcn_cvt_sr_fp8_f32(3.0f, 12345, 0x11223344, 2);  // 0x4c in byte 2, exact
  return both.x == 1.0f && both.y == 0.5f && noisy == 0x114c3344 ? 0 : 1u << 7;
}

kernel void check(global uint* differences, global double* sum, global s2* pairs, const global int* index, uint groups) {
  local uint words[64];
  const uint lane = __builtin_amdgcn_workitem_id_x();
  const uint group = __builtin_amdgcn_workgroup_id_x() + groups * __builtin_amdgcn_workgroup_id_y();
  uint bits = of_halves(lane) | of_xf32(lane) | of_fp8(lane) | of_bytes(lane) | of_sparse_halves(lane);
  bits |= of_doubles(lane) | of_memory(lane, index, words) | of_conversions(lane);
  differences[group * 64 + lane] = bits;
  __builtin_amdgcn_global_atomic_fadd_f64(sum, (double)lane);
  __builtin_amdgcn_global_atomic_fadd_v2bf16(pairs, (s2)(0x3f80, 0x4000));  // 1.0 and 2.0
}
