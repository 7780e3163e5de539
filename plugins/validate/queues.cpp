#include "plugins/validate/queues.hpp"

#include "api/support/mutex.hpp"

namespace validate {

Queue& Queues::add(const hsatool_queue_t& info, const Agent* agent) {
  const rigel::WriterLock lock(mutex_);
  Queue& queue = *all_.try_emplace(info.id, std::make_unique<Queue>()).first->second;
  queue.queue = info.queue;
  queue.id = info.id;
  queue.doorbell = info.queue->doorbell_signal.handle;
  queue.agent = agent;
  {
    const rigel::MutexLock queue_lock(queue.mutex);
    queue.copies.resize(info.queue->size);
  }
  insert_slot(queue);
  return queue;
}

void Queues::insert_slot(Queue& queue) {
  Slot* free = nullptr;
  for (size_t i = 0; i < kSlots; ++i) {
    Slot& slot = slots_[(first_slot(queue.doorbell) + i) % kSlots];
    const uint64_t doorbell = slot.doorbell.load(std::memory_order_relaxed);
    if (free == nullptr && doorbell <= kRemoved) free = &slot;
    if (doorbell == queue.doorbell)
      free = &slot;  // stale entry of a queue whose destruction was not observed
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
    slot.doorbell.store(kRemoved, std::memory_order_release);
    slot.queue.store(nullptr, std::memory_order_release);
    return;
  }
}

void Queues::show(Queue& queue) {
  const rigel::WriterLock lock(mutex_);
  insert_slot(queue);
}

void Queues::end(Queue& queue) {
  const rigel::MutexLock queue_lock(queue.mutex);
  queue.copies = {};
}

Queue* Queues::of_doorbell(uint64_t signal) const {
  for (size_t i = 0; i < kSlots; ++i) {
    const Slot& slot = slots_[(first_slot(signal) + i) % kSlots];
    const uint64_t doorbell = slot.doorbell.load(std::memory_order_acquire);
    if (doorbell == 0) return nullptr;
    if (doorbell != signal) continue;
    Queue* const queue = slot.queue.load(std::memory_order_acquire);
    // Another queue may have taken the slot since the first load.
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
