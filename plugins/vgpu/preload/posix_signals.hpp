// What the preload face does to signals: see posix_signals.cpp.
#pragma once

/// From now on no thread of the program can block SIGSEGV or SIGBUS, unless VGPU_SIGNALS says that they are
/// none of ours. Before there are other threads.
void keep_faults_unblocked() noexcept;

/// Looks whether the program has handlers: some set them past the C library, as Go's runtime does before main.
void look_for_handlers() noexcept;
