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

// The state of this process: not created yet, created, or failed.
enum : int { kNone, kReady, kOff };
constinit std::atomic<int> state{kNone};
constinit Mutex creation_mutex;  // held while the system is created, so that no fork happens meanwhile
constinit std::atomic<pid_t> owner_pid{0};  // the process that owns the known descriptors; 0: not set yet

void print(const char* text) {
  without_file_signals([&] { return ::write(2, text, std::strlen(text)); });
}

// The errors that prevented the creation of the system, and the paths that it would have had. Leaked on
// purpose.
struct SettingsError {
  std::string message;
  FileTree files;
};
constinit const SettingsError* settings_error = nullptr;

// The exit status after an invalid setting; vgpu-run uses the same.
constexpr int kSettingsErrorStatus = 2;

// If the settings are invalid, a program that opens a GPU's path ends with the errors; it would otherwise
// find no GPU. Other programs, such as the shell of a job with such variables, are not affected.
void exit_if_gpu_path(const char* path, LastLink last) {
  if (state.load(std::memory_order_acquire) != kOff || settings_error == nullptr) return;
  const Inside guard;
  if (!settings_error->files.owns(settings_error->files.canonical(path, last))) return;
  print(settings_error->message.c_str());
  _exit(kSettingsErrorStatus);
}

void create_current_system() RIGEL_REQUIRES(creation_mutex) {
  Settings settings = Settings::from_environment();
  // Programs for physical GPUs may have this race, which is almost never lost there.
  const char* const events = std::getenv("VGPU_EVENTS");
  if (events == nullptr || std::strcmp(events, "exact") != 0) settings.options.latecomers = Latecomers::kHear;
  Diagnostics diagnostics;
  auto created = make_system(settings, diagnostics);
  if (!created) {
    auto* const failure = new SettingsError{{}, make_file_tree({}, HostProperties::read())};
    for (const auto& entry : diagnostics.entries()) failure->message += "vgpu: error: " + entry.text + "\n";
    settings_error = failure;
    state.store(kOff, std::memory_order_release);
    return;
  }
  System* const system = created.release();
  current.store(system, std::memory_order_release);
  report_fat_binaries(*system);
  watch_bus_errors(explain_bus_error);
  state.store(kReady, std::memory_order_release);
}

}  // namespace

System* system_for_path() {
  if (own_calls != 0) return nullptr;
  if (state.load(std::memory_order_acquire) == kNone && !in_vfork_child()) {
    find_program_handlers();
    const Inside guard;
    const MutexLock lock(creation_mutex);
    if (state.load(std::memory_order_relaxed) == kNone) create_current_system();
  }
  return state.load(std::memory_order_acquire) == kReady ? current.load(std::memory_order_acquire) : nullptr;
}

FileCall::FileCall(int fd, bool is_current_file) {
  if (fd < 0 || own_calls != 0) return;
  for (const auto* slot : {&current, &inherited}) {
    System* const system = slot->load(std::memory_order_acquire);
    if (system == nullptr || !system->may_have(fd)) continue;
    if (!inside_) inside_.emplace();
    if (!system->has(fd, is_current_file)) continue;
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

bool may_be_vgpu_path(const char* path) {
  if (!can_be_string(path) || path[0] != '/') return false;
  while (path[1] == '/') ++path;
  return std::strncmp(path, "/dev", 4) == 0 || std::strncmp(path, "/sys", 4) == 0 ||
         std::strncmp(path, "/proc/modules", 13) == 0 || std::strstr(path, "..") != nullptr ||
         std::strstr(path, "/./") != nullptr;
}

namespace {

VgpuPath find_path(System& system, std::string_view path, LastLink last) {
  std::string canonical = system.files().canonical(path, last);
  if (!system.files().owns(canonical)) return {};
  return {&system, std::move(canonical)};
}

}  // namespace

VgpuPath find_path(const char* path, LastLink last) {
  if (own_calls != 0 || !may_be_vgpu_path(path)) return {};
  System* const system = system_for_path();
  if (system == nullptr) {
    exit_if_gpu_path(path, last);
    return {};
  }
  const Inside guard;
  return find_path(*system, path, last);
}

VgpuPath find_path_at(int directory, const char* path, LastLink last) {
  if (!can_be_string(path)) return {};
  if (path[0] == '/' || directory == AT_FDCWD) return find_path(path, last);
  System* const system = system_for_fd(directory);
  if (system == nullptr) return {};
  const Inside guard;
  const std::string base = system->directory_of(directory);
  if (base.empty()) return {};
  return find_path(*system, base + "/" + path, last);
}

VgpuPath find_path_or_parent_at(int directory, const char* path, LastLink last) {
  VgpuPath found = find_path_at(directory, path, last);
  if (found || !can_be_string(path)) return found;
  const std::string_view whole(path);
  if (whole != ".." && !whole.ends_with("/..")) return found;
  found = find_path_at(directory, std::string(whole.substr(0, whole.size() - 2)).append(".").c_str(), last);
  if (found) found.path = found.system->files().canonical(found.path + "/..");
  return found;
}

int open_path(const VgpuPath& found, int flags) {
  const Inside guard;
  const int fd = found.system->open(found.path, flags);
  if (fd >= 0 && in_vfork_child()) {
    found.system->forget(fd);
  } else if (fd >= 0 && found.path.starts_with("/dev/")) {
    found.system->process().expect_host_faults();
  }
  return fd;
}

namespace {

// Processes -----------------------------------------------------------------------------------------------

// The three locks keep the systems consistent until the fork has completed. Meanwhile all calls of this
// thread bypass the hooks: it may run other libraries' fork handlers, whose calls would wait for these locks.
void before_fork() RIGEL_ACQUIRE(creation_mutex, registered_mutex, directories_mutex) {
  ++own_calls;
  creation_mutex.lock();
  registered_mutex.lock();
  directories_mutex.lock();
  for (const auto* slot : {&current, &inherited}) {
    if (System* const system = slot->load(std::memory_order_acquire)) system->before_fork();
  }
  host_faults_before_fork();
}

void after_fork() RIGEL_RELEASE(creation_mutex, registered_mutex, directories_mutex) {
  directories_mutex.unlock();
  registered_mutex.unlock();
  creation_mutex.unlock();
  --own_calls;
}

void after_fork_in_parent() RIGEL_RELEASE(creation_mutex, registered_mutex, directories_mutex) {
  host_faults_after_fork(false);
  for (const auto* slot : {&current, &inherited}) {
    if (System* const system = slot->load(std::memory_order_acquire)) system->after_fork_in_parent();
  }
  after_fork();
}

void after_fork_in_child() RIGEL_RELEASE(creation_mutex, registered_mutex, directories_mutex) {
  host_faults_after_fork(true);
  forget_shared_copies();
  owner_pid.store(getpid(), std::memory_order_relaxed);
  for (const auto* slot : {&current, &inherited}) {
    if (System* const system = slot->load(std::memory_order_acquire)) system->abandon_in_child();
  }
  if (System* const system = current.exchange(nullptr); system != nullptr) {
    inherited.store(system, std::memory_order_release);
  }
  if (state.load(std::memory_order_relaxed) != kOff) state.store(kNone, std::memory_order_release);
  after_fork();
}

// Libraries of the program are initialised before this one, and may be the first to open a GPU.
void initialize() {
  pid_t unset = 0;
  if (!owner_pid.compare_exchange_strong(unset, getpid(), std::memory_order_relaxed)) return;
  use_sigaction(NEXT(sigaction));  // not the hook of sigaction
  keep_faults_unblocked();
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

// Records the pid at load: a child of vfork cannot be distinguished from its parent later.
__attribute__((constructor)) void initialize_at_load() {
  initialize();
}

}  // namespace

bool in_vfork_child() {
  if (owner_pid.load(std::memory_order_relaxed) == 0) initialize();
  return owner_pid.load(std::memory_order_relaxed) != getpid();
}

}  // namespace rigel::vgpu
