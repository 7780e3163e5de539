// A tool of ten lines: it counts the calls of a program. The counter is static, because a call on another
// thread may still use it after the destructor.
#include <atomic>
#include <hsa_plugin/hsa_tool.hpp>
#include <string>

struct Count {
  explicit Count(hsatool::Host its_host) : host(its_host) { calls = 0; }
  ~Count() { host.log(HSATOOL_LOG_WARN, std::to_string(calls) + " calls"); }
  static void enter(hsatool_call_t&) { ++calls; }
  hsatool::Host host;
  static inline std::atomic<uint64_t> calls;
};
HSATOOL_PLUGIN(Count, "count", "1.0")
