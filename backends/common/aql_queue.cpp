#include "backends/common/aql_queue.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include <hsa/hsa_ext_amd.h>
#include <hsa_plugin/kfd_abi.h>

namespace rigel::gfx {
namespace {

constexpr uint32_t kPacketBytes = 64;

// Reasons by which the processor stops, or asks.
enum Reason : uint64_t {
  kScratchFor64Lanes = 0x1,
  kScratchFor32Lanes = 0x400,
  kScratchUsedOnce = 0x200,
};

// amdkfd's priorities run from 0 to 15.
constexpr uint32_t kPriorities[] = {0, 7, 15};

bool is_gfx8(const Device& device) {
  return device.family.doorbell == HSABE_DOORBELL_INDEX32_LEGACY;
}

}  // namespace

hsa_status_t status_of_inactive(uint64_t reason) {
  const auto has = [&](uint64_t bits) { return (reason & bits) != 0; };
  if (has(0x2)) return HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS;  // dimensions
  if (has(0x4)) return HSA_STATUS_ERROR_INVALID_ALLOCATION;      // group memory
  if (has(0x8)) return HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
  if (has(0x20 | 0x100)) return HSA_STATUS_ERROR_INVALID_PACKET_FORMAT;
  if (has(0x40)) return HSA_STATUS_ERROR_INVALID_ARGUMENT;  // work-group too large
  if (has(0x80)) return static_cast<hsa_status_t>(HSA_STATUS_ERROR_OUT_OF_REGISTERS);
  if (has(0x20000000)) return static_cast<hsa_status_t>(HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION);
  if (has(0x40000000)) return static_cast<hsa_status_t>(HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION);
  if (has(0x80000000)) return HSA_STATUS_ERROR_EXCEPTION;  // a trap
  return HSA_STATUS_ERROR;
}

hsabe_status_t AqlQueue::create(Device& device, const hsabe_queue_desc_t& desc, hsabe_queue_info_t* info) {
  std::unique_ptr<AqlQueue> queue(new AqlQueue(device, desc.cookie));
  void* doorbell = nullptr;
  if (const auto status = queue->start(desc, &doorbell); status != HSA_STATUS_SUCCESS) return status;
  info->amd_queue = queue->queue_;
  info->doorbell = doorbell;
  info->queue = queue.release();
  return HSA_STATUS_SUCCESS;
}

hsabe_status_t AqlQueue::start(const hsabe_queue_desc_t& desc, void** doorbell) {
  const hsabe_host_t* const host = device_.host;
  // A ring that the driver doubles is announced with twice its size.
  ring_bytes_ = desc.packets * kPacketBytes;
  if (device_.has_quirk(kQuirkRingDoubled)) ring_bytes_ *= 2;
  hsabe_status_t status = device_.take_queue_memory(ring_bytes_, memory_);
  if (status != HSA_STATUS_SUCCESS) return refuse(host, status, "no memory for a queue");
  status = host->signal->create(host->self, 0, &inactive_);
  if (status != HSA_STATUS_SUCCESS) return refuse(host, status, "no signal for a queue");
  fill_in(desc);

  const SaveArea save = save_area(device_.family, device_.chip, device_.facts);
  if (memory_.save_area) {
    SaveAreaHeader header{};
    header.debug_offset = save.area_bytes;
    header.debug_bytes = save.debug_bytes;
    std::memcpy(memory_.save_area.data(), &header, sizeof header);
  }
  kfd_create_queue arguments{};
  arguments.ring_base_address = memory_.ring.address();
  arguments.write_pointer_address = reinterpret_cast<uint64_t>(
      is_gfx8(device_) ? &queue_->max_legacy_doorbell_dispatch_id_plus_1 : &queue_->write_dispatch_id);
  arguments.read_pointer_address = reinterpret_cast<uint64_t>(&queue_->read_dispatch_id);
  arguments.ring_size = ring_bytes_;
  arguments.gpu_id = device_.driver.gpu_id;
  arguments.queue_type = KFD_QUEUE_AQL;
  arguments.queue_percentage = KFD_QUEUE_PERCENTAGE_MAX;
  arguments.queue_priority = priority_ = kPriorities[HSABE_PRIORITY_NORMAL];
  arguments.eop_buffer_address = memory_.end_of_pipe.address();
  arguments.eop_buffer_size = memory_.end_of_pipe.size();
  if (memory_.save_area) {
    arguments.ctx_save_restore_address = memory_.save_area.address();
    arguments.ctx_save_restore_size = save.area_bytes;
    arguments.ctl_stack_size = save.control_stack_bytes;
  }
  if (const int32_t problem = device_.ioctl(KFD_NR_CREATE_QUEUE, arguments); problem != 0) {
    return refuse(host, HSA_STATUS_ERROR_OUT_OF_RESOURCES, "the driver makes no queue: %s",
                  std::strerror(-problem));
  }
  queue_id_ = arguments.queue_id;
  created_ = true;
  if (desc.type == HSA_QUEUE_TYPE_COOPERATIVE) {
    kfd_alloc_queue_gws gws{queue_id_, device_.facts.gws_count, 0, 0};
    if (const int32_t problem = device_.ioctl(KFD_NR_ALLOC_QUEUE_GWS, gws); problem != 0) {
      return refuse(host, HSA_STATUS_ERROR_OUT_OF_RESOURCES, "no barriers for a cooperative queue: %s",
                    std::strerror(-problem));
    }
  }
  *doorbell = host->driver->doorbell(host->self, arguments.doorbell_offset, queue_id_);
  if (*doorbell == nullptr) {
    return refuse(host, HSA_STATUS_ERROR_OUT_OF_RESOURCES, "the doorbell cannot be mapped");
  }
  const hsabe_wait_t stopped{inactive_, 0, HSA_SIGNAL_CONDITION_NE, 0};
  status = host->signal->watch(host->self, &stopped, on_inactive, this);
  if (status != HSA_STATUS_SUCCESS) return refuse(host, status, "the queue cannot be watched");
  return HSA_STATUS_SUCCESS;
}

void AqlQueue::fill_in(const hsabe_queue_desc_t& desc) {
  std::memset(memory_.control.data(), 0, memory_.control.size());
  queue_ = reinterpret_cast<amd_queue_t*>(memory_.control.data());
  for (uint32_t i = 0; i < desc.packets; ++i) {
    auto* const packet = reinterpret_cast<uint16_t*>(memory_.ring.data() + size_t{i} * kPacketBytes);
    *packet = HSA_PACKET_TYPE_INVALID;
  }
  hsa_queue_t& queue = queue_->hsa_queue;
  queue.type = desc.type;
  queue.features = HSA_QUEUE_FEATURE_KERNEL_DISPATCH;
  queue.base_address = memory_.ring.data();
  queue.doorbell_signal.handle = desc.doorbell_signal;
  queue.size = desc.packets;
  queue.id = desc.cookie;
  queue_->group_segment_aperture_base_hi = static_cast<uint32_t>(device_.driver.group_aperture >> 32);
  queue_->private_segment_aperture_base_hi = static_cast<uint32_t>(device_.driver.private_aperture >> 32);
  queue_->max_cu_id = device_.facts.compute_units() - 1;
  queue_->max_wave_id = device_.facts.max_waves_per_simd * device_.facts.simds_per_cu - 1;
  queue_->read_dispatch_id_field_base_byte_offset = offsetof(amd_queue_t, read_dispatch_id);
  queue_->queue_properties = AMD_QUEUE_PROPERTIES_IS_PTR64;
  queue_->queue_inactive_signal.handle = inactive_;
  put_scratch({});
  // A hint: kernels of this much will come, so the first of them need not ask.
  if (desc.private_segment_size != UINT32_MAX && desc.private_segment_size != 0) {
    give_scratch(desc.private_segment_size, 64);
  }
}

AqlQueue::~AqlQueue() {
  const hsabe_host_t* const host = device_.host;
  if (created_) {
    kfd_destroy_queue arguments{queue_id_, 0};
    device_.ioctl(KFD_NR_DESTROY_QUEUE, arguments);
  }
  if (inactive_ != 0) {
    host->signal->destroy(host->self, inactive_);
    host->signal->settle(host->self);
  }
  device_.free_scratch(std::move(scratch_));
  if (memory_.control) device_.give_queue_memory(std::move(memory_));
}

// What can be set ----------------------------------------------------------------------------------------

hsabe_status_t AqlQueue::update(uint32_t percentage) {
  kfd_update_queue arguments{memory_.ring.address(), queue_id_, ring_bytes_, percentage, priority_};
  const int32_t problem = device_.ioctl(KFD_NR_UPDATE_QUEUE, arguments);
  if (problem == 0) return HSA_STATUS_SUCCESS;
  return refuse(device_.host, HSA_STATUS_ERROR, "UPDATE_QUEUE: %s", std::strerror(-problem));
}

hsabe_status_t AqlQueue::inactivate() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  return update(0);
}

hsabe_status_t AqlQueue::set_profiling(bool enabled) {
  const std::atomic_ref properties(queue_->queue_properties);
  if (enabled) {
    properties.fetch_or(AMD_QUEUE_PROPERTIES_ENABLE_PROFILING);
  } else {
    properties.fetch_and(~uint32_t{AMD_QUEUE_PROPERTIES_ENABLE_PROFILING});
  }
  return HSA_STATUS_SUCCESS;
}

hsabe_status_t AqlQueue::set_priority(uint32_t priority) {
  if (priority > HSABE_PRIORITY_HIGH) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const std::lock_guard lock(mutex_);
  const uint32_t before = std::exchange(priority_, kPriorities[priority]);
  const hsabe_status_t status = update(stopped_ ? 0 : KFD_QUEUE_PERCENTAGE_MAX);
  if (status != HSA_STATUS_SUCCESS) priority_ = before;
  return status;
}

hsabe_status_t AqlQueue::set_cu_mask(uint32_t bits, const uint32_t* mask) {
  const uint32_t cus = device_.facts.compute_units();
  const uint32_t words = (cus + 31) / 32;
  std::vector<uint32_t> full(words);
  for (uint32_t cu = 0; cu < cus; ++cu) {
    if (bits == 0 || (cu / 32 < bits / 32 && (mask[cu / 32] >> cu % 32 & 1) != 0))
      full[cu / 32] |= 1u << cu % 32;
  }
  // RDNA's compute units come in pairs, which run a kernel together or not at all.
  if (device_.facts.version.major >= 10) {
    for (const uint32_t word : full) {
      if ((word & 0x55555555) != (word >> 1 & 0x55555555)) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
  }
  if (std::all_of(full.begin(), full.end(), [](uint32_t word) { return word == 0; })) {
    return refuse(device_.host, HSA_STATUS_ERROR_INVALID_ARGUMENT, "the mask has none of %u compute units",
                  cus);
  }
  kfd_set_cu_mask arguments{queue_id_, words * 32, reinterpret_cast<uint64_t>(full.data())};
  const int32_t problem = device_.ioctl(KFD_NR_SET_CU_MASK, arguments);
  if (problem == 0) return HSA_STATUS_SUCCESS;
  return refuse(device_.host, HSA_STATUS_ERROR, "SET_CU_MASK: %s", std::strerror(-problem));
}

// What the processor says --------------------------------------------------------------------------------

bool AqlQueue::on_inactive(hsa_signal_value_t value, void* self) {
  return static_cast<AqlQueue*>(self)->serve(static_cast<uint64_t>(value));
}

const hsa_kernel_dispatch_packet_t& AqlQueue::current_packet() const {
  const uint64_t index =
      std::atomic_ref(const_cast<uint64_t&>(queue_->read_dispatch_id)).load(std::memory_order_acquire);
  return reinterpret_cast<const hsa_kernel_dispatch_packet_t*>(
      memory_.ring.data())[index & (queue_->hsa_queue.size - 1)];
}

bool AqlQueue::serve(uint64_t reason) {
  const hsabe_host_t* const host = device_.host;
  if (reason == kScratchFor64Lanes || reason == kScratchFor32Lanes) {
    const uint32_t lanes = reason == kScratchFor32Lanes ? 32 : 64;
    const uint64_t wanted = current_packet().private_segment_size;
    if (!give_scratch(wanted, lanes)) {
      stop_with(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
      return false;
    }
  } else if (reason == kScratchUsedOnce) {
    take_scratch();
  } else {
    stop_with(status_of_inactive(reason));
    return false;
  }
  host->signal->store(host->self, inactive_, 0);  // the processor goes on
  return true;
}

void AqlQueue::stop_with(hsa_status_t status) {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    update(0);
  }
  device_.host->events->queue_error(device_.host->self, cookie_, status);
}

bool AqlQueue::give_scratch(uint64_t private_bytes, uint32_t lanes) {
  const std::lock_guard lock(mutex_);
  // The processor waits for it, so nothing uses what there was.
  device_.free_scratch(std::move(scratch_));
  ScratchPlan plan = plan_scratch(device_.facts, private_bytes, lanes);
  while (plan.waves != 0 && device_.allocate_scratch(plan.bytes(), scratch_) != HSA_STATUS_SUCCESS) {
    plan = halved(device_.facts, plan);  // fewer waves at a time are slower, not wrong
  }
  put_scratch(plan);
  return plan.waves != 0;
}

void AqlQueue::take_scratch() {
  const std::lock_guard lock(mutex_);
  device_.free_scratch(std::move(scratch_));
  put_scratch({});
}

void AqlQueue::put_scratch(const ScratchPlan& plan) {
  const uint64_t address = scratch_ ? scratch_.address() : 0;
  const auto descriptor = scratch_descriptor(device_.facts.version.major, address, plan.bytes());
  std::copy(descriptor.begin(), descriptor.end(), queue_->scratch_resource_descriptor);
  queue_->compute_tmpring_size = plan.waves == 0 ? 0 : tmpring_size(plan);
  queue_->scratch_backing_memory_location = scratch_ ? address - device_.scratch_base() : 0;
  queue_->scratch_backing_memory_byte_size = plan.waves == 0 ? 0 : plan.bytes();
  queue_->scratch_wave64_lane_byte_size = plan.waves == 0 ? 0 : plan.lane_bytes();
  queue_->queue_properties &= ~uint32_t{AMD_QUEUE_PROPERTIES_USE_SCRATCH_ONCE};
}

}  // namespace rigel::gfx
