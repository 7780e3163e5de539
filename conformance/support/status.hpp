// Expectations about statuses, whose messages contain the status names:
// `EXPECT_HSA(hsa_queue_destroy(queue));` and `EXPECT_STATUS(kInvalidAgent, call);`.
#pragma once

#include <gtest/gtest.h>
#include <hsa/hsa.h>

#include <initializer_list>
#include <string>

namespace conformance {

/// Returns, for example, "HSA_STATUS_ERROR_INVALID_AGENT (0x1004)". Works before hsa_init.
std::string status_name(hsa_status_t status);

/// Success, or a failure with the call and its status.
testing::AssertionResult succeeds(const char* call, hsa_status_t status);

/// Success for one of the expected statuses, or a failure with the call and its status.
testing::AssertionResult returns(const char* expected_text, const char* call,
                                 std::initializer_list<hsa_status_t> expected, hsa_status_t status);

}  // namespace conformance

#define EXPECT_HSA(call) EXPECT_TRUE(::conformance::succeeds(#call, (call)))
#define ASSERT_HSA(call) ASSERT_TRUE(::conformance::succeeds(#call, (call)))
#define EXPECT_STATUS(expected, call) \
  EXPECT_TRUE(::conformance::returns(#expected, #call, {expected}, (call)))
/// For calls whose status the manual does not define exactly.
#define EXPECT_STATUS_IN(call, ...) \
  EXPECT_TRUE(::conformance::returns(#__VA_ARGS__, #call, {__VA_ARGS__}, (call)))
