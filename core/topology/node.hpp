// A device during discovery: owns the properties, to which the hsabe_node_t for backends refers.
#pragma once

#include <hsa_backend/hsa_backend.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rigel {

struct Node {
  uint32_t bus = 0;
  uint32_t node_id = 0;
  std::string name;
  uint32_t gfx_major = 0;
  uint32_t gfx_minor = 0;
  uint32_t gfx_stepping = 0;
  std::map<std::string, uint64_t, std::less<>> properties;
};

/// An hsabe_node_t that refers to a Node, which must outlive it.
class NodeView {
 public:
  explicit NodeView(const Node& node) {
    for (const auto& [name, value] : node.properties) {
      properties_.push_back({{name.data(), name.size()}, value});
    }
    view_ = {sizeof view_,       node.bus,          node.node_id,      {node.name.data(), node.name.size()},
             node.gfx_major,     node.gfx_minor,    node.gfx_stepping, 0,
             properties_.data(), properties_.size()};
  }
  NodeView(const NodeView&) = delete;
  NodeView& operator=(const NodeView&) = delete;

  const hsabe_node_t* get() const { return &view_; }

 private:
  std::vector<hsabe_property_t> properties_;
  hsabe_node_t view_;
};

inline Node copy_node(const hsabe_node_t& facts) {
  Node node;
  node.bus = facts.bus;
  node.node_id = facts.node_id;
  node.name.assign(facts.name.data, facts.name.size);
  node.gfx_major = facts.gfx_major;
  node.gfx_minor = facts.gfx_minor;
  node.gfx_stepping = facts.gfx_stepping;
  for (uint64_t i = 0; i < facts.property_count; ++i) {
    const hsabe_property_t& property = facts.properties[i];
    node.properties.emplace(std::string(property.name.data, property.name.size), property.value);
  }
  return node;
}

}  // namespace rigel
