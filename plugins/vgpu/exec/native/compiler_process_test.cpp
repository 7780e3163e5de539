#include "plugins/vgpu/exec/native/compiler_process.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "plugins/vgpu/cp/internal_fd.hpp"

namespace rigel::vgpu::exec::compiler {
namespace {

constexpr uint64_t kKernelVa = 0x1000;
const std::vector<uint32_t> kKernel = {0x24020082,
                                       0xbf810000};  // gfx900: v_lshlrev_b32_e32 v1, 2, v0; s_endpgm

class CompilerProcess : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("VGPU_CACHE", "off", 1);  // The cache would serve requests without a process.
    if (!why_no_compiler().empty()) GTEST_SKIP() << why_no_compiler();
    if (!why_absent(SimdLevel::kAvx2).empty()) GTEST_SKIP() << why_absent(SimdLevel::kAvx2);
  }

  static Compiled compile_kernel() {
    Image image{kKernelVa, std::vector<std::byte>(kKernel.size() * 4)};
    std::memcpy(image.bytes.data(), kKernel.data(), image.bytes.size());
    Request request;
    request.target = *isa::target_of("gfx900");
    request.layout = {64, 8};
    request.level = SimdLevel::kAvx2;
    request.entry_va = kKernelVa;
    request.read = [&image](uint64_t va, std::span<std::byte> to) -> size_t {
      if (va - kKernelVa >= image.bytes.size()) return 0;
      const size_t size = std::min<size_t>(to.size(), image.bytes.size() - (va - kKernelVa));
      std::memcpy(to.data(), image.bytes.data() + (va - kKernelVa), size);
      return size;
    };
    request.cache_name = cache_name(request);
    auto plan = make_plan(request);
    EXPECT_TRUE(plan);
    return compile(**plan, request, std::span(&image, 1));
  }

  /// Returns the compilers of this process, which have its number in their command line.
  static std::vector<pid_t> compilers() {
    std::string wanted = "vgpu-compiler";
    wanted += '\0' + std::to_string(getpid()) + '\0';
    std::vector<pid_t> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      std::ifstream file(entry.path() / "cmdline");
      const std::string line{std::istreambuf_iterator<char>(file), {}};
      if (line == wanted) found.push_back(std::stoi(name));
    }
    return found;
  }
  static bool ends(pid_t compiler) {
    for (int i = 0; i < 3000; ++i) {
      // The process may be a zombie until it is reaped.
      std::ifstream stat("/proc/" + std::to_string(compiler) + "/stat");
      std::string pid, name, state;
      if (!(stat >> pid >> name >> state) || state == "Z" || state == "X") return true;
      usleep(10'000);
    }
    return false;
  }
};

TEST_F(CompilerProcess, ServesSeveralRequests) {
  for (int i = 0; i < 3; ++i) {
    const Compiled compiled = compile_kernel();
    EXPECT_NE(compiled.run, nullptr) << compiled.error;
  }
  EXPECT_EQ(compilers().size(), 1u) << "one process does it";
}

TEST_F(CompilerProcess, ServesThreadsAtATime) {
  std::atomic<unsigned> compiled{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 2 * compilers_at_a_time(); ++i)
    threads.emplace_back([&] { compiled += compile_kernel().run != nullptr; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(compiled, threads.size());
  EXPECT_GE(compilers().size(), 1u);
  EXPECT_LE(compilers().size(), compilers_at_a_time());
}

TEST_F(CompilerProcess, IsNotAChildOfTheProgram) {
  ASSERT_NE(compile_kernel().run, nullptr);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST_F(CompilerProcess, IsReplacedAfterBeingKilled) {
  ASSERT_NE(compile_kernel().run, nullptr);
  ASSERT_EQ(compilers().size(), 1u);
  const pid_t first = compilers()[0];
  ASSERT_EQ(kill(first, SIGKILL), 0);
  ASSERT_TRUE(ends(first));
  const Compiled compiled = compile_kernel();
  EXPECT_NE(compiled.run, nullptr) << compiled.error;
  ASSERT_EQ(compilers().size(), 1u);
  EXPECT_NE(compilers()[0], first);
}

// Sends the timer's signal during a request. The starting thread blocks all signals, like the background
// thread.
TEST_F(CompilerProcess, ReportsTimeout) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const bool is_compiled = compile_kernel().run != nullptr;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ASSERT_TRUE(is_compiled);
  ASSERT_EQ(compilers().size(), 1u);
  const pid_t slow = compilers()[0];
  ASSERT_EQ(kill(slow, SIGSTOP), 0);
  std::atomic<pid_t> asks{0};
  std::string error;
  std::thread thread([&] {
    asks = gettid();
    error = compile_kernel().error;
  });
  const auto sleeps = [&] {
    std::ifstream stat("/proc/self/task/" + std::to_string(asks) + "/stat");
    std::string pid, name, state;
    return asks != 0 && stat >> pid >> name >> state && state == "S";
  };
  // Asleep twice in a row: the request has been sent.
  for (int asleep = 0; asleep < 2; usleep(10'000)) asleep = sleeps() ? asleep + 1 : 0;
  EXPECT_EQ(kill(slow, SIGPROF), 0);
  EXPECT_EQ(kill(slow, SIGCONT), 0);
  thread.join();
  EXPECT_EQ(error, "the compiler timed out");
  EXPECT_TRUE(ends(slow));
  EXPECT_NE(compile_kernel().run, nullptr) << "the next one is asked";
}

TEST_F(CompilerProcess, IsSeparateForForkedChildAndEndsWithIt) {
  ASSERT_NE(compile_kernel().run, nullptr);
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  const pid_t child = fork();
  if (child == 0) {
    const bool compiled = compile_kernel().run != nullptr;
    const std::vector<pid_t> own = compilers();
    const pid_t pid = compiled && own.size() == 1 ? own[0] : 0;
    _exit(write(pipes[1], &pid, sizeof pid) == sizeof pid ? 0 : 1);
  }
  pid_t compiler = 0;
  ASSERT_EQ(read(pipes[0], &compiler, sizeof compiler), static_cast<ssize_t>(sizeof compiler));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ASSERT_NE(compiler, 0);
  EXPECT_TRUE(ends(compiler)) << "nobody is left to compile for";
  EXPECT_NE(compile_kernel().run, nullptr) << "the parent's serves on";
  close(pipes[0]);
  close(pipes[1]);
}

// Like a child of the front ends, this one closes the parent's device descriptors.
TEST_F(CompilerProcess, EndsWithProgramDespiteForkedChild) {
  int to_test[2], to_child[2];
  ASSERT_EQ(pipe(to_test), 0);
  ASSERT_EQ(pipe(to_child), 0);
  const pid_t program = fork();
  if (program == 0) {
    const bool compiled = compile_kernel().run != nullptr;
    const std::vector<pid_t> own = compilers();
    const pid_t pid = compiled && own.size() == 1 ? own[0] : 0;
    if (fork() == 0) {
      InternalFd::close_in_child();
      close(to_child[1]);
      char end;
      _exit(static_cast<int>(read(to_child[0], &end, 1)));
    }
    _exit(write(to_test[1], &pid, sizeof pid) == sizeof pid ? 0 : 1);
  }
  pid_t compiler = 0;
  ASSERT_EQ(read(to_test[0], &compiler, sizeof compiler), static_cast<ssize_t>(sizeof compiler));
  ASSERT_EQ(waitpid(program, nullptr, 0), program);
  ASSERT_NE(compiler, 0);
  EXPECT_TRUE(ends(compiler));
  for (const int fd : {to_test[0], to_test[1], to_child[0], to_child[1]}) close(fd);
}

// Returns this process's socket descriptors.
std::vector<int> sockets() {
  std::vector<int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    struct stat status {};
    const int fd = std::stoi(entry.path().filename());
    if (fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode)) found.push_back(fd);
  }
  return found;
}

TEST_F(CompilerProcess, HasHighInternalDescriptor) {
  const std::vector<int> before = sockets();
  ASSERT_NE(compile_kernel().run, nullptr);
  int count = 0;
  for (const int fd : sockets()) {
    if (std::ranges::count(before, fd) != 0) continue;
    ++count;
    EXPECT_GE(fd, 700);
    EXPECT_TRUE(InternalFd::is_internal(fd));
  }
  EXPECT_LE(count, 1);
}

TEST_F(CompilerProcess, DoesNotWriteToReusedDescriptor) {
  // In a child process, since the descriptor stays replaced.
  const pid_t child = fork();
  if (child == 0) {
    if (compile_kernel().run == nullptr) _exit(1);
    const std::vector<int> open = sockets();
    int ends[2];
    if (open.empty() || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) _exit(2);
    const int number = open.back();
    if (dup2(ends[0], number) != number) _exit(3);
    if (compile_kernel().run == nullptr) _exit(4);
    char byte = 0;
    if (recv(ends[1], &byte, 1, MSG_DONTWAIT) != -1 || errno != EAGAIN) _exit(5);
    struct stat own {
    }, at_number{};
    if (fstat(ends[0], &own) != 0 || fstat(number, &at_number) != 0) _exit(6);
    _exit(own.st_ino == at_number.st_ino ? 0 : 7);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << WEXITSTATUS(status);
}

TEST_F(CompilerProcess, HasMemoryLimitAndNoNewPrivileges) {
  ASSERT_NE(compile_kernel().run, nullptr);
  ASSERT_EQ(compilers().size(), 1u);
  const std::string folder = "/proc/" + std::to_string(compilers()[0]);
  const auto text_of = [&](const char* name) {
    std::ifstream file(folder + "/" + name);
    return std::string{std::istreambuf_iterator<char>(file), {}};
  };
  EXPECT_NE(text_of("status").find("NoNewPrivs:\t1\n"), std::string::npos);
  const std::string limits = text_of("limits");
  const size_t address_space = limits.find("Max address space");
  ASSERT_NE(address_space, std::string::npos);
  EXPECT_NE(limits.substr(address_space, limits.find('\n', address_space) - address_space)
                .find_first_of("123456789"),
            std::string::npos)
      << limits;
}

TEST_F(CompilerProcess, IsNotStartedForCachedCode) {
  std::string folder = (std::filesystem::temp_directory_path() / "compiler_process_XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  // In a child process, which reads the environment anew. Returns how many compilers it started; 9: failure.
  const auto compilers_of_a_child = [&] {
    const pid_t child = fork();
    if (child == 0) {
      setenv("VGPU_CACHE", folder.c_str(), 1);
      const bool compiled = compile_kernel().run != nullptr;
      _exit(compiled ? static_cast<int>(compilers().size()) : 9);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WEXITSTATUS(status);
  };
  EXPECT_EQ(compilers_of_a_child(), 1);
  EXPECT_EQ(compilers_of_a_child(), 0) << "the code is there";
  std::filesystem::remove_all(folder);
  EXPECT_EQ(compilers_of_a_child(), 1);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace rigel::vgpu::exec::compiler
