// State of the process that outlives a runtime, and what fork() does with it. Locks that other threads may
// hold are held during the fork; other state is reset in the child, where its threads do not exist.
//
// tools/checks/process_state.txt lists every mutable global of the library. Its check fails for a global that
// is not in the list: add the global there and, if a child must reset or unlock it, its functions here.
//
// *Threads:* called by the forking thread, which holds the lock of the process's runtime.
#pragma once

namespace rigel::fork_registry {

/// Acquires the locks. Call before the fork.
void before_fork() noexcept;
/// Releases the locks. Call in the parent and, after reset_child, in the child.
void after_fork() noexcept;
/// Resets the state. Call in the child.
void reset_child() noexcept;

}  // namespace rigel::fork_registry
