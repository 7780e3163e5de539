// Shared by the parts of driver_program: checks, child processes, and a GPU with a queue.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "hsa_plugin/kfd_abi.h"

namespace driver_program {

#define EXPECT(condition)                                                                 \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      std::printf("%s:%d: %s does not hold (errno %s)\n", __FILE__, __LINE__, #condition, \
                  strerrorname_np(errno));                                                \
      std::exit(1);                                                                       \
    }                                                                                     \
  } while (false)

// The checks that are not in driver_program.cpp.
void check_fork();
void check_vfork();
void check_exec();
void check_first();
void check_early();
void check_handlers();
int check_inherited_descriptors(int kfd);  // runs in the program that check_exec() executes
void check_cancel();
void check_signals();
void check_interrupts();
void check_masks();
void check_handles();
void check_bypassed_mmap();

constexpr const char* kNodes = "/sys/class/kfd/kfd/topology/nodes";
constexpr const char* kProperties = "/sys/class/kfd/kfd/topology/nodes/1/properties";
constexpr const char* kRealNodes = "/sys/devices/virtual/kfd/kfd/topology/nodes";

template <class T>
int call(int fd, uint32_t number, T& arguments) {
  return ioctl(fd, 3ul << 30 | sizeof(T) << 16 | KFD_ABI_IOCTL_TYPE << 8 | number, &arguments);
}

inline bool is_working(int kfd) {
  kfd_get_version version{};
  return call(kfd, KFD_NR_GET_VERSION, version) == 0 && version.major == 1;
}

// Runs `body` in a child, which exits with its result; returns that or 128 + signal.
template <class Body>
int in_child(Body body) {
  const pid_t pid = fork();
  if (pid == 0) _exit(body());
  int status = 0;
  EXPECT(waitpid(pid, &status, 0) == pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

inline std::vector<std::string> names_of(DIR* directory) {
  std::vector<std::string> names;
  while (const dirent* entry = readdir(directory)) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  return names;
}

// A GPU with a copy queue and its doorbells ----------------------------------------------------------------

struct Gpu {
  static constexpr uint32_t kDoorbellBytes = 8192, kRingBytes = 4096;
  int kfd = -1, render = -1;
  uint32_t id = 0, queue = 0;
  std::byte* doorbells = nullptr;
  std::byte* memory = nullptr;  // ring, pointers, and a page for results
  std::atomic<uint64_t>* doorbell = nullptr;
  uint64_t write_index = 0;

  Gpu() {
    kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
    render = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
    EXPECT(kfd >= 0 && render >= 0);
    std::ifstream(std::string(kNodes) + "/1/gpu_id") >> id;
    EXPECT(id != 0);
    kfd_acquire_vm acquire{static_cast<uint32_t>(render), id};
    EXPECT(call(kfd, KFD_NR_ACQUIRE_VM, acquire) == 0);
    map_doorbells(nullptr);
    memory = static_cast<std::byte*>(
        mmap(nullptr, 3 * kRingBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (int page = 0; page < 3; ++page) share(memory + page * kRingBytes);
  }
  void map_doorbells(void* at) {
    void* const p = mmap(at, kDoorbellBytes, PROT_READ | PROT_WRITE,
                         MAP_SHARED | (at != nullptr ? MAP_FIXED : 0), kfd, doorbell_mmap_offset());
    EXPECT(p != MAP_FAILED);
    doorbells = static_cast<std::byte*>(p);
  }
  off_t doorbell_mmap_offset() const {
    return static_cast<off_t>(KFD_MMAP_TYPE_DOORBELL | KFD_MMAP_GPU_ID(id));
  }
  void share(std::byte* page) {
    const auto va = reinterpret_cast<uint64_t>(page);
    kfd_alloc_memory a{va, kRingBytes, 0, va, id, KFD_MEM_USERPTR | KFD_MEM_WRITABLE};
    EXPECT(call(kfd, KFD_NR_ALLOC_MEMORY, a) == 0);
    kfd_map_memory m{a.handle, reinterpret_cast<uint64_t>(&id), 1, 0};
    EXPECT(call(kfd, KFD_NR_MAP_MEMORY, m) == 0);
  }
  void make_queue() { EXPECT(try_make_queue() == 0); }
  int try_make_queue() {
    kfd_create_queue a{};
    a.ring_base_address = reinterpret_cast<uint64_t>(memory);
    a.ring_size = kRingBytes;
    a.write_pointer_address = reinterpret_cast<uint64_t>(memory + kRingBytes);
    a.read_pointer_address = a.write_pointer_address + 8;
    a.gpu_id = id;
    a.queue_type = KFD_QUEUE_SDMA;
    a.queue_percentage = 100;
    if (call(kfd, KFD_NR_CREATE_QUEUE, a) != 0) return errno;
    queue = a.queue_id;
    set_doorbell_position(a.doorbell_offset & (kDoorbellBytes - 1));
    return 0;
  }
  void set_doorbell_position(uint64_t offset) {
    doorbell_position = offset;
    doorbell = reinterpret_cast<std::atomic<uint64_t>*>(doorbells + offset);
  }
  uint64_t doorbell_position = 0;
  std::atomic<uint32_t>& result() {
    return *reinterpret_cast<std::atomic<uint32_t>*>(memory + 2 * kRingBytes);
  }

  // Writes a FENCE packet that stores `value`, without ringing the doorbell.
  uint64_t write_fence(uint32_t value) {
    const auto to = reinterpret_cast<uint64_t>(&result());
    const uint32_t words[] = {5, static_cast<uint32_t>(to), static_cast<uint32_t>(to >> 32), value};
    std::memcpy(memory + write_index % kRingBytes, words, sizeof words);
    write_index += sizeof words;
    reinterpret_cast<std::atomic<uint64_t>*>(memory + kRingBytes)->store(write_index);
    return write_index;
  }
  void wait_for_result(uint32_t value) {
    for (int i = 0; result().load() != value; ++i) {
      EXPECT(i < 50000);
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }
  void fence(uint32_t value) {
    doorbell->store(write_fence(value));
    wait_for_result(value);
  }
  // Waits until the doorbell page is read-only; returns false if signals are disabled.
  bool wait_until_protected() {
    const bool uses_signals = std::getenv("VGPU_SIGNALS") == nullptr;
    for (int i = 0; i < (uses_signals ? 10000 : 5); ++i) {
      if (rights_of(doorbells) == "r--s") return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }
  static std::string rights_of(const void* page) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      uint64_t start = 0, end = 0;
      char rights[8] = "";
      if (std::sscanf(line.c_str(), "%lx-%lx %7s", &start, &end, rights) != 3) continue;
      const auto at = reinterpret_cast<uint64_t>(page);
      if (at >= start && at < end) return rights;
    }
    return "";
  }
};

}  // namespace driver_program
