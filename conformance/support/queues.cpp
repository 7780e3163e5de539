#include "support/queues.hpp"

namespace conformance {

hsa_kernel_dispatch_packet_t dispatch_packet(const Kernel& kernel, void* kernarg, uint32_t grid,
                                             uint16_t group) {
  hsa_kernel_dispatch_packet_t packet{};
  packet.header = packet_header(HSA_PACKET_TYPE_KERNEL_DISPATCH);
  packet.setup = 1 << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS;
  packet.workgroup_size_x = group;
  packet.workgroup_size_y = 1;
  packet.workgroup_size_z = 1;
  packet.grid_size_x = grid;
  packet.grid_size_y = 1;
  packet.grid_size_z = 1;
  packet.private_segment_size = kernel.private_size;
  packet.group_segment_size = kernel.group_size;
  packet.kernel_object = kernel.object;
  packet.kernarg_address = kernarg;
  return packet;
}

hsa_barrier_and_packet_t barrier_packet(int type, hsa_signal_t completion, bool barrier) {
  hsa_barrier_and_packet_t packet{};
  packet.header = packet_header(type, barrier);
  packet.completion_signal = completion;
  return packet;
}

}  // namespace conformance
