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
#include "api/support/undo.hpp"
#include "core/queue/aql_index.hpp"
#include "core/signal/signal_pool.hpp"

namespace rigel {
namespace {

struct Packet {
  uint32_t first;  // the header in the low half
  uint32_t rest[15];
};
static_assert(sizeof(Packet) == 64);

constexpr uint32_t kInvalid = HSA_PACKET_TYPE_INVALID << HSA_PACKET_HEADER_TYPE;
constexpr uint32_t kLeastRing = 1024;  // packets of the agent's: many for each time that room is asked for
constexpr uint64_t kMostAtOnce = 64;

uint32_t type_of(uint32_t first) {
  return first >> HSA_PACKET_HEADER_TYPE & ((1u << HSA_PACKET_HEADER_WIDTH_TYPE) - 1);
}

class ProxyQueue;

// What doorbells call. Never freed, but used again: a thread may hold the address of a doorbell's Bell while
// another destroys the queue, and must find that there is none, or a younger one, for which a ring too many
// is nothing.
struct Bell {
  enum class Work : uint32_t {
    kNone,
    kUnderWay,   // by a thread that has rung
    kLooksAgain  // and there was a ring since it looked last
  };
  std::atomic<ProxyQueue*> queue{nullptr};
  std::atomic<Work> work{Work::kNone};
  std::atomic<bool> has_room{false};
  Bell* next_free = nullptr;
};

class Bells {
 public:
  static Bell* take() noexcept {
    const MutexLock lock(mutex);
    if (free == nullptr) return new (std::nothrow) Bell;
    return std::exchange(free, free->next_free);
  }
  static void give_back(Bell* bell) noexcept {
    const MutexLock lock(mutex);
    bell->next_free = free;
    free = bell;
  }
  static void reset_after_fork() noexcept {
    new (&mutex) Mutex;
    const MutexLock lock(mutex);
    free = nullptr;  // a thread may have been in the midst of a change
  }

 private:
  static constinit Mutex mutex;
  static constinit Bell* free RIGEL_GUARDED_BY(mutex);
};
constinit Mutex Bells::mutex;
constinit Bell* Bells::free = nullptr;

void ring(void* context, uint64_t) noexcept;

struct Handlers {
  std::vector<PacketHandler> list;  // the last sees packets first
  bool take_many = true;
};

// Where in the list of handlers a thread is: the writers that handlers get have no argument to say it.
struct Passing {
  ProxyQueue* queue;
  const Handlers* handlers;
  size_t left;     // handlers that packets have still to pass
  uint64_t index;  // of the packet that is handed on next
  uint64_t count;  // of the packets that the handler was given, from that one on
};
[[gnu::tls_model("initial-exec")]] constinit thread_local Passing* passing = nullptr;

// The queues whose packets a thread is moving: a handler may submit to a queue that has handlers itself.
struct Moving {
  const ProxyQueue* queue;
  const Moving* outer;
};
[[gnu::tls_model("initial-exec")]] constinit thread_local const Moving* moving = nullptr;

class ProxyQueue final : public InterceptQueue, public std::enable_shared_from_this<ProxyQueue> {
 public:
  ProxyQueue(InterceptRequest request, Signal& doorbell, Bell& bell, uint64_t cookie)
      : request_(std::move(request)), doorbell_(doorbell), bell_(bell), size_(request_.queue.size) {
    amd_queue_ = new (request_.memory) amd_queue_t{};
    ring_ = reinterpret_cast<Packet*>(static_cast<std::byte*>(request_.memory) + sizeof(amd_queue_t));
    for (uint32_t i = 0; i < size_; ++i) ring_[i].first = kInvalid;
    hsa_queue_t& queue = amd_queue_->hsa_queue;
    queue.type = request_.queue.type;
    queue.features = HSA_QUEUE_FEATURE_KERNEL_DISPATCH;
    queue.base_address = ring_;
    queue.doorbell_signal = doorbell.handle();
    queue.size = size_;
    queue.id = cookie;
    amd_queue_->read_dispatch_id_field_base_byte_offset = offsetof(amd_queue_t, read_dispatch_id);
    doorbell.abi.hardware_doorbell_ptr = &unused_bell_;
    doorbell.abi.queue_ptr = reinterpret_cast<amd_queue_v2_t*>(amd_queue_);
    doorbell.call_doorbell(&ring, &bell);
    bell.has_room.store(false);
    handlers_.store(all_handlers_.emplace_back(std::make_unique<Handlers>()).get());
  }

  ~ProxyQueue() override {
    ProxyQueue::close();
    signal_pool::destroy(doorbell_);
    if (room_ != nullptr) signal_pool::destroy(*room_);
    Bells::give_back(&bell_);
  }

  Status start(const Agent& agent, uint64_t cookie) override {
    room_ = signal_pool::create(0);
    if (room_ == nullptr)
      return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "intercept queue: out of memory for a signal");
    QueueRequest behind = request_.queue;
    // Twice as many as the application has: see ask_for_room_early.
    const uint64_t wanted = std::max<uint64_t>(uint64_t{behind.size} * 2, kLeastRing);
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
    behind_ = std::move(*made);
    behind_->handle()->id = cookie;
    amd_queue_->hsa_queue.features = behind_->handle()->features;
    bell_.queue.store(this);
    return HSA_STATUS_SUCCESS;
  }

  Status add_handler(PacketHandler handler) override {
    const MutexLock lock(handlers_mutex_);
    auto more = std::make_unique<Handlers>(*handlers_.load(std::memory_order_relaxed));
    more->list.push_back(handler);
    more->take_many &= handler.takes_many;
    // Threads may be moving packets through the older lists for as long as the queue lives.
    handlers_.store(all_handlers_.emplace_back(std::move(more)).get(), std::memory_order_release);
    return HSA_STATUS_SUCCESS;
  }

  const Agent* agent() const override { return behind_ == nullptr ? nullptr : behind_->agent(); }
  uint64_t doorbell_id() const override { return behind_->doorbell_id(); }
  Status inactivate() override { return behind_->inactivate(); }
  Status set_profiling(bool enabled) override {
    return behind_->set_profiling(enabled || always_profiled_.load(std::memory_order_relaxed));
  }
  Status profile_always() override {
    always_profiled_.store(true, std::memory_order_relaxed);
    return behind_->set_profiling(true);
  }
  Status set_priority(uint32_t priority) override { return behind_->set_priority(priority); }
  Status set_cu_mask(uint32_t bits, const uint32_t* mask) override {
    return behind_->set_cu_mask(bits, mask);
  }
  Status get_cu_mask(uint32_t bits, uint32_t* mask) const override {
    return behind_->get_cu_mask(bits, mask);
  }
  void raise(hsa_status_t status) override { behind_->raise(status); }
  bool failed() const override { return behind_->failed(); }
  bool faulted() const override { return behind_->faulted(); }

  void close() override {
    if (is_closed()) return;
    bell_.queue.store(nullptr);
    if (is_moved_here()) {
      log_message(LogLevel::kError, LogTopic::kQueue,
                  "queue {}: destroyed by a handler of its packets; its remaining packets are lost",
                  handle()->id);
      until_moved_ = shared_from_this();
    } else {
      // Whoever found the queue before is at work until there is none.
      while (bell_.work.load() != Bell::Work::kNone) std::this_thread::yield();
    }
    if (behind_ != nullptr) behind_->close();
    release_memory();
  }

  // Handlers of packets are waited for like callbacks.
  bool try_close() override {
    bell_.queue.store(nullptr);
    const bool is_at_rest = bell_.work.load() == Bell::Work::kNone;
    if (!is_at_rest || !behind_->try_close()) return false;
    release_memory();
    return true;
  }

  // The rest is done by one thread at a time: the one whose ring found no work under way.

  void move() noexcept {
    const Moving here{this, moving};
    moving = &here;
    move_packets();
    moving = here.outer;
    const auto last = std::move(until_moved_);  // nothing of the queue may be touched behind this
  }

  // Hands packets to the next handler, or to the agent.
  void pass(const Handlers& handlers, size_t left, const Packet* packets, uint64_t count,
            uint64_t index) noexcept {
    if (is_closed()) return;
    if (left == 0) {
      for (uint64_t i = 0; i < count; ++i) write_or_keep(packets[i]);
      return;
    }
    const PacketHandler& handler = handlers.list[left - 1];
    Passing here{this, &handlers, left - 1, index, count};
    Passing* const outer = std::exchange(passing, &here);
    handler.function(packets, count, index, handler.data, write_on);
    passing = outer;
  }

 private:
  bool is_closed() const { return request_.memory == nullptr; }

  // When the queue ends, and not when this object goes: who still holds it, as the callback does that shuts the runtime
  // down, may outlive the memory's owner.
  void release_memory() { request_.release(std::exchange(request_.memory, nullptr)); }

  bool is_moved_here() const {
    const Moving* at = moving;
    while (at != nullptr && at->queue != this) at = at->outer;
    return at != nullptr;
  }

  void move_packets() {
    if (bell_.has_room.load(std::memory_order_relaxed) && bell_.has_room.exchange(false))
      asked_for_room_ = false;
    const uint64_t before = written_;
    flush();
    if (is_closed()) return;
    const Handlers& handlers = *handlers_.load(std::memory_order_acquire);
    while (kept_.empty()) {
      const uint64_t there = count_there(handlers.take_many);
      if (there == 0) break;
      const uint64_t fit = std::min(there, room());
      if (fit == 0) {
        ask_for_room();
        break;
      }
      pass(handlers, handlers.list.size(), &ring_[taken_ & (size_ - 1)], fit, taken_);
      if (is_closed()) return;
      give_slots_back(fit);
      ask_for_room_early();
    }
    if (!kept_.empty()) ask_for_room();
    if (written_ != before) tell_agent();
  }

  // What is handed on has the indices of what was given, in turn; all that is more, the last of them.
  static void write_on(const void* packets, uint64_t count) {
    Passing* const here = passing;
    if (here == nullptr) return;  // called outside of a handler's call
    const auto* next = static_cast<const Packet*>(packets);
    while (count != 0) {
      const uint64_t together = std::min(count, here->count);
      here->queue->pass(*here->handlers, here->left, next, together, here->index);
      next += together;
      count -= together;
      const uint64_t on = std::min(together, here->count - 1);
      here->index += on;
      here->count -= on;
    }
  }

  void tell_agent() noexcept {
    Signal::of_live(behind_->handle()->doorbell_signal)
        .store<std::memory_order_release>(static_cast<int64_t>(written_ - 1));
  }

  // How many packets lie one after another in the application's ring, up to what handlers take at once.
  uint64_t count_there(bool many) {
    const uint64_t end = write_index(handle()).load(std::memory_order_acquire);
    const uint64_t to_wrap = size_ - (taken_ & (size_ - 1));
    const uint64_t most = std::min({many ? kMostAtOnce : 1, end - taken_, to_wrap});
    uint64_t count = 0;
    while (count < most) {
      const uint32_t first =
          std::atomic_ref(ring_[(taken_ + count) & (size_ - 1)].first).load(std::memory_order_acquire);
      if (type_of(first) == HSA_PACKET_TYPE_INVALID) break;
      ++count;
    }
    return count;
  }

  void give_slots_back(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i)
      std::atomic_ref(ring_[(taken_ + i) & (size_ - 1)].first).store(kInvalid, std::memory_order_relaxed);
    taken_ += count;
    read_index(handle()).store(taken_, std::memory_order_release);
  }

  // Slots of the agent's ring that packets may have: all that are free but one, for the barrier that asks for
  // more.
  uint64_t room() {
    const hsa_queue_t* const queue = behind_->handle();
    if (written_ - read_ + 1 >= queue->size) read_ = read_index(queue).load(std::memory_order_acquire);
    return queue->size - std::min<uint64_t>(queue->size, written_ - read_ + 1);
  }

  static bool is_marker(const Packet& packet) {
    return type_of(packet.first) == HSA_PACKET_TYPE_VENDOR_SPECIFIC &&
           (packet.first >> 16 & 0xff) == AMD_AQL_FORMAT_INTERCEPT_MARKER;
  }

  // A marker's packet takes no place: its callback is told the place of the next. False: there is no room.
  bool write(const Packet& packet) {
    if (is_closed()) return true;  // by a handler or such a callback: nobody takes packets any more
    if (room() == 0) return false;
    if (is_marker(packet)) {
      amd_aql_intercept_marker_t marker;
      std::memcpy(&marker, &packet, sizeof marker);
      if (marker.callback != nullptr) marker.callback(&marker, behind_->handle(), written_);
      return true;
    }
    store(packet);
    return true;
  }

  void store(const Packet& packet) {
    const hsa_queue_t* const queue = behind_->handle();
    auto& slot = static_cast<Packet*>(queue->base_address)[written_ & (queue->size - 1)];
    write_index(queue).store(++written_, std::memory_order_relaxed);
    std::memcpy(slot.rest, packet.rest, sizeof slot.rest);
    std::atomic_ref(slot.first).store(packet.first, std::memory_order_release);
  }

  void write_or_keep(const Packet& packet) {
    if (kept_.empty() && write(packet)) return;
    try {
      kept_.push_back(packet);
    } catch (const std::bad_alloc&) {
      wait_for_room(packet);
    }
  }

  // Without memory to keep packets in, the thread that rings waits, as it would if the application's ring
  // were full.
  void wait_for_room(const Packet& packet) {
    do {
      if (behind_->failed()) return;  // nobody takes packets any more
      tell_agent();
      std::this_thread::yield();
      flush();
    } while (!kept_.empty() || !write(packet));
  }

  void flush() {
    size_t done = 0;
    while (done < kept_.size() && write(kept_[done])) ++done;
    kept_.erase(kept_.begin(), kept_.begin() + static_cast<ptrdiff_t>(done));
  }

  // A barrier in the last slot would leave the agent with nothing to do until the handler of its signal has brought
  // more. In a ring of twice as many packets as the application's there are still some behind a barrier that comes
  // when the ring is half full; which is looked at rarely, because the read index is in the agent's cache.
  void ask_for_room_early() {
    const hsa_queue_t* const queue = behind_->handle();
    if (asked_for_room_ || written_ - read_ < queue->size / 4 * 3) return;
    read_ = read_index(queue).load(std::memory_order_acquire);
    if (written_ - read_ >= queue->size / 2) ask_for_room();
  }

  // The ring has a slot left, if no other. The barrier packet in that slot is over when all before it have begun.
  void ask_for_room() {
    if (asked_for_room_) return;
    room_->store(1);
    const auto there_is_room = [](hsa_signal_value_t, void* argument) {
      static_cast<Bell*>(argument)->has_room.store(true);
      ring(argument, 0);
      return false;
    };
    if (request_.dispatcher->watch(*room_, HSA_SIGNAL_CONDITION_LT, 1, there_is_room, &bell_) !=
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
    Packet packet;
    std::memcpy(&packet, &barrier, sizeof packet);
    store(packet);
  }

  InterceptRequest request_;  // its memory is null once the queue is closed
  Signal& doorbell_;
  Bell& bell_;
  const uint64_t size_;
  Packet* ring_ = nullptr;
  volatile uint64_t unused_bell_ = 0;  // where those store who do not ask the signal
  std::shared_ptr<Queue> behind_;
  Signal* room_ = nullptr;

  Mutex handlers_mutex_;
  std::vector<std::unique_ptr<Handlers>> all_handlers_ RIGEL_GUARDED_BY(handlers_mutex_);
  std::atomic<const Handlers*> handlers_{nullptr};

  std::atomic<bool> always_profiled_{false};

  uint64_t taken_ = 0;    // index of the application's next packet
  uint64_t written_ = 0;  // to the agent's queue
  uint64_t read_ = 0;     // its read index, when it was last looked at
  std::vector<Packet> kept_;
  bool asked_for_room_ = false;
  std::shared_ptr<ProxyQueue> until_moved_;  // itself, once a handler has destroyed it
};

void ring(void* context, uint64_t) noexcept {
  using Work = Bell::Work;
  Bell& bell = *static_cast<Bell*>(context);
  Work before = bell.work.load(std::memory_order_relaxed);
  // Where many produce, the thread at work most often looks again anyway. To find that out, producers need not take the cache line
  // from each other. The fence comes between the packet and the look, as one does between the exchange below and the look at packets.
  if (before == Work::kLooksAgain) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (bell.work.load(std::memory_order_relaxed) == Work::kLooksAgain) return;
  }
  const bool is_first = before == Work::kNone && bell.work.compare_exchange_strong(before, Work::kUnderWay);
  if (!is_first && bell.work.exchange(Work::kLooksAgain) != Work::kNone) return;
  for (;;) {
    if (ProxyQueue* const queue = bell.queue.load()) queue->move();
    before = Work::kUnderWay;
    if (bell.work.compare_exchange_strong(before, Work::kNone)) return;
    bell.work.exchange(Work::kUnderWay);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

}  // namespace

void reset_intercept_queues_after_fork() noexcept {
  Bells::reset_after_fork();
}

size_t intercept_queue_bytes(uint32_t packets) {
  return sizeof(amd_queue_t) + packets * sizeof(Packet);
}

Result<std::shared_ptr<InterceptQueue>> create_intercept_queue(InterceptRequest request, uint64_t cookie) {
  Signal* const doorbell = signal_pool::create(-1, kSignalOfQueue, AMD_SIGNAL_KIND_DOORBELL);
  Bell* const bell = doorbell == nullptr ? nullptr : Bells::take();
  Undo give_back([&] {
    if (bell != nullptr) Bells::give_back(bell);
    if (doorbell != nullptr) signal_pool::destroy(*doorbell);
    request.release(request.memory);
  });
  if (bell == nullptr)
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "intercept queue: out of memory for its doorbell");
  auto queue = std::make_shared<ProxyQueue>(request, *doorbell, *bell, cookie);
  give_back.cancel();
  return queue;
}

}  // namespace rigel
