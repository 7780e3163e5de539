// Attributes of hsa_system_get_info, status strings, and extensions.
#include <chrono>
#include <cstring>
#include <set>
#include <string>
#include <thread>

#include "support/agents.hpp"
#include "support/queries.hpp"

#include <hsa/hsa_ven_amd_loader.h>

namespace conformance {
namespace {

class System : public HsaTest {
 protected:
  static auto query() {
    return Query([](int attribute, void* value) {
      return hsa_system_get_info(static_cast<hsa_system_info_t>(attribute), value);
    });
  }
};

TEST_F(System, ReportsVersion1Point1OrLater) {
  EXPECT_EQ(GET(query(), uint16_t, HSA_SYSTEM_INFO_VERSION_MAJOR), 1);
  EXPECT_GE(GET(query(), uint16_t, HSA_SYSTEM_INFO_VERSION_MINOR), 1);
}

TEST_F(System, TimestampAdvancesAtReportedFrequency) {
  const auto frequency = GET(query(), uint64_t, HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY);
  EXPECT_GE(frequency, 1'000'000u);
  EXPECT_LE(frequency, 1'000'000'000u) << "the manual allows 1 to 400 MHz, ROCr reports 1 GHz";
  const auto before = GET(query(), uint64_t, HSA_SYSTEM_INFO_TIMESTAMP);
  const auto start = std::chrono::steady_clock::now();
  // Both clocks measure this time.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const std::chrono::duration<double> slept = std::chrono::steady_clock::now() - start;
  const auto after = GET(query(), uint64_t, HSA_SYSTEM_INFO_TIMESTAMP);
  EXPECT_NEAR(static_cast<double>(after - before) / static_cast<double>(frequency), slept.count(),
              slept.count() / 2 + 0.1);
}

TEST_F(System, TimestampIsMonotonic) {
  uint64_t last = 0;
  for (int i = 0; i < 1000; ++i) {
    uint64_t now = 0;
    ASSERT_HSA(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &now));
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST_F(System, ReportsOtherStandardAttributes) {
  EXPECT_GT(GET(query(), uint64_t, HSA_SYSTEM_INFO_SIGNAL_MAX_WAIT), 0u);
  EXPECT_EQ(GET(query(), hsa_endianness_t, HSA_SYSTEM_INFO_ENDIANNESS), HSA_ENDIANNESS_LITTLE);
  EXPECT_EQ(GET(query(), hsa_machine_model_t, HSA_SYSTEM_INFO_MACHINE_MODEL), HSA_MACHINE_MODEL_LARGE);
  struct Mask {
    uint8_t bytes[128];
  };
  GET(query(), Mask, HSA_SYSTEM_INFO_EXTENSIONS);
}

TEST_F(System, ReportsAmdAttributes) {
  uint16_t major = 0;
  if (hsa_system_get_info(static_cast<hsa_system_info_t>(HSA_AMD_SYSTEM_INFO_EXT_VERSION_MAJOR), &major) !=
      HSA_STATUS_SUCCESS) {
    GTEST_SKIP() << "this runtime is older than AMD's system attributes";
  }
  EXPECT_EQ(GET(query(), uint16_t, HSA_AMD_SYSTEM_INFO_EXT_VERSION_MAJOR), 1);
  GET(query(), uint16_t, HSA_AMD_SYSTEM_INFO_EXT_VERSION_MINOR);
  const auto build = GET(query(), const char*, HSA_AMD_SYSTEM_INFO_BUILD_VERSION);
  ASSERT_NE(build, nullptr);
  EXPECT_GT(std::strlen(build), 0u);
  GET(query(), bool, HSA_AMD_SYSTEM_INFO_SVM_SUPPORTED);
  GET(query(), bool, HSA_AMD_SYSTEM_INFO_SVM_ACCESSIBLE_BY_DEFAULT);
  GET(query(), bool, HSA_AMD_SYSTEM_INFO_MWAITX_ENABLED);
  GET(query(), bool, HSA_AMD_SYSTEM_INFO_DMABUF_SUPPORTED);
  GET(query(), bool, HSA_AMD_SYSTEM_INFO_VIRTUAL_MEM_API_SUPPORTED);
  GET(query(), bool, HSA_AMD_SYSTEM_INFO_XNACK_ENABLED);
}

TEST_F(System, RejectsUnknownAttribute) {
  uint64_t value[32];
  for (const int attribute : {9, 0x1ff, 0x3ff, 0x7fffffff, -1}) {
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                  hsa_system_get_info(static_cast<hsa_system_info_t>(attribute), value))
        << attribute;
  }
}

TEST_F(System, StatusStringsAreDistinct) {
  std::set<std::string> texts;
  const int statuses[] = {HSA_STATUS_SUCCESS,
                          HSA_STATUS_INFO_BREAK,
                          HSA_STATUS_ERROR,
                          HSA_STATUS_ERROR_INVALID_ARGUMENT,
                          HSA_STATUS_ERROR_INVALID_QUEUE_CREATION,
                          HSA_STATUS_ERROR_INVALID_ALLOCATION,
                          HSA_STATUS_ERROR_INVALID_AGENT,
                          HSA_STATUS_ERROR_INVALID_REGION,
                          HSA_STATUS_ERROR_INVALID_SIGNAL,
                          HSA_STATUS_ERROR_INVALID_QUEUE,
                          HSA_STATUS_ERROR_OUT_OF_RESOURCES,
                          HSA_STATUS_ERROR_INVALID_PACKET_FORMAT,
                          HSA_STATUS_ERROR_RESOURCE_FREE,
                          HSA_STATUS_ERROR_NOT_INITIALIZED,
                          HSA_STATUS_ERROR_REFCOUNT_OVERFLOW,
                          HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS,
                          HSA_STATUS_ERROR_INVALID_INDEX,
                          HSA_STATUS_ERROR_INVALID_ISA,
                          HSA_STATUS_ERROR_INVALID_ISA_NAME,
                          HSA_STATUS_ERROR_INVALID_CODE_OBJECT,
                          HSA_STATUS_ERROR_INVALID_EXECUTABLE,
                          HSA_STATUS_ERROR_FROZEN_EXECUTABLE,
                          HSA_STATUS_ERROR_INVALID_SYMBOL_NAME,
                          HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED,
                          HSA_STATUS_ERROR_VARIABLE_UNDEFINED,
                          HSA_STATUS_ERROR_EXCEPTION,
                          HSA_STATUS_ERROR_INVALID_CODE_SYMBOL,
                          HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL,
                          HSA_STATUS_ERROR_INVALID_FILE,
                          HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER,
                          HSA_STATUS_ERROR_INVALID_CACHE,
                          HSA_STATUS_ERROR_INVALID_WAVEFRONT,
                          HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP,
                          HSA_STATUS_ERROR_INVALID_RUNTIME_STATE,
                          HSA_STATUS_ERROR_FATAL};
  for (const int status : statuses) {
    const char* text = nullptr;
    ASSERT_HSA(hsa_status_string(static_cast<hsa_status_t>(status), &text)) << status;
    ASSERT_NE(text, nullptr);
    texts.insert(text);
  }
  EXPECT_EQ(texts.size(), std::size(statuses));
}

TEST_F(System, StatusStringRejectsUnknownStatus) {
  const char* text = nullptr;
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_status_string(static_cast<hsa_status_t>(0x7777), &text));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_status_string(HSA_STATUS_SUCCESS, nullptr));
}

// --- Extensions ------------------------------------------------------------------------------------------

class Extensions : public HsaTest {};

TEST_F(Extensions, HaveNames) {
  const char* name = nullptr;
  EXPECT_HSA(hsa_extension_get_name(HSA_EXTENSION_IMAGES, &name));
  EXPECT_STREQ(name, "HSA_EXTENSION_IMAGES");
  EXPECT_HSA(hsa_extension_get_name(HSA_EXTENSION_AMD_LOADER, &name));
  EXPECT_STREQ(name, "HSA_EXTENSION_AMD_LOADER");
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_extension_get_name(0x1ff, &name));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_extension_get_name(HSA_EXTENSION_IMAGES, nullptr));
}

TEST_F(Extensions, UnknownMajorVersionsAreNotSupported) {
  bool supported = true;
  uint16_t minor = 77;
  EXPECT_HSA(hsa_system_major_extension_supported(HSA_EXTENSION_AMD_LOADER, 9, &minor, &supported));
  EXPECT_FALSE(supported);
  EXPECT_EQ(minor, 77) << "the minor version is left alone";
  hsa_ven_amd_loader_1_01_pfn_t table{};
  EXPECT_NE(hsa_system_get_major_extension_table(HSA_EXTENSION_AMD_LOADER, 9, sizeof table, &table),
            HSA_STATUS_SUCCESS);
}

TEST_F(Extensions, NullResultsAreRejected) {
  bool supported = false;
  uint16_t minor = 0;
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_system_major_extension_supported(HSA_EXTENSION_AMD_LOADER, 1, &minor, nullptr));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_system_major_extension_supported(HSA_EXTENSION_AMD_LOADER, 1, nullptr, &supported));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_system_get_major_extension_table(HSA_EXTENSION_AMD_LOADER, 1, 8, nullptr));
}

}  // namespace
}  // namespace conformance
