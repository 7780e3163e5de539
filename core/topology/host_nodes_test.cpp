#include "core/topology/host_nodes.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace rigel {
namespace {

class HostNodes : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "rigel-nodes-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    const auto full = root_ + path;
    std::filesystem::create_directories(std::filesystem::path(full).parent_path());
    std::ofstream(full) << text;
  }
  void write_node(int number, const std::string& cpus, const std::string& kilobytes) {
    const std::string path = "/sys/devices/system/node/node" + std::to_string(number);
    write(path + "/cpulist", cpus + "\n");
    write(path + "/meminfo",
          "Node " + std::to_string(number) + " MemTotal:   " + kilobytes + " kB\nNode 0 MemFree: 1 kB\n");
  }

  std::string root_;
};

TEST_F(HostNodes, AreInOrderOfNumber) {
  write("/proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU @ 3 GHz\ncpu MHz\t\t: 2600.012\n");
  write_node(10, "64-127", "2000");
  write_node(2, "0-3,8,10-11", "1000");
  write("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "4500000\n");
  const auto nodes = read_host_nodes(root_);
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].node_id, 2u);
  EXPECT_EQ(nodes[0].name, "Some CPU @ 3 GHz");
  EXPECT_EQ(nodes[0].properties.at("cpu_cores_count"), 7u);
  EXPECT_EQ(nodes[0].properties.at("memory_bytes"), 1000u * 1024);
  EXPECT_EQ(nodes[0].properties.at("cpu_max_clock_mhz"), 4500u);
  EXPECT_EQ(nodes[1].node_id, 10u);
  EXPECT_EQ(nodes[1].properties.at("cpu_first"), 64u);
  EXPECT_EQ(nodes[1].properties.at("cpu_max_clock_mhz"), 2600u) << "the current clock, for want of a maximum";
}

TEST_F(HostNodes, WithoutCpusOrMemoryAreSkipped) {
  write_node(0, "0-1", "1000");
  write_node(1, "", "1000");  // memory only: CXL
  write_node(2, "2-3", "0");
  EXPECT_EQ(read_host_nodes(root_).size(), 1u);
}

TEST_F(HostNodes, HaveOneNodeWithoutSysfs) {
  const auto nodes = read_host_nodes(root_);
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_EQ(nodes[0].name, "CPU");
  EXPECT_GT(nodes[0].properties.at("cpu_cores_count"), 0u);
  EXPECT_GT(nodes[0].properties.at("memory_bytes"), 0u);
}

TEST_F(HostNodes, OfThisMachineHaveCpusAndMemory) {
  for (const Node& node : read_host_nodes()) {
    EXPECT_GT(node.properties.at("cpu_cores_count"), 0u);
    EXPECT_GT(node.properties.at("memory_bytes"), 1u << 20);
    EXPECT_FALSE(node.name.empty());
  }
}

TEST(NodeView, SortsPropertiesByName) {
  Node node;
  node.properties = {{"b", 2}, {"a", 1}};
  const NodeView view(node);
  ASSERT_EQ(view.get()->property_count, 2u);
  EXPECT_EQ(std::string(view.get()->properties[0].name.data, view.get()->properties[0].name.size), "a");
}

}  // namespace
}  // namespace rigel
