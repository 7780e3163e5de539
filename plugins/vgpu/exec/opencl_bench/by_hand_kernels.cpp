// Native code of the cases. It is compiled once for each vector width, into the namespace RIGEL_BY_HAND.
// All of them are built on every machine.
#include "plugins/vgpu/exec/opencl_bench/by_hand_kernels.hpp"

#include <array>
#include <cmath>
#include <cstring>
#ifdef __AVX__
#include <immintrin.h>
#endif

namespace rigel::vgpu::bench::RIGEL_BY_HAND {
namespace {

#ifdef __AVX512F__
constexpr int kWidth = 16;
#else
constexpr int kWidth = 8;
#endif
using Floats = float __attribute__((vector_size(kWidth * sizeof(float))));

Floats load(const float* source) {
  Floats values;
  std::memcpy(&values, source, sizeof values);
  return values;
}
void store(float* destination, Floats values) {
  std::memcpy(destination, &values, sizeof values);
}
Floats broadcast(float value) {
  return Floats{} + value;
}

const float* input(const Case& work, size_t index) {
  return static_cast<const float*>(std::get<Buffer>(work.arguments[index]).memory);
}
float* output(const Case& work, size_t index) {
  return static_cast<float*>(std::get<Buffer>(work.arguments[index]).memory);
}
int number(const Case& work, size_t index) {
  return std::get<int32_t>(work.arguments[index]);
}

void vadd(const Case& work) {
  const float *a = input(work, 0), *b = input(work, 1);
  float* c = output(work, 2);
  for (size_t i = 0; i < work.grid[0]; i += kWidth) store(c + i, load(a + i) + load(b + i));
}

void saxpy(const Case& work) {
  const float *x = input(work, 0), *y = input(work, 1);
  float* out = output(work, 2);
  const Floats a = broadcast(std::get<float>(work.arguments[3]));
  for (size_t i = 0; i < work.grid[0]; i += kWidth) store(out + i, a * load(x + i) + load(y + i));
}

// A tile of the result stays in registers, four rows at a time, while the loop reads tiles of the factors.
void sgemm_tiled(const Case& work) {
  constexpr int kTile = 16, kRows = 4, kParts = kTile / kWidth;
  const float *a = input(work, 0), *b = input(work, 1);
  float* c = output(work, 2);
  const int n = number(work, 3);
  for (int row = 0; row < n; row += kRows) {
    for (int column = 0; column < n; column += kTile) {
      Floats sums[kRows][kParts] = {};
      for (int k = 0; k < n; ++k) {
        for (int part = 0; part < kParts; ++part) {
          const Floats factors = load(b + k * n + column + part * kWidth);
          for (int r = 0; r < kRows; ++r) sums[r][part] += broadcast(a[(row + r) * n + k]) * factors;
        }
      }
      for (int r = 0; r < kRows; ++r) {
        for (int part = 0; part < kParts; ++part)
          store(c + (row + r) * n + column + part * kWidth, sums[r][part]);
      }
    }
  }
}

// Like native_rsqrt(): the CPU's estimate and one refinement step.
Floats reciprocal_root(Floats x) {
#if defined(__AVX512F__)
  // Masked, because GCC 12 warns of undefined lanes in the plain form.
  const Floats guess = reinterpret_cast<Floats>(_mm512_maskz_rsqrt14_ps(0xffff, reinterpret_cast<__m512>(x)));
#elif defined(__AVX__)
  const Floats guess = reinterpret_cast<Floats>(_mm256_rsqrt_ps(reinterpret_cast<__m256>(x)));
#else
  Floats guess;
  for (int lane = 0; lane < kWidth; ++lane) guess[lane] = 1 / std::sqrt(x[lane]);
#endif
  return guess * (1.5f - 0.5f * x * guess * guess);
}

// Two vectors of bodies at a time, so that the latency of one chain of operations hides the other's.
void nbody(const Case& work) {
  constexpr int kChains = 2;
  const float* bodies = input(work, 0);
  float* forces = output(work, 1);
  const int n = number(work, 2);
  for (int first = 0; first < n; first += kChains * kWidth) {
    Floats self[kChains][3], force[kChains][3] = {};
    for (int chain = 0; chain < kChains; ++chain) {
      for (int axis = 0; axis < 3; ++axis) {
        float lanes[kWidth];
        for (int lane = 0; lane < kWidth; ++lane)
          lanes[lane] = bodies[(first + chain * kWidth + lane) * 4 + axis];
        self[chain][axis] = load(lanes);
      }
    }
    for (int j = 0; j < n; ++j) {
      for (int chain = 0; chain < kChains; ++chain) {
        Floats distance[3], distance2 = broadcast(0.01f);
        for (int axis = 0; axis < 3; ++axis) {
          distance[axis] = broadcast(bodies[j * 4 + axis]) - self[chain][axis];
          distance2 += distance[axis] * distance[axis];
        }
        const Floats inverse = reciprocal_root(distance2);
        const Floats strength = broadcast(bodies[j * 4 + 3]) * inverse * inverse * inverse;
        for (int axis = 0; axis < 3; ++axis) force[chain][axis] += strength * distance[axis];
      }
    }
    for (int chain = 0; chain < kChains; ++chain) {
      for (int lane = 0; lane < kWidth; ++lane) {
        for (int axis = 0; axis < 4; ++axis)
          forces[(first + chain * kWidth + lane) * 4 + axis] = axis < 3 ? force[chain][axis][lane] : 0;
      }
    }
  }
}

// Returns every second element of two vectors, from element `kFirst` on.
template <int kFirst>
Floats every_second(Floats low, Floats high) {
#ifdef __AVX512F__
  return __builtin_shufflevector(low, high, kFirst, kFirst + 2, kFirst + 4, kFirst + 6, kFirst + 8,
                                 kFirst + 10, kFirst + 12, kFirst + 14, kFirst + 16, kFirst + 18, kFirst + 20,
                                 kFirst + 22, kFirst + 24, kFirst + 26, kFirst + 28, kFirst + 30);
#else
  return __builtin_shufflevector(low, high, kFirst, kFirst + 2, kFirst + 4, kFirst + 6, kFirst + 8,
                                 kFirst + 10, kFirst + 12, kFirst + 14);
#endif
}

constexpr int kPoints = 64, kHalf = kPoints / 2, kStages = 6;

struct Complexes {
  alignas(64) float re[kPoints], im[kPoints];
};

// Radix 2 in constant geometry (Pease): each stage reads neighbours and writes results half of the points
// apart. All stages therefore load and store whole vectors.
void fft64(const Case& work) {
  const float* in = input(work, 0);
  float* out = output(work, 1);
  const float* roots = input(work, 2);
  alignas(64) float root_re[kStages][kHalf], root_im[kStages][kHalf];
  for (int stage = 0; stage < kStages; ++stage) {
    for (int j = 0; j < kHalf; ++j) {
      const int root = (j >> (5 - stage)) * (kHalf >> stage);
      root_re[stage][j] = roots[root * 2];
      root_im[stage][j] = roots[root * 2 + 1];
    }
  }
  int reversed[kPoints] = {};
  for (int k = 0; k < kPoints; ++k) {
    for (int bit = 0; bit < kStages; ++bit) reversed[k] |= ((k >> bit) & 1) << (kStages - 1 - bit);
  }
  const size_t transforms = work.grid[0] / kHalf;
  for (size_t transform = 0; transform < transforms; ++transform) {
    Complexes values[2];
    const float* source = in + transform * kPoints * 2;
    for (int k = 0; k < kPoints; ++k) {
      values[0].re[k] = source[reversed[k] * 2];
      values[0].im[k] = source[reversed[k] * 2 + 1];
    }
    for (int stage = 0; stage < kStages; ++stage) {
      const Complexes& x = values[stage % 2];
      Complexes& y = values[(stage + 1) % 2];
      for (int j = 0; j < kHalf; j += kWidth) {
        const Floats re_low = load(x.re + 2 * j), re_high = load(x.re + 2 * j + kWidth);
        const Floats im_low = load(x.im + 2 * j), im_high = load(x.im + 2 * j + kWidth);
        const Floats a_re = every_second<0>(re_low, re_high), b_re = every_second<1>(re_low, re_high);
        const Floats a_im = every_second<0>(im_low, im_high), b_im = every_second<1>(im_low, im_high);
        const Floats w_re = load(root_re[stage] + j), w_im = load(root_im[stage] + j);
        const Floats t_re = b_re * w_re - b_im * w_im, t_im = b_re * w_im + b_im * w_re;
        store(y.re + j, a_re + t_re);
        store(y.im + j, a_im + t_im);
        store(y.re + j + kHalf, a_re - t_re);
        store(y.im + j + kHalf, a_im - t_im);
      }
    }
    float* destination = out + transform * kPoints * 2;
    for (int k = 0; k < kPoints; ++k) {
      destination[k * 2] = values[0].re[k];
      destination[k * 2 + 1] = values[0].im[k];
    }
  }
}

void stencil3d(const Case& work) {
  const float* in = input(work, 0);
  float* out = output(work, 1);
  const int n = number(work, 2);
  for (int z = 0; z < n; ++z) {
    for (int y = 0; y < n; ++y) {
      const int row = (z * n + y) * n;
      if (z == 0 || y == 0 || z == n - 1 || y == n - 1) {
        std::memcpy(out + row, in + row, n * sizeof(float));
        continue;
      }
      // Vectors at the ends of a row include elements of adjacent rows. The ends are corrected after the
      // row.
      for (int x = 0; x < n; x += kWidth) {
        const float* centre = in + row + x;
        const Floats neighbours = load(centre - 1) + load(centre + 1) + load(centre - n) + load(centre + n) +
                                  load(centre - n * n) + load(centre + n * n);
        store(out + row + x, 0.4f * load(centre) + 0.1f * neighbours);
      }
      out[row] = in[row];
      out[row + n - 1] = in[row + n - 1];
    }
  }
}

constexpr std::array kKernels = {
    KernelByHand{"vadd", vadd},   KernelByHand{"saxpy", saxpy}, KernelByHand{"sgemm_tiled", sgemm_tiled},
    KernelByHand{"nbody", nbody}, KernelByHand{"fft64", fft64}, KernelByHand{"stencil3d", stencil3d}};

}  // namespace

std::span<const KernelByHand> kernels() {
  return kKernels;
}

}  // namespace rigel::vgpu::bench::RIGEL_BY_HAND
