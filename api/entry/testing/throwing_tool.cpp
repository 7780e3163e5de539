// A tool written with hsa_tool.hpp that throws in the member named by its options.
#include <hsa_plugin/hsa_tool.hpp>

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "api/entry/testing/tool_notes.hpp"

namespace {

using rigel::testing::ToolNotes;

class ThrowingTool {
 public:
  explicit ThrowingTool(hsatool::Host host) : config_(host.config()) { throw_in("load"); }
  ~ThrowingTool() noexcept(false) {
    ToolNotes::of(config_).note("thrower unload");
    throw_in("unload");
  }
  ThrowingTool(const ThrowingTool&) = delete;
  ThrowingTool& operator=(const ThrowingTool&) = delete;

  static void check(std::string_view config, hsatool::Mistakes) { throw_if_named(config, "check"); }

  bool wants(const hsatool_function_t&) const {
    throw_in("wants");
    return true;
  }
  void enter(hsatool_call_t&) const { throw_in("enter"); }
  void exit(hsatool_call_t&) const { throw_in("exit"); }
  bool wants_queue(const hsatool_queue_t&) const {
    throw_in("wants_queue");
    return true;
  }
  void submit(const hsatool_queue_t&, std::span<const hsatool::Packet> packets, uint64_t,
              hsatool::Writer write) const {
    throw_in("submit");
    write(packets);
  }
  uint32_t activities() const {
    throw_in("activities");
    return HSATOOL_ACTIVITY_BARRIER | HSATOOL_ACTIVITY_COPY;
  }
  void done(const hsatool_activity_t&) const { throw_in("done"); }

 private:
  static void throw_if_named(std::string_view config, std::string_view member) {
    const std::string option = "\"throws_in\":\"" + std::string(member) + "\"";
    if (config.find(option) != config.npos) throw std::runtime_error("out of ideas");
  }
  void throw_in(std::string_view member) const { throw_if_named(config_, member); }

  const std::string config_;
};

}  // namespace

HSATOOL_PLUGIN(ThrowingTool, "throwing", "1")
