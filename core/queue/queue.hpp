// Queues of the application: creation, errors, and destruction.
//
// Packets do not pass through here (see api/support/packet_ring.hpp and the doorbell's signal). A Queue is
// created by hsa_queue_create, hsa_soft_queue_create or the runtime, found by its hsa_queue_t address, and
// destroyed by hsa_queue_destroy. Callers have checked the arguments (core/queue/queues.hpp).
//
// *Threads:* any thread.
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
#include "api/support/status.hpp"
#include "core/signal/handler_thread.hpp"
#include "core/topology/agent.hpp"

namespace rigel {

using QueueErrorCallback = void (*)(hsa_status_t status, hsa_queue_t* source, void* data);

struct QueueRequest {
  uint32_t size = 0;  ///< packets
  hsa_queue_type32_t type = HSA_QUEUE_TYPE_MULTI;
  QueueErrorCallback callback = nullptr;
  void* data = nullptr;
  uint32_t private_segment_size = UINT32_MAX;  ///< bytes per work-item; UINT32_MAX: not specified
  uint32_t group_segment_size = UINT32_MAX;    ///< bytes per work-group; UINT32_MAX: not specified
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
  /// Unique id of the doorbell: the register address, or the doorbell signal handle if the queue has no
  /// register.
  virtual uint64_t doorbell_id() const { return amd_queue_->hsa_queue.doorbell_signal.handle; }
  virtual Status inactivate() = 0;
  virtual Status set_profiling(bool enabled) = 0;
  virtual Status set_priority(uint32_t hsabe_priority) = 0;
  virtual Status set_cu_mask(uint32_t bits, const uint32_t* mask) = 0;
  virtual Status get_cu_mask(uint32_t bits, uint32_t* mask) const = 0;
  /// Reports an error to the application. Runs the callback on the calling thread, which belongs to the
  /// runtime and not to the application's handlers. Must not be called after `close` has returned.
  virtual void raise(hsa_status_t) {}
  /// Ends the queue for its agent (hsa_queue_destroy or the end of the runtime). Its structure and ring may
  /// be freed even if this object lives. No callback starts or runs after this returns, unless it is called
  /// from the callback.
  virtual void close() {}
  /// Does the same if no callback must be waited for. Returns false otherwise; `close` must then be called.
  virtual bool try_close() { return false; }
  virtual bool failed() const { return false; }
  /// Whether a memory fault was that error.
  virtual bool faulted() const { return false; }

  /// Created by hsa_amd_counted_queue_acquire; immutable after publication.
  bool counted = false;
  /// Of type HSA_QUEUE_TYPE_COOPERATIVE; immutable after publication.
  bool cooperative = false;

 protected:
  Queue() = default;
  amd_queue_t* amd_queue_ = nullptr;
};

/// RAII mark: this thread runs a callback that queue creation and destruction wait for, so it must not block
/// on either (that would deadlock). Signal handlers count implicitly.
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

class QueueTable {
 public:
  /// Registers the queue under its handle and sets its id. Returns null, without effect, if the queue's agent
  /// has `limit` queues.
  hsa_queue_t* insert(std::shared_ptr<Queue> queue, uint64_t cookie, uint32_t limit = UINT32_MAX);
  std::shared_ptr<Queue> find(const hsa_queue_t* queue) const;
  std::shared_ptr<Queue> find_cookie(uint64_t cookie) const;
  /// Returns the handle, or null. The caller must prevent concurrent destruction of the queue.
  const hsa_queue_t* handle_of_cookie(uint64_t cookie) const;
  /// Reserves the right to create or destroy an agent's only cooperative queue. No mutex is held while it is
  /// reserved.
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
  /// Adds an owner to the agent's cooperative queue and returns it, unless it has failed. Agents have few,
  /// and the manual lets creation return the same one again. Returns null if the caller must create one,
  /// which `change` reserves. Waits for changes of other threads, but fails in a callback.
  Result<hsa_queue_t*> share_cooperative(const Agent& agent, CooperativeChange& change);
  struct Removal {
    bool found = false;
    std::shared_ptr<Queue> queue;  ///< null: other owners remain
  };
  /// Removes an owner; the queue is removed with the last one. `change` reserves the destruction of a
  /// cooperative queue.
  Removal remove(const hsa_queue_t* queue, CooperativeChange& change);
  struct Entry {
    std::shared_ptr<Queue> queue;
    uint64_t cookie = 0;
    uint32_t owners = 1;
  };
  using Queues = std::unordered_map<const hsa_queue_t*, Entry>;
  /// Removes all queues. Allocates no memory.
  Queues clear() noexcept;
  uint32_t count(const Agent& agent) const;

  /// Returns a process-wide unique value (also across re-initialisations), used as the queue id.
  static uint64_t next_cookie() noexcept;

 private:
  hsa_queue_t* find_cooperative(const Agent& agent);
  uint32_t count_locked(const Agent* agent) const RIGEL_REQUIRES_SHARED(mutex_);
  bool is_changing(const Agent& agent) const RIGEL_REQUIRES(changes_mutex_);
  void begin(CooperativeChange& change, const Agent& agent) RIGEL_REQUIRES(changes_mutex_);

  Mutex changes_mutex_;  // acquired before mutex_
  Condition change_over_;
  CooperativeChange* changes_ RIGEL_GUARDED_BY(changes_mutex_) = nullptr;  // changes in progress
  mutable SharedMutex mutex_;
  Queues queues_ RIGEL_GUARDED_BY(mutex_);
};

/// Creates a queue whose packets the agent's backend processes. The caller has checked that the agent
/// supports it and has not reached its limit, and inserts the result with the same cookie.
Result<std::shared_ptr<Queue>> create_agent_queue(const Agent& agent, const QueueRequest& request,
                                                  uint64_t cookie);

size_t soft_queue_bytes(uint32_t packets);

/// Creates a queue whose packets the application processes. `release` frees the memory when the queue ends or
/// cannot be created.
std::shared_ptr<Queue> create_soft_queue(const SoftQueueRequest& request, std::function<void(void*)> release);

}  // namespace rigel
