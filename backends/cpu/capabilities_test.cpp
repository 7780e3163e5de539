#include "backends/cpu/capabilities.hpp"

#include <gtest/gtest.h>
#include <hsa_cpu/kernel.h>
#include <hsa_cpu/kernel.hpp>

#include <map>
#include <string>

#include "backends/cpu/device.hpp"
#include "backends/cpu/features.hpp"
#include "backends/cpu/testing/rig.hpp"

namespace rigel::cpu {
namespace {

using testing::node_facts;

std::vector<std::string> names(uint64_t features) {
  std::vector<std::string> list;
  for (const hsabe_str_t name : isa_names(features)) list.emplace_back(hsabe::view(name));
  return list;
}

hsabe_caps_t capabilities(const hsabe_node_t& node, uint64_t features = 0) {
  hsabe_caps_t caps{};
  caps.struct_size = sizeof caps;
  EXPECT_EQ(select(&node, features, &caps), HSA_STATUS_SUCCESS);
  return caps;
}

TEST(CpuFeatures, IncludeFeaturesOfThisBuild) {
  EXPECT_EQ(hsa_cpu_compiled_features() & ~host_features(), 0u)
      << describe_features(hsa_cpu_compiled_features());
}

#if defined(__x86_64__)
constexpr uint64_t bit(unsigned feature) {
  return uint64_t{1} << feature;
}

TEST(CpuIsaNames, EndWithTheBaseline) {
  EXPECT_EQ(names(0), std::vector<std::string>{"x86_64-unknown-linux-gnu--x86-64"});
}

TEST(CpuIsaNames, AreBestFirst) {
  EXPECT_EQ(
      names(~uint64_t{0}),
      (std::vector<std::string>{"x86_64-unknown-linux-gnu--x86-64-v4", "x86_64-unknown-linux-gnu--x86-64-v3",
                                "x86_64-unknown-linux-gnu--x86-64-v2", "x86_64-unknown-linux-gnu--x86-64"}));
}

TEST(CpuIsaNames, OmitLevelWithMissingFeature) {
  EXPECT_EQ(names(~bit(HSA_CPU_X86_AVX512VL)).front(), "x86_64-unknown-linux-gnu--x86-64-v3");
  EXPECT_EQ(names(~bit(HSA_CPU_X86_FMA)).front(), "x86_64-unknown-linux-gnu--x86-64-v2");
  EXPECT_EQ(names(~bit(HSA_CPU_X86_SSE4_2)).front(), "x86_64-unknown-linux-gnu--x86-64");
}

TEST(CpuFeatures, HaveNames) {
  EXPECT_EQ(describe_features(bit(HSA_CPU_X86_AVX2) | bit(HSA_CPU_X86_AVX512FP16)), "avx2, avx512fp16");
  EXPECT_EQ(describe_features(bit(63)), "features unknown to this runtime");
}
#endif

TEST(CpuSelect, RejectsDevicesOfOtherBus) {
  hsabe_node_t node = node_facts();
  node.bus = HSABE_BUS_KFD;
  hsabe_caps_t caps{};
  EXPECT_EQ(select(&node, 0, &caps), HSA_STATUS_ERROR_INVALID_AGENT);
}

TEST(CpuSelect, UsesPropertiesOfNode) {
  const hsabe_caps_t caps = capabilities(node_facts());
  EXPECT_EQ(hsabe::view(caps.name), "A Processor of Some Kind");
  EXPECT_EQ(caps.compute_units, 2u);
  EXPECT_EQ(caps.max_clock_mhz, 3000u);
  EXPECT_EQ(caps.cacheline_size, 64u);
  EXPECT_EQ(caps.device_type, uint32_t{HSA_DEVICE_TYPE_CPU});
  EXPECT_EQ(caps.features, uint32_t{HSABE_FEATURE_KERNEL_DISPATCH | HSABE_FEATURE_AGENT_DISPATCH});
}

TEST(CpuSelect, CopiesNameOfNode) {
  std::string name(100, 'x');
  hsabe_node_t node = node_facts();
  node.name = hsabe::str(name);
  const hsabe_caps_t caps = capabilities(node);
  name.assign(100, 'y');
  EXPECT_EQ(hsabe::view(caps.name), std::string(63, 'x'));
  EXPECT_EQ(capabilities(node).name.size, 63u);
}

TEST(CpuSelect, NamesUnnamedCpu) {
  hsabe_node_t node = node_facts();
  node.name = {};
  EXPECT_EQ(hsabe::view(capabilities(node).name), "CPU");
}

TEST(CpuSelect, HasGroupMemoryAndKernargHeap) {
  const hsabe_caps_t caps = capabilities(node_facts());
  unsigned kernarg = 0, group = 0;
  for (uint64_t i = 0; i < caps.heap_count; ++i) {
    kernarg += (caps.heaps[i].flags & HSABE_HEAP_KERNARG) != 0;
    if (caps.heaps[i].kind == HSABE_HEAP_GROUP) {
      ++group;
      EXPECT_EQ(caps.heaps[i].size, caps.group_segment_size);
    }
  }
  EXPECT_EQ(kernarg, 1u);
  EXPECT_EQ(group, 1u);
}

TEST(CpuSelect, LimitsWorkgroupSize) {
  EXPECT_EQ(capabilities(node_facts()).workgroup_max_size, hsa_cpu::kMaxWorkgroupSize);
}

TEST(CpuCaches, AreInOrder) {
  uint32_t level = 0;
  for (const hsabe_cache_t& cache : host_caches()) {
    EXPECT_GE(cache.level, level);
    EXPECT_GT(cache.size, 0u);
    EXPECT_EQ(hsabe::view(cache.name), std::string("L").append(std::to_string(cache.level)));
    level = cache.level;
  }
}

Options options_of(std::map<std::string, int64_t, std::less<>> given, std::string& warnings) {
  testing::FakeHost host;
  host.options = std::move(given);
  const Options options = Options::read(host.table());
  warnings = host.take_warnings();
  return options;
}

TEST(CpuOptions, AreThreadsAndSpinTime) {
  std::string warnings;
  const Options least = options_of({{"threads", 0}, {"spin_us", 0}}, warnings);
  EXPECT_EQ(least.threads, 0u);
  EXPECT_EQ(least.spin_ns, 0u);
  EXPECT_EQ(warnings, "");
  const Options most = options_of({{"threads", 4096}, {"spin_us", 1'000'000}}, warnings);
  EXPECT_EQ(most.threads, 4096u);
  EXPECT_EQ(most.spin_ns, 1'000'000'000u);
  EXPECT_EQ(warnings, "");
}

TEST(CpuOptions, InvalidOnesAreIgnoredAndReported) {
  std::string warnings;
  Options options = options_of({{"threads", 4097}, {"spin_us", 1'000'001}}, warnings);
  EXPECT_EQ(options.threads, 0u);
  EXPECT_EQ(options.spin_ns, 20'000u);
  EXPECT_EQ(warnings,
            "option 'threads': invalid value 4097; ignored; use 0 to 4096\n"
            "option 'spin_us': invalid value 1000001; ignored; use 0 to 1000000\n");
  options = options_of({{"threads", -1}, {"spin_us", INT64_MIN}}, warnings);
  EXPECT_EQ(options.threads, 0u);
  EXPECT_EQ(options.spin_ns, 20'000u);
  EXPECT_NE(warnings.find("'threads': invalid value -1"), std::string::npos) << warnings;
  EXPECT_NE(warnings.find("'spin_us': invalid value"), std::string::npos) << warnings;
}

}  // namespace
}  // namespace rigel::cpu
