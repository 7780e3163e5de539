// Children by fork, vfork and exec, of a program with a GPU and of one that is opening its first file.
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>

#include "driver_program.hpp"

extern __attribute__((visibility("default"))) int early_kfd;  // of early_library.cpp

namespace driver_program {

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
               mmap(nullptr, Gpu::kDoorbellBytes, PROT_READ, MAP_SHARED, gpu.kfd, gpu.doorbell_mmap_offset());
           return page == MAP_FAILED && errno == EINVAL ? 0 : 2;
         }) == 0);
  // The parent's doorbells and events are not mapped in the child.
  EXPECT(in_child([&] {
           gpu.doorbell->store(16);
           return 0;
         }) == 128 + SIGSEGV);
  EXPECT(in_child([&] { return *static_cast<volatile char*>(event_page); }) == 128 + SIGSEGV);
  // A descriptor number that the child closes can be reused.
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
           struct stat first {
           }, second{};
           return fstat(1, &first) == 0 && fstat(gpu.kfd, &second) == 0 && first.st_ino == second.st_ino ? 0
                                                                                                         : 2;
         }) == 0);
  // The child has no descriptors of the device, and a GPU that it opens is independent.
  gpu.fence(2);
  gpu.wait_until_protected();
  EXPECT(in_child([&] {
           for (int fd = 700; fd < 1024; ++fd) {
             if (fcntl(fd, F_GETFD) != -1) return 1;
           }
           Gpu child_gpu;
           child_gpu.map_doorbells(gpu.doorbells);  // at the address of the parent's
           child_gpu.make_queue();
           for (uint32_t i = 7; i < 10; ++i) {
             child_gpu.fence(i);
             child_gpu.wait_until_protected();
           }
           for (int fd = 3; fd < 700; ++fd) close(fd);
           return in_child([&] { return is_working(child_gpu.kfd) ? 1 : 0; });
         }) == 0);
  gpu.fence(3);
}

// Descriptors that a child of vfork opens, closes and duplicates must not be recorded in the shared memory.
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
  // The first call that may concern a GPU.
  in_vfork([] { return access("/dev/kfd", R_OK); });
  const int kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  EXPECT(is_working(kfd));
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
  EXPECT(is_working(kfd));
  const int copy = dup(kfd);
  EXPECT(is_working(copy));
  close(kfd);
  EXPECT(is_working(copy));
  close(copy);

  // Signal handlers are separate as well: the GPU has a handler of SIGSEGV in front of the program's.
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
  gpu.wait_until_protected();
  gpu.fence(1);
}

// Runs in a program that has inherited the descriptors `kfd` and `kfd + 1`, a render node.
int check_inherited_descriptors(int kfd) {
  const int render = kfd + 1;
  EXPECT(!is_working(kfd) && errno == EBADF);
  kfd_get_version request{};
  EXPECT(call(render, 0, request) == -1 && errno == EBADF);
  const uint64_t offsets[] = {KFD_MMAP_TYPE_DOORBELL, KFD_MMAP_TYPE_EVENTS, KFD_MMAP_GPU_ID(1)};
  for (const uint64_t offset : offsets) {
    EXPECT(mmap(nullptr, 4096, PROT_READ, MAP_SHARED, kfd, static_cast<off_t>(offset)) == MAP_FAILED);
    EXPECT(errno == EINVAL);
  }
  EXPECT(mmap(nullptr, 4096, PROT_READ, MAP_SHARED, render, off_t{1} << 32) == MAP_FAILED);
  // Other files are not affected.
  const int other = memfd_create("other", MFD_CLOEXEC);
  EXPECT(call(other, KFD_NR_GET_VERSION, request) == -1 && errno == ENOTTY);
  EXPECT(mmap(nullptr, 4096, PROT_READ, MAP_SHARED, other, off_t{1} << 32) != MAP_FAILED);
  // Files that it opens itself are usable.
  const int child_gpu = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  EXPECT(is_working(child_gpu) && !is_working(kfd) && errno == EBADF);
  EXPECT(close(kfd) == 0 && close(render) == 0 && is_working(child_gpu));
  return 0;
}

void check_exec() {
  const int kfd = open("/dev/kfd", O_RDWR);  // without O_CLOEXEC: it stays open
  EXPECT(is_working(kfd));
  const int render = open("/dev/dri/renderD128", O_RDWR);
  EXPECT(render == kfd + 1);
  EXPECT(in_child([&] {
           execl("/proc/self/exe", "heir", std::to_string(kfd).c_str(), nullptr);
           return 9;
         }) == 0);
  // A child that has opened files, and its child: each cannot use its parent's.
  EXPECT(in_child([&] {
           const int child_gpu = open("/dev/kfd", O_RDWR | O_CLOEXEC);
           return in_child([&] {
             if (is_working(child_gpu) || errno != EBADF) return 1;
             return is_working(kfd) || errno != EBADF ? 2 : 0;
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
  EXPECT(is_working(kfd));
}

// Forks while another thread opens the first file, which creates the system.
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
             return is_working(kfd) && close(kfd) == 0 ? 0 : 2;
           }) == 0);
  }
}

// A library of the program has opened the first file before the front end's constructors.
void check_early() {
  EXPECT(is_working(early_kfd));
  EXPECT(in_child([] {
           if (is_working(early_kfd) || errno != EBADF) return 1;
           return is_working(open("/dev/kfd", O_RDWR | O_CLOEXEC)) ? 0 : 2;
         }) == 0);
  EXPECT(close(early_kfd) == 0 && !is_working(early_kfd));
  sigset_t all, now;
  sigfillset(&all);
  EXPECT(pthread_sigmask(SIG_SETMASK, &all, nullptr) == 0 &&
         pthread_sigmask(SIG_SETMASK, nullptr, &now) == 0);
  EXPECT(sigismember(&now, SIGSEGV) == (std::getenv("VGPU_SIGNALS") == nullptr ? 0 : 1));
}

// early_library.cpp installs fork handlers that use files.
void check_handlers() {
  const int kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  EXPECT(is_working(kfd));
  alarm(20);
  EXPECT(in_child([] {
           alarm(20);
           return is_working(open("/dev/kfd", O_RDWR | O_CLOEXEC)) ? 0 : 1;
         }) == 0);
  alarm(0);
  EXPECT(is_working(kfd));
}

}  // namespace driver_program
