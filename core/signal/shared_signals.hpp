// Signals that several processes have (HSA_AMD_SIGNAL_IPC): each lies alone in a page, and the page in every
// process that has it.
//
// A handle is an address there as for any signal, and devices know no difference. But what is the runtime's
// own in a Signal means something in one process only. So the lists of waiters and their locks are not in the
// page: every place where a page can be has a local half, a signal of the pool's, and `local_half` finds it.
// It stays with the place, so whoever comes late to a destroyed signal finds lists that are in order. The
// page's own `attention` has the fence bit for life, which leads every change to `Signal::notify`, and from
// there to the local half and to the page's bell, by which the other processes wake (change_bell.hpp).
// Changes by devices are found by looking (kSignalSilent), as are those by processes where the kernel does
// not let a thread sleep on several words.
//
// Places are in slabs of the pool's allocator, so devices see them. An empty place is a page of zeroes: no
// signal lives there.
//
// Any thread; one lock guards the places. `local_half` takes none. A process that has a signal's page can
// write all of it: who passes a name on trusts whom it gives it to.
#pragma once

#include <cstdint>

#include "core/base/status.hpp"
#include "core/sharing/descriptor_server.hpp"
#include "core/signal/change_bell.hpp"
#include "core/signal/signal.hpp"

namespace rigel::shared_signals {

/// A new signal in a page of its own; null if there is no memory or no descriptor.
Signal* create(int64_t initial_value, uint32_t attributes) noexcept;

/// Whether the signal is one of these.
bool is_shared(const Signal& signal) noexcept;

/// Ends a signal for this process; the others keep it. False if it is none, or was ended before.
bool destroy(Signal& signal) noexcept;

/// Where the list of waiters of `signal` is, and what guards it: in itself, for signals that are not shared.
Signal& local_half(Signal& signal) noexcept;

/// The bell of a signal's page, or null: the signal is not shared. Still there for who comes late, perhaps
/// as another signal's or nobody's.
ChangeBell* bell_of(Signal& signal) noexcept;

/// From here on descriptors of signals are handed out by `server`; null: by nobody. Not while the server
/// ends.
void use_server(DescriptorServer* server) noexcept;

/// The name by which another process can attach to a signal. INVALID_ARGUMENT if it is not shared.
Result<hsa_amd_ipc_signal_t> name_of(Signal& signal);

/// A signal of another process, or of this one, at a place of its own. INVALID_ARGUMENT: the name is none, or
/// of nothing that is there.
Result<Signal*> attach(const hsa_amd_ipc_signal_t& name);

// Around a fork, by the thread that forks, so that the child has the books whole.

void before_fork() noexcept;
void after_fork() noexcept;
/// Between the two, in the child: the signals are the parent's, and what its server offers.
void reset_after_fork() noexcept;

}  // namespace rigel::shared_signals
