// A tool of ten lines: it counts the calls of a program.
#include <atomic>
#include <cstdio>
#include <hsa_plugin/hsa_tool.hpp>

std::atomic<unsigned long> calls;  // static: a call on another thread can outlast the tool's object

struct Count {
  explicit Count(hsatool::Host) {}
  static void enter(hsatool_call_t&) { ++calls; }
};
HSATOOL_PLUGIN(Count, "count", "1.0")

// HIP programs end without hsa_shut_down, so the destructor of Count would not run.
[[gnu::destructor]] static void print() {
  std::fprintf(stderr, "count: %lu calls\n", calls.load());
}
