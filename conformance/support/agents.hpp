// The agents of the machine, and tests that run once for each.
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

/// An agent as a test parameter: handles need not survive hsa_shut_down, its place in the enumeration does.
struct AgentParam {
  size_t index;
  std::string name;  // "Cpu0", "Gpu1"

  friend void PrintTo(const AgentParam& param, std::ostream* out) { *out << param.name; }
};

/// All agents; needs no session. Empty when the runtime does not start.
std::vector<AgentParam> list_agents();

inline std::string name_of_agent(const testing::TestParamInfo<AgentParam>& info) {
  return info.param.name;
}

/// The handles of all agents, within a session.
std::vector<hsa_agent_t> all_agents();

/// An attribute; the test fails, and the value is zero, if the query does.
template <class T>
T agent_info(hsa_agent_t agent, int attribute) {
  T value{};
  EXPECT_HSA(hsa_agent_get_info(agent, static_cast<hsa_agent_info_t>(attribute), &value));
  return value;
}

bool dispatches_kernels(hsa_agent_t agent);

/// A fixture with the runtime running.
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

/// A fixture for each agent that takes kernel dispatches; skipped for others.
class DispatchingAgentTest : public AgentTest {
 protected:
  void SetUp() override;
};

}  // namespace conformance

#define INSTANTIATE_FOR_AGENTS(Suite)                                                \
  GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Suite);                              \
  INSTANTIATE_TEST_SUITE_P(, Suite, testing::ValuesIn(::conformance::list_agents()), \
                           ::conformance::name_of_agent)
