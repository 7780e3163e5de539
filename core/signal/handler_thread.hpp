// Whether the calling thread is one on which asynchronous handlers are called (async_dispatcher.hpp): the end
// of a runtime waits for such a thread, so it must not wait for the end.
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
