#include "core/copy/copy_batches.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "core/signal/signal.hpp"
#include "core/signal/signal_pool.hpp"

namespace rigel {
namespace {

Failure refuse(uint32_t index, const char* what) {
  return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "copy operation {}: {}", index, what);
}

bool has_lists(const hsa_amd_memory_copy_op_t& op) {
  return op.num_entries != 0;
}

size_t bytes_of(const hsa_amd_memory_copy_op_t& op, uint32_t entry) {
  return has_lists(op) && op.type == HSA_AMD_MEMORY_COPY_OP_LINEAR ? op.size_list[entry] : op.size;
}

const void* source_of(const hsa_amd_memory_copy_op_t& op, uint32_t entry) {
  return has_lists(op) && op.type == HSA_AMD_MEMORY_COPY_OP_LINEAR ? op.src_list[entry] : op.src;
}

}  // namespace

// Several copies that complete as one, when the last of them has ended. Each has a signal of its own: one that fails
// sets it to a negative value, which would end the count of the others. Gone when all have let go of it.
class CopyBatches::Joint {
 public:
  Joint(CopyBatches& batches, Signal& completion, uint32_t copies)
      : batches_(batches),
        completion_(completion),
        generation_(completion.generation.load(std::memory_order_relaxed)) {
    parts_.reserve(copies);
  }
  ~Joint() {
    for (const Part& part : parts_) {
      if (part.signal != nullptr) signal_pool::destroy(*part.signal);
    }
  }
  Joint(const Joint&) = delete;
  Joint& operator=(const Joint&) = delete;

  /// A signal for one more copy, which has to end. Null: there is no memory.
  Signal* add() noexcept {
    Signal* const signal = signal_pool::create(1);
    if (signal == nullptr) return nullptr;
    Part& part = parts_.emplace_back(Part{*this, signal});
    held_.fetch_add(1, std::memory_order_relaxed);
    if (batches_.dispatcher_.watch(*signal, HSA_SIGNAL_CONDITION_LT, 1, &ended, &part) == HSA_STATUS_SUCCESS)
      return signal;
    held_.fetch_sub(1, std::memory_order_relaxed);  // not the last: the caller holds it
    return nullptr;
  }
  /// The caller is told that not all could begin, and so does not wait for the rest.
  void refuse() noexcept { refused_.store(true, std::memory_order_relaxed); }
  void let_go() noexcept {
    if (held_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    complete();
    batches_.forget(*this);
  }

 private:
  friend CopyBatches;
  struct Part {
    Joint& joint;
    Signal* signal;  // null: it has ended
  };

  static bool ended(hsa_signal_value_t value, void* argument) {
    Part& part = *static_cast<Part*>(argument);
    Joint& joint = part.joint;
    hsa_signal_value_t none = 0;
    if (value < 0) joint.failure_.compare_exchange_strong(none, value, std::memory_order_relaxed);
    signal_pool::destroy(*std::exchange(part.signal, nullptr));
    joint.let_go();
    return false;
  }

  void complete() noexcept {
    // A signal that was destroyed under the copies is nobody's, or somebody else's by now.
    if (completion_.generation.load(std::memory_order_relaxed) != generation_) return;
    if (const hsa_signal_value_t failure = failure_.load(std::memory_order_relaxed); failure < 0) {
      completion_.store<std::memory_order_release>(failure);
    } else if (!refused_.load(std::memory_order_relaxed)) {
      completion_.subtract<std::memory_order_release>(1);
    }
  }

  CopyBatches& batches_;
  std::list<Joint>::iterator place_;  // among the batches'
  Signal& completion_;
  const uint32_t generation_;
  std::vector<Part> parts_;
  std::atomic<uint32_t> held_{1};  // by copies that have not ended, and by who begins them
  std::atomic<hsa_signal_value_t> failure_{0};
  std::atomic<bool> refused_{false};
};

CopyBatches::CopyBatches(const AgentDirectory& agents, AsyncDispatcher& dispatcher)
    : agents_(agents), dispatcher_(dispatcher) {}

CopyBatches::~CopyBatches() = default;

CopyBatches::Joint& CopyBatches::remember(Signal& completion, uint32_t copies) {
  const MutexLock lock(mutex_);
  Joint& joint = joints_.emplace_back(*this, completion, copies);
  joint.place_ = std::prev(joints_.end());
  return joint;
}

void CopyBatches::forget(Joint& joint) noexcept {
  const MutexLock lock(mutex_);
  joints_.erase(joint.place_);
}

Status CopyBatches::check(const hsa_amd_memory_copy_op_t& op, uint32_t index) const {
  if (op.version != HSA_AMD_MEMORY_COPY_OP_VERSION) return refuse(index, "unknown version");
  if (op.type > HSA_AMD_MEMORY_COPY_OP_LINEAR_INDIRECT_SRCDST) return refuse(index, "unknown type");
  if (op.traffic_class != 0 || op.reserved1[0] != 0) return refuse(index, "a reserved field is not 0");
  if (op.type > HSA_AMD_MEMORY_COPY_OP_LINEAR_BROADCAST || op.wait.function != 0 ||
      op.signal.operation != 0) {
    return fail(static_cast<Status>(HSA_STATUS_ERROR_NOT_SUPPORTED),
                "copy operation {}: waits and signal operations are not supported", index);
  }
  const bool broadcast = op.type == HSA_AMD_MEMORY_COPY_OP_LINEAR_BROADCAST;
  if (broadcast && !has_lists(op)) return refuse(index, "a broadcast has no destinations");
  if (has_lists(op)) {
    if (op.dst_list == nullptr || op.dst_agent_list == nullptr) return refuse(index, "a list is NULL");
    if (!broadcast && (op.src_list == nullptr || op.size_list == nullptr))
      return refuse(index, "a list is NULL");
  }
  if (op.unused_size != 0) return refuse(index, "a reserved field is not 0");
  if (agents_.find(op.src_agent) == nullptr)
    return fail(HSA_STATUS_ERROR_INVALID_AGENT, "copy operation {}: invalid source agent", index);
  for (uint32_t entry = 0; entry < std::max<uint32_t>(op.num_entries, 1); ++entry) {
    const void* const destination = has_lists(op) ? op.dst_list[entry] : op.dst;
    const hsa_agent_t agent = has_lists(op) ? op.dst_agent_list[entry] : op.dst_agent;
    if (destination == nullptr || source_of(op, entry) == nullptr) return refuse(index, "a pointer is NULL");
    if (bytes_of(op, entry) == 0) return refuse(index, "the size is 0");
    if (agents_.find(agent) == nullptr)
      return fail(HSA_STATUS_ERROR_INVALID_AGENT, "copy operation {}: invalid destination agent", index);
  }
  return HSA_STATUS_SUCCESS;
}

Status CopyBatches::submit(Begin begin, const hsa_amd_memory_copy_op_t& op, uint32_t dependency_count,
                           const hsa_signal_t* dependencies) {
  if (op.num_entries <= 1) {
    return begin(has_lists(op) ? op.dst_list[0] : op.dst, has_lists(op) ? op.dst_agent_list[0] : op.dst_agent,
                 source_of(op, 0), op.src_agent, bytes_of(op, 0), dependency_count, dependencies,
                 op.completion_signal);
  }
  struct LetGo {
    void operator()(Joint* joint) const { joint->let_go(); }
  };
  const std::unique_ptr<Joint, LetGo> all(&remember(Signal::of_live(op.completion_signal), op.num_entries));
  for (uint32_t entry = 0; entry < op.num_entries; ++entry) {
    Signal* const ended = all->add();
    Status status = HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    try {
      if (ended != nullptr) {
        status = begin(op.dst_list[entry], op.dst_agent_list[entry], source_of(op, entry), op.src_agent,
                       bytes_of(op, entry), dependency_count, dependencies, ended->handle());
      }
    } catch (const std::bad_alloc&) {  // the status says so already
    }
    if (status == HSA_STATUS_SUCCESS) continue;
    all->refuse();
    if (ended != nullptr) ended->store<std::memory_order_release>(0);
    return status;
  }
  return HSA_STATUS_SUCCESS;
}

Status CopyBatches::copy(Begin begin, const hsa_amd_memory_copy_op_t* ops, uint32_t count,
                         uint32_t dependency_count, const hsa_signal_t* dependencies) {
  if (ops == nullptr || count == 0 || (dependency_count != 0 && dependencies == nullptr))
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  for (uint32_t i = 0; i < count; ++i) {
    if (const Status status = check(ops[i], i); status != HSA_STATUS_SUCCESS) return status;
    if (ops[i].completion_signal.handle != ops[0].completion_signal.handle)
      return refuse(i, "the completion signal differs from that of operation 0");
  }
  const Signal* const completion = Signal::from_handle(ops[0].completion_signal);
  if (completion == nullptr || completion->kind() != AMD_SIGNAL_KIND_USER)  // doorbells count nothing
    return fail(HSA_STATUS_ERROR_INVALID_SIGNAL, "completion signal {:#x}: invalid handle",
                ops[0].completion_signal.handle);
  for (uint32_t i = 0; i < count; ++i) {
    const Status status = submit(begin, ops[i], dependency_count, dependencies);
    if (status != HSA_STATUS_SUCCESS) return status;
  }
  return HSA_STATUS_SUCCESS;
}

}  // namespace rigel
