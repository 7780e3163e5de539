// The tables of a backend for AMD GPUs: C functions that call the code of this directory and let no exception
// pass. A backend consists of its family's properties and an instance of this template.
#pragma once

#include <memory>
#include <span>

#include <hsa_backend/hsa_backend.hpp>

#include "backends/common/code_store.hpp"
#include "backends/common/copy_engines.hpp"
#include "backends/common/counters.hpp"
#include "backends/common/dispatch_queue.hpp"
#include "backends/common/generation.hpp"
#include "backends/common/gpu_device.hpp"
#include "backends/common/image.hpp"
#include "backends/common/scratch_keeper.hpp"
#include "backends/common/select.hpp"

namespace rigel::gfx {

template <const Family& kFamily>
struct BackendTable {
  static Device& as_device(void* device) { return *static_cast<Device*>(device); }
  static DispatchQueue& as_queue(void* queue) { return *static_cast<DispatchQueue*>(queue); }

  static constexpr hsabe_device_ops_t kDevice = {
      .struct_size = sizeof(hsabe_device_ops_t),
      .enumerate = nullptr,
      .select = [](const hsabe_host_t* host, const hsabe_node_t* node, hsabe_caps_t* caps) -> hsabe_status_t {
        const char* why = "";
        const hsabe_status_t status = gfx::select(kFamily, *node, caps, &why);
        return status == HSA_STATUS_SUCCESS ? status : hsabe::fail(host, status, why);
      },
      .open = [](const hsabe_host_t* host, const hsabe_node_t* node, void** device) -> hsabe_status_t {
        return hsabe::guarded(host, [&] {
          std::unique_ptr<Device> opened;
          const hsabe_status_t status = Device::open(kFamily, host, *node, opened);
          *device = opened.release();
          return status;
        });
      },
      .close = [](void* device) { delete &as_device(device); },
      .read_clock = [](void* device, uint64_t* ticks, uint64_t* per_second) -> hsabe_status_t {
        return as_device(device).read_clock(ticks, per_second);
      },
      .trim = [](void* device) -> int32_t { return as_device(device).scratch().reclaim(); },
      .set_scratch_limit = [](void* device, uint64_t bytes) -> hsabe_status_t {
        return as_device(device).scratch().set_limit(bytes);
      },
      .scratch_limits =
          [](void* device, uint64_t* most, uint64_t* now) {
            *most = kMaxScratchLimit;
            *now = as_device(device).scratch().limit();
          },
  };

  static constexpr hsabe_queue_ops_t kQueue = {
      .struct_size = sizeof(hsabe_queue_ops_t),
      .create = [](void* device, const hsabe_queue_desc_t* desc, hsabe_queue_info_t* info) -> hsabe_status_t {
        return hsabe::guarded(as_device(device).host,
                              [&] { return DispatchQueue::create(as_device(device), *desc, info); });
      },
      .destroy = [](void* queue) { delete &as_queue(queue); },
      .inactivate = [](void* queue) -> hsabe_status_t { return as_queue(queue).inactivate(); },
      .set_profiling = [](void* queue, int32_t enabled) -> hsabe_status_t {
        return as_queue(queue).set_profiling(enabled != 0);
      },
      .set_priority = [](void* queue, uint32_t priority) -> hsabe_status_t {
        return as_queue(queue).set_priority(priority);
      },
      .set_cu_mask = [](void* queue, uint32_t bits, const uint32_t* mask) -> hsabe_status_t {
        return hsabe::guarded(as_queue(queue).host(),
                              [&] { return as_queue(queue).set_cu_mask(bits, mask); });
      },
  };

  static constexpr hsabe_code_ops_t kCode = {
      .struct_size = sizeof(hsabe_code_ops_t),
      .accepts = [](void* device, const hsabe_code_target_t* target) -> uint32_t {
        uint32_t fit = 0;
        hsabe::guarded(as_device(device).host, [&]() -> hsabe_status_t {
          fit = code_fit(as_device(device), *target);
          return HSA_STATUS_SUCCESS;
        });
        return fit;
      },
      .resolve = nullptr,
      .load = [](void* device, const hsabe_segment_t* segment, const hsabe_code_symbol_t*, uint64_t,
                 void** image) -> hsabe_status_t {
        return hsabe::guarded(as_device(device).host,
                              [&] { return load_code(as_device(device), *segment, image); });
      },
      .unload = [](void*, void*) {},
      .describe_kernel = [](void*, const void* descriptor, hsabe_kernel_info_t* info) -> hsabe_status_t {
        return describe_kernel(kFamily, descriptor, info);
      },
  };

  static constexpr hsabe_copy_ops_t kCopy = {
      .struct_size = sizeof(hsabe_copy_ops_t),
      .submit = [](void* device, const hsabe_copy_t* copy) -> hsabe_status_t {
        return hsabe::guarded(as_device(device).host,
                              [&] { return as_device(device).copies().submit(*copy); });
      },
      .fill = [](void* device, uint64_t destination, uint32_t value, uint64_t count,
                 uint64_t completion) -> hsabe_status_t {
        return hsabe::guarded(as_device(device).host, [&] {
          return as_device(device).copies().fill(destination, value, count, completion);
        });
      },
      .engines = [](void* device, uint32_t* all,
                    uint32_t* idle) { as_device(device).copies().engines(all, idle); },
      .abandon =
          [](void* device, hsabe_status_t status) {
            as_device(device).copies().abandon(static_cast<hsa_status_t>(status));
          },
  };

  /// Returns null if the device does not support images.
  static const ImageGeneration* images_of(void* device) {
    return as_device(device).has_quirk(kQuirkNoImages) ? nullptr : kFamily.generation->images;
  }

  static constexpr hsabe_image_ops_t kImage = {
      .struct_size = sizeof(hsabe_image_ops_t),
      .limits =
          [](void* device, hsabe_image_limits_t* limits) {
            if (const auto* const images = images_of(device)) image_limits(*images, *limits);
          },
      .format =
          [](void* device, uint32_t geometry, const hsa_ext_image_format_t* format,
             hsabe_image_format_t* out) {
            if (images_of(device) == nullptr) return;
            const ImageFormat found = image_format(geometry, *format);
            out->capability = found.capability;
            out->element_size = found.element_size;
          },
      .lay_out = [](void* device, const hsa_ext_image_descriptor_t* image, uint32_t data_layout,
                    uint64_t row_pitch, uint64_t slice_pitch, hsabe_image_layout_t* out) -> hsabe_status_t {
        const auto* const images = images_of(device);
        if (images == nullptr) return HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED;
        return lay_out_image(*images, as_device(device).chip.version, *image, data_layout, row_pitch,
                             slice_pitch, *out);
      },
      .describe = [](void* device, const hsa_ext_image_descriptor_t* image,
                     const hsabe_image_layout_t* layout, uint64_t address,
                     uint32_t* words) -> hsabe_status_t {
        const auto* const images = images_of(device);
        if (images == nullptr) return HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED;
        return describe_image(*images, as_device(device).chip.version, *image, *layout, address,
                              std::span<uint32_t, HSABE_IMAGE_WORDS>(words, HSABE_IMAGE_WORDS));
      },
      .describe_foreign = [](void* device, const hsa_ext_image_descriptor_t* image,
                             const hsa_amd_image_descriptor_t* layout, uint64_t address,
                             hsabe_image_layout_t* out, uint32_t* words) -> hsabe_status_t {
        const Device& own = as_device(device);
        const auto* const images = images_of(device);
        if (images == nullptr) return HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED;
        return describe_foreign_image(*images, own.chip.version, own.facts.device_id, *image, *layout,
                                      address, *out,
                                      std::span<uint32_t, HSABE_IMAGE_WORDS>(words, HSABE_IMAGE_WORDS));
      },
      .describe_sampler = [](void*, const hsa_ext_sampler_descriptor_v2_t* sampler,
                             uint32_t* words) -> hsabe_status_t {
        return gfx::describe_sampler(*kFamily.generation->images, *sampler,
                                     std::span<uint32_t, HSABE_SAMPLER_WORDS>(words, HSABE_SAMPLER_WORDS));
      },
  };

  static CounterDevice counters_of(void* device) { return {*kFamily.generation, as_device(device).facts}; }

  static constexpr hsabe_counter_ops_t kCounterOps = {
      .struct_size = sizeof(hsabe_counter_ops_t),
      .describe_block = [](void* device, uint32_t block, hsabe_counter_block_t* out) -> hsabe_status_t {
        return gfx::describe_block(counters_of(device), block, *out);
      },
      .counts = [](void* device, const hsa_ven_amd_aqlprofile_event_t* event) -> int32_t {
        return counts_event(counters_of(device), *event);
      },
      .write_commands = [](void* device, uint32_t action, const hsa_ven_amd_aqlprofile_event_t* events,
                           uint64_t count, uint64_t output, uint32_t* commands) -> uint64_t {
        return write_counter_commands(counters_of(device), action, {events, count}, output, commands);
      },
      .make_packet =
          [](void*, uint64_t commands, uint64_t dwords, hsa_ext_amd_aql_pm4_packet_t* packet) {
            make_counter_packet(commands, dwords, *packet);
          },
      .convert_packet = [](void*, const hsa_ext_amd_aql_pm4_packet_t* packet, void* slots) -> hsabe_status_t {
        if (kFamily.generation->pm4_completes) return HSA_STATUS_ERROR_INVALID_AGENT;
        constexpr size_t kBytes = HSA_VEN_AMD_AQLPROFILE_LEGACY_PM4_PACKET_SIZE;
        convert_counter_packet(*packet, std::span<std::byte, kBytes>(static_cast<std::byte*>(slots), kBytes));
        return HSA_STATUS_SUCCESS;
      },
  };

  static constexpr hsabe_backend_t make(std::string_view name) {
    return {
        .struct_size = sizeof(hsabe_backend_t),
        .abi_major = HSABE_ABI_MAJOR,
        .abi_minor = HSABE_ABI_MINOR,
        .name = hsabe::str(name),
        .version = hsabe::str(RIGEL_VERSION),
        .build_id = {},
        .sanitizer = HSABE_SANITIZER,
        .reserved0 = 0,
        .device = &kDevice,
        .queue = &kQueue,
        .code = &kCode,
        .memory = nullptr,
        .extensions = nullptr,
        .extension_count = 0,
        .copy = &kCopy,
        .image = &kImage,
        .counters = &kCounterOps,
    };
  }
};

}  // namespace rigel::gfx
