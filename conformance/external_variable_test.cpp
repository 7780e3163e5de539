// Variables that a code object uses and the program defines: for one agent or for all, in memory of the agent
// or of the host, and read-only.
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "kernels/kernels.hpp"
#include "support/dispatch_test.hpp"

namespace conformance {
namespace {

constexpr uint32_t kCount = 32;  // work-items of one wave
constexpr uint32_t kTable[kOutsideTable] = {100, 200, 300, 400};

/// Returns the CPU agent's code object `variant`. If there is none, returns nothing and sets `reason`.
std::vector<char> find_host_code_object(std::string& reason, const char* variant) {
  reason = "there is no CPU agent";
  for (const hsa_agent_t agent : all_agents()) {
    if (agent_info<hsa_device_type_t>(agent, HSA_AGENT_INFO_DEVICE) != HSA_DEVICE_TYPE_CPU) continue;
    return find_code_object(agent, reason, variant);
  }
  return {};
}

/// Loads `code` for the program. The caller destroys the reader after the executable.
hsa_status_t load_for_program(hsa_executable_t executable, const std::vector<char>& code,
                              hsa_code_object_reader_t& reader) {
  EXPECT_HSA(hsa_code_object_reader_create_from_memory(code.data(), code.size(), &reader));
  return hsa_executable_load_program_code_object(executable, reader, nullptr, nullptr);
}

uint32_t* address_of(hsa_executable_symbol_t variable) {
  uint64_t address = 0;
  EXPECT_HSA(hsa_executable_symbol_get_info(variable, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS, &address));
  return reinterpret_cast<uint32_t*>(address);
}

class ExternalVariable : public DispatchTest {
 protected:
  void SetUp() override {
    DispatchTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    std::string reason;
    code_ = find_code_object(agent(), reason, "_external");
    if (code_.empty()) GTEST_SKIP() << reason;
  }

  /// Local memory of the agent that contains `words`.
  template <size_t kWords>
  uint32_t* local(const uint32_t (&words)[kWords]) {
    memory_.push_back(allocate(local_pool(agent()), sizeof words, agent()));
    EXPECT_HSA(hsa_memory_copy(memory_.back().get(), words, sizeof words));
    return static_cast<uint32_t*>(memory_.back().get());
  }
  /// Memory shared by host and agent that contains `words`.
  template <size_t kWords>
  uint32_t* host(const uint32_t (&words)[kWords]) {
    auto* const memory = shared<uint32_t>(kWords);
    std::memcpy(memory, words, sizeof words);
    return memory;
  }

  static uint32_t read(const uint32_t* word) {
    uint32_t value = 0;
    EXPECT_HSA(hsa_memory_copy(&value, word, sizeof value));
    return value;
  }

  /// Loads the kernel after `define` has defined its variables, and runs it twice. The kernel reads the
  /// factor (initially `first`) and the table, then increments the factor. `define` may set `factor`.
  void expect_used(const std::function<void(hsa_executable_t)>& define, uint32_t* const& factor,
                   uint32_t first) {
    KernelSet kernels;
    kernels.load(agent(), code_, define);
    if (HasFatalFailure()) return;
    const Kernel kernel = kernels.kernel("scale_outside");
    auto* const in = shared<uint32_t>(kCount);
    auto* const out = shared<uint32_t>(kCount);
    for (uint32_t i = 0; i < kCount; ++i) in[i] = i;
    for (uint32_t round = 0; round < 2; ++round) {
      ASSERT_TRUE(run(dispatch_packet(kernel, kernarg(ScaleArgs{in, out, kCount, 0}), kCount, kCount)));
      for (uint32_t i = 0; i < kCount; ++i)
        ASSERT_EQ(out[i], i * (first + round) + kTable[i % kOutsideTable]);
      EXPECT_EQ(read(factor), first + round + 1);
    }
  }

  hsa_status_t load() {
    hsa_code_object_reader_t reader{};
    hsa_executable_t executable{};
    EXPECT_HSA(hsa_code_object_reader_create_from_memory(code_.data(), code_.size(), &reader));
    EXPECT_HSA(hsa_executable_create_alt(agent_info<hsa_profile_t>(agent(), HSA_AGENT_INFO_PROFILE),
                                         HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable));
    const hsa_status_t status =
        hsa_executable_load_agent_code_object(executable, agent(), reader, nullptr, nullptr);
    EXPECT_HSA(hsa_executable_destroy(executable));
    EXPECT_HSA(hsa_code_object_reader_destroy(reader));
    return status;
  }

  std::vector<char> code_;
};

TEST_P(ExternalVariable, AgentVariableUsesAgentMemory) {
  uint32_t* const factor = local({7});
  uint32_t* const table = local(kTable);
  expect_used(
      [&](hsa_executable_t executable) {
        EXPECT_HSA(
            hsa_executable_agent_global_variable_define(executable, agent(), "outside_factor", factor));
        EXPECT_HSA(hsa_executable_readonly_variable_define(executable, agent(), "outside_table", table));
      },
      factor, 7);
}

TEST_P(ExternalVariable, ProgramVariableUsesHostMemory) {
  uint32_t* const factor = host({9});
  uint32_t* const table = host(kTable);
  expect_used(
      [&](hsa_executable_t executable) {
        EXPECT_HSA(hsa_executable_global_variable_define(executable, "outside_factor", factor));
        EXPECT_HSA(hsa_executable_readonly_variable_define(executable, agent(), "outside_table", table));
      },
      factor, 9);
}

TEST_P(ExternalVariable, ProgramCodeObjectDefinesVariable) {
  std::string reason;
  const std::vector<char> code = find_host_code_object(reason, "_program");
  if (code.empty()) GTEST_SKIP() << reason;
  uint32_t* const table = host(kTable);
  uint32_t* factor = nullptr;
  hsa_code_object_reader_t reader{};
  expect_used(
      [&](hsa_executable_t executable) {
        EXPECT_HSA(load_for_program(executable, code, reader));
        hsa_executable_symbol_t variable{};
        ASSERT_HSA(hsa_executable_get_symbol_by_name(executable, "outside_factor", nullptr, &variable));
        factor = address_of(variable);
        EXPECT_HSA(hsa_executable_readonly_variable_define(executable, agent(), "outside_table", table));
      },
      factor, kProgramFactor);
  EXPECT_HSA(hsa_code_object_reader_destroy(reader));
}

TEST_P(ExternalVariable, EachExecutableHasSeparateDefinitions) {
  uint32_t* const table = local(kTable);
  for (const uint32_t first : {20u, 30u}) {
    uint32_t* const factor = local({first});
    expect_used(
        [&](hsa_executable_t executable) {
          EXPECT_HSA(
              hsa_executable_agent_global_variable_define(executable, agent(), "outside_factor", factor));
          EXPECT_HSA(
              hsa_executable_agent_global_variable_define(executable, agent(), "outside_table", table));
        },
        factor, first);
  }
}

TEST_P(ExternalVariable, UndefinedVariableIsAnError) {
  EXPECT_STATUS(HSA_STATUS_ERROR_VARIABLE_UNDEFINED, load());
}

INSTANTIATE_FOR_AGENTS(ExternalVariable);

class ProgramCodeObject : public HsaTest {
 protected:
  void SetUp() override {
    HsaTest::SetUp();
    if (IsSkipped()) return;
    std::string reason;
    code_ = find_host_code_object(reason, "_program");
    if (code_.empty()) GTEST_SKIP() << reason;
    ASSERT_HSA(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr,
                                         &executable_));
  }
  void TearDown() override {
    if (executable_.handle != 0) {
      EXPECT_HSA(hsa_executable_destroy(executable_));
    }
    for (const hsa_code_object_reader_t reader : readers_) EXPECT_HSA(hsa_code_object_reader_destroy(reader));
  }

  hsa_status_t load(const std::vector<char>& code) {
    return load_for_program(executable_, code, readers_.emplace_back());
  }

  std::vector<char> code_;
  hsa_executable_t executable_{};
  std::vector<hsa_code_object_reader_t> readers_;
};

TEST_F(ProgramCodeObject, DefinesProgramVariables) {
  ASSERT_HSA(load(code_));
  ASSERT_HSA(hsa_executable_freeze(executable_, nullptr));
  std::vector<hsa_executable_symbol_t> symbols;
  const auto collect = [](hsa_executable_t, hsa_executable_symbol_t symbol, void* data) {
    static_cast<std::vector<hsa_executable_symbol_t>*>(data)->push_back(symbol);
    return HSA_STATUS_SUCCESS;
  };
  ASSERT_HSA(hsa_executable_iterate_program_symbols(executable_, collect, &symbols));
  ASSERT_EQ(symbols.size(), 1u);
  hsa_executable_symbol_t variable{};
  ASSERT_HSA(hsa_executable_get_symbol_by_name(executable_, "outside_factor", nullptr, &variable));
  EXPECT_EQ(variable.handle, symbols[0].handle);
  auto allocation = HSA_VARIABLE_ALLOCATION_AGENT;
  EXPECT_HSA(
      hsa_executable_symbol_get_info(variable, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ALLOCATION, &allocation));
  EXPECT_EQ(allocation, HSA_VARIABLE_ALLOCATION_PROGRAM);
  uint32_t* const factor = address_of(variable);
  ASSERT_NE(factor, nullptr);
  EXPECT_EQ(*factor, kProgramFactor);
  *factor = 10;
  EXPECT_EQ(*factor, 10u);
}

TEST_F(ProgramCodeObject, KernelsAndSecondCodeObjectFail) {
  std::string reason;
  const std::vector<char> kernels = find_host_code_object(reason, "");
  if (!kernels.empty()) {
    EXPECT_STATUS(HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS, load(kernels));
  }
  EXPECT_HSA(load(code_));
  EXPECT_STATUS(HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS, load(code_));
}

}  // namespace
}  // namespace conformance
