// For each rule: a program that breaks it and gets exactly that report, and a program that keeps it. This
// file has the rules of threads and of the whole program, and tests of the tool itself. validate_*_test.cpp
// have the other chapters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "plugins/validate/testing/program.hpp"

namespace validate::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// --- 5xx ---------------------------------------------------------------------------------------------------

TEST(V501IsBroken, ByTwoProducersOfSingleQueue) {
  Program program(R"("limit": 1)");
  hsa_queue_t* const queue = program.queue(64, HSA_QUEUE_TYPE_SINGLE);
  std::atomic<bool> heard{false};
  const auto produce = [&] {
    while (!heard) hsa_queue_add_write_index_relaxed(queue, 0);
  };
  std::thread one(produce), other(produce);
  std::vector<uint32_t> numbers;
  while (numbers.empty()) numbers = Program::take_numbers();
  heard = true;
  one.join();
  other.join();
  EXPECT_THAT(numbers, ElementsAre(501));
  hsa_queue_destroy(queue);
  EXPECT_THAT(program.end(), IsEmpty());
}

TEST(V501IsKept, ByManyProducersOfMultiQueue) {
  Program program;
  hsa_queue_t* const queue = program.queue(1024);
  const auto produce = [&] {
    for (int i = 0; i < 200; ++i) {
      const uint64_t index = reserve(queue);
      const auto packet = barrier({0});
      write_packet(queue, index, &packet);
      ring(queue, index);
    }
  };
  std::thread one(produce), other(produce), third(produce);
  for (std::thread* const thread : {&one, &other, &third}) thread->join();
  const hsa_signal_t done = program.signal();
  auto last = barrier(done);
  last.header |= 1 << HSA_PACKET_HEADER_BARRIER;
  submit(queue, last);
  wait(done);
  hsa_queue_destroy(queue);
  hsa_signal_destroy(done);
  EXPECT_THAT(program.end(), IsEmpty());
}

// --- 6xx ---------------------------------------------------------------------------------------------------

TEST(V601IsBroken, ByLeakedObjectsReportedWithPlaceOfCreation) {
  Program program;
  for (int i = 0; i < 3; ++i) program.signal();
  program.memory(4096);
  ASSERT_EQ(hsa_shut_down(), HSA_STATUS_SUCCESS);
  const auto reports = Program::take_reports();
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_THAT(reports[0].text,
              AllOf(HasSubstr("V601"), HasSubstr("and 2 more"), HasSubstr("created by hsa_signal_create"),
                    HasSubstr("validate_test+0x")));
  EXPECT_THAT(reports[1].text, HasSubstr("4096 bytes"));
  ASSERT_EQ(hsa_init(), HSA_STATUS_SUCCESS);  // undone by program.end()
}

TEST(V601IsKept, ByReleasingOneObjectOfEachKind) {
  Program program;
  hsa_queue_t* const queue = program.queue();
  const hsa_signal_t signal = program.signal();
  void* const memory = program.memory(4096);
  program.kernel("add_up");
  hsa_signal_group_t group{};
  const hsa_agent_t agent = program.agent();
  ASSERT_EQ(hsa_signal_group_create(1, &signal, 1, &agent, &group), HSA_STATUS_SUCCESS);
  hsa_signal_group_destroy(group);
  hsa_amd_memory_pool_free(memory);
  hsa_signal_destroy(signal);
  hsa_queue_destroy(queue);
  EXPECT_THAT(program.end(), IsEmpty());
}

TEST(V602IsBroken, ByDeprecatedFunctionIfEnabled) {
  bool supported = false;
  const auto call = [&] { hsa_system_extension_supported(HSA_EXTENSION_IMAGES, 1, 0, &supported); };
  {
    Program program;
    call();
    EXPECT_THAT(program.end(), IsEmpty());
  }
  Program program(R"("on": ["602"])");
  call();
  EXPECT_THAT(program.end(), ElementsAre(602));
}

TEST(V602IsKept, ByReplacementOfDeprecatedFunction) {
  Program program(R"("on": ["602"])");
  uint16_t minor = 0;
  bool supported = false;
  hsa_system_major_extension_supported(HSA_EXTENSION_IMAGES, 1, &minor, &supported);
  EXPECT_THAT(program.end(), IsEmpty());
}

// --- The tool ----------------------------------------------------------------------------------------------

TEST(Options, DisableAndLimitRules) {
  Program program(R"("off": ["10*"], "limit": 2)");
  const hsa_signal_t signal = program.signal();
  hsa_signal_destroy(signal);
  hsa_signal_destroy(signal);
  EXPECT_THAT(Program::take_numbers(), IsEmpty());
  for (int i = 0; i < 5; ++i) program.memory(4096 + 4096 * i);
  EXPECT_THAT(program.end().size(), 1u);  // all created by the same call stack
}

TEST(Options, ErrorsAreReportedAndDisableTool) {
  const auto why = [](const std::string& options) {
    std::string text;
    // hsa_init fails because the tool is required (on_error: fail). The log has the reason.
    ::testing::internal::CaptureStderr();
    ::setenv("HSA_LOADER_DEBUG", "error,chain", 1);
    EXPECT_NE(Program::init_status(options), HSA_STATUS_SUCCESS) << options;
    ::setenv("HSA_LOADER_DEBUG", "none", 1);
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(why(R"("callback": "nobodys_function")"),
              HasSubstr("option callback: function 'nobodys_function' not found; export it"));
  EXPECT_THAT(why(R"("file": "/nowhere/at/all")"), HasSubstr("option file: cannot open '/nowhere/at/all'"));
  EXPECT_THAT(
      why(R"("limit": -1, "off": "101", "on": ["999", 1], "abort": 1, "files": "")"),
      AllOf(HasSubstr("/plugins/0/config/limit: should be between 0 and 1000000 but is -1"),
            HasSubstr(R"(/plugins/0/config/off: should be an array but is string; did you mean ["101"]?)"),
            HasSubstr("/plugins/0/config/on: unknown rule '999'"),
            HasSubstr("/plugins/0/config/on/1: should be a string but is number"),
            HasSubstr("/plugins/0/config/abort: should be true or false but is number; did you mean true?"),
            HasSubstr("/plugins/0/config/files: unknown key; did you mean 'file'?")))
      << "all of them, not the first";
}

TEST(Tool, IsLoadedOncePerProcess) {
  ::testing::internal::CaptureStderr();
  ::setenv("HSA_LOADER_DEBUG", "error,chain", 1);
  EXPECT_NE(Program::init_status({}, true), HSA_STATUS_SUCCESS);
  ::setenv("HSA_LOADER_DEBUG", "none", 1);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("another entry of the configuration already validates this process"));
  EXPECT_EQ(Program::init_status({}), HSA_STATUS_SUCCESS);
}

TEST(Options, AbortEndsProcessAtFirstReport) {
  EXPECT_DEATH(
      {
        Program program(R"("abort": true)");
        char name[64];
        hsa_agent_get_info({0x1234567890}, HSA_AGENT_INFO_NAME, name);
      },
      "");
}

// A new queue may get the address and the doorbell of a queue that another thread is still destroying.
TEST(ManyThreads, GetNoReportsForCreatingAndDestroyingQueues) {
  Program program;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      const hsa_signal_t signals[] = {program.signal(), program.signal(), program.signal()};
      for (int i = 0; i < 1000; ++i) {
        hsa_queue_t* const queue = program.queue();
        for (int j = 0; j < 3; ++j) {
          const hsa_signal_t done = signals[(i + j) % 3];
          hsa_signal_store_relaxed(done, 1);
          submit(queue, barrier(done));
          wait(done);
        }
        hsa_queue_destroy(queue);
      }
      for (const hsa_signal_t signal : signals) hsa_signal_destroy(signal);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(program.end(), IsEmpty());
}

TEST(ManyThreads, GetNoReportsIfCorrect) {
  Program program({}, true);
  const TestKernel add_up = program.kernel("add_up");
  hsa_queue_t* const queue = program.queue(4096);
  constexpr int kThreads = 256;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 8; ++i) {
        const hsa_signal_t done = program.signal();
        auto* const words = static_cast<uint32_t*>(program.memory((kWords + 1) * 4));
        auto* const args = static_cast<AddUpArgs*>(program.memory(sizeof(AddUpArgs)));
        *args = {words, words + kWords};
        submit(queue, program.dispatch(add_up, args, done));
        wait(done);
        hsa_amd_memory_pool_free(args);
        hsa_amd_memory_pool_free(words);
        hsa_signal_destroy(done);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  hsa_queue_destroy(queue);
  EXPECT_THAT(program.end(), IsEmpty());
}

}  // namespace
}  // namespace validate::testing
