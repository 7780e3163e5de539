// The cost of recording for the calling thread: a very short call, with and without the tool. The buffer is
// large enough for all records, and the writer thread runs concurrently.
#include <benchmark/benchmark.h>
#include <hsa/hsa.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

constexpr int64_t kCalls = 200'000;

class Runtime {
 public:
  /// `options`: options of the trace tool; null: without the tool.
  explicit Runtime(const char* options) {
    path_ = std::filesystem::temp_directory_path() / ("trace-bench-" + std::to_string(::getpid()) + ".json");
    std::ofstream(path_)
        << R"({"config_version": "1.0", "plugins": [{"name": "trace", "on_error": "fail", "enabled": )"
        << (options == nullptr ? "false" : "true")
        << R"(, "library": "libhsa_tool_trace.so", "config": {"file": "/dev/null", "summary": "none", )"
        << R"("buffer_kb": 32768, )" << (options == nullptr ? R"("functions": [])" : options) << "}}]}";
    ::setenv("HSA_PLUGIN_CONFIG", path_.c_str(), 1);
    good_ =
        hsa_init() == HSA_STATUS_SUCCESS && hsa_signal_create(1, 0, nullptr, &signal) == HSA_STATUS_SUCCESS;
  }
  ~Runtime() {
    hsa_signal_destroy(signal);
    hsa_shut_down();
    std::filesystem::remove(path_);
  }
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  bool is_good() const { return good_; }
  hsa_signal_t signal{};

 private:
  std::filesystem::path path_;
  bool good_ = false;
};

void call(benchmark::State& state, const char* options) {
  const Runtime runtime(options);
  if (!runtime.is_good()) return state.SkipWithError("hsa_init failed");
  // Touches the pages of the buffer, so that page faults are not measured.
  for (int64_t i = 0; i < kCalls; ++i) benchmark::DoNotOptimize(hsa_signal_load_relaxed(runtime.signal));
  for (auto _ : state) benchmark::DoNotOptimize(hsa_signal_load_relaxed(runtime.signal));
}

BENCHMARK_CAPTURE(call, without_the_tool, nullptr)
    ->Iterations(kCalls)
    ->Repetitions(5)
    ->ReportAggregatesOnly();
BENCHMARK_CAPTURE(call, not_recorded, R"("functions": ["hsa_queue_*"])")
    ->Iterations(kCalls)
    ->Repetitions(5)
    ->ReportAggregatesOnly();
BENCHMARK_CAPTURE(call, recorded, R"("functions": [])")
    ->Iterations(kCalls)
    ->Repetitions(5)
    ->ReportAggregatesOnly();

}  // namespace
