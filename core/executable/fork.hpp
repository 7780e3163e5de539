// Process-wide locks of the executable loader that fork() must hold, so that the child does not inherit them
// locked: that of the debugger's list (debug_rendezvous.hpp), and that of the C library's list of loaded
// files, which the C library leaves locked in a child, so that dlopen would block forever.
//
// The forking thread holds both. No other lock is acquired while one of them is held.
#pragma once

#include "api/support/mutex.hpp"

namespace rigel {

/// Guards the debugger's list.
Mutex& debug_list_mutex() noexcept;

/// Held during dl_iterate_phdr.
Mutex& loaded_files_mutex() noexcept;

}  // namespace rigel
