// The benchmark's kernels. clang compiles them for the virtual GPU and PoCL for the CPU. Each is a plain OpenCL C
// version of its algorithm, not tuned for either device.

kernel void vadd(global const float* a, global const float* b, global float* c) {
  const size_t i = get_global_id(0);
  c[i] = a[i] + b[i];
}

kernel void vcopy(global const float* a, global float* c) {
  const size_t i = get_global_id(0);
  c[i] = a[i];
}

kernel void saxpy(global const float* x, global const float* y, global float* out, float a) {
  const size_t i = get_global_id(0);
  out[i] = a * x[i] + y[i];
}

kernel void sgemm_naive(global const float* a, global const float* b, global float* c, int n) {
  const int column = get_global_id(0);
  const int row = get_global_id(1);
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}

#define TILE 16
kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void sgemm_tiled(global const float* a,
                                                                            global const float* b,
                                                                            global float* c, int n) {
  local float tile_a[TILE][TILE];
  local float tile_b[TILE][TILE];
  const int x = get_local_id(0), y = get_local_id(1);
  const int column = get_global_id(0), row = get_global_id(1);
  float sum = 0;
  for (int step = 0; step < n; step += TILE) {
    tile_a[y][x] = a[row * n + step + x];
    tile_b[y][x] = b[(step + y) * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < TILE; ++k) sum += tile_a[y][k] * tile_b[k][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * n + column] = sum;
}

kernel void nbody(global const float4* bodies, global float4* forces, int n) {
  const int i = get_global_id(0);
  const float4 self = bodies[i];
  float fx = 0, fy = 0, fz = 0;
  for (int j = 0; j < n; ++j) {
    const float4 other = bodies[j];
    const float dx = other.x - self.x, dy = other.y - self.y, dz = other.z - self.z;
    const float distance2 = dx * dx + dy * dy + dz * dz + 0.01f;
    const float inverse = native_rsqrt(distance2);
    const float strength = other.w * inverse * inverse * inverse;
    fx += strength * dx;
    fy += strength * dy;
    fz += strength * dz;
  }
  forces[i] = (float4)(fx, fy, fz, 0);
}

kernel void mandelbrot(global int* out, int width, int height, int limit) {
  const int px = get_global_id(0), py = get_global_id(1);
  const float cx = -2.2f + 3.0f * px / width;
  const float cy = -1.5f + 3.0f * py / height;
  float x = 0, y = 0;
  int n = 0;
  while (n < limit && x * x + y * y < 4.0f) {
    const float next = x * x - y * y + cx;
    y = 2.0f * x * y + cy;
    x = next;
    ++n;
  }
  out[py * width + px] = n;
}

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void reduce(global const float* in,
                                                                   global float* out) {
  local float sums[256];
  const int l = get_local_id(0);
  sums[l] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int reach = 128; reach > 0; reach /= 2) {
    if (l < reach) sums[l] += sums[l + reach];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0) out[get_group_id(0)] = sums[0];
}

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void histogram(global const uint* in,
                                                                      global uint* bins, int per_item) {
  local uint counts[256];
  const int l = get_local_id(0);
  counts[l] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  const size_t first = get_group_id(0) * 256 * (size_t)per_item + l;
  for (int i = 0; i < per_item; ++i) atomic_inc(&counts[in[first + i * 256] & 255]);
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_add(&bins[l], counts[l]);
}

#define SORTED 512
kernel __attribute__((reqd_work_group_size(SORTED / 2, 1, 1))) void bitonic(global const uint* in,
                                                                           global uint* out) {
  local uint keys[SORTED];
  const int l = get_local_id(0);
  const size_t base = get_group_id(0) * SORTED;
  keys[l] = in[base + l];
  keys[l + SORTED / 2] = in[base + l + SORTED / 2];
  for (int length = 2; length <= SORTED; length *= 2) {
    for (int stride = length / 2; stride > 0; stride /= 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      const int low = 2 * l - (l & (stride - 1));
      const uint a = keys[low], b = keys[low + stride];
      const bool ascending = (low & length) == 0;
      keys[low] = ascending == (a < b) ? a : b;
      keys[low + stride] = ascending == (a < b) ? b : a;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  out[base + l] = keys[l];
  out[base + l + SORTED / 2] = keys[l + SORTED / 2];
}

// 64-point transforms, radix 2, four of them in a work-group of 128.
#define POINTS 64
kernel __attribute__((reqd_work_group_size(128, 1, 1))) void fft64(global const float2* in,
                                                                  global float2* out,
                                                                  global const float2* roots) {
  local float2 values[4][POINTS];
  const int l = get_local_id(0) & 31, which = get_local_id(0) >> 5;
  const size_t base = (get_group_id(0) * 4 + which) * POINTS;
  for (int k = l; k < POINTS; k += 32) {
    int reversed = 0;
    for (int bit = 0; bit < 6; ++bit) reversed |= ((k >> bit) & 1) << (5 - bit);
    values[which][reversed] = in[base + k];
  }
  for (int reach = 1; reach < POINTS; reach *= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    const int offset = l & (reach - 1);
    const int low = 2 * l - offset;
    const float2 root = roots[offset * (POINTS / 2 / reach)];
    const float2 a = values[which][low], b = values[which][low + reach];
    const float2 t = (float2)(b.x * root.x - b.y * root.y, b.x * root.y + b.y * root.x);
    values[which][low] = a + t;
    values[which][low + reach] = a - t;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = l; k < POINTS; k += 32) out[base + k] = values[which][k];
}

// One SHA-256 compression of a message block that is derived from the work-item's id.
constant uint kRounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
#define ROTATE(x, n) rotate((uint)(x), (uint)(32 - (n)))
kernel void sha256(global uint* out) {
  const uint item = get_global_id(0);
  uint w[64];
  for (int i = 0; i < 16; ++i) w[i] = item * 0x9e3779b9u + i;
#pragma unroll
  for (int i = 16; i < 64; ++i) {
    const uint s0 = ROTATE(w[i - 15], 7) ^ ROTATE(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const uint s1 = ROTATE(w[i - 2], 17) ^ ROTATE(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  uint a = 0x6a09e667, b = 0xbb67ae85, c = 0x3c6ef372, d = 0xa54ff53a;
  uint e = 0x510e527f, f = 0x9b05688c, g = 0x1f83d9ab, h = 0x5be0cd19;
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    const uint t1 = h + (ROTATE(e, 6) ^ ROTATE(e, 11) ^ ROTATE(e, 25)) + ((e & f) ^ (~e & g)) + kRounds[i] + w[i];
    const uint t2 = (ROTATE(a, 2) ^ ROTATE(a, 13) ^ ROTATE(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  out[item] = a ^ b ^ c ^ d ^ e ^ f ^ g ^ h;
}

kernel void stencil3d(global const float* in, global float* out, int n) {
  const int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  const int i = (z * n + y) * n + x;
  if (x == 0 || y == 0 || z == 0 || x == n - 1 || y == n - 1 || z == n - 1) {
    out[i] = in[i];
  } else {
    out[i] = 0.4f * in[i] +
             0.1f * (in[i - 1] + in[i + 1] + in[i - n] + in[i + n] + in[i - n * n] + in[i + n * n]);
  }
}

kernel void spmv(global const int* starts, global const int* columns, global const float* values,
                 global const float* x, global float* y) {
  const int row = get_global_id(0);
  float sum = 0;
  for (int i = starts[row]; i < starts[row + 1]; ++i) sum += values[i] * x[columns[i]];
  y[row] = sum;
}

// Each work-item sorts numbers in a private array, with indices that depend on the data.
#define PRIVATE 24
kernel void sort_private(global const uint* in, global uint* out, int items) {
  const int item = get_global_id(0);
  uint keys[PRIVATE];
  for (int i = 0; i < PRIVATE; ++i) {
    const uint key = in[i * items + item];
    int at = i;
    while (at > 0 && keys[at - 1] > key) {
      keys[at] = keys[at - 1];
      --at;
    }
    keys[at] = key;
  }
  for (int i = 0; i < PRIVATE; ++i) out[i * items + item] = keys[i];
}

kernel void resize(read_only image2d_t picture, sampler_t linear, global uchar4* out) {
  const int x = get_global_id(0), y = get_global_id(1), width = get_global_size(0), height = get_global_size(1);
  const float2 at = (float2)((x + 0.5f) / width, (y + 0.5f) / height);
  out[y * width + x] = convert_uchar4_sat_rte(read_imagef(picture, linear, at) * 255.0f);
}
