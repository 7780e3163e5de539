// Cost of API calls under the tool, with one and with several threads. The calls are one with only a handle
// check, and the creation and destruction of a signal, with and without recorded call stacks.
#include <benchmark/benchmark.h>
#include <hsa/hsa.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

namespace {

class Runtime {
 public:
  /// `options`: members of the tool's JSON object. Null disables the tool.
  explicit Runtime(const char* options) {
    path_ =
        std::filesystem::temp_directory_path() / ("validate-bench-" + std::to_string(::getpid()) + ".json");
    std::ofstream(path_)
        << R"({"config_version": "1.0", "plugins": [{"name": "validate", "on_error": "fail", )"
        << R"("library": "libhsa_tool_validate.so", "enabled": )" << (options == nullptr ? "false" : "true")
        << R"(, "config": {)" << (options == nullptr ? "" : options) << "}}]}";
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

std::unique_ptr<Runtime> runtime;  // shared by all threads of a measurement

// Runs `work` in all threads. The first thread creates the runtime.
template <class Work>
void run(benchmark::State& state, const char* options, const Work& work) {
  if (state.thread_index() == 0) runtime = std::make_unique<Runtime>(options);
  for (auto _ : state) work();  // all threads wait for each other at the start
  if (state.thread_index() == 0) {
    if (!runtime->is_good()) state.SkipWithError("hsa_init failed");
    runtime.reset();
  }
}

void load(benchmark::State& state, const char* options) {
  run(state, options, [] { benchmark::DoNotOptimize(hsa_signal_load_relaxed(runtime->signal)); });
}

void create_and_destroy(benchmark::State& state, const char* options) {
  run(state, options, [] {
    hsa_signal_t signal{};
    hsa_signal_create(1, 0, nullptr, &signal);
    hsa_signal_destroy(signal);
  });
}

#define MEASURE(what, name, options) \
  BENCHMARK_CAPTURE(what, name, options)->Threads(1)->Threads(8)->UseRealTime()
MEASURE(load, without_the_tool, nullptr);
MEASURE(load, with_the_tool, "");
MEASURE(create_and_destroy, without_the_tool, nullptr);
MEASURE(create_and_destroy, with_the_tool, "");
MEASURE(create_and_destroy, with_the_tool_without_places, R"("stack": 0)");

}  // namespace
