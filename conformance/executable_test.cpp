// Code object readers, executables, symbols and the loader extension, with the tests' code object.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/kernels.hpp"
#include "support/agents.hpp"
#include "support/kernels.hpp"
#include "support/memory.hpp"
#include "support/queues.hpp"

#include <hsa/hsa_ven_amd_loader.h>

namespace conformance {
namespace {

class Executable : public DispatchingAgentTest {
 protected:
  void SetUp() override {
    DispatchingAgentTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    std::string reason;
    code_ = find_code_object(agent(), reason);
    if (code_.empty()) GTEST_SKIP() << reason;
    profile_ = agent_info<hsa_profile_t>(agent(), HSA_AGENT_INFO_PROFILE);
  }

  hsa_executable_t make() const {
    hsa_executable_t executable{};
    EXPECT_HSA(
        hsa_executable_create_alt(profile_, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable));
    return executable;
  }
  hsa_code_object_reader_t read() const {
    hsa_code_object_reader_t reader{};
    EXPECT_HSA(hsa_code_object_reader_create_from_memory(code_.data(), code_.size(), &reader));
    return reader;
  }

  std::vector<char> code_;
  hsa_profile_t profile_{};
};

TEST_P(Executable, FreezesOnce) {
  const hsa_executable_t executable = make();
  const hsa_code_object_reader_t reader = read();
  hsa_executable_state_t state = HSA_EXECUTABLE_STATE_FROZEN;
  EXPECT_HSA(hsa_executable_get_info(executable, HSA_EXECUTABLE_INFO_STATE, &state));
  EXPECT_EQ(state, HSA_EXECUTABLE_STATE_UNFROZEN);
  EXPECT_HSA(hsa_executable_load_agent_code_object(executable, agent(), reader, nullptr, nullptr));
  EXPECT_HSA(hsa_executable_freeze(executable, nullptr));
  EXPECT_HSA(hsa_executable_get_info(executable, HSA_EXECUTABLE_INFO_STATE, &state));
  EXPECT_EQ(state, HSA_EXECUTABLE_STATE_FROZEN);
  EXPECT_STATUS(HSA_STATUS_ERROR_FROZEN_EXECUTABLE, hsa_executable_freeze(executable, nullptr));
  EXPECT_STATUS(HSA_STATUS_ERROR_FROZEN_EXECUTABLE,
                hsa_executable_load_agent_code_object(executable, agent(), reader, nullptr, nullptr));
  uint32_t problems = 7;
  EXPECT_HSA(hsa_executable_validate(executable, &problems));
  EXPECT_EQ(problems, 0u);
  EXPECT_HSA(hsa_executable_destroy(executable));
  EXPECT_HSA(hsa_code_object_reader_destroy(reader));
}

// rocprofiler queries names and addresses of kernels just before the executable is frozen.
TEST_P(Executable, ReportsKernelAddressesBeforeFreeze) {
  const hsa_executable_t executable = make();
  const hsa_code_object_reader_t reader = read();
  ASSERT_HSA(hsa_executable_load_agent_code_object(executable, agent(), reader, nullptr, nullptr));
  const hsa_agent_t own = agent();
  hsa_executable_symbol_t symbol{};
  ASSERT_HSA(hsa_executable_get_symbol_by_name(executable, "copy.kd", &own, &symbol));
  uint64_t before = 0, after = 0;
  EXPECT_HSA(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &before));
  EXPECT_HSA(hsa_executable_freeze(executable, nullptr));
  EXPECT_HSA(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &after));
  EXPECT_NE(before, 0u);
  EXPECT_EQ(before, after);
  EXPECT_HSA(hsa_executable_destroy(executable));
  EXPECT_HSA(hsa_code_object_reader_destroy(reader));
}

TEST_P(Executable, ReportsCreationAttributes) {
  const hsa_executable_t executable = make();
  hsa_profile_t profile{};
  hsa_default_float_rounding_mode_t rounding = HSA_DEFAULT_FLOAT_ROUNDING_MODE_ZERO;
  EXPECT_HSA(hsa_executable_get_info(executable, HSA_EXECUTABLE_INFO_PROFILE, &profile));
  EXPECT_EQ(profile, profile_);
  EXPECT_HSA(hsa_executable_get_info(executable, HSA_EXECUTABLE_INFO_DEFAULT_FLOAT_ROUNDING_MODE, &rounding));
  EXPECT_EQ(rounding, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT);
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_executable_get_info(executable, static_cast<hsa_executable_info_t>(77), &profile));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_executable_get_info(executable, HSA_EXECUTABLE_INFO_PROFILE, nullptr));
  EXPECT_HSA(hsa_executable_destroy(executable));
}

TEST_P(Executable, ReportsKernelProperties) {
  KernelSet kernels;
  kernels.load(agent(), code_);
  ASSERT_FALSE(HasFatalFailure());
  const Kernel copy = kernels.kernel("copy");
  EXPECT_NE(copy.object, 0u);
  EXPECT_GE(copy.kernarg_size, sizeof(CopyArgs));
  EXPECT_GE(copy.kernarg_alignment, 16u);
  EXPECT_EQ(copy.group_size, 0u);
  const Kernel reverse = kernels.kernel("reverse");
  EXPECT_GE(reverse.group_size, kReverseGroup * 4);
  EXPECT_NE(reverse.object, copy.object);
}

TEST_P(Executable, ReportsKernargAlignment) {
  if (agent_info<hsa_device_type_t>(agent(), HSA_AGENT_INFO_DEVICE) != HSA_DEVICE_TYPE_GPU)
    GTEST_SKIP() << "host kernels get a copy of their arguments";
  KernelSet kernels;
  kernels.load(agent(), code_);
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_EQ(kernels.kernel("aligned").kernarg_alignment, alignof(AlignedArgs));
}

TEST_P(Executable, ReportsSymbolNamesKindsAndAgents) {
  KernelSet kernels;
  kernels.load(agent(), code_);
  ASSERT_FALSE(HasFatalFailure());
  hsa_executable_symbol_t symbol{};
  const hsa_agent_t own = agent();
  ASSERT_HSA(hsa_executable_get_symbol_by_name(kernels.executable(), "copy.kd", &own, &symbol));
  hsa_symbol_kind_t kind{};
  EXPECT_HSA(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &kind));
  EXPECT_EQ(kind, HSA_SYMBOL_KIND_KERNEL);
  uint32_t length = 0;
  ASSERT_HSA(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH, &length));
  std::string name(length + 1, '#');
  ASSERT_HSA(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME, name.data()));
  EXPECT_EQ(name, "copy.kd#") << "exactly the name's bytes are written";
  hsa_agent_t owner{};
  EXPECT_HSA(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_AGENT, &owner));
  EXPECT_EQ(owner.handle, agent().handle);
  bool defined = false;
  EXPECT_HSA(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_IS_DEFINITION, &defined));
  EXPECT_TRUE(defined);
  uint64_t value[8];
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_executable_symbol_get_info(symbol, static_cast<hsa_executable_symbol_info_t>(99), value));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, nullptr));
}

TEST_P(Executable, IteratesOverAllSymbols) {
  KernelSet kernels;
  kernels.load(agent(), code_);
  ASSERT_FALSE(HasFatalFailure());
  std::vector<std::string> names;
  ASSERT_HSA(hsa_executable_iterate_agent_symbols(
      kernels.executable(), agent(),
      [](hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t symbol, void* data) {
        uint32_t length = 0;
        hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH, &length);
        std::string name(length, '\0');
        hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME, name.data());
        static_cast<std::vector<std::string>*>(data)->push_back(name);
        return HSA_STATUS_SUCCESS;
      },
      &names));
  for (const char* name :
       {"copy.kd", "identify.kd", "reverse.kd", "count.kd", "scale.kd", "empty.kd", "factor"}) {
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
  }
  EXPECT_STATUS(HSA_STATUS_INFO_BREAK, hsa_executable_iterate_agent_symbols(
                                           kernels.executable(), agent(),
                                           [](hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t, void*) {
                                             return HSA_STATUS_INFO_BREAK;
                                           },
                                           nullptr));
}

TEST_P(Executable, RejectsUnknownSymbols) {
  KernelSet kernels;
  kernels.load(agent(), code_);
  ASSERT_FALSE(HasFatalFailure());
  const hsa_agent_t own = agent();
  hsa_executable_symbol_t symbol{};
  for (const char* name : {"", "copy.kd2", "nothing.kd"}) {
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_SYMBOL_NAME,
                  hsa_executable_get_symbol_by_name(kernels.executable(), name, &own, &symbol))
        << name;
  }
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_executable_get_symbol_by_name(kernels.executable(), nullptr, &own, &symbol));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_executable_get_symbol_by_name(kernels.executable(), "copy.kd", &own, nullptr));
}

TEST_P(Executable, ReadsCodeObjectsFromFiles) {
  const int file = memfd_create("code object", MFD_CLOEXEC);
  ASSERT_GE(file, 0);
  ASSERT_EQ(write(file, code_.data(), code_.size()), static_cast<ssize_t>(code_.size()));
  hsa_code_object_reader_t reader{};
  ASSERT_HSA(hsa_code_object_reader_create_from_file(file, &reader));
  const hsa_executable_t executable = make();
  EXPECT_HSA(hsa_executable_load_agent_code_object(executable, agent(), reader, nullptr, nullptr));
  EXPECT_HSA(hsa_executable_freeze(executable, nullptr));
  EXPECT_HSA(hsa_executable_destroy(executable));
  EXPECT_HSA(hsa_code_object_reader_destroy(reader));
  close(file);
}

TEST_P(Executable, RejectsInvalidCode) {
  const hsa_executable_t executable = make();
  const char nonsense[] =
      "this is not the code that you are looking for, but it is long enough for an ELF header";
  hsa_code_object_reader_t reader{};
  ASSERT_HSA(hsa_code_object_reader_create_from_memory(nonsense, sizeof nonsense, &reader));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_CODE_OBJECT,
                hsa_executable_load_agent_code_object(executable, agent(), reader, nullptr, nullptr));
  EXPECT_HSA(hsa_code_object_reader_destroy(reader));
  EXPECT_HSA(hsa_executable_destroy(executable));
}

// Suppresses the log of thousands of rejected code objects.
class SilentErrors {
 public:
  SilentErrors() : stderr_copy_(dup(STDERR_FILENO)) {
    const int null_device = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(null_device, STDERR_FILENO);
    close(null_device);
  }
  ~SilentErrors() {
    dup2(stderr_copy_, STDERR_FILENO);
    close(stderr_copy_);
  }
  SilentErrors(const SilentErrors&) = delete;
  SilentErrors& operator=(const SilentErrors&) = delete;

 private:
  const int stderr_copy_;
};

TEST_P(Executable, RejectsCodeTruncatedAtAnyByte) {
  const SilentErrors silence;
  const hsa_executable_t executable = make();
  size_t accepted = 0;
  size_t first_size = 0;
  for (size_t size = 1; size < code_.size(); ++size) {
    const std::vector<char> truncated(code_.begin(), code_.begin() + static_cast<ptrdiff_t>(size));
    hsa_code_object_reader_t reader{};
    ASSERT_HSA(hsa_code_object_reader_create_from_memory(truncated.data(), truncated.size(), &reader));
    if (hsa_executable_load_agent_code_object(executable, agent(), reader, nullptr, nullptr) ==
            HSA_STATUS_SUCCESS &&
        accepted++ == 0) {
      first_size = size;
    }
    ASSERT_HSA(hsa_code_object_reader_destroy(reader));
  }
  EXPECT_EQ(accepted, 0u) << "the first that is cut to " << first_size << " of " << code_.size();
  EXPECT_HSA(hsa_executable_destroy(executable));
}

TEST_P(Executable, RejectsInvalidHandles) {
  const hsa_executable_t executable = make();
  const hsa_code_object_reader_t reader = read();
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_AGENT,
                hsa_executable_load_agent_code_object(executable, {1}, reader, nullptr, nullptr));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER,
                hsa_executable_load_agent_code_object(executable, agent(), {0}, nullptr, nullptr));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_EXECUTABLE,
                hsa_executable_load_agent_code_object({0}, agent(), reader, nullptr, nullptr));
  EXPECT_HSA(hsa_executable_destroy(executable));
  EXPECT_HSA(hsa_code_object_reader_destroy(reader));
}

TEST_P(Executable, RejectsSecondVariableOfSameName) {
  const hsa_executable_t executable = make();
  uint32_t variable = 0;
  EXPECT_HSA(hsa_executable_agent_global_variable_define(executable, agent(), "outside", &variable));
  EXPECT_STATUS(HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED,
                hsa_executable_agent_global_variable_define(executable, agent(), "outside", &variable));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_executable_agent_global_variable_define(executable, agent(), nullptr, &variable));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_AGENT,
                hsa_executable_agent_global_variable_define(executable, {1}, "other", &variable));
  EXPECT_HSA(hsa_executable_destroy(executable));
}

TEST_P(Executable, LoaderExtensionFindsLoadedCode) {
  hsa_ven_amd_loader_1_01_pfn_t loader{};
  ASSERT_HSA(hsa_system_get_major_extension_table(HSA_EXTENSION_AMD_LOADER, 1, sizeof loader, &loader));
  KernelSet kernels;
  kernels.load(agent(), code_);
  ASSERT_FALSE(HasFatalFailure());
  const Kernel copy = kernels.kernel("copy");
  const void* const descriptor = reinterpret_cast<const void*>(copy.object);
  const void* host = nullptr;
  EXPECT_HSA(loader.hsa_ven_amd_loader_query_host_address(descriptor, &host));
  EXPECT_NE(host, nullptr);
  if (agent_info<hsa_device_type_t>(agent(), HSA_AGENT_INFO_DEVICE) == HSA_DEVICE_TYPE_GPU) {
    EXPECT_NE(host, descriptor)
        << "the host writes no code into a device's memory, even where it reaches that";
  }
  hsa_executable_t found{};
  EXPECT_HSA(loader.hsa_ven_amd_loader_query_executable(descriptor, &found));
  EXPECT_EQ(found.handle, kernels.executable().handle);
  size_t segments = 0;
  EXPECT_HSA(loader.hsa_ven_amd_loader_query_segment_descriptors(nullptr, &segments));
  EXPECT_GE(segments, 1u);
  std::vector<hsa_loaded_code_object_t> objects;
  EXPECT_HSA(loader.hsa_ven_amd_loader_executable_iterate_loaded_code_objects(
      kernels.executable(),
      [](hsa_executable_t, hsa_loaded_code_object_t object, void* data) {
        static_cast<std::vector<hsa_loaded_code_object_t>*>(data)->push_back(object);
        return HSA_STATUS_SUCCESS;
      },
      &objects));
  ASSERT_EQ(objects.size(), 1u);
  hsa_agent_t owner{};
  EXPECT_HSA(loader.hsa_ven_amd_loader_loaded_code_object_get_info(
      objects[0], HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_AGENT, &owner));
  EXPECT_EQ(owner.handle, agent().handle);
  int local = 0;
  EXPECT_NE(loader.hsa_ven_amd_loader_query_executable(&local, &found), HSA_STATUS_SUCCESS);
}

INSTANTIATE_FOR_AGENTS(Executable);

class LoaderExtension : public HsaTest {};

TEST_F(LoaderExtension, IsSupportedAndFillsTable) {
  bool supported = false;
  uint16_t minor = 0;
  ASSERT_HSA(hsa_system_major_extension_supported(HSA_EXTENSION_AMD_LOADER, 1, &minor, &supported));
  ASSERT_TRUE(supported);
  hsa_ven_amd_loader_1_01_pfn_t table{};
  ASSERT_HSA(hsa_system_get_major_extension_table(HSA_EXTENSION_AMD_LOADER, 1, sizeof table, &table));
  EXPECT_NE(table.hsa_ven_amd_loader_query_host_address, nullptr);
  EXPECT_NE(table.hsa_ven_amd_loader_query_segment_descriptors, nullptr);
  EXPECT_NE(table.hsa_ven_amd_loader_query_executable, nullptr);
  EXPECT_NE(table.hsa_ven_amd_loader_executable_iterate_loaded_code_objects, nullptr);
  EXPECT_NE(table.hsa_ven_amd_loader_loaded_code_object_get_info, nullptr);
}

TEST_F(LoaderExtension, FillsTableUpToCallersSize) {
  struct {
    hsa_ven_amd_loader_1_00_pfn_t table;
    void* guard;
  } buffer{};
  ASSERT_HSA(
      hsa_system_get_major_extension_table(HSA_EXTENSION_AMD_LOADER, 1, sizeof buffer.table, &buffer.table));
  EXPECT_NE(buffer.table.hsa_ven_amd_loader_query_executable, nullptr);
  EXPECT_EQ(buffer.guard, nullptr);
}

class ExecutableArguments : public HsaTest {};

TEST_F(ExecutableArguments, InvalidHandlesAreRejected) {
  uint64_t value[4];
  int local = 0;
  for (const uint64_t handle : {uint64_t{0}, uint64_t{1}, UINT64_MAX, reinterpret_cast<uint64_t>(&local)}) {
    const hsa_executable_t executable{handle};
    hsa_executable_symbol_t symbol{};
    uint32_t result = 0;
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_EXECUTABLE, hsa_executable_destroy(executable));
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_EXECUTABLE, hsa_executable_freeze(executable, nullptr));
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_EXECUTABLE,
                  hsa_executable_get_info(executable, HSA_EXECUTABLE_INFO_STATE, value));
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_EXECUTABLE, hsa_executable_validate(executable, &result));
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_EXECUTABLE,
                  hsa_executable_get_symbol_by_name(executable, "x", nullptr, &symbol));
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL,
                  hsa_executable_symbol_get_info({handle}, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, value));
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER, hsa_code_object_reader_destroy({handle}));
  }
}

TEST_F(ExecutableArguments, CreationRejectsInvalidValues) {
  hsa_executable_t executable{};
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_executable_create_alt(static_cast<hsa_profile_t>(7),
                                          HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_executable_create_alt(HSA_PROFILE_FULL, static_cast<hsa_default_float_rounding_mode_t>(7),
                                          nullptr, &executable));
  EXPECT_STATUS(
      HSA_STATUS_ERROR_INVALID_ARGUMENT,
      hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, nullptr));
  hsa_code_object_reader_t reader{};
  char byte = 0;
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_code_object_reader_create_from_memory(nullptr, 1, &reader));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_code_object_reader_create_from_memory(&byte, 0, &reader));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_code_object_reader_create_from_memory(&byte, 1, nullptr));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_FILE, hsa_code_object_reader_create_from_file(-1, &reader));
}

TEST_F(ExecutableArguments, InvalidLegacyCodeObjectsAreRejected) {
  hsa_code_object_t code{};
  char nonsense[64] = "nonsense";
  uint64_t value[8];
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_code_object_deserialize(nullptr, 1, nullptr, &code));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_code_object_deserialize(nonsense, 0, nullptr, &code));
  // Invalid bytes are rejected here or, by ROCr, by the first query.
  if (hsa_code_object_deserialize(nonsense, sizeof nonsense, nullptr, &code) == HSA_STATUS_SUCCESS) {
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_CODE_OBJECT,
                  hsa_code_object_get_info(code, HSA_CODE_OBJECT_INFO_TYPE, value));
    EXPECT_HSA(hsa_code_object_destroy(code));
  }
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_CODE_OBJECT, hsa_code_object_destroy({0}));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_CODE_OBJECT,
                hsa_code_object_get_info({0}, HSA_CODE_OBJECT_INFO_TYPE, value));
}

}  // namespace
}  // namespace conformance
