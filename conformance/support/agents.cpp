#include "support/agents.hpp"

#include <utility>

namespace conformance {

std::vector<hsa_agent_t> all_agents() {
  std::vector<hsa_agent_t> agents;
  hsa_iterate_agents(
      [](hsa_agent_t agent, void* data) {
        static_cast<std::vector<hsa_agent_t>*>(data)->push_back(agent);
        return HSA_STATUS_SUCCESS;
      },
      &agents);
  return agents;
}

std::vector<AgentParam> list_agents() {
  std::vector<AgentParam> params;
  const Session session;
  if (session.status() != HSA_STATUS_SUCCESS) return params;
  size_t cpus = 0;
  size_t gpus = 0;
  size_t others = 0;
  for (const hsa_agent_t agent : all_agents()) {
    hsa_device_type_t type{};
    hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
    std::string name;
    switch (type) {
      case HSA_DEVICE_TYPE_CPU:
        name = "Cpu" + std::to_string(cpus++);
        break;
      case HSA_DEVICE_TYPE_GPU:
        name = "Gpu" + std::to_string(gpus++);
        break;
      default:
        name = "Device" + std::to_string(others++);
    }
    params.push_back({params.size(), std::move(name)});
  }
  return params;
}

bool dispatches_kernels(hsa_agent_t agent) {
  return (agent_info<uint32_t>(agent, HSA_AGENT_INFO_FEATURE) & HSA_AGENT_FEATURE_KERNEL_DISPATCH) != 0;
}

void AgentTest::SetUp() {
  HsaTest::SetUp();
  if (IsSkipped()) return;
  const std::vector<hsa_agent_t> agents = all_agents();
  ASSERT_LT(GetParam().index, agents.size()) << "agents have gone since the tests were listed";
  agent_ = agents[GetParam().index];
}

void DispatchingAgentTest::SetUp() {
  AgentTest::SetUp();
  if (IsSkipped() || HasFatalFailure()) return;
  if (!dispatches_kernels(agent())) GTEST_SKIP() << "the agent takes no kernel dispatches";
}

}  // namespace conformance
