// Attributes of agents that depend on properties of their node.
#include <gtest/gtest.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa_plugin/kfd_abi.h>

#include "core/topology/agent.hpp"

namespace rigel {
namespace {

/// Returns an attribute of a GPU whose node has the property.
template <class T>
T answer_of(uint32_t attribute, const char* property, uint64_t value,
            hsa_device_type_t type = HSA_DEVICE_TYPE_GPU) {
  const LoadedBackend backend;
  const hsabe_host_t host{};
  Capabilities capabilities;
  capabilities.caps.device_type = type;
  Node node;
  node.properties[property] = value;
  const Agent agent(node, backend, host, capabilities, {});
  T answer{};
  EXPECT_EQ(agent.info(attribute, &answer, {}), HSA_STATUS_SUCCESS);
  return answer;
}

TEST(AgentInfo, CapabilityBitReportsCoherentHostAccess) {
  constexpr uint32_t kAttribute = HSA_AMD_AGENT_INFO_SVM_DIRECT_HOST_ACCESS;
  EXPECT_FALSE(answer_of<bool>(kAttribute, "capability", ~KFD_CAP_COHERENT_HOST_ACCESS));
  EXPECT_TRUE(answer_of<bool>(kAttribute, "capability", uint32_t{1} << 28));
  EXPECT_TRUE(answer_of<bool>(kAttribute, "capability", 0, HSA_DEVICE_TYPE_CPU))
      << "its memory is the host's";
}

TEST(AgentInfo, CapabilityBitReportsIommu) {
  constexpr uint32_t kAttribute = HSA_AMD_AGENT_INFO_IOMMU_SUPPORT;
  EXPECT_EQ(answer_of<hsa_amd_iommu_version_t>(kAttribute, "capability", ~KFD_CAP_ATS),
            HSA_IOMMU_SUPPORT_NONE);
  EXPECT_EQ(answer_of<hsa_amd_iommu_version_t>(kAttribute, "capability", uint32_t{1} << 1),
            HSA_IOMMU_SUPPORT_V2);
}

TEST(AgentInfo, FirmwareVersionHasTenBits) {
  EXPECT_EQ(answer_of<uint32_t>(HSA_AMD_AGENT_INFO_UCODE_VERSION, "fw_version", 0x10000 | 800), 800u);
  EXPECT_EQ(answer_of<uint32_t>(HSA_AMD_AGENT_INFO_SDMA_UCODE_VERSION, "sdma_fw_version", 0x10000 | 145),
            145u);
}

}  // namespace
}  // namespace rigel
