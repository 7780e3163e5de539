// Statuses in expectations: `EXPECT_HSA(hsa_queue_destroy(queue));` and `EXPECT_STATUS(kInvalidAgent,
// call);`, with names in the messages.
#pragma once

#include <gtest/gtest.h>
#include <hsa/hsa.h>

#include <initializer_list>
#include <string>

namespace conformance {

/// "HSA_STATUS_ERROR_INVALID_AGENT (0x1004)", also before hsa_init.
std::string status_name(hsa_status_t status);

/// For EXPECT_PRED_FORMAT: success, or the call and its status.
testing::AssertionResult succeeds(const char* call, hsa_status_t status);

/// For EXPECT_PRED_FORMAT: one of the statuses, or the call and what it returned instead.
testing::AssertionResult returns(const char* expected_text, const char* call,
                                 std::initializer_list<hsa_status_t> expected, hsa_status_t status);

}  // namespace conformance

#define EXPECT_HSA(call) EXPECT_TRUE(::conformance::succeeds(#call, (call)))
#define ASSERT_HSA(call) ASSERT_TRUE(::conformance::succeeds(#call, (call)))
#define EXPECT_STATUS(expected, call) \
  EXPECT_TRUE(::conformance::returns(#expected, #call, {expected}, (call)))
/// For where the manual leaves a choice.
#define EXPECT_STATUS_IN(call, ...) \
  EXPECT_TRUE(::conformance::returns(#__VA_ARGS__, #call, {__VA_ARGS__}, (call)))
