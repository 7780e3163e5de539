// Scheduler with a small virtual GPU and a bus, for tests. Programs are for gfx900; s[0:1] is the address of
// a buffer.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <future>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "plugins/vgpu/cp/fake_bus.hpp"
#include "plugins/vgpu/exec/level_test_support.hpp"
#include "plugins/vgpu/exec/scheduler.hpp"

namespace rigel::vgpu::exec::testing {

struct SchedulerParameter {
  SimdLevel level;
  uint32_t workers;
  bool inline_dispatches;
};

inline std::vector<SchedulerParameter> scheduler_parameters() {
  std::vector<SchedulerParameter> all;
  for (const SimdLevel level : kLevels) {
    for (const uint32_t workers : {1u, 2u}) {
      for (const bool inline_dispatches : {true, false}) all.push_back({level, workers, inline_dispatches});
    }
  }
  return all;
}

inline std::string scheduler_parameter_name(const ::testing::TestParamInfo<SchedulerParameter>& choice) {
  static constexpr const char* kNames[] = {"OnBaseline", "OnAvx2", "OnAvx512"};
  return std::string(choice.param.workers == 1 ? "One" : "Two") +
         (choice.param.inline_dispatches ? "AndTheCaller" : "") +
         kNames[static_cast<size_t>(choice.param.level)];
}

// Counts compilations inside and outside of translation scopes. Stores `changed_to` to `*changed` at the
// `countdown`-th lookup of code.
class WatchingBus : public vgpu::testing::FakeBus {
 public:
  uint32_t begin_translations() noexcept override {
    ++depth_;
    return FakeBus::begin_translations();
  }
  void end_translations(uint32_t scope) noexcept override {
    FakeBus::end_translations(scope);
    --depth_;
  }
  void trace(TraceTopic topic, std::string_view line) noexcept override {
    if (line.find(": compiled") != line.npos) ++(depth_ == 0 ? compiled_outside : compiled_inside);
    FakeBus::trace(topic, line);
  }
  Translation translate(uint64_t va, uint64_t bytes, Access access) noexcept override {
    if (access == Access::kExecute && changed != nullptr && countdown.fetch_sub(1) == 0)
      std::atomic_ref(*changed).store(changed_to);
    return FakeBus::translate(va, bytes, access);
  }

  std::atomic<int> compiled_inside{0}, compiled_outside{0};
  std::atomic<int> countdown{-1};
  uint32_t* changed = nullptr;
  uint32_t changed_to = 0;

 private:
  static inline thread_local int depth_ = 0;
};

class SchedulerTest : public ::testing::TestWithParam<SchedulerParameter> {
 public:
  using Words = std::vector<uint32_t>;

 protected:
  using Kind = DispatchResult::Kind;

  // buffer[id] = id + 100
  static inline const Words kStoreId = {0x8e038202, 0x8004ff02, 0x00000064, 0xc0400100,
                                        0x00000003, 0xc0840000, 0,          0xbf810000};
  // A ticket lock ([0] next ticket, [4] present ticket) around [8] += 3.
  static inline const Words kTicketLock = {
      0xbe840081, 0xc20b0100, 0,          0xc0030140, 4, 0xbf8cc07f, 0xbf060504, 0xbf84fffb, 0xc0030180,
      8,          0xbf8cc07f, 0x80068306, 0xc0420180, 8, 0x80058105, 0xc0420140, 4,          0xbf810000};
  // [0] += 1; sleeps until [0] is s3; [4] += 1.
  static inline const Words kGridBarrier = {0xbe840081, 0xc20a0100, 0,          0xbf8e0001, 0xc0030140,
                                            0,          0xbf8cc07f, 0xbf0a0305, 0xbf85fffa, 0xbe840081,
                                            0xc20a0100, 4,          0xbf810000};
  static inline const Words kSpin = {0xbf82ffff};
  static inline const Words kSpinAsleep = {0xbf8e000a, 0xbf82fffe};
  static inline const Words kWaitForFlag = {0xc0030100, 0, 0xbf8cc07f, 0xbf068004, 0xbf85fffb, 0xbf810000};
  static inline const Words kSetFlag = {0xbe840081, 0xc0420100, 0, 0xbf810000};

  SchedulerTest() {
    device_.compute_units.resize(4);
    device_.level = GetParam().level;
    make();
    buffer_ = bus_.allocate(65536);
  }
  void SetUp() override {
    if (const std::string_view why = why_absent(GetParam().level); !why.empty()) GTEST_SKIP() << why;
  }
  void make() {
    scheduler_ = std::make_unique<Scheduler>(
        device_, bus_, SchedulerOptions{GetParam().workers, GetParam().inline_dispatches});
  }

  /// Returns a dispatch of one-dimensional work-groups of 64, with s[0:1] = the buffer, s2 = the id.
  Dispatch dispatch(const Words& program, uint32_t groups) {
    const vgpu::testing::Buffer code = bus_.allocate(program.size() * 4);
    std::memcpy(code.host, program.data(), program.size() * 4);
    Dispatch d;
    d.queue_id = 1;
    d.entry_va = code.va;
    d.work_group_size[0] = 64;
    d.grid_size[0] = groups * 64;
    d.pgm_rsrc1 = 0xf0 << 12 | 12u << 6;  // all SGPRs
    d.user_sgprs[0] = static_cast<uint32_t>(buffer_.va);
    d.user_sgprs[1] = static_cast<uint32_t>(buffer_.va >> 32);
    d.user_sgpr_count = 2;
    d.pgm_rsrc2 = 1u << 7;
    return d;
  }

  std::future<DispatchResult> start(const Dispatch& d) {
    auto promise = std::make_shared<std::promise<DispatchResult>>();
    auto result = promise->get_future();
    scheduler_->start(d, [promise](DispatchResult r) { promise->set_value(std::move(r)); });
    return result;
  }
  DispatchResult run(const Dispatch& d) { return start(d).get(); }

  uint32_t waves_shown() {
    uint32_t waves = 0;
    for (const auto& running : scheduler_->describe_running()) {
      // "  4 waves      pc …" or "  1 wave       pc …"
      std::istringstream lines(running.text);
      for (std::string line; std::getline(lines, line);) {
        unsigned count = 0;
        char what[8] = {};
        if (std::sscanf(line.c_str(), " %u %7s pc ", &count, what) == 2 &&
            std::string(what).starts_with("wave")) {
          waves += count;
        }
      }
    }
    return waves;
  }
  /// As waves_shown(), after waiting for `expected` waves for at most 20 s.
  uint32_t waves_shown(uint32_t expected) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (waves_shown() < expected && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    return waves_shown();
  }

  uint32_t word(uint64_t index) { return buffer_.at<uint32_t>()[index]; }
  void store(uint64_t index, uint32_t value) {
    std::atomic_ref(buffer_.at<uint32_t>()[index]).store(value, std::memory_order_release);
  }

  WatchingBus bus_;
  Device device_;
  vgpu::testing::Buffer buffer_;
  std::unique_ptr<Scheduler> scheduler_;
};

}  // namespace rigel::vgpu::exec::testing
