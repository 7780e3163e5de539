// Allocates signals from slabs of 16,384 that stay mapped until the process ends.
//
// Destroyed signals are reused, first those that the calling thread destroyed (it keeps up to 32), last
// destroyed first. Memory therefore grows with the number of signals alive at once (up to 67 million) and of
// threads, not with the number of creations.
//
// *Threads:* any thread, without locks except when a slab is added. The pool works before hsa_init and after
// hsa_shut_down.
// *Memory order:* what a thread did to a signal before it destroyed it happens before the reuse of its
// memory.
// *Fork:* a child calls reset_after_fork before it uses the pool. The parent's signals are not signals in the
// child: inherited memory stays readable, but from_handle does not find them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/signal/signal.hpp"

namespace rigel::signal_pool {

constexpr size_t kSignalsPerSlab = 16384;
constexpr size_t kSlabBytes = kSignalsPerSlab * sizeof(Signal);
static_assert(kSlabBytes == 2u << 20);

/// Allocates slabs, for runtimes whose devices must access signals. Calls do not overlap.
struct SlabAllocator {
  /// Returns `kSlabBytes` of zeroed memory, aligned to kSlabBytes, readable and writable by the host until
  /// the process ends. Returns null on failure.
  void* (*allocate)(void* context) noexcept;
  /// Optional. Called after another allocator has been installed. The pool creates no further signals in this
  /// slab, which may contain live signals. The host must be able to access it; devices need not.
  void (*retire)(void* context, void* slab) noexcept;
  void* context;
  /// Whether a forked child has a copy of the memory. False for memory that a driver withholds from children.
  bool inherited_by_fork;
};

/// Takes new slabs from `allocator` (null: anonymous memory). Free signals in older slabs are not reused;
/// live signals there stay. Installing the current allocator again has no effect. The struct must stay valid
/// until another is installed.
void install_allocator(const SlabAllocator* allocator) noexcept;

/// Interrupt by which a device announces that it has changed a signal: it stores the event's id to the
/// mailbox.
struct Interrupt {
  uint64_t mailbox = 0;  ///< 0: none
  uint32_t event_id = 0;
};
/// New signals carry `usual`, exception signals `exception`, and all are kSignalHooked. Empty: only the host
/// changes signals.
void set_interrupts(Interrupt usual, Interrupt exception) noexcept;

/// Creates a signal of the given kind with everything else zero. Returns null if out of memory. The
/// creator of a doorbell sets abi.hardware_doorbell_ptr and abi.queue_ptr before it publishes the handle.
/// kSignalApiAttributes imply kSignalSilent, because not only this process changes such a signal.
Signal* create(int64_t initial_value, uint32_t attributes = 0,
               amd_signal_kind_t kind = AMD_SIGNAL_KIND_USER) noexcept;

/// Destroys a signal: waiting threads return, its handlers are dropped. Returns false if it was not alive; of
/// several threads that destroy a signal, one receives true.
bool destroy(Signal& signal) noexcept;

/// Returns a slab of the current allocator for signals that the pool does not create, or null. from_handle
/// finds them once their generation is odd. The slab is never released.
void* take_slab() noexcept;
/// Changes when an allocator is installed, and in a forked child.
uint32_t allocator_epoch() noexcept;

/// Returns the high-water mark of live signals, rounded up to a slab, including per-thread caches.
size_t capacity() noexcept;

/// In a forked child, while it has one thread.
void reset_after_fork() noexcept;

}  // namespace rigel::signal_pool
