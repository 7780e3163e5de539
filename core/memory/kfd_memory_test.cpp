// Memory of GPUs, with the virtual GPU as an in-process transport: the driver's objects when the runtime is
// out of memory.
#include "core/memory/kfd_memory.hpp"

#include <amdgpu_drm.h>
#include <drm.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <iterator>
#include <memory>
#include <new>

#include "api/support/testing/failing_requests.hpp"
#include "core/driver/testing/vgpu.hpp"
#include "core/memory/host_provider.hpp"
#include "core/memory/kfd_importer.hpp"

namespace rigel {
namespace {

#if HSABE_SANITIZER == HSABE_SANITIZER_NONE
constexpr size_t kBytes = 2 << 20;

/// Counts of the driver's objects for this process.
struct Driver {
  static inline int objects = 0;                      // memory objects
  static inline int buffers = 0;                      // buffers of render nodes
  static inline std::array<bool, 1 << 16> reach{};    // by GPU: whether it has an object mapped
  static inline bool mapped = false;                  // whether a render node has a buffer mapped
  static inline std::array<uint32_t, 1024> rights{};  // rights to the last mapping, by render node

  static int32_t ioctl(void* driver, int32_t fd, uint64_t request, void* argument) {
    const int32_t result = testing::vgpu_ioctl(driver, fd, request, argument);
    if (result != 0) return result;
    if (_IOC_TYPE(request) == KFD_ABI_IOCTL_TYPE) {
      objects += _IOC_NR(request) == KFD_NR_ALLOC_MEMORY || _IOC_NR(request) == KFD_NR_IMPORT_DMABUF;
      objects -= _IOC_NR(request) == KFD_NR_FREE_MEMORY;
      const uint64_t number = _IOC_NR(request);
      if (number == KFD_NR_MAP_MEMORY || number == KFD_NR_UNMAP_MEMORY) {
        const auto& change = *static_cast<const kfd_map_memory*>(argument);
        const auto* const gpus = reinterpret_cast<const uint32_t*>(change.device_ids_array_ptr);
        for (uint32_t i = 0; i < change.n_devices; ++i) reach.at(gpus[i]) = number == KFD_NR_MAP_MEMORY;
      }
    } else {
      buffers += request == DRM_IOCTL_PRIME_FD_TO_HANDLE;
      buffers -= request == DRM_IOCTL_GEM_CLOSE;
      if (request == DRM_IOCTL_AMDGPU_GEM_VA) {
        const auto& change = *static_cast<const drm_amdgpu_gem_va*>(argument);
        mapped = change.operation == AMDGPU_VA_OP_REPLACE;
        rights.at(static_cast<size_t>(fd)) = mapped ? change.flags : 0;
      }
    }
    return result;
  }
};

class KfdWithoutMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    Driver::objects = Driver::buffers = 0;
    Driver::mapped = false;
    kfd_ = testing::open_vgpu("gfx900:vram=64M,gfx900:vram=64M", Driver::ioctl);
    ASSERT_NE(kfd_, nullptr);
    agents_ = std::make_unique<KfdAgents>(*kfd_);
    agents_->add(1, *kfd_->gpus().front());
    agents_->add(2, *kfd_->gpus().back());
    gpu_.add(1);
  }

  /// Runs `attempt` with each of its memory requests failing in turn, and `check` in between.
  template <class Try, class Check>
  static void try_without_memory(Try&& attempt, Check&& check) {
    bool done = false;
    for (int request = 0; !done; ++request) {
      SCOPED_TRACE(request);
      ASSERT_LT(request, 100);
      request_that_fails = request;
      try {
        done = attempt();
      } catch (const std::bad_alloc&) {
      }
      request_that_fails = -1;
      if (!done) check();
    }
  }
  static void nothing_is_left() {
    EXPECT_EQ(Driver::objects, 0);
    EXPECT_EQ(Driver::buffers, 0);
    EXPECT_FALSE(Driver::mapped);
  }

  std::unique_ptr<Kfd> kfd_;
  std::unique_ptr<KfdAgents> agents_;
  AgentSet gpu_;
};

TEST_F(KfdWithoutMemory, FreesLocalMemory) {
  KfdLocalProvider local(*agents_, *kfd_->gpus().front(), 0);
  Result<Backing> block = error(HSA_STATUS_ERROR);
  try_without_memory(
      [&] {
        block = local.map({.size = kBytes, .alignment = kBytes});
        return block.has_value();
      },
      nothing_is_left);
  ASSERT_TRUE(block);
  try_without_memory([&] { return local.set_access(*block, {}) == HSA_STATUS_SUCCESS; },
                     [] { EXPECT_EQ(Driver::objects, 1); });
  local.unmap(*block);
  nothing_is_left();
}

TEST_F(KfdWithoutMemory, RegistersHostMemoryOnce) {
  KfdHostProvider host(*agents_, 0, 0);
  for (const uint32_t flags : {0u, uint32_t{HSA_AMD_MEMORY_POOL_UNCACHED_FLAG}}) {
    const auto block = host.map({.size = kBytes, .alignment = kBytes, .flags = flags});
    ASSERT_TRUE(block);
    try_without_memory([&] { return host.set_access(*block, gpu_) == HSA_STATUS_SUCCESS; },
                       [] { EXPECT_LE(Driver::objects, 1); });
    EXPECT_EQ(Driver::objects, 1);
    host.unmap(*block);
    nothing_is_left();
  }
}

TEST_F(KfdWithoutMemory, FreesPhysicalMemory) {
  KfdLocalProvider local(*agents_, *kfd_->gpus().front(), 0);
  std::unique_ptr<PhysicalMemory> memory;
  try_without_memory(
      [&] {
        auto made = local.create_physical(kBytes, 0);
        if (made) memory = std::move(*made);
        return made.has_value();
      },
      nothing_is_left);
  ASSERT_NE(memory, nullptr);
  void* const place = kfd_->reserve(kBytes, kBytes);
  try_without_memory(
      [&] {
        if (memory->map(place, kBytes) != HSA_STATUS_SUCCESS) return false;
        return memory->set_access(place, kBytes, {.readers = gpu_, .writers = gpu_}) == HSA_STATUS_SUCCESS;
      },
      [&] {
        memory->unmap(place, kBytes);
        EXPECT_FALSE(Driver::mapped);
      });
  EXPECT_TRUE(Driver::mapped);
  memory->unmap(place, kBytes);
  memory.reset();
  nothing_is_left();
  kfd_->release_addresses(place, kBytes);
}

TEST_F(KfdWithoutMemory, RightsChangeForAllGpusOrNone) {
  AgentSet both = gpu_;
  both.add(2);
  for (const uint32_t owner : {1u, 2u}) {  // of two GPUs, the second has no rights yet
    AgentSet own;
    own.add(owner);
    KfdLocalProvider local(*agents_, *kfd_->gpus()[owner - 1], 0);
    const auto memory = local.create_physical(kBytes, 0);
    ASSERT_TRUE(memory);
    void* const place = kfd_->reserve(kBytes, kBytes);
    ASSERT_EQ((*memory)->map(place, kBytes), HSA_STATUS_SUCCESS);
    ASSERT_EQ((*memory)->set_access(place, kBytes, {.readers = own, .writers = own}), HSA_STATUS_SUCCESS);
    const auto before = Driver::rights;
    try_without_memory(
        [&] {
          return (*memory)->set_access(place, kBytes, {.readers = both, .writers = {}}) == HSA_STATUS_SUCCESS;
        },
        [&] { EXPECT_EQ(Driver::rights, before); });
    EXPECT_NE(Driver::rights, before);
    (*memory)->unmap(place, kBytes);
    kfd_->release_addresses(place, kBytes);
  }
}

TEST_F(KfdWithoutMemory, HostMemoryRightsChangeForAllGpusOrNone) {
  AgentSet both = gpu_;
  both.add(2);
  KfdHostProvider host(*agents_, 0, 0);
  const auto memory = host.create_physical(kBytes, 0);
  ASSERT_TRUE(memory);
  void* const place = kfd_->reserve(kBytes, kBytes);
  ASSERT_EQ((*memory)->map(place, kBytes), HSA_STATUS_SUCCESS);
  ASSERT_EQ((*memory)->set_access(place, kBytes, {.readers = gpu_, .writers = gpu_}), HSA_STATUS_SUCCESS);
  const auto before = Driver::reach;
  try_without_memory(
      [&] {
        return (*memory)->set_access(place, kBytes, {.readers = both, .writers = {}}) == HSA_STATUS_SUCCESS;
      },
      [&] { EXPECT_EQ(Driver::reach, before); });
  EXPECT_NE(Driver::reach, before);
  (*memory)->unmap(place, kBytes);
  kfd_->release_addresses(place, kBytes);
}

TEST_F(KfdWithoutMemory, UnpinsMemoryOfApplication) {
  KfdPinner pinner(*agents_);
  void* const memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  Result<void*> seen = error(HSA_STATUS_ERROR);
  try_without_memory(
      [&] {
        seen = pinner.pin(memory, kBytes, gpu_, 0);
        return seen.has_value();
      },
      nothing_is_left);
  ASSERT_TRUE(seen);
  pinner.unpin(memory, kBytes, *seen);
  nothing_is_left();
  ::munmap(memory, kBytes);
}

TEST_F(KfdWithoutMemory, ReleasesImportedMemory) {
  KfdLocalProvider local(*agents_, *kfd_->gpus().front(), 0);
  const auto block = local.map({.size = kBytes, .alignment = kBytes});
  ASSERT_TRUE(block);
  const auto descriptor = local.export_block(*block);
  ASSERT_TRUE(descriptor);
  KfdImporter importer(*agents_);
  Result<ImportedBlock> imported = error(HSA_STATUS_ERROR);
  try_without_memory(
      [&] {
        imported = importer.open(*descriptor, gpu_);
        return imported.has_value();
      },
      [] { EXPECT_EQ(Driver::objects, 1); });
  ASSERT_TRUE(imported);
  try_without_memory([&] { return importer.set_access(*imported, gpu_) == HSA_STATUS_SUCCESS; }, [] {});
  importer.close(*imported);
  EXPECT_EQ(Driver::objects, 1);
  kfd_->transport().close(*descriptor);
  local.unmap(*block);
  nothing_is_left();
}

TEST_F(KfdWithoutMemory, ClosesMemoryFiles) {
  const auto open_files = [] {
    const std::filesystem::directory_iterator files("/proc/self/fd");
    return std::distance(begin(files), end(files));
  };
  HostProvider host;
  std::unique_ptr<PhysicalMemory> memory;
  auto before = open_files();
  try_without_memory(
      [&] {
        auto made = host.create_physical(kBytes, 0);
        if (made) memory = std::move(*made);
        return made.has_value();
      },
      [&] { EXPECT_EQ(open_files(), before); });
  ASSERT_NE(memory, nullptr);
  const auto descriptor = memory->export_descriptor();
  ASSERT_TRUE(descriptor);
  before = open_files();
  try_without_memory([&] { return host.import_physical(*descriptor).has_value(); },
                     [&] { EXPECT_EQ(open_files(), before); });
  EXPECT_EQ(open_files(), before);
  ::close(*descriptor);
}
#endif

}  // namespace
}  // namespace rigel
