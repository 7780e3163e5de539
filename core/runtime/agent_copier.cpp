#include "core/runtime/agent_copier.hpp"

#include <algorithm>
#include <array>

#include "api/support/backend_report.hpp"
#include "core/copy/block_copy.hpp"
#include "core/signal/signal_pool.hpp"
#include "core/signal/wait.hpp"

namespace rigel {
namespace {

// Copies up to this size use the staging buffer, because pinning takes longer.
constexpr size_t kStagedMost = 1 << 20;
// The staging buffer has two halves: the host copies in one and the device in the other.
constexpr size_t kHalfBytes = 128 << 10;

// A signal for a synchronous copy.
class Done {
 public:
  Done() : signal_(signal_pool::create(1)) {}
  ~Done() {
    if (signal_ != nullptr) signal_pool::destroy(*signal_);
  }
  Done(const Done&) = delete;
  Done& operator=(const Done&) = delete;
  Signal* get() const { return signal_; }
  /// Waits for the copy and returns its status. If a copy fails, the device stores the negated status.
  Status wait() {
    const int64_t value = rigel::wait(*signal_, HSA_SIGNAL_CONDITION_LT, 1, kWaitForever, Spin::active());
    return value == 0 ? HSA_STATUS_SUCCESS : static_cast<Status>(-value);
  }

 private:
  Signal* const signal_;
};

}  // namespace

void* AgentCopier::seen(void* ptr, size_t size) const {
  const auto reached = memory_.pointers.reach(agent_.handle(), ptr, size);
  return reached ? reached->address : ptr;
}

hsabe_copy_t AgentCopier::plan(const Box& box, const CopySides& sides) const {
  const auto address = [&](const BoxSide& side) {
    return reinterpret_cast<uint64_t>(sides.direct ? side.start : seen(side.start, side.extent));
  };
  hsabe_copy_t copy{};
  copy.struct_size = sizeof copy;
  copy.destination = address(box.destination);
  copy.source = address(box.source);
  copy.width = box.width;
  copy.height = box.height;
  copy.depth = box.depth;
  if (copy.height != 1 || copy.depth != 1) {
    copy.destination_pitch = box.destination.pitch;
    copy.destination_slice = box.destination.slice;
    copy.source_pitch = box.source.pitch;
    copy.source_slice = box.source.slice;
  }
  copy.from_host = sides.known ? sides.from_host : memory_.pointers.locate(box.source.start).in_host;
  copy.to_host = sides.known ? sides.to_host : memory_.pointers.locate(box.destination.start).in_host;
  return copy;
}

Status AgentCopier::begin(hsabe_copy_t& copy, Signal& completion) {
  copy.completion = completion.handle().handle;
  const hsabe_status_t status = agent_.backend().copy.submit(agent_.device(), &copy);
  if (status == HSA_STATUS_SUCCESS) return HSA_STATUS_SUCCESS;
  return backend_report::refused("device copy", status);
}

Status AgentCopier::run(hsabe_copy_t& copy) {
  Done done;
  if (done.get() == nullptr) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  const Status status = begin(copy, *done.get());
  return status == HSA_STATUS_SUCCESS ? done.wait() : status;
}

// Splits boxes that exceed the device's limit into halves.
Status AgentCopier::copy_box(const Box& box) {
  if (box.rows() == 1) return copy(box.destination.start, box.source.start, box.width);
  hsabe_copy_t whole = plan(box);
  const Status status = run(whole);
  if (status != HSA_STATUS_ERROR_OUT_OF_RESOURCES) return status;
  const bool layers = box.depth > 1;
  size_t Box::*const dimension = layers ? &Box::depth : &Box::height;
  Box first = box, second = box;
  first.*dimension = box.*dimension / 2;
  second.*dimension -= first.*dimension;
  for (BoxSide* side : {&second.destination, &second.source})
    side->start += first.*dimension * (layers ? side->slice : side->pitch);
  const Status half = copy_box(first);
  return half == HSA_STATUS_SUCCESS ? copy_box(second) : half;
}

// If the device cannot access the program's memory, the host copies it through the staging buffer, or pins it
// for the device.
Status AgentCopier::copy(void* destination, const void* source, size_t size) {
  auto* to = static_cast<unsigned char*>(destination);
  auto* from = static_cast<unsigned char*>(const_cast<void*>(source));
  auto read = memory_.pointers.reach(agent_.handle(), from, size);
  auto written = memory_.pointers.reach(agent_.handle(), to, size);
  // The program may pass the address at which other agents access locked memory.
  if (!read) from = static_cast<unsigned char*>(memory_.pointers.host_address(from));
  if (!written) to = static_cast<unsigned char*>(memory_.pointers.host_address(to));
  const Placement at_source = memory_.pointers.locate(from, size),
                  at_destination = memory_.pointers.locate(to, size);
  if ((!read && !at_source.host_reads) || (!written && !at_destination.host_writes)) {
    return fail(HSA_STATUS_ERROR_INVALID_ALLOCATION,
                "copy from {} to {}: neither the device nor the host can access both", source, destination);
  }
  const CopySides sides{true, at_source.in_host, at_destination.in_host, true};
  hsabe_copy_t copy = plan({{to, size, 0, size}, {from, size, 0, size}, size, 1, 1}, sides);
  if (read) copy.source = reinterpret_cast<uint64_t>(read->address);
  if (written) copy.destination = reinterpret_cast<uint64_t>(written->address);
  if (read.has_value() != written.has_value() && size <= kStagedMost)
    return copy_staged(copy, to, from, written.has_value());
  if (!read) {
    const auto pinned = memory_.locked.pin(agent_.handle(), from, size);
    if (!pinned) return written ? copy_unpinned(pinned.error(), copy, to, from, true) : pinned.error();
    read = *pinned;
    copy.source = reinterpret_cast<uint64_t>(read->address);
  }
  if (!written) {
    const auto pinned = memory_.locked.pin(agent_.handle(), to, size);
    if (!pinned) return copy_unpinned(pinned.error(), copy, to, from, false);
    written = *pinned;
    copy.destination = reinterpret_cast<uint64_t>(written->address);
  }
  return run(copy);
}

// Copies host memory that cannot be pinned. One case are ranges that the driver already manages for the SVM
// API. The other is memory that the program may only read, such as mapped files: pinning requires write
// access.
Status AgentCopier::copy_unpinned(Status why, hsabe_copy_t& copy, void* destination, const void* source,
                                  bool to_device) {
  if (!LockedMemory::is_mapped(to_device ? source : destination, copy.width)) return why;
  return copy_staged(copy, destination, source, to_device);
}

Status AgentCopier::copy_staged(hsabe_copy_t& copy, void* destination, const void* source, bool to_device) {
  const MutexLock lock(stage_mutex_);
  if (stage_ == nullptr) stage_ = make_stage_(2 * kHalfBytes);
  if (stage_ == nullptr) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  auto* const staging = static_cast<std::byte*>(stage_);
  const size_t size = copy.width;
  const uint64_t device_side = to_device ? copy.destination : copy.source;
  Done done[2];
  if (done[0].get() == nullptr || done[1].get() == nullptr) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  const auto half = [&](size_t at) { return at / kHalfBytes % 2; };
  const auto stage = [&](size_t at) { return staging + half(at) * kHalfBytes; };
  const auto length = [&](size_t at) { return std::min(kHalfBytes, size - at); };
  const auto start = [&](size_t at) -> Status {
    if (to_device) copy_bytes(stage(at), static_cast<const std::byte*>(source) + at, length(at));
    copy.width = length(at);
    copy.source = to_device ? reinterpret_cast<uint64_t>(stage(at)) : device_side + at;
    copy.destination = to_device ? device_side + at : reinterpret_cast<uint64_t>(stage(at));
    done[half(at)].get()->store(1);
    return begin(copy, *done[half(at)].get());
  };
  const auto finish = [&](size_t at) -> Status {
    const Status status = done[half(at)].wait();
    if (!to_device && status == HSA_STATUS_SUCCESS)
      copy_bytes(static_cast<std::byte*>(destination) + at, stage(at), length(at));
    return status;
  };
  // Waits for started copies after a failure, too, because the staging buffer is reused.
  Status result = HSA_STATUS_SUCCESS;
  size_t begun = 0, finished = 0;
  const auto note = [&](Status status) {
    if (result == HSA_STATUS_SUCCESS) result = status;
    return status == HSA_STATUS_SUCCESS;
  };
  while (finished < begun || (begun < size && result == HSA_STATUS_SUCCESS)) {
    const bool room = begun - finished < 2 * kHalfBytes;
    if (begun < size && room && result == HSA_STATUS_SUCCESS) {
      if (note(start(begun))) begun += kHalfBytes;
    } else {
      note(finish(finished));
      finished += kHalfBytes;
    }
  }
  return result;
}

Status AgentCopier::fill(void* destination, uint32_t value, size_t count) {
  if (agent_.backend().copy.fill == nullptr) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  Done done;
  if (done.get() == nullptr) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  const hsabe_status_t status = agent_.backend().copy.fill(
      agent_.device(), reinterpret_cast<uint64_t>(destination), value, count, done.get()->handle().handle);
  if (status != HSA_STATUS_SUCCESS) return backend_report::refused("device fill", status);
  return done.wait();
}

Result<bool> AgentCopier::submit(const DeviceCopyRequest& request) {
  hsabe_copy_t copy = plan(request.box, request.sides);
  std::array<uint64_t, 8> signals;
  for (const Signal* dependency : request.dependencies) {
    if (dependency->load<std::memory_order_acquire>() == 0) continue;
    if (copy.dependency_count == signals.size()) return false;
    signals[copy.dependency_count++] = dependency->handle().handle;
  }
  copy.dependencies = signals.data();
  copy.engines = request.engines;
  if (request.profiled) {
    copy.start_time = reinterpret_cast<uint64_t>(&request.completion->copy_start_ts);
    copy.end_time = reinterpret_cast<uint64_t>(&request.completion->copy_end_ts);
  }
  copy.completion = request.completion->handle().handle;
  return hand_over(copy);
}

Result<bool> AgentCopier::submit_row(void* destination, const void* source, size_t size, CopySides sides,
                                     Signal& completion) {
  // Sets each member separately: the compiler would clear a struct of this size with an instruction whose
  // start-up takes longer than this function.
  hsabe_copy_t copy;
  copy.struct_size = sizeof copy;
  auto* const from = const_cast<void*>(source);
  copy.destination = reinterpret_cast<uint64_t>(sides.direct ? destination : seen(destination, size));
  copy.source = reinterpret_cast<uint64_t>(sides.direct ? from : seen(from, size));
  copy.width = size;
  copy.height = 1;
  copy.depth = 1;
  copy.destination_pitch = copy.destination_slice = copy.source_pitch = copy.source_slice = 0;
  copy.dependencies = nullptr;
  copy.dependency_count = 0;
  copy.completion = completion.handle().handle;
  copy.start_time = copy.end_time = 0;
  copy.from_host = sides.from_host;
  copy.to_host = sides.to_host;
  copy.engines = copy.reserved0 = 0;
  return hand_over(copy);
}

Result<bool> AgentCopier::hand_over(const hsabe_copy_t& copy) {
  const hsabe_status_t status = agent_.backend().copy.submit(agent_.device(), &copy);
  if (status == HSA_STATUS_SUCCESS) [[likely]]
    return true;
  const Status why = backend_report::refused("device copy", status);
  if (why == HSA_STATUS_ERROR_OUT_OF_RESOURCES) return false;
  return error(why);
}

DeviceCopier::Engines AgentCopier::engines(hsa_agent_t, hsa_agent_t) {
  Engines result;
  if (agent_.backend().copy.engines == nullptr) return result;
  agent_.backend().copy.engines(agent_.device(), &result.all, &result.free);
  result.preferred = result.free != 0 ? result.free & -result.free : result.all & -result.all;
  return result;
}

}  // namespace rigel
