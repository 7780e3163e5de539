// 10,000 small launches, each depending on the previous one, on one stream and on several.
#include "check.hpp"

__global__ void step(unsigned* state, unsigned k) {
  const unsigned i = threadIdx.x;
  state[i] = state[i] * 1664525u + k;
}

int main() {
  constexpr unsigned kLaunches = 10'000, kItems = 64;
  std::vector<unsigned> expected(kItems);
  for (unsigned i = 0; i < kItems; ++i) expected[i] = 0;
  const DeviceArray<unsigned> state(kItems, 0);
  for (unsigned k = 0; k < kLaunches; ++k) {
    step<<<1, kItems>>>(state.data(), k);
    for (unsigned& value : expected) value = value * 1664525u + k;
  }
  HIP_FINISH();
  expect_equal("after 10,000 launches", expected, state.read());

  constexpr unsigned kStreams = 4;
  std::vector<hipStream_t> streams(kStreams);
  for (hipStream_t& stream : streams) HIP_OK(hipStreamCreate(&stream));
  const DeviceArray<unsigned> states(kItems * kStreams, 0);
  std::vector<unsigned> all(kItems * kStreams, 0);
  for (unsigned k = 0; k < 2'000; ++k) {
    for (unsigned s = 0; s < kStreams; ++s)
      step<<<1, kItems, 0, streams[s]>>>(states.data() + s * kItems, k + s);
    for (unsigned i = 0; i < all.size(); ++i) all[i] = all[i] * 1664525u + k + i / kItems;
  }
  HIP_FINISH();
  expect_equal("after 2,000 launches in each of four streams", all, states.read());
  for (const hipStream_t stream : streams) HIP_OK(hipStreamDestroy(stream));

  // With a wait after each launch.
  HIP_OK(hipMemset(state.data(), 0, state.bytes()));
  std::fill(expected.begin(), expected.end(), 0u);
  for (unsigned k = 0; k < 500; ++k) {
    step<<<1, kItems>>>(state.data(), k);
    HIP_FINISH();
    for (unsigned& value : expected) value = value * 1664525u + k;
  }
  expect_equal("after 500 launches that were waited for", expected, state.read());
  return verdict("many_launches");
}
