// Creation, properties, queries and destruction of queues by the API.
//
// Each function implements the API function of the same name and checks every argument; the queues themselves
// (core/queue/queue.hpp) do not. The exported function checks that the runtime is open and catches
// exceptions.
//
// *Threads:* any thread.
// *Lifetime:* owned by the runtime.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <memory>

#include "api/support/status.hpp"
#include "core/memory/heaps.hpp"
#include "core/queue/intercept_queue.hpp"
#include "core/queue/queue.hpp"
#include "core/signal/async_dispatcher.hpp"
#include "core/topology/machine.hpp"

namespace rigel {

class Queues {
 public:
  /// All arguments outlive the queues, which are in `table`. Handlers of the application never block
  /// `dispatcher`.
  Queues(const Machine& machine, Heaps& heaps, AsyncDispatcher& dispatcher, QueueTools& tools,
         QueueTable& table)
      : machine_(machine), heaps_(heaps), dispatcher_(dispatcher), tools_(tools), table_(table) {}

  Status create(hsa_agent_t agent, const QueueRequest& request, hsa_queue_t** queue);
  /// hsa_amd_queue_create: creates a queue for each descriptor, and returns the first error.
  Status create_described(hsa_agent_t agent, hsa_amd_queue_create_desc_t* descs, uint32_t num_descs);
  Status intercept_create(hsa_agent_t agent, const QueueRequest& request, hsa_queue_t** queue);
  Status intercept_register(hsa_queue_t* queue, hsa_amd_queue_intercept_handler callback, void* user_data);
  /// Each counted queue has a dedicated hardware queue. The only visible effect of sharing would be that
  /// packets delay those of other owners.
  Status counted_acquire(hsa_agent_t agent, hsa_queue_type_t type, hsa_amd_queue_priority_t priority,
                         QueueErrorCallback callback, void* data, hsa_queue_t** queue);
  Status counted_release(hsa_queue_t* queue);
  Status soft_create(hsa_region_t region, uint32_t size, hsa_queue_type32_t type, uint32_t features,
                     hsa_signal_t doorbell, hsa_queue_t** queue);
  Status destroy(hsa_queue_t* queue);

  Status inactivate(hsa_queue_t* queue);
  Status set_priority(hsa_queue_t* queue, hsa_amd_queue_priority_t priority);
  Status cu_set_mask(const hsa_queue_t* queue, uint32_t bits, const uint32_t* mask);
  Status cu_get_mask(const hsa_queue_t* queue, uint32_t bits, uint32_t* mask);
  Status get_info(hsa_queue_t* queue, hsa_queue_info_attribute_t attribute, void* value);
  Status profiling_set_profiler_enabled(hsa_queue_t* queue, bool enable);
  Status profiling_get_dispatch_time(hsa_agent_t agent, hsa_signal_t signal,
                                     hsa_amd_profiling_dispatch_time_t* time);

  /// For other parts of the runtime.

 private:
  struct Traits;

  Result<std::shared_ptr<Queue>> live(const hsa_queue_t* queue) const;
  Result<std::shared_ptr<Queue>> live_or_invalid_queue(const hsa_queue_t* queue) const;
  Status create(hsa_agent_t agent, const QueueRequest& request, const Traits& traits, hsa_queue_t** queue);
  Status create_one(hsa_agent_t agent, hsa_amd_queue_create_desc_t& wanted);
  Status apply(const Traits& traits, Queue& queue);
  Result<std::shared_ptr<Queue>> make(const Agent& agent, const QueueRequest& request, uint64_t cookie,
                                      bool intercepted);
  Result<std::shared_ptr<Queue>> make_intercepted(const Agent& agent, const QueueRequest& request,
                                                  uint64_t cookie, bool asked_for);

  const Machine& machine_;
  Heaps& heaps_;
  AsyncDispatcher& dispatcher_;
  QueueTools& tools_;
  QueueTable& table_;
};

}  // namespace rigel
