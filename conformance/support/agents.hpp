// The system's agents, and fixtures of tests that run once for each agent.
#pragma once

#include <gtest/gtest.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <ostream>
#include <string>
#include <vector>

#include "support/session.hpp"
#include "support/status.hpp"

namespace conformance {

/// An agent as a test parameter: its index in the enumeration. Handles may change with hsa_shut_down.
struct AgentParam {
  size_t index;
  std::string name;  // "Cpu0", "Gpu1"

  friend void PrintTo(const AgentParam& param, std::ostream* out) { *out << param.name; }
};

/// Returns all agents. Needs no session. Empty if hsa_init fails.
std::vector<AgentParam> list_agents();

inline std::string name_of_agent(const testing::TestParamInfo<AgentParam>& info) {
  return info.param.name;
}

/// Returns the handles of all agents. Needs a session.
std::vector<hsa_agent_t> all_agents();

/// Returns an attribute. If the query fails, fails the test and returns zero.
template <class T>
T agent_info(hsa_agent_t agent, int attribute) {
  T value{};
  EXPECT_HSA(hsa_agent_get_info(agent, static_cast<hsa_agent_info_t>(attribute), &value));
  return value;
}

bool dispatches_kernels(hsa_agent_t agent);

/// A fixture with an initialized runtime.
class HsaTest : public testing::Test {
 protected:
  void SetUp() override {
    if (session_.status() != HSA_STATUS_SUCCESS) {
      GTEST_SKIP() << "hsa_init returned " << status_name(session_.status()) << ": nothing here to test";
    }
  }

 private:
  Session session_;
};

/// A fixture for each agent.
class AgentTest : public HsaTest, public testing::WithParamInterface<AgentParam> {
 protected:
  void SetUp() override;

  hsa_agent_t agent() const { return agent_; }

 private:
  hsa_agent_t agent_{};
};

/// A fixture for each agent that runs kernel dispatches. Tests are skipped for others.
class DispatchingAgentTest : public AgentTest {
 protected:
  void SetUp() override;
};

}  // namespace conformance

#define INSTANTIATE_FOR_AGENTS(Suite)                                                \
  GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Suite);                              \
  INSTANTIATE_TEST_SUITE_P(, Suite, testing::ValuesIn(::conformance::list_agents()), \
                           ::conformance::name_of_agent)
