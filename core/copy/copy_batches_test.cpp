// CopyBatchesTest of copies that the test completes in place of a copy engine.
#include "core/copy/copy_batches.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <set>
#include <utility>
#include <vector>

#include "core/memory/memory_fixture.hpp"
#include "core/signal/signal.hpp"
#include "core/signal/signal_pool.hpp"

namespace rigel {
namespace {

constexpr uint32_t kEntries = 3;
constexpr hsa_status_t kThrows = HSA_STATUS_ERROR_EXCEPTION;

std::vector<Signal*> begun;
std::vector<hsa_status_t> answers;  // results of copies, in order; success after the last

hsa_status_t begin(void*, hsa_agent_t, const void*, hsa_agent_t, size_t, uint32_t, const hsa_signal_t*,
                   hsa_signal_t completion) {
  const size_t index = begun.size();
  begun.push_back(&Signal::of_live(completion));
  if (index >= answers.size()) return HSA_STATUS_SUCCESS;
  if (answers[index] == kThrows) throw std::bad_alloc();
  return answers[index];
}

class CopyBatchesTest : public ::testing::Test {
 protected:
  CopyBatchesTest() {
    testing::add_agents(memory_);
    begun.clear();
    answers.clear();
  }
  ~CopyBatchesTest() override {
    dispatcher_.quiesce();
    signal_pool::destroy(*completion_);
  }

  Status copy() {
    hsa_amd_memory_copy_op_t op{};
    op.version = HSA_AMD_MEMORY_COPY_OP_VERSION;
    op.type = HSA_AMD_MEMORY_COPY_OP_LINEAR_BROADCAST;
    op.completion_signal = completion_->handle();
    op.num_entries = kEntries;
    op.src = bytes_;
    op.src_agent = testing::kCpu0;
    op.dst_list = everywhere_;
    op.dst_agent_list = agents_;
    op.size = sizeof bytes_;
    return batches_->copy(memory_.agents, begin, &op, 1, 0, nullptr);
  }
  int64_t completion_after_handlers() {
    dispatcher_.quiesce();
    return completion_->load<std::memory_order_acquire>();
  }

  char bytes_[8] = {};
  char copies_[kEntries][8] = {};
  void* everywhere_[kEntries] = {copies_[0], copies_[1], copies_[2]};
  hsa_agent_t agents_[kEntries] = {testing::kCpu0, testing::kCpu0, testing::kCpu0};
  testing::TestMemory memory_;
  AsyncDispatcher dispatcher_;
  std::unique_ptr<CopyBatches> batches_ = std::make_unique<CopyBatches>(dispatcher_);
  Signal* completion_ = signal_pool::create(1);
};

TEST_F(CopyBatchesTest, CompletesWithLastCopy) {
  ASSERT_EQ(copy(), HSA_STATUS_SUCCESS);
  ASSERT_EQ(begun.size(), kEntries);
  for (Signal* const each : begun) {
    EXPECT_EQ(completion_after_handlers(), 1);
    each->subtract<std::memory_order_release>(1);
  }
  EXPECT_EQ(completion_after_handlers(), 0);
}

// Devices decrement a signal without checking its owner.
TEST_F(CopyBatchesTest, FailedCopyWaitsForOthers) {
  ASSERT_EQ(copy(), HSA_STATUS_SUCCESS);
  ASSERT_EQ(std::set<Signal*>(begun.begin(), begun.end()).size(), kEntries);
  begun[1]->store<std::memory_order_release>(-5);
  EXPECT_EQ(completion_after_handlers(), 1) << "the others are under way";
  begun[0]->store<std::memory_order_release>(-6);
  EXPECT_EQ(completion_after_handlers(), 1);
  EXPECT_EQ(begun[2]->load<std::memory_order_relaxed>(), 1);
  begun[2]->subtract<std::memory_order_release>(1);
  EXPECT_EQ(completion_after_handlers(), -5) << "of several failures it is the first";
}

TEST_F(CopyBatchesTest, FailsIfCopyCannotStart) {
  for (const hsa_status_t answer : {HSA_STATUS_ERROR_OUT_OF_RESOURCES, kThrows}) {
    begun.clear();
    answers = {HSA_STATUS_SUCCESS, answer};
    EXPECT_EQ(copy(), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
    ASSERT_EQ(begun.size(), 2u);
    begun[0]->subtract<std::memory_order_release>(1);
    EXPECT_EQ(completion_after_handlers(), 1);
  }
}

TEST_F(CopyBatchesTest, DestructorFreesUnfinishedBatches) {
  ASSERT_EQ(copy(), HSA_STATUS_SUCCESS);
  begun[0]->subtract<std::memory_order_release>(1);
  EXPECT_EQ(completion_after_handlers(), 1);
  const hsa_signal_t held = begun[1]->handle();
  EXPECT_NE(Signal::from_handle(held), nullptr);
  dispatcher_.stop();
  batches_.reset();
  EXPECT_EQ(Signal::from_handle(held), nullptr);
}

TEST_F(CopyBatchesTest, RejectsDoorbells) {
  signal_pool::destroy(
      *std::exchange(completion_, signal_pool::create(1, {}, AMD_SIGNAL_KIND_LEGACY_DOORBELL)));
  EXPECT_EQ(copy(), HSA_STATUS_ERROR_INVALID_SIGNAL);
  EXPECT_TRUE(begun.empty());
}

TEST_F(CopyBatchesTest, IgnoresSignalDestroyedDuringCopies) {
  ASSERT_EQ(copy(), HSA_STATUS_SUCCESS);
  signal_pool::destroy(*completion_);
  completion_ = signal_pool::create(1);  // usually at the same address
  for (Signal* const each : begun) each->subtract<std::memory_order_release>(1);
  EXPECT_EQ(completion_after_handlers(), 1);
}

}  // namespace
}  // namespace rigel
