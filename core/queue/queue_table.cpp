#include <atomic>
#include <utility>

#include "api/support/mutex.hpp"
#include "core/queue/queue.hpp"

namespace rigel {

constinit thread_local bool InQueueCallback::on_this_thread = false;

uint64_t QueueTable::next_cookie() noexcept {
  static constinit std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

hsa_queue_t* QueueTable::insert(std::shared_ptr<Queue> queue, uint64_t cookie, uint32_t limit) {
  hsa_queue_t* handle = queue->handle();
  handle->id = cookie;  // must be unique until the process ends, according to the manual
  const WriterLock lock(mutex_);
  if (count_locked(queue->agent()) >= limit) return nullptr;
  queues_.emplace(handle, Entry{.queue = std::move(queue), .cookie = cookie});
  return handle;
}

std::shared_ptr<Queue> QueueTable::find(const hsa_queue_t* queue) const {
  const ReaderLock lock(mutex_);
  const auto found = queues_.find(queue);
  return found == queues_.end() ? nullptr : found->second.queue;
}

std::shared_ptr<Queue> QueueTable::find_cookie(uint64_t cookie) const {
  const ReaderLock lock(mutex_);
  for (const auto& [handle, entry] : queues_) {  // errors are rare, so there is no second index
    if (entry.cookie == cookie) return entry.queue;
  }
  return nullptr;
}

const hsa_queue_t* QueueTable::handle_of_cookie(uint64_t cookie) const {
  const ReaderLock lock(mutex_);
  for (const auto& [handle, entry] : queues_) {
    if (entry.cookie == cookie) return handle;
  }
  return nullptr;
}

bool QueueTable::is_changing(const Agent& agent) const {
  const CooperativeChange* change = changes_;
  while (change != nullptr && change->agent_ != &agent) change = change->next_;
  return change != nullptr;
}

void QueueTable::begin(CooperativeChange& change, const Agent& agent) {
  change.agent_ = &agent;
  change.next_ = std::exchange(changes_, &change);
}

void QueueTable::CooperativeChange::end() noexcept {
  if (agent_ == nullptr) return;
  const MutexLock lock(table_.changes_mutex_);
  CooperativeChange** link = &table_.changes_;
  while (*link != this) link = &(*link)->next_;
  *link = next_;
  agent_ = nullptr;
  table_.change_over_.notify_all();
}

Result<hsa_queue_t*> QueueTable::share_cooperative(const Agent& agent, CooperativeChange& change) {
  MutexLock lock(changes_mutex_);
  for (;;) {
    if (hsa_queue_t* const shared = find_cooperative(agent)) return shared;
    if (!is_changing(agent)) break;
    if (InQueueCallback::is_here()) {
      return fail(
          HSA_STATUS_ERROR_OUT_OF_RESOURCES,
          "cooperative queue: requested in a callback while the agent's queue is created or destroyed");
    }
    change_over_.wait(lock);
  }
  begin(change, agent);
  return nullptr;
}

hsa_queue_t* QueueTable::find_cooperative(const Agent& agent) {
  const WriterLock lock(mutex_);
  for (auto& [handle, entry] : queues_) {
    if (!entry.queue->cooperative || entry.queue->agent() != &agent || entry.queue->failed()) continue;
    ++entry.owners;
    return entry.queue->handle();
  }
  return nullptr;
}

QueueTable::Removal QueueTable::remove(const hsa_queue_t* queue, CooperativeChange& change) {
  const MutexLock changes(changes_mutex_);  // a thread that finds no queue also finds that one is ending
  const WriterLock lock(mutex_);
  const auto found = queues_.find(queue);
  if (found == queues_.end()) return {};
  if (--found->second.owners != 0) return {.found = true, .queue = nullptr};
  Removal removal{.found = true, .queue = std::move(found->second.queue)};
  queues_.erase(found);
  if (removal.queue->cooperative) begin(change, *removal.queue->agent());
  return removal;
}

QueueTable::Queues QueueTable::clear() noexcept {
  const WriterLock lock(mutex_);
  return std::exchange(queues_, {});
}

uint32_t QueueTable::count(const Agent& agent) const {
  const ReaderLock lock(mutex_);
  return count_locked(&agent);
}

uint32_t QueueTable::count_locked(const Agent* agent) const {
  uint32_t count = 0;
  for (const auto& [handle, entry] : queues_) count += entry.queue->agent() == agent;
  return count;
}

}  // namespace rigel
