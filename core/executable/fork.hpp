// What of executables is the process's and has locks that a forked child could find held, by threads that it
// does not have: the debugger's list (debug_rendezvous.hpp), and the C library's list of loaded files, whose
// lock the C library leaves in a child as it was. Where it was held, dlopen would wait for ever there.
//
// Who forks holds both meanwhile. Neither is held while another lock is taken.
#pragma once

#include "api/support/mutex.hpp"

namespace rigel {

/// Guards the debugger's list.
Mutex& debug_list_mutex() noexcept;

/// Held around dl_iterate_phdr.
Mutex& loaded_files_mutex() noexcept;

}  // namespace rigel
