// Chapter 5 of rules.inc: calls that two threads must not make concurrently.
#include <fmt/core.h>

#include "plugins/validate/validator.hpp"

namespace validate {
namespace {

Queue* single_queue(Validator& validator, uint64_t handle) {
  if (validator.registry.state(Kind::kQueue, handle) != State::kLive) return nullptr;
  const auto* const queue = reinterpret_cast<const hsa_queue_t*>(handle);
  return queue->type == HSA_QUEUE_TYPE_SINGLE ? validator.queues.of(queue) : nullptr;
}

// Marks the calling thread as the queue's producer, and stores the queue in the call for end(). If another
// thread is the producer, reports both threads. If this thread is, in an outer call, has no effect.
void begin(Validator& validator, hsatool_call_t& call, Queue* queue) {
  if (queue == nullptr) return;
  uint64_t other = 0;
  if (queue->producer.compare_exchange_strong(other, thread_number())) {
    call.data = reinterpret_cast<uint64_t>(queue);
  } else if (other != thread_number()) {
    validator.report(
        Rule::kTwoProducers, call,
        fmt::format("threads {} and {} produce packets of queue {} concurrently: {}", other, thread_number(),
                    queue->id, validator.describe(Kind::kQueue, reinterpret_cast<uint64_t>(queue->queue))));
  }
}

void end(Validator&, hsatool_call_t& call) {
  if (auto* const queue = reinterpret_cast<Queue*>(call.data)) queue->producer.store(0);
}

void reserving(Validator& validator, hsatool_call_t& call) {
  begin(validator, call, single_queue(validator, word(call, 0)));
}

Queue* single_queue_of_doorbell(Validator& validator, uint64_t signal) {
  Queue* const queue = validator.queues.of_doorbell(signal);
  return queue != nullptr && queue->queue->type == HSA_QUEUE_TYPE_SINGLE ? queue : nullptr;
}

void ringing(Validator& validator, hsatool_call_t& call) {
  begin(validator, call, single_queue_of_doorbell(validator, word(call, 0)));
}

}  // namespace

std::span<const Hooks> thread_hooks() {
  static constexpr Hooks kHooks[] = {
      {HSATOOL_ID_hsa_queue_store_write_index_relaxed, reserving, end},
      {HSATOOL_ID_hsa_queue_store_write_index_screlease, reserving, end},
      {HSATOOL_ID_hsa_queue_cas_write_index_relaxed, reserving, end},
      {HSATOOL_ID_hsa_queue_cas_write_index_scacquire, reserving, end},
      {HSATOOL_ID_hsa_queue_cas_write_index_screlease, reserving, end},
      {HSATOOL_ID_hsa_queue_cas_write_index_scacq_screl, reserving, end},
      {HSATOOL_ID_hsa_queue_add_write_index_relaxed, reserving, end},
      {HSATOOL_ID_hsa_queue_add_write_index_scacquire, reserving, end},
      {HSATOOL_ID_hsa_queue_add_write_index_screlease, reserving, end},
      {HSATOOL_ID_hsa_queue_add_write_index_scacq_screl, reserving, end},
      {HSATOOL_ID_hsa_signal_store_relaxed, ringing, end},
      {HSATOOL_ID_hsa_signal_store_screlease, ringing, end},
  };
  return kHooks;
}

}  // namespace validate
