#include "backends/cpu/packet_grid.hpp"

#include "backends/cpu/capabilities.hpp"

namespace rigel::cpu {

KernelCache::Entry* KernelCache::find(uint64_t object) noexcept {
  if (const uint64_t now = code_.generation(); now != generation_) {
    entries_.fill({});
    generation_ = now;
  }
  if (object == 0) return nullptr;  // as in an empty entry
  Entry& entry = entries_[object / sizeof(hsa_cpu_descriptor_t) % kEntries];
  if (entry.kernel.object == object) return &entry;
  Kernel kernel;
  if (!code_.find_kernel(object, &kernel)) return nullptr;
  entry = {kernel, {}};
  return &entry;
}

hsa_status_t make_grid(const hsa_kernel_dispatch_packet_t& packet, const Kernel& kernel,
                       Grid* grid) noexcept {
  const uint32_t dimensions = packet.setup >> HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS &
                              ((1u << HSA_KERNEL_DISPATCH_PACKET_SETUP_WIDTH_DIMENSIONS) - 1);
  const uint32_t grid_size[3] = {packet.grid_size_x, packet.grid_size_y, packet.grid_size_z};
  const uint32_t group_size[3] = {packet.workgroup_size_x, packet.workgroup_size_y, packet.workgroup_size_z};

  if (dimensions < 1 || dimensions > 3) return HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS;
  hsa_cpu_dispatch_t& dispatch = grid->dispatch;
  uint64_t items_of_group = 1, items = 1, groups = 1;
  const bool any_size = kernel.required_size[0] == 0;
  for (unsigned d = 0; d < 3; ++d) {
    const bool used = d < dimensions;
    if (grid_size[d] == 0 || group_size[d] == 0) return HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS;
    if (!used && (grid_size[d] != 1 || group_size[d] != 1)) return HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS;
    if (!any_size && group_size[d] != kernel.required_size[d]) return HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS;
    if (__builtin_mul_overflow(items, uint64_t{grid_size[d]}, &items) || items > kGridMaxSize) {
      return HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS;
    }
    items_of_group *= group_size[d];  // three times 16 bits
    dispatch.grid_size[d] = grid_size[d];
    dispatch.workgroup_size[d] = group_size[d];
    dispatch.workgroup_count[d] = grid_size[d] / group_size[d] + (grid_size[d] % group_size[d] != 0);
    groups *= dispatch.workgroup_count[d];
  }
  if (items_of_group > kWorkgroupMaxSize) return HSA_STATUS_ERROR_INVALID_ARGUMENT;

  if (packet.group_segment_size > kGroupSegmentSize || packet.group_segment_size < kernel.group_size) {
    return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  }
  if (packet.private_segment_size > kPrivateSegmentMax || packet.private_segment_size < kernel.private_size) {
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  }
  const auto kernarg = reinterpret_cast<uintptr_t>(packet.kernarg_address);
  if (kernel.kernarg_size > 0 && (kernarg == 0 || kernarg % 16 != 0))
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;

  dispatch.struct_size = sizeof dispatch;
  dispatch.dimensions = dimensions;
  dispatch.group_segment_size = packet.group_segment_size;
  dispatch.kernarg = packet.kernarg_address;
  dispatch.packet = &packet;
  grid->entry = kernel.entry;
  grid->groups = groups;
  // A kernel without private memory cannot use more.
  grid->private_size = kernel.private_size ? packet.private_segment_size * items_of_group : 0;
  return HSA_STATUS_SUCCESS;
}

}  // namespace rigel::cpu
