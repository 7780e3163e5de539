// Hooks for signals. The virtual GPU installs handlers of SIGSEGV and SIGBUS (plugins/vgpu/cp/host_fault.hpp)
// that the program does not see: its handlers are called for its own faults, and queries return its handlers.
// It cannot block the two signals, because a thread with SIGSEGV blocked that rings a protected doorbell
// would be killed. This holds from program start, because threads may exist, with all signals blocked, before
// the program opens a GPU.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "plugins/vgpu/cp/fault_mark.hpp"
#include "plugins/vgpu/cp/host_fault.hpp"
#include "plugins/vgpu/kfd/driver_call.hpp"
#include "plugins/vgpu/preload/face.hpp"
#include "plugins/vgpu/preload/next.hpp"
#include "plugins/vgpu/preload/posix_signals.hpp"

using namespace rigel::vgpu;

namespace {

bool is_fault(int signal) {
  return signal == SIGSEGV || signal == SIGBUS;
}

int change_fault_action(int signal, const struct sigaction* action, struct sigaction* old) {
  use_sigaction(NEXT(sigaction));
  return in_vfork_child() ? vfork_child_sigaction(signal, action, old)
                          : program_sigaction(signal, action, old);
}

sighandler_t set_handler(int signal, sighandler_t handler, int flags) {
  struct sigaction action {
  }, old{};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  if ((flags & static_cast<int>(SA_NODEFER)) == 0) sigaddset(&action.sa_mask, signal);
  return change_fault_action(signal, &action, &old) == 0 ? old.sa_handler : SIG_ERR;
}

constinit bool kept_unblocked = false;  // constant after the first thread has been created

sigset_t without_faults(const sigset_t& set) {
  sigset_t without = set;
  for (const int signal : {SIGSEGV, SIGBUS, kInFaultHandler}) sigdelset(&without, signal);
  return without;
}

// A program that unblocks SIGSEGV in its handler expects nested calls of the handler.
sigset_t with_handler_mark(const sigset_t& set) {
  sigset_t with = set;
  if (sigismember(&set, SIGSEGV) == 1) sigaddset(&with, kInFaultHandler);
  return with;
}

// Called before the handler is installed, because it may run from then on.
template <class Handler>
void note_handler(Handler handler) {
  if (handler != SIG_DFL && handler != SIG_IGN) DriverCall::expect_handlers();
}

// The mask format of sigblock and sigsetmask.
constexpr int kFaultMask = 1 << (SIGSEGV - 1) | 1 << (SIGBUS - 1) | 1 << (kInFaultHandler - 1);

int change_mask(decltype(&pthread_sigmask) next, int how, const sigset_t* set, sigset_t* old) {
  if (set == nullptr || !kept_unblocked) return next(how, set, old);
  const sigset_t adjusted = how == SIG_UNBLOCK ? with_handler_mark(*set) : without_faults(*set);
  return next(how, &adjusted, old);
}

}  // namespace

void keep_faults_unblocked() noexcept {
  const char* const setting = secure_getenv("VGPU_SIGNALS");
  if (setting != nullptr && std::strcmp(setting, "0") == 0) return;
  kept_unblocked = true;
  sigset_t faults;
  sigemptyset(&faults);
  for (const int signal : {SIGSEGV, SIGBUS, kInFaultHandler}) sigaddset(&faults, signal);
  NEXT(pthread_sigmask)(SIG_UNBLOCK, &faults, nullptr);  // the parent process may have blocked them
  mark_fault_handlers();
}

void find_program_handlers() noexcept {
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    struct sigaction action {};
    if (!is_fault(signal) && NEXT(sigaction)(signal, nullptr, &action) == 0) note_handler(action.sa_handler);
  }
}

HOOK int sigaction(int signal, const struct sigaction* action, struct sigaction* old) noexcept {
  if (!is_fault(signal)) {
    if (action != nullptr) note_handler(action->sa_handler);
    if (action == nullptr || !kept_unblocked) return NEXT(sigaction)(signal, action, old);
    // A store to a doorbell in this handler may fault, and a blocked fault would kill the process.
    struct sigaction open = *action;
    open.sa_mask = without_faults(action->sa_mask);
    return NEXT(sigaction)(signal, &open, old);
  }
  return change_fault_action(signal, action, old);
}
HOOK sighandler_t signal(int signal, sighandler_t handler) noexcept {
  if (!is_fault(signal)) note_handler(handler);
  if (!is_fault(signal) || !host_faults_wanted()) return NEXT(signal)(signal, handler);
  return set_handler(signal, handler, SA_RESTART);
}
HOOK sighandler_t ssignal(int number, sighandler_t handler) noexcept {
  return ::signal(number, handler);
}
HOOK sighandler_t __sysv_signal(int signal, sighandler_t handler) noexcept {
  if (!is_fault(signal)) note_handler(handler);
  if (!is_fault(signal) || !host_faults_wanted()) return NEXT(__sysv_signal)(signal, handler);
  return set_handler(signal, handler, static_cast<int>(SA_RESETHAND | SA_NODEFER));
}
HOOK sighandler_t sysv_signal(int signal, sighandler_t handler) noexcept {
  return __sysv_signal(signal, handler);
}

HOOK sighandler_t bsd_signal(int signal, sighandler_t handler) noexcept {
  return ::signal(signal, handler);
}

// Functions of System V and BSD that POSIX has replaced. libc implements them without calling the hooks.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
HOOK sighandler_t sigset(int signal, sighandler_t handler) noexcept {
  if (!is_fault(signal) || !kept_unblocked) {
    note_handler(handler);
    return NEXT(sigset)(signal, handler);
  }
  if (handler != SIG_HOLD) {
    sigrelse(signal);
    return set_handler(signal, handler, 0);
  }
  struct sigaction current_action {};  // the signal is not held
  return sigaction(signal, nullptr, &current_action) == 0 ? current_action.sa_handler : SIG_ERR;
}
HOOK int sigignore(int signal) noexcept {
  struct sigaction ignored {};
  ignored.sa_handler = SIG_IGN;
  return sigaction(signal, &ignored, nullptr);
}
HOOK int sighold(int signal) noexcept {
  return is_fault(signal) && kept_unblocked ? 0 : NEXT(sighold)(signal);
}
HOOK int sigrelse(int signal) noexcept {
  sigset_t set;
  sigemptyset(&set);
  return sigaddset(&set, signal) != 0 ? -1 : sigprocmask(SIG_UNBLOCK, &set, nullptr);
}
HOOK int sigblock(int mask) noexcept {
  return NEXT(sigblock)(kept_unblocked ? mask & ~kFaultMask : mask);
}
HOOK int sigsetmask(int mask) noexcept {
  return NEXT(sigsetmask)(kept_unblocked ? mask & ~kFaultMask : mask);
}
#pragma GCC diagnostic pop

HOOK int pthread_sigmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  return change_mask(NEXT(pthread_sigmask), how, set, old);
}
HOOK int sigprocmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  return change_mask(NEXT(sigprocmask), how, set, old);
}
HOOK int pthread_attr_setsigmask_np(pthread_attr_t* attributes, const sigset_t* set) {
  if (set == nullptr || !kept_unblocked) return NEXT(pthread_attr_setsigmask_np)(attributes, set);
  const sigset_t without = without_faults(*set);
  return NEXT(pthread_attr_setsigmask_np)(attributes, &without);
}
