// What the two kinds of compute queue (AQL, PM4) share: dispatches under way, and PM4 streams, which an
// AQL queue runs too.
//
// A dispatch is started after the step that found it, outside of translation scopes, and ends on whatever
// thread the shader cores have: its result is put on a list, the engine is woken, and the next step takes it.
#pragma once

#include "api/support/mutex.hpp"
#include "plugins/vgpu/cp/hardware_queue.hpp"

namespace rigel::vgpu {

class ComputeQueue : public HardwareQueue, public std::enable_shared_from_this<ComputeQueue> {
 public:
  /// `wake` wakes the engine that steps this queue; called from any thread until drain() returns.
  ComputeQueue(QueueContext& context, const QueueConfig& config, std::function<void()> wake)
      : HardwareQueue(context, config), wake_(std::move(wake)) {}

  void drain() override;

  enum class Timing : uint8_t { kUntimed, kTimed };
  /// Starts a dispatch when the step ends. `token` comes back with its result, and the times of a timed one.
  void start_dispatch(Dispatch dispatch, uint64_t token, Timing timing = Timing::kUntimed);
  /// Which compute units dispatches may have from now on. The queue is not being stepped.
  void set_cu_mask(std::shared_ptr<const std::vector<uint32_t>> mask) override { cu_mask_ = std::move(mask); }
  uint32_t running_dispatches() const { return running_; }
  bool runs_kernels() const override { return running_ != 0; }

 protected:
  struct Finished {
    uint64_t token;
    DispatchResult result;
    uint64_t begun, ended;  // ticks of the GPU's clock; 0: not timed
  };

  bool has_finished() const { return finished_count_.load(std::memory_order_acquire) != 0; }
  /// Valid until the next call.
  std::vector<Finished>& take_finished();
  void deliver() override;

  // The PM4 interpreter works on behalf of its queue.
  friend class Pm4Interpreter;

 private:
  struct Start {
    Dispatch dispatch;
    uint64_t token;
    Timing timing;
  };

  const std::function<void()> wake_;
  std::shared_ptr<const std::vector<uint32_t>> cu_mask_;
  std::vector<Start> starts_;
  std::vector<Start> delivered_;  // to the sink, or about to be
  std::vector<Finished> taken_;
  uint32_t running_ = 0;  // begun and not yet taken by take_finished(); the stepping thread's
  std::atomic<uint32_t> finished_count_{0};
  Mutex mutex_;
  Condition all_done_;
  uint32_t outstanding_ RIGEL_GUARDED_BY(mutex_) = 0;  // started and not yet answered
  std::vector<Finished> finished_ RIGEL_GUARDED_BY(mutex_);
};

}  // namespace rigel::vgpu
