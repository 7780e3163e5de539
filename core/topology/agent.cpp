#include "core/topology/agent.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "api/support/backend_report.hpp"
#include "api/support/clock.hpp"
#include "api/support/query.hpp"

namespace rigel {
Status Cache::info(hsa_cache_info_t attribute, void* value) const {
  if (value == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  switch (static_cast<uint32_t>(attribute)) {
    case HSA_CACHE_INFO_NAME_LENGTH:
      return answer(value, static_cast<uint32_t>(name.size()));
    case HSA_CACHE_INFO_NAME:
      return answer(value, name.c_str());  // the pointer, as in ROCr
    case HSA_CACHE_INFO_LEVEL:
      return answer(value, level);
    case HSA_CACHE_INFO_SIZE:
      return answer(value, size);
  }
  return HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

Agent::Agent(Node node, const LoadedBackend& backend, const hsabe_host_t& host, Capabilities capabilities,
             std::vector<const Isa*> isas, AgentLimits limits)
    : node_(std::move(node)),
      backend_(backend),
      host_(host),
      capabilities_(std::move(capabilities)),
      limits_(std::move(limits)),
      isas_(std::move(isas)) {
  for (const hsabe_cache_t& cache : capabilities_.caches) {
    caches_.push_back({std::string(cache.name.data, cache.name.size), static_cast<uint8_t>(cache.level),
                       static_cast<uint32_t>(std::min<uint64_t>(cache.size, UINT32_MAX))});
  }
}

Agent::~Agent() {
  if (device_ != nullptr) backend_.device.close(device_);
}

Status Agent::open() {
  const NodeView view(node_);
  void* device = nullptr;  // a failing backend may have written an invalid pointer
  const auto status = static_cast<Status>(backend_.device.open(&host_, view.get(), &device));
  if (status == HSA_STATUS_SUCCESS) device_ = device;
  return status;
}

Status Agent::read_clock(uint64_t& ticks, uint64_t& ticks_per_second) const {
  if (backend_.device.read_clock != nullptr) {
    return static_cast<Status>(backend_.device.read_clock(device_, &ticks, &ticks_per_second));
  }
  ticks = system_time_ns();
  ticks_per_second = kSystemClockHz;
  return HSA_STATUS_SUCCESS;
}

void Agent::begin_times(std::function<bool(ClockReading&)> read, ClockKeeper* keeper) {
  if (backend_.device.read_clock == nullptr) return;
  DeviceClock::Source source;
  source.name = fmt::format("{}/{}/{}", node_.bus, node_.node_id, node_.name);
  source.ticks_per_second = [this]() -> uint64_t {
    uint64_t ticks = 0;
    uint64_t frequency = 0;
    return read_clock(ticks, frequency) == HSA_STATUS_SUCCESS ? frequency : 0;
  };
  source.read = read ? std::move(read) : [this](ClockReading& reading) {
    uint64_t frequency = 0;
    reading.earliest_ns = system_time_ns();
    const Status status = read_clock(reading.ticks, frequency);
    reading.latest_ns = system_time_ns();
    return status == HSA_STATUS_SUCCESS;
  };
  clock_ = std::make_unique<DeviceClock>(std::move(source), keeper);
}

bool Agent::trim() const {
  return backend_.device.trim != nullptr && backend_.device.trim(device_) != 0;
}

Status Agent::set_scratch_limit(uint64_t bytes) const {
  if (is_cpu()) return fail(HSA_STATUS_ERROR_INVALID_AGENT, "agent: a CPU has no scratch memory");
  if (backend_.device.set_scratch_limit == nullptr)
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "agent: its queues do not release scratch memory");
  const hsabe_status_t status = backend_.device.set_scratch_limit(device_, bytes);
  if (status == HSA_STATUS_SUCCESS) return HSA_STATUS_SUCCESS;
  return backend_report::refused("agent: the scratch memory limit cannot be set", status);
}

void Agent::scratch_limits(uint64_t& most, uint64_t& now) const {
  most = now = 0;
  if (backend_.device.scratch_limits != nullptr) backend_.device.scratch_limits(device_, &most, &now);
}

}  // namespace rigel
