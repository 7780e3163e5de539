// What a dispatch to the CPU agent costs an application, through the public API and nothing else.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <hsa/hsa.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

void check(hsa_status_t status, const char* what) {
  if (status == HSA_STATUS_SUCCESS) return;
  const char* text = "";
  hsa_status_string(status, &text);
  std::fprintf(stderr, "%s: %s\n", what, text);
  std::exit(1);
}
#define CHECK(call) check(call, #call)

class Runtime {
 public:
  Runtime() {
    CHECK(hsa_init());
    hsa_iterate_agents(
        [](hsa_agent_t agent, void* self) {
          hsa_device_type_t type;
          CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
          if (type != HSA_DEVICE_TYPE_CPU) return HSA_STATUS_SUCCESS;
          static_cast<Runtime*>(self)->agent_ = agent;
          return HSA_STATUS_INFO_BREAK;
        },
        this);
    const int file = open(TEST_KERNELS, O_RDONLY);
    CHECK(hsa_code_object_reader_create_from_file(file, &reader_));
    CHECK(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr,
                                    &executable_));
    CHECK(hsa_executable_load_agent_code_object(executable_, agent_, reader_, nullptr, nullptr));
    CHECK(hsa_executable_freeze(executable_, nullptr));
    close(file);
    hsa_executable_symbol_t symbol;
    CHECK(hsa_executable_get_symbol_by_name(executable_, "empty.kd", &agent_, &symbol));
    CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &kernel_));
    CHECK(hsa_queue_create(agent_, 1024, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX, UINT32_MAX,
                           &queue_));
    CHECK(hsa_signal_create(0, 0, nullptr, &done_));
  }

  ~Runtime() {
    hsa_signal_destroy(done_);
    hsa_queue_destroy(queue_);
    hsa_executable_destroy(executable_);
    hsa_code_object_reader_destroy(reader_);
    hsa_shut_down();
  }

  void submit() {
    const uint64_t index = hsa_queue_add_write_index_relaxed(queue_, 1);
    while (index - hsa_queue_load_read_index_scacquire(queue_) >= queue_->size) {
    }
    auto* const packet =
        static_cast<hsa_kernel_dispatch_packet_t*>(queue_->base_address) + (index & (queue_->size - 1));
    packet->workgroup_size_x = packet->workgroup_size_y = packet->workgroup_size_z = 1;
    packet->grid_size_x = packet->grid_size_y = packet->grid_size_z = 1;
    packet->private_segment_size = packet->group_segment_size = 0;
    packet->kernel_object = kernel_;
    packet->kernarg_address = nullptr;
    packet->completion_signal = done_;
    constexpr uint32_t kHeader = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
                                 HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                                 HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
    constexpr uint32_t kSetup = 1u << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS;
    __atomic_store_n(reinterpret_cast<uint32_t*>(packet), kSetup << 16 | kHeader, __ATOMIC_RELEASE);
    hsa_signal_store_screlease(queue_->doorbell_signal, static_cast<hsa_signal_value_t>(index));
  }

  void expect(int packets) { hsa_signal_store_relaxed(done_, packets); }
  void wait(hsa_wait_state_t how) {
    hsa_signal_wait_scacquire(done_, HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX, how);
  }

 private:
  hsa_agent_t agent_{};
  hsa_code_object_reader_t reader_{};
  hsa_executable_t executable_{};
  hsa_queue_t* queue_ = nullptr;
  hsa_signal_t done_{};
  uint64_t kernel_ = 0;
};

// Argument: hsa_wait_state_t.
void RuntimeDispatchRoundTrip(benchmark::State& state) {
  Runtime runtime;
  std::vector<double> times;
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    runtime.expect(1);
    runtime.submit();
    runtime.wait(static_cast<hsa_wait_state_t>(state.range(0)));
    times.push_back(
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count());
  }
  // On a machine with other work the mean says little.
  std::sort(times.begin(), times.end());
  state.counters["p10_ns"] = times[times.size() / 10];
  state.counters["p50_ns"] = times[times.size() / 2];
  if (state.range(0) == HSA_WAIT_STATE_ACTIVE) state.counters["at_most_ns"] = 1000;
}
BENCHMARK(RuntimeDispatchRoundTrip)->UseRealTime()->Arg(HSA_WAIT_STATE_ACTIVE)->Arg(HSA_WAIT_STATE_BLOCKED);

void RuntimeDispatchThroughput(benchmark::State& state) {
  Runtime runtime;
  constexpr int kBatch = 512;
  for (auto _ : state) {
    runtime.expect(kBatch);
    for (int i = 0; i < kBatch; ++i) runtime.submit();
    runtime.wait(HSA_WAIT_STATE_ACTIVE);
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(RuntimeDispatchThroughput)->UseRealTime();

// From nothing to the first dispatch done: hsa_init, the agent, the code object, the queue, the kernel.
void InitToFirstDispatch(benchmark::State& state) {
  std::vector<double> times;
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    {
      Runtime runtime;
      runtime.expect(1);
      runtime.submit();
      runtime.wait(HSA_WAIT_STATE_ACTIVE);
      const auto end = std::chrono::steady_clock::now();
      times.push_back(std::chrono::duration<double, std::milli>(end - begin).count());
      state.SetIterationTime(times.back() * 1e-3);
    }
  }
  state.counters["first_ms"] = times.front();  // the first of the process, which loads the modules
  std::sort(times.begin(), times.end());
  state.counters["p50_ms"] = times[times.size() / 2];
  state.counters["at_most_ms"] = 3;
}
BENCHMARK(InitToFirstDispatch)->UseManualTime()->Iterations(50)->Unit(benchmark::kMillisecond);

// Signals through the exported functions, beside a bare atomic operation behind a call through a table
// pointer. The program calls the library without a procedure linkage table (-fno-plt), as it does the bare
// one: that jump is the program's own.
struct BareTable {
  int64_t (*load)(hsa_signal_t);
  void (*store)(hsa_signal_t, int64_t);
};
int64_t* value_of(hsa_signal_t signal) {
  return reinterpret_cast<int64_t*>(signal.handle) + 1;
}
constexpr BareTable kBareTable{
    [](hsa_signal_t s) { return __atomic_load_n(value_of(s), __ATOMIC_ACQUIRE); },
    [](hsa_signal_t s, int64_t v) { __atomic_store_n(value_of(s), v, __ATOMIC_RELEASE); },
};
const BareTable* volatile bare_table = &kBareTable;
[[gnu::noinline, gnu::aligned(64)]] int64_t bare_load(hsa_signal_t s) {
  return bare_table->load(s);
}
[[gnu::noinline, gnu::aligned(64)]] void bare_store(hsa_signal_t s, int64_t v) {
  bare_table->store(s, v);
}

template <class Ours, class Bare>
void compare_signals(benchmark::State& state, Ours ours, Bare bare) {
  constexpr int kBatch = 20'000;
  CHECK(hsa_init());
  hsa_signal_t signal;
  CHECK(hsa_signal_create(0, 0, nullptr, &signal));
  double best_ours = 1, best_bare = 1;
  const auto batch = [&](auto& operation, double& best) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kBatch; ++i) operation(signal);
    const double time = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    best = std::min(best, time);
    return time;
  };
  for (auto _ : state) {
    batch(bare, best_bare);
    state.SetIterationTime(batch(ours, best_ours) / kBatch);
  }
  state.counters["ns"] = best_ours / kBatch * 1e9;
  state.counters["bare_ns"] = best_bare / kBatch * 1e9;
  state.counters["ratio"] = best_ours / best_bare;
  state.counters["at_most"] = 1.2;
  CHECK(hsa_signal_destroy(signal));
  CHECK(hsa_shut_down());
}

void SignalLoadScacquire(benchmark::State& state) {
  compare_signals(
      state, [](hsa_signal_t s) { benchmark::DoNotOptimize(hsa_signal_load_scacquire(s)); },
      [](hsa_signal_t s) { benchmark::DoNotOptimize(bare_load(s)); });
}
BENCHMARK(SignalLoadScacquire)->UseManualTime()->Iterations(300);

void SignalStoreScrelease(benchmark::State& state) {
  compare_signals(
      state, [](hsa_signal_t s) { hsa_signal_store_screlease(s, 1); },
      [](hsa_signal_t s) { bare_store(s, 1); });
}
BENCHMARK(SignalStoreScrelease)->UseManualTime()->Iterations(300);

void SignalCreateDestroy(benchmark::State& state) {
  CHECK(hsa_init());
  for (auto _ : state) {
    hsa_signal_t signal;
    hsa_signal_create(1, 0, nullptr, &signal);
    hsa_signal_destroy(signal);
  }
  state.counters["at_most_ns"] = 40;
  CHECK(hsa_shut_down());
}
BENCHMARK(SignalCreateDestroy);

}  // namespace
