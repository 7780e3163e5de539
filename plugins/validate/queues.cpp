#include "plugins/validate/queues.hpp"

#include "api/support/mutex.hpp"

namespace validate {

Queue& Queues::add(const hsatool_queue_t& facts, const Agent* agent) {
  const rigel::WriterLock lock(mutex_);
  Queue& queue = *all_.try_emplace(facts.id, std::make_unique<Queue>()).first->second;
  queue.queue = facts.queue;
  queue.id = facts.id;
  queue.doorbell = facts.queue->doorbell_signal.handle;
  queue.agent = agent;
  {
    const rigel::MutexLock own(queue.mutex);
    queue.copies.resize(facts.queue->size);
  }
  list(queue);
  return queue;
}

void Queues::list(Queue& queue) {
  Slot* free = nullptr;
  for (size_t i = 0; i < kSlots; ++i) {
    Slot& slot = slots_[(first_slot(queue.doorbell) + i) % kSlots];
    const uint64_t doorbell = slot.doorbell.load(std::memory_order_relaxed);
    if (free == nullptr && doorbell <= kLeft) free = &slot;
    if (doorbell == queue.doorbell) free = &slot;  // of a queue that has ended unseen
    if (doorbell == queue.doorbell || doorbell == 0) break;
  }
  if (free == nullptr) return;
  free->queue.store(&queue, std::memory_order_relaxed);
  free->doorbell.store(queue.doorbell, std::memory_order_release);
}

void Queues::hide(Queue& queue) {
  const rigel::WriterLock lock(mutex_);
  for (size_t i = 0; i < kSlots; ++i) {
    Slot& slot = slots_[(first_slot(queue.doorbell) + i) % kSlots];
    if (slot.doorbell.load(std::memory_order_relaxed) == 0) return;
    if (slot.queue.load(std::memory_order_relaxed) != &queue) continue;
    slot.doorbell.store(kLeft, std::memory_order_release);
    slot.queue.store(nullptr, std::memory_order_release);
    return;
  }
}

void Queues::show(Queue& queue) {
  const rigel::WriterLock lock(mutex_);
  list(queue);
}

void Queues::end(Queue& queue) {
  const rigel::MutexLock own(queue.mutex);
  queue.copies = {};
}

Queue* Queues::of_doorbell(uint64_t signal) const {
  for (size_t i = 0; i < kSlots; ++i) {
    const Slot& slot = slots_[(first_slot(signal) + i) % kSlots];
    const uint64_t doorbell = slot.doorbell.load(std::memory_order_acquire);
    if (doorbell == 0) return nullptr;
    if (doorbell != signal) continue;
    Queue* const queue = slot.queue.load(std::memory_order_acquire);
    // The slot may have become another's meanwhile.
    return queue != nullptr && queue->doorbell == signal ? queue : nullptr;
  }
  return nullptr;
}

Queue* Queues::of_id(uint64_t id) const {
  const rigel::ReaderLock lock(mutex_);
  const auto found = all_.find(id);
  return found == all_.end() ? nullptr : found->second.get();
}

}  // namespace validate
