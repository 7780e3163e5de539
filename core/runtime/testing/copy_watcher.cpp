// A tool that wants to know of copies and does nothing with what it is told.
#include <hsa_plugin/hsa_tool.hpp>

namespace {

struct CopyWatcher {
  explicit CopyWatcher(hsatool::Host) {}
  uint32_t activities() const { return HSATOOL_ACTIVITY_COPY; }
  void done(const hsatool_activity_t&) const {}
};

}  // namespace

HSATOOL_PLUGIN(CopyWatcher, "copy-watcher", "1")
