// Memory of the program can go away while the device uses it: free() gives large blocks back to the system,
// and nobody is told. A kernel's driver would see a fault of the GPU; here the access is one of this process.
// So the device's accesses to memory are guarded: one that faults comes back as a HostFault instead of ending
// the process, and becomes a memory fault of the queue or wave that made it.
//
// Two kinds of guards. Single accesses (guarded_load, guarded_store, …) are instructions that a table names,
// with the place where to go on after a fault: they cost a register. guarded() calls anything, for what a
// setjmp costs; a fault ends the call, so that what it runs must not own anything at that point.
//
// Both need a handler of SIGSEGV and SIGBUS, which catch_host_faults() installs. Faults that are none of ours
// go to the handler that was there before, as if ours did not exist; a program that installs one later, where
// we can see that (the preload face), gets that one called as well. Threads of the device block all other
// signals: see WorkerSignals.
//
// Threads: everything from any thread. A guard is its thread's own. Guards nest.
#pragma once

#include <hsa_backend/sanitizer.h>
#include <signal.h>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "plugins/vgpu/cp/device_bus.hpp"
#include "plugins/vgpu/cp/stopped_store.hpp"

#if defined(__x86_64__)
#define RIGEL_VGPU_FIXUPS 1
#endif
// Sanitizers see accesses that the compiler makes only, and their runtimes make some of them with a lock
// held: there a guarded instruction tries whether the memory is there, and the access follows.
#if defined(RIGEL_VGPU_FIXUPS) && HSABE_SANITIZER == HSABE_SANITIZER_NONE
#define RIGEL_VGPU_DIRECT 1
#endif

namespace rigel::vgpu {

/// An access to the host's memory that could not be done.
struct HostFault {
  std::byte* address = nullptr;
  Access access = Access::kRead;
  FaultReason reason = FaultReason::kNotPresent;
};

/// Installs the handler, once in a process. False: faults cannot be caught on this kind of machine.
bool catch_host_faults() noexcept;

/// Whether the handler is installed and has not been replaced since.
bool host_faults_are_caught() noexcept;

/// Whether catch_host_faults() has been called.
bool host_faults_wanted() noexcept;

/// What to call for sigaction(2), where that name is a hook of ours.
using Sigaction = int (*)(int, const struct sigaction*, struct sigaction*);
void use_sigaction(Sigaction function) noexcept;

/// sigaction(2) as the program means it: for SIGSEGV and SIGBUS, once the handler is installed, changes what
/// is called for faults that are none of ours. 0 or -1 with errno.
int program_sigaction(int signal, const struct sigaction* action, struct sigaction* old) noexcept;

/// The same in a child of vfork, which shares what the program wants with its parent and sets handlers of its own.
int vfork_child_sigaction(int signal, const struct sigaction* action, struct sigaction* old) noexcept;

/// What the device's threads do with signals: the program's handlers must not run there, so all are blocked
/// but those of faults. While one lives, threads that are made inherit that.
class WorkerSignals {
 public:
  WorkerSignals() noexcept;
  ~WorkerSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  WorkerSignals(const WorkerSignals&) = delete;
  WorkerSignals& operator=(const WorkerSignals&) = delete;

 private:
  sigset_t before_;
};

/// The last fault that a guarded access of this thread came back from.
const HostFault& last_host_fault() noexcept;

// Pages that tell when they are written ---------------------------------------------------------------------

/// Somebody who wants to know of stores to pages that cannot be written: called on the thread that stores,
/// from the signal handler, with the address. True: it has made the store elsewhere, or the store is to be
/// repeated. False: the fault is the program's.
struct StoreWatcher {
  bool (*stored)(void* context, std::byte* address, StoppedStore store) = nullptr;
  void* context = nullptr;
};
/// False: there are too many. The watcher is asked for addresses in [begin, begin + bytes) only.
bool watch_stores(std::byte* begin, uint64_t bytes, StoreWatcher watcher) noexcept;
/// Some thread may still be in the watcher.
void unwatch_stores(std::byte* begin) noexcept;
/// Waits until nobody is in a watcher that has been unwatched. Without locks that watchers take.
void await_store_watchers() noexcept;

/// Around fork(2), so that nobody else is in here at that moment. In the child nothing is watched any more.
void host_faults_before_fork() noexcept;
void host_faults_after_fork(bool in_child) noexcept;

// Calls -----------------------------------------------------------------------------------------------------

namespace detail {
struct GuardedCall {
  void (*body)(void*);
  bool (*expects)(void*, std::byte*);
  void* context;
};
bool call_guarded(const GuardedCall& call) noexcept;
}  // namespace detail

/// Calls `body`. False: it was left at a fault, which last_host_fault() describes. `expects(address)` says
/// whether an access to `address` is one that may fault; others are errors of ours and end the process. It is
/// called by the signal handler.
template <std::invocable Body, std::predicate<std::byte*> Expects>
bool guarded(Body&& body, Expects&& expects) noexcept {
  struct Both {
    Body& body;
    Expects& expects;
  } both{body, expects};
  return detail::call_guarded({[](void* context) { static_cast<Both*>(context)->body(); },
                               [](void* context, std::byte* address) -> bool {
                                 return static_cast<Both*>(context)->expects(address);
                               },
                               &both});
}

// Single accesses -------------------------------------------------------------------------------------------

// The instructions between the labels 1 and 2, and that a fault there goes on at 2 with RCX zeroed.
#define RIGEL_VGPU_GUARDED(instructions) \
  "1: " instructions                     \
  "\n2:\n"                               \
  ".pushsection vgpu_fixups, \"a?\"\n"   \
  ".balign 4\n.long 1b - ., 2b - .\n"    \
  ".popsection\n"

/// Whether a byte can be read, or written; changes nothing.
inline bool guarded_touch(const void* at, bool write) noexcept {
#if defined(RIGEL_VGPU_FIXUPS)
  uint64_t fine = 1;
  if (write) {
    asm volatile(RIGEL_VGPU_GUARDED("lock orb $0, (%[at])") : "+c"(fine) : [at] "r"(at) : "memory", "cc");
  } else {
    asm volatile(RIGEL_VGPU_GUARDED("testb $0, (%[at])") : "+c"(fine) : [at] "r"(at) : "memory", "cc");
  }
  return fine != 0;
#else
  static_cast<void>(at), static_cast<void>(write);
  return true;
#endif
}

/// Naturally aligned loads (acquire), stores (release) and read-modify-writes of 1, 2, 4 and 8 bytes, each
/// single-copy atomic. False: last_host_fault().
template <std::unsigned_integral T>
bool guarded_load(T* from, T& value) noexcept {
#if defined(RIGEL_VGPU_DIRECT)
  uint64_t fine = 1;
  T loaded = 0;
  asm volatile(RIGEL_VGPU_GUARDED("mov %[from], %[loaded]")
               : [loaded] "+q"(loaded), "+c"(fine)
               : [from] "m"(*from)
               : "memory");
  value = loaded;
  return fine != 0;
#else
  if (!guarded_touch(from, false)) return false;
  value = std::atomic_ref<T>(*from).load(std::memory_order_acquire);
  return true;
#endif
}

template <std::unsigned_integral T>
bool guarded_store(T* to, T value) noexcept {
#if defined(RIGEL_VGPU_DIRECT)
  uint64_t fine = 1;
  asm volatile(RIGEL_VGPU_GUARDED("mov %[value], %[to]")
               : [to] "=m"(*to), "+c"(fine)
               : [value] "q"(value)
               : "memory");
  return fine != 0;
#else
  if (!guarded_touch(to, true)) return false;
  std::atomic_ref<T>(*to).store(value, std::memory_order_release);
  return true;
#endif
}

/// Puts `next` where `seen` is; if another value is there, `seen` becomes that and `done` false.
template <std::unsigned_integral T>
bool guarded_compare_exchange(T* to, T& seen, T next, bool& done) noexcept {
#if defined(RIGEL_VGPU_DIRECT)
  uint64_t fine = 1;
  T found = seen;
  bool equal = false;
  asm volatile(RIGEL_VGPU_GUARDED("lock cmpxchg %[next], %[to]") "sete %[equal]"
               : [to] "+m"(*to), "+a"(found), [equal] "=q"(equal), "+c"(fine)
               : [next] "q"(next)
               : "memory", "cc");
  seen = found;
  done = equal;
  return fine != 0;
#else
  if (!guarded_touch(to, true)) return false;
  done = std::atomic_ref<T>(*to).compare_exchange_strong(seen, next, std::memory_order_acq_rel);
  return true;
#endif
}

template <std::unsigned_integral T>
bool guarded_subtract(T* to, T amount) noexcept {
#if defined(RIGEL_VGPU_DIRECT)
  uint64_t fine = 1;
  asm volatile(RIGEL_VGPU_GUARDED("lock sub %[amount], %[to]")
               : [to] "+m"(*to), "+c"(fine)
               : [amount] "q"(amount)
               : "memory", "cc");
  return fine != 0;
#else
  if (!guarded_touch(to, true)) return false;
  std::atomic_ref<T>(*to).fetch_sub(amount, std::memory_order_acq_rel);
  return true;
#endif
}

/// Copies between memory that may be gone and memory that isn't, of any length and alignment; meant for a few
/// hundred bytes. What lies before the fault has been copied.
bool guarded_read(void* to, const std::byte* from, uint64_t bytes) noexcept;
bool guarded_write(std::byte* to, const void* from, uint64_t bytes) noexcept;

}  // namespace rigel::vgpu
