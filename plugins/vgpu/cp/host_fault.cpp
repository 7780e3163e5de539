#include "plugins/vgpu/cp/host_fault.hpp"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "api/support/mutex.hpp"
#include "plugins/vgpu/cp/bus_error.hpp"
#include "plugins/vgpu/cp/fault_mark.hpp"

namespace rigel::vgpu {
namespace {

// Storage that exists when the thread starts: the handler must not be the first to allocate it.
#define RIGEL_VGPU_HANDLERS_OWN __attribute__((tls_model("initial-exec")))

struct Guard {
  jmp_buf back;
  const detail::GuardedCall* call;
  Guard* outer;
};
constinit thread_local Guard* guard RIGEL_VGPU_HANDLERS_OWN = nullptr;
constinit thread_local HostFault fault RIGEL_VGPU_HANDLERS_OWN{};

// Handlers of the program -----------------------------------------------------------------------------------

constexpr int kSignals[] = {SIGSEGV, SIGBUS};
constexpr size_t index_of(int signal) {
  return signal == SIGSEGV ? 0 : 1;
}

// Handlers read actions, so an action is never changed in place. A slot is reused after 64 further sigaction
// calls; a handler cannot be that slow.
constexpr size_t kKeptActions = 64;
struct Actions {
  std::array<struct sigaction, kKeptActions> kept{};
  std::atomic<size_t> latest{0};
};
constinit Actions actions[2]{};
constinit Mutex install_mutex;
constinit std::atomic<bool> installed{false};

struct Watched {
  std::atomic<std::byte*> begin{nullptr};
  uint64_t bytes = 0;
  StoreWatcher watcher;
};
constinit std::array<Watched, 256> watched{};
constinit std::atomic<size_t> watched_end{0};
constinit Mutex watched_mutex;
constinit std::atomic<uint32_t> asking{0};  // threads that look for a watcher, or are in one

constexpr size_t kSystemSignalBytes = 8;  // _NSIG / 8 on Linux; sigset_t of glibc is larger

const struct sigaction& program_action(int signal) {
  Actions& all = actions[index_of(signal)];
  return all.kept[all.latest.load(std::memory_order_acquire)];
}

void set_program_action(int signal, const struct sigaction& action) {
  Actions& all = actions[index_of(signal)];
  const size_t next = (all.latest.load(std::memory_order_relaxed) + 1) % kKeptActions;
  all.kept[next] = action;
  all.latest.store(next, std::memory_order_release);
}

constinit std::atomic<Sigaction> system_sigaction{nullptr};
constinit std::atomic<bool> marks_handlers{false};
constinit std::atomic<BusErrorWatcher> bus_error_watcher{nullptr};

int real_sigaction(int signal, const struct sigaction* action, struct sigaction* old) {
  const Sigaction function = system_sigaction.load(std::memory_order_acquire);
  return function != nullptr ? function(signal, action, old) : sigaction(signal, action, old);
}

#if defined(__x86_64__)

bool is_handled(const struct sigaction& action) {
  return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
}

void on_fault(int signal, siginfo_t* info, void* context);

bool is_ours(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_fault;
}

// on_fault calls the program's handler as a function, so it runs on the stack that the program has chosen for
// its handler. If the program has no handler, on_fault uses the alternate stack if there is one.
void set_our_action(int signal, const struct sigaction& programs) {
  struct sigaction ours {};
  ours.sa_sigaction = on_fault;
  // Handlers of the program must not interrupt on_fault, which may hold the lock that their store would need.
  sigfillset(&ours.sa_mask);
  for (const int fault_signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigdelset(&ours.sa_mask, fault_signal);
  ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART;
  ours.sa_flags |= is_handled(programs) ? programs.sa_flags & SA_ONSTACK : SA_ONSTACK;
  real_sigaction(signal, &ours, nullptr);
}

void set_default_action(int signal) {
  struct sigaction end {};
  end.sa_handler = SIG_DFL;
  real_sigaction(signal, &end, nullptr);
}

// The signals blocked at the fault. The kernel saves only the part of sigset_t that it uses.
sigset_t mask_at(const void* context) {
  sigset_t mask;
  sigemptyset(&mask);
  std::memcpy(&mask, &static_cast<const ucontext_t*>(context)->uc_sigmask, kSystemSignalBytes);
  return mask;
}

bool stores_are_watched() {
  return std::any_of(watched.begin(), watched.end(),
                     [](const Watched& w) { return w.begin.load(std::memory_order_relaxed) != nullptr; });
}

sigset_t mask_in_handler(int signal, const struct sigaction& action, const sigset_t& before) {
  sigset_t mask = action.sa_mask;
  if ((action.sa_flags & SA_NODEFER) == 0) sigaddset(&mask, signal);
  const bool marks = marks_handlers.load(std::memory_order_relaxed);
  if (marks) {
    const bool blocks = sigismember(&mask, SIGSEGV) == 1;
    blocks ? sigaddset(&mask, kInFaultHandler) : sigdelset(&mask, kInFaultHandler);
  }
  sigorset(&mask, &mask, &before);
  // The handler may ring a watched doorbell. So may its thread after it has left the handler by a jump that
  // does not restore the mask. A blocked SIGSEGV would kill the process.
  if (marks || stores_are_watched()) sigdelset(&mask, SIGSEGV);
  return mask;
}

// Calls the program's handler as the kernel would.
void chain(int signal, siginfo_t* info, void* context) {
  const struct sigaction action = program_action(signal);
  const bool sent = info->si_code <= 0;
  if (sent && action.sa_handler == SIG_IGN) return;
  const sigset_t before = mask_at(context);
  const bool in_handler = signal == SIGSEGV && !sent && marks_handlers.load(std::memory_order_relaxed) &&
                          sigismember(&before, kInFaultHandler) == 1;
  if (!is_handled(action) || in_handler) {
    // Default action: the process ends, at the place of the fault.
    set_default_action(signal);
    if (sent) raise(signal);
    return;
  }
  if ((action.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) {
    struct sigaction reset = action;
    reset.sa_handler = SIG_DFL;
    set_program_action(signal, reset);
  }
  const sigset_t mask = mask_in_handler(signal, action, before);
  // Bypasses the preloaded hook, which hides kInFaultHandler from the program.
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, nullptr, kSystemSignalBytes);
  if ((action.sa_flags & SA_SIGINFO) != 0) {
    action.sa_sigaction(signal, info, context);
  } else {
    action.sa_handler(signal);
  }
}

#if defined(RIGEL_VGPU_FIXUPS)
struct Fixup {
  int32_t instruction, target;  // relative to the field's address
};
// Weak: a program may link none of the functions with entries and then lacks the section.
extern "C" __attribute__((weak, visibility("hidden"))) const Fixup __start_vgpu_fixups[];
extern "C" __attribute__((weak, visibility("hidden"))) const Fixup __stop_vgpu_fixups[];
#endif

// Returns the address where a fault of the instruction at `pc` continues, or 0.
uint64_t fixup_of([[maybe_unused]] uint64_t pc) noexcept {
#if defined(RIGEL_VGPU_FIXUPS)
  for (const Fixup* f = __start_vgpu_fixups; f != __stop_vgpu_fixups; ++f) {
    if (reinterpret_cast<uint64_t>(&f->instruction) + static_cast<int64_t>(f->instruction) == pc) {
      return reinterpret_cast<uint64_t>(&f->target) + static_cast<int64_t>(f->target);
    }
  }
#endif
  return 0;
}

[[noreturn]] void leave_guarded_call() {
  longjmp(guard->back, 1);
}

bool ask_watchers(std::byte* address, void* context) {
  // Either unwatch_stores() sees `asking`, or the watcher is not found.
  asking.fetch_add(1, std::memory_order_seq_cst);
  const size_t end = watched_end.load(std::memory_order_acquire);
  bool done = false;
  for (size_t i = 0; i < end && !done; ++i) {
    std::byte* const begin = watched[i].begin.load(std::memory_order_seq_cst);
    if (begin == nullptr || address < begin || address >= begin + watched[i].bytes) continue;
    const StoreWatcher watcher = watched[i].watcher;
    done = watcher.stored(watcher.context, address, StoppedStore(context));
  }
  asking.fetch_sub(1, std::memory_order_release);
  return done;
}

// Handles a store to a write-protected page. Returns false if the fault belongs to the program.
bool resolve_stopped_store(std::byte* address, void* context) {
  if (ask_watchers(address, context)) return true;
  // The watcher may have made the page writable and left between the fault and the question.
  return watched_end.load(std::memory_order_relaxed) != 0 && guarded_touch(address, true);
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  greg_t* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  auto* const address = static_cast<std::byte*>(info->si_addr);
  const bool writes = (registers[REG_ERR] & 2) != 0;
  const bool present = (registers[REG_ERR] & 1) != 0;
  if (info->si_code > 0) {
    const uint64_t target = fixup_of(static_cast<uint64_t>(registers[REG_RIP]));
    Guard* const own = guard;
    if (target != 0 || (own != nullptr && own->call->expects(own->call->context, address))) {
      const bool read_only = signal == SIGSEGV && present && writes;
      fault = {address, writes ? Access::kWrite : Access::kRead,
               read_only ? FaultReason::kReadOnly : FaultReason::kNotPresent};
      if (target != 0) {
        registers[REG_RIP] = static_cast<greg_t>(target);
        registers[REG_RCX] = 0;
      } else {
        // Simulates a call from the instruction: past the red zone, aligned as at a function's entry.
        const uint64_t stack = (static_cast<uint64_t>(registers[REG_RSP]) - 128) & ~uint64_t{15};
        registers[REG_RSP] = static_cast<greg_t>(stack - 8);
        registers[REG_RIP] = reinterpret_cast<greg_t>(&leave_guarded_call);
        registers[REG_EFL] &= ~greg_t{0x400};  // the direction flag
      }
      errno = error;
      return;
    }
    if (signal == SIGSEGV && info->si_code == SEGV_ACCERR && writes &&
        resolve_stopped_store(address, context)) {
      errno = error;
      return;
    }
  }
  const BusErrorWatcher watcher = bus_error_watcher.load(std::memory_order_acquire);
  if (signal == SIGBUS && info->si_code > 0 && watcher != nullptr) watcher(address);
  chain(signal, info, context);
  errno = error;
}

#else

bool is_ours(const struct sigaction&) {
  return false;
}
void set_our_action(int, const struct sigaction&) {}

#endif

}  // namespace

bool catch_host_faults() noexcept {
#if defined(__x86_64__)
  if (installed.load(std::memory_order_acquire)) return true;
  const MutexLock lock(install_mutex);
  if (installed.load(std::memory_order_relaxed)) return true;
  for (const int signal : kSignals) {
    struct sigaction before {};
    real_sigaction(signal, nullptr, &before);
    set_program_action(signal, before);
    set_our_action(signal, before);
  }
  installed.store(true, std::memory_order_release);
  return true;
#else
  return false;
#endif
}

bool host_faults_wanted() noexcept {
  return installed.load(std::memory_order_acquire);
}

void watch_bus_errors(BusErrorWatcher watcher) noexcept {
  bus_error_watcher.store(watcher, std::memory_order_release);
}

void use_sigaction(Sigaction function) noexcept {
  system_sigaction.store(function, std::memory_order_release);
}

void mark_fault_handlers() noexcept {
  marks_handlers.store(true, std::memory_order_relaxed);
}

bool host_faults_are_caught() noexcept {
  if (!installed.load(std::memory_order_acquire)) return false;
  struct sigaction now {};
  return real_sigaction(SIGSEGV, nullptr, &now) == 0 && is_ours(now);
}

int program_sigaction(int signal, const struct sigaction* action, struct sigaction* old) noexcept {
  if ((signal != SIGSEGV && signal != SIGBUS) || !installed.load(std::memory_order_acquire)) {
    return real_sigaction(signal, action, old);
  }
  const MutexLock lock(install_mutex);
  const struct sigaction before = program_action(signal);
  if (action != nullptr) {
    set_program_action(signal, *action);
    set_our_action(signal, *action);
  }
  if (old != nullptr) *old = before;
  return 0;
}

int vfork_child_sigaction(int signal, const struct sigaction* action, struct sigaction* old) noexcept {
  struct sigaction before {};
  const int result = real_sigaction(signal, action, &before);
  if (result == 0 && old != nullptr) *old = is_ours(before) ? program_action(signal) : before;
  return result;
}

const HostFault& last_host_fault() noexcept {
  return fault;
}

bool watch_stores(std::byte* begin, uint64_t bytes, StoreWatcher watcher) noexcept {
  const MutexLock lock(watched_mutex);
  for (size_t i = 0; i < watched.size(); ++i) {
    if (watched[i].begin.load(std::memory_order_relaxed) != nullptr) continue;
    watched[i].bytes = bytes;
    watched[i].watcher = watcher;
    watched[i].begin.store(begin, std::memory_order_release);
    watched_end.store(std::max(watched_end.load(std::memory_order_relaxed), i + 1),
                      std::memory_order_release);
    return true;
  }
  return false;
}

void unwatch_stores(std::byte* begin) noexcept {
  const MutexLock lock(watched_mutex);
  for (Watched& w : watched) {
    if (w.begin.load(std::memory_order_relaxed) == begin) w.begin.store(nullptr, std::memory_order_seq_cst);
  }
}

void await_store_watchers() noexcept {
  while (asking.load(std::memory_order_seq_cst) != 0) sched_yield();
}

void host_faults_before_fork() noexcept RIGEL_ACQUIRE(install_mutex, watched_mutex) {
  install_mutex.lock();
  watched_mutex.lock();
}

void host_faults_after_fork(bool in_child) noexcept RIGEL_RELEASE(install_mutex, watched_mutex) {
  if (in_child) {
    for (Watched& w : watched) w.begin.store(nullptr, std::memory_order_relaxed);
    asking.store(0, std::memory_order_relaxed);  // those threads exist in the parent only
  }
  watched_mutex.unlock();
  install_mutex.unlock();
}

bool detail::call_guarded(const GuardedCall& call) noexcept {
  Guard own;
  own.call = &call;
  own.outer = guard;
  if (_setjmp(own.back) != 0) {
    guard = guard->outer;  // not `own`: the compiler may have kept parts of it in registers
    return false;
  }
  // Keeps the order for the handler, which runs on this thread.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  guard = &own;
  call.body(call.context);
  guard = own.outer;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  return true;
}

#if defined(RIGEL_VGPU_DIRECT)

namespace {

bool load_16(const std::byte* from, __m128i& value) noexcept {
  uint64_t succeeded = 1;
  asm volatile(RIGEL_VGPU_GUARDED("movups (%[from]), %[value]")
               : [value] "=x"(value), "+c"(succeeded)
               : [from] "r"(from)
               : "memory");
  return succeeded != 0;
}

bool store_16(std::byte* to, const __m128i& value) noexcept {
  uint64_t succeeded = 1;
  asm volatile(RIGEL_VGPU_GUARDED("movups %[value], (%[to])")
               : "+c"(succeeded)
               : [value] "x"(value), [to] "r"(to)
               : "memory");
  return succeeded != 0;
}

template <class T>
bool read_piece(std::byte* to, const std::byte* from) noexcept {
  T value = 0;
  if (!guarded_load(reinterpret_cast<T*>(const_cast<std::byte*>(from)), value)) return false;
  std::memcpy(to, &value, sizeof value);
  return true;
}

template <class T>
bool write_piece(std::byte* to, const std::byte* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof value);
  return guarded_store(reinterpret_cast<T*>(to), value);
}

// Moves pieces of 16, 8, 4, 2 and 1 bytes. `narrow` is a template on the piece's type.
template <class Wide, class Narrow>
bool in_pieces(std::byte* to, const std::byte* from, uint64_t bytes, Wide wide, Narrow narrow) noexcept {
  for (; bytes >= 16; to += 16, from += 16, bytes -= 16) {
    if (!wide(to, from)) return false;
  }
  const auto piece = [&]<class T>(T) {
    if ((bytes & sizeof(T)) == 0) return true;
    if (!narrow.template operator()<T>(to, from)) return false;
    to += sizeof(T), from += sizeof(T);
    return true;
  };
  return piece(uint64_t{}) && piece(uint32_t{}) && piece(uint16_t{}) && piece(uint8_t{});
}

}  // namespace

bool guarded_read(void* to, const std::byte* from, uint64_t bytes) noexcept {
  return in_pieces(
      static_cast<std::byte*>(to), from, bytes,
      [](std::byte* out, const std::byte* in) {
        __m128i value;
        if (!load_16(in, value)) return false;
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out), value);
        return true;
      },
      []<class T>(std::byte* out, const std::byte* in) { return read_piece<T>(out, in); });
}

bool guarded_write(std::byte* to, const void* from, uint64_t bytes) noexcept {
  return in_pieces(
      to, static_cast<const std::byte*>(from), bytes,
      [](std::byte* out, const std::byte* in) {
        return store_16(out, _mm_loadu_si128(reinterpret_cast<const __m128i*>(in)));
      },
      []<class T>(std::byte* out, const std::byte* in) { return write_piece<T>(out, in); });
}

#else

bool guarded_read(void* to, const std::byte* from, uint64_t bytes) noexcept {
  return guarded([&] { std::memcpy(to, from, bytes); },
                 [&](std::byte* at) { return at >= from && at < from + bytes; });
}

bool guarded_write(std::byte* to, const void* from, uint64_t bytes) noexcept {
  return guarded([&] { std::memcpy(to, from, bytes); },
                 [&](std::byte* at) { return at >= to && at < to + bytes; });
}

#endif

}  // namespace rigel::vgpu
