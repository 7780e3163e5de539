// Whether the calling thread calls asynchronous handlers (async_dispatcher.hpp). The shutdown of a runtime
// waits for this thread, so it must not wait for the shutdown.
#pragma once

namespace rigel {

namespace detail {
[[gnu::tls_model("initial-exec"),
  gnu::visibility("hidden")]] extern constinit thread_local bool calls_handlers;
}  // namespace detail

inline bool is_handler_thread() noexcept {
  return detail::calls_handlers;
}

}  // namespace rigel
