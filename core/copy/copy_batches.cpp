#include "core/copy/copy_batches.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "core/signal/pending_operations.hpp"
#include "core/signal/signal.hpp"
#include "core/signal/signal_pool.hpp"

namespace rigel {
namespace {

Failure mark_failed(uint32_t index, const char* what) {
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

// Completes a batch when its last copy has ended. Each copy has a separate signal, because a failing copy
// sets its signal to a negative value, which would end the count of the others. Deleted by its last user.
class CopyBatches::CompletionJoin {
 public:
  CompletionJoin(CopyBatches& batches, Signal& completion, uint32_t copies)
      : batches_(batches), completion_(&completion) {
    parts_.reserve(copies);
  }
  ~CompletionJoin() {
    for (const Part& part : parts_) {
      if (part.signal != nullptr) signal_pool::destroy(*part.signal);
    }
  }
  CompletionJoin(const CompletionJoin&) = delete;
  CompletionJoin& operator=(const CompletionJoin&) = delete;

  /// Returns a signal for one more copy, which must end. Returns null if out of memory.
  Signal* add() noexcept {
    Signal* const signal = signal_pool::create(1);
    if (signal == nullptr) return nullptr;
    Part& part = parts_.emplace_back(Part{*this, signal});
    held_.fetch_add(1, std::memory_order_relaxed);
    if (batches_.dispatcher_.watch(*signal, HSA_SIGNAL_CONDITION_LT, 1, &ended, &part) == HSA_STATUS_SUCCESS)
      return signal;
    held_.fetch_sub(1, std::memory_order_relaxed);  // never the last: the caller holds it
    return nullptr;
  }
  /// The batch fails: the caller receives an error because a copy could not start, and does not wait for the
  /// others.
  void mark_failed() noexcept { failed_.store(true, std::memory_order_relaxed); }
  void let_go() noexcept {
    if (held_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    complete();
    batches_.forget(*this);
  }

 private:
  friend CopyBatches;
  struct Part {
    CompletionJoin& joint;
    Signal* signal;  // null: it has ended
  };

  static bool ended(hsa_signal_value_t value, void* argument) {
    Part& part = *static_cast<Part*>(argument);
    CompletionJoin& joint = part.joint;
    hsa_signal_value_t none = 0;
    if (value < 0) joint.failure_.compare_exchange_strong(none, value, std::memory_order_relaxed);
    signal_pool::destroy(*std::exchange(part.signal, nullptr));
    joint.let_go();
    return false;
  }

  void complete() noexcept {
    Signal* const signal = completion_.signal();
    if (signal == nullptr) return;
    if (const hsa_signal_value_t failure = failure_.load(std::memory_order_relaxed); failure < 0) {
      signal->store<std::memory_order_release>(failure);
    } else if (!failed_.load(std::memory_order_relaxed)) {
      signal->subtract<std::memory_order_release>(1);
    }
  }

  CopyBatches& batches_;
  std::list<CompletionJoin>::iterator place_;  // position in the list of batches
  const Completion completion_;
  std::vector<Part> parts_;
  std::atomic<uint32_t> held_{1};  // number of copies that have not ended, plus 1 for the starting thread
  std::atomic<hsa_signal_value_t> failure_{0};
  std::atomic<bool> failed_{false};
};

CopyBatches::CopyBatches(AsyncDispatcher& dispatcher) : dispatcher_(dispatcher) {}

CopyBatches::~CopyBatches() = default;

CopyBatches::CompletionJoin& CopyBatches::remember(Signal& completion, uint32_t copies) {
  const MutexLock lock(mutex_);
  CompletionJoin& joint = joins_.emplace_back(*this, completion, copies);
  joint.place_ = std::prev(joins_.end());
  return joint;
}

void CopyBatches::forget(CompletionJoin& joint) noexcept {
  const MutexLock lock(mutex_);
  joins_.erase(joint.place_);
}

Status CopyBatches::check(const AgentDirectory& agents, const hsa_amd_memory_copy_op_t& op, uint32_t index) {
  if (op.version != HSA_AMD_MEMORY_COPY_OP_VERSION) return mark_failed(index, "unknown version");
  if (op.type > HSA_AMD_MEMORY_COPY_OP_LINEAR_INDIRECT_SRCDST) return mark_failed(index, "unknown type");
  if (op.traffic_class != 0 || op.reserved1[0] != 0) return mark_failed(index, "a reserved field is not 0");
  if (op.type > HSA_AMD_MEMORY_COPY_OP_LINEAR_BROADCAST || op.wait.function != 0 ||
      op.signal.operation != 0) {
    return fail(static_cast<Status>(HSA_STATUS_ERROR_NOT_SUPPORTED),
                "copy operation {}: waits and signal operations are not supported", index);
  }
  const bool broadcast = op.type == HSA_AMD_MEMORY_COPY_OP_LINEAR_BROADCAST;
  if (broadcast && !has_lists(op)) return mark_failed(index, "a broadcast has no destinations");
  if (has_lists(op)) {
    if (op.dst_list == nullptr || op.dst_agent_list == nullptr) return mark_failed(index, "a list is NULL");
    if (!broadcast && (op.src_list == nullptr || op.size_list == nullptr))
      return mark_failed(index, "a list is NULL");
  }
  if (op.unused_size != 0) return mark_failed(index, "a reserved field is not 0");
  if (agents.find(op.src_agent) == nullptr)
    return fail(HSA_STATUS_ERROR_INVALID_AGENT, "copy operation {}: invalid source agent", index);
  for (uint32_t entry = 0; entry < std::max<uint32_t>(op.num_entries, 1); ++entry) {
    const void* const destination = has_lists(op) ? op.dst_list[entry] : op.dst;
    const hsa_agent_t agent = has_lists(op) ? op.dst_agent_list[entry] : op.dst_agent;
    if (destination == nullptr || source_of(op, entry) == nullptr)
      return mark_failed(index, "a pointer is NULL");
    if (bytes_of(op, entry) == 0) return mark_failed(index, "the size is 0");
    if (agents.find(agent) == nullptr)
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
    void operator()(CompletionJoin* joint) const { joint->let_go(); }
  };
  const std::unique_ptr<CompletionJoin, LetGo> all(
      &remember(Signal::of_live(op.completion_signal), op.num_entries));
  for (uint32_t entry = 0; entry < op.num_entries; ++entry) {
    Signal* const ended = all->add();
    Status status = HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    try {
      if (ended != nullptr) {
        status = begin(op.dst_list[entry], op.dst_agent_list[entry], source_of(op, entry), op.src_agent,
                       bytes_of(op, entry), dependency_count, dependencies, ended->handle());
      }
    } catch (const std::bad_alloc&) {  // the status reports it
    }
    if (status == HSA_STATUS_SUCCESS) continue;
    all->mark_failed();
    if (ended != nullptr) ended->store<std::memory_order_release>(0);
    return status;
  }
  return HSA_STATUS_SUCCESS;
}

Status CopyBatches::copy(const AgentDirectory& agents, Begin begin, const hsa_amd_memory_copy_op_t* ops,
                         uint32_t count, uint32_t dependency_count, const hsa_signal_t* dependencies) {
  if (ops == nullptr || count == 0 || (dependency_count != 0 && dependencies == nullptr))
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  for (uint32_t i = 0; i < count; ++i) {
    if (const Status status = check(agents, ops[i], i); status != HSA_STATUS_SUCCESS) return status;
    if (ops[i].completion_signal.handle != ops[0].completion_signal.handle)
      return mark_failed(i, "the completion signal differs from that of operation 0");
  }
  if (find_user_signal(ops[0].completion_signal) == nullptr)
    return fail(HSA_STATUS_ERROR_INVALID_SIGNAL, "completion signal {:#x}: invalid handle",
                ops[0].completion_signal.handle);
  for (uint32_t i = 0; i < count; ++i) {
    const Status status = submit(begin, ops[i], dependency_count, dependencies);
    if (status != HSA_STATUS_SUCCESS) return status;
  }
  return HSA_STATUS_SUCCESS;
}

}  // namespace rigel
