// Process-wide locks of the executable loader that are held during fork(), so that the child can unlock them.
// One guards the debugger's list (debug_rendezvous.hpp), the other the C library's list of loaded files. If
// another thread held the second, the C library would leave it locked in the child, where dlopen would block
// forever.
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
