#include "core/tool/call_frame.hpp"

namespace rigel {

[[gnu::tls_model("initial-exec")]] constinit thread_local ToolThread tool_thread;

constinit std::atomic<uint32_t> KeepTools::callers_{0};

void KeepTools::wait_for_others() noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (;;) {
    const uint32_t callers = callers_.load(std::memory_order_acquire);
    if (callers == tool_thread.keeping) return;
    callers_.wait(callers);
  }
}

void KeepTools::reset_after_fork() noexcept {
  callers_.store(tool_thread.keeping, std::memory_order_relaxed);
}

bool CallFrame::enter_and_keep() noexcept {
  const KeepTools keep;
  return call_tools_in();
}

void CallFrame::exit_and_keep() noexcept {
  const KeepTools keep;
  call_tools_out();
}

uint64_t CallFrame::new_block() noexcept {
  static constinit std::atomic<uint64_t> blocks{0};
  const uint64_t id = blocks.fetch_add(1, std::memory_order_relaxed) * kBlock + 1;
  tool_thread.next_id = id + 1;
  return id;
}

}  // namespace rigel
