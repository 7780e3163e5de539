// Whether the calling thread is one on which asynchronous handlers are called (async_dispatcher.hpp): the end
// of a runtime waits for such a thread, so it must not wait for the end.
#pragma once

namespace rigel {

bool is_handler_thread() noexcept;

}  // namespace rigel
