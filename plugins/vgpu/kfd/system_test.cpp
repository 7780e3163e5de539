#include "plugins/vgpu/kfd/system.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <set>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "api/support/testing/failing_requests.hpp"
#include "plugins/vgpu/devices/built_in_boards.hpp"
#include "plugins/vgpu/kfd/test_system.hpp"

namespace rigel::vgpu {
namespace {

constexpr uint64_t kVa = 0x10000000;
constexpr uint32_t kRw = KFD_MEM_WRITABLE;

TEST(KfdIoctl, UnknownNumberReturnsENOTTY) {
  TestSystem t;
  uint64_t argument[64] = {};
  for (const uint32_t number : {0x00u, 0x27u, 0x7fu, 0x86u, 0xffu})
    EXPECT_EQ(t.call(number, argument), -ENOTTY);
  EXPECT_EQ(t.system->ioctl(t.kfd, 0x5451, nullptr), 0) << "FIOCLEX is the kernel's";
}

// As in the kernel, only the number counts: a terminal's TCGETS is GET_VERSION with a size of 0.
TEST(KfdIoctl, TypeOfRequestIsIgnored) {
  TestSystem t;
  t.acquire();
  uint64_t argument[8] = {};
  EXPECT_EQ(t.system->ioctl(t.kfd, 0x5401, argument), 0);
  EXPECT_EQ(argument[0], 0u);
  EXPECT_EQ(t.system->ioctl(t.kfd, 2u << 30 | 8u << 16 | 'x' << 8 | KFD_NR_GET_VERSION, argument), 0);
  EXPECT_EQ(argument[0] & 0xffffffff, 1u);
  EXPECT_EQ(t.system->ioctl(t.render[0], 0x5401, argument), -EACCES) << "GET_UNIQUE";
}

TEST(KfdIoctl, SizeOfRequestMayDiffer) {
  TestSystem t;
  struct {
    uint32_t words[32];
  } longer;
  std::memset(&longer, 0xee, sizeof longer);
  EXPECT_EQ(t.call(KFD_NR_GET_VERSION, longer), 0);
  EXPECT_EQ(longer.words[0], 1u);
  EXPECT_EQ(longer.words[2], 0u) << "the kernel clears what it only writes, and writes all of it";
  EXPECT_EQ(longer.words[31], 0u);

  // A size above all structures, with an unmapped end.
  constexpr uint64_t kPage = 4096, kBytes = 8192;
  auto* const p = static_cast<std::byte*>(
      ::mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  const uint64_t request = 3u << 30 | kBytes << 16 | KFD_ABI_IOCTL_TYPE << 8 | KFD_NR_GET_CLOCK_COUNTERS;
  p[kBytes - 1] = std::byte{0x5a};
  EXPECT_EQ(t.system->ioctl(t.kfd, request, p), 0);
  EXPECT_EQ(p[kBytes - 1], std::byte{0x5a}) << "what comes in goes back";
  ASSERT_EQ(mprotect(p + kPage, kPage, PROT_NONE), 0);
  EXPECT_EQ(t.system->ioctl(t.kfd, request, p), -EFAULT);
  ::munmap(p, 2 * kPage);
}

TEST(KfdIoctl, WaitEventsWritesOnlyUpdatedEntries) {
  TestSystem t;
  void* const p = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  kfd_create_event e{};
  ASSERT_EQ(t.call(KFD_NR_CREATE_EVENT, e), 0);
  auto& data = *static_cast<kfd_event_data*>(p);
  data.event_id = e.event_id;
  ASSERT_EQ(mprotect(p, 4096, PROT_READ), 0);
  kfd_event_ref ref{e.event_id, 0};
  ASSERT_EQ(t.call(KFD_NR_SET_EVENT, ref), 0);
  kfd_wait_events wait{reinterpret_cast<uint64_t>(p), 1, 0, 0, 0};
  EXPECT_EQ(t.call(KFD_NR_WAIT_EVENTS, wait), 0);
  EXPECT_EQ(wait.wait_result, uint32_t{KFD_WAIT_COMPLETE});

  ASSERT_EQ(mprotect(p, 4096, PROT_READ | PROT_WRITE), 0);
  data.last_event_age = 1;
  ASSERT_EQ(mprotect(p, 4096, PROT_READ), 0);
  EXPECT_EQ(t.call(KFD_NR_WAIT_EVENTS, wait), -EFAULT) << "an age has to be told";
  EXPECT_EQ(wait.wait_result, uint32_t{KFD_WAIT_FAIL});
  ::munmap(p, 4096);
}

TEST(KfdIoctl, InvalidPointersReturnEFAULT) {
  TestSystem t("gfx900,gfx906");
  kfd_get_process_apertures_new apertures{0x10, 2, 0};
  EXPECT_EQ(t.call(KFD_NR_GET_PROCESS_APERTURES_NEW, apertures), -EFAULT);
  void* const inaccessible = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  kfd_wait_events wait{reinterpret_cast<uint64_t>(inaccessible), 1, 0, 0, 0};
  EXPECT_EQ(t.call(KFD_NR_WAIT_EVENTS, wait), -EFAULT);
  ::munmap(inaccessible, 4096);
  EXPECT_EQ(t.system->ioctl(t.kfd, 3u << 30 | 8u << 16 | 'K' << 8 | KFD_NR_SET_EVENT, nullptr), -EFAULT);
}

TEST(KfdIoctl, GetAperturesReturnsCountForZeroNodes) {
  TestSystem t("gfx900,gfx803,gfx1030");
  kfd_get_process_apertures_new a{};
  EXPECT_EQ(t.call(KFD_NR_GET_PROCESS_APERTURES_NEW, a), 0);
  EXPECT_EQ(a.num_of_nodes, 3u);
  kfd_apertures out[3]{};
  a.apertures_ptr = reinterpret_cast<uint64_t>(out);
  EXPECT_EQ(t.call(KFD_NR_GET_PROCESS_APERTURES_NEW, a), 0);
  EXPECT_EQ(out[0].lds_base, uint64_t{1} << 48);
  EXPECT_EQ(out[1].lds_base, uint64_t{1} << 61);
  EXPECT_EQ(out[2].gpu_id, t.gpu_id(2));
}

TEST(KfdIoctl, UnmappedArgumentsReturnEFAULT) {
  TestSystem t;
  t.acquire();
  constexpr uint64_t kTwoPages = 8192;
  auto* const p = static_cast<std::byte*>(
      ::mmap(nullptr, kTwoPages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_EQ(mprotect(p + 4096, 4096, PROT_NONE), 0);
  const auto call_at = [&](uint32_t number, uint64_t bytes, void* argument) {
    return t.system->ioctl(t.kfd, 3u << 30 | bytes << 16 | KFD_ABI_IOCTL_TYPE << 8 | number, argument);
  };
  const uint64_t bytes = sizeof(kfd_alloc_memory);
  EXPECT_EQ(call_at(KFD_NR_ALLOC_MEMORY, bytes, nullptr), -EFAULT);
  EXPECT_EQ(call_at(KFD_NR_ALLOC_MEMORY, bytes, reinterpret_cast<void*>(0x7000)), -EFAULT);
  EXPECT_EQ(call_at(KFD_NR_ALLOC_MEMORY, bytes, p + 4096 - 8), -EFAULT) << "the second half is not there";
  EXPECT_EQ(call_at(KFD_NR_ALLOC_MEMORY, bytes, p + 4096 - bytes), -EINVAL)
      << "all of it is, and says nothing";
  EXPECT_EQ(call_at(KFD_NR_GET_VERSION, sizeof(kfd_get_version), p), 0);
  ASSERT_EQ(mprotect(p, 4096, PROT_READ), 0);
  EXPECT_EQ(call_at(KFD_NR_GET_VERSION, sizeof(kfd_get_version), p), -EFAULT) << "the answer has no place";
  constexpr uint64_t kDrmVersion = 3u << 30 | 64u << 16 | 'd' << 8;
  EXPECT_EQ(t.system->ioctl(t.render[0], kDrmVersion, reinterpret_cast<void*>(0x7000)), -EFAULT);
  ::munmap(p, kTwoPages);
}

TEST(KfdMemory, AllocationRequiresAcquiredVm) {
  TestSystem t;
  EXPECT_EQ(t.allocate(KFD_MEM_GTT | kRw, 4096, kVa).error, -ENODEV);
}

TEST(KfdMemory, AcquireVmAcceptsOneFileOnly) {
  TestSystem t;
  t.acquire();
  const int second = t.system->open("/dev/dri/renderD128", O_RDWR);
  kfd_acquire_vm a{static_cast<uint32_t>(t.render[0]), t.gpu_id()};
  EXPECT_EQ(t.call(KFD_NR_ACQUIRE_VM, a), 0) << "the same file again";
  const int copy = t.system->duplicate(t.render[0], 0);
  a.drm_fd = static_cast<uint32_t>(copy);
  EXPECT_EQ(t.call(KFD_NR_ACQUIRE_VM, a), 0) << "a duplicate is the same file";
  a.drm_fd = static_cast<uint32_t>(second);
  EXPECT_EQ(t.call(KFD_NR_ACQUIRE_VM, a), -EBUSY);
  a.drm_fd = 0;
  EXPECT_EQ(t.call(KFD_NR_ACQUIRE_VM, a), -EINVAL) << "no render node";
  t.system->close(copy);
  t.system->close(second);
}

TEST(KfdMemory, LowestKindBitIsAllocated) {
  TestSystem t;
  t.acquire();
  EXPECT_EQ(t.allocate(kRw, 4096, kVa).error, -EINVAL);
  EXPECT_EQ(t.allocate(KFD_MEM_GTT, 0, kVa).error, -EINVAL);
  EXPECT_EQ(t.allocate(KFD_MEM_DOORBELL, 4096, kVa).error, -EINVAL) << "the slice has 8192 bytes";
  EXPECT_EQ(t.allocate(KFD_MEM_MMIO_REMAP, 8192, kVa).error, -EINVAL);
  EXPECT_EQ(t.allocate(KFD_MEM_USERPTR, 4096, kVa, 0x7000).error, -EFAULT) << "nothing is there";
  EXPECT_EQ(t.allocate(KFD_MEM_GTT | KFD_MEM_VRAM, 4096, kVa).error, 0) << "of two kinds, the first";
}

// As in the kernel, the returned offset of the render node has no mapping; doorbells are mapped at the offset
// that CREATE_QUEUE returns.
TEST(KfdMemory, DoorbellBufferOffsetCannotBeMapped) {
  TestSystem t("gfx900:vram=64M");
  t.acquire();
  const auto doorbells = t.allocate(KFD_MEM_DOORBELL | kRw, 8192, kVa);
  ASSERT_EQ(doorbells.error, 0);
  ASSERT_NE(doorbells.offset, 0u);
  void* page = nullptr;
  for (const int32_t fd : {t.kfd, t.render[0]}) {
    EXPECT_LT(t.system->mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, doorbells.offset, &page),
              0);
  }
  const uint64_t base = KFD_MMAP_TYPE_DOORBELL | KFD_MMAP_GPU_ID(t.gpu_id());
  EXPECT_EQ(t.system->mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, t.kfd, base, &page), 0);
}

TEST(KfdMemory, GpuAccessesOnlyMappedBuffers) {
  TestSystem t("gfx900:vram=64M,gfx906:vram=64M");
  t.acquire();
  const auto a = t.allocate(KFD_MEM_VRAM | KFD_MEM_PUBLIC | kRw, 8192, kVa);
  ASSERT_EQ(a.error, 0);
  EXPECT_EQ(t.translate(kVa, 8, Access::kRead).host, nullptr) << "allocated is not mapped";
  EXPECT_EQ(t.map(a.handle), 0);
  EXPECT_NE(t.translate(kVa, 8, Access::kWrite).host, nullptr);
  EXPECT_EQ(t.translate(kVa, 8, Access::kExecute).reason, FaultReason::kNoExecute);
  EXPECT_EQ(t.translate(kVa, 8, Access::kRead, 1).reason, FaultReason::kNotPresent);
  EXPECT_EQ(t.translate(kVa + 8192, 8, Access::kRead).host, nullptr);
  EXPECT_EQ(t.map(a.handle, 1), 0);
  EXPECT_NE(t.translate(kVa, 8, Access::kRead, 1).host, nullptr);
  EXPECT_EQ(t.free(a.handle), -EBUSY) << "two GPUs still have it";
  EXPECT_EQ(t.map(a.handle, 0, false), 0);
  EXPECT_EQ(t.map(a.handle, 0, false), -EINVAL) << "taken away before";
  EXPECT_EQ(t.map(a.handle, 1, false), 0);
  EXPECT_EQ(t.free(a.handle), 0);
  EXPECT_EQ(t.translate(kVa, 8, Access::kRead).host, nullptr);
  EXPECT_EQ(t.free(a.handle), -EINVAL);
}

TEST(KfdMemory, ProgramAndGpuShareBuffer) {
  TestSystem t;
  t.acquire();
  const auto a = t.allocate(KFD_MEM_GTT | kRw, 4096, kVa);
  ASSERT_EQ(t.map(a.handle), 0);
  void* p = nullptr;
  ASSERT_EQ(t.system->mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, t.render[0], a.offset, &p), 0);
  std::memcpy(p, "hello", 6);
  EXPECT_STREQ(reinterpret_cast<const char*>(t.translate(kVa, 6, Access::kRead).host), "hello");
  EXPECT_EQ(t.system->munmap(p, 4096), 0);
  EXPECT_EQ(t.system->mmap(nullptr, 8192, PROT_READ, MAP_SHARED, t.render[0], a.offset, &p), -EINVAL)
      << "too long";
}

// Since Linux 5.13; older kernels return EPERM.
TEST(KfdMemory, NonPublicVramCanBeMapped) {
  TestSystem t("gfx900:vram=64M:bar=small");
  t.acquire();
  EXPECT_EQ(t.allocate(KFD_MEM_VRAM | KFD_MEM_PUBLIC, 4096, kVa).error, -EINVAL) << "the BAR is small";
  const auto a = t.allocate(KFD_MEM_VRAM | kRw, 4096, kVa);
  ASSERT_EQ(a.error, 0);
  ASSERT_EQ(t.map(a.handle), 0);
  const auto mmap = [&](int protection, int flags, void** p) {
    return t.system->mmap(nullptr, 4096, protection, flags, t.render[0], a.offset, p);
  };
  void* p = nullptr;
  ASSERT_EQ(mmap(PROT_READ | PROT_WRITE, MAP_SHARED, &p), 0);
  std::memcpy(p, "hello", 6);
  EXPECT_STREQ(reinterpret_cast<const char*>(t.translate(kVa, 6, Access::kRead).host), "hello");
  t.system->munmap(p, 4096);
  EXPECT_EQ(mmap(PROT_READ, MAP_PRIVATE, &p), -EINVAL) << "nothing is copied on write";
  ASSERT_EQ(mmap(PROT_NONE, MAP_PRIVATE, &p), 0) << "how a thunk reserves the addresses";
  t.system->munmap(p, 4096);
}

// ROCr does this with memory of another process if the BAR is small.
TEST(KfdMemory, ImportOfNonPublicVramCanBeMapped) {
  TestSystem t("gfx900:vram=64M:bar=small");
  t.acquire();
  const auto a = t.allocate(KFD_MEM_VRAM | kRw, 4096, kVa);
  ASSERT_EQ(a.error, 0);
  kfd_ipc_export_handle exported{};
  exported.handle = a.handle;
  exported.gpu_id = t.gpu_id();
  ASSERT_EQ(t.call(KFD_NR_IPC_EXPORT_HANDLE, exported), 0);
  kfd_ipc_import_handle import{};
  std::copy_n(exported.share_handle, 4, import.share_handle);
  import.va_addr = kVa + (1 << 20);
  import.gpu_id = t.gpu_id();
  ASSERT_EQ(t.call(KFD_NR_IPC_IMPORT_HANDLE, import), 0);
  void* p = nullptr;
  ASSERT_EQ(
      t.system->mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, t.render[0], import.mmap_offset, &p),
      0);
  t.system->munmap(p, 4096);
}

TEST(KfdMemory, VramIsLimited) {
  TestSystem t("gfx900:vram=16M");
  t.acquire();
  const auto a = t.allocate(KFD_MEM_VRAM, 12 << 20, kVa);
  EXPECT_EQ(a.error, 0);
  EXPECT_EQ(t.allocate(KFD_MEM_VRAM, 8 << 20, kVa + (64 << 20)).error, -ENOMEM);
  kfd_available_memory available{0, t.gpu_id(), 0};
  t.call(KFD_NR_AVAILABLE_MEMORY, available);
  EXPECT_EQ(available.available, 4u << 20);
  t.free(a.handle);
  EXPECT_EQ(t.allocate(KFD_MEM_VRAM, 16 << 20, kVa).error, 0);
}

TEST(KfdMemory, SysfsReportsUsedVram) {
  TestSystem t("gfx900:vram=512M:bar=small,gfx900:vram=64M");
  t.acquire();
  const auto used = [&](const std::string& name) {
    const int fd =
        t.system->open(t.system->files().canonical("/sys/class/drm/" + name), O_RDONLY | O_CLOEXEC);
    char text[32] = {};
    EXPECT_GT(read(fd, text, sizeof text - 1), 0) << name;
    close(fd);
    return std::string(text);
  };
  EXPECT_EQ(used("card0/device/mem_info_vram_used"), "0\n");
  const auto a = t.allocate(KFD_MEM_VRAM, 384 << 20, kVa);
  ASSERT_EQ(a.error, 0);
  EXPECT_EQ(used("card0/device/mem_info_vram_used"), "402653184\n");
  EXPECT_EQ(used("renderD128/device/mem_info_vis_vram_used"), "268435456\n") << "as much as the host sees";
  EXPECT_EQ(used("card1/device/mem_info_vram_used"), "0\n");
  t.free(a.handle);
  EXPECT_EQ(used("card0/device/mem_info_vram_used"), "0\n");
}

#if HSABE_SANITIZER == HSABE_SANITIZER_NONE
TEST(KfdMemory, FailedAllocationLeavesNoTrace) {
  constexpr uint64_t kBytes = 1 << 20;
  TestSystem t;
  t.acquire();
  for (const uint32_t kind : {KFD_MEM_VRAM, KFD_MEM_GTT, KFD_MEM_USERPTR}) {
    int error = -ENOMEM;
    for (int request = 0; error == -ENOMEM; ++request) {
      SCOPED_TRACE(request);
      ASSERT_LT(request, 100);
      void* const p = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      const uint64_t program = kind == KFD_MEM_USERPTR ? reinterpret_cast<uint64_t>(p) : 0;
      request_that_fails = request;
      const auto memory = t.allocate(kind | kRw, kBytes, kVa, program);
      request_that_fails = -1;
      error = memory.error;
      EXPECT_EQ(t.system->munmap(p, kBytes), 0);
      if (error == 0) {
        EXPECT_EQ(t.free(memory.handle), 0);
      }
      EXPECT_EQ(t.system->process().gpu(0).vram_used, 0u);
    }
    EXPECT_EQ(error, 0);
  }
}

TEST(KfdMemory, FreeNeedsNoMemory) {
  TestSystem t;
  t.acquire();
  for (int i = 0; i < 600; ++i) {
    const auto memory = t.allocate(KFD_MEM_VRAM | kRw, 4096, kVa);
    ASSERT_EQ(memory.error, 0) << i;
    request_that_fails = 0;
    const int freed = t.free(memory.handle);
    request_that_fails = -1;
    ASSERT_EQ(freed, 0) << i;
    ASSERT_EQ(t.free(memory.handle), -EINVAL) << i;
    ASSERT_EQ(t.system->process().gpu(0).vram_used, 0u) << i;
  }
}
#endif

TEST(KfdMemory, GttIsLimited) {
  TestSystem t;  // on a host with 1 GiB, half of which is available to the driver
  t.acquire();
  const auto first_buffer = t.allocate(KFD_MEM_GTT, 384 << 20, kVa);
  EXPECT_EQ(first_buffer.error, 0);
  EXPECT_EQ(t.allocate(KFD_MEM_GTT, 256 << 20, kVa * 2).error, -ENOMEM);
  EXPECT_EQ(t.free(first_buffer.handle), 0);
  EXPECT_EQ(t.allocate(KFD_MEM_GTT, 256 << 20, kVa * 2).error, 0);
}

TEST(KfdMemory, AqlRingOfGfx8IsMappedTwice) {
  TestSystem t("gfx803:vram=64M");
  t.acquire();
  const auto a = t.allocate(KFD_MEM_GTT | kRw | KFD_MEM_AQL_QUEUE, 8192, kVa);
  ASSERT_EQ(t.map(a.handle), 0);
  EXPECT_EQ(t.translate(kVa, 8, Access::kRead).host, t.translate(kVa + 4096, 8, Access::kRead).host);
}

TEST(KfdMemory, UnmappedUserptrMemoryFaults) {
  TestSystem t;
  t.acquire();
  const auto shared = t.share(16384);
  const auto va = reinterpret_cast<uint64_t>(shared.address);
  EXPECT_EQ(t.translate(va, 16384, Access::kRead).bytes, 16384u);
  t.system->munmap(shared.address + 4096, 4096);
  EXPECT_EQ(t.translate(va, 16384, Access::kRead).bytes, 4096u);
  EXPECT_EQ(t.translate(va + 4096, 8, Access::kRead).reason, FaultReason::kNotPresent);
}

TEST(KfdMemory, PeerMappingRequiresLink) {
  TestSystem t("gfx900:vram=64M,gfx906:vram=64M", PeerLink::kNone);
  t.acquire();
  const auto vram = t.allocate(KFD_MEM_VRAM | KFD_MEM_PUBLIC | kRw, 4096, kVa);
  EXPECT_EQ(t.map(vram.handle, 1), -EINVAL);
  const auto gtt = t.allocate(KFD_MEM_GTT | kRw, 4096, kVa + 4096);
  EXPECT_EQ(t.map(gtt.handle, 1), 0) << "host memory is everybody's";
}

TEST(KfdSvm, GetAttributesReturnsIntersectionOfRanges) {
  TestSystem t;
  t.acquire();
  void* const p = ::mmap(nullptr, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const auto va = reinterpret_cast<uint64_t>(p);
  struct {
    kfd_svm header;
    kfd_svm_attribute attributes[2];
  } a{{va, 8192, KFD_SVM_SET_ATTR, 2},
      {{KFD_SVM_ATTR_ACCESS, t.gpu_id()}, {KFD_SVM_ATTR_PREFERRED_LOC, t.gpu_id()}}};
  ASSERT_EQ(t.call(KFD_NR_SVM, a), 0);
  EXPECT_EQ(t.translate(va, 16384, Access::kWrite).bytes, 8192u) << "access maps";
  a = {{va, 8192, KFD_SVM_GET_ATTR, 2}, {{KFD_SVM_ATTR_ACCESS, t.gpu_id()}, {KFD_SVM_ATTR_PREFERRED_LOC, 0}}};
  ASSERT_EQ(t.call(KFD_NR_SVM, a), 0);
  EXPECT_EQ(a.attributes[0].type, uint32_t{KFD_SVM_ATTR_ACCESS});
  EXPECT_EQ(a.attributes[1].value, t.gpu_id());
  a = {{va + 8192, 8192, KFD_SVM_SET_ATTR, 1}, {{KFD_SVM_ATTR_GRANULARITY, 5}, {}}};
  ASSERT_EQ(t.call(KFD_NR_SVM, a), 0);
  a = {{va, 16384, KFD_SVM_GET_ATTR, 2},
       {{KFD_SVM_ATTR_ACCESS, t.gpu_id()}, {KFD_SVM_ATTR_PREFERRED_LOC, 0}}};
  ASSERT_EQ(t.call(KFD_NR_SVM, a), 0);
  EXPECT_EQ(a.attributes[0].type, uint32_t{KFD_SVM_ATTR_NO_ACCESS}) << "half of it has none";
  EXPECT_EQ(a.attributes[1].value, KFD_SVM_LOCATION_UNDEFINED);
  EXPECT_EQ(t.allocate(KFD_MEM_GTT, 4096, va).error, -EADDRINUSE);
  t.system->munmap(p, 16384);
  EXPECT_EQ(t.translate(va, 8, Access::kRead).host, nullptr);
}

TEST(KfdSvm, GetAttributesIgnoresPagesOutsideRanges) {
  TestSystem t;
  t.acquire();
  void* const p = ::mmap(nullptr, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const auto va = reinterpret_cast<uint64_t>(p);
  struct {
    kfd_svm header;
    kfd_svm_attribute attribute;
  } a{{va, 4096, KFD_SVM_SET_ATTR, 1}, {KFD_SVM_ATTR_ACCESS, t.gpu_id()}};
  ASSERT_EQ(t.call(KFD_NR_SVM, a), 0);
  const auto access = [&](uint64_t bytes) {
    a = {{va, bytes, KFD_SVM_GET_ATTR, 1}, {KFD_SVM_ATTR_ACCESS, t.gpu_id()}};
    EXPECT_EQ(t.call(KFD_NR_SVM, a), 0);
    return a.attribute.type;
  };
  EXPECT_EQ(access(16384), uint32_t{KFD_SVM_ATTR_ACCESS});
  a = {{va + 4096, 4096, KFD_SVM_SET_ATTR, 1}, {KFD_SVM_ATTR_ACCESS_IN_PLACE, t.gpu_id()}};
  ASSERT_EQ(t.call(KFD_NR_SVM, a), 0);
  EXPECT_EQ(access(4096), uint32_t{KFD_SVM_ATTR_ACCESS});
  EXPECT_EQ(access(8192), uint32_t{KFD_SVM_ATTR_NO_ACCESS}) << "neither kind everywhere";
  a = {{va, 16384, KFD_SVM_GET_ATTR, 1}, {KFD_SVM_ATTR_CLR_FLAGS, 0}};
  ASSERT_EQ(t.call(KFD_NR_SVM, a), 0);
  EXPECT_EQ(a.attribute.value, ~(KFD_SVM_FLAG_HOST_ACCESS | KFD_SVM_FLAG_COHERENT));
  t.system->munmap(p, 16384);
}

TEST(KfdSvm, Gfx8RejectsAccess) {
  TestSystem t("gfx803");
  t.acquire();
  void* const p = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const auto va = reinterpret_cast<uint64_t>(p);
  struct {
    kfd_svm header;
    kfd_svm_attribute attribute;
  } a{{va, 4096, KFD_SVM_SET_ATTR, 1}, {KFD_SVM_ATTR_ACCESS, t.gpu_id()}};
  EXPECT_EQ(t.call(KFD_NR_SVM, a), -EINVAL);
  a.attribute = {KFD_SVM_ATTR_GRANULARITY, 5};
  EXPECT_EQ(t.call(KFD_NR_SVM, a), 0);
  EXPECT_EQ(t.translate(va, 8, Access::kRead).host, nullptr);
  t.system->munmap(p, 4096);
}

// Queues -------------------------------------------------------------------------------------------------

class KfdQueue : public ::testing::Test {
 protected:
  explicit KfdQueue(const char* gpu = "gfx900:vram=64M") : t(gpu) {}
  void SetUp() override {
    t.acquire();
    pointers = t.share(4096).address;
    ring = t.share(65536).address;
    eop = t.share(4096).address;
    const auto area = t.system->process().gpu(0).gpu().board.save_area();
    save = t.share(area.context_bytes + area.debug_bytes).address;
    std::memset(ring, 1, 65536);  // AQL: all packets invalid
    a.ring_base_address = at(ring);
    a.write_pointer_address = at(pointers) + 0x38;
    a.read_pointer_address = at(pointers) + 0x80;
    a.ring_size = 65536;
    a.gpu_id = t.gpu_id();
    a.queue_type = KFD_QUEUE_AQL;
    a.queue_percentage = 100;
    a.queue_priority = 7;
    a.eop_buffer_address = at(eop);
    a.eop_buffer_size = 4096;
    a.ctx_save_restore_address = at(save);
    a.ctx_save_restore_size = area.context_bytes;
    a.ctl_stack_size = area.control_stack_bytes;
    const uint32_t offset = 0x80;
    std::memcpy(pointers + 0x88, &offset, 4);  // amd_queue_t.read_dispatch_id_field_base_byte_offset
    const uint32_t size = 1024;
    std::memcpy(pointers + 0x18, &size, 4);
  }
  static uint64_t at(const std::byte* p) { return reinterpret_cast<uint64_t>(p); }
  int create() { return t.call(KFD_NR_CREATE_QUEUE, a); }
  TestSystem t;
  std::byte *pointers{}, *ring{}, *eop{}, *save{};
  kfd_create_queue a{};
};

#if HSABE_SANITIZER == HSABE_SANITIZER_NONE
TEST_F(KfdQueue, FailedCreateLeavesNoTrace) {
  const auto shared = t.share(65536);
  a.ring_base_address = at(shared.address);
  const kfd_create_queue valid = a;
  const auto create_and_destroy = [&] {
    a = valid;
    const int error = create();
    const int remaining = std::exchange(request_that_fails, -1);
    kfd_destroy_queue destroy{a.queue_id, 0};
    if (error == 0) {
      EXPECT_EQ(t.call(KFD_NR_DESTROY_QUEUE, destroy), 0);
    }
    EXPECT_TRUE(error == 0 || error == -ENOMEM) << strerrorname_np(-error);
    return remaining;
  };
  create_and_destroy();  // also creates the command processor
  for (int request = 0; request_that_fails = request, create_and_destroy() < 0; ++request) {
    ASSERT_FALSE(HasFailure()) << request;
  }
  EXPECT_EQ(t.map(shared.handle, 0, false), 0) << "nobody uses it";
}
#endif

TEST_F(KfdQueue, IsCreatedAndDestroyedOnce) {
  ASSERT_EQ(create(), 0);
  kfd_destroy_queue d{a.queue_id, 0};
  EXPECT_EQ(t.call(KFD_NR_DESTROY_QUEUE, d), 0);
  EXPECT_EQ(t.call(KFD_NR_DESTROY_QUEUE, d), -EINVAL);
}

TEST_F(KfdQueue, CreateRejectsInvalidArguments) {
  const kfd_create_queue valid = a;
  const auto create_with = [&](auto&& change) {
    a = valid;
    change();
    return create();
  };
  EXPECT_EQ(create_with([&] { a.ring_size = 60000; }), -EINVAL) << "no power of two";
  EXPECT_EQ(create_with([&] { a.ring_size = 4096; }), -EINVAL) << "a page of more";
  EXPECT_EQ(create_with([&] { a.ring_size = 32768; }), -EINVAL) << "not the buffer's size";
  EXPECT_EQ(create_with([&] { a.ring_base_address += 4096; }), -EINVAL) << "not where the buffer begins";
  EXPECT_EQ(create_with([&] { a.ring_base_address = 0x10; }), -EINVAL);
  EXPECT_EQ(create_with([&] { a.ring_base_address = ~0ull; }), -EFAULT);
  EXPECT_EQ(create_with([&] { a.eop_buffer_size = 8192; }), -EINVAL);
  EXPECT_EQ(create_with([&] { a.ctl_stack_size -= 4096; }), -EINVAL);
  EXPECT_EQ(create_with([&] { a.ctx_save_restore_size -= 4096; }), -EINVAL);
  EXPECT_EQ(create_with([&] { a.queue_percentage = 101; }), -EINVAL);
  EXPECT_EQ(create_with([&] { a.queue_priority = 16; }), -EINVAL);
  EXPECT_EQ(create_with([&] { a.gpu_id = 0; }), -EINVAL);
  EXPECT_EQ(create_with([&] { a.queue_type = 9; }), -524) << "ENOTSUPP, the kernel's own";
  EXPECT_EQ(create_with([&] {}), 0);
}

TEST_F(KfdQueue, UnknownIdReturnsErrorOfEachIoctl) {
  kfd_destroy_queue destroy{7, 0};
  EXPECT_EQ(t.call(KFD_NR_DESTROY_QUEUE, destroy), -EINVAL);
  kfd_update_queue update{};
  update.queue_id = 7;
  EXPECT_EQ(t.call(KFD_NR_UPDATE_QUEUE, update), -EFAULT);
  update.queue_percentage = 101;
  EXPECT_EQ(t.call(KFD_NR_UPDATE_QUEUE, update), -EINVAL);
  uint32_t bits = ~0u;
  kfd_set_cu_mask mask{};
  mask.queue_id = 7;
  mask.cu_mask_ptr = reinterpret_cast<uint64_t>(&bits);
  EXPECT_EQ(t.call(KFD_NR_SET_CU_MASK, mask), -EINVAL) << "no bits";
  mask.num_cu_mask = 33;
  EXPECT_EQ(t.call(KFD_NR_SET_CU_MASK, mask), -EINVAL);
  mask.num_cu_mask = 32;
  EXPECT_EQ(t.call(KFD_NR_SET_CU_MASK, mask), -EFAULT);
  kfd_get_queue_wave_state waves{};
  waves.queue_id = 7;
  EXPECT_EQ(t.call(KFD_NR_GET_QUEUE_WAVE_STATE, waves), -EFAULT);
  kfd_alloc_queue_gws gws{};
  gws.queue_id = 7;
  EXPECT_EQ(t.call(KFD_NR_ALLOC_QUEUE_GWS, gws), -EINVAL);
}

class KfdQueueOnTwoGpus : public KfdQueue {
 protected:
  KfdQueueOnTwoGpus() : KfdQueue("gfx900:vram=64M,gfx900:vram=64M") {}
};

TEST_F(KfdQueue, CountPerGpuIsLimited) {
  for (int i = 0; i < 127; ++i) ASSERT_EQ(create(), 0) << i;
  EXPECT_EQ(create(), -ENOSPC);
  kfd_destroy_queue d{5, 0};
  EXPECT_EQ(t.call(KFD_NR_DESTROY_QUEUE, d), 0);
  EXPECT_EQ(create(), 0);
  EXPECT_EQ(a.queue_id, 5u) << "the lowest free number";
}

TEST_F(KfdQueueOnTwoGpus, PinsBuffersOnItsGpuOnly) {
  const auto ring2 = t.share(65536);
  ASSERT_EQ(t.map(ring2.handle, 1), 0);
  a.ring_base_address = at(ring2.address);
  ASSERT_EQ(create(), 0);
  EXPECT_EQ(t.map(ring2.handle, 1, false), 0);
  EXPECT_EQ(t.map(ring2.handle, 0, false), -EBUSY);
  kfd_destroy_queue d{a.queue_id, 0};
  EXPECT_EQ(t.call(KFD_NR_DESTROY_QUEUE, d), 0);
}

class KfdQueueOnGfx906 : public KfdQueue {
 protected:
  KfdQueueOnGfx906() : KfdQueue("gfx906:vram=64M") {}
};

TEST_F(KfdQueueOnGfx906, OneQueueHasGlobalWaveSync) {
  ASSERT_EQ(create(), 0);
  kfd_alloc_queue_gws gws{};
  gws.queue_id = a.queue_id;
  EXPECT_EQ(t.call(KFD_NR_ALLOC_QUEUE_GWS, gws), -EINVAL) << "nothing to give back";
  gws.num_gws = 1;
  EXPECT_EQ(t.call(KFD_NR_ALLOC_QUEUE_GWS, gws), 0);
  EXPECT_EQ(t.call(KFD_NR_ALLOC_QUEUE_GWS, gws), -EBUSY);
  gws.num_gws = 0;
  EXPECT_EQ(t.call(KFD_NR_ALLOC_QUEUE_GWS, gws), 0);
}

TEST_F(KfdQueue, PinsItsBuffers) {
  const auto ring2 = t.share(65536);
  std::memset(ring2.address, 1, 65536);
  a.ring_base_address = at(ring2.address);
  ASSERT_EQ(create(), 0);
  EXPECT_EQ(t.free(ring2.handle), -EBUSY);
  EXPECT_EQ(t.map(ring2.handle, 0, false), -EBUSY);
  kfd_destroy_queue d{a.queue_id, 0};
  t.call(KFD_NR_DESTROY_QUEUE, d);
  EXPECT_EQ(t.map(ring2.handle, 0, false), 0);
  EXPECT_EQ(t.free(ring2.handle), 0);
}

TEST_F(KfdQueue, UpdateUnpinsPreviousRing) {
  const auto ring2 = t.share(65536);
  a.ring_base_address = at(ring2.address);
  ASSERT_EQ(create(), 0);
  kfd_update_queue u{at(ring), a.queue_id, 65536, 0, 7};
  ASSERT_EQ(t.call(KFD_NR_UPDATE_QUEUE, u), 0);
  EXPECT_EQ(t.map(ring2.handle, 0, false), 0);
  EXPECT_EQ(t.free(ring2.handle), 0);
  kfd_destroy_queue d{a.queue_id, 0};
  EXPECT_EQ(t.call(KFD_NR_DESTROY_QUEUE, d), 0);
}

TEST_F(KfdQueue, SaveAreaMayBeAlwaysMappedSvmRange) {
  const uint64_t bytes = (a.ctx_save_restore_size + 65536 + 4095) / 4096 * 4096;
  void* const p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  struct {
    kfd_svm header;
    kfd_svm_attribute attributes[2];
  } svm{{reinterpret_cast<uint64_t>(p), bytes, KFD_SVM_SET_ATTR, 1}, {{KFD_SVM_ATTR_ACCESS, t.gpu_id()}, {}}};
  ASSERT_EQ(t.call(KFD_NR_SVM, svm), 0);
  a.ctx_save_restore_address = svm.header.start_addr;
  EXPECT_EQ(create(), -EINVAL) << "it might be taken from the GPU";
  svm.attributes[0] = {KFD_SVM_ATTR_SET_FLAGS, KFD_SVM_FLAG_GPU_ALWAYS_MAPPED};
  ASSERT_EQ(t.call(KFD_NR_SVM, svm), 0);
  EXPECT_EQ(create(), 0);
  kfd_destroy_queue d{a.queue_id, 0};
  EXPECT_EQ(t.call(KFD_NR_DESTROY_QUEUE, d), 0);
  t.system->munmap(p, bytes);
}

TEST_F(KfdQueue, BarrierCompletesAfterStoreOrDoorbellCall) {
  ASSERT_EQ(create(), 0);
  void* page = nullptr;
  const uint64_t base = KFD_MMAP_TYPE_DOORBELL | KFD_MMAP_GPU_ID(t.gpu_id());
  ASSERT_EQ(t.system->mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, t.kfd, base, &page), 0);
  auto* const doorbell =
      reinterpret_cast<std::atomic<uint64_t>*>(static_cast<std::byte*>(page) + (a.doorbell_offset & 0x1fff));
  auto* const signal = reinterpret_cast<std::atomic<int64_t>*>(t.share(4096).address + 8);
  auto* const write_index = reinterpret_cast<std::atomic<uint64_t>*>(pointers + 0x38);
  const auto submit = [&](uint64_t index, auto&& ring_doorbell) {
    signal->store(1);
    std::byte* const packet = ring + index % 1024 * 64;
    std::memset(packet + 2, 0, 62);
    const uint64_t handle = reinterpret_cast<uint64_t>(signal) - 8;
    std::memcpy(packet + 56, &handle, 8);
    write_index->store(index + 1, std::memory_order_release);
    reinterpret_cast<std::atomic<uint16_t>*>(packet)->store(3 | 1 << 8, std::memory_order_release);
    ring_doorbell(index);
    // The signal has no mailbox, so the device only writes the value.
    for (int i = 0; i < 200000 && signal->load(std::memory_order_acquire) != 0; ++i) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return signal->load();
  };
  for (uint64_t i = 0; i < 20; ++i) {
    ASSERT_EQ(submit(i, [&](uint64_t v) { doorbell->store(v, std::memory_order_release); }), 0) << i;
    if (i % 4 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));  // lets the engine fall asleep
  }
  const auto hook = t.system->process().attach_doorbell(doorbell);
  ASSERT_TRUE(hook);
  for (uint64_t i = 20; i < 40; ++i) {
    ASSERT_EQ(submit(i, [&](uint64_t v) { hook->ring(hook->context, v); }), 0) << i;
  }
  kfd_destroy_queue d{a.queue_id, 0};
  EXPECT_EQ(t.call(KFD_NR_DESTROY_QUEUE, d), 0);
  EXPECT_FALSE(t.system->process().attach_doorbell(doorbell)) << "no queue there any more";
}

TEST_F(KfdQueue, SdmaQueueCountIsLimitedByBoard) {
  a.queue_type = KFD_QUEUE_SDMA;
  std::memset(ring, 0, 65536);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(create(), 0) << i;
  EXPECT_EQ(create(), -ENOMEM);
  a.queue_type = KFD_QUEUE_SDMA_XGMI;
  EXPECT_EQ(create(), -ENOMEM);
}

class KfdQueueOnMi210 : public KfdQueue {
 protected:
  KfdQueueOnMi210() : KfdQueue("mi210:vram=64M") {}
};

// Two engines copy over PCIe, three over XGMI, each with 8 queues.
TEST_F(KfdQueueOnMi210, SdmaQueuesOfBothKindsAreLimitedByBoard) {
  std::memset(ring, 0, 65536);
  a.queue_type = KFD_QUEUE_SDMA_BY_ENGINE;
  a.sdma_engine_id = 5;
  EXPECT_EQ(create(), -EINVAL);
  a.sdma_engine_id = 4;
  EXPECT_EQ(create(), 0);
  a.queue_type = KFD_QUEUE_SDMA;
  for (int i = 0; i < 16; ++i) EXPECT_EQ(create(), 0) << i;
  EXPECT_EQ(create(), -ENOMEM);
  a.queue_type = KFD_QUEUE_SDMA_XGMI;
  std::set<uint64_t> doorbells;
  for (int i = 0; i < 23; ++i) {
    ASSERT_EQ(create(), 0) << i;
    doorbells.insert(a.doorbell_offset);
  }
  EXPECT_EQ(doorbells.size(), 23u);
  EXPECT_EQ(create(), -ENOMEM) << "the engine that was requested by its number has one of 24";
}

class KfdQueueOnNavi31 : public KfdQueue {
 protected:
  KfdQueueOnNavi31() : KfdQueue("navi31:vram=64M,navi31:vram=64M") {}
  // Puts the pointers into a buffer of the driver for a GPU.
  void use_buffer_of(size_t gpu) {
    const uint64_t va = uint64_t{0x200000000000} + gpu * 0x10000;
    const auto buffer = t.allocate(KFD_MEM_GTT | KFD_MEM_WRITABLE, 4096, va, 0, gpu);
    ASSERT_EQ(buffer.error, 0);
    ASSERT_EQ(t.map(buffer.handle), 0);
    std::memcpy(t.translate(va, 4096, Access::kWrite).host, pointers, 4096);
    a.write_pointer_address = va + 0x38;
    a.read_pointer_address = va + 0x80;
  }
};

// The scheduler's firmware reads the write pointers of queues that it has not mapped.
TEST_F(KfdQueueOnNavi31, WritePointerIsInBufferOfDriverAndGpu) {
  EXPECT_EQ(create(), -EPERM) << "the program's memory";
  use_buffer_of(1);
  EXPECT_EQ(create(), -EINVAL) << "the other GPU's buffer";
  use_buffer_of(0);
  EXPECT_EQ(create(), 0);
}

// Of 8 queues of an engine, the driver keeps two for graphics and page tables.
TEST_F(KfdQueueOnNavi31, SdmaQueueCountIsLimitedByBoard) {
  use_buffer_of(0);
  a.queue_type = KFD_QUEUE_SDMA;
  std::memset(ring, 0, 65536);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(create(), 0) << i;
  EXPECT_EQ(create(), -ENOMEM);
}

// Writes an MI210 of two XCCs, and removes the file with the object.
class TwoXccs {
 public:
  TwoXccs() : path_(::testing::TempDir() + "two_xccs-" + std::to_string(::getpid()) + ".json") {
    for (const BuiltInBoard& board : kBuiltInBoards) {
      if (board.name != "mi210") continue;
      auto json = nlohmann::json::parse(board.json);
      json["shader"]["xcc_count"] = 2;
      std::ofstream(path_) << json;
    }
  }
  ~TwoXccs() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

class KfdQueueOnTwoXccs : private TwoXccs, public KfdQueue {
 protected:
  KfdQueueOnTwoXccs() : KfdQueue((path() + ":vram=64M").c_str()) {}
};

TEST_F(KfdQueueOnTwoXccs, SaveAreaHasAPartForEachXcc) {
  const auto area = t.system->process().gpu(0).gpu().board.save_area();
  EXPECT_EQ(create(), -EINVAL) << "the area of one XCC";
  const auto both = t.share(2 * (area.context_bytes + area.debug_bytes));
  a.ctx_save_restore_address = at(both.address);
  ASSERT_EQ(create(), 0);
  kfd_update_queue stop{};
  stop.queue_id = a.queue_id;
  stop.ring_base_address = at(ring);
  stop.ring_size = 65536;
  ASSERT_EQ(t.call(KFD_NR_UPDATE_QUEUE, stop), 0);
  kfd_get_queue_wave_state waves{};
  waves.ctl_stack_address = at(both.address);
  waves.queue_id = a.queue_id;
  ASSERT_EQ(t.call(KFD_NR_GET_QUEUE_WAVE_STATE, waves), 0);
  for (const size_t xcc : {0, 1}) {
    uint32_t header[4] = {};
    std::memcpy(header, both.address + xcc * area.context_bytes, sizeof header);
    EXPECT_EQ(header[0], area.control_stack_bytes) << xcc;
    EXPECT_EQ(header[2], area.control_stack_bytes) << xcc;
  }
}

TEST(KfdSmi, FaultsAreReportedToMatchingMasks) {
  TestSystem t("gfx900,gfx906");
  t.acquire();
  kfd_smi_events first{t.gpu_id(0), 0}, second{t.gpu_id(1), 0}, unmasked{t.gpu_id(0), 0};
  ASSERT_EQ(t.call(KFD_NR_SMI_EVENTS, first), 0);
  ASSERT_EQ(t.call(KFD_NR_SMI_EVENTS, second), 0);
  ASSERT_EQ(t.call(KFD_NR_SMI_EVENTS, unmasked), 0);
  const uint64_t mask = 1 << (KFD_SMI_EVENT_VMFAULT - 1);
  for (const auto& file : {first, second}) {
    ASSERT_EQ(write(static_cast<int>(file.anon_fd), &mask, sizeof mask), 8);
  }
  char text[KFD_SMI_EVENT_MESSAGE_BYTES + 1] = {};
  EXPECT_EQ(read(static_cast<int>(first.anon_fd), text, sizeof text - 1), -1);
  EXPECT_EQ(errno, EAGAIN);
  t.system->process().gpu(0).report_fault({0x1000, Access::kRead, FaultReason::kNotPresent, 1});
  EXPECT_GT(read(static_cast<int>(first.anon_fd), text, sizeof text - 1), 0);
  unsigned event = 0, pid = 0;
  EXPECT_EQ(std::sscanf(text, "%x %x:", &event, &pid), 2) << text;
  EXPECT_EQ(event, KFD_SMI_EVENT_VMFAULT);
  EXPECT_EQ(pid, static_cast<unsigned>(getpid()));
  EXPECT_EQ(read(static_cast<int>(second.anon_fd), text, sizeof text - 1), -1);
  EXPECT_EQ(read(static_cast<int>(unmasked.anon_fd), text, sizeof text - 1), -1);
  for (const auto& file : {first, second, unmasked}) ::close(static_cast<int>(file.anon_fd));
  t.system->process().gpu(0).report_fault({0x1000, Access::kRead, FaultReason::kNotPresent, 1});
}

#if HSABE_SANITIZER == HSABE_SANITIZER_NONE
TEST(KfdFiles, StatNeedsNoMemory) {
  TestSystem t;
  const int fd = t.system->open("/sys/devices/virtual/kfd/kfd/topology/system_properties", O_RDONLY);
  ASSERT_GE(fd, 0);
  struct stat status {};
  ASSERT_EQ(fstat(fd, &status), 0);
  request_that_fails = 0;
  EXPECT_NO_THROW({
    EXPECT_TRUE(t.system->stat_plain_file(fd, status));
    EXPECT_EQ(System::foreign_file(fd), System::ForeignFile::kNone);
  });
  request_that_fails = -1;
  EXPECT_EQ(status.st_dev, System::files_device());
  ::close(fd);
}
#endif

TEST(KfdFork, ParentDescriptorsFailInChild) {
  TestSystem t;
  const pid_t pid = fork();
  if (pid == 0) {
    t.system->before_fork();
    t.system->abandon_in_child();
    kfd_get_version v{};
    _exit(t.call(KFD_NR_GET_VERSION, v) == -EBADF ? 0 : 1);
  }
  int status = -1;
  waitpid(pid, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  kfd_get_version v{};
  EXPECT_EQ(t.call(KFD_NR_GET_VERSION, v), 0);
}

TEST(Topology, PropertiesAreDecimalNumbers) {
  TestSystem t("gfx906,gfx803,gfx1030", PeerLink::kXgmi);
  int files = 0;
  for (const auto& [path, node] : t.system->files().nodes()) {
    if (!path.ends_with("/properties")) continue;
    ++files;
    EXPECT_LT(node.content.size(), 4096u) << path << ": readers take one page";
    const char* p = node.content.c_str();
    while (*p != 0) {
      char name[64];
      unsigned long long value = 0;
      int used = 0;
      ASSERT_EQ(sscanf(p, "%63s %llu%n", name, &value, &used), 2) << path << ": " << p;
      p = std::strchr(p, '\n') + 1;
    }
  }
  EXPECT_GT(files, 10);
}

// HIP requires a link to write to a GPU's memory.
TEST(Topology, HostHasLinksOnlyToLargeBarGpus) {
  TestSystem t("gfx900:bar=small,gfx1030,gfx803:bar=small");
  const auto& files = t.system->files();
  const std::string nodes = "/sys/devices/virtual/kfd/kfd/topology/nodes/";
  EXPECT_THAT(files.find(nodes + "0/properties")->content, ::testing::HasSubstr("\nio_links_count 1\n"));
  EXPECT_THAT(files.find(nodes + "0/io_links/0/properties")->content, ::testing::HasSubstr("\nnode_to 2\n"));
  EXPECT_EQ(files.find(nodes + "0/io_links/1/properties"), nullptr);
  for (const char* gpu : {"1", "2", "3"})
    EXPECT_THAT(files.find(nodes + gpu + "/io_links/0/properties")->content,
                ::testing::HasSubstr("\nnode_to 0\n"));
}

// Returns the value of a property of a node, or of a link of a node ("1/io_links/0").
std::string property_of(TestSystem& t, const std::string& place, const std::string& name) {
  const auto* const file =
      t.system->files().find("/sys/devices/virtual/kfd/kfd/topology/nodes/" + place + "/properties");
  if (file == nullptr) return "no " + place;
  const size_t at = ("\n" + file->content).find("\n" + name + " ");
  if (at == std::string::npos) return "no " + name;
  const size_t start = at + name.size() + 1;
  return file->content.substr(start, file->content.find('\n', start) - start);
}

TEST(Topology, PackageIsLinkedOverXgmi) {
  TestSystem t("mi250x,mi210");
  EXPECT_EQ(property_of(t, "1", "hive_id"), property_of(t, "2", "hive_id"));
  EXPECT_NE(property_of(t, "1", "hive_id"), "0");
  EXPECT_EQ(property_of(t, "3", "hive_id"), "0");
  EXPECT_EQ(property_of(t, "1", "num_sdma_xgmi_engines"), "3");
  // To the host, then to the other device; to another package over PCIe.
  EXPECT_EQ(property_of(t, "1/io_links/0", "type"), "11");
  EXPECT_EQ(property_of(t, "1/io_links/1", "type"), "11");
  EXPECT_EQ(property_of(t, "1/io_links/1", "node_to"), "2");
  EXPECT_EQ(property_of(t, "1/io_links/1", "weight"), "15");
  EXPECT_EQ(property_of(t, "1/io_links/1", "max_bandwidth"), "200000");
  EXPECT_EQ(property_of(t, "1/p2p_links/0", "node_to"), "3");
  EXPECT_EQ(property_of(t, "3/io_links/0", "type"), "2");
  EXPECT_EQ(property_of(t, "0/io_links/0", "type"), "11");
  EXPECT_EQ(property_of(t, "0/io_links/2", "type"), "2");
  constexpr uint32_t kCoherentHostAccess = 1u << 28;
  EXPECT_NE(std::stoul(property_of(t, "1", "capability")) & kCoherentHostAccess, 0u);
  EXPECT_EQ(std::stoul(property_of(t, "3", "capability")) & kCoherentHostAccess, 0u);
}

TEST(Topology, PartitionsShareOneDevice) {
  const TwoXccs board;
  TestSystem whole(board.path());
  EXPECT_EQ(property_of(whole, "1", "num_xcc"), "2");
  EXPECT_EQ(property_of(whole, "1", "simd_count"), "416");
  TestSystem t(board.path() + ":partition=cpx");
  for (const char* node : {"1", "2"}) {
    EXPECT_EQ(property_of(t, node, "num_xcc"), "1");
    EXPECT_EQ(property_of(t, node, "simd_count"), "208");
    EXPECT_EQ(property_of(t, node, "array_count"), "4");
    EXPECT_EQ(property_of(t, node, "num_sdma_engines"), "2");
    EXPECT_EQ(property_of(t, node, "num_sdma_xgmi_engines"), "0");
  }
  EXPECT_EQ(property_of(t, "1", "unique_id"), property_of(t, "2", "unique_id"));
  EXPECT_EQ(property_of(t, "1", "location_id"), std::to_string(3 << 8));
  EXPECT_EQ(property_of(t, "2", "location_id"), std::to_string(3 << 8 | 1));
  EXPECT_NE(property_of(t, "1", "drm_render_minor"), property_of(t, "2", "drm_render_minor"));
  EXPECT_EQ(property_of(t, "1/io_links/1", "weight"), "13");
  const auto* const mode =
      t.system->files().find("/sys/devices/pci0000:00/0000:03:00.1/current_compute_partition");
  ASSERT_NE(mode, nullptr);
  EXPECT_EQ(mode->content, "CPX\n");
}

TEST(FileTree, CanonicalResolvesLinksAndDots) {
  TestSystem t;
  const FileTree& tree = t.system->files();
  EXPECT_EQ(tree.canonical("//sys/class/kfd/kfd/./topology//nodes/../nodes/1"),
            "/sys/devices/virtual/kfd/kfd/topology/nodes/1");
  EXPECT_TRUE(tree.owns("/sys/devices/virtual/kfd/kfd/topology/nodes/99"));
  EXPECT_FALSE(tree.owns("/sys/class/net"));
  EXPECT_EQ(tree.find(tree.canonical("/sys/dev/char/226:128/device/vendor"))->content, "0x1002\n");
  const std::string card = tree.canonical("/sys/class/drm/card0");
  EXPECT_EQ(tree.canonical("/sys/class/drm/card0", FileTree::LastLink::kKeep), "/sys/class/drm/card0");
  EXPECT_EQ(tree.canonical("/sys/class/drm/card0/", FileTree::LastLink::kKeep), card);
}

}  // namespace
}  // namespace rigel::vgpu
