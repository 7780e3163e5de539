// One intercepted call: from the wrapper in the table through the tools to the next function.
//
// A ToolLayer is a group of adjacent tools in the chain, with at most one wrapper for each function
// (api/entry/interception.hpp). A wrapper creates a CallFrame on its stack; `enter` and `exit` call the
// tools, without allocation or lock.
//
// *Lifetime:* objects that other threads may still use when the runtime is closed are never freed: the tools,
// and the layers' lists. Members of the lists are written while no other thread enters, and read with relaxed
// atomics by late threads.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <utility>

#include "core/signal/handler_thread.hpp"
#include "core/tool/tool.hpp"

namespace rigel {

class CallFrame;

struct ToolThread {
  uint64_t next_id = 0;              ///< next id in this thread's block of ids; 0: none
  const CallFrame* frame = nullptr;  ///< innermost call that tools observe
  bool in_tool = false;              ///< a callback is running: calls bypass the tools
  uint32_t keeping = 0;              ///< number of KeepTools of this thread
};
[[gnu::tls_model("initial-exec"),
  gnu::visibility("hidden")]] extern constinit thread_local ToolThread tool_thread;

/// RAII mark: a tool is running on this thread, and its calls of the API bypass the tools.
class InTool {
 public:
  InTool() noexcept : before_(std::exchange(tool_thread.in_tool, true)) {}
  ~InTool() { tool_thread.in_tool = before_; }
  InTool(const InTool&) = delete;
  InTool& operator=(const InTool&) = delete;

 private:
  const bool before_;
};

/// RAII mark: prevents other threads from unloading tools. Use around callbacks that may trigger the last
/// hsa_shut_down: functions that a program may call at any time, and callbacks on threads of the runtime.
/// Other calls cannot overlap with the last hsa_shut_down.
class KeepTools {
 public:
  KeepTools() noexcept {
    ++tool_thread.keeping;
    callers_.fetch_add(1, std::memory_order_relaxed);
    // Precedes the read of a tool's generation. Unloading changes the generation before it counts the
    // callers.
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  ~KeepTools() {
    --tool_thread.keeping;
    callers_.fetch_sub(1, std::memory_order_release);
    callers_.notify_all();
  }
  KeepTools(const KeepTools&) = delete;
  KeepTools& operator=(const KeepTools&) = delete;

  /// Waits for KeepTools of other threads that may have read an ended tool's earlier generation.
  static void wait_for_others() noexcept;
  /// In a forked child: other threads do not exist.
  static void reset_after_fork() noexcept;

 private:
  static std::atomic<uint32_t> callers_;
};

constexpr uint32_t kMaxTools = 16;

/// The tools that observe one function, in one layer.
struct CallChain {
  std::atomic<void (*)()> next{nullptr};  ///< the function that the layer replaced, with the function's type
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

  /// Returns the id of the thread's current call; 0 if tools do not observe it.
  static uint64_t current_call() noexcept {
    return tool_thread.frame == nullptr ? 0 : tool_thread.frame->call_.id;
  }

  /// Calls the tools' enter callbacks. Returns false if a tool has answered the call, so that the function
  /// must not be called. `at_any_time`: the function may be called while tools are unloaded.
  bool enter(const CallChain& chain, bool at_any_time) noexcept;
  /// Calls the exit callbacks of entered tools that request them.
  void exit(bool at_any_time) noexcept;

 private:
  // A tool that has been entered and has an exit callback.
  struct Visit {
    Tool* tool;
    uint64_t data;
    uint32_t generation;
  };

  void begin_within(const CallFrame& outer) noexcept;

  static bool keeps_tools(bool at_any_time) noexcept { return at_any_time || is_handler_thread(); }

  bool call_tools_in(const CallChain& chain) noexcept;
  bool call_tools_in_and_keep(const CallChain& chain) noexcept;
  void call_tools_out_and_keep() noexcept;
  void call_tools_out() noexcept;

  // Threads take ids in blocks, so that they do not contend for each call.
  static constexpr uint64_t kBlock = uint64_t{1} << 24;
  static uint64_t next_id() noexcept {
    const uint64_t id = tool_thread.next_id;
    if (id % kBlock == 0) [[unlikely]]
      return new_block();
    tool_thread.next_id = id + 1;
    return id;
  }
  static uint64_t new_block() noexcept;

  hsatool_call_t call_;  // first member: each tool receives its address
  const CallFrame* const outer_;
  const uint32_t layer_;
  uint32_t entered_ = 0;
  Visit visits_[kMaxTools];
};

}  // namespace rigel
