#include "core/signal/signal_group.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "core/signal/signal_pool.hpp"

namespace rigel {
namespace {

class SignalGroup : public ::testing::Test {
 protected:
  SignalGroup() {
    for (auto& signal : signals_) signal = signal_pool::create(1)->handle();
  }
  ~SignalGroup() override {
    for (auto& signal : signals_) {
      if (Signal* found = Signal::from_handle(signal)) signal_pool::destroy(*found);
    }
  }

  hsa_signal_group_t make() {
    hsa_signal_group_t group{};
    EXPECT_EQ(groups_.create(3, signals_, 1, &agent_, &group), HSA_STATUS_SUCCESS);
    return group;
  }

  SignalGroups groups_;
  hsa_signal_t signals_[3];
  const hsa_agent_t agent_{1};
  const hsa_signal_condition_t equal_[3] = {HSA_SIGNAL_CONDITION_EQ, HSA_SIGNAL_CONDITION_EQ,
                                            HSA_SIGNAL_CONDITION_EQ};
  const hsa_signal_value_t zeros_[3] = {0, 0, 0};
  hsa_signal_t which_{};
  hsa_signal_value_t value_ = -1;
};

TEST_F(SignalGroup, WaitReturnsSatisfyingSignal) {
  const auto group = make();
  Signal::of_live(signals_[1]).store(0);
  EXPECT_EQ(groups_.wait_any(group, equal_, zeros_, HSA_WAIT_STATE_BLOCKED, &which_, &value_),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(which_.handle, signals_[1].handle);
  EXPECT_EQ(value_, 0);
}

TEST_F(SignalGroup, WaitReturnsWhenSignalChanges) {
  const auto group = make();
  std::thread waiter([&] {
    EXPECT_EQ(groups_.wait_any(group, equal_, zeros_, HSA_WAIT_STATE_BLOCKED, &which_, &value_),
              HSA_STATUS_SUCCESS);
    EXPECT_EQ(which_.handle, signals_[2].handle);
  });
  while (Signal::of_live(signals_[2]).attention.load() == 0) std::this_thread::yield();
  EXPECT_EQ(groups_.destroy(group), HSA_STATUS_SUCCESS) << "a group may go while it is waited on";
  Signal::of_live(signals_[2]).store(0);
  waiter.join();
}

TEST_F(SignalGroup, CreateChecksArguments) {
  hsa_signal_group_t group{};
  constexpr auto kInvalid = HSA_STATUS_ERROR_INVALID_ARGUMENT;
  EXPECT_EQ(groups_.create(0, signals_, 1, &agent_, &group), kInvalid);
  EXPECT_EQ(groups_.create(3, nullptr, 1, &agent_, &group), kInvalid);
  EXPECT_EQ(groups_.create(3, signals_, 0, &agent_, &group), kInvalid);
  EXPECT_EQ(groups_.create(3, signals_, 1, nullptr, &group), kInvalid);
  EXPECT_EQ(groups_.create(3, signals_, 1, &agent_, nullptr), kInvalid);
  const hsa_signal_t twice[2] = {signals_[0], signals_[0]};
  EXPECT_EQ(groups_.create(2, twice, 1, &agent_, &group), kInvalid);
  const hsa_agent_t agents[2] = {agent_, agent_};
  EXPECT_EQ(groups_.create(3, signals_, 2, agents, &group), kInvalid);
  const hsa_signal_t wrong[2] = {signals_[0], {64}};
  EXPECT_EQ(groups_.create(2, wrong, 1, &agent_, &group), HSA_STATUS_ERROR_INVALID_SIGNAL);
}

TEST_F(SignalGroup, WaitChecksArguments) {
  const auto group = make();
  constexpr auto kHint = HSA_WAIT_STATE_ACTIVE;
  constexpr auto kInvalid = HSA_STATUS_ERROR_INVALID_ARGUMENT;
  EXPECT_EQ(groups_.wait_any(group, nullptr, zeros_, kHint, &which_, &value_), kInvalid);
  EXPECT_EQ(groups_.wait_any(group, equal_, nullptr, kHint, &which_, &value_), kInvalid);
  EXPECT_EQ(groups_.wait_any(group, equal_, zeros_, kHint, nullptr, &value_), kInvalid);
  EXPECT_EQ(groups_.wait_any(group, equal_, zeros_, kHint, &which_, nullptr), kInvalid);
  EXPECT_EQ(groups_.wait_any({0}, equal_, zeros_, kHint, &which_, &value_),
            HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP);
  EXPECT_EQ(groups_.destroy(group), HSA_STATUS_SUCCESS);
  EXPECT_EQ(groups_.destroy(group), HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP);
  EXPECT_EQ(groups_.wait_any(group, equal_, zeros_, kHint, &which_, &value_),
            HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP);
}

TEST_F(SignalGroup, IgnoresDestroyedMembers) {
  const auto group = make();
  signal_pool::destroy(Signal::of_live(signals_[0]));
  Signal* young = signal_pool::create(0);
  ASSERT_EQ(young->handle().handle, signals_[0].handle);
  Signal::of_live(signals_[1]).store(0);
  EXPECT_EQ(groups_.wait_any(group, equal_, zeros_, HSA_WAIT_STATE_BLOCKED, &which_, &value_),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(which_.handle, signals_[1].handle);
  signal_pool::destroy(*young);
  signal_pool::destroy(Signal::of_live(signals_[1]));
  signal_pool::destroy(Signal::of_live(signals_[2]));
  EXPECT_EQ(groups_.wait_any(group, equal_, zeros_, HSA_WAIT_STATE_BLOCKED, &which_, &value_),
            HSA_STATUS_ERROR_INVALID_SIGNAL);
}

TEST_F(SignalGroup, ClearDestroysAllGroups) {
  const auto group = make();
  groups_.clear();
  EXPECT_EQ(groups_.destroy(group), HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP);
}

}  // namespace
}  // namespace rigel
