// Chapter 2 of rules.inc: packets, and the ring buffer of a queue.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <list>
#include <memory>
#include <vector>

#include <fmt/core.h>

#include "api/support/mutex.hpp"
#include "plugins/validate/tool.hpp"
#include "plugins/validate/validator.hpp"

namespace validate {
namespace {

// Maximum size of kernel arguments that are searched for addresses and checked for changes.
constexpr uint32_t kMaxKernarg = 4096;

struct Subject {
  Validator& validator;
  const Queue& queue;
  uint64_t index;
  std::string name;  // name of the packet in reports
  void report(Rule rule, std::string_view text) const { validator.report(rule, name, text); }
};

// --- Packets -----------------------------------------------------------------------------------------------

void check_reserved(const Subject& subject, const hsatool::Packet& packet) {
  const auto is_zero = [&](Rule rule, uint64_t value, std::string_view field) {
    if (value != 0) subject.report(rule, fmt::format("{} is {:#x}; set it to 0", field, value));
  };
  is_zero(Rule::kReservedBits, packet.header >> 13, "header, bits 13 to 15");
  switch (packet.type()) {
    case HSA_PACKET_TYPE_KERNEL_DISPATCH: {
      const auto& dispatch = packet.as<hsa_kernel_dispatch_packet_t>();
      is_zero(Rule::kReservedBits, dispatch.setup >> HSA_KERNEL_DISPATCH_PACKET_SETUP_WIDTH_DIMENSIONS,
              "setup, bits 2 to 15");
      is_zero(Rule::kReservedBits, dispatch.reserved0, "reserved0");
      is_zero(Rule::kReservedBits, dispatch.reserved2, "reserved2");
      break;
    }
    case HSA_PACKET_TYPE_AGENT_DISPATCH: {
      const auto& dispatch = packet.as<hsa_agent_dispatch_packet_t>();
      is_zero(Rule::kReservedBits, dispatch.reserved0, "reserved0");
      is_zero(Rule::kReservedBits, dispatch.reserved2, "reserved2");
      break;
    }
    case HSA_PACKET_TYPE_BARRIER_AND:
    case HSA_PACKET_TYPE_BARRIER_OR: {
      const auto& barrier = packet.as<hsa_barrier_and_packet_t>();
      is_zero(Rule::kReservedBits, barrier.reserved0, "reserved0");
      is_zero(Rule::kReservedBits, barrier.reserved1, "reserved1");
      is_zero(Rule::kReservedBits, barrier.reserved2, "reserved2");
      break;
    }
    default:
      break;
  }
}

void check_grid(const Subject& subject, const hsa_kernel_dispatch_packet_t& dispatch) {
  const uint32_t dimensions =
      dispatch.setup & ((1u << HSA_KERNEL_DISPATCH_PACKET_SETUP_WIDTH_DIMENSIONS) - 1);
  if (dimensions < 1 || dimensions > 3)
    return subject.report(Rule::kGrid, fmt::format("invalid number of dimensions {}", dimensions));
  const uint32_t grid[] = {dispatch.grid_size_x, dispatch.grid_size_y, dispatch.grid_size_z};
  const uint32_t group[] = {dispatch.workgroup_size_x, dispatch.workgroup_size_y, dispatch.workgroup_size_z};
  const Agent* const agent = subject.queue.agent;
  uint64_t in_group = 1;
  for (uint32_t i = 0; i < 3; ++i) {
    const char axis = static_cast<char>('x' + i);
    if (grid[i] == 0 || group[i] == 0) {
      return subject.report(
          Rule::kGrid, fmt::format("invalid size 0 in {}: grid {}, work-group {}", axis, grid[i], group[i]));
    }
    if (i >= dimensions && (grid[i] != 1 || group[i] != 1)) {
      return subject.report(Rule::kGrid,
                            fmt::format("{} dimensions, but the size in {} is not 1: grid {}, work-group {}",
                                        dimensions, axis, grid[i], group[i]));
    }
    in_group *= group[i];
    if (agent == nullptr) continue;
    if (group[i] > agent->workgroup_dim[i]) {
      subject.report(Rule::kGridLimit,
                     fmt::format("work-group of {} work-items in {}: the maximum of {} is {}", group[i], axis,
                                 agent->name, agent->workgroup_dim[i]));
    }
    if (grid[i] > agent->grid_dim[i]) {
      subject.report(Rule::kGridLimit, fmt::format("grid of {} work-items in {}: the maximum of {} is {}",
                                                   grid[i], axis, agent->name, agent->grid_dim[i]));
    }
  }
  if (agent != nullptr && in_group > agent->workgroup_size) {
    subject.report(Rule::kGridLimit, fmt::format("work-group of {} work-items: the maximum of {} is {}",
                                                 in_group, agent->name, agent->workgroup_size));
  }
}

void check_segments(const Subject& subject, const hsa_kernel_dispatch_packet_t& dispatch,
                    const Kernel& kernel) {
  if (dispatch.group_segment_size < kernel.group_size) {
    subject.report(Rule::kGroupSegment,
                   fmt::format("group segment of {} bytes: {} needs {}", dispatch.group_segment_size,
                               kernel.name, kernel.group_size));
  }
  const Agent* const agent = subject.queue.agent;
  if (agent != nullptr && agent->group_bytes != 0 && dispatch.group_segment_size > agent->group_bytes) {
    subject.report(Rule::kGroupSegment,
                   fmt::format("group segment of {} bytes: {} has {}", dispatch.group_segment_size,
                               agent->name, agent->group_bytes));
  }
  if (dispatch.private_segment_size < kernel.private_size) {
    subject.report(Rule::kPrivateSegment,
                   fmt::format("private segment of {} bytes: {} needs {}", dispatch.private_segment_size,
                               kernel.name, kernel.private_size));
  }
}

// Checks the location of the arguments, and the memory that they refer to.
void check_kernarg(const Subject& subject, const hsa_kernel_dispatch_packet_t& dispatch,
                   InFlightPacket& packet) {
  const Kernel& kernel = *packet.kernel;
  Validator& validator = subject.validator;
  const auto address = reinterpret_cast<uint64_t>(dispatch.kernarg_address);
  if (kernel.kernarg_size == 0) return;
  if (address == 0) {
    return subject.report(Rule::kKernargSize, fmt::format("kernarg_address is null: {} needs {} bytes",
                                                          kernel.name, kernel.kernarg_size));
  }
  const uint64_t alignment = std::max(16u, kernel.kernarg_alignment);
  if (address % alignment != 0) {
    subject.report(Rule::kKernargAlignment,
                   fmt::format("kernarg_address {:#x} is not a multiple of {}, which {} requires", address,
                               alignment, kernel.name));
  }
  auto block = validator.memory.find(address);
  if (!block) {
    if (const auto freed = validator.memory.find_freed(address)) {
      subject.report(Rule::kFreedInUse, fmt::format("kernarg_address {:#x} is in freed memory{}{}", address,
                                                    validator.describe(freed->allocated, "created"),
                                                    validator.describe(freed->freed, "freed")));
    }
    return;
  }
  const uint64_t left = block->base + block->size - address;
  if (left < kernel.kernarg_size) {
    subject.report(
        Rule::kKernargSize,
        fmt::format("{} needs {} bytes: from {:#x} to the end of the allocation there are {}{}", kernel.name,
                    kernel.kernarg_size, address, left, validator.describe(block->allocated, "created")));
  }
  const bool readable = block->pool != nullptr && block->pool->on_host && left >= kernel.kernarg_size &&
                        kernel.kernarg_size <= kMaxKernarg;
  packet.blocks.push_back(std::move(*block));
  if (!readable) return;
  packet.kernarg = address;
  packet.kernarg_hash = hash_of_bytes(address, kernel.kernarg_size);
  std::vector<uint64_t> words(kernel.kernarg_size / 8);
  std::memcpy(words.data(), dispatch.kernarg_address, words.size() * 8);
  for (Block& referenced : validator.memory.find_all(words)) {
    if (subject.queue.agent != nullptr && !validator.topology.may_access(*subject.queue.agent, referenced)) {
      subject.report(
          Rule::kNoAccess,
          fmt::format("an argument of {} is in the allocation {:#x} of {} bytes, to which {} has no access{}",
                      kernel.name, referenced.base, referenced.size, subject.queue.agent->name,
                      validator.describe(referenced.allocated, "created")));
    }
    if (referenced.base != packet.blocks.front().base) packet.blocks.push_back(std::move(referenced));
  }
}

void check_dispatch(const Subject& subject, InFlightPacket& packet) {
  const auto& dispatch = packet.packet.as<hsa_kernel_dispatch_packet_t>();
  check_grid(subject, dispatch);
  packet.kernel = subject.validator.kernels.find(dispatch.kernel_object);
  if (packet.kernel == nullptr) {
    return subject.report(
        Rule::kKernelObject,
        fmt::format("{:#x} is not a kernel object of a frozen executable", dispatch.kernel_object));
  }
  const Kernel& kernel = *packet.kernel;
  if (kernel.destroyed.function != nullptr) {
    subject.report(Rule::kKernelObject,
                   fmt::format("the executable of {} is destroyed{}", kernel.name,
                               subject.validator.describe(kernel.destroyed, "destroyed")));
  } else if (subject.queue.agent != nullptr && kernel.agent != subject.queue.agent->handle.handle) {
    const Agent* const kernel_agent = subject.validator.topology.agent(kernel.agent);
    subject.report(Rule::kKernelObject,
                   fmt::format("{} is loaded for {}, but the queue belongs to {}", kernel.name,
                               kernel_agent == nullptr ? "another agent" : kernel_agent->name,
                               subject.queue.agent->name));
  }
  check_segments(subject, dispatch, kernel);
  check_kernarg(subject, dispatch, packet);
}

void report(const Subject& subject, uint64_t completion, const InFlight::Findings& findings) {
  if (!findings.cycle.empty()) {
    std::string text = "circular wait:";
    for (const std::string& member : findings.cycle) text += "\n  " + member;
    subject.report(Rule::kCircle, text);
  }
  if (findings.same_signal > 0) {
    subject.report(Rule::kSignalReused,
                   fmt::format("{} earlier packets will complete the same signal, but its value is {}\n{}",
                               findings.same_signal, findings.value_of_signal,
                               subject.validator.describe(Kind::kSignal, completion)));
  }
  for (const std::string& block : findings.coarse) subject.report(Rule::kCoarseShared, block);
}

// --- The ring ----------------------------------------------------------------------------------------------

// Reads a slot that the program may be writing. The result is valid only if the slot was not
// reserved during the read.
__attribute__((no_sanitize("thread"))) hsatool::Packet read_slot(const hsatool::Packet* slot) {
  hsatool::Packet out;
  const auto* const from = reinterpret_cast<const volatile uint64_t*>(slot);
  auto* const to = reinterpret_cast<uint64_t*>(&out);
  for (size_t i = 0; i < sizeof out / sizeof *to; ++i) to[i] = from[i];
  return out;
}

// A consumed packet keeps its contents until its slot is reserved again. A change before that was written
// after the header had made the packet valid.
void check_taken(Validator& validator, Queue& queue) {
  constexpr uint64_t kMost = 64;
  const auto& core = *validator.host.tables().core_;
  const rigel::MutexLock lock(queue.mutex);
  const uint64_t size = queue.copies.size();
  if (size == 0) return;
  for (uint64_t i = queue.taken - std::min({queue.taken, size, kMost}); i < queue.taken; ++i) {
    hsatool::Packet& copy = queue.copies[i & (size - 1)];
    const hsatool::Packet now = read_slot(&queue.ring()[i & (size - 1)]);
    std::atomic_thread_fence(std::memory_order_acquire);
    // The consumer overwrites the header and the other half of its word.
    if (std::memcmp(now.body + 2, copy.body + 2, sizeof now.body - 2) == 0) continue;
    if (core.hsa_queue_load_write_index_scacquire_fn(queue.queue) > i + size) continue;
    copy = now;
    validator.report(Rule::kHeaderTooEarly, fmt::format("packet {} of queue {}", i, queue.id),
                     "written after its header had become valid and the packet had been taken");
  }
}

void doorbell(Validator& validator, hsatool_call_t& call) {
  const uint64_t signal = word(call, 0);
  Queue* const queue = validator.queues.of_doorbell(signal);
  if (queue == nullptr) return;
  check_taken(validator, *queue);
  const uint64_t rung_index = word(call, 1);
  const auto& core = *validator.host.tables().core_;
  const uint64_t size = queue->queue->size;
  const auto who = [&] { return fmt::format("doorbell of queue {}, packet {}", queue->id, rung_index); };
  const uint64_t write = core.hsa_queue_load_write_index_scacquire_fn(queue->queue);
  if (rung_index >= write) {
    return validator.report(Rule::kUnreservedSlot, who(),
                            fmt::format("write index {}: the last reserved packet is {}", write,
                                        static_cast<int64_t>(write) - 1));
  }
  const uint64_t read = core.hsa_queue_load_read_index_scacquire_fn(queue->queue);
  if (rung_index >= read + size) {
    return validator.report(
        Rule::kOverrun, who(),
        fmt::format(
            "read index {}, ring of {} slots: the packet overwrites packet {}, which has not been taken",
            read, size, rung_index - size));
  }
  const uint32_t first = __atomic_load_n(
      reinterpret_cast<const uint32_t*>(&queue->ring()[rung_index & (size - 1)]), __ATOMIC_ACQUIRE);
  if ((first & 0xff) != HSA_PACKET_TYPE_INVALID) return;
  {
    const rigel::MutexLock lock(queue->mutex);
    if (rung_index < queue->taken) return;  // consumed after the doorbell was rung for a later packet
  }
  if (core.hsa_queue_load_read_index_scacquire_fn(queue->queue) > rung_index) return;
  validator.report(Rule::kHeaderTooLate, who(), "the packet's header is still invalid");
}

// --- Queues ------------------------------------------------------------------------------------------------

// Wraps the error callback of a queue: the tool must know that the queue stopped before the program does.
struct ErrorCallback {
  void (*function)(hsa_status_t, hsa_queue_t*, void*);
  void* data;
};

void queue_failed(hsa_status_t status, hsa_queue_t* queue, void* data) {
  if (const Use use; use) {
    if (Queue* const found = use->queues.of_id(queue->id)) use->stop(*found);
  }
  const auto& callback = *static_cast<const ErrorCallback*>(data);
  callback.function(status, queue, callback.data);
}

// A queue without a callback stays without: the runtime then logs the error.
void wrap_error_callback(void (*&function)(hsa_status_t, hsa_queue_t*, void*), void*& data) {
  if (function == nullptr) return;
  // Never freed, as the time of the last call of a callback is unknown.
  static auto* const callbacks = new std::list<ErrorCallback>;
  static rigel::Mutex mutex;
  const rigel::MutexLock lock(mutex);
  data = &callbacks->emplace_back(ErrorCallback{function, data});
  function = queue_failed;
}

template <class Arguments>
void creating(Validator&, hsatool_call_t& call) {
  auto& arguments = hsatool::arguments<Arguments>(call);
  wrap_error_callback(arguments.callback, arguments.data);
}

// The tool does not modify the program's descriptors. The runtime gets copies, and `created_described` copies
// the queues back.
struct Descriptors {
  hsa_amd_queue_create_desc_t* original;
  std::vector<hsa_amd_queue_create_desc_t> copies;
};

void creating_described(Validator&, hsatool_call_t& call) {
  auto& arguments = hsatool::arguments<hsatool_hsa_amd_queue_create_args_t>(call);
  if (arguments.descs == nullptr || arguments.num_descs == 0) return;
  auto descriptors = std::make_unique<Descriptors>(
      Descriptors{arguments.descs, {arguments.descs, arguments.descs + arguments.num_descs}});
  for (auto& descriptor : descriptors->copies)
    wrap_error_callback(descriptor.callback, descriptor.callback_data);
  arguments.descs = descriptors->copies.data();
  call.data = reinterpret_cast<uint64_t>(descriptors.release());
}

void created_described(Validator&, hsatool_call_t& call) {
  const std::unique_ptr<Descriptors> descriptors(reinterpret_cast<Descriptors*>(call.data));
  if (descriptors == nullptr) return;
  hsatool::arguments<hsatool_hsa_amd_queue_create_args_t>(call).descs = descriptors->original;
  for (size_t i = 0; i < descriptors->copies.size(); ++i)
    descriptors->original[i].queue = descriptors->copies[i].queue;
}

Queue* live_queue(Validator& validator, const hsatool_call_t& call) {
  if (validator.registry.state(Kind::kQueue, word(call, 0)) != State::kLive) return nullptr;
  return validator.queues.of(reinterpret_cast<const hsa_queue_t*>(word(call, 0)));
}

void ending(Validator& validator, hsatool_call_t& call) {
  if (Queue* const queue = live_queue(validator, call)) check_taken(validator, *queue);
}

void inactivating(Validator& validator, hsatool_call_t& call) {
  call.data = reinterpret_cast<uint64_t>(live_queue(validator, call));
}

void inactivated(Validator& validator, hsatool_call_t& call) {
  auto* const queue = reinterpret_cast<Queue*>(call.data);
  if (queue != nullptr && succeeded(call)) validator.stop(*queue);
}

}  // namespace

void check_packet(Validator& validator, Queue& queue, const hsatool::Packet& bytes, uint64_t index) {
  InFlightPacket packet;
  packet.packet = bytes;
  packet.queue = queue.id;
  packet.index = index;
  packet.agent = queue.agent == nullptr ? 0 : queue.agent->handle.handle;
  const Subject subject{validator, queue, index, fmt::format("packet {} of queue {}", index, queue.id)};
  bool completion_is_reported = true;  // whether the runtime reports it to the tool
  switch (bytes.type()) {
    case HSA_PACKET_TYPE_KERNEL_DISPATCH:
      if ((queue.queue->features & HSA_QUEUE_FEATURE_KERNEL_DISPATCH) == 0)
        subject.report(Rule::kUnknownPacket, "kernel dispatch: the queue does not support it");
      check_dispatch(subject, packet);
      break;
    case HSA_PACKET_TYPE_BARRIER_AND:
    case HSA_PACKET_TYPE_BARRIER_OR:
      break;
    case HSA_PACKET_TYPE_AGENT_DISPATCH:
      if ((queue.queue->features & HSA_QUEUE_FEATURE_AGENT_DISPATCH) == 0)
        subject.report(Rule::kUnknownPacket, "agent dispatch: the queue does not support it");
      completion_is_reported = false;
      break;
    case HSA_PACKET_TYPE_VENDOR_SPECIFIC:
      completion_is_reported = bytes.body[0] == HSA_AMD_PACKET_TYPE_BARRIER_VALUE;
      break;
    default:
      subject.report(Rule::kUnknownPacket, fmt::format("unknown packet type {}", bytes.type()));
      return;
  }
  check_reserved(subject, bytes);
  if (!completion_is_reported || queue.stopped.load(std::memory_order_acquire)) return;
  packet.dependencies = dependencies_of(bytes);
  const std::string who = packet.name();
  const uint64_t completion = packet.completion_signal();
  validator.check_handle(Kind::kSignal, completion, who);
  for (const Dependency& dependency : packet.dependencies)
    validator.check_handle(Kind::kSignal, dependency.signal, who);
  report(subject, completion, validator.in_flight.add(std::move(packet)));
}

std::span<const Hooks> packet_hooks() {
  static constexpr Hooks kHooks[] = {
      {HSATOOL_ID_hsa_signal_store_relaxed, doorbell, nullptr},
      {HSATOOL_ID_hsa_signal_store_screlease, doorbell, nullptr},
      {HSATOOL_ID_hsa_signal_silent_store_relaxed, doorbell, nullptr},
      {HSATOOL_ID_hsa_signal_silent_store_screlease, doorbell, nullptr},
      {HSATOOL_ID_hsa_queue_create, creating<hsatool_hsa_queue_create_args_t>, nullptr},
      {HSATOOL_ID_hsa_amd_queue_intercept_create, creating<hsatool_hsa_amd_queue_intercept_create_args_t>,
       nullptr},
      {HSATOOL_ID_hsa_amd_counted_queue_acquire, creating<hsatool_hsa_amd_counted_queue_acquire_args_t>,
       nullptr},
      {HSATOOL_ID_hsa_amd_queue_create, creating_described, created_described},
      {HSATOOL_ID_hsa_queue_destroy, ending, nullptr},
      {HSATOOL_ID_hsa_amd_counted_queue_release, ending, nullptr},
      {HSATOOL_ID_hsa_queue_inactivate, inactivating, inactivated},
  };
  return kHooks;
}

}  // namespace validate
