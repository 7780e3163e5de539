// What tools see of queues and copies: packets before a device does, and what devices have done.
//
// The set of tools is given when they have been loaded and taken away before they are unloaded, by one thread
// at a time; everything else is called by any thread. Without tools that want packets or activities nothing
// here is called but `wants_queues` and `wants_copies`.
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
  /// The tools of this life of the runtime, the outermost first. `dispatcher` tells of what is over; it
  /// outlives the next call with none.
  void use(std::span<Tool* const> tools, AsyncDispatcher* dispatcher);

  /// Without any in a forked child, while it has one thread.
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
    hsa_signal_t completion;  ///< the application's
    /// Reads the times from the signal. May leave them 0.
    void (*times)(hsa_signal_t signal, uint64_t& begin, uint64_t& end);
  };
  /// Calls `submit(signal)` for an asynchronous copy, with a signal whose end the tools are told of before
  /// the application's follows; with the application's own if there is no memory. Returns what it returns,
  /// and throws what it throws.
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
  /// Nothing will come of it.
  static void forget(const Watched& watched) noexcept;

  Mutex mutex_;
  std::vector<Tool*> tools_ RIGEL_GUARDED_BY(mutex_);
  std::atomic<bool> wants_queues_{false};
  std::atomic<uint32_t> activities_{0};
  std::atomic<AsyncDispatcher*> dispatcher_{nullptr};
};

/// The process's.
PacketTools& packet_tools() noexcept;

}  // namespace rigel
