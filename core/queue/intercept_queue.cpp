#include "core/queue/intercept_queue.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "api/support/mutex.hpp"
#include "api/support/packet_ring.hpp"
#include "api/support/undo.hpp"
#include "core/signal/signal_pool.hpp"

namespace rigel {
namespace {

constexpr uint32_t kMinRing = 1024;  // packets in the agent's queue: many for each request for room
constexpr uint64_t kMaxBatch = 64;

uint32_t type_of(uint32_t first) {
  return first >> HSA_PACKET_HEADER_TYPE & ((1u << HSA_PACKET_HEADER_WIDTH_TYPE) - 1);
}

class ProxyQueue;

// Context of a doorbell call. Reused and never freed: a thread may hold its address while another destroys
// the queue. It must then find no queue, or a newer one, for which an additional call is harmless.
struct DoorbellContext {
  enum class State : uint32_t {
    kNone,
    kRunning,  // a thread that has rung moves packets
    kRepeat    // the doorbell was rung since that thread's last check
  };
  std::atomic<ProxyQueue*> queue{nullptr};
  std::atomic<State> work{State::kNone};
  std::atomic<bool> has_room{false};
  DoorbellContext* next_free = nullptr;
};

class DoorbellContexts {
 public:
  static DoorbellContext* take() noexcept {
    const MutexLock lock(mutex);
    if (free == nullptr) return new (std::nothrow) DoorbellContext;
    return std::exchange(free, free->next_free);
  }
  static void give_back(DoorbellContext* call_context) noexcept {
    const MutexLock lock(mutex);
    call_context->next_free = free;
    free = call_context;
  }
  static void reset_after_fork() noexcept {
    new (&mutex) Mutex;
    const MutexLock lock(mutex);
    free = nullptr;  // a thread of the parent may have been changing the list
  }

 private:
  static constinit Mutex mutex;
  static constinit DoorbellContext* free RIGEL_GUARDED_BY(mutex);
};
constinit Mutex DoorbellContexts::mutex;
constinit DoorbellContext* DoorbellContexts::free = nullptr;

void ring(void* context, uint64_t) noexcept;

struct Handlers {
  std::vector<PacketHandler> list;  // the last one receives packets first
  bool take_many = true;
};

// Position of a thread in the list of handlers: writers have no parameter for it.
struct HandlerPosition {
  ProxyQueue* queue;
  const Handlers* handlers;
  size_t left;     // handlers that packets still have to pass
  uint64_t index;  // index of the next packet to forward
  uint64_t count;  // number of the handler's input packets from that one on
};
[[gnu::tls_model("initial-exec")]] constinit thread_local HandlerPosition* handler_position = nullptr;

// Queues whose packets a thread is moving: a handler may submit to another intercept queue.
struct Moving {
  const ProxyQueue* queue;
  const Moving* outer;
};
[[gnu::tls_model("initial-exec")]] constinit thread_local const Moving* moving = nullptr;

class ProxyQueue final : public InterceptQueue, public std::enable_shared_from_this<ProxyQueue> {
 public:
  ProxyQueue(InterceptRequest request, Signal& doorbell, DoorbellContext& call_context, uint64_t cookie)
      : request_(std::move(request)),
        doorbell_(doorbell),
        doorbell_context_(call_context),
        size_(request_.queue.size) {
    amd_queue_ = new (request_.memory) amd_queue_t{};
    auto* const slots =
        reinterpret_cast<AqlPacket*>(static_cast<std::byte*>(request_.memory) + sizeof(amd_queue_t));
    for (uint32_t i = 0; i < size_; ++i) slots[i].first = kInvalidPacket;
    hsa_queue_t& queue = amd_queue_->hsa_queue;
    queue.type = request_.queue.type;
    queue.features = HSA_QUEUE_FEATURE_KERNEL_DISPATCH;
    queue.base_address = slots;
    queue.doorbell_signal = doorbell.handle();
    queue.size = size_;
    queue.id = cookie;
    amd_queue_->read_dispatch_id_field_base_byte_offset = offsetof(amd_queue_t, read_dispatch_id);
    doorbell.abi.hardware_doorbell_ptr = &unused_doorbell_;
    doorbell.abi.queue_ptr = reinterpret_cast<amd_queue_v2_t*>(amd_queue_);
    doorbell.call_doorbell(&ring, &call_context);
    call_context.has_room.store(false);
    handlers_.store(all_handlers_.emplace_back(std::make_unique<Handlers>()).get());
  }

  ~ProxyQueue() override {
    ProxyQueue::close();
    signal_pool::destroy(doorbell_);
    if (room_ != nullptr) signal_pool::destroy(*room_);
    DoorbellContexts::give_back(&doorbell_context_);
  }

  Status start(const Agent& agent, uint64_t cookie) override {
    room_ = signal_pool::create(0);
    if (room_ == nullptr)
      return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "intercept queue: out of memory for a signal");
    QueueRequest behind = request_.queue;
    // Twice the application's size: see ask_for_room_early.
    const uint64_t wanted = std::max<uint64_t>(uint64_t{behind.size} * 2, kMinRing);
    behind.size =
        static_cast<uint32_t>(std::min<uint64_t>(wanted, std::max(behind.size, agent.caps().queue_max_size)));
    behind.callback = [](hsa_status_t status, hsa_queue_t*, void* data) {
      const auto* const self = static_cast<ProxyQueue*>(data);
      if (self->request_.queue.callback == nullptr) {
        log_message(LogLevel::kError, LogTopic::kQueue,
                    "queue {}: stopped with status {:#x}, and it has no error callback", self->handle()->id,
                    static_cast<uint32_t>(status));
        return;
      }
      self->request_.queue.callback(status, self->handle(), self->request_.queue.data);
    };
    behind.data = this;
    auto made = create_agent_queue(agent, behind, cookie);
    if (!made) return made.error();
    agent_queue_ = std::move(*made);
    agent_queue_->handle()->id = cookie;
    amd_queue_->hsa_queue.features = agent_queue_->handle()->features;
    doorbell_context_.queue.store(this);
    return HSA_STATUS_SUCCESS;
  }

  Status add_handler(PacketHandler handler) override {
    const MutexLock lock(handlers_mutex_);
    auto extended = std::make_unique<Handlers>(*handlers_.load(std::memory_order_relaxed));
    extended->list.push_back(handler);
    extended->take_many &= handler.takes_many;
    // Threads may use older lists while the queue lives.
    handlers_.store(all_handlers_.emplace_back(std::move(extended)).get(), std::memory_order_release);
    return HSA_STATUS_SUCCESS;
  }

  const Agent* agent() const override { return agent_queue_ == nullptr ? nullptr : agent_queue_->agent(); }
  uint64_t doorbell_id() const override { return agent_queue_->doorbell_id(); }
  Status inactivate() override { return agent_queue_->inactivate(); }
  Status set_profiling(bool enabled) override {
    return agent_queue_->set_profiling(enabled || always_profiled_.load(std::memory_order_relaxed));
  }
  Status profile_always() override {
    always_profiled_.store(true, std::memory_order_relaxed);
    return agent_queue_->set_profiling(true);
  }
  Status set_priority(uint32_t priority) override { return agent_queue_->set_priority(priority); }
  Status set_cu_mask(uint32_t bits, const uint32_t* mask) override {
    return agent_queue_->set_cu_mask(bits, mask);
  }
  Status get_cu_mask(uint32_t bits, uint32_t* mask) const override {
    return agent_queue_->get_cu_mask(bits, mask);
  }
  void raise(hsa_status_t status) override { agent_queue_->raise(status); }
  bool failed() const override { return agent_queue_->failed(); }
  bool faulted() const override { return agent_queue_->faulted(); }

  void close() override {
    if (is_closed()) return;
    doorbell_context_.queue.store(nullptr);
    if (is_moved_here()) {
      log_message(LogLevel::kError, LogTopic::kQueue,
                  "queue {}: destroyed by a handler of its packets; its remaining packets are lost",
                  handle()->id);
      keep_until_moved_ = shared_from_this();
    } else {
      // A thread that found the queue earlier is working until there is no work.
      while (doorbell_context_.work.load() != DoorbellContext::State::kNone) std::this_thread::yield();
    }
    if (agent_queue_ != nullptr) agent_queue_->close();
    release_memory();
  }

  // Packet handlers are waited for like callbacks.
  bool try_close() override {
    doorbell_context_.queue.store(nullptr);
    const bool is_at_rest = doorbell_context_.work.load() == DoorbellContext::State::kNone;
    if (!is_at_rest || !agent_queue_->try_close()) return false;
    release_memory();
    return true;
  }

  // The following functions run on one thread at a time: the thread whose doorbell call found no moving
  // thread.

  void move() noexcept {
    const Moving current{this, moving};
    moving = &current;
    move_packets();
    moving = current.outer;
    const auto last = std::move(keep_until_moved_);  // the last access to the queue in this function
  }

  // Passes packets to the next handler, or to the agent.
  void pass(const Handlers& handlers, size_t left, const AqlPacket* packets, uint64_t count,
            uint64_t index) noexcept {
    if (is_closed()) return;
    if (left == 0) {
      for (uint64_t i = 0; i < count; ++i) write_or_keep(packets[i]);
      return;
    }
    const PacketHandler& handler = handlers.list[left - 1];
    HandlerPosition here{this, &handlers, left - 1, index, count};
    HandlerPosition* const outer = std::exchange(handler_position, &here);
    handler.function(packets, count, index, handler.data, forward);
    handler_position = outer;
  }

 private:
  bool is_closed() const { return request_.memory == nullptr; }

  // Called when the queue ends, not in the destructor: other owners, such as a callback that shuts the
  // runtime down, may outlive the memory's owner.
  void release_memory() { request_.release(std::exchange(request_.memory, nullptr)); }

  bool is_moved_here() const {
    const Moving* at = moving;
    while (at != nullptr && at->queue != this) at = at->outer;
    return at != nullptr;
  }

  void move_packets() {
    if (doorbell_context_.has_room.load(std::memory_order_relaxed) &&
        doorbell_context_.has_room.exchange(false))
      asked_for_room_ = false;
    const uint64_t before = written_;
    flush();
    if (is_closed()) return;
    const Handlers& handlers = *handlers_.load(std::memory_order_acquire);
    while (kept_.empty()) {
      const uint64_t there = count_ready(handlers.take_many);
      if (there == 0) break;
      const uint64_t fit = std::min(there, room());
      if (fit == 0) {
        ask_for_room();
        break;
      }
      pass(handlers, handlers.list.size(), &packet_slot(handle(), taken_), fit, taken_);
      if (is_closed()) return;
      free_packets(handle(), taken_, taken_ + fit);
      taken_ += fit;
      ask_for_room_early();
    }
    if (!kept_.empty()) ask_for_room();
    if (written_ != before) ring_agent_doorbell();
  }

  // Output packets take the indices of the input packets in order; surplus packets share the last index.
  static void forward(const void* packets, uint64_t count) {
    HandlerPosition* const position = handler_position;
    if (position == nullptr) return;  // called outside of a handler's call
    const auto* next = static_cast<const AqlPacket*>(packets);
    while (count != 0) {
      const uint64_t together = std::min(count, position->count);
      position->queue->pass(*position->handlers, position->left, next, together, position->index);
      next += together;
      count -= together;
      const uint64_t on = std::min(together, position->count - 1);
      position->index += on;
      position->count -= on;
    }
  }

  void ring_agent_doorbell() noexcept {
    Signal::of_live(agent_queue_->handle()->doorbell_signal)
        .store<std::memory_order_release>(static_cast<int64_t>(written_ - 1));
  }

  // Returns the number of contiguous valid packets in the application's ring, up to the maximum for handlers.
  uint64_t count_ready(bool many) {
    const uint64_t end = write_index(handle()).load(std::memory_order_acquire);
    const uint64_t to_wrap = size_ - (taken_ & (size_ - 1));
    const uint64_t most = std::min({many ? kMaxBatch : 1, end - taken_, to_wrap});
    uint64_t count = 0;
    while (count < most) {
      if (type_of(load_first(packet_slot(handle(), taken_ + count))) == HSA_PACKET_TYPE_INVALID) break;
      ++count;
    }
    return count;
  }

  // Free slots of the agent's ring for packets: all but one, for the barrier that requests room.
  uint64_t room() {
    const hsa_queue_t* const queue = agent_queue_->handle();
    if (written_ - read_ + 1 >= queue->size) read_ = read_index(queue).load(std::memory_order_acquire);
    return queue->size - std::min<uint64_t>(queue->size, written_ - read_ + 1);
  }

  static bool is_marker(const AqlPacket& packet) {
    return type_of(packet.first) == HSA_PACKET_TYPE_VENDOR_SPECIFIC &&
           (packet.first >> 16 & 0xff) == AMD_AQL_FORMAT_INTERCEPT_MARKER;
  }

  // A marker's packet uses no slot: its callback receives the index of the next one. Returns false without
  // room.
  bool write(const AqlPacket& packet) {
    if (is_closed()) return true;  // closed by a handler or a marker's callback: packets are dropped
    if (room() == 0) return false;
    if (is_marker(packet)) {
      amd_aql_intercept_marker_t marker;
      std::memcpy(&marker, &packet, sizeof marker);
      if (marker.callback != nullptr) marker.callback(&marker, agent_queue_->handle(), written_);
      return true;
    }
    store(packet);
    return true;
  }

  void store(const AqlPacket& packet) {
    const hsa_queue_t* const queue = agent_queue_->handle();
    AqlPacket& slot = packet_slot(queue, written_);
    write_index(queue).store(++written_, std::memory_order_relaxed);
    put_packet(slot, packet);
  }

  void write_or_keep(const AqlPacket& packet) {
    if (kept_.empty() && write(packet)) return;
    try {
      kept_.push_back(packet);
    } catch (const std::bad_alloc&) {
      wait_for_room(packet);
    }
  }

  // Without memory to keep packets, the ringing thread waits, as it would for a full ring.
  void wait_for_room(const AqlPacket& packet) {
    do {
      if (agent_queue_->failed()) return;  // the agent consumes no further packets
      ring_agent_doorbell();
      std::this_thread::yield();
      flush();
    } while (!kept_.empty() || !write(packet));
  }

  void flush() {
    size_t done = 0;
    while (done < kept_.size() && write(kept_[done])) ++done;
    kept_.erase(kept_.begin(), kept_.begin() + static_cast<ptrdiff_t>(done));
  }

  // With a barrier in the last slot only, the agent would be idle until the signal's handler has run. In a
  // ring of twice the application's size, packets remain after a barrier that is written when the ring is
  // half full. The fill level is checked rarely, because the read index is in the agent's cache.
  void ask_for_room_early() {
    const hsa_queue_t* const queue = agent_queue_->handle();
    if (asked_for_room_ || written_ - read_ < queue->size / 4 * 3) return;
    read_ = read_index(queue).load(std::memory_order_acquire);
    if (written_ - read_ >= queue->size / 2) ask_for_room();
  }

  // The ring has at least the reserved slot. The barrier packet in it completes when all earlier packets have
  // started.
  void ask_for_room() {
    if (asked_for_room_) return;
    room_->store(1);
    const auto there_is_room = [](hsa_signal_value_t, void* argument) {
      static_cast<DoorbellContext*>(argument)->has_room.store(true);
      ring(argument, 0);
      return false;
    };
    if (request_.dispatcher->watch(*room_, HSA_SIGNAL_CONDITION_LT, 1, there_is_room, &doorbell_context_) !=
        HSA_STATUS_SUCCESS) {
      log_message(
          LogLevel::kError, LogTopic::kQueue,
          "queue {}: free slots cannot be watched; packets are delayed until the next packet is submitted",
          handle()->id);
      return;
    }
    asked_for_room_ = true;
    hsa_barrier_and_packet_t barrier{};
    barrier.header = HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE;
    barrier.completion_signal = room_->handle();
    AqlPacket packet;
    std::memcpy(&packet, &barrier, sizeof packet);
    store(packet);
  }

  InterceptRequest request_;  // memory is null after the queue is closed
  Signal& doorbell_;
  DoorbellContext& doorbell_context_;
  const uint64_t size_;
  volatile uint64_t unused_doorbell_ = 0;  // target of doorbell stores that bypass the signal
  std::shared_ptr<Queue> agent_queue_;
  Signal* room_ = nullptr;

  Mutex handlers_mutex_;
  std::vector<std::unique_ptr<Handlers>> all_handlers_ RIGEL_GUARDED_BY(handlers_mutex_);
  std::atomic<const Handlers*> handlers_{nullptr};

  std::atomic<bool> always_profiled_{false};

  uint64_t taken_ = 0;    // index of the next packet of the application
  uint64_t written_ = 0;  // index of the next packet of the agent's queue
  uint64_t read_ = 0;     // the agent's read index at the last check
  std::vector<AqlPacket> kept_;
  bool asked_for_room_ = false;
  std::shared_ptr<ProxyQueue> keep_until_moved_;  // this object, after a handler has destroyed the queue
};

void ring(void* context, uint64_t) noexcept {
  using State = DoorbellContext::State;
  DoorbellContext& call_context = *static_cast<DoorbellContext*>(context);
  State before = call_context.work.load(std::memory_order_relaxed);
  // With many producers, the moving thread usually checks again anyway. A producer can read this without
  // taking the cache line. The fence is between the packet's write and the read, as is one between the
  // exchange below and the read of packets.
  if (before == State::kRepeat) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (call_context.work.load(std::memory_order_relaxed) == State::kRepeat) return;
  }
  const bool is_first =
      before == State::kNone && call_context.work.compare_exchange_strong(before, State::kRunning);
  if (!is_first && call_context.work.exchange(State::kRepeat) != State::kNone) return;
  for (;;) {
    if (ProxyQueue* const queue = call_context.queue.load()) queue->move();
    before = State::kRunning;
    if (call_context.work.compare_exchange_strong(before, State::kNone)) return;
    call_context.work.exchange(State::kRunning);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

}  // namespace

void reset_intercept_queues_after_fork() noexcept {
  DoorbellContexts::reset_after_fork();
}

size_t intercept_queue_bytes(uint32_t packets) {
  return sizeof(amd_queue_t) + packets * sizeof(AqlPacket);
}

Result<std::shared_ptr<InterceptQueue>> create_intercept_queue(InterceptRequest request, uint64_t cookie) {
  Signal* const doorbell = signal_pool::create(-1, kSignalOfQueue, AMD_SIGNAL_KIND_DOORBELL);
  DoorbellContext* const call_context = doorbell == nullptr ? nullptr : DoorbellContexts::take();
  Undo give_back([&] {
    if (call_context != nullptr) DoorbellContexts::give_back(call_context);
    if (doorbell != nullptr) signal_pool::destroy(*doorbell);
    request.release(request.memory);
  });
  if (call_context == nullptr)
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "intercept queue: out of memory for its doorbell");
  auto queue = std::make_shared<ProxyQueue>(request, *doorbell, *call_context, cookie);
  give_back.cancel();
  return queue;
}

}  // namespace rigel
