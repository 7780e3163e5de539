// Marks threads that are in the program's handler of SIGSEGV. Linux blocks the signal there, and a fault of
// the handler itself ends the process. Under vgpu-run SIGSEGV stays unblocked, so that the handler can ring
// doorbells. Another signal, which is never sent, is blocked as the mark. A return from the handler clears
// it, and so does anything that restores the mask, such as siglongjmp and swapcontext.
#pragma once

#include <signal.h>

namespace rigel::vgpu {

inline constexpr int kInFaultHandler = SIGSTKFLT;

/// Makes handlers of the program run with kInFaultHandler blocked. The caller must ensure that the program
/// never blocks that signal itself, and that it is unblocked with SIGSEGV.
void mark_fault_handlers() noexcept;

}  // namespace rigel::vgpu
