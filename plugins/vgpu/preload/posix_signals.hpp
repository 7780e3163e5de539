// Signal hooks of the preload front end.
#pragma once

/// Prevents all threads of the program from blocking SIGSEGV and SIGBUS, unless VGPU_SIGNALS is 0. Called
/// before there are other threads.
void keep_faults_unblocked() noexcept;

/// Finds existing handlers: some programs install them without libc, as Go's runtime does before main.
void find_program_handlers() noexcept;
