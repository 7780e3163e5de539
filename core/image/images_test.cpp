// Handles and memory after calls that fail midway.
#include "core/image/images.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <vector>

#include "api/support/testing/failing_requests.hpp"
#include "core/memory/memory_fixture.hpp"

namespace rigel {
namespace {

LoadedBackend backend() {
  LoadedBackend table;
  table.image.struct_size = sizeof table.image;
  table.image.lay_out = [](void*, const hsa_ext_image_descriptor_t* image, uint32_t, uint64_t, uint64_t,
                           hsabe_image_layout_t* out) -> hsabe_status_t {
    const uint64_t row = image->width * 4;
    *out = {sizeof *out, row * image->height, 4, row, row * image->height, 1, 4};
    return HSA_STATUS_SUCCESS;
  };
  table.image.describe = [](void*, const hsa_ext_image_descriptor_t*, const hsabe_image_layout_t*, uint64_t,
                            uint32_t*) -> hsabe_status_t { return HSA_STATUS_SUCCESS; };
  table.image.describe_sampler = [](void*, const hsa_ext_sampler_descriptor_v2_t*,
                                    uint32_t*) -> hsabe_status_t { return HSA_STATUS_SUCCESS; };
  return table;
}

Capabilities of_a_gpu() {
  Capabilities capabilities;
  capabilities.caps.device_type = HSA_DEVICE_TYPE_GPU;
  return capabilities;
}

struct ThrowingCopier final : DeviceCopier {
  Status copy(void*, const void*, size_t) override { throw std::bad_alloc(); }
  Status fill(void*, uint32_t, size_t) override { return HSA_STATUS_ERROR; }
};

class ImagesTest : public ::testing::Test {
 protected:
  HandleMemory::Source source() {
    return {[this](size_t size) -> Result<void*> {
              ++blocks_;
              return std::aligned_alloc(4096, (size + 4095) & ~size_t{4095});
            },
            [this](void* block) {
              --blocks_;
              std::free(block);
            }};
  }

  static constexpr hsa_ext_image_descriptor_t kShape{
      HSA_EXT_IMAGE_GEOMETRY_2D,
      8,
      8,
      0,
      0,
      {HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8, HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA}};

  const LoadedBackend backend_ = backend();
  const hsabe_host_t host_{};
  Machine machine_;
  const hsa_agent_t gpu_ =
      machine_.add_agent(Node{}, backend_, host_, of_a_gpu(), std::vector<const Isa*>{}).handle();
  testing::TestMemory memory_;
  int blocks_ = 0;
  alignas(4) unsigned char data_[8 * 8 * 4] = {};
};

#if HSABE_SANITIZER == HSABE_SANITIZER_NONE
TEST_F(ImagesTest, ReleaseHandlesWithoutMemory) {
  CopyEngine copies(memory_.agents, memory_.pointers);
  Images images(machine_, copies, source());
  constexpr hsa_ext_sampler_descriptor_t kSampler{HSA_EXT_SAMPLER_COORDINATE_MODE_NORMALIZED,
                                                  HSA_EXT_SAMPLER_FILTER_MODE_LINEAR,
                                                  HSA_EXT_SAMPLER_ADDRESSING_MODE_REPEAT};
  hsa_ext_image_t first{};
  ASSERT_EQ(images.create(gpu_, &kShape, data_, HSA_ACCESS_PERMISSION_RW, &first), HSA_STATUS_SUCCESS);
  // More slots than a page has, so that a lost one would use another page.
  for (int i = 0; i < 100; ++i) {
    hsa_ext_image_t image{};
    hsa_ext_sampler_t sampler{};
    request_that_fails = 0;
    EXPECT_THROW(static_cast<void>(images.create(gpu_, &kShape, data_, HSA_ACCESS_PERMISSION_RW, &image)),
                 std::bad_alloc);
    EXPECT_EQ(image.handle, 0u);
    request_that_fails = 0;
    EXPECT_THROW(static_cast<void>(images.sampler_create(gpu_, &kSampler, &sampler)), std::bad_alloc);
    EXPECT_EQ(sampler.handle, 0u);
    ASSERT_EQ(request_that_fails, -1);
  }
  EXPECT_EQ(blocks_, 1);
  request_that_fails = 0;
  EXPECT_EQ(images.destroy(gpu_, first), HSA_STATUS_SUCCESS) << "which needs no memory";
  request_that_fails = -1;
}
#endif

TEST_F(ImagesTest, ReleaseMemoryIfDeviceThrows) {
  memory_.agents.add({.handle = gpu_, .type = HSA_DEVICE_TYPE_GPU, .node = 1});
  HeapFacts facts;
  facts.owner = gpu_;
  facts.location = HSA_AMD_MEMORY_POOL_LOCATION_GPU;
  facts.size = facts.allocation_limit = 1 << 20;
  const auto pool =
      memory_.heaps.add_heap(facts, std::make_unique<HostProvider>(HostProvider::kAnyNode)).pool();
  CopyEngine copies(memory_.agents, memory_.pointers);
  copies.add_device(gpu_, std::make_unique<ThrowingCopier>());
  Images images(machine_, copies, source());
  void* data = nullptr;
  ASSERT_EQ(memory_.heaps.memory_pool_allocate(pool, sizeof data_, 0, &data), HSA_STATUS_SUCCESS);
  hsa_ext_image_t image{};
  ASSERT_EQ(images.create(gpu_, &kShape, data, HSA_ACCESS_PERMISSION_RW, &image), HSA_STATUS_SUCCESS);
  const int before = blocks_;
  const float colour[4] = {1, 1, 1, 1};
  const hsa_ext_image_region_t all{{0, 0, 0}, {8, 8, 1}};
  EXPECT_THROW(static_cast<void>(images.clear(gpu_, image, colour, &all)), std::bad_alloc);
  EXPECT_EQ(blocks_, before);
}

}  // namespace
}  // namespace rigel
