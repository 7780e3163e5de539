// Intercept queues: handlers of tools can observe, change, drop and add packets before the agent receives
// them.
//
// The application has a ring and a doorbell. The agent consumes a second, hidden queue. The thread that rings
// the doorbell takes packets from the application's ring, passes them through the handlers, and writes the
// output to the agent's queue. There is no polling and no helper thread.
//
//   * One thread at a time moves packets. A thread that rings during that time leaves its packets to the
//     moving thread, which checks the ring again before it stops, and does not wait.
//   * Packets are taken in the order of their indices, up to the first slot whose header is INVALID, as on
//     hardware. A slot is released to the application after its packet has passed the handlers.
//   * Output that does not fit into the agent's ring is kept in order, and no more packets are taken. A
//     barrier packet whose signal has a handler then reports that there is room. It is put into the ring when
//     the ring is half full: the agent then stays busy while the handler refills the ring. At the latest, it
//     is put into the last slot, which is always reserved for it.
//
// *Threads:* create, add_handler and the operations of Queue: any thread. Handlers: see hsa_api_trace.h.
// *Memory order:* the application's writes before it rings are visible to the handlers, and the handlers'
// writes to the agent.
#pragma once

#include <hsa/hsa_api_trace.h>

#include <cstddef>
#include <functional>
#include <memory>

#include "core/queue/queue.hpp"
#include "core/signal/async_dispatcher.hpp"

namespace rigel {

struct PacketHandler {
  hsa_amd_queue_intercept_handler function = nullptr;
  void* data = nullptr;
  /// Whether it accepts several packets per call. Handlers for ROCr accept one at a time.
  bool takes_many = false;
  /// Owner of `data`: the queue holds it while the handler may be called.
  std::shared_ptr<void> owner = {};
};

struct InterceptRequest {
  QueueRequest queue;
  /// intercept_queue_bytes(size) zeroed bytes that agents can access, and the function that frees them when
  /// the queue is closed.
  void* memory = nullptr;
  std::function<void(void*)> release;
  /// Runs the handler that reports room. Not used after the queue is closed.
  AsyncDispatcher* dispatcher = nullptr;
};

class InterceptQueue : public Queue {
 public:
  /// Creates the agent's queue, which then receives packets. Call once, before the application has the
  /// handle.
  virtual Status start(const Agent& agent, uint64_t cookie) = 0;
  /// Adds a handler, which receives packets before all earlier handlers and stays until the queue ends. Must
  /// not be called from a handler.
  virtual Status add_handler(PacketHandler handler) = 0;
  /// Makes the agent record times in completion signals, regardless of the application's setting.
  virtual Status profile_always() = 0;
};

/// Interest of the tools in packets of programs' queues (core/tool/packet_tools.hpp).
class QueueTools {
 public:
  virtual bool wants_queues() const noexcept = 0;
  /// Adds the handlers of tools that observe this queue, which the application does not know yet. Returns
  /// whether there are any.
  virtual Result<bool> add_to(InterceptQueue& queue, const Agent& agent) = 0;

 protected:
  ~QueueTools() = default;
};

/// In a forked child, while it has one thread.
void reset_intercept_queues_after_fork() noexcept;

size_t intercept_queue_bytes(uint32_t packets);

/// Creates a queue with a handle, an id and a doorbell, without an agent. The memory is released on failure,
/// too.
Result<std::shared_ptr<InterceptQueue>> create_intercept_queue(InterceptRequest request, uint64_t cookie);

}  // namespace rigel
