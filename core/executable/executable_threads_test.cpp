// Executables with several threads: concurrent operations and races.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "core/executable/testing/executable_fixture.hpp"

namespace rigel {
namespace {

class ExecutableThreads : public ExecutableFixture {};

/// Blocks threads until all have arrived, or until a time that indicates a deadlock.
class MeetingPoint {
 public:
  explicit MeetingPoint(int expected) : missing_(expected) {}

  void arrive() {
    std::unique_lock lock(mutex_);
    if (--missing_ == 0) all_here_.notify_all();
    met_ &= all_here_.wait_for(lock, std::chrono::seconds(60), [this] { return missing_ <= 0; });
  }
  bool met() const { return met_; }

 private:
  std::mutex mutex_;
  std::condition_variable all_here_;
  int missing_;
  bool met_ = true;
};

TEST_F(ExecutableThreads, LoadsIntoDifferentExecutablesConcurrently) {
  const Bytes bytes = host_kernels();
  // External symbols are resolved in the middle of a load, with the executable's lock held.
  class Meeting : public HostTarget {
   public:
    Meeting(uint64_t handle, MeetingPoint& point) : HostTarget(handle), point_(point) {}
    std::optional<uint64_t> resolve(std::string_view name) override {
      if (name == "external_function") point_.arrive();
      return HostTarget::resolve(name);
    }

   private:
    MeetingPoint& point_;
  };
  MeetingPoint point(2);
  Meeting target(0x3001, point);
  target.known_symbols["external_function"] = reinterpret_cast<uintptr_t>(&external_function_of_test);
  target.known_symbols["external_variable"] = reinterpret_cast<uintptr_t>(&external_variable_of_test);
  struct Targets : FakeTargets {
    explicit Targets(CodeTarget& only) : only_(only) {}
    CodeTarget* target_of(hsa_agent_t) override { return &only_; }
    CodeTarget& only_;
  } targets(target);
  ExecutableRegistry registry(targets);
  hsa_executable_t made[2]{};
  hsa_code_object_reader_t reader{};
  ASSERT_EQ(registry.code_object_reader_create_from_memory(bytes.data(), bytes.size(), &reader),
            HSA_STATUS_SUCCESS);
  std::vector<std::thread> threads;
  for (hsa_executable_t& executable : made) {
    ASSERT_EQ(registry.executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
                                             nullptr, &executable),
              HSA_STATUS_SUCCESS);
    threads.emplace_back([&registry, &target, reader, &executable] {
      EXPECT_EQ(
          registry.executable_load_agent_code_object(executable, target.agent(), reader, nullptr, nullptr),
          HSA_STATUS_SUCCESS);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(point.met()) << "one load waited for the other";
}

TEST_F(ExecutableThreads, OneOfManyLoadsOfSameSymbolsSucceeds) {
  const Bytes bytes = host_kernels();
  const hsa_executable_t executable = make_executable();
  ASSERT_EQ(define_external(executable, targets_.cpu), HSA_STATUS_SUCCESS);
  const hsa_code_object_reader_t reader = reader_for(bytes);
  std::atomic<int> loaded{0};
  std::atomic<int> refused{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const Status status = registry_.executable_load_agent_code_object(executable, targets_.cpu.agent(),
                                                                        reader, nullptr, nullptr);
      if (status == HSA_STATUS_SUCCESS) ++loaded;
      if (status == HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED) ++refused;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(loaded, 1);
  EXPECT_EQ(refused, 3);
  EXPECT_EQ(targets_.cpu.live_allocations, 1);
}

TEST_F(ExecutableThreads, CreateUseAndDestroyDuringQueries) {
  constexpr int kRounds = 30;
  const Bytes bytes = host_kernels();
  const hsa_code_object_reader_t reader = reader_for(bytes);
  std::atomic<bool> over{false};
  std::atomic<uint64_t> last_executable{0};
  std::atomic<uint64_t> last_symbol{0};
  std::atomic<uint64_t> last_address{0};
  std::vector<std::thread> makers;
  for (int i = 0; i < 2; ++i) {
    makers.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        const hsa_executable_t executable = make_executable();
        last_executable = executable.handle;
        EXPECT_EQ(define_external(executable, targets_.cpu), HSA_STATUS_SUCCESS);
        EXPECT_EQ(registry_.executable_load_agent_code_object(executable, targets_.cpu.agent(), reader,
                                                              nullptr, nullptr),
                  HSA_STATUS_SUCCESS);
        const auto work = symbol(executable, "work", targets_.cpu);
        last_symbol = work.handle;
        EXPECT_EQ(freeze(executable), HSA_STATUS_SUCCESS);
        last_address = info<uint64_t>(work, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT);
        EXPECT_NE(last_address, 0u);
        EXPECT_EQ(registry_.executable_destroy(executable), HSA_STATUS_SUCCESS);
      }
    });
  }
  std::thread looker([&] {
    const auto look_at_symbol = [](hsa_executable_t, hsa_executable_symbol_t found, void* data) {
      uint32_t length = 0;
      static_cast<ExecutableRegistry*>(data)->executable_symbol_get_info(
          found, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH, &length);
      return HSA_STATUS_SUCCESS;
    };
    const auto look_at_executable = [](hsa_executable_t, void*) { return HSA_STATUS_SUCCESS; };
    while (!over) {
      // Any valid status is correct.
      uint64_t value = 0;
      const void* host = nullptr;
      hsa_executable_t owner{};
      size_t count = 0;
      const hsa_executable_t executable{last_executable};
      registry_.executable_iterate_symbols(executable, look_at_symbol, &registry_);
      registry_.executable_get_info(executable, HSA_EXECUTABLE_INFO_STATE, &value);
      registry_.executable_symbol_get_info({last_symbol}, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &value);
      registry_.ven_amd_loader_query_host_address(reinterpret_cast<void*>(last_address.load()), &host);
      registry_.ven_amd_loader_query_executable(reinterpret_cast<void*>(last_address.load()), &owner);
      registry_.ven_amd_loader_query_segment_descriptors(nullptr, &count);
      registry_.ven_amd_loader_iterate_executables(look_at_executable, nullptr);
      std::this_thread::yield();
    }
  });
  for (std::thread& maker : makers) maker.join();
  over = true;
  looker.join();
  EXPECT_EQ(targets_.cpu.live_allocations, 0);
}

}  // namespace
}  // namespace rigel
