// Queues of AQL packets that the driver creates and the chip's command processor consumes.
//
// The command processor reports the reason of a stop through the queue's inactive signal. This backend has no
// scratch memory, so a kernel with private memory is an error here. backends/common/dispatch_queue.cpp of the
// runtime provides it.
#include <hsa/amd_hsa_queue.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>

#include "gfx50.hpp"

namespace gfx50 {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kPacketBytes = 64;
constexpr uint32_t kNormalPriority = 7;

// Memory of the driver, freed with this object.
class Block {
 public:
  explicit Block(const hsabe_host_t* host) : host_(host) {}
  ~Block() {
    if (block_.address != nullptr) host_->driver->release(host_->self, &block_);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  hsabe_status_t allocate(uint32_t kind, uint32_t flags, uint64_t size) {
    return host_->driver->allocate(host_->self, kind, flags, (size + kPage - 1) / kPage * kPage, kPage,
                                   &block_);
  }
  std::byte* data() const { return static_cast<std::byte*>(block_.address); }
  uint64_t address() const { return reinterpret_cast<uint64_t>(block_.address); }
  uint64_t size() const { return block_.size; }

 private:
  const hsabe_host_t* const host_;
  hsabe_block_t block_{};
};

class Queue {
 public:
  explicit Queue(const Device& device, uint64_t cookie)
      : device_(device),
        cookie_(cookie),
        control_(device.host),
        ring_(device.host),
        end_of_pipe_(device.host),
        save_area_(device.host) {}

  // The order matters: the command processor releases the queue, then the signal is destroyed, then the
  // memory.
  ~Queue() {
    const hsabe_host_t* const host = device_.host;
    if (created_) {
      kfd_destroy_queue arguments{id_, 0};
      device_.ioctl(KFD_NR_DESTROY_QUEUE, arguments);
    }
    if (inactive_ == 0) return;
    host->signal->destroy(host->self, inactive_);
    host->signal->settle(host->self);
  }

  hsabe_status_t start(const hsabe_queue_desc_t& desc, hsabe_queue_info_t* info) {
    const hsabe_host_t* const host = device_.host;
    const uint64_t ring_bytes = desc.packets * kPacketBytes;
    const uint64_t save_bytes =
        device_.save_area_bytes + uint64_t{32} * device_.compute_units * device_.waves_per_cu;
    hsabe_status_t status = control_.allocate(HSABE_BLOCK_HOST, HSABE_BLOCK_COHERENT, kPage);
    if (status == HSA_STATUS_SUCCESS)
      status = ring_.allocate(HSABE_BLOCK_HOST, HSABE_BLOCK_COHERENT | HSABE_BLOCK_EXECUTABLE, ring_bytes);
    if (status == HSA_STATUS_SUCCESS) status = end_of_pipe_.allocate(HSABE_BLOCK_LOCAL, 0, kPage);
    if (status == HSA_STATUS_SUCCESS && device_.save_area_bytes != 0)
      status = save_area_.allocate(HSABE_BLOCK_HOST, HSABE_BLOCK_EXECUTABLE, save_bytes);
    if (status == HSA_STATUS_SUCCESS) status = host->signal->create(host->self, 0, &inactive_);
    if (status != HSA_STATUS_SUCCESS) return hsabe::fail(host, status, "no memory for a queue");
    fill_in(desc);

    kfd_create_queue arguments{};
    arguments.ring_base_address = ring_.address();
    arguments.ring_size = static_cast<uint32_t>(ring_bytes);
    arguments.write_pointer_address = reinterpret_cast<uint64_t>(&queue_->write_dispatch_id);
    arguments.read_pointer_address = reinterpret_cast<uint64_t>(&queue_->read_dispatch_id);
    arguments.gpu_id = device_.driver.gpu_id;
    arguments.queue_type = KFD_QUEUE_AQL;
    arguments.queue_percentage = KFD_QUEUE_PERCENTAGE_MAX;
    arguments.queue_priority = kNormalPriority;
    arguments.eop_buffer_address = end_of_pipe_.address();
    arguments.eop_buffer_size = end_of_pipe_.size();
    arguments.ctx_save_restore_address = save_area_.address();
    arguments.ctx_save_restore_size = device_.save_area_bytes;
    arguments.ctl_stack_size = device_.control_stack_bytes;
    if (const int32_t problem = device_.ioctl(KFD_NR_CREATE_QUEUE, arguments); problem != 0) {
      return hsabe::fail(host, HSA_STATUS_ERROR_OUT_OF_RESOURCES,
                         std::string("the driver makes no queue: ") + std::strerror(-problem));
    }
    created_ = true;
    id_ = arguments.queue_id;
    info->amd_queue = queue_;
    info->doorbell = host->driver->doorbell(host->self, arguments.doorbell_offset, id_);
    if (info->doorbell == nullptr)
      return hsabe::fail(host, HSA_STATUS_ERROR_OUT_OF_RESOURCES, "the doorbell cannot be mapped");
    if (HSABE_HAS(host->driver, hsabe_host_driver_t, bell) && HSABE_HAS(info, hsabe_queue_info_t, bell))
      host->driver->bell(host->self, info->doorbell, &info->bell);
    const hsabe_wait_t stopped{inactive_, 0, HSA_SIGNAL_CONDITION_NE, 0};
    return host->signal->watch(host->self, &stopped, on_inactive, this);
  }

  hsabe_status_t inactivate() {
    kfd_update_queue arguments{ring_.address(), id_, static_cast<uint32_t>(ring_.size()), 0, kNormalPriority};
    return device_.ioctl(KFD_NR_UPDATE_QUEUE, arguments) == 0 ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR;
  }

  const Device& device() const { return device_; }
  amd_queue_t& amd_queue() { return *queue_; }

 private:
  // The ring has the requested size, even if it is less than a page.
  void fill_in(const hsabe_queue_desc_t& desc) {
    std::memset(control_.data(), 0, control_.size());
    for (uint32_t i = 0; i < desc.packets; ++i) {
      const uint16_t invalid = HSA_PACKET_TYPE_INVALID;
      std::memcpy(ring_.data() + i * kPacketBytes, &invalid, sizeof invalid);
    }
    queue_ = reinterpret_cast<amd_queue_t*>(control_.data());
    hsa_queue_t& queue = queue_->hsa_queue;
    queue.type = desc.type;
    queue.features = HSA_QUEUE_FEATURE_KERNEL_DISPATCH;
    queue.base_address = ring_.data();
    queue.doorbell_signal.handle = desc.doorbell_signal;
    queue.size = desc.packets;
    queue.id = desc.cookie;
    queue_->group_segment_aperture_base_hi = static_cast<uint32_t>(device_.driver.group_aperture >> 32);
    queue_->private_segment_aperture_base_hi = static_cast<uint32_t>(device_.driver.private_aperture >> 32);
    queue_->max_cu_id = device_.compute_units - 1;
    queue_->max_wave_id = device_.waves_per_cu - 1;
    queue_->read_dispatch_id_field_base_byte_offset = offsetof(amd_queue_t, read_dispatch_id);
    queue_->queue_properties = AMD_QUEUE_PROPERTIES_IS_PTR64;
    queue_->queue_inactive_signal.handle = inactive_;
  }

  // Runs on a thread of the runtime. Returning false ends the calls.
  static bool on_inactive(hsa_signal_value_t reason, void* self) {
    const auto& queue = *static_cast<Queue*>(self);
    const hsabe_host_t* const host = queue.device_.host;
    host->events->queue_error(host->self, queue.cookie_, status_of(static_cast<uint64_t>(reason)));
    return false;
  }

  static hsa_status_t status_of(uint64_t reason) {
    if (reason & 0x401) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;  // it asks for scratch memory
    if (reason & 0x2) return HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS;
    if (reason & 0x4) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
    if (reason & 0x8) return HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
    if (reason & 0x120) return HSA_STATUS_ERROR_INVALID_PACKET_FORMAT;
    if (reason & 0x40) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return HSA_STATUS_ERROR;
  }

  const Device& device_;
  const uint64_t cookie_;
  Block control_;  // the amd_queue_t
  Block ring_;
  Block end_of_pipe_;
  Block save_area_;
  amd_queue_t* queue_ = nullptr;
  uint64_t inactive_ = 0;  // signal
  uint32_t id_ = 0;
  bool created_ = false;
};

hsabe_status_t create(void* pointer, const hsabe_queue_desc_t* desc, hsabe_queue_info_t* info) {
  const auto& device = *static_cast<const Device*>(pointer);
  return hsabe::guarded(device.host, [&]() -> hsabe_status_t {
    auto queue = std::make_unique<Queue>(device, desc->cookie);
    const hsabe_status_t status = queue->start(*desc, info);
    if (status == HSA_STATUS_SUCCESS) info->queue = queue.release();
    return status;
  });
}

void destroy(void* queue) {
  delete static_cast<Queue*>(queue);
}

hsabe_status_t inactivate(void* queue) {
  return static_cast<Queue*>(queue)->inactivate();
}

hsabe_status_t set_profiling(void* queue, int32_t enabled) {
  auto& properties = static_cast<Queue*>(queue)->amd_queue().queue_properties;
  const uint32_t bit = AMD_QUEUE_PROPERTIES_ENABLE_PROFILING;
  if (enabled != 0) {
    __atomic_fetch_or(&properties, bit, __ATOMIC_RELAXED);
  } else {
    __atomic_fetch_and(&properties, ~bit, __ATOMIC_RELAXED);
  }
  return HSA_STATUS_SUCCESS;
}

}  // namespace

const hsabe_queue_ops_t kQueue{
    sizeof(hsabe_queue_ops_t), create, destroy, inactivate, set_profiling, nullptr, nullptr};

}  // namespace gfx50
