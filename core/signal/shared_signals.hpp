// Signals that several processes share (HSA_AMD_SIGNAL_IPC). Each is alone in a page, which every sharing
// process maps.
//
// For devices, such a signal is like any other. The private part of a Signal, however, is valid in one
// process only. The lists of waiters and their locks are therefore not in the page. An address at which a
// page can be mapped is a *slot*. Each slot has a *local half*, a signal of the pool, which `local_half`
// returns. The local half stays with the slot, so an access after destruction finds valid lists. The page's
// own `attention` always has kFence. Every change therefore calls `Signal::notify`, which notifies the local
// half and the page's ChangeNotifier, on which other processes sleep (change_bell.hpp). Changes by devices
// are found by polling (kSignalSilent); so are changes by processes if the kernel cannot let a thread sleep
// on several words.
//
// Slots are in slabs of the pool's allocator, so that devices can access them. An empty slot is a page of
// zeroes without a live signal.
//
// *Threads:* any thread; one lock guards the slots. `local_half` takes no lock. A process that maps a
// signal's page can write all of it, so a program must trust every process to which it passes the name.
#pragma once

#include <cstdint>

#include "api/support/status.hpp"
#include "core/sharing/descriptor_server.hpp"
#include "core/signal/change_bell.hpp"
#include "core/signal/signal.hpp"

namespace rigel::shared_signals {

/// Creates a signal in a page. Returns null if out of memory or file descriptors.
Signal* create(int64_t initial_value, uint32_t attributes) noexcept;

/// Whether the signal is in a shared page.
bool is_shared(const Signal& signal) noexcept;

/// Destroys a signal in this process; other processes keep it. Returns false if it is not shared or already
/// destroyed.
bool destroy(Signal& signal) noexcept;

/// Returns the signal whose list of waiters and lock `signal` uses: itself if it is not shared.
Signal& local_half(Signal& signal) noexcept;

/// Returns the notifier in a signal's page; null if the signal is not shared. The page stays mapped after
/// destruction, so a late caller may reach the notifier of a different signal or of an unused page.
ChangeNotifier* notifier_of(Signal& signal) noexcept;

/// Makes `server` pass on descriptors of signals; null: none. Must not run while the server is destroyed.
void use_server(DescriptorServer* server) noexcept;

/// Returns the name by which another process can attach to a signal. Fails with INVALID_ARGUMENT if it is not
/// shared.
Result<hsa_amd_ipc_signal_t> name_of(Signal& signal);

/// Attaches to a signal of another process, or of this one, in a new slot. Fails with INVALID_ARGUMENT if the
/// name is malformed or its signal does not exist.
Result<Signal*> attach(const hsa_amd_ipc_signal_t& name);

// Called around a fork by the forking thread, so that the child has a consistent table.

void before_fork() noexcept;
void after_fork() noexcept;
/// Called in the child between before_fork and after_fork: drops this process's attachments. Signals and
/// offers stay with the parent.
void reset_after_fork() noexcept;

}  // namespace rigel::shared_signals
