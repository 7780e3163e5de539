#include "core/signal/pending_operations.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <vector>

#include "core/signal/signal_pool.hpp"
#include "core/signal/wait.hpp"

namespace rigel {
namespace {

class PendingOperationsTest : public ::testing::Test {
 protected:
  // Completes `done_` when it is ready.
  class Operation final : public PendingOperation {
   public:
    Operation(std::vector<Signal*> dependencies, Signal* done, std::atomic<int>& live)
        : PendingOperation(std::move(dependencies)), done_(done), live_(live) {
      ++live_;
    }
    ~Operation() override { --live_; }

   private:
    void ready(Status status) noexcept override {
      const Completion done = done_;
      delete this;
      done.complete(status);
    }
    const Completion done_;
    std::atomic<int>& live_;
  };

  ~PendingOperationsTest() override {
    for (Signal* signal : {first_, second_, done_}) signal_pool::destroy(*signal);
  }

  std::unique_ptr<PendingOperation> operation() {
    return std::make_unique<Operation>(std::vector<Signal*>{first_, second_}, done_, live_);
  }
  int64_t completion() { return wait(*done_, HSA_SIGNAL_CONDITION_LT, 1, kWaitForever, Spin::active()); }

  Signal* const first_ = signal_pool::create(1);
  Signal* const second_ = signal_pool::create(1);
  Signal* const done_ = signal_pool::create(1);
  std::atomic<int> live_{0};
  std::unique_ptr<PendingOperations> operations_ = std::make_unique<PendingOperations>();
};

TEST_F(PendingOperationsTest, ReadyAfterEveryDependencyWasZero) {
  ASSERT_EQ(operations_->start(operation()), HSA_STATUS_SUCCESS);
  second_->store<std::memory_order_release>(0);
  EXPECT_EQ(done_->load(), 1);
  first_->store<std::memory_order_release>(0);
  EXPECT_EQ(completion(), 0);
  EXPECT_EQ(live_, 0);
}

TEST_F(PendingOperationsTest, ReadyDuringStartWithoutOpenDependency) {
  first_->store(0);
  second_->store(0);
  ASSERT_EQ(operations_->start(operation()), HSA_STATUS_SUCCESS);
  EXPECT_EQ(done_->load(), 0);
}

TEST_F(PendingOperationsTest, NegativeDependencyFailsOperation) {
  first_->store(0);
  ASSERT_EQ(operations_->post(operation()), HSA_STATUS_SUCCESS);
  second_->store<std::memory_order_release>(-5);
  EXPECT_EQ(completion(), -int64_t{HSA_STATUS_ERROR});
}

TEST_F(PendingOperationsTest, OwnerDropsWaitingOperations) {
  ASSERT_EQ(operations_->start(operation()), HSA_STATUS_SUCCESS);
  ASSERT_EQ(operations_->post(operation()), HSA_STATUS_SUCCESS);
  operations_.reset();
  EXPECT_EQ(live_, 0);
  EXPECT_EQ(done_->load(), 1);
}

TEST_F(PendingOperationsTest, DestroyedCompletionIsNotChanged) {
  Signal* const recycled = signal_pool::create(7);
  const Completion completion(recycled);
  signal_pool::destroy(*recycled);
  EXPECT_EQ(completion.signal(), nullptr);
  completion.complete(HSA_STATUS_SUCCESS);
}

}  // namespace
}  // namespace rigel
