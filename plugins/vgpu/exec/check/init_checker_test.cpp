#include "plugins/vgpu/exec/check/init_checker.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "plugins/vgpu/exec/test_wave.hpp"

namespace rigel::vgpu::exec {
namespace {

using exec::testing::gfx;
using exec::testing::TestWave;

constexpr uint32_t kFill = 0x5eed1234;

// The memory at `begin` is allocated after the first kernel.
class LateAllocation final : public check::Allocations {
 public:
  explicit LateAllocation(uint64_t begin) : begin_(begin) {}
  void allocate() { ++version_; }

  uint64_t version() const noexcept override { return version_; }
  bool find(uint64_t, check::Allocation& found) override {
    found = {};
    found.room_bytes = UINT64_MAX;
    if (version_ == 1) return false;
    found.begin = begin_;
    found.bytes = found.room_bytes = MemoryShadow::kPage;
    found.fill = kFill;
    found.serial = version_;
    return true;
  }
  bool is_initialized(uint64_t, uint64_t&, uint64_t&) override { return false; }

 private:
  const uint64_t begin_;
  uint64_t version_ = 1;
};

class IgnoredUses final : public UndefinedUseListener {
 public:
  void undefined_use(const Wave&, UndefinedUse, uint64_t, const UndefinedOrigin&) override {}
};

// The worker had cached that no allocation contains the address.
TEST(InitChecker, ScalarLoadSeesAllocationMadeAfterLastKernel) {
  TestWave wave(gfx(9, 0, 0));
  const auto buffer = wave.bus.allocate(MemoryShadow::kPage);
  LateAllocation allocations(buffer.va);
  IgnoredUses uses;
  wave.group.lds_bytes = 0;
  InitChecker checker(uses);
  const WaveMemory::Scope scope(*wave.wave.memory);

  checker.start(wave.group, {0, 0, &allocations});
  checker.track(wave.wave);
  checker.move_scalars(wave.wave, false, buffer.va, 1, 4);
  EXPECT_EQ(checker.undefined_scalar(0, 4), 0u);

  std::fill_n(reinterpret_cast<uint32_t*>(buffer.host), MemoryShadow::kDwords, kFill);
  allocations.allocate();
  checker.start(wave.group, {0, 0, &allocations});
  checker.track(wave.wave);
  checker.move_scalars(wave.wave, false, buffer.va, 1, 4);
  EXPECT_EQ(checker.undefined_scalar(0, 4), ~0u);
}

}  // namespace
}  // namespace rigel::vgpu::exec
