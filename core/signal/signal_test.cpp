#include "core/signal/signal.hpp"

#include <gtest/gtest.h>
#include <hsa/amd_hsa_queue.h>

#include <limits>

#include "core/signal/signal_pool.hpp"

namespace rigel {
namespace {

class SignalTest : public ::testing::Test {
 protected:
  ~SignalTest() override { signal_pool::destroy(*signal_); }
  Signal* const signal_ = signal_pool::create(5);
  Signal& signal() { return *signal_; }
};

TEST_F(SignalTest, StartsWithAmdSignal) {
  const auto* abi = reinterpret_cast<const amd_signal_t*>(signal().handle().handle);
  EXPECT_EQ(abi->kind, AMD_SIGNAL_KIND_USER);
  EXPECT_EQ(abi->value, 5);
  EXPECT_EQ(abi->event_mailbox_ptr, 0u);
  EXPECT_EQ(abi->reserved2, 0u);
  EXPECT_EQ(signal().handle().handle % 64, 0u);
}

TEST_F(SignalTest, StoresAndLoads) {
  signal().store(7);
  EXPECT_EQ(signal().load(), 7);
  signal().store<std::memory_order_release>(-8);
  EXPECT_EQ(signal().load<std::memory_order_acquire>(), -8);
  signal().silent_store(9);
  EXPECT_EQ(signal().load(), 9);
}

TEST_F(SignalTest, ExchangeReturnsPreviousValue) {
  EXPECT_EQ(signal().exchange<std::memory_order_acq_rel>(6), 5);
  EXPECT_EQ(signal().load(), 6);
}

TEST_F(SignalTest, CompareExchangeRequiresExpectedValue) {
  EXPECT_EQ(signal().compare_exchange<std::memory_order_acq_rel>(4, 10), 5);
  EXPECT_EQ(signal().load(), 5);
  EXPECT_EQ(signal().compare_exchange<std::memory_order_release>(5, 10), 5);
  EXPECT_EQ(signal().load(), 10);
}

TEST_F(SignalTest, DoesArithmetic) {
  signal().add(3);
  EXPECT_EQ(signal().load(), 8);
  signal().subtract<std::memory_order_release>(10);
  EXPECT_EQ(signal().load(), -2);
  signal().store(0b1100);
  signal().bit_and(0b0110);
  EXPECT_EQ(signal().load(), 0b0100);
  signal().bit_or(0b0001);
  EXPECT_EQ(signal().load(), 0b0101);
  signal().bit_xor(0b1111);
  EXPECT_EQ(signal().load(), 0b1010);
}

TEST_F(SignalTest, ArithmeticWraps) {
  constexpr auto kMax = std::numeric_limits<int64_t>::max();
  constexpr auto kMin = std::numeric_limits<int64_t>::min();
  signal().store(kMax);
  signal().add(1);
  EXPECT_EQ(signal().load(), kMin);
  signal().store(0);
  signal().subtract(kMin);
  EXPECT_EQ(signal().load(), kMin);
}

TEST(SignalCondition, ComparesSignedValues) {
  EXPECT_TRUE(holds(HSA_SIGNAL_CONDITION_EQ, 3, 3));
  EXPECT_FALSE(holds(HSA_SIGNAL_CONDITION_EQ, 3, 4));
  EXPECT_TRUE(holds(HSA_SIGNAL_CONDITION_NE, 3, 4));
  EXPECT_FALSE(holds(HSA_SIGNAL_CONDITION_NE, 3, 3));
  EXPECT_TRUE(holds(HSA_SIGNAL_CONDITION_LT, -1, 0));
  EXPECT_FALSE(holds(HSA_SIGNAL_CONDITION_LT, 0, 0));
  EXPECT_TRUE(holds(HSA_SIGNAL_CONDITION_GTE, 0, 0));
  EXPECT_FALSE(holds(HSA_SIGNAL_CONDITION_GTE, -1, 0));
  EXPECT_FALSE(holds(4, 0, 0));
}

TEST(Doorbell, StoreWritesRegister) {
  volatile uint64_t register_value = 0;
  Signal* signal = signal_pool::create(-1, 0, AMD_SIGNAL_KIND_DOORBELL);
  signal->abi.hardware_doorbell_ptr = &register_value;
  signal->store(41);
  EXPECT_EQ(register_value, 41u);
  signal->store<std::memory_order_release>(int64_t{1} << 40);
  EXPECT_EQ(register_value, uint64_t{1} << 40);
  signal->silent_store(43);
  EXPECT_EQ(register_value, 43u);
  signal_pool::destroy(*signal);
}

TEST(Doorbell, WritesRegisterAfterStoreFence) {
  volatile uint64_t register_value = 0;
  Signal* signal = signal_pool::create(-1, kSignalRingIsWriteCombined, AMD_SIGNAL_KIND_DOORBELL);
  signal->abi.hardware_doorbell_ptr = &register_value;
  signal->store(4);
  EXPECT_EQ(register_value, 4u);
  signal_pool::destroy(*signal);
}

TEST(Doorbell, IgnoresOperationsOnValue) {
  volatile uint64_t register_value = 7;
  Signal* signal = signal_pool::create(-1, 0, AMD_SIGNAL_KIND_DOORBELL);
  signal->abi.hardware_doorbell_ptr = &register_value;
  ::testing::internal::CaptureStderr();
  signal->add(1);
  signal->subtract(1);
  signal->bit_and(0);
  signal->bit_or(1);
  signal->bit_xor(1);
  EXPECT_EQ(signal->exchange(1), 0);
  EXPECT_EQ(signal->compare_exchange(0, 1), 0);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("is ignored because it is a doorbell"),
            std::string::npos);
  EXPECT_EQ(signal->abi.hardware_doorbell_ptr, &register_value);
  EXPECT_EQ(register_value, 7u);
  signal_pool::destroy(*signal);
}

class LegacyDoorbell : public ::testing::Test {
 protected:
  explicit LegacyDoorbell(uint32_t attributes = 0)
      : signal_(signal_pool::create(-1, attributes, AMD_SIGNAL_KIND_LEGACY_DOORBELL)) {
    signal_->abi.legacy_hardware_doorbell_ptr = &register_;
    signal_->abi.queue_ptr = &queue_;
    queue_.hsa_queue.size = 64;
  }
  ~LegacyDoorbell() override { signal_pool::destroy(*signal_); }

  volatile uint32_t register_ = 0;
  amd_queue_v2_t queue_{};
  Signal* const signal_;
};

TEST_F(LegacyDoorbell, WritesEndOfPackets) {
  signal_->store(0);
  EXPECT_EQ(register_, 1u);
  EXPECT_EQ(queue_.max_legacy_doorbell_dispatch_id_plus_1, 1u);
  signal_->store<std::memory_order_release>(99);
  EXPECT_EQ(register_, 100u);
  EXPECT_EQ(queue_.max_legacy_doorbell_dispatch_id_plus_1, 100u);
  EXPECT_EQ(queue_.legacy_doorbell_lock, 0u);
}

TEST_F(LegacyDoorbell, DropsDuplicatesAndBackwardSteps) {
  signal_->store(9);
  register_ = 0;
  signal_->store(9);
  signal_->store(3);
  EXPECT_EQ(register_, 0u);
  EXPECT_EQ(queue_.max_legacy_doorbell_dispatch_id_plus_1, 10u);
}

TEST_F(LegacyDoorbell, WrapsPast32Bits) {
  signal_->store(int64_t{1} << 32);
  EXPECT_EQ(register_, 1u);
  EXPECT_EQ(queue_.max_legacy_doorbell_dispatch_id_plus_1, (uint64_t{1} << 32) + 1);
}

class LegacyDoorbellInDwords : public LegacyDoorbell {
 protected:
  LegacyDoorbellInDwords() : LegacyDoorbell(kSignalDoorbellInDwords) {}
};

TEST_F(LegacyDoorbellInDwords, WrapsAtTwiceRingSize) {
  signal_->store(62);
  EXPECT_EQ(register_, 63u * 16);
  signal_->store(63);
  EXPECT_EQ(register_, 64u * 16);
  signal_->store(127);
  EXPECT_EQ(register_, 0u);
}

}  // namespace
}  // namespace rigel
