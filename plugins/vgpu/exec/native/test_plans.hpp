// Plans of a few instructions of gfx900, for tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "plugins/vgpu/exec/native/plan.hpp"

namespace rigel::vgpu::exec::compiler {

constexpr uint64_t kVa = 0x1000;
constexpr uint32_t kEnd = 0xbf810000;

/// Returns a request for this gfx900 code, followed by s_endpgm. `zeros`: for each id register, the low bits
/// that are 0 in the first lane of every wave; empty: the work-group's shape is unknown.
inline Request request_of(std::vector<uint32_t> code, std::vector<unsigned> zeros = {6},
                          const GroupShape::Key& group = {{256, 1, 1}, 64, 1, false}) {
  code.push_back(kEnd);
  Request request;
  request.target = *isa::target_of("gfx900");
  request.layout = {64, 32};
  request.level = SimdLevel::kAvx2;
  request.entry_va = kVa;
  request.read = [code](uint64_t va, std::span<std::byte> to) -> size_t {
    const size_t at = va - kVa, size = code.size() * 4;
    if (at >= size) return 0;
    const size_t bytes = std::min(to.size(), size - at);
    std::memcpy(to.data(), reinterpret_cast<const std::byte*>(code.data()) + at, bytes);
    return bytes;
  };
  if (!zeros.empty()) {
    auto shape = std::make_shared<GroupShape>(group);
    shape->zeros = std::move(zeros);
    request.shape = std::move(shape);
  }
  return request;
}

inline std::unique_ptr<Plan> plan_of(std::vector<uint32_t> code, std::vector<unsigned> zeros = {6},
                                     const GroupShape::Key& group = {{256, 1, 1}, 64, 1, false}) {
  auto plan = make_plan(request_of(std::move(code), std::move(zeros), group));
  EXPECT_TRUE(plan) << plan.error();
  return std::move(*plan);
}

/// Skips on hosts for which kernels are not compiled.
class PlanTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!why_absent(SimdLevel::kAvx2).empty()) GTEST_SKIP() << why_absent(SimdLevel::kAvx2);
  }
};

}  // namespace rigel::vgpu::exec::compiler
