#include "backends/common/scratch_keeper.hpp"

#include <algorithm>
#include <chrono>

#include "api/support/mutex.hpp"
#include "backends/common/dispatch_queue.hpp"
#include "backends/common/gpu_device.hpp"

namespace rigel::gfx {
namespace {

constexpr std::chrono::milliseconds kPause{1};

}  // namespace

ScratchKeeper::ScratchKeeper(Device& device) : device_(device), limit_(kScratchLimitAtFirst) {}

ScratchKeeper::~ScratchKeeper() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ScratchKeeper::add(DispatchQueue& queue) {
  const MutexLock lock(mutex_);
  queues_.push_back(&queue);
}

void ScratchKeeper::remove(DispatchQueue& queue) {
  MutexLock lock(mutex_);
  std::erase(queues_, &queue);
  std::erase(waiting_, &queue);
  while (serving_ == &queue) changed_.wait(lock);
  std::erase(waiting_, &queue);
}

uint32_t ScratchKeeper::allocate(const DispatchQueue& asking, const ScratchNeed& need, uint32_t waves,
                                 uint32_t least, Block& out) {
  const auto get = [&](uint32_t count) {
    return device_.allocate_scratch(count * need.wave_bytes, out) == HSA_STATUS_SUCCESS;
  };
  if (waves == 0 || get(waves)) return waves;
  if (reclaim(&asking) && get(waves)) return waves;
  // Fewer waves at a time, which is slower and not wrong.
  const ScratchDevice slots = scratch_device(device_.facts);
  do {
    waves = waves > least ? std::max(fewer_scratch_waves(slots, need, waves), least) : 0;
  } while (waves != 0 && !get(waves));
  return waves;
}

bool ScratchKeeper::reclaim(const DispatchQueue* except, uint64_t more_than) {
  const MutexLock lock(mutex_);
  bool any = false;
  for (DispatchQueue* queue : queues_) any |= queue != except && queue->give_up_scratch(more_than);
  return any;
}

bool ScratchKeeper::holds(const DispatchQueue* except, uint64_t more_than) const {
  return std::any_of(queues_.begin(), queues_.end(), [&](const DispatchQueue* queue) {
    return queue != except && queue->returnable_scratch() > more_than;
  });
}

bool ScratchKeeper::others_hold(const DispatchQueue& asking) const {
  const MutexLock lock(mutex_);
  return holds(&asking, 0);
}

void ScratchKeeper::retry_later(DispatchQueue& queue) {
  const MutexLock lock(mutex_);
  // The queue's handler may get here when the queue has been removed and waits for it to end.
  if (std::find(queues_.begin(), queues_.end(), &queue) == queues_.end()) return;
  waiting_.push_back(&queue);
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  changed_.notify_all();
}

hsabe_status_t ScratchKeeper::set_limit(uint64_t bytes) {
  if (bytes > kScratchLimitMost) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  limit_.store(bytes, std::memory_order_relaxed);
  for (;;) {
    reclaim(nullptr, bytes);
    {
      const MutexLock lock(mutex_);
      if (!holds(nullptr, bytes)) return HSA_STATUS_SUCCESS;
    }
    std::this_thread::sleep_for(kPause);
  }
}

void ScratchKeeper::work() {
  MutexLock lock(mutex_);
  while (!ending_) {
    if (waiting_.empty()) {
      changed_.wait(lock);
      continue;
    }
    for (DispatchQueue* queue : std::vector<DispatchQueue*>(waiting_)) {
      if (std::find(waiting_.begin(), waiting_.end(), queue) == waiting_.end()) continue;  // removed since
      serving_ = queue;
      lock.unlock();
      const bool done = queue->retry_scratch();
      lock.lock();
      serving_ = nullptr;
      if (done) std::erase(waiting_, queue);
      changed_.notify_all();
    }
    if (!waiting_.empty() && !ending_) changed_.wait_for(lock, kPause);
  }
}

}  // namespace rigel::gfx
