#include "backends/cpu/queue.hpp"

#include <hsa/amd_hsa_signal.h>

#include <cstring>
#include <memory>
#include <new>

#include "api/support/packet_ring.hpp"
#include "backends/cpu/capabilities.hpp"
#include "backends/cpu/refusal.hpp"

namespace rigel::cpu {
namespace {

// The doorbell's value while the thread sleeps on it. No packet has this index.
constexpr int64_t kAsleep = INT64_MIN;

constinit std::atomic<uint64_t> next_queue_id{0};

uint16_t packet_type(uint16_t header) {
  return header >> HSA_PACKET_HEADER_TYPE & ((1u << HSA_PACKET_HEADER_WIDTH_TYPE) - 1);
}

int64_t* value_of(uint64_t signal) {
  return const_cast<int64_t*>(&reinterpret_cast<amd_signal_t*>(signal)->value);
}

int64_t load_signal(uint64_t signal) {
  return __atomic_load_n(value_of(signal), __ATOMIC_ACQUIRE);
}

}  // namespace

// ---------------------------------------------------------------------------------------------------------
// Lifetime. Called on the runtime's threads.

hsabe_status_t Queue::create(Device& device, const hsabe_queue_desc_t& desc, hsabe_queue_info_t* info) {
  if (desc.packets == 0 || (desc.packets & (desc.packets - 1)) != 0 || desc.packets > kQueueMaxPackets) {
    return refuse(device.host, HSA_STATUS_ERROR_INVALID_ARGUMENT,
                  "queue size %u: must be a power of two up to %u", desc.packets, kQueueMaxPackets);
  }
  if (desc.type != HSA_QUEUE_TYPE_MULTI && desc.type != HSA_QUEUE_TYPE_SINGLE) {
    return refuse(device.host, HSA_STATUS_ERROR_INVALID_QUEUE_CREATION, "queue type %u: not supported",
                  desc.type);
  }
  std::unique_ptr<Queue> queue(new Queue(device, desc));
  if (const auto status = queue->start(desc)) return status;
  info->amd_queue = queue->amd_queue_;
  info->doorbell = nullptr;
  info->queue = queue.release();
  return HSA_STATUS_SUCCESS;
}

Queue::Queue(Device& device, const hsabe_queue_desc_t& desc) noexcept
    : device_(device),
      cookie_(desc.cookie),
      doorbell_(desc.doorbell_signal),
      patience_(device.spin_ticks),
      kernels_(device.code),
      worker_(device.spin_ticks) {}

hsabe_status_t Queue::start(const hsabe_queue_desc_t& desc) {
  const hsabe_host_t* const host = device_.host;
  const uint64_t ring_size = uint64_t{desc.packets} * sizeof(Packet);
  if (const auto status = host->memory->allocate(host->self, ring_size + sizeof(amd_queue_v2_t), &memory_)) {
    return status;
  }
  if (const auto status = host->signal->create(host->self, 0, &stop_signal_)) return status;

  ring_ = static_cast<Packet*>(memory_);
  mask_ = desc.packets - 1;
  for (uint32_t i = 0; i < desc.packets; ++i) ring_[i].header = HSA_PACKET_TYPE_INVALID;

  amd_queue_ = new (static_cast<char*>(memory_) + ring_size) amd_queue_v2_t{};
  amd_queue_->hsa_queue.type = desc.type;
  amd_queue_->hsa_queue.features = HSA_QUEUE_FEATURE_KERNEL_DISPATCH | HSA_QUEUE_FEATURE_AGENT_DISPATCH;
  amd_queue_->hsa_queue.base_address = ring_;
  amd_queue_->hsa_queue.doorbell_signal.handle = doorbell_;
  amd_queue_->hsa_queue.size = desc.packets;
  amd_queue_->hsa_queue.id = next_queue_id.fetch_add(1, std::memory_order_relaxed);
  amd_queue_->read_dispatch_id_field_base_byte_offset = offsetof(amd_queue_v2_t, read_dispatch_id);
  amd_queue_->queue_properties = AMD_QUEUE_PROPERTIES_IS_PTR64;

  const auto main = [](void* queue) -> void* {
    static_cast<Queue*>(queue)->main();
    return nullptr;
  };
  running_ = start_thread(&thread_, "rigel-cpu-q", amd_queue_->hsa_queue.id, device_.processors, main, this);
  if (!running_)
    return refuse(host, HSA_STATUS_ERROR_OUT_OF_RESOURCES, "the thread of the queue cannot be started");
  return HSA_STATUS_SUCCESS;
}

Queue::~Queue() {
  const hsabe_host_t* const host = device_.host;
  if (running_) {
    inactivate();
    pthread_join(thread_, nullptr);
  }
  if (stop_signal_) host->signal->destroy(host->self, stop_signal_);
  host->memory->release(host->self, memory_);
}

void Queue::inactivate() noexcept {
  stopping_.store(true, std::memory_order_relaxed);
  device_.host->signal->store(device_.host->self, stop_signal_, 1);
}

void Queue::set_profiling(bool enabled) noexcept {
  auto* const properties = &amd_queue_->queue_properties;
  if (enabled) {
    __atomic_fetch_or(properties, AMD_QUEUE_PROPERTIES_ENABLE_PROFILING, __ATOMIC_RELAXED);
  } else {
    __atomic_fetch_and(properties, ~uint32_t{AMD_QUEUE_PROPERTIES_ENABLE_PROFILING}, __ATOMIC_RELAXED);
  }
}

// ---------------------------------------------------------------------------------------------------------
// The packet processor. Runs on the queue's thread.

void Queue::main() noexcept {
  uint64_t index = 0;
  for (;;) {
    const Packet& slot = ring_[index & mask_];
    if (!wait_for_packet(&slot.header)) return;
    Packet packet;
    std::memcpy(&packet, &slot, sizeof packet);
    const Outcome outcome = process(packet, index);
    if (outcome.stopped) return;
    if (outcome.status != HSA_STATUS_SUCCESS) {
      device_.host->events->queue_error(device_.host->self, cookie_, outcome.status);
      return;
    }
    ++index;
  }
}

// Returns false when the queue must stop.
bool Queue::wait_for_packet(const uint16_t* header) noexcept {
  const auto ready = [header] {
    return packet_type(__atomic_load_n(header, __ATOMIC_ACQUIRE)) != HSA_PACKET_TYPE_INVALID;
  };
  if (patience_.wait([&] { return ready() || is_stopping(); })) return !is_stopping();
  const hsabe_host_t* const host = device_.host;
  for (;;) {
    __atomic_exchange_n(value_of(doorbell_), kAsleep, __ATOMIC_SEQ_CST);
    if (is_stopping()) return false;
    if (ready()) return true;
    const hsabe_wait_t waits[] = {{doorbell_, kAsleep, HSA_SIGNAL_CONDITION_NE, 0},
                                  {stop_signal_, 0, HSA_SIGNAL_CONDITION_NE, 0}};
    host->signal->wait_any(host->self, waits, 2, HSABE_WAIT_FOREVER, 0);
  }
}

Queue::Outcome Queue::process(const Packet& packet, uint64_t index) noexcept {
  // All packets have their completion signal at the same offset.
  static_assert(offsetof(hsa_agent_dispatch_packet_t, completion_signal) == 56);
  static_assert(offsetof(hsa_kernel_dispatch_packet_t, completion_signal) == 56);
  if (packet.kernel.completion_signal.handle % alignof(amd_signal_t) != 0) {
    return {HSA_STATUS_ERROR_INVALID_PACKET_FORMAT};
  }
  switch (packet_type(packet.header)) {
    case HSA_PACKET_TYPE_KERNEL_DISPATCH:
      return dispatch_kernel(packet.kernel, index);
    case HSA_PACKET_TYPE_AGENT_DISPATCH:
      return dispatch_agent_function(packet.agent, index);
    case HSA_PACKET_TYPE_BARRIER_AND:
      return barrier(packet.barrier_and.dep_signal, true, packet.barrier_and.completion_signal, index);
    case HSA_PACKET_TYPE_BARRIER_OR:
      return barrier(packet.barrier_or.dep_signal, false, packet.barrier_or.completion_signal, index);
    case HSA_PACKET_TYPE_VENDOR_SPECIFIC:
      if (packet.vendor.AmdFormat == HSA_AMD_PACKET_TYPE_BARRIER_VALUE)
        return barrier_value(packet.barrier_value, index);
      [[fallthrough]];
    default:
      return {HSA_STATUS_ERROR_INVALID_PACKET_FORMAT};
  }
}

void Queue::release_slot(uint64_t index) noexcept {
  free_packets(&amd_queue_->hsa_queue, index, index + 1);
}

// Returns 0 if the queue is not profiled.
uint64_t Queue::start_time() const noexcept {
  const uint32_t properties = __atomic_load_n(&amd_queue_->queue_properties, __ATOMIC_RELAXED);
  return (properties & AMD_QUEUE_PROPERTIES_ENABLE_PROFILING) != 0 ? system_time_ns() : 0;
}

// `begin` is the result of start_time when the packet's work started.
void Queue::complete(hsa_signal_t signal, uint64_t begin) noexcept {
  if (signal.handle == 0) return;
  if (begin != 0) {
    auto* const memory = reinterpret_cast<amd_signal_t*>(signal.handle);
    memory->start_ts = begin;
    memory->end_ts = system_time_ns();
  }
  device_.host->signal->subtract(device_.host->self, signal.handle, 1);
}

Queue::Outcome Queue::dispatch_kernel(const hsa_kernel_dispatch_packet_t& packet, uint64_t index) noexcept {
  KernelCache::Entry* const known = kernels_.find(packet.kernel_object);
  if (!known) return {HSA_STATUS_ERROR_INVALID_CODE_OBJECT};
  Grid grid;
  if (const auto status = make_grid(packet, known->kernel, &grid); status != HSA_STATUS_SUCCESS)
    return {status};
  if (!worker_.prepare(grid.dispatch.group_segment_size, grid.private_size)) {
    return {HSA_STATUS_ERROR_OUT_OF_RESOURCES};
  }
  grid.dispatch.queue = &amd_queue_->hsa_queue;
  grid.dispatch.packet_id = index;
  grid.priority = priority_.load(std::memory_order_relaxed);
  grid.cancelled = &stopping_;
  release_slot(index);

  const uint64_t begin = start_time();
  if (!device_.engine.run(grid, worker_, known->cost)) return {HSA_STATUS_SUCCESS, true};
  complete(packet.completion_signal, begin);
  return {};
}

Queue::Outcome Queue::dispatch_agent_function(const hsa_agent_dispatch_packet_t& packet,
                                              uint64_t index) noexcept {
  const hsa_cpu_agent_function_t function = device_.code.find_agent_function(packet.type);
  if (!function) return {HSA_STATUS_ERROR_INVALID_PACKET_FORMAT};
  release_slot(index);
  const uint64_t begin = start_time();
  function(packet.arg, packet.return_address);
  drain_stores();
  complete(packet.completion_signal, begin);
  return {};
}

// A dependency is satisfied once it has been 0; its later value is irrelevant. Negative values do not satisfy
// it.
Queue::Outcome Queue::barrier(const hsa_signal_t (&signals)[5], bool all, hsa_signal_t completion,
                              uint64_t index) noexcept {
  hsabe_wait_t waits[6];
  uint32_t count = 0;
  for (const hsa_signal_t signal : signals) {
    if (signal.handle == 0) continue;
    if (signal.handle % alignof(amd_signal_t) != 0) return {HSA_STATUS_ERROR_INVALID_PACKET_FORMAT};
    waits[count++] = {signal.handle, 0, HSA_SIGNAL_CONDITION_EQ, 0};
  }
  release_slot(index);
  const uint64_t begin = start_time();
  const hsabe_host_t* const host = device_.host;
  while (count > 0) {
    uint32_t seen = 0;
    while (seen < count && load_signal(waits[seen].signal) != 0) ++seen;
    if (seen == count) {
      waits[count] = {stop_signal_, 0, HSA_SIGNAL_CONDITION_NE, 0};
      seen = host->signal->wait_any(host->self, waits, count + 1, HSABE_WAIT_FOREVER, device_.spin_ns);
      if (is_stopping()) return {HSA_STATUS_SUCCESS, true};
      if (seen >= count) continue;
    }
    if (!all) break;
    waits[seen] = waits[--count];
  }
  complete(completion, begin);
  return {};
}

Queue::Outcome Queue::barrier_value(const hsa_amd_barrier_value_packet_t& packet, uint64_t index) noexcept {
  if (packet.cond > HSA_SIGNAL_CONDITION_GTE || packet.signal.handle % alignof(amd_signal_t) != 0) {
    return {HSA_STATUS_ERROR_INVALID_PACKET_FORMAT};
  }
  const auto holds = [&packet](int64_t value) {
    value &= packet.mask;
    switch (packet.cond) {
      case HSA_SIGNAL_CONDITION_EQ:
        return value == packet.value;
      case HSA_SIGNAL_CONDITION_NE:
        return value != packet.value;
      case HSA_SIGNAL_CONDITION_LT:
        return value < packet.value;
      default:
        return value >= packet.value;
    }
  };
  release_slot(index);
  const uint64_t begin = start_time();
  const hsabe_host_t* const host = device_.host;
  while (packet.signal.handle != 0) {
    const int64_t now = load_signal(packet.signal.handle);
    if (holds(now)) break;
    // The runtime does not support masks: waits for a change.
    const hsabe_wait_t waits[] = {{packet.signal.handle, now, HSA_SIGNAL_CONDITION_NE, 0},
                                  {stop_signal_, 0, HSA_SIGNAL_CONDITION_NE, 0}};
    host->signal->wait_any(host->self, waits, 2, HSABE_WAIT_FOREVER, device_.spin_ns);
    if (is_stopping()) return {HSA_STATUS_SUCCESS, true};
  }
  complete(packet.completion_signal, begin);
  return {};
}

}  // namespace rigel::cpu
