// Queues whose packets can be seen, changed, dropped and added to on their way to the agent.
//
// The application has a ring and a doorbell of its own. Behind them is an agent's queue that nobody else
// knows: the thread that rings the doorbell takes the packets out of the one ring, leads them through the
// handlers, and writes what comes out to the other. Nothing spins and no thread is started.
//
//   * One thread at a time moves packets. A thread that rings while another does so leaves the work to it and
//     never waits: the other looks again before it goes.
//   * Packets are taken in the order of their indices, as far as they are there: a slot whose header is
//     INVALID ends it, as it does on hardware. A slot is given back to the application when its packet has
//     been led through.
//   * What the handlers hand on and does not fit the agent's ring is kept, in order. Then no more is taken
//     from the application. A barrier packet tells, by a signal with a handler, that there is room again: one
//     is put into a ring that is half full, so that the agent has still to do while the handler brings more;
//     or into the last slot, which is always left for it.
//
// Order: what the application has written before it rings is visible to the handlers, and what these have
// written, to the agent. create, add_handler and the operations of Queue: any thread. Handlers: see
// hsa_api_trace.h.
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
  /// It takes several packets in a call. Those that are written for ROCr know one at a time only.
  bool takes_many = false;
  /// What keeps `data` alive: the queue holds it for as long as the handler may be called.
  std::shared_ptr<void> owner = {};
};

struct InterceptRequest {
  QueueRequest queue;
  /// intercept_queue_bytes(size) zeroed bytes that the agents reach, and how they are given back when the queue
  /// is closed.
  void* memory = nullptr;
  std::function<void(void*)> release;
  /// Runs the handler that says that there is room again. Not used once the queue is closed.
  AsyncDispatcher* dispatcher = nullptr;
};

class InterceptQueue : public Queue {
 public:
  /// Makes the agent's queue behind it, which takes packets from here on. Once, before the application sees
  /// it.
  virtual Status start(const Agent& agent, uint64_t cookie) = 0;
  /// Adds a handler, which sees packets before those that are there already, for the life of the queue. Not
  /// from within a handler.
  virtual Status add_handler(PacketHandler handler) = 0;
  /// Has the agent stamp times on completion signals, whatever the application says later.
  virtual Status profile_always() = 0;
};

/// Who wants to see the packets of queues that programs make: the tools (core/tool/packet_tools.hpp).
class QueueTools {
 public:
  virtual bool wants_queues() const noexcept = 0;
  /// Whether any tool wants this queue, of which the application does not know yet; then their handlers are
  /// in it.
  virtual Result<bool> add_to(InterceptQueue& queue, const Agent& agent) = 0;

 protected:
  ~QueueTools() = default;
};

/// In a forked child, while it has one thread.
void reset_intercept_queues_after_fork() noexcept;

size_t intercept_queue_bytes(uint32_t packets);

/// A queue with a handle, an id and a doorbell, and no agent yet. Memory is given back also on failure.
Result<std::shared_ptr<InterceptQueue>> create_intercept_queue(InterceptRequest request, uint64_t cookie);

}  // namespace rigel
