// The tool ABI's entry points. Callbacks do not use the object, because they may run after its destruction.
#include <hsa_plugin/hsa_tool.hpp>

#include <span>

#include "plugins/trace/tracer.hpp"

namespace {

using trace::Tracer;

bool is_barrier(const hsatool::Packet& packet) {
  switch (packet.type()) {
    case HSA_PACKET_TYPE_BARRIER_AND:
    case HSA_PACKET_TYPE_BARRIER_OR:
      return true;
    case HSA_PACKET_TYPE_VENDOR_SPECIFIC:
      return packet.body[0] == HSA_AMD_PACKET_TYPE_BARRIER_VALUE;
    default:
      return false;
  }
}

class Plugin {
 public:
  explicit Plugin(hsatool::Host host) { tracer_ = &Tracer::start_here(host); }
  ~Plugin() { tracer_->stop(); }
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  static void check(std::string_view config, hsatool::Mistakes mistakes) {
    rigel::Diagnostics diagnostics;
    trace::Options::parse(config, diagnostics);
    for (const auto& mistake : diagnostics.entries()) mistakes(mistake.text);
  }

  static bool wants(const hsatool_function_t& function) { return tracer_->wants(function); }
  static void enter(hsatool_call_t& call) { tracer_->recorder().enter(call); }
  static void exit(hsatool_call_t& call) { tracer_->recorder().exit(call); }

  static bool wants_queue(const hsatool_queue_t& queue) { return tracer_->wants_packets_of(queue.agent); }
  static void submit(const hsatool_queue_t& queue, std::span<const hsatool::Packet> packets, uint64_t index,
                     hsatool::Writer writer) {
    for (const hsatool::Packet& packet : packets) {
      if (packet.type() == HSA_PACKET_TYPE_KERNEL_DISPATCH || is_barrier(packet))
        tracer_->recorder().enqueued(queue.id, index, &packet);
      ++index;
    }
    writer(packets);
  }

  static uint32_t activities() { return tracer_->activities(); }
  static void done(const hsatool_activity_t& activity) { tracer_->recorder().done(activity); }

 private:
  static constinit inline Tracer* tracer_ = nullptr;  // the process's tracer
};

}  // namespace

HSATOOL_PLUGIN(Plugin, "trace", "1.0")
