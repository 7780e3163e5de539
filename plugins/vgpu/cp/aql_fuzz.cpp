// Any bytes as AQL packets: whatever they say, the device stays whole and stops at most the queue.
#include "plugins/vgpu/cp/fuzz_device.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  rigel::vgpu::testing::FuzzDevice device(data, size);
  device.run_aql();
  return 0;
}
