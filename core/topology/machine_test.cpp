// Queries of instruction sets.
#include "core/topology/machine.hpp"

#include <gtest/gtest.h>

#include <string>

namespace rigel {
namespace {

constexpr const char* kOfAgent = "amdgcn-amd-amdhsa--gfx906:sramecc+:xnack-";

class IsasOfMachine : public ::testing::Test {
 protected:
  IsasOfMachine() {
    hsabe_caps_t caps{};
    caps.wavefront_size = 64;
    agents_ = machine.intern_isa(kOfAgent, caps)->handle();
  }

  hsa_isa_t isa(const std::string& name) const {
    hsa_isa_t found{};
    EXPECT_EQ(machine.isa_from_name(name.c_str(), &found), HSA_STATUS_SUCCESS) << name;
    return found;
  }
  bool runs_on_agent(const std::string& name) const {
    bool result = false;
    EXPECT_EQ(machine.isa_compatible(isa(name), agents_, &result), HSA_STATUS_SUCCESS);
    return result;
  }
  template <class T>
  T info(const std::string& name, hsa_isa_info_t attribute) const {
    T value{};
    EXPECT_EQ(machine.isa_get_info_alt(isa(name), attribute, &value), HSA_STATUS_SUCCESS);
    return value;
  }

  Machine machine;
  hsa_isa_t agents_{};
};

TEST_F(IsasOfMachine, AreFoundWithAndWithoutAgent) {
  EXPECT_EQ(isa(kOfAgent).handle, agents_.handle);
  for (const std::string target :
       {"gfx906", "gfx906:xnack-", "gfx900:xnack+", "gfx803", "gfx1030", "gfx90a"}) {
    const std::string name = "amdgcn-amd-amdhsa--" + target;
    EXPECT_EQ(isa(name).handle, isa(name).handle) << "it is one object";
    char text[64] = {};
    EXPECT_EQ(machine.isa_get_info_alt(isa(name), HSA_ISA_INFO_NAME, text), HSA_STATUS_SUCCESS);
    EXPECT_EQ(text, name);
  }
  hsa_isa_t none{};
  for (const char* name : {"amdgcn-amd-amdhsa--gfx000", "gfx906", "amdgcn-amd-amdhsa--gfx1030:xnack-"})
    EXPECT_EQ(machine.isa_from_name(name, &none), HSA_STATUS_ERROR_INVALID_ISA_NAME) << name;
}

TEST_F(IsasOfMachine, ReportCompatibilityOfCodeAndAgent) {
  EXPECT_TRUE(runs_on_agent(kOfAgent));
  EXPECT_TRUE(runs_on_agent("amdgcn-amd-amdhsa--gfx906"));
  EXPECT_TRUE(runs_on_agent("amdgcn-amd-amdhsa--gfx906:xnack-"));
  EXPECT_FALSE(runs_on_agent("amdgcn-amd-amdhsa--gfx906:xnack+"));
  EXPECT_FALSE(runs_on_agent("amdgcn-amd-amdhsa--gfx900"));
  EXPECT_TRUE(runs_on_agent("amdgcn-amd-amdhsa--gfx9-generic"));
  EXPECT_FALSE(runs_on_agent("amdgcn-amd-amdhsa--gfx9-generic:xnack+"));
  EXPECT_FALSE(runs_on_agent("amdgcn-amd-amdhsa--gfx9-4-generic"));
}

TEST_F(IsasOfMachine, UseGenerationsValuesWithoutAgent) {
  const auto wavefront_size = [&](const std::string& target) {
    return info<uint32_t>("amdgcn-amd-amdhsa--" + target, HSA_ISA_INFO_CALL_CONVENTION_INFO_WAVEFRONT_SIZE);
  };
  EXPECT_EQ(wavefront_size("gfx90a"), 64u);
  EXPECT_EQ(wavefront_size("gfx9-4-generic"), 64u);
  EXPECT_EQ(wavefront_size("gfx1010"), 32u);
  EXPECT_EQ(wavefront_size("gfx11-generic"), 32u);
  EXPECT_TRUE(info<bool>("amdgcn-amd-amdhsa--gfx803", HSA_ISA_INFO_FAST_F16_OPERATION));
  EXPECT_FALSE(info<bool>("amdgcn-amd-amdhsa--gfx700", HSA_ISA_INFO_FAST_F16_OPERATION));
  EXPECT_EQ(info<uint32_t>("amdgcn-amd-amdhsa--gfx803", HSA_ISA_INFO_WORKGROUP_MAX_SIZE), 1024u);
}

}  // namespace
}  // namespace rigel
