#include "core/tool/packet_tools.hpp"

#include <cstddef>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "api/support/log.hpp"
#include "core/signal/signal_pool.hpp"
#include "core/tool/call_frame.hpp"

namespace rigel {
namespace {

// A tool and the generation in which it may be called.
struct Listener {
  Tool* tool;
  uint32_t generation;
  bool is_there() const noexcept { return Tool::is_alive(generation) && tool->generation() == generation; }
};

// --- Packets -----------------------------------------------------------------------------------------------

constexpr size_t kPacketBytes = 64;

struct ToolOnQueue {
  Listener listener;
  hsatool_queue_t queue;
};

void submit(const void* packets, uint64_t count, uint64_t index, void* data,
            hsa_amd_queue_intercept_packet_writer write) {
  const auto& self = *static_cast<const ToolOnQueue*>(data);
  std::optional<KeepTools> keep;
  if (is_handler_thread()) keep.emplace();
  if (!self.listener.is_there()) return write(packets, count);
  struct Way {
    hsa_amd_queue_intercept_packet_writer on;
    uint64_t taken;
  } way{write, 0};
  const hsatool_writer_t writer{sizeof writer, &way, [](void* self_, const void* what, uint64_t how_many) {
                                  static_cast<Way*>(self_)->taken += how_many;
                                  static_cast<Way*>(self_)->on(what, how_many);
                                }};
  const InTool in_tool;
  Tool& tool = *self.listener.tool;
  const bool good = tool.guarded("submit", [&] {
    tool.loaded().packets.submit(tool.self(), &self.queue, packets, count, index, &writer);
  });
  // The remaining packets are forwarded unchanged, because the tool is quarantined.
  if (!good && way.taken < count)
    write(static_cast<const unsigned char*>(packets) + way.taken * kPacketBytes, count - way.taken);
}

// --- Activities --------------------------------------------------------------------------------------------

struct TrackedOperation;

// Packets of one queue whose completion has not been reported, oldest first. Handlers of polled signals run
// in any order, but completions of one queue must be reported in packet order; this list restores it.
class CompletionOrder {
 public:
  void add(TrackedOperation& work) noexcept;
  void remove(TrackedOperation& work) noexcept;
  /// Removes and returns the oldest complete operation before `work`, or null.
  TrackedOperation* take_over_before(const TrackedOperation& work) noexcept;

 private:
  Mutex mutex_;
  TrackedOperation* oldest_ RIGEL_GUARDED_BY(mutex_) = nullptr;
  TrackedOperation* newest_ RIGEL_GUARDED_BY(mutex_) = nullptr;
};

// An operation of a device whose completion is reported to tools and then signalled to the application.
struct TrackedOperation {
  hsatool_activity_t activity;
  alignas(8) unsigned char packet[64];
  hsa_signal_t completion;  // the application's signal; 0: none
  Signal* signal;           // completed by the device instead
  const Agent* agent;
  void (*times)(hsa_signal_t signal, uint64_t& begin, uint64_t& end);
  std::shared_ptr<const std::vector<Listener>> listeners;
  TrackedOperation *previous, *next;       // links in `pending`
  std::shared_ptr<CompletionOrder> order;  // null for a copy, or a packet that has been reported
  TrackedOperation *older, *newer;         // links in `order`
};

void CompletionOrder::add(TrackedOperation& work) noexcept {
  const MutexLock lock(mutex_);
  work.older = newest_;
  work.newer = nullptr;
  (newest_ == nullptr ? oldest_ : newest_->newer) = &work;
  newest_ = &work;
}

void CompletionOrder::remove(TrackedOperation& work) noexcept {
  const MutexLock lock(mutex_);
  (work.older == nullptr ? oldest_ : work.older->newer) = work.newer;
  (work.newer == nullptr ? newest_ : work.newer->older) = work.older;
}

TrackedOperation* CompletionOrder::take_over_before(const TrackedOperation& work) noexcept {
  TrackedOperation* found = nullptr;
  {
    const MutexLock lock(mutex_);
    found = oldest_;
    while (found != &work && found->signal->load<std::memory_order_acquire>() >= 1) found = found->newer;
  }
  if (found == &work) return nullptr;
  remove(*found);
  return found;
}

// Operations that are not complete. A stopped dispatcher calls no more handlers; remaining operations are
// then freed by the next runtime.
class PendingWork {
 public:
  void add(TrackedOperation& work) noexcept {
    const MutexLock lock(mutex_);
    work.previous = nullptr;
    work.next = first_;
    if (first_ != nullptr) first_->previous = &work;
    first_ = &work;
  }
  void remove(TrackedOperation& work) noexcept {
    const MutexLock lock(mutex_);
    (work.previous == nullptr ? first_ : work.previous->next) = work.next;
    if (work.next != nullptr) work.next->previous = work.previous;
  }
  void drop_all() noexcept {
    const MutexLock lock(mutex_);
    while (const std::unique_ptr<TrackedOperation> work{first_}) {
      first_ = work->next;
      signal_pool::destroy(*work->signal);
    }
  }
  /// In a forked child: the list may be inconsistent.
  void abandon() noexcept {
    new (&mutex_) Mutex;
    const MutexLock lock(mutex_);
    first_ = nullptr;
  }

 private:
  Mutex mutex_;
  TrackedOperation* first_ RIGEL_GUARDED_BY(mutex_) = nullptr;
};
constinit PendingWork pending;

// Reports to the tools and then signals the application. Runs on the dispatcher's thread.
void tell(TrackedOperation& work, hsa_signal_value_t value) {
  Signal& own = *work.signal;
  hsatool_activity_t& activity = work.activity;
  activity.completion = work.completion;
  if (work.agent != nullptr) {
    activity.begin = work.agent->to_system_time(own.abi.start_ts);
    activity.end = work.agent->to_system_time(own.abi.end_ts);
    activity.packet = work.packet;
  }
  {
    const KeepTools keep;
    const InTool in_tool;
    for (const Listener& listener : *work.listeners) {
      if (!listener.is_there() || (listener.tool->activities() & activity.kind) == 0) continue;
      // The tool keeps the runtime alive, which converts the times.
      if (work.agent == nullptr) work.times(own.handle(), activity.begin, activity.end);
      listener.tool->guarded(
          "done", [&] { listener.tool->loaded().activities.done(listener.tool->self(), &activity); });
    }
  }
  if (Signal* const theirs = Signal::from_handle(work.completion)) {
    theirs->abi.start_ts = own.abi.start_ts;
    theirs->abi.end_ts = own.abi.end_ts;
    if (work.agent == nullptr) {
      theirs->copy_start_ts = own.copy_start_ts;
      theirs->copy_end_ts = own.copy_end_ts;
      theirs->set_clock_owner(own.clock_owner());
      // A failed copy stores a negative value; a complete one decrements.
      if (value < 0) {
        theirs->store<std::memory_order_release>(value);
      } else {
        theirs->subtract<std::memory_order_release>(1);
      }
    } else {
      theirs->subtract<std::memory_order_release>(1);
    }
  }
}

// Runs on the dispatcher's thread.
bool finished(hsa_signal_value_t value, void* argument) {
  const std::unique_ptr<TrackedOperation> work(static_cast<TrackedOperation*>(argument));
  if (work->agent == nullptr) {
    tell(*work, value);
  } else if (const auto order = std::exchange(work->order, nullptr)) {
    while (TrackedOperation* const earlier = order->take_over_before(*work)) {
      earlier->order = nullptr;  // its handler finds that it has been reported
      tell(*earlier, 0);
    }
    order->remove(*work);
    tell(*work, value);
  }
  pending.remove(*work);
  signal_pool::destroy(*work->signal);
  return false;
}

// Arranges the report of the operation's completion. Returns null on failure; the operation then runs as
// without tools.
Signal* watch(std::unique_ptr<TrackedOperation> work, AsyncDispatcher& dispatcher) noexcept {
  Signal* const own = signal_pool::create(1);
  if (own == nullptr) return nullptr;
  work->signal = own;
  pending.add(*work);
  if (work->order != nullptr) work->order->add(*work);
  if (dispatcher.watch(*own, HSA_SIGNAL_CONDITION_LT, 1, finished, work.get()) != HSA_STATUS_SUCCESS) {
    if (work->order != nullptr) work->order->remove(*work);
    pending.remove(*work);
    signal_pool::destroy(*own);
    return nullptr;
  }
  work.release();  // NOLINT(bugprone-unused-return-value): the handler owns it now
  return own;
}

// The last handler of packets: replaces completion signals by signals of the runtime.
struct Observer {
  std::shared_ptr<const std::vector<Listener>> listeners;
  uint32_t kinds;
  const Agent* agent;
  uint64_t queue_id;
  AsyncDispatcher* dispatcher;
  std::shared_ptr<CompletionOrder> order;
};

uint32_t kind_of(const unsigned char* packet) {
  uint16_t header = 0;
  std::memcpy(&header, packet, sizeof header);
  switch (header >> HSA_PACKET_HEADER_TYPE & ((1u << HSA_PACKET_HEADER_WIDTH_TYPE) - 1)) {
    case HSA_PACKET_TYPE_KERNEL_DISPATCH:
      return HSATOOL_ACTIVITY_DISPATCH;
    case HSA_PACKET_TYPE_BARRIER_AND:
    case HSA_PACKET_TYPE_BARRIER_OR:
      return HSATOOL_ACTIVITY_BARRIER;
    case HSA_PACKET_TYPE_VENDOR_SPECIFIC:
      return packet[2] == HSA_AMD_PACKET_TYPE_BARRIER_VALUE ? uint32_t{HSATOOL_ACTIVITY_BARRIER} : 0;
    default:
      return 0;
  }
}

void observe(const void* packets, uint64_t count, uint64_t index, void* data,
             hsa_amd_queue_intercept_packet_writer write) {
  // Offset in all packets with a completion signal: the last eight bytes.
  constexpr size_t kCompletion = offsetof(hsa_kernel_dispatch_packet_t, completion_signal);
  static_assert(kCompletion == offsetof(hsa_barrier_and_packet_t, completion_signal));
  const auto& self = *static_cast<const Observer*>(data);
  for (uint64_t i = 0; i < count; ++i) {
    unsigned char packet[64];
    std::memcpy(packet, static_cast<const unsigned char*>(packets) + i * sizeof packet, sizeof packet);
    const uint32_t kind = kind_of(packet) & self.kinds;
    auto work =
        kind == 0 ? nullptr : std::unique_ptr<TrackedOperation>(new (std::nothrow) TrackedOperation{});
    if (work != nullptr) {
      std::memcpy(work->packet, packet, sizeof packet);
      std::memcpy(&work->completion, packet + kCompletion, sizeof work->completion);
      work->agent = self.agent;
      work->listeners = self.listeners;
      work->order = self.order;
      work->activity.struct_size = sizeof work->activity;
      work->activity.kind = kind;
      work->activity.call = CallFrame::current_call();
      work->activity.agent = self.agent->handle();
      work->activity.queue_id = self.queue_id;
      work->activity.index = index + i;
      if (const Signal* const own = watch(std::move(work), *self.dispatcher)) {
        const hsa_signal_t handle = own->handle();
        std::memcpy(packet + kCompletion, &handle, sizeof handle);
      }
    }
    write(packet, 1);
  }
}

std::shared_ptr<const std::vector<Listener>> listeners_of(std::span<Tool* const> tools, uint32_t kinds) {
  auto out = std::make_shared<std::vector<Listener>>();
  for (Tool* const tool : tools) {
    if ((tool->activities() & kinds) != 0) out->push_back({tool, tool->generation()});
  }
  return out;
}

constexpr uint32_t kPackets = HSATOOL_ACTIVITY_DISPATCH | HSATOOL_ACTIVITY_BARRIER;

}  // namespace

void PacketTools::use(std::span<Tool* const> tools, AsyncDispatcher* dispatcher) {
  if (dispatcher != nullptr) pending.drop_all();
  const MutexLock lock(mutex_);
  tools_.assign(tools.begin(), tools.end());
  uint32_t kinds = 0;
  bool packets = false;
  for (const Tool* const tool : tools_) {
    kinds |= tool->activities();
    packets |= tool->has_packets();
  }
  dispatcher_.store(dispatcher, std::memory_order_release);
  activities_.store(kinds, std::memory_order_release);
  wants_queues_.store(packets || (kinds & kPackets) != 0, std::memory_order_release);
}

void PacketTools::abandon() noexcept {
  new (&mutex_) Mutex;  // a thread that does not exist in this process may hold it
  const MutexLock lock(mutex_);
  pending.abandon();
  tools_.clear();
  dispatcher_.store(nullptr, std::memory_order_release);
  activities_.store(0, std::memory_order_release);
  wants_queues_.store(false, std::memory_order_release);
}

Result<bool> PacketTools::add_to(InterceptQueue& queue, const Agent& agent) {
  std::optional<KeepTools> keep;
  if (is_handler_thread()) keep.emplace();
  std::vector<Tool*> tools;
  uint32_t kinds = 0;
  AsyncDispatcher* dispatcher = nullptr;
  {
    const MutexLock lock(mutex_);  // released while a tool is called, which may create copies
    tools = tools_;
    kinds = activities_.load(std::memory_order_relaxed) & kPackets;
    dispatcher = dispatcher_.load(std::memory_order_relaxed);
  }
  bool wanted = false;
  if (kinds != 0) {
    auto observer =
        std::make_shared<Observer>(Observer{listeners_of(tools, kinds), kinds, &agent, queue.handle()->id,
                                            dispatcher, std::make_shared<CompletionOrder>()});
    queue.profile_always();
    queue.add_handler({observe, observer.get(), true, observer});
    wanted = true;
  }
  const hsatool_queue_t facts{sizeof facts, queue.handle(), agent.handle(), queue.handle()->id};
  for (size_t i = tools.size(); i-- > 0;) {
    Tool& tool = *tools[i];
    const uint32_t generation = tool.generation();
    if (!tool.has_packets() || !Tool::is_alive(generation)) continue;
    bool wants = true;
    if (const auto ask = tool.loaded().packets.wants) {
      const InTool in_tool;
      tool.guarded("packets.wants", [&] { wants = ask(tool.self(), &facts) != 0; });
    }
    if (!wants) continue;
    auto on_queue = std::make_shared<ToolOnQueue>(ToolOnQueue{{&tool, generation}, facts});
    queue.add_handler({submit, on_queue.get(), true, on_queue});
    wanted = true;
  }
  return wanted;
}

PacketTools::Watched PacketTools::watch_copy(const CopyFacts& facts) noexcept try {
  const Watched unwatched{facts.completion, nullptr};
  const Signal* const theirs = Signal::from_handle(facts.completion);
  // the copy engine rejects it
  if (theirs == nullptr || theirs->kind() != AMD_SIGNAL_KIND_USER) return unwatched;
  AsyncDispatcher* const dispatcher = dispatcher_.load(std::memory_order_acquire);
  if (dispatcher == nullptr) return unwatched;
  auto work = std::make_unique<TrackedOperation>();
  {
    const MutexLock lock(mutex_);
    work->listeners = listeners_of(tools_, HSATOOL_ACTIVITY_COPY);
  }
  work->completion = facts.completion;
  work->times = facts.times;
  work->activity.struct_size = sizeof work->activity;
  work->activity.kind = HSATOOL_ACTIVITY_COPY;
  work->activity.call = CallFrame::current_call();
  work->activity.source = facts.source;
  work->activity.destination = facts.destination;
  work->activity.bytes = facts.bytes;
  TrackedOperation* const watched = work.get();
  const Signal* const own = watch(std::move(work), *dispatcher);
  return own == nullptr ? unwatched : Watched{own->handle(), watched};
} catch (const std::bad_alloc&) {
  return {facts.completion, nullptr};
}

void PacketTools::forget(const Watched& watched) noexcept {
  TrackedOperation& work = *static_cast<TrackedOperation*>(watched.work);
  work.completion = {0};
  work.activity.kind = 0;
  work.signal->store<std::memory_order_release>(0);  // the handler frees it
}

PacketTools& packet_tools() noexcept {
  alignas(
      PacketTools) static std::byte place[sizeof(PacketTools)];  // never destroyed, and allocated statically
  static auto* const tools = new (place) PacketTools;
  return *tools;
}

}  // namespace rigel
