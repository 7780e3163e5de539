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

inline bool CallFrame::call_tools_in(const CallChain& chain) noexcept {
  const uint32_t count = chain.count.load(std::memory_order_relaxed);
  uint32_t entered = 0;
  bool answered = false;
  tool_thread.in_tool = true;
  for (uint32_t i = 0; i < count && !answered; ++i) {
    Tool& tool = *chain.tools[i].load(std::memory_order_relaxed);
    const uint32_t generation = tool.generation();
    if (!Tool::is_alive(generation)) [[unlikely]]
      continue;
    const hsatool_call_ops_t& calls = tool.loaded().calls;
    call_.data = 0;
    if (calls.enter != nullptr) [[likely]]
      tool.guarded("enter", [&] { answered = calls.enter(tool.self(), &call_) == HSATOOL_ANSWERED; });
    if (calls.exit != nullptr) visits_[entered++] = {&tool, call_.data, generation};
  }
  tool_thread.in_tool = false;
  entered_ = entered;
  return !answered;
}

// Separate, so that other frames do not contain a KeepTools.
[[gnu::noinline]] bool CallFrame::call_tools_in_and_keep(const CallChain& chain) noexcept {
  const KeepTools keep;
  return call_tools_in(chain);
}

inline void CallFrame::call_tools_out() noexcept {
  tool_thread.in_tool = true;
  for (uint32_t i = entered_; i > 0;) {
    const Visit& visit = visits_[--i];
    Tool& tool = *visit.tool;
    // An unloaded tool has no record of the call.
    if (tool.generation() != visit.generation) [[unlikely]]
      continue;
    call_.data = visit.data;
    tool.guarded("exit", [&] { tool.loaded().calls.exit(tool.self(), &call_); });
  }
  tool_thread.in_tool = false;
}

[[gnu::noinline]] void CallFrame::call_tools_out_and_keep() noexcept {
  const KeepTools keep;
  call_tools_out();
}

bool CallFrame::enter(const CallChain& chain, bool at_any_time) noexcept {
  if (keeps_tools(at_any_time)) [[unlikely]]
    return call_tools_in_and_keep(chain);
  return call_tools_in(chain);
}

void CallFrame::exit(bool at_any_time) noexcept {
  if (entered_ == 0) return;
  if (keeps_tools(at_any_time)) [[unlikely]]
    return call_tools_out_and_keep();
  call_tools_out();
}

// A call of the application starts at the outermost layer that intercepts the function. The same call in an
// inner layer has been forwarded by the outer one, and has the same id for the tools of both.
void CallFrame::begin_within(const CallFrame& outer) noexcept {
  const bool is_passed_on = outer.call_.function == call_.function && layer_ < outer.layer_;
  call_.id = is_passed_on ? outer.call_.id : next_id();
  call_.parent = is_passed_on ? outer.call_.parent : outer.call_.id;
}

uint64_t CallFrame::new_block() noexcept {
  static constinit std::atomic<uint64_t> blocks{0};
  const uint64_t id = blocks.fetch_add(1, std::memory_order_relaxed) * kBlock + 1;
  tool_thread.next_id = id + 1;
  return id;
}

}  // namespace rigel
