#include "core/signal/signal_api.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "core/signal/backend_signals.hpp"
#include "core/signal/signal_pool.hpp"
#include "core/signal/testing/others_asleep.hpp"
#include "core/signal/wait.hpp"

namespace rigel {
namespace {

constexpr auto kEq = HSA_SIGNAL_CONDITION_EQ;
constexpr auto kGte = HSA_SIGNAL_CONDITION_GTE;
constexpr auto kBlocked = HSA_WAIT_STATE_BLOCKED;

hsa_signal_t make(int64_t value, uint64_t attributes = 0) {
  hsa_signal_t signal{};
  EXPECT_EQ(signal_api::create(value, 0, nullptr, attributes, &signal), HSA_STATUS_SUCCESS);
  return signal;
}

hsa_signal_t a_dead_signal() {
  const hsa_signal_t signal = make(0);
  EXPECT_EQ(signal_api::destroy(signal), HSA_STATUS_SUCCESS);
  return signal;
}

// An invalid condition, as a C program may pass one.
hsa_signal_condition_t invalid_condition() {
  hsa_signal_condition_t condition;
  const uint32_t number = 9;
  std::memcpy(&condition, &number, sizeof condition);
  return condition;
}

TEST(SignalApi, CreateChecksArguments) {
  hsa_signal_t signal{};
  constexpr auto kInvalid = HSA_STATUS_ERROR_INVALID_ARGUMENT;
  EXPECT_EQ(signal_api::create(1, 0, nullptr, 0, nullptr), kInvalid);
  EXPECT_EQ(signal_api::create(1, 1, nullptr, 0, &signal), kInvalid);
  const hsa_agent_t twice[] = {{5}, {6}, {5}};
  EXPECT_EQ(signal_api::create(1, 3, twice, 0, &signal), kInvalid);
  EXPECT_EQ(signal_api::create(1, 0, nullptr, 4, &signal), kInvalid);
  EXPECT_EQ(signal_api::create(1, 2, twice, 0, &signal), HSA_STATUS_SUCCESS);
  EXPECT_EQ(Signal::of_live(signal).load(), 1);
  EXPECT_EQ(signal_api::destroy(signal), HSA_STATUS_SUCCESS);
}

TEST(SignalApi, GpuOnlyTakesEffectWithAnyConsumers) {
  const hsa_signal_t gpu_only = make(1, HSA_AMD_SIGNAL_AMD_GPU_ONLY);
  EXPECT_TRUE(Signal::of_live(gpu_only).has_attribute(kSignalGpuOnly));
  EXPECT_TRUE(Signal::of_live(gpu_only).has_attribute(kSignalSilent));
  const hsa_agent_t agent{5};
  hsa_signal_t shared{};
  ASSERT_EQ(signal_api::create(1, 1, &agent, HSA_AMD_SIGNAL_AMD_GPU_ONLY, &shared), HSA_STATUS_SUCCESS);
  EXPECT_TRUE(Signal::of_live(shared).has_attribute(kSignalGpuOnly));
  EXPECT_TRUE(Signal::of_live(shared).has_attribute(kSignalSilent));
  signal_api::destroy(gpu_only);
  signal_api::destroy(shared);
}

TEST(SignalApi, DestroyDistinguishesZeroFromInvalidHandle) {
  EXPECT_EQ(signal_api::destroy({0}), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(signal_api::destroy({0x1234}), HSA_STATUS_ERROR_INVALID_SIGNAL);
  EXPECT_EQ(signal_api::destroy(a_dead_signal()), HSA_STATUS_ERROR_INVALID_SIGNAL);
  Signal* doorbell = signal_pool::create(-1, 0, AMD_SIGNAL_KIND_DOORBELL);
  EXPECT_EQ(signal_api::destroy(doorbell->handle()), HSA_STATUS_ERROR_INVALID_SIGNAL);
  EXPECT_TRUE(signal_pool::destroy(*doorbell));
}

TEST(SignalApi, ValuePointerRequiresSilentSignal) {
  volatile hsa_signal_value_t* value = nullptr;
  const hsa_signal_t plain = make(1);
  const hsa_signal_t gpu_only = make(7, HSA_AMD_SIGNAL_AMD_GPU_ONLY);
  EXPECT_EQ(signal_api::value_pointer(plain, &value), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(signal_api::value_pointer(gpu_only, nullptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(signal_api::value_pointer(a_dead_signal(), &value), HSA_STATUS_ERROR_INVALID_SIGNAL);
  ASSERT_EQ(signal_api::value_pointer(gpu_only, &value), HSA_STATUS_SUCCESS);
  EXPECT_EQ(*value, 7);
  std::thread writer([&] {
    testing::await_others_asleep();  // then only the waiter's polling finds the store
    __atomic_store_n(value, 0, __ATOMIC_RELEASE);
  });
  EXPECT_EQ(signal_api::wait(gpu_only, kEq, 0, UINT64_MAX, kBlocked), 0);
  writer.join();
  signal_api::destroy(plain);
  signal_api::destroy(gpu_only);
}

TEST(SignalApi, WaitReturnsZeroForInvalidHandle) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(signal_api::wait({0}, kEq, 1, UINT64_MAX, kBlocked), 0);
  EXPECT_EQ(signal_api::wait(a_dead_signal(), kEq, 1, UINT64_MAX, kBlocked), 0);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("invalid handle"), std::string::npos);
}

TEST(SignalApi, WaitAnySkipsInvalidHandlesAndKeepsIndices) {
  const hsa_signal_t live = make(1);
  hsa_signal_t signals[] = {{0}, a_dead_signal(), live};
  const hsa_signal_condition_t conditions[] = {kEq, kEq, kGte};
  const hsa_signal_value_t values[] = {0, 0, 1};
  hsa_signal_value_t seen = -1;
  EXPECT_EQ(signal_api::wait_any(3, signals, conditions, values, UINT64_MAX, kBlocked, &seen), 2u);
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(signal_api::wait_any(3, signals, conditions, values, UINT64_MAX, kBlocked, nullptr), 2u);
  EXPECT_EQ(signal_api::wait_any(2, signals, conditions, values, UINT64_MAX, kBlocked, &seen), UINT32_MAX);
  EXPECT_EQ(signal_api::wait_any(3, nullptr, conditions, values, UINT64_MAX, kBlocked, &seen), UINT32_MAX);
  const hsa_signal_condition_t wrong[] = {kEq, kEq, invalid_condition()};
  EXPECT_EQ(signal_api::wait_any(3, signals, wrong, values, UINT64_MAX, kBlocked, &seen), UINT32_MAX);
  signal_api::destroy(live);
}

TEST(SignalApi, WaitAllTreatsInvalidHandlesAsSatisfied) {
  const hsa_signal_t live = make(1);
  hsa_signal_t signals[] = {{0}, a_dead_signal(), live};
  const hsa_signal_condition_t conditions[] = {kEq, kEq, kGte};
  const hsa_signal_value_t values[] = {5, 5, 1};
  hsa_signal_value_t seen[] = {-1, -1, -1};
  EXPECT_EQ(signal_api::wait_all(3, signals, conditions, values, UINT64_MAX, kBlocked, seen), 0u);
  EXPECT_EQ(seen[0], 0);
  EXPECT_EQ(seen[1], 0);
  EXPECT_EQ(seen[2], 1);
  const hsa_signal_value_t more[] = {5, 5, 2};
  EXPECT_EQ(signal_api::wait_all(3, signals, conditions, more, 1000, kBlocked, nullptr), UINT32_MAX);
  signal_api::destroy(live);
}

TEST(SignalApi, WaitsForMoreSignalsThanFitOnStack) {
  constexpr uint32_t kCount = 100;
  std::vector<hsa_signal_t> signals;
  for (uint32_t i = 0; i < kCount; ++i) signals.push_back(make(1));
  const std::vector<hsa_signal_condition_t> conditions(kCount, kEq);
  const std::vector<hsa_signal_value_t> values(kCount, 0);
  Signal::of_live(signals[77]).store(0);
  EXPECT_EQ(signal_api::wait_any(kCount, signals.data(), conditions.data(), values.data(), UINT64_MAX,
                                 kBlocked, nullptr),
            77u);
  for (const auto signal : signals) Signal::of_live(signal).store(0);
  EXPECT_EQ(signal_api::wait_all(kCount, signals.data(), conditions.data(), values.data(), UINT64_MAX,
                                 kBlocked, nullptr),
            0u);
  for (const auto signal : signals) signal_api::destroy(signal);
}

TEST(SignalApi, WatchChecksArguments) {
  AsyncDispatcher dispatcher;
  const auto handler = [](hsa_signal_value_t, void*) { return false; };
  const hsa_signal_t signal = make(1);
  EXPECT_EQ(signal_api::watch(dispatcher, signal, kEq, 0, nullptr, nullptr),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(signal_api::watch(dispatcher, {0}, kEq, 0, handler, nullptr), HSA_STATUS_ERROR_INVALID_SIGNAL);
  EXPECT_EQ(signal_api::watch(dispatcher, a_dead_signal(), kEq, 0, handler, nullptr),
            HSA_STATUS_ERROR_INVALID_SIGNAL);
  EXPECT_EQ(signal_api::watch(dispatcher, signal, invalid_condition(), 0, handler, nullptr),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  Signal* doorbell = signal_pool::create(-1, 0, AMD_SIGNAL_KIND_DOORBELL);
  EXPECT_EQ(signal_api::watch(dispatcher, doorbell->handle(), kEq, 0, handler, nullptr),
            HSA_STATUS_ERROR_INVALID_SIGNAL);
  signal_pool::destroy(*doorbell);
  const hsa_signal_t gpu_only = make(1, HSA_AMD_SIGNAL_AMD_GPU_ONLY);
  EXPECT_EQ(signal_api::watch(dispatcher, gpu_only, kEq, 0, handler, nullptr),
            HSA_STATUS_ERROR_INVALID_SIGNAL);
  signal_api::destroy(gpu_only);
  const hsa_signal_t ipc = make(1, HSA_AMD_SIGNAL_IPC);
  EXPECT_EQ(signal_api::watch(dispatcher, ipc, kEq, 0, handler, nullptr), HSA_STATUS_SUCCESS);
  EXPECT_EQ(signal_api::watch(dispatcher, signal, kEq, 0, handler, nullptr), HSA_STATUS_SUCCESS);
  dispatcher.stop();
  signal_api::destroy(ipc);
  signal_api::destroy(signal);
}

TEST(SignalApi, CallAsideChecksFunction) {
  AsyncDispatcher dispatcher;
  EXPECT_EQ(signal_api::call_aside(dispatcher, nullptr, nullptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(signal_api::call_aside(
                dispatcher, [](void*) {}, nullptr),
            HSA_STATUS_SUCCESS);
  dispatcher.stop();
}

TEST(HostSignalServices, StoreWakesWaitInBackend) {
  const hsabe_host_signal_t& host = host_signal_services();
  EXPECT_EQ(host.struct_size, sizeof(hsabe_host_signal_t));
  uint64_t doorbell = 0;
  uint64_t completion = 0;
  ASSERT_EQ(host.create(nullptr, -1, &doorbell), HSA_STATUS_SUCCESS);
  ASSERT_EQ(host.create(nullptr, 1, &completion), HSA_STATUS_SUCCESS);
  EXPECT_EQ(host.create(nullptr, 1, nullptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  std::thread backend([&] {
    const hsabe_wait_t waits[] = {{0, 0, kEq, 0}, {doorbell, 0, kGte, 0}};
    EXPECT_EQ(host.wait_any(nullptr, waits, 2, HSABE_WAIT_FOREVER, 0), 1u);
    host.subtract(nullptr, completion, 1);
  });
  host.store(nullptr, doorbell, 0);
  EXPECT_EQ(signal_api::wait({completion}, kEq, 0, UINT64_MAX, kBlocked), 0);
  backend.join();
  std::vector<hsabe_wait_t> many(40, {completion, 1, kEq, 0});
  EXPECT_EQ(host.wait_any(nullptr, many.data(), 40, 1000, 0), HSABE_WAIT_TIMED_OUT);
  host.destroy(nullptr, doorbell);
  host.destroy(nullptr, completion);
  ::testing::internal::CaptureStderr();
  host.destroy(nullptr, completion);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("invalid handle"), std::string::npos);
}

}  // namespace
}  // namespace rigel
