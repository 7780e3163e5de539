#include "core/copy/box.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace rigel {
namespace {

struct Sides {
  alignas(16) unsigned char from[4096];
  alignas(16) unsigned char to[4096];
  hsa_pitched_ptr_t source{from, 64, 512};
  hsa_pitched_ptr_t target{to, 64, 512};
  hsa_dim3_t zero{0, 0, 0};
};

Status check(const hsa_pitched_ptr_t& target, hsa_dim3_t target_offset, const hsa_pitched_ptr_t& source,
             hsa_dim3_t source_offset, hsa_dim3_t range) {
  const auto box = make_box(target, target_offset, source, source_offset, range);
  return box ? HSA_STATUS_SUCCESS : box.error();
}

TEST(BoxTest, MatchesNaiveCopy) {
  std::mt19937 random(5);
  const auto upto = [&](uint32_t most) { return static_cast<uint32_t>(random() % (most + 1)); };
  for (int round = 0; round < 300; ++round) {
    const size_t from_pitch = 4 * (4 + upto(20)), to_pitch = 4 * (4 + upto(20));
    const size_t from_rows = 1 + upto(9), to_rows = 1 + upto(9);
    const size_t from_layers = 1 + upto(5), to_layers = 1 + upto(5);
    std::vector<unsigned char> from(from_pitch * from_rows * from_layers),
        to(to_pitch * to_rows * to_layers, 0);
    for (auto& byte : from) byte = static_cast<unsigned char>(random());
    auto expected = to;
    const hsa_dim3_t range{1 + upto(static_cast<uint32_t>(std::min(from_pitch, to_pitch)) - 1),
                           1 + upto(static_cast<uint32_t>(std::min(from_rows, to_rows)) - 1),
                           1 + upto(static_cast<uint32_t>(std::min(from_layers, to_layers)) - 1)};
    const hsa_dim3_t from_at{upto(static_cast<uint32_t>(from_pitch) - range.x),
                             upto(static_cast<uint32_t>(from_rows) - range.y),
                             upto(static_cast<uint32_t>(from_layers) - range.z)};
    const hsa_dim3_t to_at{upto(static_cast<uint32_t>(to_pitch) - range.x),
                           upto(static_cast<uint32_t>(to_rows) - range.y),
                           upto(static_cast<uint32_t>(to_layers) - range.z)};
    for (size_t z = 0; z < range.z; ++z) {
      for (size_t y = 0; y < range.y; ++y) {
        for (size_t x = 0; x < range.x; ++x) {
          expected[((to_at.z + z) * to_rows + to_at.y + y) * to_pitch + to_at.x + x] =
              from[((from_at.z + z) * from_rows + from_at.y + y) * from_pitch + from_at.x + x];
        }
      }
    }
    const auto box = make_box({to.data(), to_pitch, to_pitch * to_rows}, to_at,
                              {from.data(), from_pitch, from_pitch * from_rows}, from_at, range);
    ASSERT_TRUE(box);
    ASSERT_LE(box->destination.start + box->destination.extent, to.data() + to.size());
    ASSERT_LE(box->source.start + box->source.extent, from.data() + from.size());
    const size_t half = box->rows() / 2;
    copy_rows(*box, half, box->rows() - half);
    copy_rows(*box, 0, half);
    ASSERT_EQ(to, expected) << "round " << round;
  }
}

TEST(BoxTest, EmptyRangeMakesEmptyBox) {
  Sides sides;
  for (const hsa_dim3_t range : {hsa_dim3_t{0, 1, 1}, hsa_dim3_t{1, 0, 1}, hsa_dim3_t{1, 1, 0}}) {
    const auto box = make_box(sides.target, sides.zero, sides.source, sides.zero, range);
    ASSERT_TRUE(box);
    EXPECT_TRUE(box->empty());
  }
}

TEST(BoxTest, SingleLayerNeedsNoSlice) {
  Sides sides;
  sides.source.slice = sides.target.slice = 0;
  EXPECT_EQ(check(sides.target, sides.zero, sides.source, sides.zero, {64, 8, 1}), HSA_STATUS_SUCCESS);
  EXPECT_EQ(check(sides.target, sides.zero, sides.source, sides.zero, {64, 8, 2}),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

TEST(BoxTest, RejectsNullAndUnalignedArguments) {
  Sides sides;
  for (const auto& wrong : {hsa_pitched_ptr_t{nullptr, 64, 512}, hsa_pitched_ptr_t{sides.from + 2, 64, 512},
                            hsa_pitched_ptr_t{sides.from, 66, 512}, hsa_pitched_ptr_t{sides.from, 64, 514}}) {
    EXPECT_EQ(check(wrong, sides.zero, sides.source, sides.zero, {4, 1, 1}),
              HSA_STATUS_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(check(sides.target, sides.zero, wrong, sides.zero, {4, 1, 1}),
              HSA_STATUS_ERROR_INVALID_ARGUMENT);
  }
}

TEST(BoxTest, RejectsRowsAndLayersThatDoNotFit) {
  Sides sides;
  EXPECT_EQ(check(sides.target, {1, 0, 0}, sides.source, sides.zero, {64, 1, 1}),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(check(sides.target, sides.zero, sides.source, {60, 0, 0}, {8, 1, 1}),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(check(sides.target, {0, 1, 0}, sides.source, sides.zero, {8, 8, 1}),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(check(sides.target, sides.zero, sides.source, {0, 8, 0}, {8, 1, 1}),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(check(sides.target, {0, 7, 0}, sides.source, {60, 0, 0}, {4, 1, 1}), HSA_STATUS_SUCCESS);
}

TEST(BoxTest, RejectsBoxesBeyondAddressSpace) {
  Sides sides;
  const uint32_t most = 0xffffffff;
  // Each of these overflows in a naive computation.
  EXPECT_EQ(check(sides.target, {most, 0, 0}, sides.source, sides.zero, {most, 1, 1}),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(check(sides.target, {0, most, 0}, sides.source, sides.zero, {4, most, 1}),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  const hsa_pitched_ptr_t wide{sides.to, size_t{1} << 62, 0};
  EXPECT_EQ(check(wide, {0, 4, 0}, sides.source, sides.zero, {4, 1, 1}), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(check(wide, sides.zero, sides.source, sides.zero, {4, 8, 1}), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  const hsa_pitched_ptr_t deep{sides.to, 64, size_t{1} << 62};
  EXPECT_EQ(check(deep, {0, 0, 4}, sides.source, sides.zero, {4, 1, 1}), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(check(deep, sides.zero, sides.source, sides.zero, {4, 1, 5}), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  const hsa_pitched_ptr_t last{reinterpret_cast<void*>(~uintptr_t{0} - 63), 64, 0};
  EXPECT_EQ(check(last, sides.zero, sides.source, sides.zero, {64, 2, 1}), HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace rigel
