// A tool that does nothing in calls. The name "packets" makes it rewrite, drop and add one of eight packets
// each.
#include <hsa_plugin/hsa_tool.hpp>

#include <string_view>

namespace {

struct BenchTool {
  explicit BenchTool(hsatool::Host its_host) : host(its_host) {}

  void enter(hsatool_call_t&) {}
  bool wants_queue(const hsatool_queue_t&) const { return host.name() == "packets"; }
  void submit(const hsatool_queue_t&, std::span<const hsatool::Packet> packets, uint64_t index,
              const hsatool::Writer& write) const {
    for (const hsatool::Packet& packet : packets) {
      auto own = packet.as<hsa_barrier_and_packet_t>();
      switch (index++ % 8) {
        case 0:  // dropped, and completed for the device
          host.tables().core_->hsa_signal_subtract_screlease_fn(own.completion_signal, 1);
          break;
        case 1:  // added
          own.completion_signal = {};
          write(own);
          write(packet);
          break;
        case 2:  // replaced
          own.header |= 1 << HSA_PACKET_HEADER_BARRIER;
          write(own);
          break;
        default:
          write(packet);
      }
    }
  }

  hsatool::Host host;
};

}  // namespace

HSATOOL_PLUGIN(BenchTool, "bench", "1.0")
