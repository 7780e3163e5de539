#include "plugins/vgpu/preload/face.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "api/support/file_signals.hpp"
#include "plugins/vgpu/cp/bus_error.hpp"
#include "plugins/vgpu/cp/host_fault.hpp"
#include "plugins/vgpu/cp/shared_copy.hpp"
#include "plugins/vgpu/preload/bypass.hpp"
#include "plugins/vgpu/preload/fat_binary_hook.hpp"
#include "plugins/vgpu/preload/next.hpp"
#include "plugins/vgpu/preload/posix_signals.hpp"

namespace rigel::vgpu {

constinit std::atomic<System*> current{nullptr};
constinit std::atomic<System*> inherited{nullptr};

namespace {

// The state of this process: nothing yet, made, or failed for good.
enum : int { kNone, kReady, kOff };
constinit std::atomic<int> state{kNone};
constinit Mutex making_mutex;               // while the system is made: no fork comes in between
constinit std::atomic<pid_t> owner_pid{0};  // whose descriptors are the ones that we know; 0: this process's

void say(const char* text) {
  without_file_signals([&] { return ::write(2, text, std::strlen(text)); });
}

// Why there is no machine, and the files that there would be of one. Leaked on purpose.
struct Refusal {
  std::string why;
  FileTree files;
};
constinit const Refusal* refusal = nullptr;

// The exit status of a program that cannot have what was asked for: that of vgpu-run, which refuses the same.
constexpr int kRefusedStatus = 2;

// Without a machine nothing is ours. Who looks for a GPU nevertheless would find none and go on, or crash for want
// of it; programs that do not look (the shell of a job with such a variable) are left alone.
void refuse_if_wanted(const char* path, LastLink last) {
  if (state.load(std::memory_order_acquire) != kOff || refusal == nullptr) return;
  const Inside guard;
  if (!refusal->files.owns(refusal->files.canonical(path, last))) return;
  say(refusal->why.c_str());
  _exit(kRefusedStatus);
}

void make() RIGEL_REQUIRES(making_mutex) {
  Settings settings = Settings::from_environment();
  // What runs here was made for real hardware, where that race is nearly never lost.
  const char* const events = std::getenv("VGPU_EVENTS");
  if (events == nullptr || std::strcmp(events, "exact") != 0) settings.options.latecomers = Latecomers::kHear;
  Diagnostics diagnostics;
  auto made = make_system(settings, diagnostics);
  if (!made) {
    auto* const refused = new Refusal{{}, make_file_tree({}, HostProperties::read())};
    for (const auto& entry : diagnostics.entries()) refused->why += "vgpu: error: " + entry.text + "\n";
    refusal = refused;
    state.store(kOff, std::memory_order_release);
    return;
  }
  System* const system = made.release();
  current.store(system, std::memory_order_release);
  tell_of_fat_binaries(*system);
  watch_bus_errors(explain_bus_error);
  state.store(kReady, std::memory_order_release);
}

}  // namespace

System* system_for_path() {
  if (own_calls != 0) return nullptr;
  if (state.load(std::memory_order_acquire) == kNone && !in_vfork_child()) {
    look_for_handlers();
    const Inside guard;
    const MutexLock lock(making_mutex);
    if (state.load(std::memory_order_relaxed) == kNone) make();
  }
  return state.load(std::memory_order_acquire) == kReady ? current.load(std::memory_order_acquire) : nullptr;
}

FileCall::FileCall(int fd, bool is_sure) {
  if (fd < 0 || own_calls != 0) return;
  for (const auto* known : {&current, &inherited}) {
    System* const system = known->load(std::memory_order_acquire);
    if (system == nullptr || !system->may_have(fd)) continue;
    if (!inside_) inside_.emplace();
    if (!system->has(fd, is_sure)) continue;
    system_ = system;
    return;
  }
  inside_.reset();
}

System* system_for_fd(int fd) {
  return FileCall(fd).operator->();
}

bool can_be_string(const char* path) {
  constexpr uintptr_t kFirstPage = 4096, kProgramEnd = uintptr_t{1} << 47;
  const auto at = reinterpret_cast<uintptr_t>(path);
  return at >= kFirstPage && at < kProgramEnd;
}

bool could_be_ours(const char* path) {
  if (!can_be_string(path) || path[0] != '/') return false;
  while (path[1] == '/') ++path;
  return std::strncmp(path, "/dev", 4) == 0 || std::strncmp(path, "/sys", 4) == 0 ||
         std::strncmp(path, "/proc/modules", 13) == 0 || std::strstr(path, "..") != nullptr ||
         std::strstr(path, "/./") != nullptr;
}

namespace {

OurPath our_path(System& system, std::string_view path, LastLink last) {
  std::string canonical = system.files().canonical(path, last);
  if (!system.files().owns(canonical)) return {};
  return {&system, std::move(canonical)};
}

}  // namespace

OurPath our_path(const char* path, LastLink last) {
  if (own_calls != 0 || !could_be_ours(path)) return {};
  System* const system = system_for_path();
  if (system == nullptr) {
    refuse_if_wanted(path, last);
    return {};
  }
  const Inside guard;
  return our_path(*system, path, last);
}

OurPath our_path_at(int folder, const char* path, LastLink last) {
  if (!can_be_string(path)) return {};
  if (path[0] == '/' || folder == AT_FDCWD) return our_path(path, last);
  System* const system = system_for_fd(folder);
  if (system == nullptr) return {};
  const Inside guard;
  const std::string base = system->directory_of(folder);
  if (base.empty()) return {};
  return our_path(*system, base + "/" + path, last);
}

OurPath our_path_or_parent_at(int folder, const char* path, LastLink last) {
  OurPath ours = our_path_at(folder, path, last);
  if (ours || !can_be_string(path)) return ours;
  const std::string_view whole(path);
  if (whole != ".." && !whole.ends_with("/..")) return ours;
  ours = our_path_at(folder, std::string(whole.substr(0, whole.size() - 2)).append(".").c_str(), last);
  if (ours) ours.path = ours.system->files().canonical(ours.path + "/..");
  return ours;
}

int open_ours(const OurPath& ours, int flags) {
  const Inside guard;
  const int fd = ours.system->open(ours.path, flags);
  if (fd >= 0 && in_vfork_child()) {
    ours.system->forget(fd);
  } else if (fd >= 0 && ours.path.starts_with("/dev/")) {
    ours.system->process().expect_host_faults();
  }
  return fd;
}

namespace {

// Processes -----------------------------------------------------------------------------------------------

// The three locks keep the systems what they are until the fork is over. Until then all calls of this thread are
// ours: it may be in handlers of others, who call what would wait for these locks.
void before_fork() RIGEL_ACQUIRE(making_mutex, registered_mutex, folders_mutex) {
  ++own_calls;
  making_mutex.lock();
  registered_mutex.lock();
  folders_mutex.lock();
  for (const auto* known : {&current, &inherited}) {
    if (System* const system = known->load(std::memory_order_acquire)) system->before_fork();
  }
  host_faults_before_fork();
}

void after_fork() RIGEL_RELEASE(making_mutex, registered_mutex, folders_mutex) {
  folders_mutex.unlock();
  registered_mutex.unlock();
  making_mutex.unlock();
  --own_calls;
}

void after_fork_in_parent() RIGEL_RELEASE(making_mutex, registered_mutex, folders_mutex) {
  host_faults_after_fork(false);
  for (const auto* known : {&current, &inherited}) {
    if (System* const system = known->load(std::memory_order_acquire)) system->after_fork_in_parent();
  }
  after_fork();
}

void after_fork_in_child() RIGEL_RELEASE(making_mutex, registered_mutex, folders_mutex) {
  host_faults_after_fork(true);
  forget_shared_copies();
  owner_pid.store(getpid(), std::memory_order_relaxed);
  for (const auto* known : {&current, &inherited}) {
    if (System* const system = known->load(std::memory_order_acquire)) system->abandon_in_child();
  }
  if (System* const system = current.exchange(nullptr); system != nullptr) {
    inherited.store(system, std::memory_order_release);
  }
  if (state.load(std::memory_order_relaxed) != kOff) state.store(kNone, std::memory_order_release);
  after_fork();
}

// Libraries that the program needs begin before this one, and may be the first to look for a GPU.
void begin() {
  pid_t none = 0;
  if (!owner_pid.compare_exchange_strong(none, getpid(), std::memory_order_relaxed)) return;
  use_sigaction(NEXT(sigaction));  // not our hook of it
  keep_faults_unblocked();
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

// A child of vfork cannot be told from its parent later.
__attribute__((constructor)) void begin_at_load() {
  begin();
}

}  // namespace

bool in_vfork_child() {
  if (owner_pid.load(std::memory_order_relaxed) == 0) begin();
  return owner_pid.load(std::memory_order_relaxed) != getpid();
}

}  // namespace rigel::vgpu
