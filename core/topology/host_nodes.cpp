#include "core/topology/host_nodes.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "api/support/page_size.hpp"

namespace rigel {
namespace {

// Descriptors instead of streams, because this runs in every hsa_init.
std::string read_file(const std::string& path, size_t limit = 64 * 1024) {
  std::string text;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char buffer[4096];
  while (text.size() < limit) {
    const ssize_t count = ::read(fd, buffer, sizeof buffer);
    if (count <= 0) break;
    text.append(buffer, static_cast<size_t>(count));
  }
  ::close(fd);
  return text;
}

std::optional<uint64_t> leading_number(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  return value;
}

// Returns the text after "key" and its separator on the first line that starts with key.
std::string_view value_of_line(std::string_view text, std::string_view key) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const auto line = text.substr(at, end - at);
    if (line.substr(0, key.size()) == key) {
      const size_t colon = line.find(':');
      if (colon == line.npos) return {};
      auto value = line.substr(colon + 1);
      value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
      return value;
    }
    at = end + 1;
  }
  return {};
}

// "0-3,8,10-11" → 7 CPUs, the first of which is 0.
struct CpuList {
  uint64_t count = 0;
  uint64_t first = 0;
};

CpuList parse_cpu_list(std::string_view list) {
  CpuList result;
  while (!list.empty()) {
    const auto first = leading_number(list);
    if (!first) break;
    const size_t comma = list.find(',');
    const size_t dash = list.find('-');
    const auto last = dash < comma ? leading_number(list.substr(dash + 1)) : first;
    if (!last || *last < *first) break;
    if (result.count == 0) result.first = *first;
    result.count += *last - *first + 1;
    list = comma == list.npos ? std::string_view{} : list.substr(comma + 1);
  }
  return result;
}

std::vector<uint32_t> numa_node_numbers(const std::string& folder) {
  std::vector<uint32_t> numbers;
  DIR* dir = ::opendir(folder.c_str());
  if (dir == nullptr) return numbers;
  while (const dirent* entry = ::readdir(dir)) {
    const std::string_view name(entry->d_name);
    if (name.substr(0, 4) != "node") continue;
    if (const auto number = leading_number(name.substr(4))) numbers.push_back(static_cast<uint32_t>(*number));
  }
  ::closedir(dir);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

void add_cpu_facts(Node& node, const CpuList& cpus, const std::string& root) {
  node.properties["cpu_cores_count"] = cpus.count;
  node.properties["cpu_first"] = cpus.first;
  const std::string cpu = root + "/sys/devices/system/cpu/cpu" + std::to_string(cpus.first);
  if (const auto khz = leading_number(read_file(cpu + "/cpufreq/cpuinfo_max_freq"))) {
    node.properties["cpu_max_clock_mhz"] = *khz / 1000;
  }
  if (const auto line = leading_number(read_file(cpu + "/cache/index0/coherency_line_size"))) {
    node.properties["cacheline_bytes"] = *line;
  }
}

}  // namespace

std::vector<Node> read_host_nodes(const std::string& root) {
  const std::string cpuinfo = read_file(root + "/proc/cpuinfo", 4096);  // the first CPU's entry is enough
  const std::string model(value_of_line(cpuinfo, "model name"));
  const auto current_mhz = leading_number(value_of_line(cpuinfo, "cpu MHz"));

  std::vector<Node> nodes;
  const std::string folder = root + "/sys/devices/system/node";
  for (const uint32_t number : numa_node_numbers(folder)) {
    const std::string path = folder + "/node" + std::to_string(number);
    const CpuList cpus = parse_cpu_list(read_file(path + "/cpulist"));
    const std::string meminfo = read_file(path + "/meminfo");
    // Lines are "Node 0 MemTotal:  24578744 kB".
    const auto kilobytes =
        leading_number(value_of_line(meminfo, "Node " + std::to_string(number) + " MemTotal"));
    if (cpus.count == 0 || !kilobytes || *kilobytes == 0) continue;
    Node node;
    node.bus = HSABE_BUS_CPU;
    node.node_id = number;
    node.properties["memory_bytes"] = *kilobytes * 1024;
    add_cpu_facts(node, cpus, root);
    nodes.push_back(std::move(node));
  }
  if (nodes.empty()) {  // a kernel without NUMA, or a sandbox without sysfs
    Node node;
    node.bus = HSABE_BUS_CPU;
    const auto kilobytes = leading_number(value_of_line(read_file(root + "/proc/meminfo"), "MemTotal"));
    node.properties["memory_bytes"] =
        kilobytes ? *kilobytes * 1024 : static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * host_page_bytes();
    add_cpu_facts(node, {static_cast<uint64_t>(::sysconf(_SC_NPROCESSORS_ONLN)), 0}, root);
    nodes.push_back(std::move(node));
  }
  for (Node& node : nodes) {
    node.name = model.empty() ? "CPU" : model;
    if (current_mhz) node.properties.try_emplace("cpu_max_clock_mhz", *current_mhz);
  }
  return nodes;
}

}  // namespace rigel
