// Tools' view of queues and copies: packets before a device receives them, and completed operations.
//
// *Threads:* one thread at a time sets the tools after loading and removes them before unloading; any thread
// calls everything else. Without tools that observe packets or activities, only `wants_queues` and
// `wants_copies` are called.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "api/support/mutex.hpp"
#include "api/support/undo.hpp"
#include "core/queue/intercept_queue.hpp"
#include "core/signal/async_dispatcher.hpp"
#include "core/tool/tool.hpp"
#include "core/topology/agent.hpp"

namespace rigel {

class PacketTools final : public QueueTools {
 public:
  /// Sets the tools of this runtime, outermost first. `dispatcher` reports completions; it must outlive the
  /// next call without tools.
  void use(std::span<Tool* const> tools, AsyncDispatcher* dispatcher);

  /// Removes all tools in a forked child with one thread.
  void abandon() noexcept;

  bool wants_queues() const noexcept override { return wants_queues_.load(std::memory_order_acquire); }
  bool wants_copies() const noexcept {
    return (activities_.load(std::memory_order_acquire) & HSATOOL_ACTIVITY_COPY) != 0;
  }

  Result<bool> add_to(InterceptQueue& queue, const Agent& agent) override;

  struct CopyFacts {
    hsa_agent_t source;
    hsa_agent_t destination;
    uint64_t bytes;
    hsa_signal_t completion;  ///< the application's signal
    /// Reads the times from the signal, or leaves them 0.
    void (*times)(hsa_signal_t signal, uint64_t& begin, uint64_t& end);
  };
  /// Calls `submit(signal)` for an asynchronous copy, with a signal whose completion is reported to tools
  /// before the application's signal changes. Without memory, passes the application's signal. Returns the
  /// result of `submit`, and rethrows its exceptions.
  template <class Submit>
  hsa_status_t copy(const CopyFacts& facts, Submit&& submit) {
    const Watched watched = watch_copy(facts);
    Undo forget_it([&] {
      if (watched.work != nullptr) forget(watched);
    });
    const hsa_status_t status = submit(watched.signal);
    if (status == HSA_STATUS_SUCCESS) forget_it.cancel();
    return status;
  }

 private:
  struct Watched {
    hsa_signal_t signal;
    void* work;  // null: the signal is the application's
  };
  Watched watch_copy(const CopyFacts& facts) noexcept;
  /// Drops an operation that could not be submitted.
  static void forget(const Watched& watched) noexcept;

  Mutex mutex_;
  std::vector<Tool*> tools_ RIGEL_GUARDED_BY(mutex_);
  std::atomic<bool> wants_queues_{false};
  std::atomic<uint32_t> activities_{0};
  std::atomic<AsyncDispatcher*> dispatcher_{nullptr};
};

PacketTools& packet_tools() noexcept;

}  // namespace rigel
