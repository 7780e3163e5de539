// Unusual uses of the driver's files. preload_test.cpp runs it under `vgpu-run --gpu gfx900` with the name of
// a check. It uses only the C library and the driver's interface. Checks of children and signals are in
// separate files.
#include "driver_program.hpp"

#include <dlfcn.h>
#include <glob.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <filesystem>
#include <random>

namespace driver_program {
namespace {

void check_names() {
  const std::vector<std::string> both = {"0", "1"};
  DIR* const directory = opendir(kNodes);
  EXPECT(directory != nullptr);
  EXPECT(names_of(directory) == both);
  const int directory_fd = dirfd(directory);
  EXPECT(directory_fd >= 0);
  EXPECT(faccessat(directory_fd, "1/properties", R_OK, 0) == 0);
  EXPECT(faccessat(directory_fd, "7/properties", R_OK, 0) == -1 && errno == ENOENT);
  struct stat by_name {
  }, by_fd{}, link{};
  EXPECT(fstatat(directory_fd, "1/properties", &by_name, 0) == 0 && S_ISREG(by_name.st_mode) &&
         by_name.st_size > 0);
  EXPECT(fstat(directory_fd, &by_fd) == 0 && S_ISDIR(by_fd.st_mode));
  EXPECT(by_fd.st_ino != by_name.st_ino);
  const int file = openat(directory_fd, "1/properties", O_RDONLY | O_CLOEXEC);
  EXPECT(file >= 0);
  EXPECT(fstat(file, &by_fd) == 0 && by_fd.st_ino == by_name.st_ino && by_fd.st_dev == by_name.st_dev);
  EXPECT(by_fd.st_mode == by_name.st_mode);
  close(file);
  closedir(directory);
  EXPECT(fcntl(directory_fd, F_GETFD) == -1);

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
  const int class_fd = open("/sys/class/kfd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  EXPECT(class_fd >= 0);
  EXPECT(readlinkat(class_fd, "kfd", target, sizeof target) == length);
  close(class_fd);
  EXPECT(readlink("/sys/dev/char/226:128/device/subsystem", target, sizeof target) == 12);
  EXPECT(readlink(kProperties, target, sizeof target) == -1 && errno == EINVAL);
  EXPECT(std::filesystem::canonical(kNodes) == kRealNodes);
  EXPECT(eaccess(kProperties, R_OK) == 0 && euidaccess(kProperties, W_OK) == -1);
  EXPECT(access("/dev/kfd", R_OK | W_OK) == 0 && access(kRealNodes, R_OK | X_OK) == 0);
  EXPECT(access("/dev/kfd", X_OK) == -1 && errno == EACCES);

  // Programs that walk a tree take equal inodes for a loop.
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
  // Rust's library probes for statx this way.
  auto* const raw =
      reinterpret_cast<int (*)(int, const char*, int, unsigned, void*)>(dlsym(RTLD_DEFAULT, "statx"));
  EXPECT(raw(0, nullptr, 0, STATX_BASIC_STATS, nullptr) == -1 && errno == EFAULT);
  const int kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  std::memset(&extended, 0, sizeof extended);
  EXPECT(raw(kfd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &extended) == 0 && S_ISCHR(extended.stx_mode));
  // Addresses that cannot be strings.
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
  // Descriptors that the C library has closed internally can be reused.
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
  EXPECT(is_working(kfd));
  // Requests that the kernel handles for every file.
  EXPECT(ioctl(kfd, FIONCLEX) == 0 && fcntl(kfd, F_GETFD) == 0);
  EXPECT(ioctl(kfd, FIOCLEX) == 0 && fcntl(kfd, F_GETFD) == FD_CLOEXEC);
}

// Doorbell pages that are replaced, moved and partly unmapped.
void check_mappings() {
  Gpu gpu;
  gpu.make_queue();
  gpu.fence(1);
  EXPECT(gpu.wait_until_protected());
  std::byte* const first_address = gpu.doorbells;
  // Failing calls change nothing; the page is still protected.
  EXPECT(mmap(first_address, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED, -1, 0) == MAP_FAILED);
  EXPECT(munmap(first_address + 1, 4096) == -1 && errno == EINVAL);
  constexpr size_t kWrappingBytes = ~size_t{4095};  // the end wraps to below the start
  EXPECT(mmap(first_address + 4097, kWrappingBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
              0) == MAP_FAILED);
  gpu.fence(2);

  EXPECT(mmap(first_address, Gpu::kDoorbellBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
              0) == first_address);
  gpu.map_doorbells(nullptr);
  gpu.set_doorbell_position(gpu.doorbell_position);
  for (uint32_t i = 3; i < 6; ++i) {
    gpu.wait_until_protected();
    gpu.fence(i);
  }
  EXPECT(Gpu::rights_of(first_address) == "---p");

  gpu.wait_until_protected();
  void* moved = mremap(gpu.doorbells, Gpu::kDoorbellBytes, Gpu::kDoorbellBytes, MREMAP_MAYMOVE | MREMAP_FIXED,
                       first_address);
  EXPECT(moved == first_address);
  gpu.doorbells = first_address;
  gpu.set_doorbell_position(gpu.doorbell_position);
  for (uint32_t i = 6; i < 9; ++i) {
    EXPECT(gpu.wait_until_protected());
    gpu.fence(i);
  }
  EXPECT(mremap(first_address, Gpu::kDoorbellBytes, 4 * Gpu::kDoorbellBytes, MREMAP_MAYMOVE) == MAP_FAILED);

  // The page without the queue's doorbell.
  const uint64_t other_page = gpu.doorbell_position < 4096 ? 4096 : 0;
  EXPECT(munmap(first_address + other_page, 4096) == 0);
  for (uint32_t i = 9; i < 12; ++i) {
    // The engine falls asleep in between, and is woken through a moved page.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    gpu.fence(i);
  }
  for (int i = 0; i < 600; ++i) gpu.map_doorbells(first_address);  // repeatedly at one address
  for (uint32_t i = 12; i < 15; ++i) {
    EXPECT(gpu.wait_until_protected());
    gpu.fence(i);
  }

  EXPECT(mmap(nullptr, Gpu::kDoorbellBytes, PROT_READ, MAP_SHARED, gpu.kfd,
              gpu.doorbell_mmap_offset() + 64) == MAP_FAILED);
  EXPECT(errno == EINVAL);
  for (const size_t bytes : {size_t{0}, size_t{4096}, size_t{1} << 40, ~size_t{0}}) {
    EXPECT(mmap(nullptr, bytes, PROT_READ, MAP_SHARED, gpu.kfd, gpu.doorbell_mmap_offset()) == MAP_FAILED);
  }
  for (const uint64_t offset : {uint64_t{0}, uint64_t{1} << 32, ~uint64_t{4095}, uint64_t{1} << 63}) {
    EXPECT(mmap(nullptr, 4096, PROT_READ, MAP_SHARED, gpu.render, static_cast<off_t>(offset)) == MAP_FAILED);
  }
  EXPECT(mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, gpu.kfd, 0) != MAP_FAILED);
}

// Threads open, duplicate, close, map, wait and fork concurrently.
void check_races() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  const auto is_running = [&] { return std::chrono::steady_clock::now() < end; };
  Gpu gpu;
  gpu.make_queue();
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      std::minstd_rand random(t + 1);
      while (is_running()) {
        const int kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
        const int render = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
        const int copy = random() % 2 == 0 ? dup(kfd) : fcntl(kfd, F_DUPFD_CLOEXEC, 3);
        close(kfd);
        EXPECT(is_working(copy));
        void* const page = mmap(nullptr, Gpu::kDoorbellBytes, PROT_READ | PROT_WRITE, MAP_SHARED, copy,
                                gpu.doorbell_mmap_offset());
        EXPECT(page != MAP_FAILED);
        static_cast<std::atomic<uint64_t>*>(page)[random() % 64 + 64].store(random());  // an unused doorbell
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
  // Waits for events that other threads set and destroy, or that do not exist.
  std::atomic<uint32_t> event{0};
  threads.emplace_back([&] {
    while (is_running()) {
      kfd_create_event e{};
      e.auto_reset = 1;
      EXPECT(call(gpu.kfd, KFD_NR_CREATE_EVENT, e) == 0);
      event = e.event_id;
      // The wait for the event has probably begun by then.
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      kfd_event_ref ref{e.event_id, 0};
      EXPECT(call(gpu.kfd, KFD_NR_DESTROY_EVENT, ref) == 0);
    }
  });
  threads.emplace_back([&] {
    while (is_running()) {
      kfd_event_data data[2]{};
      data[0].event_id = data[1].event_id = event;
      kfd_wait_events w{reinterpret_cast<uint64_t>(data), 2, 0, 20, 0};
      const int kfd = dup(gpu.kfd);
      if (call(kfd, KFD_NR_WAIT_EVENTS, w) != 0) EXPECT(errno == EINVAL || errno == EIO);
      close(kfd);
    }
  });
  for (uint32_t i = 1; is_running(); ++i) {
    gpu.fence(i);
    if (i % 8 != 0) continue;
    EXPECT(in_child([&] {
             if (is_working(gpu.kfd)) return 1;
             DIR* const directory = opendir(kNodes);
             if (directory == nullptr || names_of(directory).size() != 2) return 2;
             closedir(directory);
             const int child_kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
             return child_kfd >= 0 && is_working(child_kfd) ? 0 : 3;
           }) == 0);
  }
  for (std::thread& thread : threads) thread.join();
}

// A seccomp filter that rejects memfd_create.
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

// If there are no threads or descriptors left, calls fail and the device continues to work.
void check_limits() {
  Gpu gpu;
  rlimit lowered{}, original{};
  getrlimit(RLIMIT_NOFILE, &original);
  lowered = {64, original.rlim_max};
  setrlimit(RLIMIT_NOFILE, &lowered);
  std::vector<int> used_fds;
  for (int fd; (fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) used_fds.push_back(fd);
  const int kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  EXPECT(kfd == -1 && errno == EMFILE);
  for (int i = 0; i < 2; ++i) {
    kfd_alloc_memory a{0x100000000000, 4096, 0, 0, gpu.id, KFD_MEM_GTT | KFD_MEM_WRITABLE};
    EXPECT(call(gpu.kfd, KFD_NR_ALLOC_MEMORY, a) == -1 && errno == EMFILE);
  }
  for (const int fd : used_fds) close(fd);
  setrlimit(RLIMIT_NOFILE, &original);
  EXPECT(in_child([] {
           Gpu own;
           // RLIMIT_NPROC does not apply to root.
           const rlimit none{0, 0};
           setrlimit(RLIMIT_NPROC, &none);
           if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) return 1;
           if (own.try_make_queue() != ENOMEM || own.try_make_queue() != ENOMEM) return 2;
           return is_working(own.kfd) ? 0 : 3;
         }) == 0);
  gpu.make_queue();
  gpu.fence(1);
}

// The descriptor of a render node was closed without a hook and reused. Requests go to the other file.
void check_stale_numbers() {
  const int render = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
  alignas(8) char version[64] = {};
  const unsigned long get_version = 3ul << 30 | sizeof version << 16 | 'd' << 8;
  EXPECT(ioctl(render, get_version, version) == 0);
  EXPECT(syscall(SYS_close, render) == 0);
  EXPECT(open("/dev/null", O_RDWR | O_CLOEXEC) == render);
  EXPECT(ioctl(render, get_version, version) == -1 && errno == ENOTTY);
  EXPECT(close(render) == 0);
}

// With a limit of file sizes, buffers and topology files fail with an explanation, and the program continues.
void check_file_limit() {
  Gpu gpu;
  const auto allocate = [&](uint64_t bytes) {
    kfd_alloc_memory a{0x100000000000, bytes, 0, 0, gpu.id, KFD_MEM_GTT | KFD_MEM_WRITABLE};
    return call(gpu.kfd, KFD_NR_ALLOC_MEMORY, a) == 0 ? 0 : errno;
  };
  rlimit original{};
  getrlimit(RLIMIT_FSIZE, &original);
  const rlimit small{1 << 20, original.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  for (int i = 0; i < 2; ++i) EXPECT(allocate(4 << 20) == EFBIG);
  const rlimit none{0, original.rlim_max};
  setrlimit(RLIMIT_FSIZE, &none);
  const int properties = open(kProperties, O_RDONLY | O_CLOEXEC);
  EXPECT(properties == -1 && errno == EFBIG);
  setrlimit(RLIMIT_FSIZE, &original);
  EXPECT(allocate(4 << 20) == 0);
  gpu.make_queue();
  gpu.fence(1);
}

// Creates and destroys queues while their engine is busy.
void check_queues() {
  Gpu gpu;
  for (uint32_t i = 1; i <= 300; ++i) {
    std::memset(gpu.memory, 0, 2 * Gpu::kRingBytes);
    gpu.write_index = 0;
    gpu.make_queue();
    gpu.fence(i);
    kfd_destroy_queue d{gpu.queue, 0};
    EXPECT(call(gpu.kfd, KFD_NR_DESTROY_QUEUE, d) == 0);
  }
}

// A program that closes all unknown descriptors, as daemons do, and opens other files.
void check_log() {
  Gpu gpu;
  gpu.make_queue();
  for (int fd = 3; fd < 1024; ++fd) {
    if (fd != gpu.kfd && fd != gpu.render) close(fd);
  }
  std::vector<int> files;
  for (int i = 0; i < 4; ++i) files.push_back(memfd_create("its own", MFD_CLOEXEC));
  gpu.fence(0x123);
  // Destroying the queue waits for its log lines; its fence may be visible earlier.
  kfd_destroy_queue destroy{gpu.queue, 0};
  EXPECT(call(gpu.kfd, KFD_NR_DESTROY_QUEUE, destroy) == 0);
  for (const int fd : files) {
    struct stat status {};
    EXPECT(fstat(fd, &status) == 0 && status.st_size == 0);
  }
}

struct Check {
  const char* name;
  void (*run)();
};
constexpr Check kChecks[] = {{"names", check_names},
                             {"fork", check_fork},
                             {"vfork", check_vfork},
                             {"first", check_first},
                             {"early", check_early},
                             {"handlers", check_handlers},
                             {"cancel", check_cancel},
                             {"signals", check_signals},
                             {"interrupts", check_interrupts},
                             {"exec", check_exec},
                             {"masks", check_masks},
                             {"mappings", check_mappings},
                             {"races", check_races},
                             {"limits", check_limits},
                             {"queues", check_queues},
                             {"log", check_log},
                             {"no_memfds", check_no_memfds},
                             {"handles", check_handles},
                             {"bypassed_mmap", check_bypassed_mmap},
                             {"file_limit", check_file_limit},
                             {"stale", check_stale_numbers}};

}  // namespace
}  // namespace driver_program

int main(int argc, char** argv) {
  using namespace driver_program;
  if (argc == 2 && std::strcmp(argv[0], "heir") == 0) return check_inherited_descriptors(std::atoi(argv[1]));
  for (const Check& check : kChecks) {
    if (argc != 2 || std::strcmp(argv[1], check.name) != 0) continue;
    check.run();
    return 0;
  }
  std::puts("no such check");
  return 2;
}
