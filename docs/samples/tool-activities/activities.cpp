// A tool that receives activities: the kernels, barriers and copies that devices have completed, with their
// times. For each it prints the call that submitted it, its waiting time and its running time. It prints in
// the last hsa_shut_down, or at the end of a process without hsa_shut_down, such as a HIP program.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <hsa_plugin/hsa_tool.hpp>
#include <mutex>
#include <string>
#include <vector>

namespace {

// A call of the API that may submit work.
struct Call {
  uint64_t id = 0;
  uint64_t time = 0;  // ns, when it was entered
  const hsatool_function_t* function = nullptr;
};

// Data of the callbacks. Never freed, because a callback on another thread may run after the tool's
// destructor.
struct State {
  uint64_t (*now)();
  pid_t process;  // a forked child has a copy of what its parent collected, which is the parent's to print
  std::mutex mutex;
  std::array<Call, 4096> calls;  // the last ones, by id; guarded by mutex
  struct Line {
    uint64_t begin;
    std::string text;
  };
  std::vector<Line> lines;  // guarded by mutex

  void print() {
    const std::lock_guard lock(mutex);
    std::stable_sort(lines.begin(), lines.end(),
                     [](const Line& a, const Line& b) { return a.begin < b.begin; });
    for (const Line& line : lines) std::printf("activities: %s\n", line.text.c_str());
    lines.clear();
  }
};
constinit std::atomic<State*> current{nullptr};

// Runs at the end of a process without hsa_shut_down.
[[gnu::destructor]] void print_rest() {
  State* const state = current;
  if (state != nullptr && state->process == getpid()) state->print();
}

double us(uint64_t from, uint64_t to) {
  return static_cast<double>(static_cast<int64_t>(to - from)) / 1000;
}

std::string what_of(const hsatool_activity_t& activity) {
  switch (activity.kind) {
    case HSATOOL_ACTIVITY_DISPATCH:
      return "kernel in packet " + std::to_string(activity.index);
    case HSATOOL_ACTIVITY_BARRIER:
      return "barrier in packet " + std::to_string(activity.index);
    default:
      return "copy of " + std::to_string(activity.bytes) + " bytes";
  }
}

class Activities {
 public:
  explicit Activities(hsatool::Host host) {
    current = new State{host.raw().services->now, getpid(), {}, {}, {}};
  }
  // Does not report work that devices have not completed.
  ~Activities() { current.load()->print(); }

  // Selects functions that submit work: stores to a doorbell and asynchronous copies.
  static bool wants(const hsatool_function_t& function) {
    const std::string_view name = hsatool::view(function.name);
    return name.starts_with("hsa_signal_store_") || name.starts_with("hsa_amd_memory_async_");
  }

  static void enter(hsatool_call_t& call) {
    State& state = *current;
    const uint64_t time = state.now();
    const std::lock_guard lock(state.mutex);
    state.calls[call.id % state.calls.size()] = {call.id, time, call.function};
  }

  static uint32_t activities() {
    return HSATOOL_ACTIVITY_DISPATCH | HSATOOL_ACTIVITY_BARRIER | HSATOOL_ACTIVITY_COPY;
  }

  // Runs on a thread of the runtime, before the program is notified of the end of the work. It must be short
  // and must not wait.
  static void done(const hsatool_activity_t& activity) {
    State& state = *current;
    std::string text = what_of(activity);
    const std::lock_guard lock(state.mutex);
    const Call& call = state.calls[activity.call % state.calls.size()];
    char times[64];
    if (activity.call != 0 && call.id == activity.call) {
      std::snprintf(times, sizeof times, ", waited %.1f us", us(call.time, activity.begin));
      text += ": submitted by " + std::string(hsatool::view(call.function->name)) + times;
    }
    std::snprintf(times, sizeof times, ", ran %.1f us", us(activity.begin, activity.end));
    state.lines.push_back({activity.begin, text + times});
  }
};

}  // namespace

HSATOOL_PLUGIN(Activities, "activities", "1.0")
