// Where signals come from, and go: slabs of 16,384 signals that are never unmapped while the process lives.
//
// Any thread may create, destroy and look up at any time, without locks except when a slab is added; the pool
// works before hsa_init and after hsa_shut_down. Freed signals are used again, first those that the thread
// has freed itself (it keeps up to 32), last freed first, so memory does not grow with the number of
// creations, only with the number of signals alive at once (up to 67 million) and of threads.
//
// Order: what a thread did to a signal before it destroyed it happens before what the thread does that is
// given the same memory next.
//
// Fork: a child starts with reset_after_fork, before it uses anything else here. The parent's signals are not
// signals in the child: their memory stays readable where it was inherited, but no handle finds them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/signal/signal.hpp"

namespace rigel::signal_pool {

constexpr size_t kSignalsPerSlab = 16384;
constexpr size_t kSlabBytes = kSignalsPerSlab * sizeof(Signal);
static_assert(kSlabBytes == 2u << 20);

/// Where slabs come from, for runtimes whose devices must see signals. Calls are made one at a time.
struct SlabAllocator {
  /// `kSlabBytes` bytes of zeroed memory, aligned to kSlabBytes, readable and writable by the host for as
  /// long as the process lives. Null if there is none.
  void* (*allocate)(void* context) noexcept;
  /// Optional. The pool will make no more signals in this slab (another allocator has been installed). Some
  /// may still live in it. Devices need not see it any longer; the host must.
  void (*retire)(void* context, void* slab) noexcept;
  void* context;
  /// Whether a forked child has a copy of the memory. False for memory that a driver keeps from children.
  bool inherited_by_fork;
};

/// Takes slabs from `allocator` from here on (null: anonymous memory). Signals that are free in older slabs
/// are not used again, and those that live there stay where they are. Installing the current allocator again
/// changes nothing. The struct must stay valid until another is installed.
void install_allocator(const SlabAllocator* allocator) noexcept;

/// How a device says that it has changed a signal: it stores the event's id to the mailbox and interrupts.
struct Interrupt {
  uint64_t mailbox = 0;  ///< 0: none
  uint32_t event_id = 0;
};
/// From here on new signals carry `usual`, those that are kSignalAlarm `alarm`, and are kSignalHooked. None:
/// signals are the host's alone.
void set_interrupts(Interrupt usual, Interrupt alarm) noexcept;

/// A signal of the given kind with everything else zero; null if there is no memory. A doorbell's maker sets
/// abi.hardware_doorbell_ptr and abi.queue_ptr before anybody else sees the handle.
/// A signal for which the API's attributes say that others than this process change it is kSignalSilent.
Signal* create(int64_t initial_value, uint32_t attributes = 0,
               amd_signal_kind_t kind = AMD_SIGNAL_KIND_USER) noexcept;

/// Ends a signal's life: threads that wait on it return, handlers that wait for it are dropped. False if it
/// was not alive; of two threads that destroy a signal, one is told so.
bool destroy(Signal& signal) noexcept;

/// A slab of the current allocator's for signals that the pool does not make: they are found by from_handle
/// like the pool's own, once their generation is odd. It stays for ever. Null if there is none.
void* take_slab() noexcept;
/// Changes with the allocator, and in a forked child.
uint32_t allocator_epoch() noexcept;

/// How many signals have ever been needed at once, rounded up, with those that threads keep for themselves:
/// what the pool's memory is used for.
size_t capacity() noexcept;

/// In a forked child, while it has one thread.
void reset_after_fork() noexcept;

}  // namespace rigel::signal_pool
