// Cost of tools that do nearly nothing. Compares calls through chains of such tools with a call that no tool
// observes. Compares packets of four producers through one tool with packets that no tool observes. The
// measurements alternate, and the minimum of each is used, because of other work on the machine.
#include <benchmark/benchmark.h>
#include <hsa/hsa.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace {

double processor_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

/// A runtime with tools of these names, outermost first.
class Runtime {
 public:
  explicit Runtime(const std::vector<std::string>& tools) {
    path_ = std::filesystem::temp_directory_path() / ("tools-bench-" + std::to_string(::getpid()) + ".json");
    std::ofstream file(path_);
    file << R"({"config_version": "1.0", "plugins": [)";
    for (const std::string& name : tools) {
      file << (&name == &tools.front() ? "" : ", ") << R"({"name": ")" << name
           << R"(", "library": ")" RIGEL_BENCH_TOOL R"(", "intercept": ["hsa_signal_load_relaxed"]})";
    }
    file << "]}";
    file.close();
    ::setenv("HSA_PLUGIN_CONFIG", path_.c_str(), 1);
    good_ = hsa_init() == HSA_STATUS_SUCCESS;
  }
  ~Runtime() {
    if (good_) hsa_shut_down();
    std::filesystem::remove(path_);
  }
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  bool is_good() const { return good_; }

 private:
  std::filesystem::path path_;
  bool good_ = false;
};

template <class Call>
double ns_a_call(const Call& call) {
  constexpr int kCalls = 20'000;
  const double begin = processor_ns();
  for (int i = 0; i < kCalls; ++i) call();
  return (processor_ns() - begin) / kCalls;
}

// Minimal work of a tool.
[[gnu::noinline]] int32_t do_nothing(void*, void*) {
  benchmark::ClobberMemory();
  return 0;
}
int32_t (*volatile tool)(void*, void*) = do_nothing;

// The argument's number of tools observe hsa_signal_load_relaxed; none observes hsa_signal_load_scacquire,
// which takes as long.
void a_call(benchmark::State& state) {
  const auto count = static_cast<size_t>(state.range(0));
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) names.push_back("tool" + std::to_string(i));
  const Runtime runtime(names);
  hsa_signal_t signal{};
  if (!runtime.is_good() || hsa_signal_create(1, 0, nullptr, &signal) != HSA_STATUS_SUCCESS)
    return state.SkipWithError("the runtime does not start");
  double seen = std::numeric_limits<double>::max();
  double unseen = seen;
  double with_own = seen;
  for (auto _ : state) {
    seen = std::min(seen, ns_a_call([&] { benchmark::DoNotOptimize(hsa_signal_load_relaxed(signal)); }));
    unseen =
        std::min(unseen, ns_a_call([&] { benchmark::DoNotOptimize(hsa_signal_load_scacquire(signal)); }));
    with_own = std::min(with_own, ns_a_call([&] {
                          tool(&state, &signal);
                          benchmark::DoNotOptimize(hsa_signal_load_scacquire(signal));
                        }));
  }
  hsa_signal_destroy(signal);
  state.counters["seen_ns"] = seen;
  state.counters["unseen_ns"] = unseen;
  if (count == 0) return;
  const double own = with_own - unseen;
  state.counters["own_ns"] = own;
  state.counters["p50_ns"] =
      (seen - unseen) / static_cast<double>(count) - own;  // per tool, without its work
  state.counters["at_most_ns"] = 5;
}
BENCHMARK(a_call)->ArgName("tools")->Arg(0)->Arg(1)->Arg(3)->Arg(8)->Iterations(100);

hsa_agent_t cpu_agent() {
  hsa_agent_t found{};
  hsa_iterate_agents(
      [](hsa_agent_t agent, void* out) {
        hsa_device_type_t type{};
        hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
        if (type == HSA_DEVICE_TYPE_CPU) *static_cast<hsa_agent_t*>(out) = agent;
        return HSA_STATUS_SUCCESS;
      },
      &found);
  return found;
}

// Nanoseconds per barrier packet of four producers: wall time, because producers that wait for room in the
// ring use CPU time without progress. 0: it failed.
double ns_a_packet(const std::vector<std::string>& tools) {
  constexpr int64_t kEach = 50'000;
  constexpr int kProducers = 4;
  const Runtime runtime(tools);
  hsa_queue_t* queue = nullptr;
  hsa_signal_t done{};
  if (!runtime.is_good() ||
      hsa_queue_create(cpu_agent(), 1024, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX, UINT32_MAX,
                       &queue) != HSA_STATUS_SUCCESS ||
      hsa_signal_create(kEach * kProducers, 0, nullptr, &done) != HSA_STATUS_SUCCESS)
    return 0;
  hsa_barrier_and_packet_t packet{};
  packet.completion_signal = done;
  constexpr auto kHeader = uint32_t{HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE};
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> producers;
  for (int i = 0; i < kProducers; ++i) {
    producers.emplace_back([&] {
      for (int64_t n = 0; n < kEach; ++n) {
        const uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
        while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size) std::this_thread::yield();
        auto* const slot = static_cast<char*>(queue->base_address) + index % queue->size * sizeof packet;
        std::memcpy(slot + 4, reinterpret_cast<const char*>(&packet) + 4, sizeof packet - 4);
        std::atomic_ref(*reinterpret_cast<uint32_t*>(slot)).store(kHeader, std::memory_order_release);
        hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
      }
    });
  }
  for (std::thread& producer : producers) producer.join();
  hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
  const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
  hsa_queue_destroy(queue);
  hsa_signal_destroy(done);
  return time.count() / (kEach * kProducers);
}

void packets_of_four_producers(benchmark::State& state) {
  double seen = std::numeric_limits<double>::max();
  double unseen = seen;
  for (auto _ : state) {
    seen = std::min(seen, ns_a_packet({"packets"}));
    unseen = std::min(unseen, ns_a_packet({}));
  }
  if (seen == 0 || unseen == 0) return state.SkipWithError("the runtime does not start");
  state.counters["seen_ns"] = seen;
  state.counters["unseen_ns"] = unseen;
  state.counters["ratio"] = seen / unseen;
  state.counters["at_most"] = 2;
}
BENCHMARK(packets_of_four_producers)->Iterations(10)->Unit(benchmark::kMillisecond);

}  // namespace
