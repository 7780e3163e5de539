#include "core/driver/kfd_topology.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace rigel {
namespace {

constexpr const char* kFolder = "/sys/devices/virtual/kfd/kfd/topology";
constexpr int kMaxReads = 8;  // attempts to read a topology that keeps changing

std::optional<uint64_t> number(std::string_view text) {
  uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end == text.data()) return std::nullopt;
  return value;
}

uint32_t get32(const KfdProperties& properties, std::string_view key) {
  const auto found = properties.find(key);
  return found == properties.end() ? 0 : static_cast<uint32_t>(found->second);
}

uint64_t get64(const KfdProperties& properties, std::string_view key) {
  const auto found = properties.find(key);
  return found == properties.end() ? 0 : found->second;
}

void read_links(const Transport& transport, const std::string& folder, std::vector<KfdLink>& links) {
  for (const std::string& name : transport.list_dir(folder)) {
    const auto p = parse_kfd_properties(transport.read_file(folder + "/" + name + "/properties"));
    if (p.empty()) continue;
    KfdLink link;
    link.type = get32(p, "type");
    link.from = get32(p, "node_from");
    link.to = get32(p, "node_to");
    link.weight = get32(p, "weight");
    link.min_latency = get32(p, "min_latency");
    link.max_latency = get32(p, "max_latency");
    link.min_bandwidth = get32(p, "min_bandwidth");
    link.max_bandwidth = get32(p, "max_bandwidth");
    link.flags = get32(p, "flags");
    link.recommended_engines = get32(p, "recommended_sdma_engine_id_mask");
    links.push_back(link);
  }
}

// Reads one cache of each level. There is an entry for each compute unit's caches, hundreds of files, but in
// order of level: a binary search finds the first of each.
void read_caches(const Transport& transport, const std::string& folder, std::vector<KfdCache>& caches) {
  const std::vector<std::string> names = transport.list_dir(folder);
  const auto read = [&](size_t index) {
    const auto p = parse_kfd_properties(transport.read_file(folder + "/" + names[index] + "/properties"));
    return KfdCache{get32(p, "level"), get32(p, "type"), get64(p, "size") * 1024,
                    get64(p, "cache_line_size")};
  };
  for (size_t first = 0; first < names.size();) {
    caches.push_back(read(first));
    size_t same = first;           // index of a cache of this level
    size_t higher = names.size();  // index of a cache of a higher level, or the end
    while (higher - same > 1) {
      const size_t middle = same + (higher - same) / 2;
      (read(middle).level <= caches.back().level ? same : higher) = middle;
    }
    first = higher;
  }
}

std::optional<KfdNode> read_node(const Transport& transport, uint32_t node_number, bool& has_peers) {
  const std::string folder = std::string(kFolder) + "/nodes/" + std::to_string(node_number);
  KfdNode node;
  node.number = node_number;
  // In a container, GPUs of other containers are listed, but unreadable.
  const auto gpu_id = number(transport.read_file(folder + "/gpu_id"));
  if (!gpu_id) return std::nullopt;
  node.gpu_id = static_cast<uint32_t>(*gpu_id);
  node.name = transport.read_file(folder + "/name");
  while (!node.name.empty() && node.name.back() == '\n') node.name.pop_back();
  node.properties = parse_kfd_properties(transport.read_file(folder + "/properties"));
  if (node.properties.empty()) return std::nullopt;
  for (const std::string& name : transport.list_dir(folder + "/mem_banks")) {
    const auto p = parse_kfd_properties(transport.read_file(folder + "/mem_banks/" + name + "/properties"));
    node.banks.push_back(
        {get32(p, "heap_type"), get64(p, "size_in_bytes"), get32(p, "width"), get32(p, "mem_clk_max")});
  }
  if (node.is_gpu()) read_caches(transport, folder + "/caches", node.caches);
  read_links(transport, folder + "/io_links", node.links);
  const size_t own = node.links.size();
  read_links(transport, folder + "/p2p_links", node.links);
  has_peers |= node.links.size() != own;
  return node;
}

}  // namespace

uint64_t KfdNode::property(std::string_view key, uint64_t fallback) const {
  const auto found = properties.find(key);
  return found == properties.end() ? fallback : found->second;
}

uint64_t KfdNode::local_bytes() const {
  uint64_t bytes = 0;
  for (const KfdBank& bank : banks) {
    if (bank.heap == KfdBank::kPublic || bank.heap == KfdBank::kPrivate) bytes += bank.size;
  }
  return bytes;
}

uint64_t KfdNode::public_bytes() const {
  uint64_t bytes = 0;
  for (const KfdBank& bank : banks) {
    if (bank.heap == KfdBank::kPublic) bytes += bank.size;
  }
  return bytes;
}

bool has_atomics_to_host(const KfdTopology& topology, const KfdNode& gpu) {
  constexpr uint32_t kNone = KfdLink::kFlagsValid | KfdLink::kNo64BitAtomics;
  return std::none_of(gpu.links.begin(), gpu.links.end(), [&](const KfdLink& link) {
    return (link.flags & kNone) == kNone &&
           std::any_of(topology.nodes.begin(), topology.nodes.end(),
                       [&](const KfdNode& node) { return node.number == link.to && !node.is_gpu(); });
  });
}

void add_links_by_hosts(KfdTopology& topology) {
  const auto find = [](const KfdNode& node, uint32_t to) {
    const auto found = std::find_if(node.links.begin(), node.links.end(),
                                    [&](const KfdLink& link) { return link.to == to; });
    return found == node.links.end() ? nullptr : &*found;
  };
  const auto joined = [](const KfdLink& first, const KfdLink& second) {
    KfdLink link = first;
    link.to = second.to;
    link.weight += second.weight;
    link.min_latency += second.min_latency;
    link.max_latency += second.max_latency;
    link.min_bandwidth = std::min(first.min_bandwidth, second.min_bandwidth);
    link.max_bandwidth = std::min(first.max_bandwidth, second.max_bandwidth);
    link.flags |= second.flags;
    return link;
  };
  std::vector<std::pair<KfdNode*, KfdLink>> more;
  for (KfdNode& gpu : topology.nodes) {
    for (KfdNode& own : topology.nodes) {
      const KfdLink* const out = gpu.is_gpu() && !own.is_gpu() ? find(gpu, own.number) : nullptr;
      if (out == nullptr) continue;
      for (KfdNode& other : topology.nodes) {
        if (other.is_gpu() || find(gpu, other.number) != nullptr) continue;
        const KfdLink *const across = find(own, other.number), *const back = find(other, own.number),
                             *const in = find(own, gpu.number);
        if (across != nullptr) more.emplace_back(&gpu, joined(*out, *across));
        if (back != nullptr && in != nullptr) more.emplace_back(&other, joined(*back, *in));
      }
    }
  }
  for (auto& [node, link] : more) node->links.push_back(link);
}

KfdProperties parse_kfd_properties(std::string_view text) {
  KfdProperties properties;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t space = line.find(' ');
    if (space == 0 || space == line.npos) break;
    const auto value = number(line.substr(space + 1));
    if (!value) break;
    properties.insert_or_assign(std::string(line.substr(0, space)), *value);
  }
  return properties;
}

Result<KfdTopology> read_kfd_topology(const Transport& transport) {
  const std::string generation_file = std::string(kFolder) + "/generation_id";
  for (int i = 0; i < kMaxReads; ++i) {
    const auto before = number(transport.read_file(generation_file));
    if (!before || *before == 0) {
      return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "{}: contains no topology", kFolder);
    }
    KfdTopology topology;
    bool has_peers = false;
    for (const std::string& name : transport.list_dir(std::string(kFolder) + "/nodes")) {
      const auto node_number = number(name);
      if (!node_number) continue;
      if (auto node = read_node(transport, static_cast<uint32_t>(*node_number), has_peers)) {
        topology.nodes.push_back(std::move(*node));
      }
    }
    if (number(transport.read_file(generation_file)) != before) continue;
    if (!has_peers) add_links_by_hosts(topology);
    return topology;
  }
  return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "{}: changed during each attempt to read it", kFolder);
}

}  // namespace rigel
