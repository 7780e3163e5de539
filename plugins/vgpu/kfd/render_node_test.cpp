// DRM ioctls of render nodes and cards.
#include "plugins/vgpu/kfd/render_node.hpp"

#include <amdgpu_drm.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "api/support/testing/failing_requests.hpp"
#include "plugins/vgpu/cp/gpu_memory.hpp"
#include "plugins/vgpu/cp/host_fault.hpp"
#include "plugins/vgpu/kfd/test_system.hpp"

namespace rigel::vgpu {
namespace {

constexpr uint64_t kVa = 0x10000000;

class RenderNodeIoctl : public ::testing::Test {
 protected:
  void SetUp() override { t.acquire(); }
  template <class T>
  int drm(uint32_t number, T& arguments) {
    return t.system->ioctl(t.render[0],
                           3u << 30 | uint64_t{sizeof(T)} << 16 | 'd' << 8 | (DRM_COMMAND_BASE + number),
                           &arguments);
  }
  int userptr(void* address, uint64_t bytes, uint32_t flags, uint32_t* handle = nullptr) {
    drm_amdgpu_gem_userptr a{};
    a.addr = reinterpret_cast<uint64_t>(address);
    a.size = bytes;
    a.flags = flags;
    const int error = drm(DRM_AMDGPU_GEM_USERPTR, a);
    if (handle != nullptr) *handle = a.handle;
    return error;
  }
  int map(uint32_t handle, uint64_t va, uint64_t bytes, uint64_t offset = 0) {
    drm_amdgpu_gem_va a{};
    a.handle = handle;
    a.operation = AMDGPU_VA_OP_MAP;
    a.flags = AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_WRITEABLE;
    a.va_address = va;
    a.map_size = bytes;
    a.offset_in_bo = offset;
    return drm(DRM_AMDGPU_GEM_VA, a);
  }
  static void* pages(uint64_t bytes) {
    return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }

  TestSystem t;
};

TEST_F(RenderNodeIoctl, UserptrRequiresReadOnlyOrRegister) {
  void* const p = pages(8192);
  EXPECT_EQ(userptr(p, 4096, AMDGPU_GEM_USERPTR_REGISTER), 0);
  EXPECT_EQ(userptr(p, 4096, AMDGPU_GEM_USERPTR_READONLY), 0);
  EXPECT_EQ(userptr(p, 4096, AMDGPU_GEM_USERPTR_VALIDATE), -EACCES);
  EXPECT_EQ(userptr(p, 4096, AMDGPU_GEM_USERPTR_REGISTER | 1u << 9), -EINVAL);
  EXPECT_EQ(userptr(static_cast<std::byte*>(p) + 8, 4096, AMDGPU_GEM_USERPTR_REGISTER), -EINVAL);
  ::munmap(p, 8192);
  EXPECT_EQ(userptr(p, 4096, AMDGPU_GEM_USERPTR_REGISTER), -EFAULT);
}

// The first call in this process that needs the fault handler.
TEST_F(RenderNodeIoctl, FreedUserptrMemoryFaults) {
  if (host_faults_are_caught()) GTEST_SKIP() << "another test has had the handler installed";
  void* const p = pages(4096);
  uint32_t handle = 0;
  ASSERT_EQ(userptr(p, 4096, AMDGPU_GEM_USERPTR_REGISTER, &handle), 0);
  ASSERT_EQ(map(handle, kVa, 4096), 0);
  GpuMemory memory(t.system->process().gpu(0), 1);
  uint32_t value = 0;
  {
    const GpuMemory::Scope scope(memory);
    EXPECT_TRUE(memory.load(kVa, value));
  }
  syscall(SYS_munmap, p, 4096);  // as in free()
  const GpuMemory::Scope scope(memory);
  EXPECT_FALSE(memory.load(kVa, value));
  EXPECT_EQ(memory.fault().va, kVa);
}

// The registers that libdrm reads to describe a chip older than gfx9, and registers that programs may not
// read.
TEST(RenderNodeRegisters, DescribeTilingOfChip) {
  TestSystem t("gfx803,gfx900");
  t.acquire();
  const auto read = [&](size_t gpu, uint32_t first, uint32_t count, std::vector<uint32_t>& values) {
    values.assign(count, 0x5a5a5a5a);
    drm_amdgpu_info a{};
    a.return_pointer = reinterpret_cast<uint64_t>(values.data());
    a.return_size = count * 4;
    a.query = AMDGPU_INFO_READ_MMR_REG;
    a.read_mmr_reg.dword_offset = first;
    a.read_mmr_reg.count = count;
    a.read_mmr_reg.instance = 0xffffffff;
    return t.system->ioctl(
        t.render[gpu], 1u << 30 | uint64_t{sizeof a} << 16 | 'd' << 8 | (DRM_COMMAND_BASE + DRM_AMDGPU_INFO),
        &a);
  };
  const auto& tiling = t.system->process().gpu(0).gpu().board.tiling;
  std::vector<uint32_t> values;
  ASSERT_EQ(read(0, 0x2644, 32, values), 0);
  EXPECT_TRUE(std::equal(values.begin(), values.end(), tiling.modes.begin()));
  ASSERT_EQ(read(0, 0x2664, 16, values), 0);
  EXPECT_TRUE(std::equal(values.begin(), values.end(), tiling.macro_modes.begin()));
  ASSERT_EQ(read(0, 0x9d8, 1, values), 0);
  EXPECT_EQ(values[0], tiling.banks | tiling.ranks << 2);
  for (const size_t gpu : {0, 1}) {
    ASSERT_EQ(read(gpu, 0x263e, 1, values), 0);
    EXPECT_EQ(values[0], t.system->process().gpu(gpu).gpu().board.gb_addr_config);
  }
  EXPECT_EQ(read(0, 0x2645, 48, values), -EFAULT) << "one past the last";
  EXPECT_EQ(read(1, 0x2644, 1, values), -EFAULT) << "gfx9 has no such tables";
  EXPECT_EQ(read(1, 0xffffffff, 2, values), -EFAULT);
}

// amdsmi rejects a board without a VBIOS description.
TEST_F(RenderNodeIoctl, VbiosHasDescriptionAndNoImage) {
  const auto query_vbios = [&](uint32_t type, void* to, uint32_t bytes) {
    drm_amdgpu_info a{};
    a.return_pointer = reinterpret_cast<uint64_t>(to);
    a.return_size = bytes;
    a.query = AMDGPU_INFO_VBIOS;
    a.vbios_info.type = type;
    return t.system->ioctl(
        t.render[0], 1u << 30 | uint64_t{sizeof a} << 16 | 'd' << 8 | (DRM_COMMAND_BASE + DRM_AMDGPU_INFO),
        &a);
  };
  drm_amdgpu_info_vbios bios{};
  ASSERT_EQ(query_vbios(AMDGPU_INFO_VBIOS_INFO, &bios, sizeof bios), 0);
  EXPECT_EQ(reinterpret_cast<const char*>(bios.name),
            t.system->process().gpu(0).gpu().board.marketing_name.substr(0, sizeof bios.name - 1));
  EXPECT_STREQ(reinterpret_cast<const char*>(bios.vbios_pn), "virtual");
  uint32_t size = 1;
  ASSERT_EQ(query_vbios(AMDGPU_INFO_VBIOS_SIZE, &size, sizeof size), 0);
  EXPECT_EQ(size, 0u);
  EXPECT_EQ(query_vbios(AMDGPU_INFO_VBIOS_IMAGE, &bios, sizeof bios), -EINVAL);
}

TEST_F(RenderNodeIoctl, DisplayRequestsAreForbidden) {
  uint64_t argument[16] = {};
  const auto request = [&](uint32_t number) {
    return t.system->ioctl(t.render[0], 3u << 30 | 64u << 16 | 'd' << 8 | number, argument);
  };
  // drmIsMaster() treats any other error of AUTH_MAGIC as success.
  for (const uint32_t number : {0x01u, 0x02u, 0x05u, 0x0bu, 0x11u, 0x1eu, 0xa0u, 0xbbu}) {
    EXPECT_EQ(request(number), -EACCES) << number;
  }
  for (const uint32_t number : {0x0eu, 0x42u, 0x44u, 0x7fu, 0xffu})
    EXPECT_EQ(request(number), -EINVAL) << number;
}

// Cards have no display; they answer all other requests like render nodes.
TEST_F(RenderNodeIoctl, CardAcceptsMasterRequests) {
  const int card = t.system->open("/dev/dri/card0", O_RDWR | O_CLOEXEC);
  ASSERT_GE(card, 0);
  const auto request = [&](uint32_t number, auto& argument) {
    return t.system->ioctl(card, 3u << 30 | uint64_t{sizeof argument} << 16 | 'd' << 8 | number, &argument);
  };
  char id[32] = "";
  drm_unique unique{sizeof id, id};
  EXPECT_EQ(request(0x01, unique), 0);
  EXPECT_EQ(unique.unique_len, 0u) << "an interface of before 1.1";
  drm_set_version version{1, 4, -1, 0};
  EXPECT_EQ(request(0x07, version), 0);
  EXPECT_EQ(version.drm_dd_major, 3);
  unique.unique_len = sizeof id;
  EXPECT_EQ(request(0x01, unique), 0);
  EXPECT_EQ(std::string(id, unique.unique_len), "pci:0000:03:00.0");
  version = {1, 5, -1, 0};
  EXPECT_EQ(request(0x07, version), -EINVAL) << "an interface that is not there";
  uint64_t argument[16] = {};
  EXPECT_EQ(request(0xa0, argument), -EOPNOTSUPP) << "no modes to set";
  EXPECT_EQ(request(0x0b, argument), -EINVAL) << "no buffer has a name";
  kfd_acquire_vm acquire{static_cast<uint32_t>(card), t.gpu_id()};
  EXPECT_EQ(t.call(KFD_NR_ACQUIRE_VM, acquire), -EBUSY) << "acquired with the render node";
  t.system->close(card);
}

TEST_F(RenderNodeIoctl, ReplaceAndClearKeepNeighbouringMappings) {
  drm_amdgpu_gem_create create{};
  create.in.bo_size = 16384;
  create.in.domains = AMDGPU_GEM_DOMAIN_GTT;
  ASSERT_EQ(drm(DRM_AMDGPU_GEM_CREATE, create), 0);
  const uint32_t first = create.out.handle;
  create = {};
  create.in.bo_size = 4096;
  create.in.domains = AMDGPU_GEM_DOMAIN_GTT;
  ASSERT_EQ(drm(DRM_AMDGPU_GEM_CREATE, create), 0);
  const uint32_t second = create.out.handle;
  ASSERT_EQ(map(first, kVa, 16384), 0);
  const auto change = [&](uint32_t operation, uint32_t handle, uint64_t va, uint64_t bytes) {
    drm_amdgpu_gem_va a{};
    a.handle = handle;
    a.operation = operation;
    a.flags = AMDGPU_VM_PAGE_READABLE;
    a.va_address = va;
    a.map_size = bytes;
    return drm(DRM_AMDGPU_GEM_VA, a);
  };
  EXPECT_EQ(change(AMDGPU_VA_OP_REPLACE, second, kVa + 4096, 8192), -EINVAL) << "longer than the buffer";
  EXPECT_EQ(t.translate(kVa, 16384, Access::kWrite).bytes, 16384u) << "and nothing has happened";
  EXPECT_EQ(change(AMDGPU_VA_OP_REPLACE, second, kVa + 4096, 4096), 0);
  EXPECT_EQ(t.translate(kVa, 16384, Access::kWrite).bytes, 4096u);
  EXPECT_EQ(t.translate(kVa + 4096, 4096, Access::kWrite).reason, FaultReason::kReadOnly);
  EXPECT_EQ(t.translate(kVa + 8192, 8192, Access::kWrite).bytes, 8192u);
  EXPECT_EQ(change(AMDGPU_VA_OP_CLEAR, 0, kVa + 4096, 8192), 0);
  EXPECT_EQ(t.translate(kVa, 16384, Access::kWrite).bytes, 4096u);
  EXPECT_EQ(t.translate(kVa + 4096, 8192, Access::kRead).reason, FaultReason::kNotPresent);
  EXPECT_EQ(t.translate(kVa + 12288, 4096, Access::kWrite).bytes, 4096u);
  EXPECT_EQ(change(AMDGPU_VA_OP_UNMAP, first, kVa + 12288, 4096), 0);
  EXPECT_EQ(t.translate(kVa + 12288, 4096, Access::kRead).reason, FaultReason::kNotPresent);
}

// amdkfd keeps a reference to the file.
TEST_F(RenderNodeIoctl, MappingsSurviveCloseOfAcquiredFile) {
  const auto map_new_buffer = [&](uint64_t va) {
    drm_amdgpu_gem_create create{};
    create.in.bo_size = 4096;
    create.in.domains = AMDGPU_GEM_DOMAIN_VRAM;
    EXPECT_EQ(drm(DRM_AMDGPU_GEM_CREATE, create), 0);
    EXPECT_EQ(map(create.out.handle, va, 4096), 0);
  };
  const auto is_mapped = [&](uint64_t va) { return t.translate(va, 4096, Access::kWrite).bytes == 4096; };
  map_new_buffer(kVa);
  const int acquired_fd = t.render[0];
  ASSERT_EQ(t.system->close(acquired_fd), 0);
  EXPECT_TRUE(is_mapped(kVa));
  t.render[0] = t.system->open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
  map_new_buffer(2 * kVa);
  EXPECT_TRUE(is_mapped(2 * kVa));
  kfd_acquire_vm a{static_cast<uint32_t>(t.render[0]), t.gpu_id()};
  EXPECT_EQ(t.call(KFD_NR_ACQUIRE_VM, a), -EBUSY);
  ASSERT_EQ(t.system->close(t.render[0]), 0);
  t.render.clear();
  EXPECT_TRUE(is_mapped(kVa));
  EXPECT_FALSE(is_mapped(2 * kVa));
}

TEST_F(RenderNodeIoctl, BufferWithoutCpuAccessCannotBeMapped) {
  drm_amdgpu_gem_create create{};
  create.in.bo_size = 4096;
  create.in.domains = AMDGPU_GEM_DOMAIN_VRAM;
  create.in.domain_flags = AMDGPU_GEM_CREATE_NO_CPU_ACCESS;
  ASSERT_EQ(drm(DRM_AMDGPU_GEM_CREATE, create), 0);
  drm_amdgpu_gem_mmap mmap{};
  mmap.in.handle = create.out.handle;
  EXPECT_EQ(drm(DRM_AMDGPU_GEM_MMAP, mmap), -EPERM);
}

#if HSABE_SANITIZER == HSABE_SANITIZER_NONE
TEST_F(RenderNodeIoctl, FailedCreateDoesNotUseVram) {
  int error = -ENOMEM;
  for (int request = 0; error == -ENOMEM; ++request) {
    EXPECT_EQ(t.system->process().gpu(0).vram_used, 0u);
    ASSERT_LT(request, 100);
    drm_amdgpu_gem_create create{};
    create.in.bo_size = 1 << 20;
    create.in.domains = AMDGPU_GEM_DOMAIN_VRAM;
    request_that_fails = request;
    error = drm(DRM_AMDGPU_GEM_CREATE, create);
    request_that_fails = -1;
  }
  EXPECT_EQ(error, 0);
  EXPECT_EQ(t.system->process().gpu(0).vram_used, uint64_t{1} << 20);
}

TEST_F(RenderNodeIoctl, FailedMapLeavesRangeUnmapped) {
  drm_amdgpu_gem_create create{};
  create.in.bo_size = 8192;
  create.in.domains = AMDGPU_GEM_DOMAIN_GTT;
  ASSERT_EQ(drm(DRM_AMDGPU_GEM_CREATE, create), 0);
  for (const uint32_t operation : {AMDGPU_VA_OP_MAP, AMDGPU_VA_OP_REPLACE}) {
    drm_amdgpu_gem_va a{};
    a.handle = create.out.handle;
    a.operation = operation;
    a.flags = AMDGPU_VM_PAGE_READABLE;
    a.va_address = kVa + operation * 8192;
    a.map_size = 8192;
    int error = -ENOMEM;
    for (int request = 0; error == -ENOMEM; ++request) {
      EXPECT_EQ(t.translate(a.va_address, 8192, Access::kRead).bytes, 0u);
      ASSERT_LT(request, 100);
      request_that_fails = request;
      error = drm(DRM_AMDGPU_GEM_VA, a);
      request_that_fails = -1;
    }
    EXPECT_EQ(error, 0);
    EXPECT_EQ(t.translate(a.va_address, 8192, Access::kRead).bytes, 8192u);
  }
}
#endif

TEST_F(RenderNodeIoctl, InvalidRangesAreRejected) {
  drm_amdgpu_gem_create create{};
  create.in.bo_size = 8192;
  create.in.domains = AMDGPU_GEM_DOMAIN_GTT;
  ASSERT_EQ(drm(DRM_AMDGPU_GEM_CREATE, create), 0);
  const uint32_t handle = create.out.handle;
  EXPECT_EQ(map(handle, kVa, 12288), -EINVAL);
  EXPECT_EQ(map(handle, kVa, 4096, 8192), -EINVAL);
  EXPECT_EQ(map(handle, kVa, ~uint64_t{4095}, 4096), -EINVAL);
  EXPECT_EQ(map(handle, kVa, 4096, ~uint64_t{4095}), -EINVAL);
  EXPECT_EQ(map(handle, (uint64_t{1} << 48) - 4096, 8192), -EINVAL);
  EXPECT_EQ(map(handle, kVa + 1, 4096), -EINVAL);
  EXPECT_EQ(map(handle + 1, kVa, 4096), -ENOENT);
  EXPECT_EQ(map(handle, kVa, 8192), 0);
  EXPECT_EQ(map(handle, kVa + 4096, 4096), -EINVAL) << "something is there";
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{1} << 45, ~uint64_t{0}}) {
    create = {};
    create.in.bo_size = bytes;
    create.in.domains = AMDGPU_GEM_DOMAIN_VRAM;
    EXPECT_EQ(drm(DRM_AMDGPU_GEM_CREATE, create), -EINVAL);
  }
  create = {};
  create.in.bo_size = uint64_t{1} << 40;
  create.in.domains = AMDGPU_GEM_DOMAIN_VRAM;
  EXPECT_EQ(drm(DRM_AMDGPU_GEM_CREATE, create), -ENOMEM);
}

// Transfers, for example, an image's layout from OpenGL to OpenCL.
TEST_F(RenderNodeIoctl, MetadataIsSharedByAllDescriptors) {
  const int acquired_fd =
      std::exchange(t.render[0], t.system->open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC));
  drm_amdgpu_gem_create create{};
  create.in.bo_size = 4096;
  create.in.domains = AMDGPU_GEM_DOMAIN_VRAM;
  ASSERT_EQ(drm(DRM_AMDGPU_GEM_CREATE, create), 0);
  drm_amdgpu_gem_metadata metadata{};
  metadata.handle = create.out.handle;
  metadata.op = AMDGPU_GEM_METADATA_OP_GET_METADATA;
  ASSERT_EQ(drm(DRM_AMDGPU_GEM_METADATA, metadata), 0);
  EXPECT_EQ(metadata.data.data_size_bytes, 0u);
  metadata.op = AMDGPU_GEM_METADATA_OP_SET_METADATA;
  metadata.data.flags = 5;
  metadata.data.tiling_info = 9;
  metadata.data.data_size_bytes = 26;
  std::memcpy(metadata.data.data, "all work and no play makes", 26);
  ASSERT_EQ(drm(DRM_AMDGPU_GEM_METADATA, metadata), 0);
  drm_prime_handle exported{create.out.handle, O_CLOEXEC | O_RDWR, -1};
  ASSERT_EQ(t.system->ioctl(t.render[0], DRM_IOCTL_PRIME_HANDLE_TO_FD, &exported), 0);

  char text[64] = {};
  kfd_get_dmabuf_info info{};
  info.dmabuf_fd = static_cast<uint32_t>(exported.fd);
  ASSERT_EQ(t.call(KFD_NR_GET_DMABUF_INFO, info), 0);
  EXPECT_EQ(info.metadata_size, 0u) << "nothing is said without a place for it";
  info.metadata_ptr = reinterpret_cast<uint64_t>(text);
  info.metadata_size = 25;
  info.gpu_id = 77;
  EXPECT_EQ(t.call(KFD_NR_GET_DMABUF_INFO, info), -EINVAL);
  EXPECT_EQ(info.metadata_size, 26u) << "how much is wanted";
  EXPECT_EQ(info.gpu_id, 77u) << "as it was";
  info.metadata_size = sizeof text;
  ASSERT_EQ(t.call(KFD_NR_GET_DMABUF_INFO, info), 0);
  EXPECT_EQ(info.metadata_size, 26u);
  EXPECT_STREQ(text, "all work and no play makes");
  EXPECT_EQ(info.gpu_id, t.gpu_id());

  const int other = t.system->open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
  drm_prime_handle imported{0, 0, exported.fd};
  ASSERT_EQ(t.system->ioctl(other, DRM_IOCTL_PRIME_FD_TO_HANDLE, &imported), 0);
  t.system->close(t.render[0]);
  drm_amdgpu_gem_metadata read{};
  read.handle = imported.handle;
  read.op = AMDGPU_GEM_METADATA_OP_GET_METADATA;
  ASSERT_EQ(t.system->ioctl(other, DRM_IOCTL_AMDGPU_GEM_METADATA, &read), 0);
  EXPECT_EQ(read.data.flags, 5u);
  EXPECT_EQ(read.data.tiling_info, 9u);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(read.data.data), read.data.data_size_bytes), text);
  read.op = AMDGPU_GEM_METADATA_OP_SET_METADATA;
  read.data.flags = 6;
  read.data.tiling_info = 10;
  read.data.data_size_bytes = 0;
  ASSERT_EQ(t.system->ioctl(other, DRM_IOCTL_AMDGPU_GEM_METADATA, &read), 0);
  read.op = AMDGPU_GEM_METADATA_OP_GET_METADATA;
  ASSERT_EQ(t.system->ioctl(other, DRM_IOCTL_AMDGPU_GEM_METADATA, &read), 0);
  EXPECT_EQ(read.data.flags, 5u) << "flags are those of bytes";
  EXPECT_EQ(read.data.tiling_info, 10u);
  EXPECT_EQ(read.data.data_size_bytes, 0u);
  t.system->close(other);
  ASSERT_EQ(t.call(KFD_NR_GET_DMABUF_INFO, info), 0);
  EXPECT_EQ(info.metadata_size, 0u);
  ::close(exported.fd);
  t.system->close(acquired_fd);
}

}  // namespace
}  // namespace rigel::vgpu
