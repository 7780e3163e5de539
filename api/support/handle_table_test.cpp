#include "api/support/handle_table.hpp"

#include <gtest/gtest.h>

namespace rigel {
namespace {

TEST(HandleTable, FindsInsertedObject) {
  HandleTable<int> table(HandleKind::kExecutable);
  const uint64_t a = table.insert(std::make_shared<int>(1));
  const uint64_t b = table.insert(std::make_shared<int>(2));
  EXPECT_EQ(*table.find(a), 1);
  EXPECT_EQ(*table.find(b), 2);
}

TEST(HandleTable, NoHandleIsZero) {
  HandleTable<int> table(HandleKind::kExecutable);
  EXPECT_NE(table.insert(std::make_shared<int>(1)), 0u);
  EXPECT_EQ(table.find(0), nullptr);
}

TEST(HandleTable, RejectsFreedHandleOfReusedSlot) {
  HandleTable<int> table(HandleKind::kExecutable);
  const uint64_t old = table.insert(std::make_shared<int>(1));
  ASSERT_NE(table.remove(old), nullptr);
  const uint64_t young = table.insert(std::make_shared<int>(2));
  EXPECT_EQ(static_cast<uint32_t>(old), static_cast<uint32_t>(young)) << "the slot should be reused";
  EXPECT_EQ(table.find(old), nullptr);
  EXPECT_EQ(table.remove(old), nullptr);
  EXPECT_EQ(*table.find(young), 2);
}

TEST(HandleTable, RejectsHandleOfOtherKind) {
  HandleTable<int> executables(HandleKind::kExecutable);
  HandleTable<int> readers(HandleKind::kCodeObjectReader);
  const uint64_t handle = executables.insert(std::make_shared<int>(1));
  readers.insert(std::make_shared<int>(2));
  EXPECT_EQ(readers.find(handle), nullptr);
}

TEST(HandleTable, ReferenceKeepsRemovedObjectAlive) {
  HandleTable<int> table(HandleKind::kExecutable);
  const uint64_t handle = table.insert(std::make_shared<int>(7));
  const auto held = table.find(handle);
  table.remove(handle);
  EXPECT_EQ(*held, 7);
}

TEST(HandleTable, ClearInvalidatesEveryHandle) {
  HandleTable<int> table(HandleKind::kExecutable);
  const uint64_t handle = table.insert(std::make_shared<int>(7));
  table.remove(table.insert(std::make_shared<int>(8)));
  std::vector<int> ended;
  table.clear([&](int& object) {
    ended.push_back(object);
    EXPECT_EQ(table.find(handle), nullptr);
  });
  EXPECT_EQ(ended, std::vector<int>{7});
  EXPECT_TRUE(table.all().empty());
  EXPECT_NE(table.insert(std::make_shared<int>(9)), handle);
}

}  // namespace
}  // namespace rigel
