// Whether the calling thread is one of the runtime's that call handlers of the program: asynchronous handlers
// (async_dispatcher.hpp), or clients of PC sampling. The shutdown of a runtime waits for this thread, so it
// must not wait for the shutdown.
#pragma once

namespace rigel {

namespace detail {
[[gnu::tls_model("initial-exec"),
  gnu::visibility("hidden")]] extern constinit thread_local bool calls_handlers;
}  // namespace detail

inline bool is_handler_thread() noexcept {
  return detail::calls_handlers;
}

/// Marks the calling thread for its whole life.
inline void become_handler_thread() noexcept {
  detail::calls_handlers = true;
}

}  // namespace rigel
