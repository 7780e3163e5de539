// The virtual memory API with GPUs: address ranges, memory handles, mappings and access.
#include <unistd.h>

#include <cstring>
#include <vector>

#include "kernels/kernels.hpp"
#include "support/dispatch_test.hpp"
#include "support/optional_function.hpp"

namespace conformance {
namespace {

constexpr size_t kChunk = 2 << 20;

// Null if the runtime does not export the function. The tests are skipped then.
const auto hsa_amd_vmem_address_reserve = OPTIONAL_HSA(hsa_amd_vmem_address_reserve);
const auto hsa_amd_vmem_address_free = OPTIONAL_HSA(hsa_amd_vmem_address_free);
const auto hsa_amd_vmem_handle_create = OPTIONAL_HSA(hsa_amd_vmem_handle_create);
const auto hsa_amd_vmem_handle_release = OPTIONAL_HSA(hsa_amd_vmem_handle_release);
const auto hsa_amd_vmem_map = OPTIONAL_HSA(hsa_amd_vmem_map);
const auto hsa_amd_vmem_unmap = OPTIONAL_HSA(hsa_amd_vmem_unmap);
const auto hsa_amd_vmem_set_access = OPTIONAL_HSA(hsa_amd_vmem_set_access);
const auto hsa_amd_vmem_get_access = OPTIONAL_HSA(hsa_amd_vmem_get_access);
const auto hsa_amd_vmem_export_shareable_handle = OPTIONAL_HSA(hsa_amd_vmem_export_shareable_handle);
const auto hsa_amd_vmem_import_shareable_handle = OPTIONAL_HSA(hsa_amd_vmem_import_shareable_handle);
const auto hsa_amd_vmem_retain_alloc_handle = OPTIONAL_HSA(hsa_amd_vmem_retain_alloc_handle);
const auto hsa_amd_vmem_get_alloc_properties_from_handle =
    OPTIONAL_HSA(hsa_amd_vmem_get_alloc_properties_from_handle);

class VirtualMemory : public DispatchTest {
 protected:
  void SetUp() override {
    DispatchTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    bool supported = false;
    hsa_system_get_info(static_cast<hsa_system_info_t>(HSA_AMD_SYSTEM_INFO_VIRTUAL_MEM_API_SUPPORTED),
                        &supported);
    if (!supported || hsa_amd_vmem_map == nullptr ||
        agent_info<hsa_device_type_t>(agent(), HSA_AGENT_INFO_DEVICE) != HSA_DEVICE_TYPE_GPU) {
      GTEST_SKIP() << "no virtual memory API with this agent";
    }
    for (const hsa_amd_memory_pool_t pool : pools_of(agent())) {
      if (pool_info<hsa_amd_segment_t>(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT) == HSA_AMD_SEGMENT_GLOBAL) {
        device_pool_ = pool;
        break;
      }
    }
    for (const hsa_agent_t other : all_agents()) {
      if (agent_info<hsa_device_type_t>(other, HSA_AGENT_INFO_DEVICE) == HSA_DEVICE_TYPE_CPU) host_ = other;
    }
    host_pool_ = *find_pool(host_, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED);
  }

  hsa_amd_vmem_alloc_handle_t create(hsa_amd_memory_pool_t pool, size_t size = kChunk) {
    hsa_amd_vmem_alloc_handle_t handle{};
    EXPECT_HSA(hsa_amd_vmem_handle_create(pool, size, MEMORY_TYPE_NONE, 0, &handle));
    return handle;
  }
  static char* reserve(size_t size) {
    void* address = nullptr;
    EXPECT_HSA(hsa_amd_vmem_address_reserve(&address, size, 0, 0));
    return static_cast<char*>(address);
  }
  static hsa_status_t allow(void* address, size_t size, hsa_agent_t agent,
                            hsa_access_permission_t permission) {
    const hsa_amd_memory_access_desc_t descriptor{permission, agent};
    return hsa_amd_vmem_set_access(address, size, &descriptor, 1);
  }
  /// Runs a kernel that copies `count` words.
  testing::AssertionResult copies(const void* from, void* to, uint32_t count) {
    const CopyArgs arguments{static_cast<const uint32_t*>(from), static_cast<uint32_t*>(to), count, 0};
    return run(dispatch_packet(kernels_.kernel("copy"), kernarg(arguments), count, 64));
  }
  uint64_t available() {
    uint64_t bytes = 0;
    EXPECT_HSA(
        hsa_agent_get_info(agent(), static_cast<hsa_agent_info_t>(HSA_AMD_AGENT_INFO_MEMORY_AVAIL), &bytes));
    return bytes;
  }

  hsa_agent_t host_{};
  hsa_amd_memory_pool_t device_pool_{};
  hsa_amd_memory_pool_t host_pool_{};
};

TEST_P(VirtualMemory, KernelUsesMappedMemory) {
  for (const hsa_amd_memory_pool_t pool : {device_pool_, host_pool_}) {
    constexpr uint32_t kCount = 4096;
    auto* const in = shared<uint32_t>(kCount);
    auto* const out = shared<uint32_t>(kCount);
    for (uint32_t i = 0; i < kCount; ++i) in[i] = i ^ 0x5a5a;
    char* const address = reserve(2 * kChunk);
    const auto first = create(pool);
    const auto second = create(pool);
    ASSERT_HSA(hsa_amd_vmem_map(address, kChunk, 0, first, 0));
    ASSERT_HSA(hsa_amd_vmem_map(address + kChunk, kChunk, 0, second, 0));
    ASSERT_HSA(allow(address, 2 * kChunk, agent(), HSA_ACCESS_PERMISSION_RW));
    char* const across = address + kChunk - kCount * 2;  // half in each chunk
    ASSERT_TRUE(copies(in, across, kCount));
    ASSERT_TRUE(copies(across, out, kCount));
    EXPECT_EQ(std::memcmp(in, out, kCount * 4), 0);
    EXPECT_HSA(hsa_amd_vmem_unmap(address, 2 * kChunk));
    EXPECT_HSA(hsa_amd_vmem_handle_release(first));
    EXPECT_HSA(hsa_amd_vmem_handle_release(second));
    EXPECT_HSA(hsa_amd_vmem_address_free(address, 2 * kChunk));
  }
}

TEST_P(VirtualMemory, RemappingKeepsContents) {
  for (const hsa_amd_memory_pool_t pool : {device_pool_, host_pool_}) {
    auto* const words = shared<uint32_t>(64);
    auto* const out = shared<uint32_t>(64);
    for (uint32_t i = 0; i < 64; ++i) words[i] = i + 7;
    char* const address = reserve(2 * kChunk);
    const auto handle = create(pool);
    ASSERT_HSA(hsa_amd_vmem_map(address, kChunk, 0, handle, 0));
    ASSERT_HSA(allow(address, kChunk, agent(), HSA_ACCESS_PERMISSION_RW));
    ASSERT_TRUE(copies(words, address, 64));
    EXPECT_HSA(hsa_amd_vmem_unmap(address, kChunk));
    ASSERT_HSA(hsa_amd_vmem_map(address + kChunk, kChunk, 0, handle, 0));
    ASSERT_HSA(allow(address + kChunk, kChunk, agent(), HSA_ACCESS_PERMISSION_RO));
    ASSERT_TRUE(copies(address + kChunk, out, 64));
    EXPECT_EQ(std::memcmp(words, out, 256), 0);
    EXPECT_HSA(hsa_amd_vmem_handle_release(handle));  // the mapping keeps the memory alive
    ASSERT_TRUE(copies(address + kChunk, out, 64));
    EXPECT_HSA(hsa_amd_vmem_unmap(address + kChunk, kChunk));
    EXPECT_HSA(hsa_amd_vmem_address_free(address, 2 * kChunk));
  }
}

TEST_P(VirtualMemory, HostUsesMappedMemory) {
  for (const hsa_amd_memory_pool_t pool : {device_pool_, host_pool_}) {
    if (!host_reaches(pool)) continue;
    auto* const words = shared<uint32_t>(64);
    for (uint32_t i = 0; i < 64; ++i) words[i] = i * 11;
    char* const address = reserve(kChunk);
    const auto handle = create(pool);
    ASSERT_HSA(hsa_amd_vmem_map(address, kChunk, 0, handle, 0));
    ASSERT_HSA(allow(address, kChunk, agent(), HSA_ACCESS_PERMISSION_RW));
    ASSERT_HSA(allow(address, kChunk, host_, HSA_ACCESS_PERMISSION_RW));
    ASSERT_TRUE(copies(words, address, 64));
    EXPECT_EQ(std::memcmp(words, address, 256), 0);
    address[0] = 77;
    auto* const out = shared<uint32_t>(1);
    ASSERT_TRUE(copies(address, out, 1));
    EXPECT_EQ(*out & 0xff, 77u);
    ASSERT_HSA(allow(address, kChunk, host_, HSA_ACCESS_PERMISSION_NONE));
    ASSERT_HSA(allow(address, kChunk, host_, HSA_ACCESS_PERMISSION_RO));
    EXPECT_EQ(address[0], 77);
    EXPECT_HSA(hsa_amd_vmem_unmap(address, kChunk));
    EXPECT_HSA(hsa_amd_vmem_handle_release(handle));
    EXPECT_HSA(hsa_amd_vmem_address_free(address, kChunk));
  }
}

TEST_P(VirtualMemory, ReportsAccessThatWasSet) {
  char* const address = reserve(kChunk);
  const auto handle = create(device_pool_);
  ASSERT_HSA(hsa_amd_vmem_map(address, kChunk, 0, handle, 0));
  hsa_access_permission_t permission{};
  ASSERT_HSA(hsa_amd_vmem_get_access(address, &permission, agent()));
  EXPECT_EQ(permission, HSA_ACCESS_PERMISSION_NONE);
  for (const auto wanted : {HSA_ACCESS_PERMISSION_RO, HSA_ACCESS_PERMISSION_RW, HSA_ACCESS_PERMISSION_NONE,
                            HSA_ACCESS_PERMISSION_RW}) {
    ASSERT_HSA(allow(address, kChunk, agent(), wanted));
    ASSERT_HSA(hsa_amd_vmem_get_access(address, &permission, agent()));
    EXPECT_EQ(permission, wanted);
  }
  hsa_amd_pointer_info_t info{};
  info.size = sizeof info;
  ASSERT_HSA(hsa_amd_pointer_info(address + 100, &info, nullptr, nullptr, nullptr));
  EXPECT_EQ(info.type, HSA_EXT_POINTER_TYPE_HSA_VMEM);
  EXPECT_EQ(info.agentBaseAddress, address);
  EXPECT_EQ(info.agentOwner.handle, agent().handle);
  hsa_amd_memory_pool_t pool{};
  hsa_amd_memory_type_t type{};
  ASSERT_HSA(hsa_amd_vmem_get_alloc_properties_from_handle(handle, &pool, &type));
  EXPECT_EQ(pool.handle, device_pool_.handle);
  EXPECT_EQ(type, MEMORY_TYPE_NONE);
  hsa_amd_vmem_alloc_handle_t same{};
  ASSERT_HSA(hsa_amd_vmem_retain_alloc_handle(&same, address));
  EXPECT_EQ(same.handle, handle.handle);
  EXPECT_HSA(hsa_amd_vmem_handle_release(same));
  EXPECT_HSA(hsa_amd_vmem_unmap(address, kChunk));
  EXPECT_HSA(hsa_amd_vmem_handle_release(handle));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ALLOCATION, hsa_amd_vmem_handle_release(handle));
  EXPECT_HSA(hsa_amd_vmem_address_free(address, kChunk));
}

TEST_P(VirtualMemory, CopiesToAndFromMappedMemory) {
  char* const address = reserve(kChunk);
  const auto handle = create(device_pool_);
  ASSERT_HSA(hsa_amd_vmem_map(address, kChunk, 0, handle, 0));
  ASSERT_HSA(allow(address, kChunk, agent(), HSA_ACCESS_PERMISSION_RW));
  std::vector<uint32_t> in(10'000), out(10'000);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint32_t>(i * 13);
  ASSERT_HSA(hsa_memory_copy(address, in.data(), in.size() * 4));
  ASSERT_HSA(hsa_memory_copy(out.data(), address, out.size() * 4));
  EXPECT_EQ(in, out);
  EXPECT_HSA(hsa_amd_vmem_unmap(address, kChunk));
  EXPECT_HSA(hsa_amd_vmem_handle_release(handle));
  EXPECT_HSA(hsa_amd_vmem_address_free(address, kChunk));
}

TEST_P(VirtualMemory, ExportsAndImportsHandles) {
  for (const hsa_amd_memory_pool_t pool : {device_pool_, host_pool_}) {
    auto* const words = shared<uint32_t>(64);
    auto* const out = shared<uint32_t>(64);
    for (uint32_t i = 0; i < 64; ++i) words[i] = i * 5;
    char* const address = reserve(2 * kChunk);
    const auto handle = create(pool);
    int descriptor = -1;
    ASSERT_HSA(hsa_amd_vmem_export_shareable_handle(&descriptor, handle, 0));
    hsa_amd_vmem_alloc_handle_t imported{};
    ASSERT_HSA(hsa_amd_vmem_import_shareable_handle(descriptor, &imported));
    EXPECT_EQ(close(descriptor), 0);
    ASSERT_HSA(hsa_amd_vmem_map(address, kChunk, 0, handle, 0));
    ASSERT_HSA(hsa_amd_vmem_map(address + kChunk, kChunk, 0, imported, 0));
    ASSERT_HSA(allow(address, 2 * kChunk, agent(), HSA_ACCESS_PERMISSION_RW));
    ASSERT_TRUE(copies(words, address, 64));
    ASSERT_TRUE(copies(address + kChunk, out, 64));
    EXPECT_EQ(std::memcmp(words, out, 256), 0);
    EXPECT_HSA(hsa_amd_vmem_unmap(address, 2 * kChunk));
    EXPECT_HSA(hsa_amd_vmem_handle_release(imported));
    EXPECT_HSA(hsa_amd_vmem_handle_release(handle));
    EXPECT_HSA(hsa_amd_vmem_address_free(address, 2 * kChunk));
  }
}

TEST_P(VirtualMemory, ImportsExportedPoolMemory) {
  REQUIRE_HSA(hsa_amd_portable_export_dmabuf);
  void* memory = nullptr;
  ASSERT_HSA(hsa_amd_memory_pool_allocate(device_pool_, kChunk, 0, &memory));
  std::vector<uint32_t> in(1024, 0x1234), out(1024);
  ASSERT_HSA(hsa_memory_copy(memory, in.data(), 4096));
  int descriptor = -1;
  uint64_t offset = 0;
  ASSERT_HSA(hsa_amd_portable_export_dmabuf(memory, kChunk, &descriptor, &offset));
  hsa_amd_vmem_alloc_handle_t imported{};
  ASSERT_HSA(hsa_amd_vmem_import_shareable_handle(descriptor, &imported));
  EXPECT_EQ(close(descriptor), 0);
  char* const address = reserve(kChunk);
  ASSERT_HSA(hsa_amd_vmem_map(address, kChunk, 0, imported, 0));
  ASSERT_HSA(allow(address, kChunk, agent(), HSA_ACCESS_PERMISSION_RW));
  ASSERT_HSA(hsa_memory_copy(out.data(), address + offset, 4096));
  EXPECT_EQ(in, out);
  EXPECT_HSA(hsa_amd_vmem_unmap(address, kChunk));
  EXPECT_HSA(hsa_amd_vmem_handle_release(imported));
  EXPECT_HSA(hsa_amd_vmem_address_free(address, kChunk));
  EXPECT_HSA(hsa_amd_memory_pool_free(memory));
}

TEST_P(VirtualMemory, ReleasesAllMemory) {
  const auto round = [this] {
    char* const address = reserve(kChunk);
    const auto handle = create(device_pool_);
    ASSERT_HSA(hsa_amd_vmem_map(address, kChunk, 0, handle, 0));
    ASSERT_HSA(allow(address, kChunk, agent(), HSA_ACCESS_PERMISSION_RW));
    ASSERT_HSA(hsa_amd_vmem_unmap(address, kChunk));
    ASSERT_HSA(hsa_amd_vmem_handle_release(handle));
    ASSERT_HSA(hsa_amd_vmem_address_free(address, kChunk));
  };
  round();
  const uint64_t before = available();
  for (int i = 0; i < 30; ++i) round();
  EXPECT_EQ(available(), before);
}

TEST_P(VirtualMemory, RejectsInvalidHandlesAndUnmappedAddresses) {
  char* const address = reserve(kChunk);
  const auto handle = create(device_pool_);
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ALLOCATION,
                allow(address, kChunk, agent(), HSA_ACCESS_PERMISSION_RW));
  ASSERT_HSA(hsa_amd_vmem_map(address, kChunk, 0, handle, 0));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_AGENT, allow(address, kChunk, {0x1234}, HSA_ACCESS_PERMISSION_RW));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                allow(address, kChunk / 2, agent(), HSA_ACCESS_PERMISSION_RW));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_vmem_map(address, kChunk, 0, handle, 0));
  EXPECT_STATUS(HSA_STATUS_ERROR_RESOURCE_FREE, hsa_amd_vmem_address_free(address, kChunk));
  hsa_amd_vmem_alloc_handle_t none{};
  EXPECT_STATUS(HSA_STATUS_ERROR_OUT_OF_RESOURCES,
                hsa_amd_vmem_handle_create(device_pool_, size_t{1} << 50, MEMORY_TYPE_NONE, 0, &none));
  EXPECT_HSA(hsa_amd_vmem_unmap(address, kChunk));
  EXPECT_HSA(hsa_amd_vmem_handle_release(handle));
  EXPECT_HSA(hsa_amd_vmem_address_free(address, kChunk));
}

INSTANTIATE_FOR_AGENTS(VirtualMemory);

}  // namespace
}  // namespace conformance
