// Fuzzes SDMA streams: any input may at most stop the queue.
#include "plugins/vgpu/cp/fuzz_device.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  rigel::vgpu::testing::FuzzDevice device(data, size);
  device.run_words(rigel::vgpu::QueueKind::kSdma);
  return 0;
}
