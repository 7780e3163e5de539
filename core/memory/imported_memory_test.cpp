#include "core/memory/imported_memory.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <new>
#include <thread>
#include <utility>

namespace rigel {
namespace {

constexpr uintptr_t kAddress = 0x10000;

// Counts the open blocks, and runs the test's action when access to a block is set.
class Importer final : public MemoryImporter {
 public:
  Result<ImportedBlock> open(int, const AgentSet&) override { return open_one(); }
  Result<ImportedBlock> open(const MemoryProvider::NamedBlock&, size_t) override { return open_one(); }
  Status set_access(const ImportedBlock&, const AgentSet&) override { return on_set_access(); }
  void close(const ImportedBlock&) noexcept override { --blocks; }

  std::function<Status()> on_set_access = [] { return HSA_STATUS_SUCCESS; };
  std::atomic<int> blocks{0};

 private:
  ImportedBlock open_one() {
    ++blocks;
    ImportedBlock block;
    block.address = reinterpret_cast<void*>(kAddress);
    block.size = 4096;
    return block;
  }
};

class ImportedMemoryTest : public ::testing::Test {
 protected:
  ImportedMemoryTest() {
    auto importer = std::make_unique<Importer>();
    importer_ = importer.get();
    memory_.set_importer(std::move(importer));
  }
  Status add() {
    auto block = std::make_shared<OpenBlock>(*importer_);
    block->adopt(std::move(*importer_->open(0, {})));
    ImportedMemory::Entry entry;
    entry.base = kAddress;
    entry.size = 4096;
    entry.block = std::move(block);
    const auto added = memory_.add(std::move(entry));
    return added ? HSA_STATUS_SUCCESS : added.error();
  }

  ImportedMemory memory_;
  Importer* importer_ = nullptr;
};

TEST_F(ImportedMemoryTest, ClosesBlockIfSetAccessFails) {
  importer_->on_set_access = [] { return HSA_STATUS_ERROR_OUT_OF_RESOURCES; };
  EXPECT_EQ(add(), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  EXPECT_EQ(importer_->blocks, 0);
  importer_->on_set_access = []() -> Status { throw std::bad_alloc(); };
  EXPECT_THROW(add(), std::bad_alloc);
  EXPECT_EQ(importer_->blocks, 0);
  EXPECT_FALSE(memory_.view(kAddress));
}

TEST_F(ImportedMemoryTest, KeepsBlockOpenDuringSetAccess) {
  ASSERT_EQ(add(), HSA_STATUS_SUCCESS);
  importer_->on_set_access = [&] {
    std::thread([&] { EXPECT_TRUE(memory_.remove(kAddress, HSA_EXT_POINTER_TYPE_IPC)); }).join();
    EXPECT_EQ(importer_->blocks, 1) << "the other thread has closed it";
    return HSA_STATUS_SUCCESS;
  };
  EXPECT_EQ(memory_.set_access(kAddress, {}), HSA_STATUS_SUCCESS);
  EXPECT_EQ(importer_->blocks, 0);
  EXPECT_FALSE(memory_.view(kAddress));
}

}  // namespace
}  // namespace rigel
