// The path of one intercepted call: from the wrapper in the table through the tools to the next function.
//
// A ToolLayer is a group of tools that stand next to each other in the chain, with at most one wrapper for
// each function (api/entry/interception.hpp). A wrapper makes a CallFrame on its stack; `enter` and `exit`
// call the tools. Nothing is allocated and no lock is taken. What other threads may still use when the
// runtime is closed is never freed: the tools, and the layers' lists, whose members are written while nobody
// else enters, and read with relaxed atomics by late ones.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <utility>

#include "core/signal/handler_thread.hpp"
#include "core/tool/tool.hpp"

namespace rigel {

class CallFrame;

/// What a thread is doing, as far as tools are concerned.
struct ToolThread {
  uint64_t next_id = 0;              ///< of this thread's block of ids; 0: none
  const CallFrame* frame = nullptr;  ///< of the innermost call that tools see
  bool in_tool = false;              ///< a callback is running: calls go past the tools
  uint32_t keeping = 0;              ///< KeepTools that live on this thread
};
[[gnu::tls_model("initial-exec"),
  gnu::visibility("hidden")]] extern constinit thread_local ToolThread tool_thread;

/// While one lives, a tool is at work on this thread: its calls of the API go past the tools.
class InTool {
 public:
  InTool() noexcept : before_(std::exchange(tool_thread.in_tool, true)) {}
  ~InTool() { tool_thread.in_tool = before_; }
  InTool(const InTool&) = delete;
  InTool& operator=(const InTool&) = delete;

 private:
  const bool before_;
};

/// While one lives, no tool is unloaded but by this thread. For callbacks on the way of which the last
/// hsa_shut_down may come: of functions that a program may call at any time, and on threads of the runtime. No
/// other call is under way then.
class KeepTools {
 public:
  KeepTools() noexcept {
    ++tool_thread.keeping;
    callers_.fetch_add(1, std::memory_order_relaxed);
    // Before a tool's life is looked at. It is ended before the callers are counted.
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  ~KeepTools() {
    --tool_thread.keeping;
    callers_.fetch_sub(1, std::memory_order_release);
    callers_.notify_all();
  }
  KeepTools(const KeepTools&) = delete;
  KeepTools& operator=(const KeepTools&) = delete;

  /// Returns when those of other threads are gone that may have seen a tool alive whose life has ended.
  static void wait_for_others() noexcept;
  /// In a forked child there are none of other threads.
  static void reset_after_fork() noexcept;

 private:
  static std::atomic<uint32_t> callers_;
};

constexpr uint32_t kMaxTools = 16;

/// The tools that see one function, in one layer.
struct CallChain {
  std::atomic<void (*)()> next{nullptr};  ///< what the layer was put in front of; of the function's type
  std::atomic<uint32_t> count{0};
  std::array<std::atomic<Tool*>, kMaxTools> tools{};
};

class CallFrame {
 public:
  CallFrame(const hsatool_function_t& function, uint32_t layer, void* arguments, void* result) noexcept
      : call_{sizeof call_, &function, 0, 0, arguments, result, 0}, outer_(tool_thread.frame), layer_(layer) {
    if (outer_ == nullptr) [[likely]] {
      call_.id = next_id();
    } else {
      begin_within(*outer_);
    }
    tool_thread.frame = this;
  }
  ~CallFrame() { tool_thread.frame = outer_; }
  CallFrame(const CallFrame&) = delete;
  CallFrame& operator=(const CallFrame&) = delete;

  /// The id of the call that the thread is in; 0: none that tools see.
  static uint64_t current_call() noexcept {
    return tool_thread.frame == nullptr ? 0 : tool_thread.frame->call_.id;
  }

  /// Calls the tools on the way in. False: one of them has answered, and the function is not to be called.
  /// `at_any_time`: the function may be called while the tools are unloaded.
  bool enter(const CallChain& chain, bool at_any_time) noexcept;
  /// Calls those that have been entered and want to know the result, on the way out.
  void exit(bool at_any_time) noexcept {
    if (entered_ == 0) return;
    if (keeps_tools(at_any_time)) [[unlikely]]
      return call_tools_out_and_keep();
    call_tools_out();
  }

 private:
  // A tool that has been entered and has an exit.
  struct Visit {
    Tool* tool;
    uint64_t data;
    uint32_t life;
  };

  void begin_within(const CallFrame& outer) noexcept;

  static bool keeps_tools(bool at_any_time) noexcept { return at_any_time || is_handler_thread(); }

  bool call_tools_in(const CallChain& chain) noexcept;
  bool call_tools_in_and_keep(const CallChain& chain) noexcept;
  void call_tools_out_and_keep() noexcept;
  void call_tools_out() noexcept {
    tool_thread.in_tool = true;
    for (uint32_t i = entered_; i > 0;) {
      const Visit& visit = visits_[--i];
      Tool& tool = *visit.tool;
      // A tool that has ended in the meantime has forgotten the call.
      if (tool.life() != visit.life) [[unlikely]]
        continue;
      call_.data = visit.data;
      tool.guarded("exit", [&] { tool.loaded().calls.exit(tool.self(), &call_); });
    }
    tool_thread.in_tool = false;
  }

  // Ids are taken from the process in blocks, so that threads do not meet at every call.
  static constexpr uint64_t kBlock = uint64_t{1} << 24;
  static uint64_t next_id() noexcept {
    const uint64_t id = tool_thread.next_id;
    if (id % kBlock == 0) [[unlikely]]
      return new_block();
    tool_thread.next_id = id + 1;
    return id;
  }
  static uint64_t new_block() noexcept;

  hsatool_call_t call_;  // first: each tool gets its address
  const CallFrame* const outer_;
  const uint32_t layer_;
  uint32_t entered_ = 0;
  Visit visits_[kMaxTools];
};

}  // namespace rigel
