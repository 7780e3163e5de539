// A virtual system for tests, with its ioctls as functions.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "hsa_plugin/kfd_abi.h"
#include "plugins/vgpu/kfd/system.hpp"

namespace rigel::vgpu {

class TestSystem {
 public:
  explicit TestSystem(const std::string& gpus = "gfx900:vram=64M", PeerLink link = PeerLink::kPcie,
                      bool threads = true) {
    auto virtual_system = parse_machine(gpus, link);
    EXPECT_TRUE(virtual_system) << virtual_system.error();
    ProcessOptions options;
    options.threads = threads;
    HostProperties host;
    host.memory_bytes = 1 << 30;
    system = std::make_unique<System>(std::move(*virtual_system), options, host,
                                      std::make_unique<Log>("none", ""));
    kfd = system->open("/dev/kfd", O_RDWR | O_CLOEXEC);
    EXPECT_GE(kfd, 0);
  }
  ~TestSystem() {
    for (const int fd : render) system->close(fd);
    if (kfd >= 0) system->close(kfd);
  }

  template <class T>
  int call(uint32_t number, T& arguments) {
    return system->ioctl(kfd, 3u << 30 | uint64_t{sizeof(T)} << 16 | KFD_ABI_IOCTL_TYPE << 8 | number,
                         &arguments);
  }

  uint32_t gpu_id(size_t index = 0) { return system->process().gpu(index).gpu().gpu_id; }

  /// Opens the render nodes and acquires the address spaces.
  void acquire() {
    for (size_t i = 0; i < system->process().gpu_count(); ++i) {
      const int fd = system->open("/dev/dri/renderD" + std::to_string(128 + i), O_RDWR | O_CLOEXEC);
      ASSERT_GE(fd, 0);
      render.push_back(fd);
      kfd_acquire_vm a{static_cast<uint32_t>(fd), gpu_id(i)};
      ASSERT_EQ(call(KFD_NR_ACQUIRE_VM, a), 0);
    }
  }

  struct Allocation {
    int error = 0;
    uint64_t handle = 0, va = 0, offset = 0;
  };
  Allocation allocate(uint32_t flags, uint64_t bytes, uint64_t va, uint64_t offset = 0, size_t gpu = 0) {
    kfd_alloc_memory a{};
    a.va_addr = va;
    a.size = bytes;
    a.mmap_offset = offset;
    a.gpu_id = gpu_id(gpu);
    a.flags = flags;
    const int error = call(KFD_NR_ALLOC_MEMORY, a);
    return {error, a.handle, va, a.mmap_offset};
  }
  int free(uint64_t handle) {
    kfd_free_memory a{handle};
    return call(KFD_NR_FREE_MEMORY, a);
  }
  int map(uint64_t handle, size_t gpu = 0, bool on = true) {
    uint32_t id = gpu_id(gpu);
    kfd_map_memory a{handle, reinterpret_cast<uint64_t>(&id), 1, 0};
    return call(on ? KFD_NR_MAP_MEMORY : KFD_NR_UNMAP_MEMORY, a);
  }
  /// A buffer of program memory, mapped on the GPU at the same address.
  struct Shared {
    std::byte* address;
    uint64_t handle;
  };
  Shared share(uint64_t bytes, uint32_t more_flags = 0) {
    void* const p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const auto a = allocate(KFD_MEM_USERPTR | KFD_MEM_WRITABLE | KFD_MEM_EXECUTABLE | more_flags, bytes,
                            reinterpret_cast<uint64_t>(p), reinterpret_cast<uint64_t>(p));
    EXPECT_EQ(a.error, 0);
    EXPECT_EQ(map(a.handle), 0);
    return {static_cast<std::byte*>(p), a.handle};
  }
  Translation translate(uint64_t va, uint64_t bytes, Access access, size_t gpu = 0) {
    return system->process().gpu(gpu).translate(va, bytes, access);
  }

  std::unique_ptr<System> system;
  int kfd = -1;
  std::vector<int> render;
};

}  // namespace rigel::vgpu
