// LDS whose size the launch specifies, alone and with LDS of fixed size, up to the device's limit.
#include "check.hpp"

extern __shared__ unsigned dynamic[];

// Reverses the block's values through LDS, at the end of the dynamic part.
__global__ void reverse(const unsigned* in, unsigned* out, unsigned words) {
  const unsigned t = threadIdx.x, n = blockDim.x, base = blockIdx.x * n;
  for (unsigned i = t; i < words; i += n) dynamic[i] = 0xdead0000u + i;
  __syncthreads();
  dynamic[words - 1 - t] = in[base + t];
  __syncthreads();
  out[base + t] = dynamic[words - n + t];
  // The other words must be unchanged.
  for (unsigned i = t; i + n < words; i += n) {
    if (dynamic[i] != 0xdead0000u + i) out[base + t] = 0xbad00000u + i;
  }
}

__global__ void fixed_and_dynamic(unsigned* out) {
  __shared__ unsigned fixed[128];
  const unsigned t = threadIdx.x;
  double* doubles = reinterpret_cast<double*>(dynamic);
  fixed[t] = t;
  doubles[t] = t * 0.5;
  __syncthreads();
  out[blockIdx.x * 128 + t] = fixed[127 - t] * 1000 + static_cast<unsigned>(doubles[(t + 1) % 128] * 2);
}

int main() {
  hipDeviceProp_t properties;
  HIP_OK(hipGetDeviceProperties(&properties, 0));
  const unsigned limit = static_cast<unsigned>(properties.sharedMemPerBlock);
  constexpr unsigned kBlocks = 5, kBlock = 128;
  std::vector<unsigned> in(kBlocks * kBlock), expected(in.size());
  Random random(2);
  for (unsigned& value : in) value = static_cast<unsigned>(random.bits() >> 33);
  for (unsigned i = 0; i < in.size(); ++i) expected[i] = in[i / kBlock * kBlock + kBlock - 1 - i % kBlock];
  const DeviceArray<unsigned> din(in), out(in.size(), 0xff);
  for (const unsigned bytes : {512u, 1024u, 5000u, 32768u, limit}) {
    HIP_OK(hipMemset(out.data(), 0xff, out.bytes()));
    reverse<<<kBlocks, kBlock, bytes>>>(din.data(), out.data(), bytes / 4);
    HIP_FINISH();
    expect_equal("reversed through " + std::to_string(bytes) + " bytes of LDS", expected, out.read());
  }
  for (unsigned i = 0; i < expected.size(); ++i) {
    const unsigned t = i % 128;
    expected[i] = (127 - t) * 1000 + (t + 1) % 128;
  }
  fixed_and_dynamic<<<kBlocks, 128, 1024>>>(out.data());
  HIP_FINISH();
  expect_equal("fixed and dynamic LDS", expected, out.read());

  // A launch above the device's limit must fail.
  reverse<<<1, kBlock, 1 << 20>>>(din.data(), out.data(), 1 << 18);
  expect(hipGetLastError() != hipSuccess || hipDeviceSynchronize() != hipSuccess,
         "a launch with 1 MiB of LDS");
  return verdict("dynamic_lds");
}
