// Integer arithmetic in all widths, with division, bit manipulation and conversions, compared with the host.
#include "check.hpp"

constexpr unsigned kResults = 16;

template <typename T>
__host__ __device__ void arithmetic(T a, T b, T c, T* out) {
  using U = std::make_unsigned_t<T>;
  constexpr unsigned kBits = sizeof(T) * 8;
  const U ua = static_cast<U>(a), ub = static_cast<U>(b), uc = static_cast<U>(c);
  const unsigned shift = static_cast<unsigned>(uc) % kBits;
  const T divisor = b == 0 || b == static_cast<T>(-1) ? T(3) : b;
  out[0] = static_cast<T>(ua + ub);
  out[1] = static_cast<T>(ua - ub);
  out[2] = static_cast<T>(static_cast<uint64_t>(ua) * ub);
  out[3] = static_cast<T>(a / divisor);
  out[4] = static_cast<T>(a % divisor);
  out[5] = static_cast<T>(ua << shift);
  out[6] = static_cast<T>(ua >> shift);
  out[7] = static_cast<T>(a >> shift);
  out[8] = static_cast<T>((ua & ub) | (~ua & uc));
  out[9] = static_cast<T>(ua ^ ub ^ uc);
  out[10] = a < b ? (b < c ? b : c) : (a < c ? a : c);
  out[11] = static_cast<T>((a < b) + 2 * (a <= c) + 4 * (a == b) + 8 * (b != c));
  out[12] = static_cast<T>((ua << shift) | (ua >> (kBits - 1 - shift) >> 1));
  out[13] = static_cast<T>(static_cast<uint64_t>(ua) * ub + uc);
  out[14] = static_cast<T>(a > b ? ua - ub : ub - ua);
  out[15] = static_cast<T>((ua + ub) << 3 | uc);
}

template <typename T>
__global__ void arithmetic_kernel(const T* in, T* out, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) arithmetic(in[3 * i], in[3 * i + 1], in[3 * i + 2], out + kResults * i);
}

template <typename T>
std::vector<T> operands(unsigned n) {
  constexpr unsigned kBits = sizeof(T) * 8;
  Random random(kBits);
  std::vector<T> values(n);
  for (T& value : values) {
    const uint64_t bits = random.bits();
    switch (random.below(6)) {
      case 0:
        value = static_cast<T>(uint64_t{1} << random.below(kBits));
        break;
      case 1:
        value = static_cast<T>((uint64_t{1} << random.below(kBits)) - 1);
        break;
      case 2:
        value = static_cast<T>(random.below(5));
        break;
      case 3:
        value = static_cast<T>(-static_cast<int64_t>(random.below(5)));
        break;
      default:
        value = static_cast<T>(bits >> random.below(kBits));
        break;
    }
  }
  return values;
}

template <typename T>
void check_arithmetic(const char* type) {
  constexpr unsigned kCount = 4000;
  const std::vector<T> in = operands<T>(3 * kCount);
  std::vector<T> expected(kResults * kCount);
  for (unsigned i = 0; i < kCount; ++i) {
    arithmetic(in[3 * i], in[3 * i + 1], in[3 * i + 2], &expected[kResults * i]);
  }
  const DeviceArray<T> din(in), out(expected.size(), 0xff);
  arithmetic_kernel<T><<<blocks_for(kCount, 128), 128>>>(din.data(), out.data(), kCount);
  HIP_FINISH();
  expect_equal(std::string("arithmetic of ") + type, expected, out.read());
}

__global__ void bits_kernel(const uint64_t* in, uint64_t* out, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const uint64_t a = in[2 * i], b = in[2 * i + 1];
  const uint32_t lo = static_cast<uint32_t>(a), hi = static_cast<uint32_t>(b);
  uint64_t* row = out + 16 * i;
  row[0] = static_cast<uint64_t>(__clz(static_cast<int>(lo)));
  row[1] = static_cast<uint64_t>(__clzll(static_cast<long long>(a)));
  row[2] = static_cast<uint64_t>(__popc(lo));
  row[3] = static_cast<uint64_t>(__popcll(a));
  row[4] = __brev(lo);
  row[5] = __brevll(a);
  row[6] = static_cast<uint64_t>(__ffs(static_cast<int>(lo)));
  row[7] = static_cast<uint64_t>(__ffsll(static_cast<unsigned long long>(a)));
  row[8] = __builtin_rotateleft32(lo, hi & 31);
  row[9] = __byte_perm(lo, hi, static_cast<unsigned>(b >> 32) & 0x7777);
  row[10] = __umulhi(lo, hi);
  row[11] = static_cast<uint32_t>(__mulhi(static_cast<int>(lo), static_cast<int>(hi)));
  row[12] = __umul64hi(a, b);
  row[13] = static_cast<uint64_t>(__mul64hi(static_cast<long long>(a), static_cast<long long>(b)));
  row[14] = static_cast<uint32_t>(__mul24(static_cast<int>(lo), static_cast<int>(hi)));
  row[15] = uint64_t{static_cast<uint32_t>(__usad(lo, hi, 77))} + static_cast<uint32_t>(__umul24(lo, hi));
}

static void bits_on_host(uint64_t a, uint64_t b, uint64_t* row) {
  const uint32_t lo = static_cast<uint32_t>(a), hi = static_cast<uint32_t>(b);
  const auto reversed = [](uint64_t value, unsigned bits) {
    uint64_t result = 0;
    for (unsigned i = 0; i < bits; ++i) result |= (value >> i & 1) << (bits - 1 - i);
    return result;
  };
  const auto signed24 = [](uint32_t value) { return static_cast<int32_t>(value << 8) >> 8; };
  row[0] = lo == 0 ? 32 : static_cast<uint64_t>(__builtin_clz(lo));
  row[1] = a == 0 ? 64 : static_cast<uint64_t>(__builtin_clzll(a));
  row[2] = static_cast<uint64_t>(__builtin_popcount(lo));
  row[3] = static_cast<uint64_t>(__builtin_popcountll(a));
  row[4] = reversed(lo, 32);
  row[5] = reversed(a, 64);
  row[6] = static_cast<uint64_t>(__builtin_ffs(static_cast<int>(lo)));
  row[7] = static_cast<uint64_t>(__builtin_ffsll(static_cast<long long>(a)));
  row[8] = hi % 32 == 0 ? lo : (lo << hi % 32 | lo >> (32 - hi % 32));
  const uint64_t both = uint64_t{hi} << 32 | lo;
  const unsigned selector = static_cast<unsigned>(b >> 32) & 0x7777;
  row[9] = 0;
  for (unsigned k = 0; k < 4; ++k) row[9] |= (both >> 8 * (selector >> 4 * k & 7) & 0xff) << 8 * k;
  row[10] = uint64_t{lo} * hi >> 32;
  row[11] = static_cast<uint32_t>(int64_t{static_cast<int32_t>(lo)} * static_cast<int32_t>(hi) >> 32);
  row[12] = static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b >> 64);
  row[13] =
      static_cast<uint64_t>(static_cast<__int128>(static_cast<int64_t>(a)) * static_cast<int64_t>(b) >> 64);
  row[14] = static_cast<uint32_t>(int64_t{signed24(lo)} * signed24(hi));
  row[15] = static_cast<uint32_t>((lo > hi ? lo - hi : hi - lo) + 77) +
            uint64_t{static_cast<uint32_t>(uint64_t{lo & 0xffffff} * (hi & 0xffffff))};
}

static void check_bits() {
  constexpr unsigned kCount = 3000;
  const std::vector<uint64_t> in = operands<uint64_t>(2 * kCount);
  std::vector<uint64_t> expected(16 * kCount);
  for (unsigned i = 0; i < kCount; ++i) bits_on_host(in[2 * i], in[2 * i + 1], &expected[16 * i]);
  const DeviceArray<uint64_t> din(in), out(expected.size(), 0xff);
  bits_kernel<<<blocks_for(kCount, 128), 128>>>(din.data(), out.data(), kCount);
  HIP_FINISH();
  expect_equal("bit manipulation (16 results a pair)", expected, out.read());
}

// Conversions in both directions, of values in the target's range.
__host__ __device__ inline void convert(double d, int64_t wide, uint64_t* row) {
  const float f = static_cast<float>(d);
  row[0] = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(d)));
  row[1] = static_cast<uint64_t>(static_cast<int64_t>(d * 1e9));
  row[2] = static_cast<uint32_t>(d < 0 ? -d : d);
  row[3] = static_cast<uint64_t>((d < 0 ? -d : d) * 1e9);
  row[4] = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(f)));
  row[5] = static_cast<uint64_t>(static_cast<int64_t>(f));
  const double from_wide = static_cast<double>(wide);
  const float from_wide_single = static_cast<float>(wide);
  const double from_unsigned = static_cast<double>(static_cast<uint64_t>(wide));
  const float from_word = static_cast<float>(static_cast<uint32_t>(wide));
  __builtin_memcpy(&row[6], &from_wide, 8);
  row[7] = 0;
  __builtin_memcpy(&row[7], &from_wide_single, 4);
  __builtin_memcpy(&row[8], &from_unsigned, 8);
  row[9] = 0;
  __builtin_memcpy(&row[9], &from_word, 4);
  row[10] = 0;
  __builtin_memcpy(&row[10], &f, 4);
  row[11] = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int8_t>(wide))) +
            static_cast<uint16_t>(wide >> 7);
}

__global__ void convert_kernel(const double* d, const int64_t* wide, uint64_t* out, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) convert(d[i], wide[i], out + 12 * i);
}

static void check_conversions() {
  constexpr unsigned kCount = 3000;
  Random random(9);
  std::vector<double> d(kCount);
  const std::vector<int64_t> wide = operands<int64_t>(kCount);
  for (double& value : d)
    value = random.real(-2e9, 2e9) * std::ldexp(1.0, -static_cast<int>(random.below(40)));
  std::vector<uint64_t> expected(12 * kCount);
  for (unsigned i = 0; i < kCount; ++i) convert(d[i], wide[i], &expected[12 * i]);
  const DeviceArray<double> dd(d);
  const DeviceArray<int64_t> dwide(wide);
  const DeviceArray<uint64_t> out(expected.size(), 0xff);
  convert_kernel<<<blocks_for(kCount, 128), 128>>>(dd.data(), dwide.data(), out.data(), kCount);
  HIP_FINISH();
  expect_equal("conversions (12 results a pair)", expected, out.read());
}

int main() {
  check_arithmetic<int8_t>("int8");
  check_arithmetic<uint8_t>("uint8");
  check_arithmetic<int16_t>("int16");
  check_arithmetic<uint16_t>("uint16");
  check_arithmetic<int32_t>("int32");
  check_arithmetic<uint32_t>("uint32");
  check_arithmetic<int64_t>("int64");
  check_arithmetic<uint64_t>("uint64");
  check_bits();
  check_conversions();
  return verdict("integers");
}
