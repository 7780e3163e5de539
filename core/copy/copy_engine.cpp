#include "core/copy/copy_engine.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <new>
#include <vector>

#include "api/support/clock.hpp"
#include "api/support/mutex.hpp"
#include "api/support/page_size.hpp"
#include "core/copy/block_copy.hpp"
#include "core/signal/parker.hpp"

namespace rigel {
namespace {

// Up to this size the host copies on the calling thread, because handing over takes longer.
constexpr size_t kInlineBytes = 8 << 10;
// From this size on, several threads share a copy, in pieces large enough for the block move.
constexpr size_t kShareBytes = 8 << 20;
constexpr size_t kPieceBytes = 4 << 20;
constexpr size_t kBounceBytes = 4 << 20;
constexpr unsigned kMostThreads = 2;

unsigned thread_count() {
  const long processors = sysconf(_SC_NPROCESSORS_ONLN);
  return processors > 1 ? kMostThreads : 1;
}

bool overlap(const BoxSide& a, const BoxSide& b) {
  const auto a_start = reinterpret_cast<uintptr_t>(a.start);
  const auto b_start = reinterpret_cast<uintptr_t>(b.start);
  return a_start < b_start + b.extent && b_start < a_start + a.extent;
}

Box row(void* destination, const void* source, size_t size) {
  auto* from = static_cast<unsigned char*>(const_cast<void*>(source));
  return {{static_cast<unsigned char*>(destination), size, 0, size}, {from, size, 0, size}, size, 1, 1};
}

// Whether the range ends in the allocation's last page, all of which belongs to the allocation.
bool ends_in_page(const void* ptr, size_t size, const Placement& placement) {
  const size_t offset = reinterpret_cast<uintptr_t>(ptr) - placement.base;
  const size_t usable = page_up(placement.size);
  return size <= usable - offset;
}

[[gnu::cold]] Status refuse_bounds(const void* ptr, size_t size, const Placement& placement) {
  if (size > PTRDIFF_MAX) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "address {}: a size of {} bytes exceeds the address space",
                ptr, size);
  }
  return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT,
              "address {}: {} bytes exceed the allocation, which has {} bytes", ptr, size, placement.size);
}

// Rejects ranges beyond the end of an allocation. Outside allocations, only checks that the range is less
// than half of the address space.
inline Status check_bounds(const void* ptr, size_t size, const Placement& placement) {
  const bool known = placement.type == HSA_EXT_POINTER_TYPE_HSA;
  if (size <= PTRDIFF_MAX && (!known || ends_in_page(ptr, size, placement))) [[likely]]
    return HSA_STATUS_SUCCESS;
  return refuse_bounds(ptr, size, placement);
}

uint32_t pieces_of(const Box& box) {
  const size_t bytes = box.width * box.rows();
  // Contents are undefined if the sides overlap; a memmove in one piece is the best result.
  if (bytes < kShareBytes || overlap(box.destination, box.source)) return 1;
  const size_t pieces = bytes / kPieceBytes;
  return static_cast<uint32_t>(
      std::min(box.rows() == 1 ? pieces : std::min(pieces, box.rows()), size_t{1} << 16));
}

// Copies one piece of a host copy.
void copy_piece(const Box& box, uint32_t index, uint32_t pieces) {
  const size_t units = box.rows() == 1 ? box.width : box.rows();
  const auto edge = [&](size_t i) { return units / pieces * i + std::min<size_t>(i, units % pieces); };
  const size_t begin = edge(index);
  const size_t count = edge(index + 1) - begin;
  if (box.rows() == 1) {
    copy_bytes(box.destination.start + begin, box.source.start + begin, count);
  } else {
    copy_rows(box, begin, count);
  }
}

void stamp(Signal& completion, uint64_t start, uint64_t end) {
  completion.set_clock_owner(nullptr);
  completion.copy_start_ts = start;
  completion.copy_end_ts = end;
}

// A copy whose caller waits for it, with the help of the copy threads.
class SharedCopy final : public CopyTask {
 public:
  explicit SharedCopy(const Box& box) : CopyTask(pieces_of(box)), box_(box), pieces_(pieces_of(box)) {}
  void wait() noexcept { done_.park(UINT64_MAX); }

 private:
  void run(uint32_t index) noexcept override { copy_piece(box_, index, pieces_); }
  void finish() noexcept override {
    const void* address = done_.address();
    if (done_.post() == Parker::Wake::kOnWord) futex_wake_one(address);
  }

  const Box box_;
  const uint32_t pieces_;
  Parker done_{Parker::Until::kFirst};
};

}  // namespace

/// An asynchronous copy, from its submission to its completion. Deletes itself when it is complete.
class CopyEngine::Job final : public PendingOperation, public CopyTask {
 public:
  Job(CopyEngine& engine, const Box& box, const Route& route, uint32_t engines, Signal& completion,
      bool profiled, std::vector<Signal*> dependencies)
      : PendingOperation(std::move(dependencies)),
        CopyTask(route.device == nullptr ? pieces_of(box) : 1),
        engine_(engine),
        box_(box),
        pieces_(route.device == nullptr ? pieces_of(box) : 1),
        route_(route),
        engines_(engines),
        completion_(&completion),
        profiled_(profiled) {}

 private:
  void ready(Status status) noexcept override {
    if (status != HSA_STATUS_SUCCESS) return complete(status);
    DeviceCopier* const device = route_.device;
    if (Signal* const completion = completion_.signal();
        completion != nullptr && device != nullptr && route_.reader == nullptr) {
      // All dependencies are satisfied, so the device can copy.
      if (profiled_) completion->set_clock_owner(device);
      const auto taken = device->submit({box_, {}, completion, engines_, profiled_, {}});
      if (!taken) return complete(taken.error());
      if (*taken) {
        delete this;
        return;
      }
    }
    const bool small = device == nullptr && box_.width * box_.rows() <= kInlineBytes;
    if (!small && engine_.threads_.submit(*this)) return;
    for (uint32_t i = 0; i < pieces_; ++i) run(i);
    finish();
  }

  void run(uint32_t index) noexcept override try {
    if (profiled_) {
      uint64_t none = 0;
      start_ns_.compare_exchange_strong(none, system_time_ns(), std::memory_order_relaxed);
    }
    if (route_.device == nullptr) {
      copy_piece(box_, index, pieces_);
    } else if (box_.rows() == 1) {
      status_ = copy_by_devices(route_, box_.destination.start, box_.source.start, box_.width);
    } else {
      status_ = route_.device->copy_box(box_);
    }
  } catch (const std::bad_alloc&) {
    status_ = HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  }

  void finish() noexcept override { complete(status_); }

  void complete(Status status) noexcept {
    if (status != HSA_STATUS_SUCCESS) {
      log_message(LogLevel::kInfo, LogTopic::kMemory,
                  "asynchronous copy: it or a copy that it depends on failed with status {:#x}",
                  static_cast<unsigned>(status));
    } else if (Signal* const completion = completion_.signal(); completion != nullptr && profiled_) {
      stamp(*completion, start_ns_.load(std::memory_order_relaxed), system_time_ns());
    }
    completion_.complete(status);
    delete this;
  }

  CopyEngine& engine_;
  const Box box_;
  const uint32_t pieces_;
  const Route route_;
  const uint32_t engines_;
  const Completion completion_;
  const bool profiled_;
  Status status_ = HSA_STATUS_SUCCESS;
  std::atomic<uint64_t> start_ns_{0};
};

CopyEngine::CopyEngine(const AgentDirectory& agents, const PointerMap& memory)
    : agents_(agents), memory_(memory), threads_(thread_count()) {}

CopyEngine::~CopyEngine() = default;

void CopyEngine::add_device(hsa_agent_t agent, std::unique_ptr<DeviceCopier> copier) {
  devices_.push_back({agent, std::move(copier)});
}

DeviceCopier* CopyEngine::device_of(hsa_agent_t agent) const noexcept {
  for (const Device& device : devices_) {
    if (device.agent.handle == agent.handle) return device.copier.get();
  }
  return nullptr;
}

/// Ordinary host memory is not tracked; an invalid access shows up as a fault.
bool CopyEngine::may_be_reached(hsa_agent_t agent, const void* ptr, size_t size,
                                const Placement& placement) const {
  if (placement.type == HSA_EXT_POINTER_TYPE_UNKNOWN) return true;
  // The rest of an allocation's last page belongs to it.
  const size_t known = placement.base + placement.size - reinterpret_cast<uintptr_t>(ptr);
  return memory_.reach(agent, ptr, std::min(size, known)).has_value();
}

bool CopyEngine::reaches_both(hsa_agent_t agent, const Side& destination, const Side& source) const {
  return memory_.reach(agent, destination.start, destination.size) &&
         memory_.reach(agent, source.start, source.size);
}

/// Selects the agent that copies. Null agents are the owners of the memory. Fails with `refusal` if no agent
/// can access both sides.
///
/// Inlined where most copies are submitted. Passing a route and its sides through memory takes a tenth of the
/// time of a submission.
[[gnu::always_inline]] inline Result<CopyEngine::Route> CopyEngine::find_route(Side destination, Side source,
                                                                               Status refusal) const {
  // Structures are initialised once, member by member: clearing them first would take longer than the rest.
  const Placement to = memory_.locate(destination.start, destination.size);
  const Placement from = memory_.locate(source.start, source.size);
  if (!is_agent(destination.agent, to.owner) || !is_agent(source.agent, from.owner))
    return error(HSA_STATUS_ERROR_INVALID_AGENT);
  Status status = check_bounds(destination.start, destination.size, to);
  if (status == HSA_STATUS_SUCCESS) status = check_bounds(source.start, source.size, from);
  if (status != HSA_STATUS_SUCCESS) return error(status);

  if (destination.agent.handle == 0) destination.agent = to.owner;
  if (source.agent.handle == 0) source.agent = from.owner;
  // Of two devices, one or none may have access to the other's memory.
  DeviceCopier* const reader = from.in_host ? nullptr : device_of(from.owner);
  DeviceCopier* const writer = to.in_host ? nullptr : device_of(to.owner);
  const bool peers = reader != nullptr && writer != nullptr && reader != writer;
  for (const hsa_agent_t agent : {source.agent, destination.agent, from.owner, to.owner}) {
    DeviceCopier* const device = agent.handle == from.owner.handle ? reader
                                 : agent.handle == to.owner.handle ? writer
                                                                   : device_of(agent);
    if (device == nullptr || (peers && !reaches_both(agent, destination, source))) continue;
    const auto direct = [](const Placement& side) { return side.type == HSA_EXT_POINTER_TYPE_HSA; };
    return Route{device, agent, {true, from.in_host, to.in_host, direct(from) && direct(to)}};
  }
  if (peers) return Route{.device = writer, .reader = reader};
  if (to.host_writes && from.host_reads)
    return Route{.destination_to_host = to.to_host, .source_to_host = from.to_host};
  return fail(refusal, "copy from {} to {}: no agent can access both", source.start, destination.start);
}

Result<CopyEngine::Route> CopyEngine::route(const Side& destination, const Side& source,
                                            Status refusal) const {
  return find_route(destination, source, refusal);
}

Status CopyEngine::memory_copy(void* dst, const void* src, size_t size) {
  if (dst == nullptr || src == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (size == 0) return HSA_STATUS_SUCCESS;
  const auto way = route({dst, size, {}}, {src, size, {}}, HSA_STATUS_ERROR_INVALID_ALLOCATION);
  if (!way) return way.error();
  if (way->device != nullptr) return copy_by_devices(*way, dst, src, size);
  dst = static_cast<unsigned char*>(dst) + way->destination_to_host;
  src = static_cast<const unsigned char*>(src) + way->source_to_host;
  if (size < kShareBytes) {
    copy_bytes(dst, src, size);
  } else {
    SharedCopy copy(row(dst, src, size));
    threads_.share(copy);
    copy.wait();
  }
  return HSA_STATUS_SUCCESS;
}

Status CopyEngine::memory_copy_box(const Box& box) {
  if (box.empty()) return HSA_STATUS_SUCCESS;
  const auto dense = [&](const BoxSide& side) {
    return (box.rows() == 1 || side.pitch == box.width) &&
           (box.depth == 1 || side.slice == box.width * box.height);
  };
  if (dense(box.destination) && dense(box.source))
    return memory_copy(box.destination.start, box.source.start, box.width * box.rows());
  const Side destination{box.destination.start, box.destination.extent, {}};
  const Side source{box.source.start, box.source.extent, {}};
  const auto way = route(destination, source, HSA_STATUS_ERROR_INVALID_ALLOCATION);
  if (!way) return way.error();
  if (way->device == nullptr) {
    Box of_host = box;
    of_host.destination.start += way->destination_to_host;
    of_host.source.start += way->source_to_host;
    copy_rows(of_host, 0, box.rows());
    return HSA_STATUS_SUCCESS;
  }
  if (way->reader == nullptr) {
    // Keeps the memory locked during the copy: another thread may unlock it.
    const auto written = memory_.reach(way->agent, destination.start, destination.size);
    const auto read = memory_.reach(way->agent, source.start, source.size);
    if (written && read) return way->device->copy_box(box);
  }
  // Memory that the device cannot access, or two devices: each row is routed separately.
  for (size_t layer = 0; layer < box.depth; ++layer) {
    for (size_t row = 0; row < box.height; ++row) {
      const Status status =
          memory_copy(box.destination.start + layer * box.destination.slice + row * box.destination.pitch,
                      box.source.start + layer * box.source.slice + row * box.source.pitch, box.width);
      if (status != HSA_STATUS_SUCCESS) return status;
    }
  }
  return HSA_STATUS_SUCCESS;
}

/// Copies a row by the route's device, or through the host between devices without access to each other's
/// memory.
Status CopyEngine::copy_by_devices(const Route& route, void* dst, const void* src, size_t size) {
  if (route.reader == nullptr) return route.device->copy(dst, src, size);
  std::vector<unsigned char> bounce(std::min(size, kBounceBytes));
  for (size_t at = 0; at < size; at += bounce.size()) {
    const size_t part = std::min(bounce.size(), size - at);
    Status status = route.reader->copy(bounce.data(), static_cast<const unsigned char*>(src) + at, part);
    if (status == HSA_STATUS_SUCCESS)
      status = route.device->copy(static_cast<unsigned char*>(dst) + at, bounce.data(), part);
    if (status != HSA_STATUS_SUCCESS) return status;
  }
  return HSA_STATUS_SUCCESS;
}

Status CopyEngine::memory_fill(void* ptr, uint32_t value, size_t count) {
  if (ptr == nullptr || reinterpret_cast<uintptr_t>(ptr) % sizeof value != 0) {
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  if (count == 0) return HSA_STATUS_SUCCESS;
  const Placement placement = memory_.locate(ptr, count * sizeof value);
  if (placement.type == HSA_EXT_POINTER_TYPE_UNKNOWN || count > PTRDIFF_MAX / sizeof value ||
      !placement.has(ptr, count * sizeof value)) {
    return fail(HSA_STATUS_ERROR_INVALID_ALLOCATION, "address {}: {} words are not within one allocation",
                ptr, count);
  }
  if (DeviceCopier* device = device_of(placement.owner)) return device->fill(ptr, value, count);
  if (!placement.host_writes) {
    return fail(HSA_STATUS_ERROR_INVALID_ALLOCATION, "address {}: no agent can fill this memory", ptr);
  }
  fill_words(static_cast<unsigned char*>(ptr) + placement.to_host, value, count);
  return HSA_STATUS_SUCCESS;
}

/// Whether a caller's agent is valid or null. It is nearly always the memory's owner.
inline bool CopyEngine::is_agent(hsa_agent_t agent, hsa_agent_t owner) const noexcept {
  return agent.handle == 0 || agent.handle == owner.handle || agents_.find(agent) != nullptr;
}

/// Looks up the signals of an asynchronous copy without accessing their values.
inline Status CopyEngine::find(Signals& signals) {
  if (signals.count > 0 && signals.dependencies == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  for (uint32_t i = 0; i < signals.count; ++i) {
    Signal* signal = find_user_signal(signals.dependencies[i]);
    if (signal == nullptr)
      return fail(HSA_STATUS_ERROR_INVALID_SIGNAL, "dependency signal {}: invalid handle {:#x}", i,
                  signals.dependencies[i].handle);
    signals.ready = signals.ready && signal->load<std::memory_order_acquire>() == 0;
  }
  signals.completion = find_user_signal(signals.handle);
  if (signals.completion == nullptr)
    return fail(HSA_STATUS_ERROR_INVALID_SIGNAL, "completion signal {:#x}: invalid handle",
                signals.handle.handle);
  return HSA_STATUS_SUCCESS;
}

/// Starts a validated copy of a row. An empty row is ignored: its completion signal does not change.
[[gnu::always_inline]] inline Status CopyEngine::submit_row(void* dst, const void* src, size_t size,
                                                            const Route& route, uint32_t engines,
                                                            Signals& signals) {
  const Status status = find(signals);
  if (status != HSA_STATUS_SUCCESS || size == 0) return status;
  if (route.device != nullptr && route.reader == nullptr && signals.ready && engines == 0 &&
      !profiling_.load(std::memory_order_relaxed)) {
    const auto taken = route.device->submit_row(dst, src, size, route.sides, *signals.completion);
    if (!taken) return taken.error();
    if (*taken) return HSA_STATUS_SUCCESS;
  }
  return submit(row(dst, src, size), route, engines, signals);
}

Status CopyEngine::memory_async_copy(void* dst, hsa_agent_t dst_agent, const void* src, hsa_agent_t src_agent,
                                     size_t size, uint32_t num_dep_signals, const hsa_signal_t* dep_signals,
                                     hsa_signal_t completion_signal) {
  if (dst == nullptr || src == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  Signals signals{num_dep_signals, dep_signals, completion_signal};
  if (size == 0) {
    if (!is_agent(dst_agent, {}) || !is_agent(src_agent, {})) return HSA_STATUS_ERROR_INVALID_AGENT;
    return find(signals);
  }
  const auto way = find_route({dst, size, dst_agent}, {src, size, src_agent}, HSA_STATUS_ERROR_INVALID_AGENT);
  if (!way) return way.error();
  return submit_row(dst, src, size, *way, 0, signals);
}

Status CopyEngine::memory_async_copy_on_engine(void* dst, hsa_agent_t dst_agent, const void* src,
                                               hsa_agent_t src_agent, size_t size, uint32_t num_dep_signals,
                                               const hsa_signal_t* dep_signals,
                                               hsa_signal_t completion_signal,
                                               hsa_amd_sdma_engine_id_t engine_id, bool force_copy_on_sdma) {
  if (dst == nullptr || src == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const auto way = route({dst, size, dst_agent}, {src, size, src_agent}, HSA_STATUS_ERROR_INVALID_AGENT);
  if (!way) return way.error();
  const auto engine = static_cast<uint32_t>(engine_id);
  const uint32_t all = way->device == nullptr ? 0 : way->device->engines(dst_agent, src_agent).all;
  if (std::popcount(engine) != 1 || (engine & all) == 0) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "copy engine {:#x}: must be exactly one bit of {:#x}",
                engine, all);
  }
  const bool any_way = dst_agent.handle == src_agent.handle && !force_copy_on_sdma;
  Signals signals{num_dep_signals, dep_signals, completion_signal};
  return submit_row(dst, src, size, *way, any_way ? 0 : engine, signals);
}

Status CopyEngine::memory_async_copy_rect(const hsa_pitched_ptr_t* dst, const hsa_dim3_t* dst_offset,
                                          const hsa_pitched_ptr_t* src, const hsa_dim3_t* src_offset,
                                          const hsa_dim3_t* range, hsa_agent_t copy_agent,
                                          hsa_amd_copy_direction_t dir, uint32_t num_dep_signals,
                                          const hsa_signal_t* dep_signals, hsa_signal_t completion_signal) {
  if (dst == nullptr || dst_offset == nullptr || src == nullptr || src_offset == nullptr ||
      range == nullptr) {
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  if (dir != hsaHostToHost && dir != hsaHostToDevice && dir != hsaDeviceToHost && dir != hsaDeviceToDevice) {
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  const auto* agent = agents_.find(copy_agent);
  if (agent == nullptr) return HSA_STATUS_ERROR_INVALID_AGENT;
  // A CPU agent copies all memory that the host can access, in any stated direction.
  DeviceCopier* device = nullptr;
  if (agent->facts.type != HSA_DEVICE_TYPE_CPU) {
    if (dir == hsaHostToHost) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    device = device_of(copy_agent);
    if (device == nullptr)
      return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "agent {:#x}: has no copy engine", copy_agent.handle);
  }
  auto box = make_box(*dst, *dst_offset, *src, *src_offset, *range);
  if (!box) return box.error();
  Route way{.device = device};
  if (!box->empty()) {
    const Placement to = memory_.locate(box->destination.start, box->destination.extent);
    const Placement from = memory_.locate(box->source.start, box->source.extent);
    Status status = check_bounds(box->destination.start, box->destination.extent, to);
    if (status == HSA_STATUS_SUCCESS) status = check_bounds(box->source.start, box->source.extent, from);
    if (status != HSA_STATUS_SUCCESS) return status;
    const auto reaches = [&](const BoxSide& side, const Placement& placement) {
      return may_be_reached(copy_agent, side.start, side.extent, placement);
    };
    const bool reached = device == nullptr ? to.host_writes && from.host_reads
                                           : reaches(box->destination, to) && reaches(box->source, from);
    if (!reached) {
      return fail(HSA_STATUS_ERROR_INVALID_AGENT, "copy agent: cannot access both boxes");
    }
    way.destination_to_host = to.to_host;
    way.source_to_host = from.to_host;
  }
  Signals signals{num_dep_signals, dep_signals, completion_signal};
  const Status status = find(signals);
  if (status != HSA_STATUS_SUCCESS || box->empty()) return status;
  return submit(*box, way, 0, signals);
}

/// Starts a validated copy.
Status CopyEngine::submit(Box box, const Route& route, uint32_t engines, const Signals& signals) {
  DeviceCopier* const device = route.device;
  if (device == nullptr) {  // locked memory may be named by an agent's address
    box.destination.start += route.destination_to_host;
    box.source.start += route.source_to_host;
  }

  const bool profiled = profiling_.load(std::memory_order_relaxed);
  if (device == nullptr && signals.ready && box.width * box.rows() <= kInlineBytes) {
    const uint64_t start = profiled ? system_time_ns() : 0;
    copy_piece(box, 0, 1);
    if (profiled) stamp(*signals.completion, start, system_time_ns());
    signals.completion->subtract<std::memory_order_release>(1);
    return HSA_STATUS_SUCCESS;
  }

  std::vector<Signal*> dependencies;
  if (!signals.ready) {
    dependencies.reserve(signals.count);
    for (uint32_t i = 0; i < signals.count; ++i)
      dependencies.push_back(&Signal::of_live(signals.dependencies[i]));
  }
  if (device != nullptr && route.reader == nullptr) {
    if (profiled) signals.completion->set_clock_owner(device);
    const auto taken =
        device->submit({box, dependencies, signals.completion, engines, profiled, route.sides});
    if (!taken) return taken.error();
    if (*taken) return HSA_STATUS_SUCCESS;
  }
  return pending_.start(std::make_unique<Job>(*this, box, route, engines, *signals.completion, profiled,
                                              std::move(dependencies)));
}

/// Returns the copier for a pair of agents, at least one of which must be a device. Null if it has no copy
/// engines.
Result<DeviceCopier*> CopyEngine::copier_between(hsa_agent_t dst_agent, hsa_agent_t src_agent) const {
  const auto* to = agents_.find(dst_agent);
  const auto* from = agents_.find(src_agent);
  if (to == nullptr || from == nullptr || to == from ||
      (to->facts.type == HSA_DEVICE_TYPE_CPU && from->facts.type == HSA_DEVICE_TYPE_CPU)) {
    return error(HSA_STATUS_ERROR_INVALID_AGENT);
  }
  return device_of(from->facts.type == HSA_DEVICE_TYPE_CPU ? dst_agent : src_agent);
}

Status CopyEngine::memory_copy_engine_status(hsa_agent_t dst_agent, hsa_agent_t src_agent,
                                             uint32_t* engine_ids_mask) {
  if (engine_ids_mask == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const auto device = copier_between(dst_agent, src_agent);
  if (!device) return device.error();
  *engine_ids_mask = *device == nullptr ? 0 : (*device)->engines(dst_agent, src_agent).free;
  return *engine_ids_mask == 0 ? HSA_STATUS_ERROR_OUT_OF_RESOURCES : HSA_STATUS_SUCCESS;
}

Status CopyEngine::memory_get_preferred_copy_engine(hsa_agent_t dst_agent, hsa_agent_t src_agent,
                                                    uint32_t* recommended_ids_mask) {
  if (recommended_ids_mask == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const auto device = copier_between(dst_agent, src_agent);
  if (!device) return device.error();
  *recommended_ids_mask = *device == nullptr ? 0 : (*device)->engines(dst_agent, src_agent).preferred;
  return HSA_STATUS_SUCCESS;
}

Status CopyEngine::profiling_async_copy_enable(bool enable) {
  profiling_.store(enable, std::memory_order_relaxed);
  return HSA_STATUS_SUCCESS;
}

Status CopyEngine::profiling_get_async_copy_time(hsa_signal_t signal,
                                                 hsa_amd_profiling_async_copy_time_t* time) {
  if (time == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const Signal* const completed = find_user_signal(signal);
  if (completed == nullptr) {
    return fail(
        HSA_STATUS_ERROR_INVALID_SIGNAL, "signal {:#x}: {}", signal.handle,
        Signal::from_handle(signal) == nullptr ? "invalid handle" : "is a doorbell, which has no copy times");
  }
  if (completed->copy_end_ts == 0) {
    return fail(HSA_STATUS_ERROR, "signal {:#x}: no profiled copy has completed with it", signal.handle);
  }
  *time = {completed->copy_start_ts, completed->copy_end_ts};
  for (const auto& [agent, device] : devices_) {
    if (device.get() != completed->clock_owner()) continue;
    *time = {device->to_system_time(time->start), device->to_system_time(time->end)};
  }
  return HSA_STATUS_SUCCESS;
}

}  // namespace rigel
