#include "plugins/vgpu/cp/compute_queue.hpp"

#include <utility>

namespace rigel::vgpu {

void ComputeQueue::start_dispatch(Dispatch dispatch, uint64_t token, Timing timing) {
  ++running_;
  dispatch.cu_mask = cu_mask_;
  dispatch.counts_events = counts_events_ && context_.counters.is_running();
  dispatch.counts_lds = dispatch.counts_events && context_.counters.selects_lds();
  starts_.push_back({std::move(dispatch), token, timing});
}

void ComputeQueue::deliver() {
  delivered_.clear();  // keeps its capacity
  delivered_.swap(starts_);
  for (const Start& start : delivered_) {
    {
      const MutexLock lock(mutex_);
      ++outstanding_;
    }
    auto self = shared_from_this();
    // Timed here: with one worker, several dispatches may run to completion before a result is taken.
    const uint64_t begun = start.timing == Timing::kTimed ? context_.bus.gpu_clock() : 0;
    context_.sink.start(start.dispatch, [self, token = start.token, begun](DispatchResult result) {
      if (result.events != nullptr) self->context_.counters.add(*result.events);
      const uint64_t ended = begun != 0 ? self->context_.bus.gpu_clock() : 0;
      {
        const MutexLock lock(self->mutex_);
        self->finished_.push_back({token, std::move(result), begun, ended});
        self->finished_count_.fetch_add(1, std::memory_order_release);
      }
      self->wake_();
      // Must be last: after this, drain() may return and the engine be destroyed.
      const MutexLock lock(self->mutex_);
      --self->outstanding_;
      self->all_done_.notify_all();
    });
  }
}

std::vector<ComputeQueue::Finished>& ComputeQueue::take_finished() {
  taken_.clear();
  if (!has_finished()) return taken_;
  const MutexLock lock(mutex_);
  finished_count_.store(0, std::memory_order_relaxed);
  running_ -= static_cast<uint32_t>(finished_.size());
  taken_.swap(finished_);
  return taken_;
}

void ComputeQueue::drain() {
  {
    const MutexLock lock(mutex_);
    if (outstanding_ == 0) return;
  }
  context_.sink.cancel(id());
  MutexLock lock(mutex_);
  while (outstanding_ != 0) all_done_.wait(lock);
}

}  // namespace rigel::vgpu
