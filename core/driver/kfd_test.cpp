// The connection to amdkfd, with the virtual GPU as an in-process transport.
#include "core/driver/kfd.hpp"

#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>

#include "api/support/testing/failing_requests.hpp"
#include "core/driver/board_name.hpp"
#include "core/driver/device_signals.hpp"
#include "core/driver/kfd_events.hpp"
#include "core/driver/testing/boards.hpp"
#include "core/driver/testing/vgpu.hpp"
#include "core/signal/signal_pool.hpp"
#include "loader/module/loaded_driver.hpp"
#include "loader/module/module_query.hpp"

namespace rigel {
namespace {

using testing::open_vgpu;
using testing::start_vgpu;

/// Opens a transport over a directory without valid files and returns the error.
std::string why_not(const char* path) {
  struct Elsewhere {
    static int32_t open(void* path, const char*, int32_t flags) {
      return system_transport_ops().open(nullptr, static_cast<const char*>(path), flags);
    }
  };
  static const char* elsewhere;
  elsewhere = path;
  static hsadrv_ops_t ops = system_transport_ops();
  ops.open = Elsewhere::open;
  LoadedDriver loaded;
  loaded.name = "elsewhere";
  loaded.ops = ops;
  loaded.table.open_driver = [](const hsadrv_host_t*, hsadrv_str_t, void** driver) {
    *driver = const_cast<char*>(elsewhere);
    return 0;
  };
  loaded.table.close_driver = [](void*) {};
  std::vector<std::string> errors;
  auto transport = Transport::start(loaded, "", errors);
  if (!transport) return errors.front();
  std::string why;
  return Kfd::open(std::move(*transport), why) ? "it opens" : why;
}

TEST(Kfd, OpenReportsMissingDriver) {
  EXPECT_EQ(why_not("/dev/no-such-device"), "the amdgpu driver is not loaded");
}

TEST(Kfd, OpenRejectsOtherDevice) {
  EXPECT_NE(why_not("/dev/null").find("not an amdkfd device"), std::string::npos);
}

TEST(Kfd, OpenRejectsDirectory) {
  EXPECT_NE(why_not("/").find("cannot be opened"), std::string::npos);
}

TEST(BoardName, MatchesDeviceAndRevision) {
  const char* list = "# ids\n1.0.0\n687F,\tC1,\tRadeon RX Vega\n687F,\tC3,\tRadeon Pro Vega\n687F\n";
  EXPECT_EQ(find_board_name(list, 0x687f, 0xc1), "Radeon RX Vega");
  EXPECT_EQ(find_board_name(list, 0x687f, 0xc3), "Radeon Pro Vega");
  EXPECT_EQ(find_board_name(list, 0x687f, 0xc2), "");
  EXPECT_EQ(find_board_name("", 1, 1), "");
}

TEST(KfdTopology, StopsAtInvalidLine) {
  const auto properties = parse_kfd_properties("a 1\nb 18446744073709551615\nsomething else\nc 3\n");
  ASSERT_EQ(properties.size(), 2u);
  EXPECT_EQ(properties.at("b"), UINT64_MAX);
}

TEST(KfdTopology, ReadsBanksCachesAndLinks) {
  const auto transport = start_vgpu("gfx900,gfx1030:bar=small");
  ASSERT_NE(transport, nullptr);
  const auto topology = read_kfd_topology(*transport);
  ASSERT_TRUE(topology);
  ASSERT_EQ(topology->nodes.size(), 3u);
  EXPECT_FALSE(topology->nodes[0].is_gpu());
  const KfdNode& vega = topology->nodes[1];
  EXPECT_TRUE(vega.is_gpu());
  EXPECT_EQ(vega.property("gfx_target_version"), 90000u);
  EXPECT_EQ(vega.local_bytes(), vega.public_bytes());
  EXPECT_GT(vega.local_bytes(), 0u);
  ASSERT_EQ(vega.caches.size(), 2u) << "one of each level";
  EXPECT_EQ(vega.caches[0].size, 16u << 10);
  EXPECT_EQ(vega.caches[1].size, 4u << 20);
  ASSERT_FALSE(vega.links.empty());
  EXPECT_EQ(vega.links[0].to, 0u);
  EXPECT_EQ(topology->nodes[2].public_bytes(), 0u) << "the host sees little of it";
}

TEST(KfdTopology, ReportsAtomicsToHost) {
  KfdTopology topology;
  topology.nodes.resize(3);
  for (uint32_t i = 0; i < 3; ++i) topology.nodes[i].number = i;
  topology.nodes[1].gpu_id = 11;
  topology.nodes[2].gpu_id = 12;
  KfdNode& gpu = topology.nodes[1];
  EXPECT_TRUE(has_atomics_to_host(topology, gpu)) << "an APU has no links";
  gpu.links = {{.to = 0, .flags = 1}, {.to = 2, .flags = 1 | 8}};
  EXPECT_TRUE(has_atomics_to_host(topology, gpu)) << "it is the other GPU that they do not reach";
  gpu.links[0].flags = 8;
  EXPECT_TRUE(has_atomics_to_host(topology, gpu)) << "the flags do not hold";
  gpu.links[0].flags = 1 | 4;
  EXPECT_TRUE(has_atomics_to_host(topology, gpu)) << "no 32-bit ones";
  gpu.links[0].flags = 1 | 8;
  EXPECT_FALSE(has_atomics_to_host(topology, gpu));
}

// Two sockets with a GPU each, whose memory the first one's host can access.
TEST(KfdTopology, AddsLinksThroughOtherHost) {
  KfdTopology topology;
  topology.nodes.resize(4);
  for (uint32_t i = 0; i < 4; ++i) topology.nodes[i].number = i;
  topology.nodes[2].gpu_id = 11;
  topology.nodes[3].gpu_id = 12;
  const auto link = [&](uint32_t from, uint32_t to, uint32_t weight, uint32_t bandwidth, uint32_t flags) {
    topology.nodes[from].links.push_back(
        {.type = 2, .from = from, .to = to, .weight = weight, .max_bandwidth = bandwidth, .flags = flags});
  };
  link(0, 1, 20, 9000, 1), link(1, 0, 20, 9000, 1);
  link(2, 0, 10, 16000, 1 | 8), link(3, 1, 10, 16000, 1);
  link(0, 2, 10, 16000, 1);
  add_links_by_hosts(topology);
  const KfdNode& gpu = topology.nodes[2];
  ASSERT_EQ(gpu.links.size(), 2u);
  EXPECT_EQ(gpu.links[1].from, 2u);
  EXPECT_EQ(gpu.links[1].to, 1u);
  EXPECT_EQ(gpu.links[1].weight, 30u);
  EXPECT_EQ(gpu.links[1].max_bandwidth, 9000u);
  EXPECT_EQ(gpu.links[1].flags, 1u | 8u) << "what either of them cannot do";
  ASSERT_EQ(topology.nodes[3].links.size(), 2u);
  EXPECT_EQ(topology.nodes[3].links[1].to, 0u);
  ASSERT_EQ(topology.nodes[1].links.size(), 2u)
      << "the other socket's GPU, and not its own, which it does not see";
  EXPECT_EQ(topology.nodes[1].links[1].to, 2u);
  EXPECT_EQ(topology.nodes[0].links.size(), 2u);
}

class KfdBoards : public ::testing::TestWithParam<const char*> {};

TEST_P(KfdBoards, HostAndGpuShareAddresses) {
  const auto kfd = open_vgpu(GetParam());
  ASSERT_NE(kfd, nullptr);
  const auto block =
      kfd->allocate(*kfd->gpus().front(), {.flags = KFD_MEM_GTT | KFD_MEM_WRITABLE, .size = 8192});
  ASSERT_TRUE(block);
  EXPECT_LE(reinterpret_cast<uint64_t>(block->address) + 8191, kfd->address_limit());
  std::memset(block->address, 1, 8192);
  EXPECT_EQ(kfd->map(block->handle, kfd->all_gpu_ids()), HSA_STATUS_SUCCESS);
  kfd->free(*block);
}

TEST_P(KfdBoards, ReservesAlignedAddresses) {
  const auto kfd = open_vgpu(GetParam());
  ASSERT_NE(kfd, nullptr);
  for (const uint64_t alignment : {uint64_t{4096}, uint64_t{2} << 20}) {
    void* const first = kfd->reserve(3 << 20, alignment);
    void* const second = kfd->reserve(3 << 20, alignment);
    ASSERT_NE(first, nullptr);
    ASSERT_NE(second, nullptr);
    EXPECT_NE(first, second);
    EXPECT_EQ(reinterpret_cast<uint64_t>(second) % alignment, 0u);
    EXPECT_LE(reinterpret_cast<uint64_t>(second) + (3 << 20) - 1, kfd->address_limit());
    kfd->release_addresses(first, 3 << 20);
    kfd->release_addresses(second, 3 << 20);
  }
}

TEST_P(KfdBoards, AllocationFailsWithoutVideoMemory) {
  const auto kfd = open_vgpu(GetParam());
  ASSERT_NE(kfd, nullptr);
  const KfdGpu& gpu = *kfd->gpus().front();
  const auto before = kfd->available_memory(gpu);
  ASSERT_TRUE(before);
  const KfdBlockRequest request{
      .flags = KFD_MEM_VRAM | KFD_MEM_WRITABLE, .size = *before + 4096, .host = HostAccess::kNone};
  EXPECT_EQ(kfd->allocate(gpu, request).error(), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  EXPECT_EQ(kfd->available_memory(gpu).value(), *before);
}

TEST_P(KfdBoards, ClocksAreMonotonic) {
  const auto kfd = open_vgpu(GetParam());
  ASSERT_NE(kfd, nullptr);
  const auto first = kfd->clocks(kfd->gpus().front());
  ASSERT_TRUE(first);
  auto later = first;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (later && std::chrono::steady_clock::now() < end &&
         (later->gpu_clock_counter == first->gpu_clock_counter ||
          later->system_clock_counter == first->system_clock_counter)) {
    later = kfd->clocks(kfd->gpus().front());
  }
  ASSERT_TRUE(later);
  EXPECT_GT(later->gpu_clock_counter, first->gpu_clock_counter);
  EXPECT_GT(later->system_clock_counter, first->system_clock_counter);
  EXPECT_EQ(kfd->set_xnack(false), 0);
  EXPECT_EQ(kfd->set_xnack(true), -EPERM) << "no board retries faults";
  EXPECT_FALSE(kfd->xnack_enabled());
}

TEST_P(KfdBoards, MapsRegistersOnce) {
  const auto kfd = open_vgpu(GetParam());
  ASSERT_NE(kfd, nullptr);
  KfdGpu* const gpu = kfd->gpu_of_node(1);
  ASSERT_NE(gpu, nullptr);
  void* const page = kfd->registers(*gpu);
  if (gpu->doorbell_bytes == 4) {
    EXPECT_EQ(page, nullptr) << "gfx8 has no page of registers for programs";
    return;
  }
  ASSERT_NE(page, nullptr);
  EXPECT_EQ(kfd->registers(*gpu), page);
}

INSTANTIATE_TEST_SUITE_P(All, KfdBoards,
                         ::testing::Values("gfx803:vram=64M", "gfx900:vram=64M", "gfx1030:vram=64M",
                                           "gfx900:vram=64M,gfx803:vram=64M"),
                         testing::board_test_name);

TEST(KfdSharing, DmabufAliasesMemoryAtOtherAddress) {
  const auto kfd = open_vgpu("gfx900:vram=64M");
  ASSERT_NE(kfd, nullptr);
  const KfdGpu& gpu = *kfd->gpus().front();
  const auto block =
      kfd->allocate(gpu, {.flags = KFD_MEM_VRAM | KFD_MEM_WRITABLE | KFD_MEM_PUBLIC, .size = 1 << 20});
  ASSERT_TRUE(block);
  const auto descriptor = kfd->export_dmabuf(block->handle);
  ASSERT_TRUE(descriptor);
  const auto info = kfd->dmabuf_info(*descriptor);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->size, uint64_t{1} << 20);
  EXPECT_EQ(info->gpu_id, gpu.gpu_id);
  EXPECT_NE(info->flags & KFD_MEM_PUBLIC, 0u);
  void* const place = kfd->reserve(info->size, 4096);
  const auto handle = kfd->import_dmabuf(gpu, *descriptor, place);
  ASSERT_TRUE(handle);
  ASSERT_NE(kfd->transport().mmap(place, info->size, PROT_READ, MAP_SHARED | MAP_FIXED, *descriptor, 0),
            nullptr);
  ::close(*descriptor);
  static_cast<char*>(block->address)[4097] = 'x';
  EXPECT_EQ(static_cast<char*>(place)[4097], 'x');
  EXPECT_EQ(kfd->map(*handle, kfd->all_gpu_ids()), HSA_STATUS_SUCCESS);
  kfd->free({place, info->size, *handle});
  kfd->free(*block);
}

TEST(KfdSharing, ShareNameFindsMemory) {
  const auto kfd = open_vgpu("gfx900:vram=64M");
  ASSERT_NE(kfd, nullptr);
  const KfdGpu& gpu = *kfd->gpus().front();
  const auto block =
      kfd->allocate(gpu, {.flags = KFD_MEM_VRAM | KFD_MEM_WRITABLE | KFD_MEM_PUBLIC, .size = 1 << 20});
  ASSERT_TRUE(block);
  auto name = kfd->share(gpu, block->handle);
  ASSERT_TRUE(name);
  void* const place = kfd->reserve(1 << 20, 4096);
  const auto shared = kfd->import_shared(gpu, *name, place);
  ASSERT_TRUE(shared);
  ASSERT_NE(kfd->transport().mmap(place, 1 << 20, PROT_READ, MAP_SHARED | MAP_FIXED, gpu.render_fd,
                                  shared->mmap_offset),
            nullptr);
  static_cast<char*>(block->address)[0] = 'y';
  EXPECT_EQ(static_cast<char*>(place)[0], 'y');
  kfd->free({place, 1 << 20, shared->handle});
  (*name)[2] ^= 1;
  EXPECT_EQ(kfd->import_shared(gpu, *name, place).error(), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  kfd->free(*block);
}

TEST(KfdSharing, RejectsOtherDescriptors) {
  const auto kfd = open_vgpu("gfx900:vram=64M");
  ASSERT_NE(kfd, nullptr);
  for (const int descriptor : {-1, 0, kfd->gpus().front()->render_fd}) {
    EXPECT_EQ(kfd->dmabuf_info(descriptor).error(), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  }
  EXPECT_EQ(kfd->export_dmabuf(12345).error(), HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

/// Makes one ioctl of /dev/kfd fail, once. Counts the pages of events that the driver has accepted.
struct FailsOnce {
  static inline uint32_t number = 0;
  static inline int pages = 0;

  static int32_t ioctl(void* driver, int32_t fd, uint64_t request, void* argument) {
    if (_IOC_TYPE(request) != KFD_ABI_IOCTL_TYPE) return testing::vgpu_ioctl(driver, fd, request, argument);
    if (_IOC_NR(request) == number) return number = 0, -ENOMEM;
    const bool has_page = _IOC_NR(request) == KFD_NR_CREATE_EVENT &&
                          static_cast<const kfd_create_event*>(argument)->event_page_offset != 0;
    const int32_t result = testing::vgpu_ioctl(driver, fd, request, argument);
    pages += has_page && result == 0;
    return result;
  }
};

// A connection to the kernel is kept when its GPUs are omitted, and reused by the next runtime.
TEST(KfdEvents, PassPageAgainIfDriverRejectedIt) {
  for (const uint32_t number : {KFD_NR_ALLOC_MEMORY, KFD_NR_MAP_MEMORY, KFD_NR_CREATE_EVENT}) {
    SCOPED_TRACE(number);
    const auto kfd = open_vgpu("gfx900:vram=64M", FailsOnce::ioctl);
    ASSERT_NE(kfd, nullptr);
    FailsOnce::number = number;
    FailsOnce::pages = 0;
    EXPECT_FALSE(KfdEvents::create(*kfd, {}));
    EXPECT_EQ(FailsOnce::number, 0u) << "it has failed";
    for (int round = 0; round < 2; ++round) {
      EXPECT_TRUE(KfdEvents::create(*kfd, {}));
      EXPECT_EQ(FailsOnce::pages, 1);
    }
  }
}

#if HSABE_SANITIZER == HSABE_SANITIZER_NONE
/// Calls `function` with each of its memory requests failing in turn.
template <class Prepare, class Function>
void without_memory(Prepare prepare, Function function) {
  for (int request = 0, failed = true; failed; ++request) {
    ASSERT_LT(request, 1000);
    auto prepared = prepare();
    ASSERT_NE(prepared, nullptr);
    request_that_fails = request;
    try {
      function(prepared);
    } catch (const std::bad_alloc&) {
    }
    failed = request_that_fails < 0;
    request_that_fails = -1;
  }
}

TEST(Kfd, SurvivesOutOfMemory) {
  const auto with_pages = [] {
    auto kfd = open_vgpu("gfx900:vram=64M");
    if (kfd == nullptr) return kfd;
    KfdGpu& gpu = *kfd->gpus().front();
    EXPECT_NE(kfd->doorbell(gpu, KFD_MMAP_TYPE_DOORBELL | KFD_MMAP_GPU_ID(gpu.gpu_id), 0), nullptr);
    EXPECT_NE(kfd->registers(gpu), nullptr);
    EXPECT_TRUE(kfd->event_page());
    return kfd;
  };
  without_memory(with_pages, [](std::unique_ptr<Kfd>& kfd) { kfd.reset(); });
}

TEST(Kfd, ClosesDescriptorsWithoutMemoryForGpu) {
  const auto open_files = [] {
    const std::filesystem::directory_iterator files("/proc/self/fd");
    return std::distance(begin(files), end(files));
  };
  const auto before = open_files();
  const auto without_gpus = [] {
    auto kfd = Kfd::open(start_vgpu("gfx900:vram=64M"), *std::make_unique<std::string>());
    return kfd ? std::move(*kfd) : nullptr;
  };
  without_memory([] { return std::make_unique<std::unique_ptr<Transport>>(start_vgpu("gfx900:vram=64M")); },
                 [](auto& transport) {
                   std::string why;
                   static_cast<void>(Kfd::open(std::move(*transport), why));
                 });
  EXPECT_EQ(open_files(), before) << "without memory for the connection";
  const auto topology = read_kfd_topology(without_gpus()->transport());
  ASSERT_TRUE(topology);
  without_memory(without_gpus, [&](std::unique_ptr<Kfd>& kfd) {
    std::string why;
    static_cast<void>(kfd->add_gpu(topology->nodes[1], why));
  });
  EXPECT_EQ(open_files(), before);
}

TEST(DeviceSignals, AllocateNoSlabWithoutMemory) {
  const auto kfd = open_vgpu("gfx900:vram=64M");
  ASSERT_NE(kfd, nullptr);
  const auto signals = DeviceSignals::begin(*kfd, {0x1000, 7}, {0x1008, 8});
  ASSERT_TRUE(signals);
  void* slab = nullptr;
  for (int request = 0; slab == nullptr; ++request) {
    ASSERT_LT(request, 100);
    request_that_fails = request;
    slab = signal_pool::take_slab();
    request_that_fails = -1;
  }
}
#endif

TEST(DeviceSignals, ArePinnedByEachRuntime) {
  for (int round = 0; round < 3; ++round) {
    const auto kfd = open_vgpu("gfx803:vram=64M");
    ASSERT_NE(kfd, nullptr);
    const auto signals = DeviceSignals::begin(*kfd, {0x1000, 7}, {0x1008, 8});
    ASSERT_TRUE(signals);
    Signal* const signal = signal_pool::create(1);
    ASSERT_NE(signal, nullptr);
    EXPECT_EQ(signal->abi.event_id, 7u);
    signal_pool::destroy(*signal);
    Signal* const exception_signal = signal_pool::create(1, kSignalException);
    ASSERT_NE(exception_signal, nullptr);
    EXPECT_EQ(exception_signal->abi.event_mailbox_ptr, 0x1008u);
    EXPECT_EQ(exception_signal->abi.event_id, 8u);
    signal_pool::destroy(*exception_signal);
  }
  Signal* const later = signal_pool::create(1);
  EXPECT_EQ(later->abi.event_mailbox_ptr, 0u) << "no device is there to announce it";
  signal_pool::destroy(*later);
}

}  // namespace
}  // namespace rigel
