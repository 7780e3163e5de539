#include "plugins/validate/queues.hpp"

#include "api/support/mutex.hpp"

namespace validate {

Queue& Queues::add(const hsatool_queue_t& facts, const Agent* agent) {
  const rigel::MutexLock lock(mutex_);
  Queue& queue = *all_.emplace_back(std::make_unique<Queue>());
  queue.queue = facts.queue;
  queue.id = facts.id;
  queue.agent = agent;
  {
    const rigel::MutexLock own(queue.mutex);
    queue.copies.resize(facts.queue->size);
  }
  const uint64_t doorbell = facts.queue->doorbell_signal.handle;
  for (size_t i = 0; i < kSlots; ++i) {
    Slot& slot = slots_[(first_slot(doorbell) + i) % kSlots];
    if (slot.doorbell.load(std::memory_order_relaxed) > kLeft) continue;
    slot.queue.store(&queue, std::memory_order_relaxed);
    slot.doorbell.store(doorbell, std::memory_order_release);
    break;
  }
  return queue;
}

void Queues::remove(const hsa_queue_t* handle) {
  const rigel::MutexLock lock(mutex_);
  for (const auto& queue : all_) {
    if (queue->queue != handle || queue->destroyed.load(std::memory_order_relaxed)) continue;
    queue->destroyed.store(true, std::memory_order_release);
    for (Slot& slot : slots_) {
      if (slot.queue.load(std::memory_order_relaxed) != queue.get()) continue;
      slot.doorbell.store(kLeft, std::memory_order_release);
      slot.queue.store(nullptr, std::memory_order_release);
    }
    const rigel::MutexLock own(queue->mutex);
    queue->copies = {};
  }
}

Queue* Queues::of_doorbell(uint64_t signal) const {
  for (size_t i = 0; i < kSlots; ++i) {
    const Slot& slot = slots_[(first_slot(signal) + i) % kSlots];
    const uint64_t doorbell = slot.doorbell.load(std::memory_order_acquire);
    if (doorbell == 0) return nullptr;
    if (doorbell == signal) return slot.queue.load(std::memory_order_acquire);
  }
  return nullptr;
}

Queue* Queues::last_at(const hsa_queue_t* handle) {
  const rigel::MutexLock lock(mutex_);
  for (size_t i = all_.size(); i-- > 0;) {
    if (all_[i]->queue == handle) return all_[i].get();
  }
  return nullptr;
}

}  // namespace validate
