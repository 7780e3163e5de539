// Misbehaving tools and the tools next to them (docs/extend/tool.md), for both ABIs: the tool is between two
// others, which must be unaffected.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hsa/hsa_api_trace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "api/entry/testing/hooks.hpp"
#include "api/entry/testing/submission.hpp"
#include "api/entry/testing/tool_chain.hpp"

namespace {

using rigel::testing::barrier;
using rigel::testing::cpu_agent;
using rigel::testing::Hooks;
using rigel::testing::make_signal;
using rigel::testing::PluginEntry;
using rigel::testing::submit;
using rigel::testing::ToolChain;
using rigel::testing::wait_until;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::KilledBySignal;

class MisbehavingTool : public ::testing::TestWithParam<const char*> {
 protected:
  // Returns whether the outer and the inner tool observe a call of the program, and its result for a signal
  // of 1.
  int64_t load_a_signal() {
    hsa_signal_t signal{};
    EXPECT_EQ(hsa_signal_create(1, 0, nullptr, &signal), HSA_STATUS_SUCCESS);
    chain_.recorder.take();
    const int64_t value = hsa_signal_load_relaxed(signal);
    EXPECT_THAT(chain_.recorder.take(),
                ElementsAre("outer > hsa_signal_load_relaxed", "inner > hsa_signal_load_relaxed",
                            "inner < hsa_signal_load_relaxed", "outer < hsa_signal_load_relaxed"));
    hsa_signal_destroy(signal);
    return value;
  }
  // The other two tools are unloaded normally.
  void close_and_see_others_end() {
    chain_.recorder.take();
    chain_.close();
    EXPECT_THAT(chain_.recorder.take(), ElementsAre("outer > hsa_shut_down", "inner > hsa_shut_down",
                                                    "outer unload", "inner unload"));
  }
  // A runtime with all three tools working normally.
  void expect_a_good_life() {
    ASSERT_EQ(chain_.open(), HSA_STATUS_SUCCESS);
    EXPECT_EQ(load_a_signal(), 11);
    close_and_see_others_end();
  }
  // End of a forked child, which may start a runtime with tools. Prints failures.
  [[noreturn]] void end_child_well() {
    expect_a_good_life();
    ::_exit(HasFailure() ? 1 : 0);
  }
  static void expect_good(pid_t child) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  static hsa_status_t system_info() {
    uint64_t time = 0;
    return hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &time);
  }

  Hooks hooks_;
  ToolChain chain_{{.name = "outer"},
                   {.name = "hooked",
                    .more = R"("abi": ")" + std::string(GetParam()) + "\"",
                    .library = RIGEL_TEST_HOOKED_TOOL},
                   {.name = "inner"}};
};

INSTANTIATE_TEST_SUITE_P(OfAbi, MisbehavingTool, ::testing::Values("rigel", "hsa_tools"),
                         [](const auto& abi) { return std::string(abi.param); });

TEST_P(MisbehavingTool, WorksNormally) {
  expect_a_good_life();
  expect_a_good_life();
}

// --- Fails, throws, crashes --------------------------------------------------------------------------------

TEST_P(MisbehavingTool, IsSkippedIfItFails) {
  hooks_.load = [] { return false; };
  hooks_.unload = [] { ADD_FAILURE() << "it was not loaded"; };
  ASSERT_EQ(chain_.open(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(load_a_signal(), 1);
  close_and_see_others_end();
}

TEST_P(MisbehavingTool, IsSkippedIfLoadThrows) {
  hooks_.load = []() -> bool { throw std::runtime_error("in load"); };
  hooks_.unload = [] { ADD_FAILURE() << "it was not loaded"; };
  ASSERT_EQ(chain_.open(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(load_a_signal(), 1);
  close_and_see_others_end();
}

TEST_P(MisbehavingTool, CanThrowInUnload) {
  hooks_.unload = [] { throw std::runtime_error("in unload"); };
  ASSERT_EQ(chain_.open(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(load_a_signal(), 11);
  close_and_see_others_end();
  expect_a_good_life();
}

// The process ends; the last line of the log names the tool.
TEST_P(MisbehavingTool, IsNamedIfLoadCrashes) {
  hooks_.load = []() -> bool { std::abort(); };
  ::setenv("HSA_LOADER_DEBUG", "chain", 1);
  EXPECT_EXIT(chain_.open(), KilledBySignal(SIGABRT), "tool hooked: loading[^\n]*\n$");
  ::setenv("HSA_LOADER_DEBUG", "none", 1);
}

TEST_P(MisbehavingTool, IsNamedIfUnloadCrashes) {
  hooks_.unload = [] { std::abort(); };
  ::setenv("HSA_LOADER_DEBUG", "chain", 1);
  const auto crash = [this] {
    chain_.open();
    chain_.close();
  };
  EXPECT_EXIT(crash(), KilledBySignal(SIGABRT),
              "tool outer: unloading[^\n]*\n[^\n]*tool hooked: unloading[^\n]*\n$");
  ::setenv("HSA_LOADER_DEBUG", "none", 1);
}

// --- Throws in each callback -------------------------------------------------------------------------------

class ThrowingTool : public ::testing::TestWithParam<std::string> {
 protected:
  // A runtime in which each kind of event occurs at least once. Prints failures.
  static void live(ToolChain& chain) {
    ASSERT_EQ(chain.open(), HSA_STATUS_SUCCESS);
    hsa_queue_t* queue = nullptr;
    ASSERT_EQ(hsa_queue_create(cpu_agent(), 64, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, UINT32_MAX,
                               UINT32_MAX, &queue),
              HSA_STATUS_SUCCESS);
    const hsa_signal_t done = make_signal(3);
    submit(queue, barrier(done));
    submit(queue, barrier(done));
    char from[100] = "what is copied";
    char to[100] = {};
    ASSERT_EQ(hsa_amd_memory_async_copy(to, cpu_agent(), from, cpu_agent(), sizeof from, 0, nullptr, done),
              HSA_STATUS_SUCCESS);
    EXPECT_TRUE(wait_until(done, 0));
    EXPECT_STREQ(to, from);
    hsa_queue_destroy(queue);
    hsa_signal_destroy(done);
    chain.close();
  }
};

INSTANTIATE_TEST_SUITE_P(In, ThrowingTool,
                         ::testing::Values("check", "load", "wants", "enter", "exit", "wants_queue", "submit",
                                           "activities", "done", "unload"),
                         [](const auto& member) { return member.param; });

TEST_P(ThrowingTool, IsLoggedOnceAndUnloaded) {
  ToolChain chain{{.name = "thrower",
                   .options = R"("throws_in": ")" + GetParam() + "\"",
                   .library = RIGEL_TEST_THROWING_TOOL},
                  {.name = "good", .options = R"("packets": true, "activities": true)"}};
  ::testing::internal::CaptureStderr();
  ::setenv("HSA_LOADER_DEBUG", "error", 1);
  live(chain);
  ::setenv("HSA_LOADER_DEBUG", "none", 1);
  std::istringstream log(::testing::internal::GetCapturedStderr());
  std::vector<std::string> lines;
  for (std::string line; std::getline(log, line);) lines.push_back(line);
  const bool is_left_out = GetParam() == "check" || GetParam() == "load";
  EXPECT_THAT(lines,
              ElementsAre(HasSubstr(is_left_out ? GetParam() == "check" ? "/config: check() of the tool threw"
                                                                        : "rigel: error: tool thrower: "
                                    : GetParam() == "unload" ? "rigel: error: tool thrower: unload() threw"
                                                             : "rigel: error: tool thrower: disabled: ")));
  const auto seen = chain.recorder.take();
  for (const char* line :
       {"good > hsa_queue_destroy", "good packet 1", "good done 1", "good copy of 100", "good unload"})
    EXPECT_THAT(seen, Contains(line));
  EXPECT_EQ(std::count(seen.begin(), seen.end(), "thrower unload"), is_left_out ? 0 : 1);
}

// --- Closes its library ------------------------------------------------------------------------------------

TEST_P(MisbehavingTool, StaysLoadedIfItClosesItself) {
  const auto close_it = [] {
    for (int times = 0; times < 10; ++times) {
      void* const library = ::dlopen(RIGEL_TEST_HOOKED_TOOL, RTLD_NOW | RTLD_NOLOAD);
      ASSERT_NE(library, nullptr);
      ::dlclose(library);
      ::dlclose(library);  // the runtime's reference
    }
  };
  hooks_.load = [&] { return close_it(), true; };
  hooks_.call = close_it;
  hooks_.unload = close_it;
  expect_a_good_life();
  expect_a_good_life();
}

// --- Calls the API -----------------------------------------------------------------------------------------

TEST_P(MisbehavingTool, CanCallApiInEveryCallback) {
  std::vector<hsa_status_t> answers;
  const auto call = [&] { answers.push_back(system_info()); };
  hooks_.load = [&] { return call(), true; };
  hooks_.call = call;
  hooks_.unload = call;
  ASSERT_EQ(chain_.open(), HSA_STATUS_SUCCESS);
  hsa_signal_t signal{};
  ASSERT_EQ(hsa_signal_create(1, 0, nullptr, &signal), HSA_STATUS_SUCCESS);
  chain_.recorder.take();
  EXPECT_EQ(hsa_signal_load_relaxed(signal), 11);
  // Calls of ROCr-ABI tools are like the program's: they start at the outermost tool.
  const auto seen = chain_.recorder.take();
  const bool is_seen = std::string(GetParam()) == "hsa_tools";
  EXPECT_EQ(std::count(seen.begin(), seen.end(), "outer > hsa_system_get_info"), is_seen ? 1 : 0);
  EXPECT_EQ(std::count(seen.begin(), seen.end(), "inner > hsa_system_get_info"), is_seen ? 1 : 0);
  hsa_signal_destroy(signal);
  chain_.close();
  EXPECT_THAT(answers, ElementsAre(HSA_STATUS_SUCCESS, HSA_STATUS_SUCCESS, HSA_STATUS_SUCCESS));
}

TEST_P(MisbehavingTool, CannotReleaseReferenceOfProgram) {
  std::vector<hsa_status_t> answers;
  hooks_.load = [&] {
    answers = {hsa_init(), hsa_shut_down(), hsa_shut_down()};
    return true;
  };
  ASSERT_EQ(chain_.open(), HSA_STATUS_SUCCESS);
  EXPECT_THAT(answers, ElementsAre(HSA_STATUS_SUCCESS, HSA_STATUS_SUCCESS, HSA_STATUS_ERROR_NOT_INITIALIZED));
  EXPECT_EQ(load_a_signal(), 11);
  hooks_.unload = [&] { answers = {hsa_init(), hsa_shut_down()}; };
  chain_.close();
  EXPECT_THAT(answers, ElementsAre(HSA_STATUS_ERROR_OUT_OF_RESOURCES, HSA_STATUS_ERROR_NOT_INITIALIZED));
  EXPECT_EQ(system_info(), HSA_STATUS_ERROR_NOT_INITIALIZED);
}

// --- Forks -------------------------------------------------------------------------------------------------

TEST_P(MisbehavingTool, CanForkInLoad) {
  const pid_t parent = ::getpid();
  pid_t child = 0;
  hooks_.load = [&] {
    if (::getpid() == parent) child = ::fork();
    return true;
  };
  const hsa_status_t status = chain_.open();
  if (::getpid() != parent) {
    EXPECT_EQ(status, HSA_STATUS_ERROR_OUT_OF_RESOURCES);  // it leaves its parent's hsa_init
    EXPECT_EQ(system_info(), HSA_STATUS_ERROR_NOT_INITIALIZED);
    end_child_well();
  }
  EXPECT_EQ(status, HSA_STATUS_SUCCESS);
  EXPECT_EQ(load_a_signal(), 11);
  close_and_see_others_end();
  expect_good(child);
}

TEST_P(MisbehavingTool, CanForkInCall) {
  const pid_t parent = ::getpid();
  pid_t child = 0;
  hooks_.call = [&] {
    if (::getpid() == parent) child = ::fork();
  };
  ASSERT_EQ(chain_.open(), HSA_STATUS_SUCCESS);
  hsa_signal_t signal{};
  ASSERT_EQ(hsa_signal_create(1, 0, nullptr, &signal), HSA_STATUS_SUCCESS);
  const int64_t value = hsa_signal_load_relaxed(signal);
  if (::getpid() != parent) {
    EXPECT_EQ(system_info(), HSA_STATUS_ERROR_NOT_INITIALIZED);
    end_child_well();
  }
  EXPECT_EQ(value, 11);
  hsa_signal_destroy(signal);
  expect_good(child);
  hooks_.call = [] {};
  EXPECT_EQ(load_a_signal(), 11);
  close_and_see_others_end();
}

TEST_P(MisbehavingTool, CanForkInUnload) {
  const pid_t parent = ::getpid();
  pid_t child = 0;
  hooks_.unload = [&] {
    if (::getpid() == parent) child = ::fork();
  };
  ASSERT_EQ(chain_.open(), HSA_STATUS_SUCCESS);
  chain_.recorder.take();
  chain_.close();
  if (::getpid() != parent) {
    EXPECT_EQ(system_info(), HSA_STATUS_ERROR_NOT_INITIALIZED);
    end_child_well();
  }
  EXPECT_THAT(chain_.recorder.take(), Contains("inner unload"));
  expect_good(child);
  hooks_.unload = [] {};
  expect_a_good_life();
}

// --- Never returns -----------------------------------------------------------------------------------------

// Blocks the calling thread until the test has observed the other threads.
class Hold {
 public:
  void operator()() {
    reached_ = true;
    reached_.notify_all();
    over_.wait(false);
  }
  void wait_until_reached() { reached_.wait(false); }
  void end() {
    over_ = true;
    over_.notify_all();
  }
  bool is_over() const { return over_; }

 private:
  std::atomic<bool> reached_{false};
  std::atomic<bool> over_{false};
};

TEST_P(MisbehavingTool, BlockedCallBlocksItsThreadOnly) {
  Hold hold;
  std::atomic<std::thread::id> held{};
  hooks_.call = [&] {
    if (std::this_thread::get_id() == held.load()) hold();
  };
  ASSERT_EQ(chain_.open(), HSA_STATUS_SUCCESS);
  hsa_signal_t signal{};
  ASSERT_EQ(hsa_signal_create(1, 0, nullptr, &signal), HSA_STATUS_SUCCESS);
  std::thread thread([&] {
    held = std::this_thread::get_id();
    EXPECT_EQ(hsa_signal_load_relaxed(signal), 11);
  });
  hold.wait_until_reached();
  EXPECT_EQ(load_a_signal(), 11);
  EXPECT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_shut_down(), HSA_STATUS_SUCCESS);
  hold.end();
  thread.join();
  hsa_signal_destroy(signal);
  close_and_see_others_end();
}

TEST_P(MisbehavingTool, BlockedLoadBlocksEveryInit) {
  Hold hold;
  hooks_.load = [&] { return hold(), true; };
  std::thread first([&] { EXPECT_EQ(chain_.open(), HSA_STATUS_SUCCESS); });
  hold.wait_until_reached();
  std::thread second([&] {
    EXPECT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
    EXPECT_TRUE(hold.is_over());
    hsa_shut_down();
  });
  EXPECT_EQ(system_info(), HSA_STATUS_SUCCESS);
  hold.end();
  first.join();
  second.join();
  EXPECT_EQ(load_a_signal(), 11);
  close_and_see_others_end();
}

TEST_P(MisbehavingTool, BlockedUnloadBlocksShutDown) {
  Hold hold;
  hooks_.unload = [&] { hold(); };
  ASSERT_EQ(chain_.open(), HSA_STATUS_SUCCESS);
  std::thread first([&] { chain_.close(); });
  hold.wait_until_reached();
  EXPECT_EQ(system_info(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_shut_down(), HSA_STATUS_ERROR_NOT_INITIALIZED);
  std::thread second([&] {
    EXPECT_EQ(hsa_init(), HSA_STATUS_SUCCESS);  // creates the next runtime
    EXPECT_TRUE(hold.is_over());
    hsa_shut_down();
  });
  hold.end();
  first.join();
  second.join();
}

// --- Exchanges table entries -------------------------------------------------------------------------------

// Tools of ROCr's ABI have the current tables, and may store to them at any time.
class ToolWithTheTables : public ::testing::Test {
 protected:
  // Atomic, as a tool in a multi-threaded program must do.
  template <class Function>
  static void exchange(Function*& slot, Function* function) {
    std::atomic_ref(slot).store(function, std::memory_order_release);
  }
  static int64_t load_a_signal() {
    hsa_signal_t signal{};
    EXPECT_EQ(hsa_signal_create(1, 0, nullptr, &signal), HSA_STATUS_SUCCESS);
    const int64_t value = hsa_signal_load_relaxed(signal);
    hsa_signal_destroy(signal);
    return value;
  }
  static hsa_signal_value_t answer_100(hsa_signal_t) { return 100; }

  static PluginEntry hooked(const std::string& table = "current") {
    return {.name = "hooked",
            .options = R"("table": ")" + table + "\"",
            .more = R"("abi": "hsa_tools")",
            .library = RIGEL_TEST_HOOKED_TOOL};
  }
  Hooks hooks_;
};

TEST_F(ToolWithTheTables, CanExchangeEntriesDuringCalls) {
  ToolChain chain{{.name = "outer", .more = R"("intercept": ["hsa_init"])"}, hooked()};
  ASSERT_EQ(chain.open(), HSA_STATUS_SUCCESS);
  auto& slot = hooks_.tables->core_->hsa_signal_load_relaxed_fn;
  auto* const its_own = slot;
  hsa_signal_t signal{};
  ASSERT_EQ(hsa_signal_create(1, 0, nullptr, &signal), HSA_STATUS_SUCCESS);

  constexpr int kThreads = 4;
  std::atomic<int> working{kThreads};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      // Until the thread has seen both functions twice.
      for (const int64_t wanted : {11, 100, 11, 100}) {
        int64_t value = 0;
        while ((value = hsa_signal_load_relaxed(signal)) != wanted)
          ASSERT_TRUE(value == 11 || value == 100) << value;
      }
      --working;
    });
  }
  while (working > 0) {
    exchange(slot, &answer_100);
    std::this_thread::yield();
    exchange(slot, its_own);
    std::this_thread::yield();
  }
  for (auto& thread : threads) thread.join();
  hsa_signal_destroy(signal);
}

TEST_F(ToolWithTheTables, EntriesAreRestoredAfterUnload) {
  ToolChain chain{hooked()};
  ASSERT_EQ(chain.open(), HSA_STATUS_SUCCESS);
  exchange(hooks_.tables->core_->hsa_signal_load_relaxed_fn, &answer_100);
  EXPECT_EQ(load_a_signal(), 100);
  hooks_.unload = [] { EXPECT_EQ(load_a_signal(), 100); };  // the tool has not restored any entry
  chain.close();
  ::setenv("HSA_PLUGIN_CONFIG", "none", 1);
  ASSERT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(load_a_signal(), 1);
  hsa_shut_down();
}

// As profilers do: they restore the whole table.
TEST_F(ToolWithTheTables, CanRestoreTablesInOnUnload) {
  ToolChain chain{{.name = "outer"}, hooked(), {.name = "inner"}};
  hooks_.unload = [&] {
    *hooks_.tables->core_ = hooks_.found;
    EXPECT_EQ(load_a_signal(), 1);
  };
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(chain.open(), HSA_STATUS_SUCCESS);
    EXPECT_EQ(load_a_signal(), 11);
    chain.recorder.take();
    chain.close();
    const auto seen = chain.recorder.take();
    EXPECT_THAT(seen, Contains("inner > hsa_signal_load_relaxed"));
    EXPECT_EQ(seen.back(), "inner unload");
  }
}

// Outer tools are bypassed then, without other effects.
TEST_F(ToolWithTheTables, EarlyRestoreBypassesOuterTools) {
  ToolChain chain{{.name = "outer"}, hooked(), {.name = "inner"}};
  ASSERT_EQ(chain.open(), HSA_STATUS_SUCCESS);
  *hooks_.tables->core_ = hooks_.found;
  hsa_signal_t signal{};
  ASSERT_EQ(hsa_signal_create(1, 0, nullptr, &signal), HSA_STATUS_SUCCESS);
  chain.recorder.take();
  EXPECT_EQ(hsa_signal_load_relaxed(signal), 1);
  EXPECT_THAT(chain.recorder.take(),
              ElementsAre("inner > hsa_signal_load_relaxed", "inner < hsa_signal_load_relaxed"));
  hsa_signal_destroy(signal);
  chain.recorder.take();
  chain.close();
  EXPECT_THAT(chain.recorder.take(), ElementsAre("inner > hsa_shut_down", "outer unload", "inner unload"));
  ASSERT_EQ(chain.open(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(load_a_signal(), 11);
  EXPECT_THAT(chain.recorder.take(), Contains("outer > hsa_signal_load_relaxed"));
}

TEST_F(ToolWithTheTables, ExceptionsReachProgram) {
  ToolChain chain{{.name = "outer"}, hooked()};
  ASSERT_EQ(chain.open(), HSA_STATUS_SUCCESS);
  hooks_.call = [] { throw std::runtime_error("in a call"); };
  EXPECT_THROW(hsa_signal_load_relaxed(hsa_signal_t{}), std::runtime_error);
  hooks_.call = [] {};
  EXPECT_EQ(load_a_signal(), 11);
  EXPECT_THAT(chain.recorder.take(), Contains("outer < hsa_signal_load_relaxed"));
}

// Tables in ROCm 5's layout are a copy.
TEST_F(ToolWithTheTables, Rocm5TablesAreReadAfterOnLoadOnly) {
  ToolChain chain{hooked("rocm5")};
  ASSERT_EQ(chain.open(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(load_a_signal(), 11);
  exchange(hooks_.tables->core_->hsa_signal_load_relaxed_fn, &answer_100);
  EXPECT_EQ(load_a_signal(), 11);
}

// The pointers from one table to the others are not entries.
TEST_F(ToolWithTheTables, ReplacedTablePointersAreIgnored) {
  CoreApiTable own{};
  hooks_.load = [&] {
    own = *hooks_.tables->core_;
    own.hsa_signal_load_relaxed_fn = &answer_100;
    hooks_.tables->core_ = &own;
    return true;
  };
  ToolChain chain{hooked()};
  ASSERT_EQ(chain.open(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(load_a_signal(), 11);
  EXPECT_NE(hooks_.tables->core_, &own);  // tools that are loaded later find the tables
  hooks_.tables->core_ = &own;
  EXPECT_EQ(load_a_signal(), 11);
}

}  // namespace
