// Variables that a code object uses and the program defines: for one agent or for all, in the agent's memory
// or the host's, and read-only.
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "kernels/kernels.hpp"
#include "support/dispatch_test.hpp"

namespace conformance {
namespace {

constexpr uint32_t kCount = 32;  // of one wave
constexpr uint32_t kTable[kOutsideTable] = {100, 200, 300, 400};

class ExternalVariable : public DispatchTest {
 protected:
  void SetUp() override {
    DispatchTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    std::string reason;
    code_ = find_code_object(agent(), reason, "_external");
    if (code_.empty()) GTEST_SKIP() << reason;
  }

  /// Memory of the agent's own with these words.
  template <size_t kWords>
  uint32_t* local(const uint32_t (&words)[kWords]) {
    memory_.push_back(allocate(local_pool(agent()), sizeof words, agent()));
    EXPECT_HSA(hsa_memory_copy(memory_.back().get(), words, sizeof words));
    return static_cast<uint32_t*>(memory_.back().get());
  }
  /// Memory that the host and the agent share.
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

  /// Loads the kernel when `define` has defined its variables, and runs it twice: it reads the factor, which
  /// is `first` in the beginning, reads the table, and changes the factor.
  void expect_used(const std::function<void(hsa_executable_t)>& define, uint32_t* factor, uint32_t first) {
    KernelSet kernels;
    kernels.load(agent(), code_, define);
    if (HasFatalFailure()) return;
    const Kernel kernel = kernels.kernel("scale_outside");
    auto* const in = shared<uint32_t>(kCount);
    auto* const out = shared<uint32_t>(kCount);
    for (uint32_t i = 0; i < kCount; ++i) in[i] = i;
    for (uint32_t turn = 0; turn < 2; ++turn) {
      ASSERT_TRUE(run(dispatch_packet(kernel, kernarg(ScaleArgs{in, out, kCount, 0}), kCount, kCount)));
      for (uint32_t i = 0; i < kCount; ++i) ASSERT_EQ(out[i], i * (first + turn) + kTable[i % kOutsideTable]);
      EXPECT_EQ(read(factor), first + turn + 1);
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

TEST_P(ExternalVariable, OfTheAgentIsInItsOwnMemory) {
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

TEST_P(ExternalVariable, OfTheProgramIsInTheHosts) {
  uint32_t* const factor = host({9});
  uint32_t* const table = host(kTable);
  expect_used(
      [&](hsa_executable_t executable) {
        EXPECT_HSA(hsa_executable_global_variable_define(executable, "outside_factor", factor));
        EXPECT_HSA(hsa_executable_readonly_variable_define(executable, agent(), "outside_table", table));
      },
      factor, 9);
}

TEST_P(ExternalVariable, OfEachExecutableIsItsOwn) {
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

TEST_P(ExternalVariable, ThatNobodyDefinesIsAnError) {
  EXPECT_STATUS(HSA_STATUS_ERROR_VARIABLE_UNDEFINED, load());
}

INSTANTIATE_FOR_AGENTS(ExternalVariable);

}  // namespace
}  // namespace conformance
