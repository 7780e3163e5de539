// Instruction sets and wavefronts.
#include <bit>
#include <string>

#include "support/agents.hpp"
#include "support/queries.hpp"

namespace conformance {
namespace {

std::vector<hsa_isa_t> isas_of(hsa_agent_t agent) {
  std::vector<hsa_isa_t> isas;
  EXPECT_HSA(hsa_agent_iterate_isas(
      agent,
      [](hsa_isa_t isa, void* data) {
        static_cast<std::vector<hsa_isa_t>*>(data)->push_back(isa);
        return HSA_STATUS_SUCCESS;
      },
      &isas));
  return isas;
}

auto query_of(hsa_isa_t isa) {
  return Query([isa](int attribute, void* value) {
    return hsa_isa_get_info_alt(isa, static_cast<hsa_isa_info_t>(attribute), value);
  });
}

std::string name_of(hsa_isa_t isa) {
  uint32_t length = 0;
  EXPECT_HSA(hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME_LENGTH, &length));
  std::string name(length + 1, '\0');
  EXPECT_HSA(hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME, name.data()));
  return name.c_str();
}

class Isa : public AgentTest {
 protected:
  void SetUp() override {
    AgentTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    isas_ = isas_of(agent());
    if (isas_.empty()) {
      if (dispatches_kernels(agent())) FAIL() << "an agent that runs kernels must have an ISA";
      GTEST_SKIP() << "the agent has no ISA";
    }
  }

  std::vector<hsa_isa_t> isas_;
};

TEST_P(Isa, FirstOneMatchesAgentAttribute) {
  EXPECT_EQ(agent_info<hsa_isa_t>(agent(), HSA_AGENT_INFO_ISA).handle, isas_.front().handle);
}

TEST_P(Isa, IsFoundByName) {
  for (const hsa_isa_t isa : isas_) {
    const std::string name = name_of(isa);
    EXPECT_FALSE(name.empty());
    hsa_isa_t found{};
    ASSERT_HSA(hsa_isa_from_name(name.c_str(), &found)) << name;
    EXPECT_EQ(found.handle, isa.handle);
  }
}

TEST_P(Isa, ReportsEveryAttribute) {
  struct Two {
    bool values[2];
  };
  struct Three {
    bool values[3];
  };
  struct Dimensions {
    uint16_t size[3];
  };
  for (const hsa_isa_t isa : isas_) {
    const auto query = query_of(isa);
    EXPECT_TRUE(GET(query, Two, HSA_ISA_INFO_MACHINE_MODELS).values[HSA_MACHINE_MODEL_LARGE]);
    const auto profiles = GET(query, Two, HSA_ISA_INFO_PROFILES);
    EXPECT_TRUE(profiles.values[0] || profiles.values[1]);
    const auto rounding = GET(query, Three, HSA_ISA_INFO_DEFAULT_FLOAT_ROUNDING_MODES);
    EXPECT_TRUE(rounding.values[0] || rounding.values[1] || rounding.values[2]);
    GET(query, Three, HSA_ISA_INFO_BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES);
    GET(query, bool, HSA_ISA_INFO_FAST_F16_OPERATION);
    const auto dimensions = GET(query, Dimensions, HSA_ISA_INFO_WORKGROUP_MAX_DIM);
    const auto group = GET(query, uint32_t, HSA_ISA_INFO_WORKGROUP_MAX_SIZE);
    const auto grid_dim = GET(query, hsa_dim3_t, HSA_ISA_INFO_GRID_MAX_DIM);
    const auto grid = GET(query, uint64_t, HSA_ISA_INFO_GRID_MAX_SIZE);
    EXPECT_GE(group, 256u);
    for (const uint16_t size : dimensions.size) EXPECT_LE(size, group);
    EXPECT_GE(grid_dim.x, dimensions.size[0]);
    EXPECT_GE(grid, grid_dim.x);
    uint64_t value[4];
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, query(10, value));
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, query(99, value));
  }
}

TEST_P(Isa, SupportsFbarriersOfTheManual) {
  for (const hsa_isa_t isa : isas_)
    EXPECT_GE(GET(query_of(isa), uint32_t, HSA_ISA_INFO_FBARRIER_MAX_SIZE), 32u);
}

TEST_P(Isa, LimitsMatchAgent) {
  const auto query = query_of(isas_.front());
  EXPECT_EQ(GET(query, uint32_t, HSA_ISA_INFO_WORKGROUP_MAX_SIZE),
            agent_info<uint32_t>(agent(), HSA_AGENT_INFO_WORKGROUP_MAX_SIZE));
}

TEST_P(Isa, ReportsCallConventions) {
  for (const hsa_isa_t isa : isas_) {
    uint32_t conventions = 0;
    uint32_t size = 0;
    ASSERT_HSA(hsa_isa_get_info(isa, HSA_ISA_INFO_CALL_CONVENTION_COUNT, 0, &conventions));
    EXPECT_GE(conventions, 1u);
    EXPECT_HSA(hsa_isa_get_info(isa, HSA_ISA_INFO_CALL_CONVENTION_INFO_WAVEFRONT_SIZE, 0, &size));
    EXPECT_TRUE(std::has_single_bit(size));
    EXPECT_STATUS(
        HSA_STATUS_ERROR_INVALID_INDEX,
        hsa_isa_get_info(isa, HSA_ISA_INFO_CALL_CONVENTION_INFO_WAVEFRONT_SIZE, conventions, &size));
    // ROCr also checks the index for attributes that ignore it according to the manual.
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_INDEX,
                  hsa_isa_get_info(isa, HSA_ISA_INFO_NAME_LENGTH, conventions, &size));
  }
}

TEST_P(Isa, ListsWavefronts) {
  for (const hsa_isa_t isa : isas_) {
    std::vector<hsa_wavefront_t> wavefronts;
    ASSERT_HSA(hsa_isa_iterate_wavefronts(
        isa,
        [](hsa_wavefront_t wavefront, void* data) {
          static_cast<std::vector<hsa_wavefront_t>*>(data)->push_back(wavefront);
          return HSA_STATUS_SUCCESS;
        },
        &wavefronts));
    ASSERT_FALSE(wavefronts.empty());
    for (const hsa_wavefront_t wavefront : wavefronts) {
      uint32_t size = 0;
      EXPECT_HSA(hsa_wavefront_get_info(wavefront, HSA_WAVEFRONT_INFO_SIZE, &size));
      EXPECT_TRUE(std::has_single_bit(size)) << size;
      EXPECT_LE(size, 256u);
      EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                    hsa_wavefront_get_info(wavefront, static_cast<hsa_wavefront_info_t>(7), &size));
      EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                    hsa_wavefront_get_info(wavefront, HSA_WAVEFRONT_INFO_SIZE, nullptr));
    }
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_isa_iterate_wavefronts(isa, nullptr, nullptr));
  }
}

TEST_P(Isa, IsCompatibleWithItself) {
  bool runs = false;
  EXPECT_HSA(hsa_isa_compatible(isas_.front(), isas_.front(), &runs));
  EXPECT_TRUE(runs);
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_isa_compatible(isas_.front(), isas_.front(), nullptr));
}

TEST_P(Isa, ReportsRoundingAndExceptionPolicies) {
  const hsa_isa_t isa = isas_.front();
  uint16_t mask = 0xffff;
  EXPECT_HSA(hsa_isa_get_exception_policies(isa, HSA_PROFILE_BASE, &mask));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_isa_get_exception_policies(isa, static_cast<hsa_profile_t>(7), &mask));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_isa_get_exception_policies(isa, HSA_PROFILE_BASE, nullptr));
  hsa_round_method_t method{};
  EXPECT_HSA(hsa_isa_get_round_method(isa, HSA_FP_TYPE_32, HSA_FLUSH_MODE_NON_FTZ, &method));
  EXPECT_TRUE(method == HSA_ROUND_METHOD_SINGLE || method == HSA_ROUND_METHOD_DOUBLE);
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_isa_get_round_method(isa, static_cast<hsa_fp_type_t>(8), HSA_FLUSH_MODE_FTZ, &method));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_isa_get_round_method(isa, HSA_FP_TYPE_32, HSA_FLUSH_MODE_FTZ, nullptr));
}

INSTANTIATE_FOR_AGENTS(Isa);

class IsaNames : public HsaTest {};

TEST_F(IsaNames, UnknownNamesAreRejected) {
  hsa_isa_t isa{};
  for (const char* name : {"", "gfx", "amdgcn-amd-amdhsa--gfx", "amdgcn-amd-amdhsa--gfx000", "nonsense"}) {
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ISA_NAME, hsa_isa_from_name(name, &isa)) << name;
  }
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ISA_NAME,
                hsa_isa_from_name(std::string(1 << 20, 'x').c_str(), &isa));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_isa_from_name(nullptr, &isa));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_isa_from_name("x", nullptr));
}

TEST_F(IsaNames, AreKnownWithoutMatchingAgent) {
  for (const char* target : {"gfx803", "gfx900", "gfx900:xnack+", "gfx906:sramecc+:xnack-", "gfx1030"}) {
    const std::string name = std::string("amdgcn-amd-amdhsa--") + target;
    hsa_isa_t isa{};
    ASSERT_HSA(hsa_isa_from_name(name.c_str(), &isa)) << name;
    EXPECT_EQ(name_of(isa), name);
  }
}

TEST_F(IsaNames, InvalidHandlesAreRejected) {
  uint64_t value[32];
  int local = 0;
  bool compatible = false;
  for (const uint64_t handle : {uint64_t{0}, uint64_t{1}, UINT64_MAX, reinterpret_cast<uint64_t>(&local)}) {
    const hsa_isa_t isa{handle};
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ISA, hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME_LENGTH, value));
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ISA, hsa_isa_get_info(isa, HSA_ISA_INFO_NAME_LENGTH, 0, value));
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ISA, hsa_isa_compatible(isa, isa, &compatible));
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_WAVEFRONT,
                  hsa_wavefront_get_info(hsa_wavefront_t{handle}, HSA_WAVEFRONT_INFO_SIZE, value));
  }
}

}  // namespace
}  // namespace conformance
