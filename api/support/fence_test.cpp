#include "api/support/fence.hpp"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

namespace rigel {
namespace {

template <class Exception>
Status status_of(const Exception& exception) {
  try {
    throw exception;
  } catch (...) {
    return status_of_exception(LogTopic::kApi);
  }
}

TEST(Fence, StatusIsOutOfResourcesForBadAlloc) {
  EXPECT_EQ(status_of(std::bad_alloc()), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  EXPECT_EQ(status_of(std::runtime_error("no thread")), HSA_STATUS_ERROR);
  EXPECT_EQ(status_of(7), HSA_STATUS_ERROR);
}

TEST(ExceptionCarrier, RethrowsFirstExceptionOnce) {
  ExceptionCarrier carrier;
  int calls = 0;
  carrier.rethrow();
  carrier.run([&] { ++calls; });
  carrier.run([] { throw std::runtime_error("first"); });
  carrier.run([&] { ++calls; });
  EXPECT_EQ(calls, 1);
  EXPECT_THROW(carrier.rethrow(), std::runtime_error);
  carrier.rethrow();
}

}  // namespace
}  // namespace rigel
