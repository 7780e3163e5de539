#include "core/copy/file_copy.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "core/memory/memory_fixture.hpp"

namespace rigel {
namespace {

TEST(FileCopy, CopiesAcrossAdjoiningMappings) {
  testing::TestMemory memory;
  testing::add_agents(memory);
  testing::add_hosts(memory);
  CopyEngine engine(memory.agents, memory.pointers);
  FileCopies copies(memory.pointers, engine);

  constexpr size_t kPart = 3 * 4096;
  VirtualMemory& vmem = memory.virtual_memory;
  void* va = nullptr;
  ASSERT_EQ(vmem.address_reserve(&va, 3 * kPart, 0, 0), HSA_STATUS_SUCCESS);
  auto* const start = static_cast<unsigned char*>(va);
  for (const size_t part : {0, 1}) {
    hsa_amd_vmem_alloc_handle_t handle{};
    ASSERT_EQ(vmem.handle_create(testing::fine_pool(memory), kPart, MEMORY_TYPE_NONE, 0, &handle),
              HSA_STATUS_SUCCESS);
    ASSERT_EQ(vmem.map(start + part * kPart, kPart, 0, handle, 0), HSA_STATUS_SUCCESS);
  }
  const hsa_amd_memory_access_desc_t desc{HSA_ACCESS_PERMISSION_RW, testing::kCpu0};
  ASSERT_EQ(vmem.set_access(va, 2 * kPart, &desc, 1), HSA_STATUS_SUCCESS);

  std::vector<unsigned char> bytes(2 * kPart);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 7 + (i >> 9));
  std::memcpy(va, bytes.data(), bytes.size());
  hsa_amd_ais_file_handle_t file{};
  file.fd = memfd_create("contents", MFD_CLOEXEC);
  ASSERT_GE(file.fd, 0);
  uint64_t copied = 0;
  int32_t problem = 0;
  EXPECT_EQ(copies.write(file, start + 5, 2 * kPart - 5, 0, &copied, &problem), HSA_STATUS_SUCCESS);
  EXPECT_EQ(copied, 2 * kPart - 5);
  std::memset(va, 0, 2 * kPart);
  EXPECT_EQ(copies.read(file, start + 5, 2 * kPart - 5, 0, &copied, &problem), HSA_STATUS_SUCCESS);
  EXPECT_EQ(copied, 2 * kPart - 5);
  EXPECT_EQ(std::memcmp(start + 5, bytes.data() + 5, 2 * kPart - 5), 0);
  EXPECT_EQ(copies.read(file, start + 5, 2 * kPart - 4, 0, &copied, &problem),
            HSA_STATUS_ERROR_INVALID_ALLOCATION);
  EXPECT_EQ(copies.read(file, start + 2 * kPart, 1, 0, &copied, &problem),
            HSA_STATUS_ERROR_INVALID_ALLOCATION)
      << "nothing is mapped there";
  EXPECT_EQ(copies.read(file, bytes.data(), 1, 0, &copied, &problem), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  close(file.fd);
}

}  // namespace
}  // namespace rigel
