// A queue whose packets a backend processes.
#include <algorithm>
#include <bit>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "api/support/backend_report.hpp"
#include "api/support/mutex.hpp"
#include "core/queue/queue.hpp"
#include "core/signal/signal_pool.hpp"
#include "core/topology/cu_mask.hpp"

namespace rigel {
namespace {

struct DestroySignal {
  void operator()(Signal* signal) const noexcept { signal_pool::destroy(*signal); }
};
using OwnedSignal = std::unique_ptr<Signal, DestroySignal>;

// Returns a defect in the backend's description that makes the queue unusable; null if there is none.
const char* fault_of(const hsabe_queue_info_t& info, uint64_t doorbell_signal, bool has_register) {
  const auto* const queue = static_cast<const amd_queue_t*>(info.amd_queue);
  if (info.queue == nullptr) return "queue is NULL";
  if (queue == nullptr) return "amd_queue is NULL";
  if (queue->hsa_queue.base_address == nullptr) return "the base address of the ring is NULL";
  if (!std::has_single_bit(queue->hsa_queue.size)) return "the size is not a power of two";
  if (queue->hsa_queue.doorbell_signal.handle != doorbell_signal)
    return "doorbell_signal is not the signal that the runtime passed";
  if (has_register && info.doorbell == nullptr) return "doorbell is NULL";
  return nullptr;
}

class AgentQueue final : public Queue {
 public:
  AgentQueue(const Agent& agent, const QueueRequest& request, OwnedSignal doorbell)
      : agent_(agent),
        callback_(request.callback),
        data_(request.data),
        doorbell_(std::move(doorbell)),
        cu_mask_(grant_units({}, {}, agent.caps().compute_units).words) {}

  ~AgentQueue() override { end(); }

  Status start(const QueueRequest& request, uint64_t cookie) {
    const hsabe_queue_desc_t desc{sizeof desc,
                                  cookie,
                                  doorbell_->handle().handle,
                                  request.size,
                                  request.type,
                                  request.private_segment_size,
                                  request.group_segment_size};
    info_.struct_size = sizeof info_;
    const hsabe_status_t status = agent_.backend().queue.create(agent_.device(), &desc, &info_);
    if (status != HSA_STATUS_SUCCESS) {
      info_ = {};
      return backend_report::refused("queue", status);
    }
    const bool has_register = doorbell_->kind() != AMD_SIGNAL_KIND_USER;
    if (const char* const fault = fault_of(info_, desc.doorbell_signal, has_register)) {
      log_message(LogLevel::kError, LogTopic::kQueue, "backend {}: created an invalid queue: {}",
                  agent_.backend().name, fault);
      return HSA_STATUS_ERROR;
    }
    amd_queue_ = static_cast<amd_queue_t*>(info_.amd_queue);
    if (has_register) {
      doorbell_->abi.hardware_doorbell_ptr = static_cast<volatile uint64_t*>(info_.doorbell);
      doorbell_->abi.queue_ptr = reinterpret_cast<amd_queue_v2_t*>(amd_queue_);
      if (info_.bell.ring != nullptr) doorbell_->call_doorbell(info_.bell.ring, info_.bell.context);
    }
    if (agent_.limits().units.empty() || !agent_.limits().units_at_first) return HSA_STATUS_SUCCESS;
    const Status bound = set_cu_mask(0, nullptr);
    if (bound == HSA_STATUS_SUCCESS || bound == static_cast<Status>(HSA_STATUS_CU_MASK_REDUCED))
      return HSA_STATUS_SUCCESS;
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "queue: the compute units of HSA_CU_MASK cannot be set");
  }

  const Agent* agent() const override { return &agent_; }

  uint64_t doorbell_id() const override {
    return info_.doorbell != nullptr ? reinterpret_cast<uint64_t>(info_.doorbell)
                                     : doorbell_->handle().handle;
  }

  Status inactivate() override {
    return one_at_a_time("queue: cannot be inactivated",
                         [&] { return agent_.backend().queue.inactivate(info_.queue); });
  }

  Status set_profiling(bool enabled) override {
    const auto operation = agent_.backend().queue.set_profiling;
    if (operation == nullptr) return fail(HSA_STATUS_ERROR, "queue: its agent does not support profiling");
    return one_at_a_time("queue: profiling cannot be changed",
                         [&] { return operation(info_.queue, enabled); });
  }

  Status set_priority(uint32_t priority) override {
    const auto operation = agent_.backend().queue.set_priority;
    // The priority is a hint: an agent without priorities accepts every one.
    if (operation == nullptr) return HSA_STATUS_SUCCESS;
    return one_at_a_time("queue: the priority cannot be set",
                         [&] { return operation(info_.queue, priority); });
  }

  Status set_cu_mask(uint32_t bits, const uint32_t* mask) override {
    const auto operation = agent_.backend().queue.set_cu_mask;
    if (operation == nullptr) {
      return fail(HSA_STATUS_ERROR_INVALID_QUEUE, "queue: its agent does not support CU masks");
    }
    CuGrant grant = grant_units({mask, bits / 32}, agent_.limits().units, agent_.caps().compute_units);
    const auto words = static_cast<uint32_t>(grant.words.size());
    constexpr auto kReduced = static_cast<Status>(HSA_STATUS_CU_MASK_REDUCED);
    return one_at_a_time("queue: the CU mask cannot be set", [&]() -> hsabe_status_t {
      const hsabe_status_t status = operation(info_.queue, words * 32, grant.words.data());
      if (status != HSA_STATUS_SUCCESS && status != kReduced) return status;
      const MutexLock lock(mutex_);
      cu_mask_ = std::move(grant.words);
      return grant.reduced ? kReduced : status;
    });
  }

  Status get_cu_mask(uint32_t bits, uint32_t* mask) const override {
    if (agent_.backend().queue.set_cu_mask == nullptr) {
      return fail(HSA_STATUS_ERROR_INVALID_QUEUE, "queue: its agent does not support CU masks");
    }
    const MutexLock lock(mutex_);
    for (size_t i = 0; i < bits / 32; ++i) mask[i] = i < cu_mask_.size() ? cu_mask_[i] : 0;
    return HSA_STATUS_SUCCESS;
  }

  void raise(hsa_status_t status) override {
    failed_.store(true, std::memory_order_relaxed);
    if (status == static_cast<hsa_status_t>(HSA_STATUS_ERROR_MEMORY_FAULT))
      faulted_.store(true, std::memory_order_relaxed);
    {
      const MutexLock lock(mutex_);
      if (closed_) return;
      raising_ = std::this_thread::get_id();
    }
    if (callback_ != nullptr) {
      callback_(status, handle(), data_);
    } else {
      log_message(LogLevel::kError, LogTopic::kQueue,
                  "queue {}: stopped with status {:#x}, and it has no error callback", handle()->id,
                  static_cast<uint32_t>(status));
    }
    const MutexLock lock(mutex_);
    raising_ = {};
    raised_.notify_all();
  }

  bool failed() const override { return failed_.load(std::memory_order_relaxed); }
  bool faulted() const override { return faulted_.load(std::memory_order_relaxed); }

  void close() override {
    {
      MutexLock lock(mutex_);
      closed_ = true;
      while (raising_ != std::thread::id{} && raising_ != std::this_thread::get_id()) raised_.wait(lock);
    }
    end();
  }

  bool try_close() override {
    {
      const MutexLock lock(mutex_);
      if (raising_ != std::thread::id{}) return false;
      closed_ = true;
    }
    end();
    return true;
  }

 private:
  // Releases the backend's queue. Not in the destructor: other owners, such as a callback that shuts the
  // runtime down, may outlive the device.
  void end() {
    const MutexLock lock(operations_);
    if (void* const queue = std::exchange(info_.queue, nullptr)) agent_.backend().queue.destroy(queue);
  }

  // Calls an operation of the backend on this queue, and nothing that conflicts with it at the same time.
  template <class Operation>
  Status one_at_a_time(std::string_view refusal, Operation&& operation) {
    const MutexLock lock(operations_);
    if (info_.queue == nullptr) return HSA_STATUS_ERROR_INVALID_QUEUE;  // another thread has destroyed it
    const hsabe_status_t status = operation();
    if (status == HSA_STATUS_SUCCESS || status == static_cast<Status>(HSA_STATUS_CU_MASK_REDUCED))
      return static_cast<Status>(status);
    return backend_report::refused(refusal, status);
  }

  const Agent& agent_;
  const QueueErrorCallback callback_;
  void* const data_;
  const OwnedSignal doorbell_;
  hsabe_queue_info_t info_{};
  std::atomic<bool> failed_{false};
  std::atomic<bool> faulted_{false};  // whether a memory fault has stopped the queue

  Mutex operations_;     // one operation of the backend at a time; acquired before mutex_
  mutable Mutex mutex_;  // guards the fields below
  Condition raised_;     // raising_ is empty
  std::thread::id raising_ RIGEL_GUARDED_BY(mutex_);  // thread that runs the callback
  bool closed_ RIGEL_GUARDED_BY(mutex_) = false;
  std::vector<uint32_t> cu_mask_ RIGEL_GUARDED_BY(mutex_);  // in effect; a bit for each unit of the device
};

amd_signal_kind_t doorbell_kind(uint32_t doorbell) {
  switch (doorbell) {
    case HSABE_DOORBELL_INDEX64:
      return AMD_SIGNAL_KIND_DOORBELL;
    case HSABE_DOORBELL_INDEX32_LEGACY:
    case HSABE_DOORBELL_DWORDS32_LEGACY:
      return AMD_SIGNAL_KIND_LEGACY_DOORBELL;
    default:
      return AMD_SIGNAL_KIND_USER;
  }
}

}  // namespace

Result<std::shared_ptr<Queue>> create_agent_queue(const Agent& agent, const QueueRequest& request,
                                                  uint64_t cookie) {
  uint32_t attributes = kSignalOfQueue;
  if (agent.caps().doorbell == HSABE_DOORBELL_DWORDS32_LEGACY) attributes |= kSignalDoorbellInDwords;
  OwnedSignal doorbell(signal_pool::create(-1, attributes, doorbell_kind(agent.caps().doorbell)));
  if (doorbell == nullptr)
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "queue: out of memory for its doorbell");
  auto queue = std::make_shared<AgentQueue>(agent, request, std::move(doorbell));
  if (const Status status = queue->start(request, cookie); status != HSA_STATUS_SUCCESS) return error(status);
  return queue;
}

}  // namespace rigel
