// The tracer with a fake runtime: concurrent recording, reuse of rings, and sessions that end while threads
// record. Tests of whole programs check the trace.
#include "plugins/trace/tracer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hsa_plugin/hsa_tool_calls.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "plugins/trace/functions.hpp"

namespace trace {
namespace {

uint64_t now() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

// The part of a runtime that the tracer uses: one function and no agents.
struct FakeRuntime {
  explicit FakeRuntime(const std::string& options) : config(options) {
    core.hsa_iterate_agents_fn = [](hsa_status_t (*)(hsa_agent_t, void*), void*) {
      return HSA_STATUS_SUCCESS;
    };
    core.hsa_status_string_fn = [](hsa_status_t, const char**) { return HSA_STATUS_ERROR; };
    tables.core_ = &core;
    host.tables = &tables;
    host.config = hsatool::str(config);
  }

  static constexpr hsatool_str_t text(std::string_view words) { return {words.data(), words.size()}; }

  void log(std::string line) {
    const std::lock_guard lock(mutex);
    lines.push_back(std::move(line));
  }
  std::vector<std::string> logged() {
    const std::lock_guard lock(mutex);
    return lines;
  }

  std::mutex mutex;
  std::vector<std::string> lines;  // messages of the log
  CoreApiTable core{};
  HsaApiTable tables{};
  std::string config;
  hsatool_value_t signal{text("signal"), text("hsa_signal_t"), HSATOOL_KIND_HANDLE, 0, 8, 0};
  hsatool_function_t load{
      sizeof load, HSATOOL_ID_hsa_signal_load_relaxed, 0, text("hsa_signal_load_relaxed"), {}, &signal, 1};
  const hsatool_function_t* functions[1] = {&load};
  hsatool_services_t services{sizeof services,
                              [](void*, uint32_t) { return int32_t{0}; },
                              [](void* self, uint32_t, hsatool_str_t line) {
                                static_cast<FakeRuntime*>(self)->log({line.data, line.size});
                              },
                              [](void*, hsatool_str_t) {},
                              now,
                              [] { return uint64_t{0}; }};
  hsatool_host_t host{sizeof host, 1, 1, this, &services, text("trace"), {}, nullptr, functions, 1};
};

// Never freed, because threads may be in callbacks after a session.
FakeRuntime& new_runtime(const std::string& options) {
  static auto* const all = new std::vector<std::unique_ptr<FakeRuntime>>;
  return *all->emplace_back(std::make_unique<FakeRuntime>(options));
}

class TracerTest : public ::testing::Test {
 protected:
  TracerTest()
      : directory_(std::filesystem::temp_directory_path() / ("trace-test-" + std::to_string(::getpid()))),
        runtime_(runtime("")) {
    std::filesystem::create_directories(directory_);
  }
  ~TracerTest() override { std::filesystem::remove_all(directory_); }

  FakeRuntime& runtime(const std::string& options, std::string file = {}) const {
    if (file.empty()) file = directory_ / "trace";
    return new_runtime(R"({"file": ")" + file + R"(", "summary": ")" + (directory_ / "table").string() +
                       R"(", "flush_ms": 1, "buffer_kb": 16)" + options + "}");
  }

  Tracer& start() { return Tracer::start_here(hsatool::Host(&runtime_.host)); }

  // Records a call with `depth` nested calls.
  static void call(Tracer& tracer, const FakeRuntime& runtime, uint64_t id, int depth = 1) {
    hsatool_hsa_signal_load_relaxed_args_t arguments{{id}};
    int64_t result = -1;
    hsatool_call_t api_call{sizeof api_call, &runtime.load, id, 0, &arguments, &result, 0};
    tracer.recorder().enter(api_call);
    if (depth > 0) call(tracer, runtime, id + 1, depth - 1);
    tracer.recorder().exit(api_call);
  }

  // Returns the table's numbers of calls and lost records.
  std::pair<uint64_t, uint64_t> counted() const {
    std::ifstream file(directory_ / "table");
    uint64_t calls = 0, lost = 0;
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      if (line.ends_with("hsa_signal_load_relaxed")) words >> calls;
      if (line.find("records are lost") != line.npos) words >> lost;
    }
    return {calls, lost};
  }

  size_t rings(Tracer& tracer) const {
    size_t count = 0;
    for (const ThreadRing* ring = tracer.recorder().rings(); ring != nullptr; ring = ring->next) ++count;
    return count;
  }

  // Returns the number of words in all rings.
  static uint64_t recorded(Tracer& tracer) {
    uint64_t words = 0;
    for (const ThreadRing* ring = tracer.recorder().rings(); ring != nullptr; ring = ring->next)
      words += ring->ring.end();
    return words;
  }

  const std::filesystem::path directory_;
  FakeRuntime& runtime_;
};

TEST_F(TracerTest, CountsCallsOfManyThreads) {
  constexpr uint64_t kThreads = 256, kCalls = 100;
  Tracer& tracer = start();
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&tracer, this, t] {
      for (uint64_t i = 0; i < kCalls; ++i) call(tracer, runtime_, (t * kCalls + i) * 2 + 1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  tracer.stop();
  const auto [calls, lost] = counted();
  EXPECT_EQ(calls + lost, 2 * kThreads * kCalls);
  EXPECT_GT(calls, 0u);
}

TEST_F(TracerTest, ReusesRingsOfEndedThreads) {
  Tracer& tracer = start();
  size_t before = 0;
  for (int i = 0; i < 20; ++i) {
    std::thread([&tracer, this] { call(tracer, runtime_, 1); }).join();
    for (const ThreadRing* ring = tracer.recorder().rings(); ring != nullptr; ring = ring->next) {
      while (ring->state == ThreadRing::kLeft) std::this_thread::yield();
    }
    if (i == 0) before = rings(tracer);
  }
  EXPECT_EQ(rings(tracer), before);
  tracer.stop();
  EXPECT_EQ(counted(), std::pair(uint64_t{40}, uint64_t{0}));
}

TEST_F(TracerTest, StopsAndStartsWhileThreadsRecord) {
  Tracer& tracer = start();
  std::atomic<bool> stop_threads{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&tracer, &stop_threads, this] {
      for (uint64_t id = 1; !stop_threads; id += 2) call(tracer, runtime_, id);
    });
  }
  for (int session = 0; session < 10; ++session) {
    const uint64_t before = recorded(tracer);
    while (recorded(tracer) < before + 1000) std::this_thread::yield();  // several whole calls
    tracer.stop();
    tracer.stop();  // a second call does nothing
    const auto [calls, lost] = counted();
    EXPECT_GT(calls + lost, 0u) << "what was recorded in life " << session << " is in its table";
    std::filesystem::remove(directory_ / "table");  // otherwise the next table is appended
    start();
  }
  stop_threads = true;
  for (std::thread& thread : threads) thread.join();
  tracer.stop();
}

TEST_F(TracerTest, SecondStartFails) {
  Tracer& tracer = start();
  EXPECT_THROW(start(), std::runtime_error);
  tracer.stop();
}

TEST_F(TracerTest, RecordsNothingBetweenSessions) {
  Tracer& tracer = start();
  tracer.stop();
  call(tracer, runtime_, 1);
  start();
  tracer.stop();
  EXPECT_EQ(counted().first, 0u);
}

TEST_F(TracerTest, AppendsTablesOfAllSessions) {
  for (const uint64_t calls : {1, 2, 3}) {
    Tracer& tracer = start();
    for (uint64_t id = 1; id <= calls; ++id) call(tracer, runtime_, id, 0);
    tracer.stop();
  }
  std::ifstream file(directory_ / "table");
  std::vector<uint64_t> counts;
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with("hsa_signal_load_relaxed")) counts.push_back(std::stoull(line));
  }
  EXPECT_THAT(counts, ::testing::ElementsAre(1, 2, 3));
}

TEST_F(TracerTest, WritesTableIfDiskIsFull) {
  FakeRuntime& full = runtime("", "/dev/full");
  Tracer& tracer = Tracer::start_here(hsatool::Host(&full.host));
  call(tracer, full, 1);
  while (full.logged().empty()) std::this_thread::yield();
  call(tracer, full, 3);
  tracer.stop();
  EXPECT_THAT(full.logged(), ::testing::ElementsAre("/dev/full: cannot write: No space left on device"));
  EXPECT_EQ(counted(), std::pair(uint64_t{4}, uint64_t{0}));
}

TEST_F(TracerTest, WarnsOfUnmatchedPatterns) {
  FakeRuntime& mistaken = runtime(
      R"(, "functions": ["hsasignal*", "hsa_signal_*", "!*_index_*"], "agents": ["gfx9999"], "kernels": ["x"])");
  Tracer::start_here(hsatool::Host(&mistaken.host)).stop();
  EXPECT_THAT(mistaken.logged(), ::testing::ElementsAre("option functions: 'hsasignal*' matches no function",
                                                        "option functions: '!*_index_*' matches no function",
                                                        "option agents: 'gfx9999' matches no agent"));
}

TEST(KernelNames, ApplyFromTimeOfAddition) {
  KernelNames names;
  EXPECT_EQ(names.name(0x40, 5), "kernel 0x40");
  names.add(0x40, "first", 10);
  names.add(0x40, "second", 20);
  EXPECT_EQ(names.name(0x40, 9), "kernel 0x40");
  EXPECT_EQ(names.name(0x40, 10), "first");
  EXPECT_EQ(names.name(0x40, 25), "second");
}

TEST(Functions, CopyFunctionsHaveCopyRole) {
  for (const uint32_t id :
       {HSATOOL_ID_hsa_amd_memory_async_copy, HSATOOL_ID_hsa_amd_memory_async_copy_on_engine,
        HSATOOL_ID_hsa_amd_memory_async_copy_rect, HSATOOL_ID_hsa_amd_memory_async_batch_copy}) {
    hsatool_function_t function{};
    function.id = id;
    const hsatool_function_t* const all[] = {&function};
    EXPECT_EQ(describe_functions(all).at(0).role, FunctionRole::kCopies) << id;
  }
}

TEST(KernelNames, AreDemangled) {
  EXPECT_EQ(demangled("_ZN6traced6tripleE10TripleArgs.kd"), "traced::triple(TripleArgs)");
  EXPECT_EQ(demangled("copy.kd"), "copy");
  EXPECT_EQ(demangled("_Zwrong"), "_Zwrong");
}

}  // namespace
}  // namespace trace
