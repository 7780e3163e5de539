#include "loader/module/checked_capabilities.hpp"

#include <gmock/gmock.h>

#include <hsa_backend/hsa_backend.hpp>

namespace rigel {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CheckedCapabilities : public ::testing::Test {
 protected:
  CheckedCapabilities() {
    backend.device.struct_size = sizeof backend.device;
    backend.queue.struct_size = sizeof backend.queue;
    backend.code.struct_size = sizeof backend.code;
    backend.memory.struct_size = sizeof backend.memory;
    caps.struct_size = sizeof caps;
    caps.name = hsabe::str("gfx906");
    caps.vendor_name = hsabe::str("AMD");
    caps.device_type = HSA_DEVICE_TYPE_GPU;
    caps.features = HSABE_FEATURE_KERNEL_DISPATCH;
    caps.doorbell = HSABE_DOORBELL_INDEX64;
    caps.isa_names = isas;
    caps.isa_count = 2;
    caps.heaps = heaps;
    caps.heap_count = 2;
    caps.caches = &cache;
    caps.cache_count = 1;
    caps.wavefront_size = 64;
    caps.workgroup_max_size = 1024;
    caps.grid_max_size = UINT32_MAX;
    for (int i = 0; i < 3; ++i) {
      caps.workgroup_max_dim[i] = 1024;
      caps.grid_max_dim[i] = UINT32_MAX;
    }
    caps.queues_max = 128;
    caps.queue_min_size = 64;
    caps.queue_max_size = 131072;
    caps.queue_types = 3;
  }

  std::string failure() const {
    const auto checked = check_capabilities(backend, caps);
    return checked ? "good" : checked.error();
  }

  hsabe_str_t isas[2] = {hsabe::str("amdgcn-amd-amdhsa--gfx906:sramecc+"),
                         hsabe::str("amdgcn-amd-amdhsa--gfx906")};
  hsabe_heap_t heaps[2] = {{sizeof(hsabe_heap_t), HSABE_HEAP_LOCAL,
                            HSABE_HEAP_COARSE_GRAINED | HSABE_HEAP_HOST_VISIBLE, 1 << 30, 4096},
                           {sizeof(hsabe_heap_t), HSABE_HEAP_GROUP, 0, 65536, 0}};
  hsabe_cache_t cache{sizeof(hsabe_cache_t), hsabe::str("L2"), 2, 0, 4 << 20};
  LoadedBackend backend;
  hsabe_caps_t caps{};
};

TEST_F(CheckedCapabilities, AcceptValidCapabilities) {
  const auto checked = check_capabilities(backend, caps);
  ASSERT_TRUE(checked) << checked.error();
  EXPECT_THAT(checked->isa_names,
              ElementsAre("amdgcn-amd-amdhsa--gfx906:sramecc+", "amdgcn-amd-amdhsa--gfx906"));
  ASSERT_EQ(checked->heaps.size(), 2u);
  EXPECT_EQ(checked->heaps[0].size, 1u << 30);
  EXPECT_EQ(checked->heaps[1].kind, uint32_t{HSABE_HEAP_GROUP});
  ASSERT_EQ(checked->caches.size(), 1u);
  EXPECT_EQ(checked->caps.heaps, nullptr) << "only the copies may be used";
}

TEST_F(CheckedCapabilities, AcceptMemoryOnlyDevice) {
  caps.features = 0;
  caps.queues_max = caps.queue_types = caps.queue_min_size = caps.doorbell = 0;
  backend.queue.struct_size = backend.code.struct_size = 0;
  EXPECT_EQ(failure(), "good");
}

TEST_F(CheckedCapabilities, AcceptLargerElementsOfNewerVersion) {
  struct LaterHeap {
    hsabe_heap_t known;
    uint64_t later;
  };
  const LaterHeap later[2] = {{{sizeof(LaterHeap), HSABE_HEAP_HOST, 0, 0, 0}, 1},
                              {{sizeof(LaterHeap), HSABE_HEAP_GROUP, 0, 65536, 0}, 2}};
  caps.heaps = &later[0].known;
  const auto checked = check_capabilities(backend, caps);
  ASSERT_TRUE(checked) << checked.error();
  EXPECT_EQ(checked->heaps[1].size, 65536u);
}

TEST_F(CheckedCapabilities, RequireGroupsOfFeatures) {
  backend.queue.struct_size = 0;
  EXPECT_EQ(failure(), "features 0x1: the queue group is missing");
  backend.queue.struct_size = sizeof backend.queue;
  backend.code.struct_size = 0;
  EXPECT_EQ(failure(), "kernel dispatch: the code group is missing");
  backend.code.struct_size = sizeof backend.code;
  backend.memory.struct_size = 0;
  EXPECT_EQ(failure(), "local heap: the memory group is missing");
  backend.memory.struct_size = sizeof backend.memory;
  heaps[0].flags = 0;
  EXPECT_THAT(failure(), HasSubstr("has no function 'copy'"));
}

TEST_F(CheckedCapabilities, RejectInvalidFields) {
  const hsabe_caps_t good = caps;
  const struct {
    void (*change)(hsabe_caps_t&);
    const char* text;
  } rows[] = {
      {[](auto& c) { c.name.size = 0; }, "name is empty"},
      {[](auto& c) {
         c.name = {nullptr, 5};
       },
       "name: is NULL"},
      {[](auto& c) { c.vendor_name.size = 64; }, "vendor_name: 64 bytes exceed the maximum of 63"},
      {[](auto& c) { c.uuid = hsabe::str("GPU-0123456789abcdef0"); },
       "uuid: 21 bytes exceed the maximum of 20"},
      {[](auto& c) { c.device_type = 9; }, "unknown device_type 9"},
      {[](auto& c) { c.profile = 2; }, "unknown profile 2"},
      {[](auto& c) { c.float_rounding = 3; }, "unknown float_rounding 3"},
      {[](auto& c) { c.doorbell = 0; }, "unknown doorbell kind 0"},
      {[](auto& c) { c.doorbell = 5; }, "unknown doorbell kind 5"},
      {[](auto& c) { c.queues_max = 0; }, "queues_max is 0"},
      {[](auto& c) { c.queue_types = 0; }, "queue_types is 0"},
      {[](auto& c) { c.queue_min_size = 48; },
       "queue sizes 48 to 131072: both must be powers of two, in this order"},
      {[](auto& c) { c.queue_max_size = 32; },
       "queue sizes 64 to 32: both must be powers of two, in this order"},
      {[](auto& c) { c.isa_count = 0; }, "kernel dispatch: isa_names is empty"},
      {[](auto& c) { c.isa_count = 1 << 20; }, "isa_names: invalid array (1048576 elements"},
      {[](auto& c) { c.isa_names = nullptr; }, "isa_names: invalid array (2 elements at 0x0)"},
      {[](auto& c) { c.heaps = nullptr; }, "heaps: invalid array (2 elements at 0x0)"},
      {[](auto& c) { c.cache_count = 1 << 20; }, "caches: invalid array (1048576 elements"},
      {[](auto& c) { c.wavefront_size = 48; }, "wavefront_size 48 is not a power of two"},
      {[](auto& c) { c.workgroup_max_dim[2] = 0; }, "a work-group limit is 0"},
      {[](auto& c) { c.grid_max_size = 0; }, "a grid limit is 0"},
  };
  for (const auto& row : rows) {
    caps = good;
    row.change(caps);
    EXPECT_THAT(failure(), HasSubstr(row.text));
  }
}

TEST_F(CheckedCapabilities, RejectInvalidElements) {
  heaps[1].struct_size = 8;
  EXPECT_EQ(failure(), "heaps: the size of element 1 differs from that of the first");
  heaps[0].struct_size = 8;
  EXPECT_EQ(failure(), "heaps: invalid element size 8; version 1.0 has 32 bytes");
  heaps[0].struct_size = heaps[1].struct_size = sizeof(hsabe_heap_t);
  heaps[1].kind = 7;
  EXPECT_EQ(failure(), "heap: unknown kind 7");
  heaps[1].kind = HSABE_HEAP_GROUP;
  heaps[0].granule = 5000;
  EXPECT_EQ(failure(), "heap: granule 5000 is not a power of two");
  heaps[0].granule = 0;
  heaps[0].size = 0;
  EXPECT_EQ(failure(), "local heap: the size is 0");
}

}  // namespace
}  // namespace rigel
