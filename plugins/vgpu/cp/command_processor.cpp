#include "plugins/vgpu/cp/command_processor.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <unordered_map>

#include <unistd.h>

#include "api/support/mutex.hpp"
#include "api/support/undo.hpp"
#include "plugins/vgpu/cp/aql_queue.hpp"
#include "plugins/vgpu/cp/engine.hpp"
#include "plugins/vgpu/cp/pm4_queue.hpp"
#include "plugins/vgpu/cp/sdma_queue.hpp"

namespace rigel::vgpu {
namespace {

constexpr uint64_t kRingAlignment = 256;
constexpr uint64_t kLargestRing = uint64_t{1} << 32;
constexpr uint32_t kHighestPriority = 15;

bool is_valid_ring(uint64_t va, uint64_t bytes) {
  return va != 0 && va % kRingAlignment == 0 && std::has_single_bit(bytes) && bytes >= kRingAlignment &&
         bytes <= kLargestRing && va <= UINT64_MAX - bytes;
}

}  // namespace

class CommandProcessor::Impl {
 public:
  Impl(const DeviceConfig& config, DeviceBus& bus, DispatchSink& sink)
      : context(config, bus, sink), random(config.seed) {
    engines.push_back(std::make_unique<Engine>("vgpu-cp", context, engines));
    for (uint32_t i = 0; i < config.sdma_engines; ++i) {
      engines.push_back(std::make_unique<Engine>(fmt::format("vgpu-sdma{}", i), context, engines));
    }
  }

  struct Item {
    std::shared_ptr<HardwareQueue> queue;
    Engine* engine = nullptr;
  };

  Item find(uint32_t id) {
    const ReaderLock lock(mutex);
    const auto found = queues.find(id);
    return found == queues.end() ? Item{} : found->second;
  }

  QueueContext context;
  std::vector<std::unique_ptr<Engine>> engines;  // [0] is the micro engine; constant after construction
  SharedMutex mutex;
  std::unordered_map<uint32_t, Item> queues RIGEL_GUARDED_BY(mutex);
  std::mt19937_64 random;  // manual mode only
  const pid_t process = getpid();
};

CommandProcessor::CommandProcessor(const DeviceConfig& config, DeviceBus& bus, DispatchSink& sink)
    : impl_(std::make_unique<Impl>(config, bus, sink)) {}

CommandProcessor::~CommandProcessor() {
  // After a fork there are no workers, and the locks may be held by threads of the parent: leak everything.
  if (getpid() != impl_->process) {
    static_cast<void>(impl_.release());
    return;
  }
  std::vector<uint32_t> ids;
  {
    const ReaderLock lock(impl_->mutex);
    for (const auto& [id, item] : impl_->queues) ids.push_back(id);
  }
  for (const uint32_t id : ids) destroy_queue(id);
  for (const auto& engine : impl_->engines) engine->stop();
}

QueueRequestError CommandProcessor::create_queue(const QueueConfig& config) {
  if (!is_valid_ring(config.ring_va, config.ring_bytes)) return QueueRequestError::kBadRing;
  if (config.priority > kHighestPriority || config.percentage > 100 || config.read_pointer_va % 8 != 0 ||
      config.write_pointer_va % 8 != 0) {
    return QueueRequestError::kBadValue;
  }
  if (config.kind == QueueKind::kAql && config.read_pointer_va == 0) return QueueRequestError::kBadValue;
  if (config.kind == QueueKind::kSdma && config.sdma_engine + 1 >= impl_->engines.size()) {
    return QueueRequestError::kNoSuchEngine;
  }
  Engine* engine = impl_->engines[engine_of(config.kind, config.sdma_engine)].get();
  if (!engine->start()) return QueueRequestError::kNoThread;
  std::shared_ptr<HardwareQueue> queue;
  const auto wake = [engine] { engine->wake(); };
  switch (config.kind) {
    case QueueKind::kAql:
      queue = std::make_shared<AqlQueue>(impl_->context, config, wake);
      break;
    case QueueKind::kPm4:
      queue = std::make_shared<Pm4Queue>(impl_->context, config, wake);
      break;
    case QueueKind::kSdma:
      queue = std::make_shared<SdmaQueue>(impl_->context, config);
      break;
  }
  {
    const WriterLock lock(impl_->mutex);
    if (!impl_->queues.try_emplace(config.queue_id, Impl::Item{queue, engine}).second) {
      return QueueRequestError::kIdInUse;
    }
  }
  Undo forget([&] {
    const WriterLock lock(impl_->mutex);
    impl_->queues.erase(config.queue_id);
  });
  if (queue->bell() != nullptr) queue->bell()->begin(engine->alarm());
  engine->add(std::move(queue), config.percentage == 0);
  forget.cancel();
  return QueueRequestError::kNone;
}

QueueRequestError CommandProcessor::update_queue(uint32_t queue_id, uint64_t ring_va, uint64_t ring_bytes,
                                                 uint32_t priority, uint32_t percentage) {
  const Impl::Item item = impl_->find(queue_id);
  if (item.queue == nullptr) return QueueRequestError::kNoSuchQueue;
  if (priority > kHighestPriority || percentage > 100) return QueueRequestError::kBadValue;
  if (ring_bytes != 0 && !is_valid_ring(ring_va, ring_bytes)) return QueueRequestError::kBadRing;
  item.engine->change(*item.queue, percentage == 0, [&](HardwareQueue& queue) {
    queue.set_priority(priority);
    if (ring_bytes != 0) queue.set_ring(ring_va, ring_bytes);
  });
  return QueueRequestError::kNone;
}

QueueRequestError CommandProcessor::set_cu_mask(uint32_t queue_id, std::vector<uint32_t> mask) {
  const Impl::Item item = impl_->find(queue_id);
  if (item.queue == nullptr) return QueueRequestError::kNoSuchQueue;
  auto shared = std::make_shared<const std::vector<uint32_t>>(std::move(mask));
  item.engine->inspect(*item.queue,
                       [&](HardwareQueue& queue, bool, Outcome) { queue.set_cu_mask(std::move(shared)); });
  return QueueRequestError::kNone;
}

QueueRequestError CommandProcessor::destroy_queue(uint32_t queue_id) {
  Impl::Item item;
  {
    const WriterLock lock(impl_->mutex);
    const auto found = impl_->queues.find(queue_id);
    if (found == impl_->queues.end()) return QueueRequestError::kNoSuchQueue;
    item = std::move(found->second);
    impl_->queues.erase(found);
  }
  item.engine->remove(*item.queue);
  item.queue->drain();
  return QueueRequestError::kNone;
}

void CommandProcessor::ring_doorbell(uint32_t queue_id, uint64_t value) noexcept {
  const ReaderLock lock(impl_->mutex);
  const auto found = impl_->queues.find(queue_id);
  if (found == impl_->queues.end()) return;
  found->second.queue->ring(value);
  found->second.engine->wake();
}

Bell* CommandProcessor::bell(uint32_t queue_id) noexcept {
  const Impl::Item item = impl_->find(queue_id);
  return item.queue == nullptr ? nullptr : item.queue->bell();
}

void CommandProcessor::wake() noexcept {
  for (const auto& engine : impl_->engines) engine->wake();
}

void CommandProcessor::wake(uint32_t engine) noexcept {
  if (engine < impl_->engines.size()) impl_->engines[engine]->wake();
}

void CommandProcessor::set_scratch_base(uint64_t va) noexcept {
  impl_->context.scratch_base.store(va, std::memory_order_relaxed);
}

std::string CommandProcessor::describe() {
  const std::vector<DispatchSink::Running> running = impl_->context.sink.describe_running();
  std::map<uint32_t, Impl::Item> items;  // sorted by id
  {
    const ReaderLock lock(impl_->mutex);
    items.insert(impl_->queues.begin(), impl_->queues.end());
  }
  std::string description;
  for (const auto& [id, item] : items) {
    item.engine->inspect(*item.queue, [&, id = id](HardwareQueue& queue, bool suspended, Outcome last) {
      std::string_view state;
      if (queue.stopped()) {
        state = "; stopped by an error";
      } else if (suspended) {
        state = "; suspended";
      } else if (last == Outcome::kPolling) {
        state = "; polls memory";
      }
      description += fmt::format("queue {}, {}{}", id, queue.describe(), state);
    });
    for (const DispatchSink::Running& dispatch : running) {
      if (dispatch.queue_id == id) description += dispatch.text;
    }
    description += '\n';
  }
  return description;
}

double CommandProcessor::longest_running() {
  return impl_->context.sink.longest_running();
}

bool CommandProcessor::step() {
  std::vector<Engine*> order;
  for (const auto& engine : impl_->engines) order.push_back(engine.get());
  std::shuffle(order.begin(), order.end(), impl_->random);
  return std::any_of(order.begin(), order.end(), [&](Engine* engine) { return engine->step(impl_->random); });
}

uint64_t CommandProcessor::run(uint64_t limit) {
  uint64_t steps = 0;
  while (steps < limit && step()) ++steps;
  return steps;
}

}  // namespace rigel::vgpu
