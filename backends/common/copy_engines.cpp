#include "backends/common/copy_engines.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>

#include "backends/common/blit.hpp"

namespace rigel::gfx {
namespace {

constexpr size_t kToDevice = 0, kFromDevice = 1;
constexpr auto kAskAgainAfter = std::chrono::seconds(1);
/// A box of more rows is not worth a kernel for each.
constexpr uint64_t kRowsMax = 128;

constexpr uint32_t kSystemFences = HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                                   HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
constexpr uint32_t kBarrierBit = 1u << HSA_PACKET_HEADER_BARRIER;
constexpr size_t kBarrierSignals = 5;

amd_signal_t& signal_of(uint64_t handle) {
  return *reinterpret_cast<amd_signal_t*>(handle);
}

int64_t value_of(uint64_t handle) {
  return std::atomic_ref(const_cast<int64_t&>(signal_of(handle).value)).load(std::memory_order_acquire);
}

/// Dependencies that are not there yet.
std::vector<uint64_t> pending(const hsabe_copy_t& copy) {
  std::vector<uint64_t> signals;
  for (uint64_t i = 0; i < copy.dependency_count; ++i) {
    if (value_of(copy.dependencies[i]) != 0) signals.push_back(copy.dependencies[i]);
  }
  return signals;
}

/// A box whose rows, and whose layers, follow each other without gaps is fewer and longer rows.
hsabe_copy_t folded(hsabe_copy_t copy) {
  if (copy.height > 1 && copy.width == copy.source_pitch && copy.width == copy.destination_pitch) {
    copy.width *= copy.height;
    copy.height = 1;
    copy.source_pitch = copy.destination_pitch = copy.width;
  }
  if (copy.depth > 1 && copy.height == 1 && copy.width == copy.source_slice &&
      copy.width == copy.destination_slice) {
    copy.width *= copy.depth;
    copy.depth = 1;
  }
  if (copy.depth > 1 && copy.height == 1) {  // layers of one row are rows
    copy.height = copy.depth;
    copy.depth = 1;
    copy.source_pitch = copy.source_slice;
    copy.destination_pitch = copy.destination_slice;
  }
  return copy;
}

bool is_row(const hsabe_copy_t& copy) {
  return copy.height <= 1 && copy.depth <= 1;
}

SdmaRect rect_of(const hsabe_copy_t& copy) {
  return {.source = copy.source,
          .source_pitch = copy.source_pitch,
          .source_slice = copy.source_slice,
          .destination = copy.destination,
          .destination_pitch = copy.destination_pitch,
          .destination_slice = copy.destination_slice,
          .width = static_cast<uint32_t>(copy.width),
          .height = static_cast<uint32_t>(copy.height),
          .depth = static_cast<uint32_t>(copy.depth)};
}

template <class Packet>
void put(pm4::Slot& slot, const Packet& packet) {
  static_assert(sizeof(packet) == sizeof(slot));
  std::memcpy(slot.data(), &packet, sizeof(slot));
}

void put_barrier(pm4::Slot& slot, std::span<const uint64_t> dependencies, uint64_t completion) {
  hsa_barrier_and_packet_t packet{};
  packet.header = static_cast<uint16_t>(HSA_PACKET_TYPE_BARRIER_AND | kBarrierBit | kSystemFences);
  for (size_t i = 0; i < dependencies.size(); ++i) packet.dep_signal[i].handle = dependencies[i];
  packet.completion_signal.handle = completion;
  put(slot, packet);
}

void put_kernel(pm4::Slot& slot, std::byte* place, const BlitLaunch& launch, uint64_t code, bool wait,
                uint64_t completion) {
  std::memcpy(place, &launch.arguments, sizeof(launch.arguments));
  hsa_kernel_dispatch_packet_t packet{};
  packet.header =
      static_cast<uint16_t>(HSA_PACKET_TYPE_KERNEL_DISPATCH | kSystemFences | (wait ? kBarrierBit : 0));
  packet.setup = 1;
  packet.workgroup_size_x = kBlitGroupSize;
  packet.workgroup_size_y = packet.workgroup_size_z = 1;
  packet.grid_size_x = launch.work_items;
  packet.grid_size_y = packet.grid_size_z = 1;
  packet.kernel_object = code + blit_descriptor_offset(launch.kernel);
  packet.kernarg_address = place;
  packet.completion_signal.handle = completion;
  put(slot, packet);
}

bool engines_wanted(const Device& device) {
  const hsabe_host_t* const host = device.host;
  auto wanted = hsabe::view(host->config->get_string(host->self, hsabe::str("sdma"), hsabe::str("auto")));
  const char* const environment = std::getenv("HSA_ENABLE_SDMA");  // as ROCr takes it
  if (environment != nullptr && std::string_view(environment) == "0") wanted = "off";
  if (environment != nullptr && std::string_view(environment) == "1") wanted = "on";
  if (wanted == "off" || device.has_quirk(kQuirkNoSdma) || device.facts.sdma_engines == 0) return false;
  if (wanted == "on") return true;
  return !device.has_quirk(kQuirkSdmaUnstable) && !device.facts.apu;
}

}  // namespace

CopyEngines::CopyEngines(Device& device) : device_(device), engines_usable_(engines_wanted(device)) {}

CopyEngines::~CopyEngines() = default;

// What copies
// ------------------------------------------------------------------------------------------------

SdmaQueue* CopyEngines::engine(size_t number) {
  if (SdmaQueue* const ready = ready_[number].load(std::memory_order_acquire); ready != nullptr) return ready;
  const std::lock_guard lock(mutex_);
  if (owned_[number] != nullptr) return owned_[number].get();
  const auto now = std::chrono::steady_clock::now();
  if (asked_[number] != decltype(now){} && now - asked_[number] < kAskAgainAfter) return nullptr;
  // Where copies from the host belong on the first engine, it must be the first that is asked for.
  if (device_.has_quirk(kQuirkHostCopyOnEngine0) && number != kToDevice && owned_[kToDevice] == nullptr) {
    owned_[kToDevice] = SdmaQueue::create(device_);
    ready_[kToDevice].store(owned_[kToDevice].get(), std::memory_order_release);
  }
  asked_[number] = now;
  owned_[number] = SdmaQueue::create(device_);
  ready_[number].store(owned_[number].get(), std::memory_order_release);
  return owned_[number].get();
}

SdmaQueue* CopyEngines::engine_for(const hsabe_copy_t& copy) {
  if (!engines_usable_) return nullptr;
  if (copy.engines != 0) {  // as the caller says
    for (size_t i = 0; i < kEngines; ++i) {
      if ((copy.engines >> i & 1) != 0) return engine(i);
    }
    return nullptr;
  }
  // Within the device, kernels are several times as fast.
  if (copy.from_host == 0 && copy.to_host == 0) return nullptr;
  return engine(copy.to_host != 0 ? kFromDevice : kToDevice);
}

hsabe_status_t CopyEngines::service(ServiceQueue** out) {
  if (ServiceQueue* const ready = service_ready_.load(std::memory_order_acquire); ready != nullptr) {
    *out = ready;
    return HSA_STATUS_SUCCESS;
  }
  const std::lock_guard lock(mutex_);
  if (service_ == nullptr) {
    const hsabe_host_t* const host = device_.host;
    const auto code = device_.family.generation->blit_code();
    hsabe_status_t status = Block::allocate(
        host, HSABE_BLOCK_HOST, HSABE_BLOCK_COHERENT | HSABE_BLOCK_EXECUTABLE, code.size_bytes(), blit_code_);
    if (status != HSA_STATUS_SUCCESS) return refuse(host, status, "no memory for the kernels that copy");
    write_blit_code(code, device_.chip, blit_code_.data());
    status = ServiceQueue::create(device_, service_);
    if (status != HSA_STATUS_SUCCESS) return status;
    service_ready_.store(service_.get(), std::memory_order_release);
  }
  *out = service_.get();
  return HSA_STATUS_SUCCESS;
}

// Copies
// -----------------------------------------------------------------------------------------------------

hsabe_status_t CopyEngines::submit(const hsabe_copy_t& asked) {
  if (asked.width == 0 || asked.height == 0 || asked.depth == 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const hsabe_copy_t copy = folded(asked);
  SdmaQueue* const queue = engine_for(copy);
  if (queue != nullptr) {
    const hsabe_status_t status = by_engine(*queue, copy);
    if (status != HSA_STATUS_ERROR_OUT_OF_RESOURCES) return status;
  }
  if (copy.engines != 0) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  return by_kernel(copy);
}

hsabe_status_t CopyEngines::by_engine(SdmaQueue& queue, const hsabe_copy_t& copy) {
  const SdmaEncoder& encoder = queue.encoder();
  const bool row = is_row(copy);
  const bool narrow = copy.width <= UINT32_MAX && copy.height <= UINT32_MAX && copy.depth <= UINT32_MAX;
  const size_t box = row ? 0 : narrow ? encoder.rect_dwords(rect_of(copy)) : 0;
  if (!row && (box == 0 || box > SdmaQueue::kDwordsMax / 2)) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;

  struct Wait {
    uint64_t va;
    int64_t value;
  };
  std::vector<Wait> waits;
  size_t before = 0;
  for (uint64_t i = 0; i < copy.dependency_count; ++i) {
    const int64_t value = value_of(copy.dependencies[i]);
    if (value == 0) continue;
    waits.push_back({reinterpret_cast<uint64_t>(&signal_of(copy.dependencies[i]).value), value});
    before += encoder.wait_zero_dwords(value);
  }
  const bool flush = copy.from_host != 0;
  before += encoder.begin_dwords(flush) + (copy.start_time != 0 ? SdmaEncoder::kTimestampDwords : 0);
  SdmaCompletion completion;
  if (copy.completion != 0) {
    amd_signal_t& signal = signal_of(copy.completion);
    completion.value_va = reinterpret_cast<uint64_t>(&signal.value);
    completion.mailbox_va = signal.event_mailbox_ptr;
    completion.event_id = signal.event_id;
  }
  const size_t after = encoder.end_dwords() + (copy.end_time != 0 ? SdmaEncoder::kTimestampDwords : 0) +
                       encoder.completion_dwords(completion);
  if (before + after > SdmaQueue::kDwordsMax / 4) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;

  // As many packets at a time as a submission holds; what others put in between does no harm.
  const uint64_t bytes_at_a_time =
      (SdmaQueue::kDwordsMax - before - after) / SdmaEncoder::kCopyDwords * uint64_t{encoder.copy_max()};
  uint64_t done = 0;
  do {
    const uint64_t part = row ? std::min(copy.width - done, bytes_at_a_time) : copy.width;
    const bool first = done == 0, last = done + part == copy.width;
    const size_t dwords = (first ? before : 0) + (row ? encoder.copy_dwords(part) : box) + (last ? after : 0);
    queue.submit(dwords, [&](uint32_t* to) {
      if (first) {
        for (const Wait& wait : waits) to = encoder.wait_zero(to, wait.va, wait.value);
        to = encoder.begin(to, flush);
        if (copy.start_time != 0) to = encoder.timestamp(to, copy.start_time);
      }
      to = row ? encoder.copy(to, copy.destination + done, copy.source + done, part)
               : encoder.rect(to, rect_of(copy));
      if (!last) return;
      to = encoder.end(to);
      if (copy.end_time != 0) to = encoder.timestamp(to, copy.end_time);
      encoder.completion(to, completion);
    });
    done += part;
  } while (done < copy.width);
  return HSA_STATUS_SUCCESS;
}

hsabe_status_t CopyEngines::by_kernel(const hsabe_copy_t& copy) {
  const uint64_t rows = copy.height * copy.depth;
  if (rows > kRowsMax) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  ServiceQueue* queue = nullptr;
  if (const hsabe_status_t status = service(&queue); status != HSA_STATUS_SUCCESS)
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;

  const std::vector<uint64_t> waits = pending(copy);
  const size_t barriers = (waits.size() + kBarrierSignals - 1) / kBarrierSignals;
  const size_t start = copy.start_time != 0 ? 1 : 0;
  const size_t end = copy.end_time != 0 ? 1 : 0;
  // One row completes by itself; several, and times, by a barrier behind them.
  const bool plain = rows == 1 && end == 0;
  const size_t slots = barriers + start + rows + end + (plain ? 0 : 1);
  if (slots > ServiceQueue::kSlotsMax) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;

  const Generation& generation = *device_.family.generation;
  const auto stamp = [&](ServiceQueue::Entry& entry, uint64_t va) {
    auto* const words = reinterpret_cast<uint32_t*>(entry.place);
    const uint32_t* const stop = generation.release(words, {.va = va, .data = pm4::ReleaseData::kClock});
    entry.slot = generation.pm4_slot(reinterpret_cast<uint64_t>(words), static_cast<uint32_t>(stop - words),
                                     0, kBarrierBit | kSystemFences);
  };
  const uint32_t cus = device_.facts.compute_units();
  return queue->submit(slots, [&](ServiceQueue::Entry entry) {
    size_t at = entry.number;
    if (at < barriers) {
      const auto some = std::span(waits).subspan(at * kBarrierSignals);
      return put_barrier(entry.slot, some.first(std::min(some.size(), kBarrierSignals)), 0);
    }
    at -= barriers;
    if (at < start) return stamp(entry, copy.start_time);
    at -= start;
    if (at < rows) {
      const uint64_t y = at % copy.height, z = at / copy.height;
      const BlitLaunch launch =
          blit_copy(copy.destination + y * copy.destination_pitch + z * copy.destination_slice,
                    copy.source + y * copy.source_pitch + z * copy.source_slice, copy.width, cus);
      const bool wait = at == 0 && (barriers != 0 || start != 0);
      return put_kernel(entry.slot, entry.place, launch, blit_code_.address(), wait,
                        plain ? copy.completion : 0);
    }
    at -= rows;
    if (at < end) return stamp(entry, copy.end_time);
    put_barrier(entry.slot, {}, copy.completion);
  });
}

hsabe_status_t CopyEngines::fill(uint64_t destination, uint32_t value, uint64_t count, uint64_t completion) {
  if (destination % 4 != 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  ServiceQueue* queue = nullptr;
  if (const hsabe_status_t status = service(&queue); status != HSA_STATUS_SUCCESS)
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  return queue->submit(1, [&](ServiceQueue::Entry entry) {
    if (count == 0) return put_barrier(entry.slot, {}, completion);
    const BlitLaunch launch = blit_fill(destination, value, count, device_.facts.compute_units());
    put_kernel(entry.slot, entry.place, launch, blit_code_.address(), false, completion);
  });
}

void CopyEngines::engines(uint32_t* all, uint32_t* idle) {
  *all = *idle = 0;
  if (!engines_usable_) return;
  for (size_t i = 0; i < kEngines; ++i) {
    const SdmaQueue* const queue = ready_[i].load(std::memory_order_acquire);
    *all |= 1u << i;
    if (queue == nullptr || queue->idle()) *idle |= 1u << i;
  }
}

hsabe_status_t CopyEngines::invalidate_code() {
  if (device_.has_quirk(kQuirkCodeCacheByFirmware)) return HSA_STATUS_SUCCESS;
  ServiceQueue* queue = nullptr;
  if (const hsabe_status_t status = service(&queue); status != HSA_STATUS_SUCCESS) return status;
  uint32_t words[kPm4PacketMax];
  const uint32_t* const end = device_.family.generation->invalidate_code(words);
  const std::span<const uint32_t> packet(words, static_cast<size_t>(end - words));
  bool busy = false;
  hsabe_status_t status = queue->run_pm4(packet, true, &busy);
  if (!busy) return status;
  // A copy in there may wait for a kernel that is only now being loaded. So this does not wait for the copy.
  const std::lock_guard lock(control_mutex_);
  if (control_ == nullptr) {
    status = ServiceQueue::create(device_, control_);
    if (status != HSA_STATUS_SUCCESS) return status;
  }
  return control_->run_pm4(packet, false, &busy);
}

}  // namespace rigel::gfx
