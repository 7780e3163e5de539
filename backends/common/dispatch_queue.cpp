#include "backends/common/dispatch_queue.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa_plugin/kfd_abi.h>

#include "api/support/mutex.hpp"
#include "api/support/packet_ring.hpp"
#include "backends/common/doorbell.hpp"
#include "backends/common/generation.hpp"
#include "backends/common/queue_cu_mask.hpp"
#include "backends/common/queue_error.hpp"
#include "backends/common/scratch_keeper.hpp"
#include "backends/common/trap_handler.hpp"

namespace rigel::gfx {
namespace {

// amdkfd's priorities range from 0 to 15.
constexpr uint32_t kPriorities[] = {0, 7, 15};

}  // namespace

hsabe_status_t DispatchQueue::create(Device& device, const hsabe_queue_desc_t& desc, hsabe_queue_info_t* info,
                                     std::function<void(hsa_status_t)> when_stopped) {
  std::unique_ptr<DispatchQueue> queue(new DispatchQueue(device, desc.cookie, std::move(when_stopped)));
  void* doorbell = nullptr;
  if (const auto status = queue->start(desc, &doorbell); status != HSA_STATUS_SUCCESS) return status;
  info->amd_queue = queue->queue_;
  info->doorbell = doorbell;
  if (HSABE_HAS(info, hsabe_queue_info_t, bell)) info->bell = doorbell_call_of(device.host, doorbell);
  info->queue = queue.release();
  return HSA_STATUS_SUCCESS;
}

hsabe_status_t DispatchQueue::start(const hsabe_queue_desc_t& desc, void** doorbell) {
  const hsabe_host_t* const host = device_.host;
  ring_ = aql_ring(device_.family, device_.quirks, desc.packets);
  hsabe_status_t status = device_.take_queue_memory(ring_.mapped_bytes, memory_);
  if (status != HSA_STATUS_SUCCESS) return refuse(host, status, "out of memory for the queue");
  status = host->signal->create(host->self, 0, &inactive_);
  if (status != HSA_STATUS_SUCCESS) return refuse(host, status, "out of signals for the queue");
  fill_in(desc);

  const SaveArea save = save_area(device_.family, device_.chip, device_.facts);
  SaveAreaHeader header{};
  if (device_.driver.exceptions != 0) {
    status = host->signal->create(host->self, 0, &exceptions_);
    if (status != HSA_STATUS_SUCCESS)
      return refuse(host, status, "out of signals for the exceptions of the queue");
    const auto& signal = *reinterpret_cast<const amd_signal_t*>(exceptions_);
    header.error_reason_va = reinterpret_cast<uint64_t>(&signal.value);
    header.error_event_id = signal.event_id;
  }
  // One for each XCC; the debugger's memory for all of them follows the last area.
  const uint32_t xccs = device_.facts.xcc_count;
  header.debug_bytes = save.debug_bytes * xccs;
  for (uint32_t xcc = 0; xcc < xccs; ++xcc) {
    header.debug_offset = (xccs - xcc) * save.area_bytes;
    std::memcpy(memory_.save_area.data() + uint64_t{xcc} * save.area_bytes, &header, sizeof header);
  }
  kfd_create_queue arguments{};
  arguments.ring_base_address = memory_.ring.address();
  arguments.write_pointer_address = memory_.control.address() + ring_.write_index_offset;
  arguments.read_pointer_address = reinterpret_cast<uint64_t>(&queue_->read_dispatch_id);
  arguments.ring_size = static_cast<uint32_t>(ring_.announced_bytes);
  arguments.gpu_id = device_.driver.gpu_id;
  arguments.queue_type = KFD_QUEUE_AQL;
  arguments.queue_percentage = KFD_QUEUE_PERCENTAGE_MAX;
  {
    const MutexLock lock(mutex_);
    arguments.queue_priority = priority_ = kPriorities[HSABE_PRIORITY_NORMAL];
  }
  arguments.eop_buffer_address = memory_.end_of_pipe.address();
  arguments.eop_buffer_size = memory_.end_of_pipe.size();
  arguments.ctx_save_restore_address = memory_.save_area.address();
  arguments.ctx_save_restore_size = save.area_bytes;
  arguments.ctl_stack_size = save.control_stack_bytes;
  if (const int32_t problem = device_.ioctl(KFD_NR_CREATE_QUEUE, arguments); problem != 0) {
    return refuse(host, HSA_STATUS_ERROR_OUT_OF_RESOURCES, "AMDKFD_IOC_CREATE_QUEUE failed: %s",
                  std::strerror(-problem));
  }
  queue_id_ = arguments.queue_id;
  created_ = true;
  if (desc.type == HSA_QUEUE_TYPE_COOPERATIVE) {
    kfd_alloc_queue_gws gws{queue_id_, device_.facts.gws_count, 0, 0};
    if (const int32_t problem = device_.ioctl(KFD_NR_ALLOC_QUEUE_GWS, gws); problem != 0) {
      return refuse(host, HSA_STATUS_ERROR_OUT_OF_RESOURCES,
                    "AMDKFD_IOC_ALLOC_QUEUE_GWS for a cooperative queue failed: %s", std::strerror(-problem));
    }
  }
  *doorbell = host->driver->doorbell(host->self, arguments.doorbell_offset, queue_id_);
  if (*doorbell == nullptr) {
    return refuse(host, HSA_STATUS_ERROR_OUT_OF_RESOURCES, "the doorbell cannot be mapped");
  }
  if (device_.traps() != nullptr) {
    status = device_.traps()->add(*this, queue_, arguments.doorbell_offset);
    if (status != HSA_STATUS_SUCCESS) return refuse(host, status, "errors of its waves cannot be watched");
  }
  const hsabe_wait_t stopped{inactive_, 0, HSA_SIGNAL_CONDITION_NE, 0};
  status = host->signal->watch(host->self, &stopped, on_inactive, this);
  if (status == HSA_STATUS_SUCCESS && exceptions_ != 0) status = watch_exceptions(0);
  if (status != HSA_STATUS_SUCCESS) return refuse(host, status, "errors of the queue cannot be watched");
  device_.scratch().add(*this);
  return HSA_STATUS_SUCCESS;
}

void DispatchQueue::fill_in(const hsabe_queue_desc_t& desc) {
  std::memset(memory_.control.data(), 0, memory_.control.size());
  queue_ = reinterpret_cast<amd_queue_t*>(memory_.control.data());
  for (uint32_t i = 0; i < ring_.packets; ++i) {
    auto* const packet = reinterpret_cast<uint16_t*>(memory_.ring.data() + i * kAqlPacketBytes);
    *packet = HSA_PACKET_TYPE_INVALID;
  }
  hsa_queue_t& queue = queue_->hsa_queue;
  queue.type = desc.type;
  queue.features = HSA_QUEUE_FEATURE_KERNEL_DISPATCH;
  queue.base_address = memory_.ring.data();
  queue.doorbell_signal.handle = desc.doorbell_signal;
  queue.size = ring_.packets;
  queue.id = desc.cookie;
  queue_->group_segment_aperture_base_hi = static_cast<uint32_t>(device_.driver.group_aperture >> 32);
  queue_->private_segment_aperture_base_hi = static_cast<uint32_t>(device_.driver.private_aperture >> 32);
  queue_->max_cu_id = device_.facts.compute_units() - 1;
  queue_->max_wave_id = device_.facts.max_waves_per_simd * device_.facts.simds_per_cu - 1;
  queue_->read_dispatch_id_field_base_byte_offset = offsetof(amd_queue_t, read_dispatch_id);
  queue_->queue_properties = AMD_QUEUE_PROPERTIES_IS_PTR64;
  if (device_.traps() != nullptr) queue_->queue_properties |= AMD_QUEUE_PROPERTIES_ENABLE_TRAP_HANDLER;
  queue_->queue_inactive_signal.handle = inactive_;
  {
    const MutexLock lock(mutex_);
    drop_scratch();
  }
  if (desc.private_segment_size != UINT32_MAX && desc.private_segment_size != 0)
    take_hint(desc.private_segment_size);
}

// Kernels with this private size will follow, so the first of them need not request scratch. It would not
// request it either if there were scratch for a few waves only, and run with those. Therefore allocates for
// every slot, or nothing.
void DispatchQueue::take_hint(uint32_t private_bytes) {
  const auto need = scratch_need(scratch_device(device_), {.private_bytes = private_bytes});
  if (!need || need->device_bytes > device_.scratch().limit()) return;
  Block block;
  if (device_.allocate_scratch(need->device_bytes, block) != HSA_STATUS_SUCCESS) return;
  const MutexLock lock(mutex_);
  scratch_ = std::move(block);
  scratch_waves_ = need->device_waves;
  put_scratch(need->wave_bytes, need->device_bytes, 64, false);
}

DispatchQueue::~DispatchQueue() {
  const hsabe_host_t* const host = device_.host;
  device_.scratch().leave(*this);
  {
    // The driver reuses the queue's number. A handler that is still running must not use it afterwards.
    const MutexLock lock(mutex_);
    ending_ = true;
  }
  if (created_) {
    kfd_destroy_queue arguments{queue_id_, 0};
    device_.ioctl(KFD_NR_DESTROY_QUEUE, arguments);
  }
  if (device_.traps() != nullptr) device_.traps()->remove(*this);
  if (inactive_ != 0) {
    host->signal->destroy(host->self, inactive_);
    if (exceptions_ != 0) host->signal->destroy(host->self, exceptions_);
    host->signal->settle(host->self);
  }
  {
    // Other queues that need scratch can still reclaim this queue's until it is released.
    const MutexLock lock(mutex_);
    device_.free_scratch(std::move(scratch_));
  }
  device_.scratch().remove(*this);
  if (memory_.control) device_.give_queue_memory(std::move(memory_));
}

// Properties that can be set -----------------------------------------------------------------------------

// From Linux 6.12 on, the driver requires one mapping of the announced size, but a doubled ring has two.
// Before Linux 6.19 and its backports, its rejection leaves the address space locked, so the call must not be
// made.
bool DispatchQueue::can_be_updated() const {
  constexpr uint32_t kMinorOfLinux612 = 17;
  return !ring_.doubled || device_.driver.version_minor < kMinorOfLinux612;
}

hsabe_status_t DispatchQueue::update(uint32_t percentage) {
  if (ending_ || (!stopped_ && !can_be_updated())) return HSA_STATUS_ERROR;
  // Without a ring, the call stops the queue.
  kfd_update_queue arguments{stopped_ ? 0 : memory_.ring.address(), queue_id_,
                             static_cast<uint32_t>(ring_.announced_bytes), percentage, priority_};
  const int32_t problem = device_.ioctl(KFD_NR_UPDATE_QUEUE, arguments);
  if (problem == 0) return HSA_STATUS_SUCCESS;
  return refuse(device_.host, HSA_STATUS_ERROR, "AMDKFD_IOC_UPDATE_QUEUE failed: %s",
                std::strerror(-problem));
}

hsabe_status_t DispatchQueue::inactivate() {
  const MutexLock lock(mutex_);
  stopped_ = true;
  return update(0);
}

hsabe_status_t DispatchQueue::set_profiling(bool enabled) {
  const std::atomic_ref properties(queue_->queue_properties);
  if (enabled) {
    properties.fetch_or(AMD_QUEUE_PROPERTIES_ENABLE_PROFILING);
  } else {
    properties.fetch_and(~uint32_t{AMD_QUEUE_PROPERTIES_ENABLE_PROFILING});
  }
  return HSA_STATUS_SUCCESS;
}

hsabe_status_t DispatchQueue::set_priority(uint32_t priority) {
  if (priority > HSABE_PRIORITY_HIGH) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const MutexLock lock(mutex_);
  const uint32_t before = std::exchange(priority_, kPriorities[priority]);
  if (!can_be_updated()) return HSA_STATUS_SUCCESS;  // a priority is a hint
  const hsabe_status_t status = update(stopped_ ? 0 : KFD_QUEUE_PERCENTAGE_MAX);
  if (status != HSA_STATUS_SUCCESS) priority_ = before;
  return status;
}

hsabe_status_t DispatchQueue::set_cu_mask(uint32_t bits, const uint32_t* mask) {
  const uint32_t cus = device_.facts.compute_units();
  CuMask wanted = make_cu_mask({mask, bits / 32}, cus, device_.family.generation->cu_pairs);
  if (wanted.status != HSA_STATUS_SUCCESS) {
    return refuse(device_.host, wanted.status,
                  "the mask selects none of %u compute units, or only one of a pair", cus);
  }
  kfd_set_cu_mask arguments{queue_id_, static_cast<uint32_t>(wanted.words.size() * 32),
                            reinterpret_cast<uint64_t>(wanted.words.data())};
  const int32_t problem = device_.ioctl(KFD_NR_SET_CU_MASK, arguments);
  if (problem != 0) {
    return refuse(device_.host, HSA_STATUS_ERROR, "AMDKFD_IOC_SET_CU_MASK failed: %s",
                  std::strerror(-problem));
  }
  return HSA_STATUS_SUCCESS;
}

// Reports of the processor -------------------------------------------------------------------------------

bool DispatchQueue::on_inactive(hsa_signal_value_t value, void* self) {
  return static_cast<DispatchQueue*>(self)->serve(static_cast<uint64_t>(value));
}

bool DispatchQueue::on_exceptions(hsa_signal_value_t bits, void* self) {
  auto& queue = *static_cast<DispatchQueue*>(self);
  const QueueError problem = error_of_exceptions(static_cast<uint64_t>(bits));
  // The runtime receives page faults by a separate event, with the address.
  if (problem.status == static_cast<hsa_status_t>(HSA_STATUS_ERROR_MEMORY_FAULT)) return false;
  if (problem.status != HSA_STATUS_SUCCESS) {
    queue.stop_with(problem.status);
  } else if (queue.watch_exceptions(bits) != HSA_STATUS_SUCCESS) {
    queue.stop_with(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  }
  return false;
}

hsabe_status_t DispatchQueue::watch_exceptions(hsa_signal_value_t seen) {
  const MutexLock lock(mutex_);
  if (ending_) return HSA_STATUS_SUCCESS;  // the signal may be destroyed
  const hsabe_wait_t others{exceptions_, seen, HSA_SIGNAL_CONDITION_NE, 0};
  return device_.host->signal->watch(device_.host->self, &others, on_exceptions, this);
}

uint64_t DispatchQueue::current_index() const {
  return read_index(&queue_->hsa_queue).load(std::memory_order_acquire);
}

const hsa_kernel_dispatch_packet_t& DispatchQueue::current_packet() const {
  return reinterpret_cast<const hsa_kernel_dispatch_packet_t&>(
      packet_slot(&queue_->hsa_queue, current_index()));
}

void DispatchQueue::release_current_packet() {
  auto& header = const_cast<uint16_t&>(current_packet().header);
  std::atomic_ref(header).store(releasing_to_system(header), std::memory_order_release);
}

class DispatchQueue::ScratchEvent {
 public:
  ScratchEvent(const DispatchQueue& queue, uint32_t what) : queue_(queue) {
    event_.struct_size = sizeof event_;
    event_.queue_cookie = queue.cookie_;
    event_.what = what;
    event_.use_once = what == HSABE_SCRATCH_RETURNED;
    if (what == HSABE_SCRATCH_GIVEN) event_.packet = queue.current_index();
    tell();
  }
  ~ScratchEvent() {
    event_.ended = 1;
    if (event_.what == HSABE_SCRATCH_GIVEN) {
      const MutexLock lock(queue_.mutex_);
      const uint32_t properties = queue_.queue_->queue_properties;
      event_.use_once = (properties & AMD_QUEUE_PROPERTIES_USE_SCRATCH_ONCE) != 0;
      event_.bytes = queue_.scratch_ ? queue_.queue_->scratch_backing_memory_byte_size : 0;
      event_.waves = event_.bytes == 0 ? 0 : queue_.scratch_waves_;
    }
    tell();
  }
  ScratchEvent(const ScratchEvent&) = delete;
  ScratchEvent& operator=(const ScratchEvent&) = delete;

 private:
  void tell() {
    const hsabe_host_t* const host = queue_.device_.host;
    const bool is_applications = queue_.when_stopped_ == nullptr;
    if (!is_applications || !HSABE_HAS(host->events, hsabe_host_events_t, scratch)) return;
    const bool before = std::exchange(in_scratch_callback, true);
    host->events->scratch(host->self, &event_);
    in_scratch_callback = before;
  }

  const DispatchQueue& queue_;
  hsabe_scratch_event_t event_{};
};

bool DispatchQueue::serve(uint64_t reason) {
  const hsabe_host_t* const host = device_.host;
  if (const uint32_t lanes = scratch_asked_for(reason); lanes != 0) {
    switch (give_scratch_to_current(lanes)) {
      case Scratch::kGiven:
        break;
      case Scratch::kLater:
        asked_lanes_ = lanes;
        if (!device_.scratch().retry_later(*this)) stop_with(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
        return false;  // watched again when it has been served
      case Scratch::kNever:
        stop_with(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
        return false;
    }
  } else if ((reason & kInactiveScratchReturned) != 0) {
    const ScratchEvent event(*this, HSABE_SCRATCH_RETURNED);
    const MutexLock lock(mutex_);
    drop_scratch();
  } else {
    const QueueError problem = error_of_inactive_code(reason);
    stop_with(problem.status == HSA_STATUS_SUCCESS ? HSA_STATUS_ERROR : problem.status);
    return false;
  }
  const MutexLock lock(mutex_);
  if (ending_) return false;
  host->signal->store(host->self, inactive_, 0);  // resumes the processor
  return true;
}

void DispatchQueue::stop_with(hsa_status_t status) {
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
    if (ending_ || std::exchange(error_told_, true)) return;
    update(0);
  }
  if (when_stopped_) return when_stopped_(status);
  device_.host->events->queue_error(device_.host->self, cookie_, status);
}

ScratchDispatch DispatchQueue::current_dispatch(uint32_t lanes) const {
  const hsa_kernel_dispatch_packet_t& packet = current_packet();
  return {{packet.grid_size_x, packet.grid_size_y, packet.grid_size_z},
          {packet.workgroup_size_x, packet.workgroup_size_y, packet.workgroup_size_z},
          packet.private_segment_size,
          lanes};
}

DispatchQueue::Scratch DispatchQueue::give_scratch_to_current(uint32_t lanes) {
  const ScratchEvent event(*this, HSABE_SCRATCH_GIVEN);
  return give_scratch(current_dispatch(lanes));
}

DispatchQueue::Scratch DispatchQueue::give_scratch(const ScratchDispatch& dispatch) {
  Block block;
  {
    // The processor waits for scratch, so the old memory is unused.
    const MutexLock lock(mutex_);
    block = std::move(scratch_);
  }
  device_.free_scratch(std::move(block));
  const auto need = scratch_need(scratch_device(device_), dispatch);
  if (!need) return Scratch::kNever;
  // For every slot of the device, if that is within the limit; otherwise for this dispatch only.
  const bool once = need->device_bytes > device_.scratch().limit();
  const uint32_t wanted = reachable_scratch_waves(scratch_device(device_), *need,
                                                  once ? need->dispatch_waves : need->device_waves);
  // Work-groups of a cooperative dispatch must all be resident.
  const uint32_t minimum_waves =
      queue_->hsa_queue.type == HSA_QUEUE_TYPE_COOPERATIVE ? need->dispatch_waves : 0;
  const bool can_be = wanted != 0 && wanted >= minimum_waves;
  // Also checked before the attempt: memory that is released during it is for the next attempt.
  const bool held = device_.scratch().others_hold(*this);
  Block given;
  const uint32_t waves = can_be ? device_.scratch().allocate(*this, *need, wanted, minimum_waves, given) : 0;
  if (can_be && waves == 0 && (held || device_.scratch().others_hold(*this))) return Scratch::kLater;
  // Scratch that does not serve every slot would slow down later dispatches.
  const bool release_after = once || waves < need->device_waves;
  const MutexLock lock(mutex_);
  scratch_ = std::move(given);
  scratch_waves_ = waves;
  put_scratch(need->wave_bytes, need->bytes_of(waves), dispatch.lanes_per_wave, release_after);
  if (release_after && device_.has_quirk(kQuirkScratchOnceNeedsRelease)) release_current_packet();
  return waves != 0 ? Scratch::kGiven : Scratch::kNever;
}

bool DispatchQueue::retry_scratch() {
  if (stopped()) return true;
  const Scratch outcome = give_scratch(current_dispatch(asked_lanes_));
  if (outcome == Scratch::kLater) return false;
  // Tools received the first failure. Further attempts are not reported.
  { const ScratchEvent event(*this, HSABE_SCRATCH_GIVEN); }
  if (outcome == Scratch::kNever) {
    stop_with(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
    return true;
  }
  const hsabe_host_t* const host = device_.host;
  // resumes the processor, which may request scratch again at once
  host->signal->store(host->self, inactive_, 0);
  const hsabe_wait_t stopped{inactive_, 0, HSA_SIGNAL_CONDITION_NE, 0};
  if (host->signal->watch(host->self, &stopped, on_inactive, this) != HSA_STATUS_SUCCESS)
    stop_with(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  return true;
}

uint64_t DispatchQueue::scratch_bytes() const {
  const MutexLock lock(mutex_);
  return scratch_ ? scratch_.size() : 0;
}

uint64_t DispatchQueue::returnable_scratch() const {
  const MutexLock lock(mutex_);
  if (!scratch_) return 0;
  const bool once = (queue_->queue_properties & AMD_QUEUE_PROPERTIES_USE_SCRATCH_ONCE) != 0;
  const bool returns_it = ending_ || !stays_on_device_ || (once && !stopped_);
  return returns_it ? scratch_.size() : 0;
}

bool DispatchQueue::has_packets() const {
  const auto load = [](const volatile uint64_t& index) {
    return std::atomic_ref(const_cast<uint64_t&>(index)).load(std::memory_order_acquire);
  };
  return load(queue_->read_dispatch_id) != load(queue_->write_dispatch_id);
}

bool DispatchQueue::has_waves() const {
  // Waves that cannot be saved have ended before the driver removed the queue.
  if (device_.has_quirk(kQuirkNoWaveSave)) return false;
  kfd_get_queue_wave_state arguments{memory_.save_area.address(), 0, 0, queue_id_, 0};
  if (device_.ioctl(KFD_NR_GET_QUEUE_WAVE_STATE, arguments) != 0) return true;
  return arguments.ctl_stack_used_size != 0 || arguments.save_area_used_size != 0;
}

bool DispatchQueue::give_up_scratch(uint64_t more_than) {
  if (scratch_bytes() <= more_than) return false;
  const ScratchEvent event(*this, HSABE_SCRATCH_RECLAIMED);
  return take_idle_scratch(more_than);
}

// The processor reads the queue's structure when it is mapped again, which does not happen for a stopped one.
bool DispatchQueue::take_idle_scratch(uint64_t more_than) {
  bool idle = false, lost = false;
  {
    const MutexLock lock(mutex_);
    if (!scratch_ || scratch_.size() <= more_than) return false;
    stays_on_device_ = update(0) != HSA_STATUS_SUCCESS;
    if (stays_on_device_) return false;
    idle = stopped_ || (!has_packets() && !has_waves());
    if (idle) {
      drop_scratch();
    } else {
      std::atomic_ref(queue_->queue_properties).fetch_or(AMD_QUEUE_PROPERTIES_USE_SCRATCH_ONCE);
    }
    lost = !stopped_ && update(KFD_QUEUE_PERCENTAGE_MAX) != HSA_STATUS_SUCCESS;
  }
  if (lost) stop_with(HSA_STATUS_ERROR);
  return idle;
}

void DispatchQueue::drop_scratch() {
  device_.free_scratch(std::move(scratch_));
  put_scratch(0, 0, 64, false);
}

void DispatchQueue::put_scratch(uint64_t wave_bytes, uint64_t bytes, uint32_t lanes, bool once) {
  const bool any = scratch_ && bytes != 0;
  ScratchMemory memory;
  if (any) memory = {scratch_.address(), bytes / device_.facts.xcc_count, wave_bytes, lanes};
  const bool host_page_tables = (device_.facts.capability & kCapabilityAts) != 0;
  const ScratchResource resource = device_.family.generation->scratch_resource(memory, host_page_tables);
  set_scratch(*queue_, memory, resource, tmpring_size(scratch_device(device_), memory),
              any ? memory.va - device_.scratch_base() : 0);
  const std::atomic_ref properties(queue_->queue_properties);
  if (any && once) {
    properties.fetch_or(AMD_QUEUE_PROPERTIES_USE_SCRATCH_ONCE);
  } else {
    properties.fetch_and(~uint32_t{AMD_QUEUE_PROPERTIES_USE_SCRATCH_ONCE});
  }
}

}  // namespace rigel::gfx
