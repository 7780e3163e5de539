#include "core/memory/code_memory.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace rigel {
namespace {

TEST(CodeMemory, IsZeroedAndWholePages) {
  const auto memory = CodeMemory::allocate(5000);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->size(), 8192u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory->data()) % 4096, 0u);
  for (size_t i = 0; i < memory->size(); ++i) ASSERT_EQ(memory->data()[i], std::byte{0});
}

TEST(CodeMemory, RefusesSizesThatCannotBe) {
  EXPECT_EQ(CodeMemory::allocate(0).error(), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(CodeMemory::allocate(~size_t{0}).error(), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  EXPECT_EQ(CodeMemory::allocate(size_t{1} << 60).error(), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
}

TEST(CodeMemory, MovesWithoutBeingFreedTwice) {
  auto first = CodeMemory::allocate(100);
  ASSERT_TRUE(first);
  std::byte* address = first->data();
  CodeMemory second = std::move(*first);
  EXPECT_EQ(second.data(), address);
  second = *CodeMemory::allocate(100);
  EXPECT_NE(second.data(), nullptr);
}

#if defined(__x86_64__)
TEST(CodeMemory, RunsWhenSealedAndIsWrittenWhenNot) {
  auto memory = CodeMemory::allocate(64);
  ASSERT_TRUE(memory);
  unsigned char return_number[] = {0xb8, 7, 0, 0, 0, 0xc3};  // mov eax, 7; ret
  std::memcpy(memory->data(), return_number, sizeof return_number);
  ASSERT_EQ(memory->seal(), HSA_STATUS_SUCCESS);
  const auto function = reinterpret_cast<int (*)()>(memory->data());
  EXPECT_EQ(function(), 7);
  ASSERT_EQ(memory->unseal(), HSA_STATUS_SUCCESS);
  return_number[1] = 9;
  std::memcpy(memory->data(), return_number, sizeof return_number);
  ASSERT_EQ(memory->seal(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(function(), 9);
  EXPECT_DEATH(memory->data()[0] = std::byte{1}, "");
}
#endif

}  // namespace
}  // namespace rigel
