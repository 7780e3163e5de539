// A tool that subscribes to copies and ignores them. The option `on_check` is the address of a test function,
// which it calls when its options are checked.
#include <hsa_plugin/hsa_tool.hpp>

#include <charconv>
#include <cstdint>
#include <string_view>

namespace {

struct CopyWatcher {
  explicit CopyWatcher(hsatool::Host) {}
  static void check(std::string_view config, hsatool::Mistakes) {
    constexpr std::string_view kOption = "\"on_check\":";
    const size_t at = config.find(kOption);
    if (at == config.npos) return;
    uintptr_t address = 0;
    std::from_chars(config.data() + at + kOption.size(), config.data() + config.size(), address);
    reinterpret_cast<void (*)()>(address)();
  }
  uint32_t activities() const { return HSATOOL_ACTIVITY_COPY; }
  void done(const hsatool_activity_t&) const {}
};

}  // namespace

HSATOOL_PLUGIN(CopyWatcher, "copy-watcher", "1")
