// What programs do to the driver's files that runtimes never do: run under `vgpu-run --gpu gfx900` by
// preload_test.cpp, with the name of a check. It is made of the C library and the driver's interface alone.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
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
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "hsa_plugin/kfd_abi.h"

extern __attribute__((visibility("default"))) int early_kfd;                    // of early_library.cpp
extern "C" sighandler_t bsd_signal(int signal, sighandler_t handler) noexcept;  // headers hide it

namespace {

#define EXPECT(condition)                                                                             \
  do {                                                                                                \
    if (!(condition)) {                                                                               \
      std::printf("%d: %s does not hold (errno %s)\n", __LINE__, #condition, strerrorname_np(errno)); \
      std::exit(1);                                                                                   \
    }                                                                                                 \
  } while (false)

constexpr const char* kNodes = "/sys/class/kfd/kfd/topology/nodes";
constexpr const char* kProperties = "/sys/class/kfd/kfd/topology/nodes/1/properties";
constexpr const char* kRealNodes = "/sys/devices/virtual/kfd/kfd/topology/nodes";

template <class T>
int call(int fd, uint32_t number, T& arguments) {
  return ioctl(fd, 3ul << 30 | sizeof(T) << 16 | KFD_ABI_IOCTL_TYPE << 8 | number, &arguments);
}

bool answers(int kfd) {
  kfd_get_version version{};
  return call(kfd, KFD_NR_GET_VERSION, version) == 0 && version.major == 1;
}

// The status of a child that runs `body`, which is its exit status.
template <class Body>
int in_child(Body body) {
  const pid_t pid = fork();
  if (pid == 0) _exit(body());
  int status = 0;
  EXPECT(waitpid(pid, &status, 0) == pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// A GPU with a copy queue and its doorbells ----------------------------------------------------------------

struct Gpu {
  static constexpr uint32_t kDoorbellBytes = 8192, kRing = 4096;
  int kfd = -1, render = -1;
  uint32_t id = 0, queue = 0;
  std::byte* doorbells = nullptr;
  std::byte* memory = nullptr;  // ring, pointers, and a page for results
  std::atomic<uint64_t>* doorbell = nullptr;
  uint64_t written = 0;

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
        mmap(nullptr, 3 * kRing, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (int page = 0; page < 3; ++page) share(memory + page * kRing);
  }
  void map_doorbells(void* at) {
    void* const p = mmap(at, kDoorbellBytes, PROT_READ | PROT_WRITE,
                         MAP_SHARED | (at != nullptr ? MAP_FIXED : 0), kfd, doorbell_offset());
    EXPECT(p != MAP_FAILED);
    doorbells = static_cast<std::byte*>(p);
  }
  off_t doorbell_offset() const { return static_cast<off_t>(KFD_MMAP_TYPE_DOORBELL | KFD_MMAP_GPU_ID(id)); }
  void share(std::byte* page) {
    const auto va = reinterpret_cast<uint64_t>(page);
    kfd_alloc_memory a{va, kRing, 0, va, id, KFD_MEM_USERPTR | KFD_MEM_WRITABLE};
    EXPECT(call(kfd, KFD_NR_ALLOC_MEMORY, a) == 0);
    kfd_map_memory m{a.handle, reinterpret_cast<uint64_t>(&id), 1, 0};
    EXPECT(call(kfd, KFD_NR_MAP_MEMORY, m) == 0);
  }
  void make_queue() { EXPECT(try_to_make_queue() == 0); }
  int try_to_make_queue() {
    kfd_create_queue a{};
    a.ring_base_address = reinterpret_cast<uint64_t>(memory);
    a.ring_size = kRing;
    a.write_pointer_address = reinterpret_cast<uint64_t>(memory + kRing);
    a.read_pointer_address = a.write_pointer_address + 8;
    a.gpu_id = id;
    a.queue_type = KFD_QUEUE_SDMA;
    a.queue_percentage = 100;
    if (call(kfd, KFD_NR_CREATE_QUEUE, a) != 0) return errno;
    queue = a.queue_id;
    at_doorbells(a.doorbell_offset & (kDoorbellBytes - 1));
    return 0;
  }
  void at_doorbells(uint64_t offset) {
    doorbell_at = offset;
    doorbell = reinterpret_cast<std::atomic<uint64_t>*>(doorbells + offset);
  }
  uint64_t doorbell_at = 0;
  std::atomic<uint32_t>& result() { return *reinterpret_cast<std::atomic<uint32_t>*>(memory + 2 * kRing); }

  // A FENCE packet that stores `value`, without its ring.
  uint64_t put_fence(uint32_t value) {
    const auto to = reinterpret_cast<uint64_t>(&result());
    const uint32_t words[] = {5, static_cast<uint32_t>(to), static_cast<uint32_t>(to >> 32), value};
    std::memcpy(memory + written % kRing, words, sizeof words);
    written += sizeof words;
    reinterpret_cast<std::atomic<uint64_t>*>(memory + kRing)->store(written);
    return written;
  }
  void await(uint32_t value) {
    for (int i = 0; result().load() != value; ++i) {
      EXPECT(i < 50000);
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }
  void fence(uint32_t value) {
    doorbell->store(put_fence(value));
    await(value);
  }
  // Until stores to the doorbells are watched by signals; false if they may not be.
  bool wait_until_watched() {
    const bool may_be = std::getenv("VGPU_SIGNALS") == nullptr;
    for (int i = 0; i < (may_be ? 10000 : 5); ++i) {
      if (rights_of(doorbells) == "r--s") return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }
  static std::string rights_of(const void* page) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      uint64_t begin = 0, end = 0;
      char rights[8] = "";
      if (std::sscanf(line.c_str(), "%lx-%lx %7s", &begin, &end, rights) != 3) continue;
      const auto at = reinterpret_cast<uint64_t>(page);
      if (at >= begin && at < end) return rights;
    }
    return "";
  }
};

// Checks --------------------------------------------------------------------------------------------------

std::vector<std::string> names_of(DIR* folder) {
  std::vector<std::string> names;
  while (const dirent* entry = readdir(folder)) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  return names;
}

void check_names() {
  const std::vector<std::string> both = {"0", "1"};
  DIR* const folder = opendir(kNodes);
  EXPECT(folder != nullptr);
  EXPECT(names_of(folder) == both);
  const int at = dirfd(folder);
  EXPECT(at >= 0);
  EXPECT(faccessat(at, "1/properties", R_OK, 0) == 0);
  EXPECT(faccessat(at, "7/properties", R_OK, 0) == -1 && errno == ENOENT);
  struct stat by_name {
  }, by_fd{}, link{};
  EXPECT(fstatat(at, "1/properties", &by_name, 0) == 0 && S_ISREG(by_name.st_mode) && by_name.st_size > 0);
  EXPECT(fstat(at, &by_fd) == 0 && S_ISDIR(by_fd.st_mode));
  EXPECT(by_fd.st_ino != by_name.st_ino);
  const int file = openat(at, "1/properties", O_RDONLY | O_CLOEXEC);
  EXPECT(file >= 0);
  EXPECT(fstat(file, &by_fd) == 0 && by_fd.st_ino == by_name.st_ino && by_fd.st_dev == by_name.st_dev);
  EXPECT(by_fd.st_mode == by_name.st_mode);
  close(file);
  closedir(folder);
  EXPECT(fcntl(at, F_GETFD) == -1);

  DIR* const again = opendir(kNodes);
  dirent entry{}, *result = nullptr;
  int count = 0;
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  while (readdir_r(again, &entry, &result) == 0 && result != nullptr) ++count;
  EXPECT(count == 4);
  closedir(again);
  EXPECT(opendir("/sys/class/kfd/kfd/topology/nodes/99") == nullptr && errno == ENOENT);
  EXPECT(opendir(kProperties) == nullptr && errno == ENOTDIR);

  dirent64** found = nullptr;
  EXPECT(scandir64(
             kNodes, &found, [](const dirent64* e) { return int{e->d_name[0] != '.'}; }, alphasort64) == 2);
  EXPECT(found[1]->d_name == std::string("1"));

  glob_t matches{};
  EXPECT(glob("/sys/class/kfd/kfd/topology/nodes/*/gpu_id", 0, nullptr, &matches) == 0);
  EXPECT(matches.gl_pathc == 2 &&
         matches.gl_pathv[1] == std::string("/sys/class/kfd/kfd/topology/nodes/1/gpu_id"));
  globfree(&matches);
  EXPECT(glob("/usr/*", 0, nullptr, &matches) == 0 && matches.gl_pathc > 1);
  globfree(&matches);

  char target[256];
  EXPECT(lstat("/sys/class/kfd/kfd", &link) == 0 && S_ISLNK(link.st_mode));
  EXPECT(stat("/sys/class/kfd/kfd", &link) == 0 && S_ISDIR(link.st_mode));
  ssize_t length = readlink("//sys/class/./kfd/kfd", target, sizeof target);
  EXPECT(std::string(target, static_cast<size_t>(std::max<ssize_t>(length, 0))) ==
         "/sys/devices/virtual/kfd/kfd");
  const int of_class = open("/sys/class/kfd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  EXPECT(of_class >= 0);
  EXPECT(readlinkat(of_class, "kfd", target, sizeof target) == length);
  close(of_class);
  EXPECT(readlink("/sys/dev/char/226:128/device/subsystem", target, sizeof target) == 12);
  EXPECT(readlink(kProperties, target, sizeof target) == -1 && errno == EINVAL);
  EXPECT(std::filesystem::canonical(kNodes) == kRealNodes);
  EXPECT(eaccess(kProperties, R_OK) == 0 && euidaccess(kProperties, W_OK) == -1);
  EXPECT(access("/dev/kfd", R_OK | W_OK) == 0 && access(kRealNodes, R_OK | X_OK) == 0);
  EXPECT(access("/dev/kfd", X_OK) == -1 && errno == EACCES);

  // Walkers take equal inodes for a loop.
  int files = 0;
  for (const auto& below : std::filesystem::recursive_directory_iterator(kRealNodes)) {
    files += below.is_regular_file() ? 1 : 0;
  }
  EXPECT(files > 10);

  FILE* stream = std::fopen("/dev/null", "re");
  stream = std::freopen("/sys/class/kfd/kfd/topology/nodes/1/gpu_id", "r", stream);
  EXPECT(stream != nullptr);
  unsigned gpu_id = 0;
  EXPECT(std::fscanf(stream, "%u", &gpu_id) == 1 && gpu_id != 0);
  EXPECT(std::freopen("/sys/class/kfd/kfd/topology/nodes/99/gpu_id", "r", stream) == nullptr &&
         errno == ENOENT);

  struct statx extended {};
  EXPECT(statx(AT_FDCWD, "/dev/dri/renderD128", 0, STATX_BASIC_STATS, &extended) == 0);
  EXPECT(S_ISCHR(extended.stx_mode) && extended.stx_rdev_major == 226 && extended.stx_rdev_minor == 128);
  // As Rust's library asks whether it is there.
  auto* const raw =
      reinterpret_cast<int (*)(int, const char*, int, unsigned, void*)>(dlsym(RTLD_DEFAULT, "statx"));
  EXPECT(raw(0, nullptr, 0, STATX_BASIC_STATS, nullptr) == -1 && errno == EFAULT);
  const int kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  std::memset(&extended, 0, sizeof extended);
  EXPECT(raw(kfd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &extended) == 0 && S_ISCHR(extended.stx_mode));
  // What cannot be a string.
  for (const uint64_t address : {uint64_t{0x10}, uint64_t{1} << 63, ~uint64_t{0}}) {
    const auto* const bad = reinterpret_cast<const char*>(address);
    EXPECT(open(bad, O_RDONLY | O_CLOEXEC) == -1 && errno == EFAULT);
    EXPECT(openat(kfd, bad, O_RDONLY | O_CLOEXEC) == -1 && errno == EFAULT);
    EXPECT(access(bad, F_OK) == -1 && errno == EFAULT);
    EXPECT(stat(bad, &by_fd) == -1 && errno == EFAULT);
    EXPECT(fstatat(kfd, bad, &by_fd, AT_EMPTY_PATH) == -1 && errno == EFAULT);
    EXPECT(raw(kfd, bad, AT_EMPTY_PATH, STATX_BASIC_STATS, &extended) == -1 && errno == EFAULT);
    EXPECT(readlink(bad, target, sizeof target) == -1 && errno == EFAULT);
  }
  // What the C library closes by itself is free for anything.
  EXPECT(std::ifstream("/dev/kfd").good());
  stream = std::fopen("/dev/dri/renderD128", "r+e");
  const int number = fileno(stream);
  EXPECT(std::fclose(stream) == 0);
  const int other = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  EXPECT(other <= number);
  EXPECT(fcntl(other, F_DUPFD_CLOEXEC, number) >= number);
  EXPECT(fstat(number, &by_fd) == 0 && S_ISREG(by_fd.st_mode));
  EXPECT(mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, number, 0) != MAP_FAILED);
  kfd_acquire_vm acquire{static_cast<uint32_t>(number), gpu_id};
  EXPECT(call(kfd, KFD_NR_ACQUIRE_VM, acquire) == -1);
  EXPECT(close_range(9, 3, 0) == -1 && errno == EINVAL);
  EXPECT(answers(kfd));
  // Requests that the kernel answers for every file.
  EXPECT(ioctl(kfd, FIONCLEX) == 0 && fcntl(kfd, F_GETFD) == 0);
  EXPECT(ioctl(kfd, FIOCLEX) == 0 && fcntl(kfd, F_GETFD) == FD_CLOEXEC);
}

void check_fork() {
  Gpu gpu;
  gpu.make_queue();
  gpu.fence(1);
  kfd_create_event event{};
  EXPECT(call(gpu.kfd, KFD_NR_CREATE_EVENT, event) == 0);
  void* const event_page = mmap(nullptr, KFD_EVENT_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, gpu.kfd,
                                static_cast<off_t>(KFD_MMAP_TYPE_EVENTS));
  EXPECT(event_page != MAP_FAILED);
  EXPECT(in_child([&] {
           kfd_get_version v{};
           if (call(gpu.kfd, KFD_NR_GET_VERSION, v) != -1 || errno != EBADF) return 1;
           void* const page =
               mmap(nullptr, Gpu::kDoorbellBytes, PROT_READ, MAP_SHARED, gpu.kfd, gpu.doorbell_offset());
           return page == MAP_FAILED && errno == EINVAL ? 0 : 2;
         }) == 0);
  // The parent's doorbells and events are not the child's.
  EXPECT(in_child([&] {
           gpu.doorbell->store(16);
           return 0;
         }) == 128 + SIGSEGV);
  EXPECT(in_child([&] { return *static_cast<volatile char*>(event_page); }) == 128 + SIGSEGV);
  // A number that the child closes is free for anything.
  EXPECT(in_child([&] {
           if (close(gpu.kfd) != 0) return 1;
           const int other = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
           if (other != gpu.kfd) return 2;
           struct stat status {};
           if (fstat(other, &status) != 0 || !S_ISREG(status.st_mode)) return 3;
           return mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, other, 0) != MAP_FAILED ? 0 : 4;
         }) == 0);
  EXPECT(in_child([&] {
           if (dup2(1, gpu.kfd) != gpu.kfd) return 1;
           struct stat one {
           }, two{};
           return fstat(1, &one) == 0 && fstat(gpu.kfd, &two) == 0 && one.st_ino == two.st_ino ? 0 : 2;
         }) == 0);
  // Nothing of the device is open in the child, and a GPU that it opens is its own.
  gpu.fence(2);
  gpu.wait_until_watched();
  EXPECT(in_child([&] {
           for (int fd = 700; fd < 1024; ++fd) {
             if (fcntl(fd, F_GETFD) != -1) return 1;
           }
           Gpu own;
           own.map_doorbells(gpu.doorbells);  // where its parent's were
           own.make_queue();
           for (uint32_t i = 7; i < 10; ++i) {
             own.fence(i);
             own.wait_until_watched();
           }
           for (int fd = 3; fd < 700; ++fd) close(fd);
           return in_child([&] { return answers(own.kfd) ? 1 : 0; });
         }) == 0);
  gpu.fence(3);
}

// What a child of vfork opens, closes and duplicates is put down in memory that it shares.
void check_vfork() {
  const auto in_vfork = [](auto body) {
    static volatile int result;
    result = -1;
    const pid_t pid = vfork();
    if (pid == 0) {
      result = body();
      _exit(0);
    }
    int status = 0;
    EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
    return int{result};
  };
  // The first call that could be one for a GPU.
  in_vfork([] { return access("/dev/kfd", R_OK); });
  const int kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  EXPECT(answers(kfd));
  const int opened = in_vfork([] { return open("/dev/kfd", O_RDWR | O_CLOEXEC); });
  const int other = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  EXPECT(opened == -1 || other == opened);
  struct stat status {};
  EXPECT(fstat(other, &status) == 0 && S_ISREG(status.st_mode));
  close(other);
  EXPECT(in_vfork([=] { return dup(kfd); }) == other);
  EXPECT(in_vfork([=] { return fcntl(kfd, F_DUPFD_CLOEXEC, 3); }) == other);
  const int third = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  EXPECT(fstat(third, &status) == 0 && S_ISREG(status.st_mode));
  EXPECT(in_vfork([=] { return close(kfd); }) == 0);
  EXPECT(in_vfork([=] { return close_range(3, ~0u, 0); }) == 0);
  EXPECT(answers(kfd));
  const int copy = dup(kfd);
  EXPECT(answers(copy));
  close(kfd);
  EXPECT(answers(copy));
  close(copy);

  // Its handlers are its own, too: the GPU has one of SIGSEGV, in front of the program's.
  Gpu gpu;
  gpu.make_queue();
  const sighandler_t handler = [](int) { _exit(3); };
  signal(SIGSEGV, handler);
  EXPECT(in_vfork([=] { return int{signal(SIGSEGV, SIG_DFL) == handler}; }) == 1);
  EXPECT(in_vfork([] {
           signal(SIGSEGV, SIG_IGN);
           struct sigaction now {};
           return sigaction(SIGSEGV, nullptr, &now) == 0 && now.sa_handler == SIG_IGN ? 0 : 1;
         }) == 0);
  struct sigaction now {};
  EXPECT(sigaction(SIGSEGV, nullptr, &now) == 0 && now.sa_handler == handler);
  gpu.wait_until_watched();
  gpu.fence(1);
}

// What a program finds that has inherited the descriptors `kfd` and `kfd + 1`, of a render node.
int main_of_heir(int kfd) {
  const int render = kfd + 1;
  EXPECT(!answers(kfd) && errno == EBADF);
  kfd_get_version request{};
  EXPECT(call(render, 0, request) == -1 && errno == EBADF);
  const uint64_t offsets[] = {KFD_MMAP_TYPE_DOORBELL, KFD_MMAP_TYPE_EVENTS, KFD_MMAP_GPU_ID(1)};
  for (const uint64_t offset : offsets) {
    EXPECT(mmap(nullptr, 4096, PROT_READ, MAP_SHARED, kfd, static_cast<off_t>(offset)) == MAP_FAILED);
    EXPECT(errno == EINVAL);
  }
  EXPECT(mmap(nullptr, 4096, PROT_READ, MAP_SHARED, render, off_t{1} << 32) == MAP_FAILED);
  // Other files are none of ours.
  const int other = memfd_create("other", MFD_CLOEXEC);
  EXPECT(call(other, KFD_NR_GET_VERSION, request) == -1 && errno == ENOTTY);
  EXPECT(mmap(nullptr, 4096, PROT_READ, MAP_SHARED, other, off_t{1} << 32) != MAP_FAILED);
  // What it opens itself is its own.
  const int own = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  EXPECT(answers(own) && !answers(kfd) && errno == EBADF);
  EXPECT(close(kfd) == 0 && close(render) == 0 && answers(own));
  return 0;
}

void check_exec() {
  const int kfd = open("/dev/kfd", O_RDWR);  // and it stays open
  EXPECT(answers(kfd));
  const int render = open("/dev/dri/renderD128", O_RDWR);
  EXPECT(render == kfd + 1);
  EXPECT(in_child([&] {
           execl("/proc/self/exe", "heir", std::to_string(kfd).c_str(), nullptr);
           return 9;
         }) == 0);
  // A child that has opened files of its own, and its child: neither has its parent's.
  EXPECT(in_child([&] {
           const int own = open("/dev/kfd", O_RDWR | O_CLOEXEC);
           return in_child([&] {
             if (answers(own) || errno != EBADF) return 1;
             return answers(kfd) || errno != EBADF ? 2 : 0;
           });
         }) == 0);
  const char* const script = "grep -c simd_count /sys/class/kfd/kfd/topology/nodes/1/properties";
  char* const arguments[] = {const_cast<char*>("sh"), const_cast<char*>("-c"), const_cast<char*>(script),
                             nullptr};
  pid_t pid = 0;
  EXPECT(posix_spawnp(&pid, "sh", nullptr, nullptr, arguments, environ) == 0);
  int status = -1;
  EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
  FILE* const pipe = popen(script, "re");
  int count = 0;
  EXPECT(std::fscanf(pipe, "%d", &count) == 1 && count == 1);
  EXPECT(pclose(pipe) == 0);
  EXPECT(answers(kfd));
}

// Forks while another thread opens the first file, with which the machine is made.
void check_first() {
  for (int i = 0; i < 60; ++i) {
    EXPECT(in_child([] {
             alarm(20);
             std::atomic<bool> opened{false};
             std::thread opener([&] {
               close(open("/dev/kfd", O_RDWR | O_CLOEXEC));
               opened = true;
             });
             while (!opened) {
               if (in_child([] { return 0; }) != 0) return 1;
             }
             opener.join();
             const int kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
             return answers(kfd) && close(kfd) == 0 ? 0 : 2;
           }) == 0);
  }
}

// A library of the program's has opened the first file before the preload face's constructors.
void check_early() {
  EXPECT(answers(early_kfd));
  EXPECT(in_child([] {
           if (answers(early_kfd) || errno != EBADF) return 1;
           return answers(open("/dev/kfd", O_RDWR | O_CLOEXEC)) ? 0 : 2;
         }) == 0);
  EXPECT(close(early_kfd) == 0 && !answers(early_kfd));
  sigset_t all, now;
  sigfillset(&all);
  EXPECT(pthread_sigmask(SIG_SETMASK, &all, nullptr) == 0 &&
         pthread_sigmask(SIG_SETMASK, nullptr, &now) == 0);
  EXPECT(sigismember(&now, SIGSEGV) == (std::getenv("VGPU_SIGNALS") == nullptr ? 0 : 1));
}

// early_library.cpp has handlers of fork that use files.
void check_handlers() {
  const int kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  EXPECT(answers(kfd));
  alarm(20);
  EXPECT(in_child([] {
           alarm(20);
           return answers(open("/dev/kfd", O_RDWR | O_CLOEXEC)) ? 0 : 1;
         }) == 0);
  alarm(0);
  EXPECT(answers(kfd));
}

// Threads that are cancelled while they wait in a call: ioctl is no place where that happens, open of a pipe is one.
void check_cancel() {
  static int kfd;
  static uint32_t event;
  kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  kfd_create_event e{};
  EXPECT(call(kfd, KFD_NR_CREATE_EVENT, e) == 0);
  event = e.event_id;
  alarm(20);
  const auto cancelled = [](void* (*body)(void*), bool comes_back) {
    static std::atomic<bool> back;
    back = false;
    pthread_t thread{};
    EXPECT(pthread_create(&thread, nullptr, body, &back) == 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    pthread_cancel(thread);
    void* result = nullptr;
    EXPECT(pthread_join(thread, &result) == 0);
    EXPECT(back == comes_back);
    return result == PTHREAD_CANCELED;
  };
  EXPECT(cancelled(
      [](void* back) -> void* {
        kfd_event_data data{};
        data.event_id = event;
        kfd_wait_events w{reinterpret_cast<uint64_t>(&data), 1, 0, 200, 0};
        EXPECT(call(kfd, KFD_NR_WAIT_EVENTS, w) == 0 && w.wait_result == KFD_WAIT_TIMEOUT);
        *static_cast<std::atomic<bool>*>(back) = true;
        pthread_testcancel();
        return nullptr;
      },
      true));
  EXPECT(answers(kfd));
  static std::string pipe;
  pipe = "/tmp/vgpu_driver_program_" + std::to_string(getpid());
  EXPECT(mkfifo(pipe.c_str(), 0600) == 0);
  EXPECT(cancelled(
      [](void*) -> void* {
        open(pipe.c_str(), O_RDONLY | O_CLOEXEC);
        return nullptr;
      },
      false));
  EXPECT(unlink(pipe.c_str()) == 0);
  // At once, if that was asked for before.
  for (void* (*body)(void*) : {+[](void* back) -> void* {
                                 pthread_cancel(pthread_self());
                                 close(1000);
                                 *static_cast<std::atomic<bool>*>(back) = true;
                                 return nullptr;
                               },
                               +[](void* back) -> void* {
                                 pthread_cancel(pthread_self());
                                 struct flock all {};
                                 fcntl(1000, F_SETLKW, &all);
                                 *static_cast<std::atomic<bool>*>(back) = true;
                                 return nullptr;
                               }}) {
    EXPECT(cancelled(body, false));
  }
}

// Handlers of signals that interrupt a wait: in them everything is as in the program, and they may not come back.
struct Interrupted {
  static inline int kfd, other;
  static inline uint32_t event;
  static inline sigjmp_buf back;

  static uint32_t wait(uint32_t timeout_ms) {
    kfd_event_data data{};
    data.event_id = event;
    kfd_wait_events w{reinterpret_cast<uint64_t>(&data), 1, 0, timeout_ms, 0};
    EXPECT(call(kfd, KFD_NR_WAIT_EVENTS, w) == 0);
    return w.wait_result;
  }
  static void set() {
    kfd_event_ref ref{event, 0};
    EXPECT(call(kfd, KFD_NR_SET_EVENT, ref) == 0);
  }
  static void use_files(int) {
    const int file = open(kProperties, O_RDONLY | O_CLOEXEC);
    struct stat status {};
    EXPECT(file >= 0 && close(file) == 0 && stat("/dev/kfd", &status) == 0);
    EXPECT(answers(other) && close(other) == 0);
    EXPECT(in_child([] { return answers(open("/dev/kfd", O_RDWR | O_CLOEXEC)) ? 0 : 1; }) == 0);
  }
  // A wait of its own, for what the other one waited for.
  static void use_event(int) {
    set();
    EXPECT(wait(0) == KFD_WAIT_COMPLETE);
    EXPECT(wait(0) == KFD_WAIT_TIMEOUT);
  }
  static void leave(int) { siglongjmp(back, 1); }
  static void leave_in_child(int) {
    if (const pid_t pid = fork(); pid != 0) {
      int status = 0;
      EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
    } else {
      signal(SIGALRM, SIG_DFL);
      alarm(20);
    }
  }

  static void after(unsigned ms, void (*handler)(int)) {
    signal(SIGALRM, handler);
    const itimerval time{{0, 0}, {0, static_cast<suseconds_t>(ms) * 1000}};
    setitimer(ITIMER_REAL, &time, nullptr);
  }
};

void check_signals() {
  using I = Interrupted;
  I::kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  I::other = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  kfd_create_event e{};
  e.auto_reset = 1;
  EXPECT(call(I::kfd, KFD_NR_CREATE_EVENT, e) == 0);
  I::event = e.event_id;

  I::after(50, I::use_files);
  EXPECT(I::wait(300) == KFD_WAIT_TIMEOUT);
  const int next = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  struct stat status {};
  EXPECT(next == I::other && fstat(next, &status) == 0 && S_ISREG(status.st_mode));

  I::after(50, I::use_event);
  EXPECT(I::wait(300) == KFD_WAIT_TIMEOUT);

  for (int i = 0; i < 3; ++i) {
    if (sigsetjmp(I::back, 1) == 0) {
      I::after(20, I::leave);
      I::wait(UINT32_MAX);
      EXPECT(false);
    }
    EXPECT(answers(I::kfd));
    // Nobody waits, so that it stays set for who waits next.
    I::set();
    EXPECT(I::wait(0) == KFD_WAIT_COMPLETE);
    EXPECT(I::wait(0) == KFD_WAIT_TIMEOUT);
  }
  // A thread that can be cancelled still.
  int cancelable = -1;
  EXPECT(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &cancelable) == 0);
  EXPECT(cancelable == PTHREAD_CANCEL_ENABLE);

  // The child of a handler comes back from a wait that is its parent's.
  const pid_t self = getpid();
  I::after(50, I::leave_in_child);
  kfd_event_data data{};
  data.event_id = I::event;
  kfd_wait_events w{reinterpret_cast<uint64_t>(&data), 1, 0, 300, 0};
  const int result = call(I::kfd, KFD_NR_WAIT_EVENTS, w);
  if (getpid() != self) _exit(result == -1 && errno == EBADF ? 0 : 1);
  EXPECT(result == 0 && w.wait_result == KFD_WAIT_TIMEOUT);
}

// A handler that opens and closes, whatever it interrupts.
void check_interrupts() {
  const int kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  EXPECT(answers(kfd));
  struct sigaction action {};
  action.sa_handler = [](int) {
    const int own = open("/dev/kfd", O_RDWR | O_CLOEXEC);
    EXPECT(answers(own) && close(own) == 0);
  };
  action.sa_flags = SA_RESTART;
  EXPECT(sigaction(SIGALRM, &action, nullptr) == 0);
  const itimerval time{{0, 97}, {0, 97}};
  setitimer(ITIMER_REAL, &time, nullptr);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (std::chrono::steady_clock::now() < end) {
    const int other = open("/dev/kfd", O_RDWR | O_CLOEXEC);
    const int copy = dup(other);
    EXPECT(answers(other) && answers(copy));
    EXPECT(close(copy) == 0 && close(other) == 0);
  }
  signal(SIGALRM, SIG_IGN);
}

// The functions that POSIX has replaced.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
void check_old_masks(Gpu& gpu) {
  using Block = void (*)();
  constexpr Block kBlock[] = {[] { sighold(SIGSEGV); }, [] { sigset(SIGSEGV, SIG_HOLD); },
                              [] { sigblock(-1); }, [] { sigsetmask(-1); }};
  for (const Block block : kBlock) {
    gpu.wait_until_watched();
    std::thread([&] {
      block();
      gpu.fence(gpu.result() + 1);
    }).join();
  }
}

void check_old_handlers(Gpu& gpu) {
  static int called;
  const sighandler_t handler = [](int) { ++called; };
  const auto set = [](sighandler_t wanted) {
    struct sigaction action {
    }, old{};
    action.sa_handler = wanted;
    EXPECT(sigaction(SIGSEGV, &action, &old) == 0);
    return old.sa_handler;
  };
  using Set = sighandler_t (*)(int, sighandler_t);
  for (const Set old_set : {Set{sigset}, Set{bsd_signal}}) {
    EXPECT(old_set(SIGSEGV, handler) == SIG_DFL);
    gpu.wait_until_watched();
    gpu.fence(gpu.result() + 1);
    EXPECT(called == 0);
    raise(SIGSEGV);
    EXPECT(std::exchange(called, 0) == 1);
    EXPECT(set(SIG_DFL) == handler);
  }
  EXPECT(sigignore(SIGSEGV) == 0);
  gpu.wait_until_watched();
  gpu.fence(gpu.result() + 1);
  EXPECT(set(SIG_DFL) == SIG_IGN);
}

sigjmp_buf way_out;
volatile int* volatile nowhere = nullptr;

[[gnu::noinline]] int fault_at(int depth) {  // NOLINT(misc-no-recursion)
  volatile char room[4096];
  room[0] = 0;
  if (depth != 0) return fault_at(depth - 1) + room[0];
  *nowhere = 1;
  return room[0];
}

// A place whose use is this signal.
volatile int* place_of(int signal) {
  if (signal == SIGSEGV) return nullptr;
  const int empty = memfd_create("empty", MFD_CLOEXEC);
  return static_cast<volatile int*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, empty, 0));
}

// The status of a child that has two faults, of which the second is deeper in the stack.
int after_two_faults(int signal, sighandler_t handler, bool keeps_mask) {
  return in_child([&] {
    nowhere = place_of(signal);
    struct sigaction action {};
    action.sa_handler = handler;
    sigaction(signal, &action, nullptr);
    for (const int depth : {0, 30}) {
      if (sigsetjmp(way_out, keeps_mask ? 1 : 0) == 0) fault_at(depth);
    }
    return 0;
  });
}

// A handler that faults itself, or that is left with its signal blocked, is not called again.
void check_faults_of_handlers(int signal) {
  const int ended = 128 + signal;
  const sighandler_t faults = [](int) {
    static int calls = 0;
    if (++calls == 2) _exit(9);
    *nowhere = 1;
  };
  const sighandler_t leaves = [](int) { siglongjmp(way_out, 1); };
  EXPECT(after_two_faults(signal, faults, true) == ended);
  EXPECT(after_two_faults(signal, leaves, false) == ended);
  EXPECT(after_two_faults(signal, leaves, true) == 0);
  const sighandler_t unblock_and_leave[] = {[](int its_own) {
                                              sigset_t one;
                                              sigemptyset(&one);
                                              sigaddset(&one, its_own);
                                              sigprocmask(SIG_UNBLOCK, &one, nullptr);
                                              siglongjmp(way_out, 1);
                                            },
                                            [](int) {
                                              sigset_t none;
                                              sigemptyset(&none);
                                              sigprocmask(SIG_SETMASK, &none, nullptr);
                                              siglongjmp(way_out, 1);
                                            },
                                            [](int its_own) {
                                              sigrelse(its_own);
                                              siglongjmp(way_out, 1);
                                            },
                                            [](int) {
                                              sigsetmask(0);
                                              siglongjmp(way_out, 1);
                                            }};
  for (const sighandler_t handler : unblock_and_leave) EXPECT(after_two_faults(signal, handler, false) == 0);
  // What blocks everything else does not block faults.
  sigset_t others, before;
  sigfillset(&others);
  sigdelset(&others, signal);
  sigprocmask(SIG_SETMASK, &others, &before);
  EXPECT(after_two_faults(signal, leaves, true) == 0);
  sigprocmask(SIG_SETMASK, &before, nullptr);
}
#pragma GCC diagnostic pop

// A thread that has blocked all signals before there was a GPU rings a doorbell that is watched.
void check_masks() {
  std::atomic<Gpu*> shared{nullptr};
  std::atomic<int> turn{0};
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread ringer([&] {
    for (int done = 0; done < 3; ++done) {
      while (turn.load() == done) std::this_thread::yield();
      Gpu& gpu = *shared.load();
      gpu.doorbell->store(gpu.put_fence(static_cast<uint32_t>(done + 1)));
    }
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  Gpu gpu;
  gpu.make_queue();
  shared = &gpu;
  for (uint32_t i = 1; i <= 3; ++i) {
    gpu.wait_until_watched();
    ++turn;
    gpu.await(i);
  }
  ringer.join();
  // And a handler that blocks all signals while it runs.
  static Gpu* rung;
  rung = &gpu;
  struct sigaction action {};
  action.sa_handler = [](int) { rung->doorbell->store(rung->written); };
  action.sa_mask = all;
  EXPECT(sigaction(SIGUSR1, &action, nullptr) == 0);
  gpu.wait_until_watched();
  gpu.put_fence(4);
  raise(SIGUSR1);
  gpu.await(4);
  check_old_masks(gpu);
  check_old_handlers(gpu);
  for (const int signal : {SIGSEGV, SIGBUS}) check_faults_of_handlers(signal);
}

// Doorbells that other mappings take the place of, that move, and of which a part goes.
void check_mappings() {
  Gpu gpu;
  gpu.make_queue();
  gpu.fence(1);
  EXPECT(gpu.wait_until_watched());
  std::byte* const old = gpu.doorbells;
  // Nothing changes, and they are watched still.
  EXPECT(mmap(old, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED, -1, 0) == MAP_FAILED);
  EXPECT(munmap(old + 1, 4096) == -1 && errno == EINVAL);
  gpu.fence(2);

  EXPECT(mmap(old, Gpu::kDoorbellBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == old);
  gpu.map_doorbells(nullptr);
  gpu.at_doorbells(gpu.doorbell_at);
  for (uint32_t i = 3; i < 6; ++i) {
    gpu.wait_until_watched();
    gpu.fence(i);
  }
  EXPECT(Gpu::rights_of(old) == "---p");

  gpu.wait_until_watched();
  void* moved =
      mremap(gpu.doorbells, Gpu::kDoorbellBytes, Gpu::kDoorbellBytes, MREMAP_MAYMOVE | MREMAP_FIXED, old);
  EXPECT(moved == old);
  gpu.doorbells = old;
  gpu.at_doorbells(gpu.doorbell_at);
  for (uint32_t i = 6; i < 9; ++i) {
    EXPECT(gpu.wait_until_watched());
    gpu.fence(i);
  }
  EXPECT(mremap(old, Gpu::kDoorbellBytes, 4 * Gpu::kDoorbellBytes, MREMAP_MAYMOVE) == MAP_FAILED);

  // The page that its doorbell is not in.
  const uint64_t others = gpu.doorbell_at < 4096 ? 4096 : 0;
  EXPECT(munmap(old + others, 4096) == 0);
  for (uint32_t i = 9; i < 12; ++i) {
    // The device falls asleep in between, and is woken through a page that moved.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    gpu.fence(i);
  }
  for (int i = 0; i < 600; ++i) gpu.map_doorbells(old);  // over and over, in one place
  for (uint32_t i = 12; i < 15; ++i) {
    EXPECT(gpu.wait_until_watched());
    gpu.fence(i);
  }

  EXPECT(mmap(nullptr, Gpu::kDoorbellBytes, PROT_READ, MAP_SHARED, gpu.kfd, gpu.doorbell_offset() + 64) ==
         MAP_FAILED);
  EXPECT(errno == EINVAL);
  for (const size_t bytes : {size_t{0}, size_t{4096}, size_t{1} << 40, ~size_t{0}}) {
    EXPECT(mmap(nullptr, bytes, PROT_READ, MAP_SHARED, gpu.kfd, gpu.doorbell_offset()) == MAP_FAILED);
  }
  for (const uint64_t offset : {uint64_t{0}, uint64_t{1} << 32, ~uint64_t{4095}, uint64_t{1} << 63}) {
    EXPECT(mmap(nullptr, 4096, PROT_READ, MAP_SHARED, gpu.render, static_cast<off_t>(offset)) == MAP_FAILED);
  }
  EXPECT(mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, gpu.kfd, 0) != MAP_FAILED);
}

// Threads open, duplicate, close, map, wait and fork, all at once.
void check_races() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  const auto goes_on = [&] { return std::chrono::steady_clock::now() < end; };
  Gpu gpu;
  gpu.make_queue();
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      std::minstd_rand random(t + 1);
      while (goes_on()) {
        const int kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
        const int render = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
        const int copy = random() % 2 == 0 ? dup(kfd) : fcntl(kfd, F_DUPFD_CLOEXEC, 3);
        close(kfd);
        EXPECT(answers(copy));
        void* const page = mmap(nullptr, Gpu::kDoorbellBytes, PROT_READ | PROT_WRITE, MAP_SHARED, copy,
                                gpu.doorbell_offset());
        EXPECT(page != MAP_FAILED);
        static_cast<std::atomic<uint64_t>*>(page)[random() % 64 + 64].store(random());  // nobody's
        const uint64_t va = 0x100000000000 + (uint64_t{t} << 30);
        kfd_alloc_memory a{va, 8192, 0, 0, gpu.id, KFD_MEM_GTT | KFD_MEM_WRITABLE};
        EXPECT(call(copy, KFD_NR_ALLOC_MEMORY, a) == 0);
        kfd_map_memory m{a.handle, reinterpret_cast<uint64_t>(&gpu.id), 1, 0};
        EXPECT(call(copy, KFD_NR_MAP_MEMORY, m) == 0);
        m.n_success = 0;
        EXPECT(call(copy, KFD_NR_UNMAP_MEMORY, m) == 0);
        kfd_free_memory f{a.handle};
        EXPECT(call(copy, KFD_NR_FREE_MEMORY, f) == 0);
        EXPECT(call(copy, KFD_NR_FREE_MEMORY, f) == -1 && errno == EINVAL);
        munmap(page, Gpu::kDoorbellBytes);
        close(copy);
        close(render);
      }
    });
  }
  // Waits for events that others set, destroy and never had.
  std::atomic<uint32_t> event{0};
  threads.emplace_back([&] {
    while (goes_on()) {
      kfd_create_event e{};
      e.auto_reset = 1;
      EXPECT(call(gpu.kfd, KFD_NR_CREATE_EVENT, e) == 0);
      event = e.event_id;
      // The wait for the event has begun by then.
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      kfd_event_ref ref{e.event_id, 0};
      EXPECT(call(gpu.kfd, KFD_NR_DESTROY_EVENT, ref) == 0);
    }
  });
  threads.emplace_back([&] {
    while (goes_on()) {
      kfd_event_data data[2]{};
      data[0].event_id = data[1].event_id = event;
      kfd_wait_events w{reinterpret_cast<uint64_t>(data), 2, 0, 20, 0};
      const int kfd = dup(gpu.kfd);
      if (call(kfd, KFD_NR_WAIT_EVENTS, w) != 0) EXPECT(errno == EINVAL || errno == EIO);
      close(kfd);
    }
  });
  for (uint32_t i = 1; goes_on(); ++i) {
    gpu.fence(i);
    if (i % 8 != 0) continue;
    EXPECT(in_child([&] {
             if (answers(gpu.kfd)) return 1;
             DIR* const folder = opendir(kNodes);
             if (folder == nullptr || names_of(folder).size() != 2) return 2;
             closedir(folder);
             const int own = open("/dev/kfd", O_RDWR | O_CLOEXEC);
             return own >= 0 && answers(own) ? 0 : 3;
           }) == 0);
  }
  for (std::thread& thread : threads) thread.join();
}

// A filter of system calls that refuses memfd_create.
void check_no_memfds() {
  sock_filter steps[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                         BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
                         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog filter{std::size(steps), steps};
  EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
  for (int i = 0; i < 2; ++i) EXPECT(open("/dev/kfd", O_RDWR | O_CLOEXEC) == -1 && errno == ENOSYS);
}

// No more threads, no more descriptors: an error, and a device that goes on.
void check_limits() {
  Gpu gpu;
  rlimit few{}, before{};
  getrlimit(RLIMIT_NOFILE, &before);
  few = {64, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &few);
  std::vector<int> taken;
  for (int fd; (fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) taken.push_back(fd);
  const int kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  EXPECT(kfd == -1 && errno == EMFILE);
  for (int i = 0; i < 2; ++i) {
    kfd_alloc_memory a{0x100000000000, 4096, 0, 0, gpu.id, KFD_MEM_GTT | KFD_MEM_WRITABLE};
    EXPECT(call(gpu.kfd, KFD_NR_ALLOC_MEMORY, a) == -1 && errno == EMFILE);
  }
  for (const int fd : taken) close(fd);
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT(in_child([] {
           Gpu own;
           // Of root there may be any number of processes.
           const rlimit none{0, 0};
           setrlimit(RLIMIT_NPROC, &none);
           if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) return 1;
           if (own.try_to_make_queue() != ENOMEM || own.try_to_make_queue() != ENOMEM) return 2;
           return answers(own.kfd) ? 0 : 3;
         }) == 0);
  gpu.make_queue();
  gpu.fence(1);
}

// Queues that come and go while their processor is at work.
void check_queues() {
  Gpu gpu;
  for (uint32_t i = 1; i <= 300; ++i) {
    std::memset(gpu.memory, 0, 2 * Gpu::kRing);
    gpu.written = 0;
    gpu.make_queue();
    gpu.fence(i);
    kfd_destroy_queue d{gpu.queue, 0};
    EXPECT(call(gpu.kfd, KFD_NR_DESTROY_QUEUE, d) == 0);
  }
}

// A program that closes what it does not know, as daemons do, and opens a file of its own.
void check_log() {
  Gpu gpu;
  gpu.make_queue();
  for (int fd = 3; fd < 1024; ++fd) {
    if (fd != gpu.kfd && fd != gpu.render) close(fd);
  }
  std::vector<int> files;
  for (int i = 0; i < 4; ++i) files.push_back(memfd_create("its own", MFD_CLOEXEC));
  gpu.fence(0x123);
  for (const int fd : files) {
    struct stat status {};
    EXPECT(fstat(fd, &status) == 0 && status.st_size == 0);
  }
}

struct Check {
  const char* name;
  void (*run)();
};
constexpr Check kChecks[] = {
    {"names", check_names},   {"fork", check_fork},          {"vfork", check_vfork},
    {"first", check_first},   {"early", check_early},        {"handlers", check_handlers},
    {"cancel", check_cancel}, {"signals", check_signals},    {"interrupts", check_interrupts},
    {"exec", check_exec},     {"masks", check_masks},        {"mappings", check_mappings},
    {"races", check_races},   {"limits", check_limits},      {"queues", check_queues},
    {"log", check_log},       {"no_memfds", check_no_memfds}};

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[0], "heir") == 0) return main_of_heir(std::atoi(argv[1]));
  for (const Check& check : kChecks) {
    if (argc != 2 || std::strcmp(argv[1], check.name) != 0) continue;
    check.run();
    return 0;
  }
  std::puts("no such check");
  return 2;
}
