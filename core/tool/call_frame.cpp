#include "core/tool/call_frame.hpp"

namespace rigel {

[[gnu::tls_model("initial-exec")]] constinit thread_local ToolThread tool_thread;

uint64_t CallFrame::new_block() noexcept {
  static constinit std::atomic<uint64_t> blocks{0};
  const uint64_t id = blocks.fetch_add(1, std::memory_order_relaxed) * kBlock + 1;
  tool_thread.next_id = id + 1;
  return id;
}

}  // namespace rigel
