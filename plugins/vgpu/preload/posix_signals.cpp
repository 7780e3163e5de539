// The preload face, for signals: the virtual GPU has handlers of SIGSEGV and SIGBUS
// (plugins/vgpu/cp/host_fault.hpp), and the program does not know. What it sets is called for its own faults,
// what it asks for is what it has set, and it cannot block them: a thread that rings a doorbell that is
// watched, with SIGSEGV blocked, would be ended by the system. That holds from the beginning, since threads
// may be there, with all signals blocked, before the program opens a GPU.
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

// What signal(3) and its kind do, by sigaction.
sighandler_t set_handler(int signal, sighandler_t handler, int flags) {
  struct sigaction action {
  }, old{};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  if ((flags & static_cast<int>(SA_NODEFER)) == 0) sigaddset(&action.sa_mask, signal);
  return change_fault_action(signal, &action, &old) == 0 ? old.sa_handler : SIG_ERR;
}

constinit bool kept_unblocked = false;  // constant once threads are there

sigset_t without_faults(const sigset_t& set) {
  sigset_t without = set;
  for (const int signal : {SIGSEGV, SIGBUS, kInFaultHandler}) sigdelset(&without, signal);
  return without;
}

// What unblocks SIGSEGV in its handler wants the handler called again.
sigset_t with_mark_of_handlers(const sigset_t& set) {
  sigset_t with = set;
  if (sigismember(&set, SIGSEGV) == 1) sigaddset(&with, kInFaultHandler);
  return with;
}

// Before it is set: from then on it may run.
template <class Handler>
void note_handler(Handler handler) {
  if (handler != SIG_DFL && handler != SIG_IGN) DriverCall::expect_handlers();
}

// As sigblock and sigsetmask have it.
constexpr int kFaultsOfMask = 1 << (SIGSEGV - 1) | 1 << (SIGBUS - 1) | 1 << (kInFaultHandler - 1);

int change_mask(decltype(&pthread_sigmask) next, int how, const sigset_t* set, sigset_t* old) {
  if (set == nullptr || !kept_unblocked) return next(how, set, old);
  const sigset_t meant = how == SIG_UNBLOCK ? with_mark_of_handlers(*set) : without_faults(*set);
  return next(how, &meant, old);
}

}  // namespace

void keep_faults_unblocked() noexcept {
  const char* const setting = secure_getenv("VGPU_SIGNALS");
  if (setting != nullptr && std::strcmp(setting, "0") == 0) return;
  kept_unblocked = true;
  sigset_t faults;
  sigemptyset(&faults);
  for (const int signal : {SIGSEGV, SIGBUS, kInFaultHandler}) sigaddset(&faults, signal);
  NEXT(pthread_sigmask)(SIG_UNBLOCK, &faults, nullptr);  // whoever made this process may have blocked them
  mark_fault_handlers();
}

void look_for_handlers() noexcept {
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    struct sigaction action {};
    if (!is_fault(signal) && NEXT(sigaction)(signal, nullptr, &action) == 0) note_handler(action.sa_handler);
  }
}

HOOK int sigaction(int signal, const struct sigaction* action, struct sigaction* old) noexcept {
  if (!is_fault(signal)) {
    if (action != nullptr) note_handler(action->sa_handler);
    if (action == nullptr || !kept_unblocked) return NEXT(sigaction)(signal, action, old);
    // A store to a doorbell can be a fault, which ends a process that has blocked it, as a handler may.
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

// The functions of System V and BSD that POSIX has replaced: libc's own do not come by the hooks.
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
  struct sigaction now {};  // it is not held
  return sigaction(signal, nullptr, &now) == 0 ? now.sa_handler : SIG_ERR;
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
  sigset_t one;
  sigemptyset(&one);
  return sigaddset(&one, signal) != 0 ? -1 : sigprocmask(SIG_UNBLOCK, &one, nullptr);
}
HOOK int sigblock(int mask) noexcept {
  return NEXT(sigblock)(kept_unblocked ? mask & ~kFaultsOfMask : mask);
}
HOOK int sigsetmask(int mask) noexcept {
  return NEXT(sigsetmask)(kept_unblocked ? mask & ~kFaultsOfMask : mask);
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
