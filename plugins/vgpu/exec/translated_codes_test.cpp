#include "plugins/vgpu/exec/translated_codes.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "plugins/vgpu/cp/fake_bus.hpp"

namespace rigel::vgpu::exec {
namespace {

class TranslatedCodesTest : public ::testing::Test {
 protected:
  TranslatedCodesTest() {
    for (uint32_t i = 0; i < kKernels; ++i) put(i, 0xbf810000);  // s_endpgm
  }
  void put(uint32_t kernel, uint32_t word) { std::memcpy(memory_.host + kernel * 4, &word, sizeof word); }
  std::shared_ptr<TranslatedCode> get(TranslatedCodes& codes, uint32_t kernel) {
    CodeKey key;
    key.entry_va = memory_.va + kernel * 4;
    key.target = {9, 0, 0};
    std::shared_ptr<TranslatedCode> code = codes.get(key, {});
    const TranslationScope scope(bus_);
    code->find(key.entry_va, 0);
    return code;
  }

  static constexpr uint32_t kKernels = 1000;
  vgpu::testing::FakeBus bus_;
  const vgpu::testing::Buffer memory_ = bus_.allocate(kKernels * 4);
};

TEST_F(TranslatedCodesTest, KeepsManyKernels) {
  TranslatedCodes codes(bus_);
  std::vector<std::shared_ptr<TranslatedCode>> first;
  for (uint32_t i = 0; i < kKernels; ++i) first.push_back(get(codes, i));
  for (uint32_t i = 0; i < kKernels; ++i) EXPECT_EQ(get(codes, i), first[i]) << i;
}

TEST_F(TranslatedCodesTest, DropsLeastRecentlyUsedAboveMemoryLimit) {
  TranslatedCodes measured(bus_);
  const size_t bytes = get(measured, 0)->bytes();
  ASSERT_GT(bytes, sizeof(TranslatedCode));
  TranslatedCodes codes(bus_, 10 * bytes);
  std::vector<std::shared_ptr<TranslatedCode>> first;
  for (uint32_t i = 0; i < 10; ++i) first.push_back(get(codes, i));
  EXPECT_EQ(get(codes, 0), first[0]);
  for (uint32_t i = 10; i < 15; ++i) get(codes, i);
  EXPECT_EQ(get(codes, 0), first[0]);
  EXPECT_EQ(get(codes, 9), first[9]);
  EXPECT_NE(get(codes, 1), first[1]);
}

TEST_F(TranslatedCodesTest, TranslatesReplacedCodeAgain) {
  TranslatedCodes codes(bus_);
  const auto before = get(codes, 3);
  EXPECT_EQ(get(codes, 3), before);
  put(3, 0xbf800000);  // s_nop
  const auto after = get(codes, 3);
  EXPECT_NE(after, before);
  EXPECT_EQ(get(codes, 3), after);
}

}  // namespace
}  // namespace rigel::vgpu::exec
