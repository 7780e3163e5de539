// Tools of Rigel's ABI: order, permitted actions, and failures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hsa/hsa_ext_amd.h>
#include <sys/wait.h>

#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/entry/testing/hooks.hpp"
#include "api/entry/testing/submission.hpp"
#include "api/entry/testing/tool_chain.hpp"

namespace {

using rigel::testing::cpu_agent;
using rigel::testing::Hooks;
using rigel::testing::make_signal;
using rigel::testing::ToolChain;
using rigel::testing::wait_until;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

// Makes calls without recording, and then a recorded one.
int64_t load_a_signal(ToolChain& chain, int64_t value) {
  hsa_signal_t signal{};
  EXPECT_EQ(hsa_signal_create(value, 0, nullptr, &signal), HSA_STATUS_SUCCESS);
  chain.recorder.take();
  const int64_t seen = hsa_signal_load_relaxed(signal);
  const auto lines = chain.recorder.take();
  hsa_signal_destroy(signal);
  chain.recorder.take();
  for (const auto& line : lines) chain.recorder.note(line);
  return seen;
}

TEST(Tools, AreLoadedInnermostFirstAndUnloadedInReverse) {
  ToolChain chain{{.name = "a"}, {.name = "b"}};
  ASSERT_EQ(chain.open(), HSA_STATUS_SUCCESS);
  EXPECT_THAT(chain.recorder.take(), ElementsAre("b load", "a load"));
  chain.close();
  EXPECT_THAT(chain.recorder.take(),
              ElementsAre("a > hsa_shut_down", "b > hsa_shut_down", "a unload", "b unload"));
}

TEST(Tools, ObserveCallsInConfiguredOrder) {
  ToolChain chain{{.name = "a"}, {.name = "b"}};
  ASSERT_EQ(chain.open(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(load_a_signal(chain, 7), 7);
  EXPECT_THAT(chain.recorder.take(),
              ElementsAre("a > hsa_signal_load_relaxed", "b > hsa_signal_load_relaxed",
                          "b < hsa_signal_load_relaxed", "a < hsa_signal_load_relaxed"));
}

TEST(Tools, ObserveCallsOfAliases) {
  ToolChain chain{{.name = "a"}};
  ASSERT_EQ(chain.open(), HSA_STATUS_SUCCESS);
  hsa_signal_t signal{};
  ASSERT_EQ(hsa_signal_create(1, 0, nullptr, &signal), HSA_STATUS_SUCCESS);
  chain.recorder.take();
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  EXPECT_EQ(hsa_signal_load_acquire(signal), 1);
#pragma GCC diagnostic pop
  EXPECT_THAT(chain.recorder.take(), Contains("a > hsa_signal_load_scacquire"));
  hsa_signal_destroy(signal);
}

TEST(Tools, InterceptConfiguredAndRequestedFunctions) {
  ToolChain chain{{.name = "a", .more = R"("intercept": ["*_load_*", "hsa_init"])"},
                  {.name = "b", .options = R"("only_signals": true)"}};
  ASSERT_EQ(chain.open(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(load_a_signal(chain, 7), 7);
  EXPECT_THAT(chain.recorder.take(),
              ElementsAre("a > hsa_signal_load_relaxed", "b > hsa_signal_load_relaxed",
                          "b < hsa_signal_load_relaxed", "a < hsa_signal_load_relaxed"));
  uint64_t time = 0;
  hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &time);
  EXPECT_THAT(chain.recorder.take(), IsEmpty());
}

TEST(Tools, CanChangeArgumentsAndResults) {
  ToolChain chain{{.name = "a", .options = R"("negate": true)"},
                  {.name = "b", .options = R"("double": true)"}};
  ASSERT_EQ(chain.open(), HSA_STATUS_SUCCESS);
  hsa_signal_t signal{};
  ASSERT_EQ(hsa_signal_create(1, 0, nullptr, &signal), HSA_STATUS_SUCCESS);
  hsa_signal_store_relaxed(signal, 21);
  EXPECT_EQ(hsa_signal_load_relaxed(signal), -42);
  hsa_signal_destroy(signal);
}

TEST(Tools, CanAnswerCalls) {
  ToolChain chain{{.name = "a"}, {.name = "b", .options = R"("answer": true)"}, {.name = "c"}};
  ASSERT_EQ(chain.open(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(load_a_signal(chain, 7), 4711);
  EXPECT_THAT(chain.recorder.take(),
              ElementsAre("a > hsa_signal_load_relaxed", "b > hsa_signal_load_relaxed",
                          "b < hsa_signal_load_relaxed", "a < hsa_signal_load_relaxed"));
}

TEST(Tools, AreNotCalledForOwnCalls) {
  ToolChain chain{{.name = "a", .options = R"("call_within": true)"}, {.name = "b"}};
  ASSERT_EQ(chain.open(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(load_a_signal(chain, 7), 7);
  EXPECT_THAT(chain.recorder.take(),
              ElementsAre("a > hsa_signal_load_relaxed", "b > hsa_signal_load_relaxed",
                          "b < hsa_signal_load_relaxed", "a < hsa_signal_load_relaxed"));
}

TEST(Tools, ObserveCallsInApplicationCallbacks) {
  ToolChain chain{{.name = "a"}};
  ASSERT_EQ(chain.open(), HSA_STATUS_SUCCESS);
  chain.recorder.take();
  hsa_iterate_agents(
      [](hsa_agent_t agent, void*) {
        uint32_t node = 0;
        hsa_agent_get_info(agent, HSA_AGENT_INFO_NODE, &node);
        return HSA_STATUS_INFO_BREAK;
      },
      nullptr);
  EXPECT_THAT(chain.recorder.take(), ElementsAre("a > hsa_iterate_agents", "a > hsa_agent_get_info",
                                                 "a < hsa_agent_get_info", "a < hsa_iterate_agents"));
}

// Replaces ids of calls by their order of appearance.
std::vector<std::string> renumbered(const std::vector<std::string>& lines) {
  std::map<std::string, size_t> numbers{{"0", 0}};
  std::vector<std::string> out;
  for (const std::string& line : lines) {
    std::istringstream words(line);
    std::string text;
    for (std::string word; words >> word;) {
      if (word.find_first_not_of("0123456789") == word.npos)
        word = std::to_string(numbers.try_emplace(word, numbers.size()).first->second);
      text += (text.empty() ? "" : " ") + word;
    }
    out.push_back(text);
  }
  return out;
}

// A ROCr-ABI tool is between them, and forwards a call to the inner one.
class ToolsOnBothSides : public ::testing::Test {
 protected:
  static constexpr const char* kIds = R"("ids": true, "activities": true)";
  Hooks hooks_;
  ToolChain chain_{{.name = "outer", .options = kIds},
                   {.name = "hooked", .more = R"("abi": "hsa_tools")", .library = RIGEL_TEST_HOOKED_TOOL},
                   {.name = "inner", .options = kIds}};
};

TEST_F(ToolsOnBothSides, ObserveSameCall) {
  ASSERT_EQ(chain_.open(), HSA_STATUS_SUCCESS);
  chain_.recorder.take();
  hsa_iterate_agents(
      [](hsa_agent_t, void*) {
        return hsa_iterate_agents([](hsa_agent_t, void*) { return HSA_STATUS_INFO_BREAK; }, nullptr);
      },
      nullptr);
  EXPECT_THAT(renumbered(chain_.recorder.take()),
              ElementsAre("outer > hsa_iterate_agents 1 in 0", "inner > hsa_iterate_agents 1 in 0",
                          "outer > hsa_iterate_agents 2 in 1", "inner > hsa_iterate_agents 2 in 1",
                          "inner < hsa_iterate_agents", "outer < hsa_iterate_agents",
                          "inner < hsa_iterate_agents", "outer < hsa_iterate_agents"));
}

TEST_F(ToolsOnBothSides, ObserveNestedCallsOfMiddleTool) {
  ASSERT_EQ(chain_.open(), HSA_STATUS_SUCCESS);
  hsa_signal_t signal{};
  ASSERT_EQ(hsa_signal_create(1, 0, nullptr, &signal), HSA_STATUS_SUCCESS);
  chain_.recorder.take();
  bool has_called = false;
  hooks_.call = [&] {
    if (!std::exchange(has_called, true)) hsa_signal_load_relaxed(signal);
  };
  hsa_signal_load_relaxed(signal);
  EXPECT_THAT(renumbered(chain_.recorder.take()),
              ElementsAre("outer > hsa_signal_load_relaxed 1 in 0", "outer > hsa_signal_load_relaxed 2 in 1",
                          "inner > hsa_signal_load_relaxed 2 in 1", "inner < hsa_signal_load_relaxed",
                          "outer < hsa_signal_load_relaxed", "inner > hsa_signal_load_relaxed 1 in 0",
                          "inner < hsa_signal_load_relaxed", "outer < hsa_signal_load_relaxed"));
  hsa_signal_destroy(signal);
}

TEST_F(ToolsOnBothSides, ReceiveCopyWithObservedCall) {
  ASSERT_EQ(chain_.open(), HSA_STATUS_SUCCESS);
  const hsa_agent_t agent = cpu_agent();
  const hsa_signal_t done = make_signal(1);
  chain_.recorder.take();
  char from[100] = "what is copied";
  char to[100] = {};
  ASSERT_EQ(hsa_amd_memory_async_copy(to, agent, from, agent, sizeof from, 0, nullptr, done),
            HSA_STATUS_SUCCESS);
  EXPECT_TRUE(wait_until(done, 0));
  const auto seen = chain_.recorder.take();
  const std::string call = seen.front().substr(std::string("outer > hsa_amd_memory_async_copy ").size());
  const std::string id = call.substr(0, call.find(' '));
  EXPECT_THAT(seen, IsSupersetOf({"outer > hsa_amd_memory_async_copy " + id + " in 0",
                                  "inner > hsa_amd_memory_async_copy " + id + " in 0",
                                  "outer copy of 100 in " + id, "inner copy of 100 in " + id}));
  hsa_signal_destroy(done);
}

TEST(Tools, FailingToolsAreSkipped) {
  ToolChain chain{{.name = "fails", .options = R"("fail": true)"},
                  {.name = "throws", .options = R"("throw_in_load": true)"},
                  {.name = "missing", .library = "libhsa_tool_nowhere.so"},
                  {.name = "off", .more = R"("enabled": false)"},
                  {.name = "good"}};
  ASSERT_EQ(chain.open(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(load_a_signal(chain, 7), 7);
  EXPECT_THAT(chain.recorder.take(),
              ElementsAre("good > hsa_signal_load_relaxed", "good < hsa_signal_load_relaxed"));
  chain.close();
  EXPECT_THAT(chain.recorder.take(), ElementsAre("good > hsa_shut_down", "good unload"));
}

TEST(Tools, RequiredToolFailureFailsInit) {
  ToolChain chain{{.name = "fails", .options = R"("fail": true)", .more = R"("on_error": "fail")"},
                  {.name = "good"}};
  EXPECT_NE(chain.open(), HSA_STATUS_SUCCESS);
  EXPECT_THAT(chain.recorder.take(), ElementsAre("good load", "fails load", "good unload"));
  uint64_t time = 0;
  EXPECT_EQ(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &time), HSA_STATUS_ERROR_NOT_INITIALIZED);
}

// Opens the chain and returns the log.
std::string log_of(ToolChain& chain, hsa_status_t& status) {
  ::testing::internal::CaptureStderr();
  ::setenv("HSA_LOADER_DEBUG", "error", 1);
  status = chain.open();
  ::setenv("HSA_LOADER_DEBUG", "none", 1);
  return ::testing::internal::GetCapturedStderr();
}

TEST(Tools, InvalidOptionsAreReportedSeparately) {
  ToolChain chain{{.name = "a", .options = R"("mistaken": true)"},
                  {.name = "b"},
                  {.name = "off", .options = R"("mistaken": true)", .more = R"("enabled": false)"},
                  {.name = "c", .options = R"("throw_in_check": true)"}};
  hsa_status_t status = HSA_STATUS_ERROR;
  const std::string said = log_of(chain, status);
  EXPECT_EQ(status, HSA_STATUS_SUCCESS);
  EXPECT_THAT(chain.recorder.take(), ElementsAre("b load"));
  EXPECT_THAT(said, HasSubstr("rigel: error: " + chain.path() + ": /plugins/0/config/mistaken: is true\n"));
  EXPECT_THAT(said, HasSubstr("rigel: error: " + chain.path() + ": /plugins/0/config: they are of no use\n"));
  EXPECT_THAT(said, HasSubstr("rigel: error: " + chain.path() +
                              ": /plugins/3/config: check() of the tool threw an exception\n"));
  EXPECT_THAT(said, Not(HasSubstr("/plugins/1"))) << "which is right";
  EXPECT_THAT(said, Not(HasSubstr("/plugins/2"))) << "which is not used";
}

TEST(Tools, UnmatchedPatternsAreReported) {
  ToolChain chain{{.name = "a", .more = R"("intercept": ["hsa_que_*", "hsa_queue_*"])"}};
  hsa_status_t status = HSA_STATUS_ERROR;
  const std::string said = log_of(chain, status);
  EXPECT_EQ(status, HSA_STATUS_SUCCESS);
  EXPECT_THAT(said, HasSubstr("rigel: warning: tool a: intercept: 'hsa_que_*' matches no function\n"));
  EXPECT_THAT(said, Not(HasSubstr("hsa_queue_")));
}

TEST(Tools, RequiredToolWithInvalidOptionsFailsInit) {
  ToolChain chain{{.name = "a", .options = R"("mistaken": true)", .more = R"("on_error": "fail")"}};
  EXPECT_EQ(chain.open(), HSA_STATUS_ERROR_INVALID_FILE);
  EXPECT_THAT(chain.recorder.take(), IsEmpty());
}

TEST(Tools, OptionErrorsAreReportedWithOtherErrors) {
  ToolChain chain{{.name = "a", .options = R"("mistaken": true)"},
                  {.name = "b", .more = R"("enabled": 1)"},
                  {.name = "c", .library = "libhsa_tool_nowhere.so"}};
  hsa_status_t status = HSA_STATUS_ERROR;
  const std::string said = log_of(chain, status);
  EXPECT_EQ(status, HSA_STATUS_ERROR_INVALID_FILE);
  EXPECT_THAT(chain.recorder.take(), IsEmpty());
  EXPECT_THAT(said, HasSubstr("/plugins/0/config/mistaken: is true"));
  EXPECT_THAT(said,
              HasSubstr("/plugins/1/enabled: should be true or false but is number; did you mean true?"));
  EXPECT_THAT(said, HasSubstr("libhsa_tool_nowhere.so: No such file"));
}

TEST(Tools, ThrowingToolIsNotCalledAgain) {
  ToolChain chain{{.name = "throws", .options = R"("throw_in_enter": true)"}, {.name = "good"}};
  ASSERT_EQ(chain.open(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(load_a_signal(chain, 7), 7);
  EXPECT_THAT(chain.recorder.take(),
              ElementsAre("good > hsa_signal_load_relaxed", "good < hsa_signal_load_relaxed"));
  chain.close();
  EXPECT_THAT(chain.recorder.take(), ElementsAre("good > hsa_shut_down", "throws unload", "good unload"));
}

TEST(Tools, CanInitialiseInLoadOnly) {
  ToolChain chain{{.name = "a", .options = R"("init_in_load": true, "init_in_unload": true)"}};
  ASSERT_EQ(chain.open(), HSA_STATUS_SUCCESS);
  chain.close();
  EXPECT_THAT(chain.recorder.take(), Contains("hsa_init 1"));
  uint64_t time = 0;
  EXPECT_EQ(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &time), HSA_STATUS_ERROR_NOT_INITIALIZED);
}

TEST(Tools, AreLoadedAgainByNextRuntime) {
  ToolChain chain{{.name = "a"}};
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(chain.open(), HSA_STATUS_SUCCESS);
    EXPECT_EQ(load_a_signal(chain, round), round);
    chain.close();
    EXPECT_THAT(chain.recorder.take(),
                ElementsAre("a > hsa_signal_load_relaxed", "a < hsa_signal_load_relaxed", "a > hsa_shut_down",
                            "a unload"));
  }
}

// Each thread's reference may be the last, while another calls hsa_init.
TEST(Tools, AreNotUnloadedDuringCalls) {
  ToolChain chain{{.name = "a"}, {.name = "b"}};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int round = 0; round < 100; ++round) {
        EXPECT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
        uint64_t time = 0;
        EXPECT_EQ(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &time), HSA_STATUS_SUCCESS);
        const char* text = nullptr;
        EXPECT_EQ(hsa_status_string(HSA_STATUS_ERROR, &text), HSA_STATUS_SUCCESS);
        EXPECT_EQ(hsa_shut_down(), HSA_STATUS_SUCCESS);
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

// Without waiting for the handler, which runs when the runtime ends.
TEST(Tools, AreNotUnloadedDuringHandlers) {
  ToolChain chain{{.name = "a"}, {.name = "b"}};
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(chain.open(), HSA_STATUS_SUCCESS);
    hsa_signal_t signal{};
    ASSERT_EQ(hsa_signal_create(1, 0, nullptr, &signal), HSA_STATUS_SUCCESS);
    const auto handler = [](hsa_signal_value_t, void*) {
      uint64_t time = 0;
      for (int call = 0; call < 1000; ++call) hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &time);
      return false;
    };
    ASSERT_EQ(hsa_amd_signal_async_handler(signal, HSA_SIGNAL_CONDITION_LT, 1, handler, nullptr),
              HSA_STATUS_SUCCESS);
    hsa_signal_store_relaxed(signal, 0);
    chain.close();
    EXPECT_EQ(chain.recorder.take().back(), "b unload");
  }
}

TEST(Tools, AreNotCalledInForkedChildBeforeInit) {
  ToolChain chain{{.name = "a"}};
  ASSERT_EQ(chain.open(), HSA_STATUS_SUCCESS);
  chain.recorder.take();
  const pid_t child = ::fork();
  if (child == 0) {
    uint64_t time = 0;
    bool good = hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &time) == HSA_STATUS_ERROR_NOT_INITIALIZED &&
                chain.recorder.take().empty();
    good = good && hsa_init() == HSA_STATUS_SUCCESS &&
           chain.recorder.take() == std::vector<std::string>{"a load"};
    good = good && hsa_shut_down() == HSA_STATUS_SUCCESS;
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
