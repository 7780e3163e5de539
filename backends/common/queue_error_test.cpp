#include "backends/common/queue_error.hpp"

#include <gtest/gtest.h>
#include <hsa/hsa_ext_amd.h>

#include "backends/common/trap.hpp"

namespace rigel::gfx {
namespace {

TEST(QueueError, MatchesRocrForEachCode) {
  const std::pair<uint64_t, int> rows[] = {
      {0x2, HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS},
      {0x4, HSA_STATUS_ERROR_INVALID_ALLOCATION},
      {0x8, HSA_STATUS_ERROR_INVALID_CODE_OBJECT},
      {0x20, HSA_STATUS_ERROR_INVALID_PACKET_FORMAT},
      {0x40, HSA_STATUS_ERROR_INVALID_ARGUMENT},
      {0x80, HSA_STATUS_ERROR_OUT_OF_REGISTERS},
      {0x100, HSA_STATUS_ERROR_INVALID_PACKET_FORMAT},
      {0x20000000, HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION},
      {0x40000000, HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION},
      {0x80000000, HSA_STATUS_ERROR_EXCEPTION},
      {0x10, HSA_STATUS_ERROR},
  };
  for (const auto& [code, status] : rows) {
    EXPECT_EQ(static_cast<int>(error_of_inactive_code(code).status), status) << std::hex << code;
    EXPECT_FALSE(error_of_inactive_code(code).what.empty());
  }
}

TEST(QueueError, IsNoErrorForScratch) {
  EXPECT_EQ(error_of_inactive_code(0).status, HSA_STATUS_SUCCESS);
  EXPECT_EQ(error_of_inactive_code(0x601).status, HSA_STATUS_SUCCESS);
  EXPECT_EQ(scratch_asked_for(0x1), 64u);
  EXPECT_EQ(scratch_asked_for(0x400), 32u);
  EXPECT_EQ(scratch_asked_for(0x200), 0u);
}

TEST(QueueError, MatchesRocrForEachException) {
  const auto status = [](uint32_t number) {
    return static_cast<int>(error_of_exceptions(uint64_t{1} << (number - 1)).status);
  };
  EXPECT_EQ(status(1), HSA_STATUS_ERROR_EXCEPTION);
  EXPECT_EQ(status(4), HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION);
  EXPECT_EQ(status(6), HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION);
  EXPECT_EQ(status(16), HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS);
  EXPECT_EQ(status(22), HSA_STATUS_ERROR_INVALID_ISA);
  EXPECT_EQ(status(23), HSA_STATUS_ERROR_INVALID_PACKET_FORMAT);
  EXPECT_EQ(error_of_exceptions(1u << 29).what, "the queue could not be preempted");
  EXPECT_EQ(status(31), HSA_STATUS_SUCCESS) << "a new queue";
  EXPECT_EQ(status(36), HSA_STATUS_SUCCESS) << "a new device";
  EXPECT_EQ(error_of_exceptions(uint64_t{1} << 48).what, "the device was removed");
  EXPECT_EQ(error_of_exceptions(0).status, HSA_STATUS_SUCCESS);
}

TEST(TrapData, HasEntryForEachDoorbell) {
  EXPECT_EQ(sizeof(TrapData), 8192u);
  EXPECT_EQ(trap_doorbell_index(0), 0u);
  EXPECT_EQ(trap_doorbell_index(0x2008), 1u);  // in any slice
  EXPECT_EQ(trap_doorbell_index(0x1ff8), 1023u);
}

}  // namespace
}  // namespace rigel::gfx
