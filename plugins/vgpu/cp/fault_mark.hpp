// Whether a thread is in the program's handler of SIGSEGV. Linux blocks the signal there, and a fault of the handler
// itself ends the process. Under the preload face SIGSEGV stays unblocked, for doorbells that the handler rings, and
// another signal, which nothing sends, is blocked in its place: a return from the handler unblocks it, and so does
// siglongjmp, swapcontext or what else gives a thread its mask back.
#pragma once

#include <signal.h>

namespace rigel::vgpu {

inline constexpr int kInFaultHandler = SIGSTKFLT;

/// Blocks kInFaultHandler in handlers of the program from now on. For whoever sees to it that the program itself
/// never blocks that signal, and unblocks it with SIGSEGV.
void mark_fault_handlers() noexcept;

}  // namespace rigel::vgpu
