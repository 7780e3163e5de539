// The status of an AQL queue as text: counts of packets, and what the next packet waits for.
#include "plugins/vgpu/cp/aql_queue.hpp"
#include "plugins/vgpu/cp/packet_fidelity.hpp"

namespace rigel::vgpu {
namespace {

std::string name_of(const aql::Packet& packet) {
  return std::string(packet_name(PacketSet::kAql, aql::code(packet)));
}

}  // namespace

std::string AqlQueue::describe() {
  const uint64_t rung = limit();
  std::string text =
      fmt::format("AQL: {} packets submitted, {} started, {} completed", rung, next_id_, read_id_);
  if (stopped() || next_id_ >= rung) return text;
  return text + fmt::format("; packet {} {}", next_id_, describe_next());
}

// The status of the first packet that has not started.
std::string AqlQueue::describe_next() {
  if (scratch_request_ || reclaim_) return "waits for the runtime to resize the queue's scratch memory";
  GpuMemory memory(context_.bus, id());  // a temporary one, so that the queue's is unchanged
  GpuMemory::Scope scope(memory);
  aql::Packet packet;
  if (!memory.read(slot_va(next_id_), &packet, sizeof packet)) return "is not readable";
  if (in_pm4_) return "runs PM4 packets";
  const uint32_t type = aql::type(packet.header());
  if (type == HSA_PACKET_TYPE_INVALID) return "is not written: its header has type INVALID";
  std::string text = name_of(packet);
  if (aql::barrier(packet.header()) && running_dispatches() != 0) {
    return text + " waits for the preceding packets (barrier bit)";
  }
  const auto signal = [&](uint64_t handle) {
    uint64_t value = 0;
    if (!memory.load(handle + aql::kSignalValue, value)) return fmt::format("{:#x} (not mapped)", handle);
    return fmt::format("{:#x} (value {})", handle, static_cast<int64_t>(value));
  };
  if (type == HSA_PACKET_TYPE_BARRIER_AND || type == HSA_PACKET_TYPE_BARRIER_OR) {
    std::string signals;
    for (uint32_t i = 0; i < 5; ++i) {
      const uint64_t handle = packet.quad(2 + 2 * i);
      if (handle == 0 || (satisfied_ >> i & 1) != 0) continue;
      signals += fmt::format("{} signal {}", signals.empty() ? "" : ",", signal(handle));
    }
    return text + (signals.empty() ? " is ready" : " waits for" + signals);
  }
  const uint32_t format = packet.words[0] >> 16 & 0xff;
  if (type == HSA_PACKET_TYPE_VENDOR_SPECIFIC && !dialect().has_pm4_in_slots &&
      format == aql::kFormatBarrierValue) {
    return text + " waits for signal " + signal(packet.quad(2));
  }
  return text + " is ready";
}

}  // namespace rigel::vgpu
