// Programs that break and keep the rules of handles (1xx): see validate_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugins/validate/testing/program.hpp"

namespace validate::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(V101IsBroken, ByQueuePassedAsSignal) {
  Program program;
  hsa_queue_t* const queue = program.queue();
  hsa_signal_destroy({reinterpret_cast<uint64_t>(queue)});
  EXPECT_THAT(Program::take_numbers(), ElementsAre(101));
  hsa_queue_destroy(queue);
  EXPECT_THAT(program.end(), IsEmpty());
}

TEST(V101IsBroken, ByAgentPassedAsSignal) {
  Program program;
  hsa_signal_destroy({program.agent().handle});
  const auto reports = Program::take_reports();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_THAT(reports[0].text, HasSubstr("not a signal: agent 0x"));
  EXPECT_THAT(program.end(), IsEmpty());
}

TEST(V101IsKept, ByHandlesOfExpectedKind) {
  Program program;
  char name[64];
  EXPECT_EQ(hsa_agent_get_info(program.agent(), HSA_AGENT_INFO_NAME, name), HSA_STATUS_SUCCESS);
  size_t size = 0;
  EXPECT_EQ(hsa_amd_memory_pool_get_info(program.pool(), HSA_AMD_MEMORY_POOL_INFO_SIZE, &size),
            HSA_STATUS_SUCCESS);
  hsa_queue_t* const queue = program.queue();
  hsa_queue_destroy(queue);
  hsa_signal_destroy(program.signal());
  EXPECT_THAT(program.end(), IsEmpty());
}

TEST(V102IsBroken, ByDestroyedSignalWithPlaceOfDestruction) {
  Program program;
  const hsa_signal_t signal = program.signal();
  hsa_signal_destroy(signal);
  volatile hsa_signal_value_t* value = nullptr;
  hsa_amd_signal_value_pointer(signal, &value);
  const auto reports = Program::take_reports();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].rule, 102u);
  EXPECT_EQ(reports[0].call, "hsa_amd_signal_value_pointer");
  EXPECT_THAT(reports[0].text,
              AllOf(HasSubstr("V102"), HasSubstr("created by hsa_signal_create"),
                    HasSubstr("destroyed by hsa_signal_destroy"), HasSubstr("validate_test+0x")));
}

TEST(V102IsBroken, BySymbolOfDestroyedExecutable) {
  Program program;
  program.kernel("add_up");
  hsa_executable_symbol_t symbol{};
  const hsa_agent_t agent = program.agent();
  ASSERT_EQ(hsa_executable_get_symbol_by_name(program.executable(), "add_up.kd", &agent, &symbol),
            HSA_STATUS_SUCCESS);
  program.unload_kernels();
  uint32_t length = 0;
  hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH, &length);
  EXPECT_THAT(program.end(), ElementsAre(102));
}

TEST(V102IsBroken, ByDestroyedSignalOfBarrierValuePacket) {
  Program program;
  hsa_queue_t* const queue = program.queue();
  const hsa_signal_t gate = program.signal(), gone = program.signal();
  submit(queue, barrier({0}, {gate}));  // blocks the queue, so that the next packet is not executed
  hsa_signal_destroy(gone);
  submit(queue, barrier_value(gone));
  EXPECT_THAT(Program::take_numbers(), ElementsAre(102));
  hsa_queue_destroy(queue);
  hsa_signal_destroy(gate);
  EXPECT_THAT(program.end(), IsEmpty());
}

TEST(V102IsKept, ByReusedHandle) {
  Program program;
  for (int i = 0; i < 100; ++i) {
    const hsa_signal_t signal = program.signal();
    hsa_signal_store_relaxed(signal, 7);
    EXPECT_EQ(hsa_signal_load_relaxed(signal), 7);
    hsa_signal_destroy(signal);
  }
  EXPECT_THAT(program.end(), IsEmpty());
}

// The registry remembers 512 destroyed objects of a shard.
TEST(V103IsBroken, BySecondDestructionOfOftenReusedHandle) {
  Program program;
  hsa_signal_t signal{};
  for (int i = 0; i < 600; ++i) {
    signal = program.signal();
    hsa_signal_destroy(signal);
  }
  hsa_signal_destroy(signal);
  EXPECT_THAT(program.end(), ElementsAre(103));
}

TEST(V103IsBroken, BySecondDestruction) {
  Program program;
  const hsa_signal_t signal = program.signal();
  hsa_signal_destroy(signal);
  hsa_signal_destroy(signal);
  void* const memory = program.memory(4096);
  hsa_amd_memory_pool_free(memory);
  hsa_amd_memory_pool_free(memory);
  EXPECT_THAT(program.end(), ElementsAre(103, 103));
}

TEST(V103IsKept, ByTwoLocksAndTwoUnlocks) {
  Program program;
  alignas(4096) static char page[4096];
  void* agents_view = nullptr;
  ASSERT_EQ(hsa_amd_memory_lock(page, sizeof page, nullptr, 0, &agents_view), HSA_STATUS_SUCCESS);
  ASSERT_EQ(hsa_amd_memory_lock(page, sizeof page, nullptr, 0, &agents_view), HSA_STATUS_SUCCESS);
  hsa_amd_memory_unlock(page);
  hsa_amd_memory_unlock(page);
  EXPECT_THAT(program.end(), IsEmpty());
}

TEST(V104IsBroken, ByInventedHandle) {
  Program program;
  char name[64];
  hsa_agent_get_info({0x1234567890}, HSA_AGENT_INFO_NAME, name);
  EXPECT_THAT(program.end(), ElementsAre(104));
}

TEST(V104IsKept, ByHandlesFromIterations) {
  Program program;
  hsa_agent_iterate_regions(
      program.agent(),
      [](hsa_region_t region, void*) {
        size_t size = 0;
        return hsa_region_get_info(region, HSA_REGION_INFO_SIZE, &size);
      },
      nullptr);
  hsa_agent_iterate_isas(
      program.agent(),
      [](hsa_isa_t isa, void*) {
        uint32_t length = 0;
        return hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME_LENGTH, &length);
      },
      nullptr);
  EXPECT_THAT(program.end(), IsEmpty());
}

TEST(V105IsBroken, ByDestroyingDoorbell) {
  Program program;
  hsa_queue_t* const queue = program.queue();
  hsa_signal_destroy(queue->doorbell_signal);
  EXPECT_THAT(Program::take_numbers(), ElementsAre(105));
  hsa_queue_destroy(queue);
  EXPECT_THAT(program.end(), IsEmpty());
}

TEST(V105IsBroken, ByReadModifyWriteOfDoorbell) {
  Program program(R"("limit": 0)");
  hsa_queue_t* const queue = program.queue();
  const hsa_signal_t doorbell = queue->doorbell_signal;
  // None of these operations changes the value.
  using Change = void (*)(hsa_signal_t, hsa_signal_value_t);
  for (const Change change : {hsa_signal_and_relaxed, hsa_signal_and_scacquire, hsa_signal_and_screlease,
                              hsa_signal_and_scacq_screl})
    change(doorbell, -1);
  for (const Change change :
       {hsa_signal_or_relaxed, hsa_signal_or_scacquire, hsa_signal_or_screlease, hsa_signal_or_scacq_screl,
        hsa_signal_xor_relaxed, hsa_signal_xor_scacquire, hsa_signal_xor_screlease,
        hsa_signal_xor_scacq_screl, hsa_signal_add_relaxed, hsa_signal_add_scacquire,
        hsa_signal_add_screlease, hsa_signal_add_scacq_screl, hsa_signal_subtract_relaxed,
        hsa_signal_subtract_scacquire, hsa_signal_subtract_screlease, hsa_signal_subtract_scacq_screl})
    change(doorbell, 0);
  hsa_signal_cas_relaxed(doorbell, 1000, 1000);
  EXPECT_THAT(Program::take_numbers(), AllOf(SizeIs(21), Each(105)));
  hsa_queue_destroy(queue);
  EXPECT_THAT(program.end(), IsEmpty());
}

TEST(V105IsKept, ByStoreToDoorbell) {
  Program program;
  hsa_queue_t* const queue = program.queue();
  const hsa_signal_t done = program.signal(2);
  submit(queue, barrier(done));
  const uint64_t index = reserve(queue);
  const auto packet = barrier(done);
  write_packet(queue, index, &packet);
  hsa_signal_store_relaxed(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
  wait(done);
  hsa_queue_destroy(queue);
  hsa_signal_destroy(done);
  EXPECT_THAT(program.end(), IsEmpty());
}

}  // namespace
}  // namespace validate::testing
