#include "plugins/vgpu/exec/native/compiler_process.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "api/support/mutex.hpp"
#include "plugins/vgpu/cp/internal_fd.hpp"
#include "plugins/vgpu/cp/own_calls.hpp"
#include "plugins/vgpu/exec/lowering.hpp"
#include "plugins/vgpu/exec/native/code_cache.hpp"

namespace rigel::vgpu::exec::compiler {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kProgram = "vgpu-compiler";
// For a hanging process; a busy one exits after its limit of CPU time (main.cpp).
constexpr auto kMostTime = std::chrono::minutes(10);

std::string requested_mode() {
  const char* const value = std::getenv("VGPU_COMPILER");
  return value == nullptr ? std::string() : value;
}

struct Start {
  const char* path;
  int socket;
  char* arguments[3];
  char* environment[2];
  std::byte* stack_end;
  bool started;
};

// Runs in the parent's memory until execve: only system calls.
int become_compiler(void* start_pointer) {
  const Start& start = *static_cast<const Start*>(start_pointer);
  const bool keeps_stderr = start.environment[0] != nullptr;
  if (syscall(SYS_dup3, start.socket, 0, 0) < 0) return 1;
  const long null_device = syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR);
  if (null_device >= 0) syscall(SYS_dup3, null_device, 1, 0);
  if (null_device >= 0 && !keeps_stderr) syscall(SYS_dup3, null_device, 2, 0);
  syscall(SYS_close_range, 3, ~0u, 0);
  syscall(SYS_execve, start.path, start.arguments, start.environment);
  return 1;
}

// Runs in an intermediate process, which exits at once. The compiler is therefore not a child of the program,
// which may wait for any child. Suppressing the exit signal instead does not work: execve restores it.
int start_compiler(void* start_pointer) {
  Start& start = *static_cast<Start*>(start_pointer);
  start.started = clone(become_compiler, start.stack_end, CLONE_VM | CLONE_VFORK, &start) > 0;
  return 0;
}

class Process {
 public:
  explicit Process(InternalFd socket) : socket_(std::move(socket)), file_(file_of(socket_.get())) {}
  // Closing the socket ends the compiler.
  ~Process() {
    if (!is_ours()) socket_.release();
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // One call at a time.
  static std::unique_ptr<Process> start(const std::string& path, std::string& why) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
      why = std::string("cannot create a socket: ") + std::strerror(errno);
      return nullptr;
    }
    // Low descriptor numbers are left to the program.
    const InternalFd low[2] = {InternalFd(ends[0]), InternalFd(ends[1])};
    ErrnoOr<InternalFd> ours = InternalFd::duplicate(ends[0]), theirs = InternalFd::duplicate(ends[1]);
    if (!ours || !theirs) {
      why = std::string("cannot create a socket: ") + std::strerror(ours ? theirs.error() : ours.error());
      return nullptr;
    }
    auto process = std::make_unique<Process>(std::move(*ours));
    std::string program = kProgram, pid = std::to_string(getpid()), dump = "VGPU_COMPILER_DUMP=";
    const char* const file = std::getenv("VGPU_COMPILER_DUMP");
    if (file != nullptr) dump += file;
    constexpr size_t kStack = 16 << 10;
    alignas(64) static std::byte stacks[2][kStack];
    Start start{path.c_str(),
                theirs->get(),
                {program.data(), pid.data(), nullptr},
                {file == nullptr ? nullptr : dump.data(), nullptr},
                stacks[1] + kStack,
                false};
    const pid_t between = clone(start_compiler, stacks[0] + kStack, CLONE_VM | CLONE_VFORK, &start);
    const int failed = errno;
    while (between > 0 && waitpid(between, nullptr, __WALL) < 0 && errno == EINTR) continue;
    if (between > 0 && start.started) return process;
    why = "cannot start " + path + (between > 0 ? "" : std::string(": ") + std::strerror(failed));
    return nullptr;
  }

  bool send(std::span<const std::byte> message, Clock::time_point deadline) {
    const uint64_t size = message.size();
    return is_ours() && move(POLLOUT, std::as_bytes(std::span(&size, 1)), deadline) &&
           move(POLLOUT, message, deadline);
  }
  bool receive(std::vector<std::byte>& message, Clock::time_point deadline) {
    uint64_t size = 0;
    if (!is_ours() || !move(POLLIN, std::as_bytes(std::span(&size, 1)), deadline) || size > kMostMessageBytes)
      return false;
    message.resize(size);
    return move(POLLIN, message, deadline);
  }

 private:
  using File = std::pair<dev_t, ino_t>;
  static File file_of(int fd) {
    struct stat status {};
    return fstat(fd, &status) == 0 ? File(status.st_dev, status.st_ino) : File();
  }
  // A program that bypasses the close hooks may have reused the number for another file.
  bool is_ours() const { return file_of(socket_.get()) == file_; }

  bool move(short direction, std::span<const std::byte> bytes, Clock::time_point deadline) {
    while (!bytes.empty()) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
      pollfd ready{socket_.get(), direction, 0};
      const int count = left <= 0 ? 0 : poll(&ready, 1, static_cast<int>(left));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      const ssize_t moved =
          direction == POLLIN
              ? recv(socket_.get(), const_cast<std::byte*>(bytes.data()), bytes.size(), MSG_DONTWAIT)
              : ::send(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (moved < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (moved <= 0) return false;
      bytes = bytes.subspan(static_cast<size_t>(moved));
    }
    return true;
  }

  InternalFd socket_;
  const File file_;
};

std::shared_ptr<std::byte> executable(const std::vector<std::byte>& code) {
  const size_t size = code.size();
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  std::memcpy(memory, code.data(), size);
  if (mprotect(memory, size, PROT_READ | PROT_EXEC) != 0) {
    munmap(memory, size);
    return nullptr;
  }
  return {static_cast<std::byte*>(memory), [size](std::byte* at) { munmap(at, size); }};
}

// Finds the compiler of the library or program that contains this code.
CompilerProgram own_compiler() {
  Dl_info self{};
  void* link_map_entry = nullptr;
  if (dladdr1(reinterpret_cast<const void*>(&compile), &self, &link_map_entry, RTLD_DL_LINKMAP) == 0 ||
      self.dli_fname == nullptr)
    return {{}, "the path of this library is unknown"};
  // dladdr names a program by argv[0], which is not a path if the shell found the program in PATH.
  const bool is_program = *static_cast<const link_map*>(link_map_entry)->l_name == '\0';
  if (!is_program) return find_compiler(self.dli_fname);
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? CompilerProgram{{}, "the path of this program is unknown"} : find_compiler(program.c_str());
}

// The processes, at most compilers_at_a_time().
class Processes {
 public:
  /// Sends the request to an idle process or to a new one, and returns its answer.
  std::optional<Answer> ask(const std::string& path, std::span<const std::byte> request, std::string& why) {
    for (;;) {
      bool is_new = false;
      std::unique_ptr<Process> process = take(path, is_new, why);
      if (process == nullptr) return std::nullopt;
      const auto deadline = Clock::now() + kMostTime;
      std::vector<std::byte> message;
      std::optional<Answer> answer;
      if (process->send(request, deadline) && process->receive(message, deadline))
        answer = answer_from(message);
      if (!answer) process.reset();
      give_back(std::move(process));
      if (answer) return answer;
      const bool late = Clock::now() >= deadline;
      why = late ? "the compiler timed out" : "the compiler failed";
      // A process that has served before may have been killed for other reasons: ask another one.
      if (is_new || late) return std::nullopt;
    }
  }

 private:
  std::unique_ptr<Process> take(const std::string& path, bool& is_new, std::string& why) {
    MutexLock lock(mutex_);
    while (idle_.empty() && busy_ == compilers_at_a_time()) freed_.wait(lock);
    std::unique_ptr<Process> process;
    is_new = idle_.empty();
    if (is_new) {
      process = Process::start(path, why);
    } else {
      process = std::move(idle_.back());
      idle_.pop_back();
    }
    if (process != nullptr) ++busy_;
    return process;
  }
  // Null: the process has ended.
  void give_back(std::unique_ptr<Process> process) {
    const MutexLock lock(mutex_);
    --busy_;
    if (process != nullptr) idle_.push_back(std::move(process));
    freed_.notify_one();
  }

  Mutex mutex_;
  Condition freed_;
  std::vector<std::unique_ptr<Process>> idle_
      RIGEL_GUARDED_BY(mutex_);  // the one that served last is at the end
  unsigned busy_ RIGEL_GUARDED_BY(mutex_) = 0;
};

// Never destroyed: threads may outlive static objects.
struct State {
  const CompilerProgram found = own_compiler();
  const CodeCache cache{found.why_none.empty() ? code_cache_folder() : std::string(),
                        found.why_none.empty() ? read_only_cache_directories() : std::vector<std::string>()};
  const pid_t owner = getpid();
  Processes processes;
};

// A child after fork() gets a new state: its copy of the lock may be held, and the socket is the parent's.
// Its copy of the socket is closed by InternalFd::close_in_child.
State& state_of_process() {
  static std::atomic<State*> current{new State};
  State* state = current.load();
  if (state->owner == getpid()) return *state;
  auto* const fresh = new State;
  if (current.compare_exchange_strong(state, fresh)) return *fresh;
  delete fresh;
  return *state;
}

// Maps the code executable, if the digests of both plans agree.
Compiled placed(const Plan& plan, const Answer& answer) {
  Compiled compiled;
  compiled.error = answer.error;
  if (!compiled.error.empty()) return compiled;
  if (answer.digest != plan.digest()) {
    compiled.error = "the compiler planned the same code differently";
    return compiled;
  }
  compiled.memory = executable(answer.code);
  if (compiled.memory == nullptr) {
    compiled.error = "not enough memory for code";
    return compiled;
  }
  compiled.bytes = answer.code.size();
  compiled.run = reinterpret_cast<Run>(compiled.memory.get() + answer.entry);
  return compiled;
}

}  // namespace

unsigned compilers_at_a_time() {
  static const unsigned number = std::clamp(std::thread::hardware_concurrency() / 2, 1u, 4u);
  return number;
}

Compiled compile(const Plan& plan, const Request& request, std::span<const Image> images) {
  const OwnCalls own_calls;
  Compiled compiled = find_cached(plan, request, images);
  if (compiled.run != nullptr) return compiled;
  State& state = state_of_process();
  compiled.error = state.found.why_none;
  if (!compiled.error.empty()) return compiled;
  const std::optional<Answer> answer =
      state.processes.ask(state.found.path, to_message(request, images), compiled.error);
  if (!answer) return compiled;
  compiled = placed(plan, *answer);
  if (compiled.run != nullptr && state.cache.keep(request.cache_name, request, images, *answer))
    compiled.cache_use = CacheUse::kStored;
  return compiled;
}

std::string cache_name(const Request& request) {
  const OwnCalls own_calls;
  return state_of_process().cache.name_of(request);
}

bool is_cached(const std::string& name) {
  const OwnCalls own_calls;
  return state_of_process().cache.has(name);
}

Compiled find_cached(const Plan& plan, const Request& request, std::span<const Image> images) {
  const OwnCalls own_calls;
  const std::optional<Answer> answer = state_of_process().cache.find(request.cache_name, request, images);
  Compiled compiled;
  if (!answer) {
    compiled.error = "not in the cache";
    return compiled;
  }
  compiled = placed(plan, *answer);
  if (compiled.run != nullptr) compiled.cache_use = CacheUse::kLoaded;
  return compiled;
}

Compilation asked_for() {
  if (getauxval(AT_SECURE) != 0) return Compilation::kNone;
  const std::string mode = requested_mode();
  if (mode == "off") return Compilation::kNone;
  if (mode != "beforehand") return Compilation::kWhenHot;
  return why_no_compiler().empty() ? Compilation::kBeforehand : Compilation::kNone;
}

std::string why_no_compiler() {
  return state_of_process().found.why_none;
}

CompilerProgram find_compiler(const char* library_path) {
  if (getauxval(AT_SECURE) != 0) return {{}, "not started in an elevated process"};
  if (requested_mode() == "off") return {{}, "VGPU_COMPILER=off"};
  if (best_simd_level() == SimdLevel::kBaseline) return {{}, std::string(why_absent(SimdLevel::kAvx2))};
  std::string folder = library_path;
  folder.resize(folder.rfind('/') == std::string::npos ? 0 : folder.rfind('/') + 1);
  struct stat library {};
  if (stat(library_path, &library) != 0) return {{}, std::string(library_path) + ": " + std::strerror(errno)};
  // A directory above may belong to any user: the program must belong to the library's owner or to root.
  const auto is_compiler = [&](const std::string& path) {
    struct stat found {};
    return access(path.c_str(), X_OK) == 0 && stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) &&
           (found.st_uid == library.st_uid || found.st_uid == 0);
  };
  if (is_compiler(folder + kProgram)) return {folder + kProgram, {}};
  constexpr int kDeepest = 4;  // lib/x86_64-linux-gnu/hsa/drivers
  std::string above = folder;
  for (int i = 0; i < kDeepest; ++i) {
    above += "../";
    if (is_compiler(above + "bin/" + kProgram)) return {above + "bin/" + kProgram, {}};
  }
  return {{}, std::string(kProgram) + " is not installed with " + library_path};
}

std::string kernels_are_interpreted(std::string_view why) {
  std::string text = "kernels are interpreted: ";
  text += why;
  if (why.find(kProgram) != why.npos)
    text += "; install rigel-vgpu-compiler, or install clang-19, llvm-19 and llvm-19-dev and rebuild";
  return text;
}

}  // namespace rigel::vgpu::exec::compiler
