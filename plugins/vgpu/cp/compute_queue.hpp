// The base of AQL and PM4 queues: running dispatches, and the state that PM4 streams use (an AQL queue can
// run PM4 too).
//
// A dispatch starts after the step that found it, outside of translation scopes, and completes on a thread of
// the shader cores. Its result is put on a list, and the engine is woken. The next step takes the result.
#pragma once

#include "api/support/mutex.hpp"
#include "plugins/vgpu/cp/hardware_queue.hpp"

namespace rigel::vgpu {

class ComputeQueue : public HardwareQueue, public std::enable_shared_from_this<ComputeQueue> {
 public:
  /// `wake` wakes the engine that steps this queue. It is called from any thread until drain() returns.
  ComputeQueue(QueueContext& context, const QueueConfig& config, std::function<void()> wake)
      : HardwareQueue(context, config), wake_(std::move(wake)) {}

  void drain() override;

  enum class Timing : uint8_t { kUntimed, kTimed };
  /// Starts a dispatch when the step ends. Its result carries `token` and, if timed, start and end times.
  void start_dispatch(Dispatch dispatch, uint64_t token, Timing timing = Timing::kUntimed);
  /// Sets the compute units of later dispatches. Called while the queue is not being stepped.
  void set_cu_mask(std::shared_ptr<const std::vector<uint32_t>> mask) override { cu_mask_ = std::move(mask); }
  uint32_t running_dispatches() const { return running_; }
  bool runs_kernels() const override { return running_ != 0; }

 protected:
  struct Finished {
    uint64_t token;
    DispatchResult result;
    uint64_t begun, ended;  // ticks of the GPU's clock; 0 if not timed
  };

  bool has_finished() const { return finished_count_.load(std::memory_order_acquire) != 0; }
  /// Returns the results since the last call. Valid until the next call.
  std::vector<Finished>& take_finished();
  void deliver() override;

  // The PM4 interpreter acts for its queue.
  friend class Pm4Interpreter;

 private:
  struct Start {
    Dispatch dispatch;
    uint64_t token;
    Timing timing;
  };

  const std::function<void()> wake_;
  std::shared_ptr<const std::vector<uint32_t>> cu_mask_;
  bool counts_events_ = false;  // COMPUTE_PERFCOUNT_ENABLE
  std::vector<Start> starts_;
  std::vector<Start> delivered_;  // handed to the sink, or about to be
  std::vector<Finished> taken_;
  uint32_t running_ = 0;  // started and not yet returned by take_finished(); used by the stepping thread
  std::atomic<uint32_t> finished_count_{0};
  Mutex mutex_;
  Condition all_done_;
  uint32_t outstanding_ RIGEL_GUARDED_BY(mutex_) = 0;  // started, and `done` not yet called
  std::vector<Finished> finished_ RIGEL_GUARDED_BY(mutex_);
};

}  // namespace rigel::vgpu
