// Each work-item stores four adjacent dwords, which are parts of loaded values. Compilers move the parts to
// adjacent registers and store them with one instruction.
#include "check.hpp"

__global__ void take_apart(const float* f, const double* d, int* o, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  o[4 * i] = __float_as_int(f[i]);
  o[4 * i + 1] = __double2hiint(d[i]);
  o[4 * i + 2] = __double2loint(d[i]);
  o[4 * i + 3] = __float_as_int(f[i]) ^ static_cast<int>(0x80000000);
}

int main() {
  Random random(4);
  for (const unsigned count : {64u, 300u, 4096u, 5000u}) {
    std::vector<float> f(count);
    std::vector<double> d(count);
    std::vector<int> expected;
    for (unsigned i = 0; i < count; ++i) {
      f[i] = static_cast<float>(random.real(-9, 9));
      d[i] = random.real(-9, 9);
      int single = 0, halves[2] = {};
      std::memcpy(&single, &f[i], sizeof single);
      std::memcpy(halves, &d[i], sizeof halves);
      expected.insert(expected.end(), {single, halves[1], halves[0], single ^ static_cast<int>(0x80000000)});
    }
    const DeviceArray<float> df(f);
    const DeviceArray<double> dd(d);
    for (const unsigned block : {64u, 256u}) {
      const DeviceArray<int> o(size_t{count} * 4, 0xff);
      take_apart<<<blocks_for(count, block), block>>>(df.data(), dd.data(), o.data(), count);
      HIP_FINISH();
      expect_equal(std::to_string(count) + " in groups of " + std::to_string(block), expected, o.read());
    }
  }
  return verdict("halves_of_doubles");
}
