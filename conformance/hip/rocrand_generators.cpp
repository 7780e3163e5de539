// The system's rocRAND library, and its device generators in our kernels and on the host, compared with the
// published algorithms (Philox4x32-10: Salmon et al., 2011; XORWOW: Marsaglia, 2003; MRG32k3a: L'Ecuyer,
// 1999) and with moments of the distributions.
#define FQUALIFIERS __forceinline__ __device__ __host__

#include <rocrand/rocrand.h>
#include <rocrand/rocrand_kernel.h>

#include <algorithm>
#include <array>

#include "check.hpp"

#define ROCRAND_OK(call)                                                                                     \
  do {                                                                                                       \
    const rocrand_status rocrand_status_ = (call);                                                           \
    if (rocrand_status_ != ROCRAND_STATUS_SUCCESS) {                                                         \
      std::fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, static_cast<int>(rocrand_status_)); \
      std::exit(1);                                                                                          \
    }                                                                                                        \
  } while (false)

// Philox4x32-10: ten rounds of two multiplications. Weyl constants are added to the key.
static std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * counter[0], p1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(p1),
               static_cast<uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(p0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

constexpr unsigned kItems = 256, kEach = 16;

__global__ void philox_kernel(unsigned long long seed, uint32_t* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  rocrand_state_philox4x32_10 state;
  rocrand_init(seed, i, 0, &state);
  for (unsigned k = 0; k < kEach; ++k) out[i * kEach + k] = rocrand(&state);
}

// The upper half of the counter is the subsequence.
static void check_philox_in_a_kernel() {
  constexpr unsigned long long kSeed = 0x1234567890abcdefull;
  std::vector<uint32_t> expected;
  for (unsigned i = 0; i < kItems; ++i) {
    for (unsigned k = 0; k < kEach / 4; ++k) {
      const auto four =
          philox({k, 0, i, 0}, {static_cast<uint32_t>(kSeed), static_cast<uint32_t>(kSeed >> 32)});
      expected.insert(expected.end(), four.begin(), four.end());
    }
  }
  // The published test vector checks this reference.
  expect(
      philox({0, 0, 0, 0}, {0, 0}) == std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
      "the reference of Philox");
  const DeviceArray<uint32_t> out(expected.size(), 0xff);
  philox_kernel<<<kItems / 64, 64>>>(kSeed, out.data());
  HIP_FINISH();
  expect_equal("Philox in a kernel", expected, out.read());
}

// The same code for device and host, with any generator and distribution.
struct Draws {
  uint32_t bits[8];
  float uniform[4];
  double uniform_double[4];
};

template <typename State>
__host__ __device__ inline Draws draw(unsigned long long seed, unsigned item) {
  State state;
  rocrand_init(seed, item, item * 7, &state);
  Draws draws;
  for (uint32_t& value : draws.bits) value = rocrand(&state);
  for (float& value : draws.uniform) value = rocrand_uniform(&state);
  for (double& value : draws.uniform_double) value = rocrand_uniform_double(&state);
  return draws;
}

template <typename State>
__global__ void draw_kernel(unsigned long long seed, Draws* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = draw<State>(seed, i);
}

template <typename State>
void check_draws(const char* name) {
  const DeviceArray<Draws> out(kItems, 0);
  draw_kernel<State><<<kItems / 64, 64>>>(77, out.data());
  HIP_FINISH();
  const std::vector<Draws> draws = out.read();
  std::vector<uint32_t> bits, expected_bits;
  std::vector<double> uniform, expected_uniform;
  for (unsigned i = 0; i < kItems; ++i) {
    const Draws expected = draw<State>(77, i);
    bits.insert(bits.end(), std::begin(draws[i].bits), std::end(draws[i].bits));
    expected_bits.insert(expected_bits.end(), std::begin(expected.bits), std::end(expected.bits));
    for (unsigned k = 0; k < 4; ++k) {
      uniform.insert(uniform.end(), {draws[i].uniform[k], draws[i].uniform_double[k]});
      expected_uniform.insert(expected_uniform.end(), {expected.uniform[k], expected.uniform_double[k]});
    }
  }
  expect_equal(std::string(name) + " in a kernel and on the host", expected_bits, bits);
  // The device may fuse a multiplication and an addition, which the host rounds separately.
  for (size_t i = 0; i < uniform.size(); ++i) {
    if (std::fabs(uniform[i] - expected_uniform[i]) <= 1e-7 * expected_uniform[i]) continue;
    fail(std::string(name) + " uniform value " + std::to_string(i) + " is " + text_of(uniform[i]) + ", not " +
         text_of(expected_uniform[i]));
    break;
  }
}

// The library's generators: equal numbers for equal seeds, different numbers for different seeds, and the
// moments of the distribution.
static void check_library(const char* name, rocrand_rng_type type, bool seeded) {
  constexpr size_t kCount = 65'536;
  const DeviceArray<uint32_t> first(kCount, 0), second(kCount, 0), third(kCount, 0);
  const DeviceArray<float> uniform(kCount, 0), normal(kCount, 0);
  const DeviceArray<uint32_t> poisson(kCount, 0);
  const auto generate = [&](unsigned long long seed, uint32_t* out) {
    rocrand_generator generator;
    ROCRAND_OK(rocrand_create_generator(&generator, type));
    if (seeded) ROCRAND_OK(rocrand_set_seed(generator, seed));
    ROCRAND_OK(rocrand_generate(generator, out, kCount));
    HIP_FINISH();
    ROCRAND_OK(rocrand_destroy_generator(generator));
  };
  generate(5, first.data());
  generate(5, second.data());
  generate(6, third.data());
  const std::vector<uint32_t> bits = first.read();
  expect_equal(std::string(name) + ": the same seed again", bits, second.read());
  if (seeded) expect(bits != third.read(), std::string(name) + ": another seed gives other numbers");
  if (type == ROCRAND_RNG_PSEUDO_PHILOX4_32_10) {
    std::vector<uint32_t> expected;
    for (uint32_t k = 0; k < kCount / 4; ++k) {
      const auto four = philox({k, 0, 0, 0}, {5, 0});
      expected.insert(expected.end(), four.begin(), four.end());
    }
    expect_equal("Philox of the library", expected, bits);
  }

  rocrand_generator generator;
  ROCRAND_OK(rocrand_create_generator(&generator, type));
  ROCRAND_OK(rocrand_generate_uniform(generator, uniform.data(), kCount));
  ROCRAND_OK(rocrand_generate_normal(generator, normal.data(), kCount, 3.0f, 2.0f));
  ROCRAND_OK(rocrand_generate_poisson(generator, poisson.data(), kCount, 6.5));
  HIP_FINISH();
  ROCRAND_OK(rocrand_destroy_generator(generator));
  const auto moments = [&](const char* what, const auto& values, double mean, double variance) {
    double sum = 0, squares = 0;
    for (const auto value : values) sum += static_cast<double>(value);
    sum /= static_cast<double>(values.size());
    for (const auto value : values)
      squares += (static_cast<double>(value) - sum) * (static_cast<double>(value) - sum);
    squares /= static_cast<double>(values.size());
    // Five standard errors of the mean, and (an upper estimate) of the variance.
    const double error = 5 * std::sqrt(variance / static_cast<double>(values.size()));
    if (!(std::fabs(sum - mean) < error && std::fabs(squares / variance - 1) < 0.05)) {
      fail(std::string(name) + " " + what + ": mean " + std::to_string(sum) + ", variance " +
           std::to_string(squares));
    }
  };
  moments("uniform", uniform.read(), 0.5, 1.0 / 12);
  moments("normal", normal.read(), 3, 4);
  moments("Poisson", poisson.read(), 6.5, 6.5);
}

int main() {
  check_philox_in_a_kernel();
  check_draws<rocrand_state_philox4x32_10>("Philox");
  check_draws<rocrand_state_xorwow>("XORWOW");
  check_draws<rocrand_state_mrg32k3a>("MRG32k3a");
  // Debian's library contains code for these chips only.
  hipDeviceProp_t properties;
  HIP_OK(hipGetDeviceProperties(&properties, 0));
  const std::string chip =
      std::string(properties.gcnArchName).substr(0, std::string(properties.gcnArchName).find(':'));
  if (chip == "gfx803" || chip == "gfx900" || chip == "gfx906" || chip == "gfx1030") {
    check_library("Philox", ROCRAND_RNG_PSEUDO_PHILOX4_32_10, true);
    check_library("XORWOW", ROCRAND_RNG_PSEUDO_XORWOW, true);
    check_library("MRG32k3a", ROCRAND_RNG_PSEUDO_MRG32K3A, true);
    check_library("MTGP32", ROCRAND_RNG_PSEUDO_MTGP32, true);
    check_library("Sobol32", ROCRAND_RNG_QUASI_SOBOL32, false);
  } else {
    std::printf("rocRAND's library has no code for %s\n", chip.c_str());
  }
  return verdict("rocrand_generators");
}
