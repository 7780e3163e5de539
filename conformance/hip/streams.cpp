// Streams, events and asynchronous copies: a stream runs in order, work after an event runs after it, and
// kernels never see a partial copy although copies in both directions overlap with them.
#include "check.hpp"

__global__ void scale_and_add(unsigned* values, unsigned count, unsigned factor, unsigned addend) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    values[i] = values[i] * factor + addend;
  }
}

constexpr unsigned kCount = 40'000;

static void check_order_in_a_stream() {
  constexpr unsigned kStreams = 4, kSteps = 12;
  std::vector<hipStream_t> streams(kStreams);
  std::vector<unsigned*> host(kStreams), device(kStreams);
  for (unsigned s = 0; s < kStreams; ++s) {
    HIP_OK(hipStreamCreateWithFlags(&streams[s], hipStreamNonBlocking));
    HIP_OK(hipHostMalloc(reinterpret_cast<void**>(&host[s]), kCount * 4, hipHostMallocDefault));
    HIP_OK(hipMalloc(&device[s], kCount * 4));
    for (unsigned i = 0; i < kCount; ++i) host[s][i] = i + s;
  }
  for (unsigned s = 0; s < kStreams; ++s) {
    HIP_OK(hipMemcpyAsync(device[s], host[s], kCount * 4, hipMemcpyHostToDevice, streams[s]));
    for (unsigned k = 0; k < kSteps; ++k)
      scale_and_add<<<8, 256, 0, streams[s]>>>(device[s], kCount, 3 + s, k);
    HIP_OK(hipMemcpyAsync(host[s], device[s], kCount * 4, hipMemcpyDeviceToHost, streams[s]));
  }
  for (unsigned s = 0; s < kStreams; ++s) {
    HIP_OK(hipStreamSynchronize(streams[s]));
    std::vector<unsigned> expected(kCount);
    for (unsigned i = 0; i < kCount; ++i) {
      expected[i] = i + s;
      for (unsigned k = 0; k < kSteps; ++k) expected[i] = expected[i] * (3 + s) + k;
    }
    expect_equal("stream " + std::to_string(s), expected, std::vector<unsigned>(host[s], host[s] + kCount));
    HIP_OK(hipStreamDestroy(streams[s]));
    HIP_OK(hipHostFree(host[s]));
    HIP_OK(hipFree(device[s]));
  }
}

static void check_events() {
  hipStream_t first, second;
  HIP_OK(hipStreamCreate(&first));
  HIP_OK(hipStreamCreate(&second));
  hipEvent_t begin, half_way, end;
  HIP_OK(hipEventCreate(&begin));
  HIP_OK(hipEventCreate(&half_way));
  HIP_OK(hipEventCreate(&end));
  const DeviceArray<unsigned> values(kCount, 0);
  std::vector<unsigned> expected(kCount, 0);
  HIP_OK(hipEventRecord(begin, first));
  for (unsigned round = 0; round < 5; ++round) {
    scale_and_add<<<8, 256, 0, first>>>(values.data(), kCount, 7, round);
    HIP_OK(hipEventRecord(half_way, first));
    HIP_OK(hipStreamWaitEvent(second, half_way, 0));
    scale_and_add<<<8, 256, 0, second>>>(values.data(), kCount, 5, 1);
    HIP_OK(hipEventRecord(end, second));
    HIP_OK(hipStreamWaitEvent(first, end, 0));
    for (unsigned& value : expected) value = (value * 7 + round) * 5 + 1;
  }
  HIP_OK(hipEventSynchronize(end));
  expect(hipEventQuery(begin) == hipSuccess, "an event before one that is over is over");
  float milliseconds = -1;
  HIP_OK(hipEventElapsedTime(&milliseconds, begin, end));
  expect(milliseconds >= 0, "time goes on");
  expect_equal("two streams in turns", expected, values.read());
  HIP_OK(hipEventDestroy(begin));
  HIP_OK(hipEventDestroy(half_way));
  HIP_OK(hipEventDestroy(end));
  HIP_OK(hipStreamDestroy(first));
  HIP_OK(hipStreamDestroy(second));
}

static void called_back(hipStream_t, hipError_t status, void* data) {
  if (status == hipSuccess) *static_cast<int*>(data) += 1;
}

static void check_callbacks() {
  hipStream_t stream;
  HIP_OK(hipStreamCreate(&stream));
  int calls = 0;
  const DeviceArray<unsigned> values(kCount, 0);
  for (int i = 0; i < 3; ++i) {
    scale_and_add<<<4, 256, 0, stream>>>(values.data(), kCount, 1, 1);
    HIP_OK(hipStreamAddCallback(stream, called_back, &calls, 0));
  }
  HIP_OK(hipStreamSynchronize(stream));
  expect_equal("callbacks", 3, calls);
  HIP_OK(hipStreamDestroy(stream));
}

static void check_copies() {
  Random random(12);
  std::vector<uint8_t> bytes(300'007);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.bits());
  const DeviceArray<uint8_t> a(bytes), b(bytes.size(), 0);
  // Odd offsets and lengths, within the device and to the host.
  std::vector<uint8_t> expected(bytes.size(), 0);
  for (const unsigned offset : {0u, 1u, 3u, 4096u, 100'001u}) {
    const unsigned length = 5000 + offset % 1000;
    HIP_OK(hipMemcpyAsync(b.data() + 2 * offset + 1, a.data() + offset, length, hipMemcpyDeviceToDevice,
                          nullptr));
    std::copy(bytes.begin() + offset, bytes.begin() + offset + length, expected.begin() + 2 * offset + 1);
  }
  HIP_OK(hipMemsetAsync(b.data() + 250'001, 0x5a, 3001, nullptr));
  std::fill(expected.begin() + 250'001, expected.begin() + 253'002, uint8_t{0x5a});
  expect_equal("copies at odd places", expected, b.read());

  // A rectangle.
  std::vector<uint8_t> window(64 * 50);
  HIP_OK(hipMemcpy2D(window.data(), 64, a.data() + 100, 500, 61, 50, hipMemcpyDeviceToHost));
  std::vector<uint8_t> window_expected(window.size());
  for (unsigned y = 0; y < 50; ++y) {
    for (unsigned x = 0; x < 61; ++x) window_expected[y * 64 + x] = bytes[100 + y * 500 + x];
  }
  expect_equal("a rectangle", window_expected, window);

  // Host memory that a kernel writes in place.
  unsigned* shared;
  HIP_OK(hipHostMalloc(reinterpret_cast<void**>(&shared), kCount * 4, hipHostMallocMapped));
  std::fill(shared, shared + kCount, 2u);
  unsigned* seen;
  HIP_OK(hipHostGetDevicePointer(reinterpret_cast<void**>(&seen), shared, 0));
  scale_and_add<<<8, 256>>>(seen, kCount, 10, 3);
  HIP_FINISH();
  expect_equal("memory of the host", std::vector<unsigned>(kCount, 23),
               std::vector<unsigned>(shared, shared + kCount));
  HIP_OK(hipHostFree(shared));
}

int main() {
  check_order_in_a_stream();
  check_events();
  check_callbacks();
  check_copies();
  return verdict("streams");
}
