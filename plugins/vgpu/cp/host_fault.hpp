// Guarded accesses to the program's memory. The program can free memory while the device uses it: free()
// unmaps large blocks without a call that the device sees. On hardware that is a GPU memory fault; here it is
// a SIGSEGV or SIGBUS in this process. A guarded access returns a HostFault instead, which becomes a memory
// fault of the queue or wave.
//
// There are two kinds of guards. Single accesses (guarded_load, guarded_store, …) are instructions that are
// listed in a table with the address at which to continue after a fault. They cost one register. guarded()
// calls any function at the cost of a setjmp. A fault leaves the function with longjmp, so it must not own
// anything then.
//
// Both need the handlers of SIGSEGV and SIGBUS that catch_host_faults() installs. Other faults go to the
// program's handler. If the program installs a handler later through a hooked sigaction (preload), that
// handler is called for them. Threads of the device block all other signals (ProgramSignalsBlocked).
//
// Threads: any thread may call everything. Guards belong to a thread and nest.
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
// Sanitizers only see accesses that the compiler generates, and their runtimes make some of them with a lock
// held. With sanitizers, a guarded instruction first probes the memory, and a normal access follows.
#if defined(RIGEL_VGPU_FIXUPS) && HSABE_SANITIZER == HSABE_SANITIZER_NONE
#define RIGEL_VGPU_DIRECT 1
#endif

namespace rigel::vgpu {

/// An access to host memory that faulted.
struct HostFault {
  std::byte* address = nullptr;
  Access access = Access::kRead;
  FaultReason reason = FaultReason::kNotPresent;
};

/// Installs the handlers once per process. Returns false if faults cannot be caught on this architecture.
bool catch_host_faults() noexcept;

/// Whether the handler is installed and has not been replaced since.
bool host_faults_are_caught() noexcept;

/// Whether catch_host_faults() has been called successfully.
bool host_faults_wanted() noexcept;

/// Sets the function for sigaction(2), for programs in which that name is hooked.
using Sigaction = int (*)(int, const struct sigaction*, struct sigaction*);
void use_sigaction(Sigaction function) noexcept;

/// sigaction(2) on behalf of the program. For SIGSEGV and SIGBUS, once the handlers are installed, it sets
/// the program's handler, which gets all other faults. Returns 0, or -1 with errno.
int program_sigaction(int signal, const struct sigaction* action, struct sigaction* old) noexcept;

/// program_sigaction() in a child of vfork. The child shares the parent's record of handlers, but its signal
/// handlers are separate.
int vfork_child_sigaction(int signal, const struct sigaction* action, struct sigaction* old) noexcept;

/// The fault of this thread's last guarded access that failed.
const HostFault& last_host_fault() noexcept;

// Watched pages --------------------------------------------------------------------------------------------

/// A callback for stores to write-protected pages. The signal handler calls it with the address, on the
/// storing thread. It returns true if it has made the store elsewhere or the store is to be repeated, and
/// false if the fault belongs to the program.
struct StoreWatcher {
  bool (*stored)(void* context, std::byte* address, StoppedStore store) = nullptr;
  void* context = nullptr;
};
/// Watches [start, start + bytes). Returns false if there are too many watchers.
bool watch_stores(std::byte* start, uint64_t bytes, StoreWatcher watcher) noexcept;
/// Removes a watcher. Some thread may still be in it.
void unwatch_stores(std::byte* start) noexcept;
/// Waits until no thread is in a removed watcher. Call without locks that watchers take.
void await_store_watchers() noexcept;

/// Called around fork(2): no other thread holds the locks of this file meanwhile. In the child nothing is
/// watched.
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

/// Calls `body`. Returns false if a fault ended the call; last_host_fault() describes it. The signal handler
/// calls `expects(address)`. If it returns false, the fault is not caught here.
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

// Wraps `instructions` (labels 1 to 2). A fault there continues at label 2 with RCX zeroed.
#define RIGEL_VGPU_GUARDED(instructions) \
  "1: " instructions                     \
  "\n2:\n"                               \
  ".pushsection vgpu_fixups, \"a?\"\n"   \
  ".balign 4\n.long 1b - ., 2b - .\n"    \
  ".popsection\n"

/// Whether a byte can be read or written. Changes nothing.
inline bool guarded_touch(const void* at, bool write) noexcept {
#if defined(RIGEL_VGPU_FIXUPS)
  uint64_t succeeded = 1;
  if (write) {
    asm volatile(RIGEL_VGPU_GUARDED("lock orb $0, (%[at])")
                 : "+c"(succeeded)
                 : [at] "r"(at)
                 : "memory", "cc");
  } else {
    asm volatile(RIGEL_VGPU_GUARDED("testb $0, (%[at])") : "+c"(succeeded) : [at] "r"(at) : "memory", "cc");
  }
  return succeeded != 0;
#else
  static_cast<void>(at), static_cast<void>(write);
  return true;
#endif
}

/// Naturally aligned loads (acquire), stores (release) and read-modify-writes of 1, 2, 4 and 8 bytes, each
/// single-copy atomic. They return false after a fault; see last_host_fault().
template <std::unsigned_integral T>
bool guarded_load(T* from, T& value) noexcept {
#if defined(RIGEL_VGPU_DIRECT)
  uint64_t succeeded = 1;
  T loaded = 0;
  asm volatile(RIGEL_VGPU_GUARDED("mov %[from], %[loaded]")
               : [loaded] "+q"(loaded), "+c"(succeeded)
               : [from] "m"(*from)
               : "memory");
  value = loaded;
  return succeeded != 0;
#else
  if (!guarded_touch(from, false)) return false;
  value = std::atomic_ref<T>(*from).load(std::memory_order_acquire);
  return true;
#endif
}

template <std::unsigned_integral T>
bool guarded_store(T* to, T value) noexcept {
#if defined(RIGEL_VGPU_DIRECT)
  uint64_t succeeded = 1;
  asm volatile(RIGEL_VGPU_GUARDED("mov %[value], %[to]")
               : [to] "=m"(*to), "+c"(succeeded)
               : [value] "q"(value)
               : "memory");
  return succeeded != 0;
#else
  if (!guarded_touch(to, true)) return false;
  std::atomic_ref<T>(*to).store(value, std::memory_order_release);
  return true;
#endif
}

/// Stores `next` if the value is `seen`. Otherwise sets `seen` to the value and `done` to false.
template <std::unsigned_integral T>
bool guarded_compare_exchange(T* to, T& seen, T next, bool& done) noexcept {
#if defined(RIGEL_VGPU_DIRECT)
  uint64_t succeeded = 1;
  T found = seen;
  bool equal = false;
  asm volatile(RIGEL_VGPU_GUARDED("lock cmpxchg %[next], %[to]") "sete %[equal]"
               : [to] "+m"(*to), "+a"(found), [equal] "=q"(equal), "+c"(succeeded)
               : [next] "q"(next)
               : "memory", "cc");
  seen = found;
  done = equal;
  return succeeded != 0;
#else
  if (!guarded_touch(to, true)) return false;
  done = std::atomic_ref<T>(*to).compare_exchange_strong(seen, next, std::memory_order_acq_rel);
  return true;
#endif
}

template <std::unsigned_integral T>
bool guarded_subtract(T* to, T amount) noexcept {
#if defined(RIGEL_VGPU_DIRECT)
  uint64_t succeeded = 1;
  asm volatile(RIGEL_VGPU_GUARDED("lock sub %[amount], %[to]")
               : [to] "+m"(*to), "+c"(succeeded)
               : [amount] "q"(amount)
               : "memory", "cc");
  return succeeded != 0;
#else
  if (!guarded_touch(to, true)) return false;
  std::atomic_ref<T>(*to).fetch_sub(amount, std::memory_order_acq_rel);
  return true;
#endif
}

/// Copies between the program's memory and memory that cannot fault. Any length and alignment; intended for a
/// few hundred bytes. Bytes below the faulting address have been copied.
bool guarded_read(void* to, const std::byte* from, uint64_t bytes) noexcept;
bool guarded_write(std::byte* to, const void* from, uint64_t bytes) noexcept;

}  // namespace rigel::vgpu
