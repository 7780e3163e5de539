// Element-wise additions of every basic type, and grids with a partial last work-group.
#include "check.hpp"

template <typename T>
__global__ void add(const T* a, const T* b, T* sum, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) sum[i] = static_cast<T>(a[i] + b[i]);
}

template <typename T>
void check_add(const char* type) {
  Random random(sizeof(T));
  for (const unsigned count : {1u, 31u, 64u, 65u, 1000u, 65536u, 1000003u}) {
    std::vector<T> a(count), b(count), expected(count);
    for (unsigned i = 0; i < count; ++i) {
      a[i] = static_cast<T>(static_cast<int>(random.below(2000)) - 1000);
      b[i] = static_cast<T>(static_cast<int>(random.below(2000)) - 1000);
      if constexpr (std::is_floating_point_v<T>) a[i] /= 7;
      expected[i] = static_cast<T>(a[i] + b[i]);
    }
    const DeviceArray<T> da(a), db(b), sum(count, 0xff);
    for (const unsigned block : {64u, 256u}) {
      add<T><<<blocks_for(count, block), block>>>(da.data(), db.data(), sum.data(), count);
      HIP_FINISH();
      expect_equal(std::string(type) + " x " + std::to_string(count), expected, sum.read());
    }
  }
}

int main() {
  check_add<float>("float");
  check_add<double>("double");
  check_add<int8_t>("int8");
  check_add<uint16_t>("uint16");
  check_add<int32_t>("int32");
  check_add<int64_t>("int64");
  return verdict("vector_add");
}
