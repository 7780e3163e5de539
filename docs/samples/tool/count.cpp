// A tool of ten lines: it counts the calls of a program.
#include <atomic>
#include <hsa_plugin/hsa_tool.hpp>
#include <string>

struct Count {
  explicit Count(hsatool::Host its_host) : host(its_host) {}
  ~Count() { host.log(HSATOOL_LOG_WARN, std::to_string(calls) + " calls"); }
  void enter(hsatool_call_t&) { ++calls; }
  hsatool::Host host;
  std::atomic<uint64_t> calls{0};
};
HSATOOL_PLUGIN(Count, "count", "1.0")
