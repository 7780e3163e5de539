// Queues as the application knows them: who made one, what its errors call, and how it ends.
//
// The packets' path never comes here (core/queue/aql_index.hpp, and the doorbell's signal). A Queue is made
// by hsa_queue_create, hsa_soft_queue_create or by the runtime itself, found by its hsa_queue_t address, and
// ended by hsa_queue_destroy. All functions may be called from any thread. Arguments have been checked, by
// core/queue/queues.hpp.
#pragma once

#include <hsa/amd_hsa_queue.h>
#include <hsa_backend/hsa_backend.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/support/mutex.hpp"
#include "core/base/status.hpp"
#include "core/signal/handler_thread.hpp"
#include "core/topology/agent.hpp"

namespace rigel {

using QueueErrorCallback = void (*)(hsa_status_t status, hsa_queue_t* source, void* data);

struct QueueRequest {
  uint32_t size = 0;  ///< packets
  hsa_queue_type32_t type = HSA_QUEUE_TYPE_MULTI;
  QueueErrorCallback callback = nullptr;
  void* data = nullptr;
  uint32_t private_segment_size = UINT32_MAX;  ///< bytes a work-item, UINT32_MAX: none given
  uint32_t group_segment_size = UINT32_MAX;    ///< bytes a work-group, UINT32_MAX: none given
};

struct SoftQueueRequest {
  void* memory = nullptr;  ///< soft_queue_bytes(size) bytes of the region, aligned to a packet
  uint32_t size = 0;       ///< packets
  hsa_queue_type32_t type = HSA_QUEUE_TYPE_MULTI;
  uint32_t features = 0;
  hsa_signal_t doorbell{};
};

class Queue {
 public:
  virtual ~Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  hsa_queue_t* handle() const { return &amd_queue_->hsa_queue; }
  amd_queue_t* amd_queue() const { return amd_queue_; }

  /// The agent that consumes the packets; null for a soft queue.
  virtual const Agent* agent() const { return nullptr; }
  /// What tells its doorbell from every other: the register's address, or the signal's where there is none.
  virtual uint64_t doorbell_id() const { return amd_queue_->hsa_queue.doorbell_signal.handle; }
  virtual Status inactivate() = 0;
  virtual Status set_profiling(bool enabled) = 0;
  virtual Status set_priority(uint32_t hsabe_priority) = 0;
  virtual Status set_cu_mask(uint32_t bits, const uint32_t* mask) = 0;
  virtual Status get_cu_mask(uint32_t bits, uint32_t* mask) const = 0;
  /// Tells the application that the queue has stopped. Runs the callback on the calling thread, which is one of
  /// the runtime's own and not that of the application's handlers; not after `close` has returned.
  virtual void raise(hsa_status_t) {}
  /// Ends it for its agent, by hsa_queue_destroy or the end of the runtime: its structure and its ring may be
  /// gone even if somebody holds this object. No callback starts after this returns, and none is running,
  /// unless this is called from within it.
  virtual void close() {}
  /// The same if there is no callback to wait for. False: it is still to be closed.
  virtual bool try_close() { return false; }
  /// Whether it has stopped with an error.
  virtual bool failed() const { return false; }
  /// Whether a memory fault was that error.
  virtual bool faulted() const { return false; }

  /// Of hsa_amd_counted_queue_acquire. Constant once the application has the queue.
  bool counted = false;
  /// Of that type. Likewise.
  bool cooperative = false;

 protected:
  Queue() = default;
  amd_queue_t* amd_queue_ = nullptr;
};

/// While one lives, the thread is in a function of a tool's that who makes or ends a queue waits for: it must not
/// wait for either. Handlers of signals are such functions, too, without one.
class InQueueCallback {
 public:
  InQueueCallback() noexcept : before_(std::exchange(on_this_thread, true)) {}
  ~InQueueCallback() { on_this_thread = before_; }
  InQueueCallback(const InQueueCallback&) = delete;
  InQueueCallback& operator=(const InQueueCallback&) = delete;

  static bool is_here() noexcept { return on_this_thread || is_handler_thread(); }

 private:
  [[gnu::tls_model("initial-exec"),
    gnu::visibility("hidden")]] static constinit thread_local bool on_this_thread;
  const bool before_;
};

/// The live queues of a runtime.
class QueueTable {
 public:
  /// Registers the queue and gives it its id: the handle, by which it is found from now on.
  hsa_queue_t* insert(std::shared_ptr<Queue> queue, uint64_t cookie);
  std::shared_ptr<Queue> find(const hsa_queue_t* queue) const;
  std::shared_ptr<Queue> find_cookie(uint64_t cookie) const;
  /// For who knows that the queue is not destroyed now. Null: there is none.
  const hsa_queue_t* handle_of_cookie(uint64_t cookie) const;
  /// While it is of an agent, its thread makes or ends a cooperative queue of that agent, which may have one at a
  /// time. Nobody holds a lock meanwhile.
  class CooperativeChange {
   public:
    explicit CooperativeChange(QueueTable& table) : table_(table) {}
    ~CooperativeChange() { end(); }
    CooperativeChange(const CooperativeChange&) = delete;
    CooperativeChange& operator=(const CooperativeChange&) = delete;

    void end() noexcept;

   private:
    friend class QueueTable;
    QueueTable& table_;
    const Agent* agent_ = nullptr;
    CooperativeChange* next_ = nullptr;
  };
  /// The agent's cooperative queue, if it has one that has not failed, for one more owner. Agents have few: the
  /// manual lets creation hand out the same one again. Null: the caller makes one, and `change` says so. Waits for
  /// other threads' changes of the agent, but not in a callback, where it fails.
  Result<hsa_queue_t*> share_cooperative(const Agent& agent, CooperativeChange& change);
  struct Removal {
    bool found = false;
    std::shared_ptr<Queue> queue;  ///< null: others still own it
  };
  /// Takes one owner away, the queue with the last. If that is a cooperative one, `change` says so.
  Removal remove(const hsa_queue_t* queue, CooperativeChange& change);
  struct Entry {
    std::shared_ptr<Queue> queue;
    uint64_t cookie = 0;
    uint32_t owners = 1;
  };
  using Queues = std::unordered_map<const hsa_queue_t*, Entry>;
  /// Takes all out. Needs no memory.
  Queues clear() noexcept;
  /// How many queues the agent has.
  uint32_t count(const Agent& agent) const;

  /// Unlike every other of the process, also of runtimes that have ended: it becomes the queue's id.
  static uint64_t next_cookie() noexcept;

 private:
  hsa_queue_t* find_cooperative(const Agent& agent);
  bool is_changing(const Agent& agent) const RIGEL_REQUIRES(changes_mutex_);
  void begin(CooperativeChange& change, const Agent& agent) RIGEL_REQUIRES(changes_mutex_);

  Mutex changes_mutex_;  // before mutex_
  Condition change_over_;
  CooperativeChange* changes_ RIGEL_GUARDED_BY(changes_mutex_) = nullptr;  // those that are under way
  mutable SharedMutex mutex_;
  Queues queues_ RIGEL_GUARDED_BY(mutex_);
};

/// A queue whose packets the agent's backend processes. The caller has checked that the agent has such queues
/// and that its limit is not reached, and inserts the result with the same cookie.
Result<std::shared_ptr<Queue>> create_agent_queue(const Agent& agent, const QueueRequest& request,
                                                  uint64_t cookie);

/// The memory that a soft queue needs: its structure and its ring.
size_t soft_queue_bytes(uint32_t packets);

/// A queue whose packets the application processes. `release` gets the memory back when the queue ends, or if none
/// can be made.
std::shared_ptr<Queue> create_soft_queue(const SoftQueueRequest& request, std::function<void(void*)> release);

}  // namespace rigel
