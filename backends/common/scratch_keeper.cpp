#include "backends/common/scratch_keeper.hpp"

#include <algorithm>
#include <chrono>
#include <exception>

#include "api/support/mutex.hpp"
#include "api/support/program_signals.hpp"
#include "backends/common/dispatch_queue.hpp"
#include "backends/common/gpu_device.hpp"

namespace rigel::gfx {
namespace {

constexpr std::chrono::milliseconds kPause{1};

}  // namespace

ScratchKeeper::ScratchKeeper(Device& device) : device_(device), limit_(kDefaultScratchLimit) {}

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
  queues_.push_back({&queue});
}

ScratchKeeper::Entry* ScratchKeeper::find(const DispatchQueue& queue) {
  const auto found = std::ranges::find(queues_, &queue, &Entry::queue);
  return found == queues_.end() ? nullptr : &*found;
}

void ScratchKeeper::leave(DispatchQueue& queue) {
  MutexLock lock(mutex_);
  Entry* const entry = find(queue);
  if (entry == nullptr) return;
  entry->leaving = true;
  while (entry->users != 0) changed_.wait(lock);
}

void ScratchKeeper::remove(DispatchQueue& queue) {
  const MutexLock lock(mutex_);
  std::erase_if(queues_, [&](const Entry& entry) { return entry.queue == &queue; });
}

uint32_t ScratchKeeper::allocate(const DispatchQueue& asking, const ScratchNeed& need, uint32_t waves,
                                 uint32_t least, Block& out) {
  const auto get = [&](uint32_t count) {
    return device_.allocate_scratch(need.bytes_of(count), out) == HSA_STATUS_SUCCESS;
  };
  if (waves == 0 || get(waves)) return waves;
  if (reclaim(&asking) && get(waves)) return waves;
  // Fewer waves at a time, which is slower but correct.
  const ScratchDevice slots = scratch_device(device_);
  do {
    waves = waves > least ? std::max(fewer_scratch_waves(slots, need, waves), least) : 0;
  } while (waves != 0 && !get(waves));
  return waves;
}

bool ScratchKeeper::reclaim(const DispatchQueue* except, uint64_t more_than) {
  if (in_scratch_callback) return false;
  bool any = false;
  MutexLock lock(mutex_);
  for (Entry& entry : queues_) {
    if (entry.queue == except || entry.leaving) continue;
    ++entry.users;
    lock.unlock();
    any |= entry.queue->give_up_scratch(more_than);
    lock.lock();
    --entry.users;
    changed_.notify_all();
  }
  return any;
}

bool ScratchKeeper::holds(const DispatchQueue* except, uint64_t more_than) const {
  return std::ranges::any_of(queues_, [&](const Entry& entry) {
    return entry.queue != except && entry.queue->returnable_scratch() > more_than;
  });
}

bool ScratchKeeper::others_hold(const DispatchQueue& asking) const {
  const MutexLock lock(mutex_);
  return holds(&asking, 0);
}

bool ScratchKeeper::retry_later(DispatchQueue& queue) {
  const MutexLock lock(mutex_);
  Entry* const entry = find(queue);
  if (entry == nullptr) return true;
  try {
    if (!thread_.joinable()) {
      const ProgramSignalsBlocked blocked;
      thread_ = std::thread([this] { work(); });
    }
  } catch (const std::exception&) {
    return false;
  }
  entry->waits = true;
  changed_.notify_all();
  return true;
}

hsabe_status_t ScratchKeeper::set_limit(uint64_t bytes) {
  if (bytes > kMaxScratchLimit) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  limit_.store(bytes, std::memory_order_relaxed);
  while (!in_scratch_callback) {
    reclaim(nullptr, bytes);
    {
      const MutexLock lock(mutex_);
      if (!holds(nullptr, bytes)) break;
    }
    std::this_thread::sleep_for(kPause);
  }
  return HSA_STATUS_SUCCESS;
}

void ScratchKeeper::work() {
  MutexLock lock(mutex_);
  while (!ending_) {
    bool any = false;
    for (Entry& entry : queues_) {
      if (!entry.waits || entry.leaving) continue;
      entry.waits = false;  // it may request scratch again as soon as it has been served
      ++entry.users;
      lock.unlock();
      const bool done = entry.queue->retry_scratch();
      lock.lock();
      --entry.users;
      entry.waits |= !done;
      any |= entry.waits;
      changed_.notify_all();
    }
    if (ending_) return;
    if (any) {
      changed_.wait_for(lock, kPause);
    } else {
      changed_.wait(lock);
    }
  }
}

}  // namespace rigel::gfx
