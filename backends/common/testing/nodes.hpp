// Nodes of boards as in amdkfd's topology, for tests.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "backends/common/node_facts.hpp"

namespace rigel::gfx::testing {

class Node {
 public:
  using Property = std::pair<const char*, uint64_t>;

  Node(GfxVersion version, std::initializer_list<Property> properties) {
    for (const auto& [name, value] : properties) set(name, value);
    node_ = {};
    node_.struct_size = sizeof(node_);
    node_.bus = HSABE_BUS_KFD;
    node_.name = hsabe::str("ip discovery");
    node_.gfx_major = version.major;
    node_.gfx_minor = version.minor;
    node_.gfx_stepping = version.stepping;
  }
  Node& set(const char* name, uint64_t value) {
    for (hsabe_property_t& property : properties_) {
      if (hsabe::view(property.name) == name) {
        property.value = value;
        return *this;
      }
    }
    properties_.push_back({hsabe::str(name), value});
    return *this;
  }
  hsabe_node_t& get() {
    node_.properties = properties_.data();
    node_.property_count = properties_.size();
    return node_;
  }
  NodeFacts facts() { return read_node_facts(get()); }

 private:
  std::vector<hsabe_property_t> properties_;
  hsabe_node_t node_;
};

struct Shape {
  uint32_t device_id, cus, simds_per_cu, arrays, arrays_per_engine, waves_per_simd, wave_size, doorbell_type;
};

inline Node make_node(GfxVersion version, const Shape& shape) {
  return Node(version, {{"array_count", shape.arrays},
                        {"capability", uint64_t{shape.doorbell_type} << kCapabilityDoorbellShift | 0x280},
                        {"device_id", shape.device_id},
                        {"fw_version", 0x3ff},
                        {"lds_size_in_kb", 64},
                        {"location_id", 0x300},
                        {"max_engine_clk_fcompute", 1000},
                        {"max_slots_scratch_cu", 32},
                        {"max_waves_per_simd", shape.waves_per_simd},
                        {"sdma_fw_version", 0x3ff},
                        {"simd_arrays_per_engine", shape.arrays_per_engine},
                        {"simd_count", shape.cus * shape.simds_per_cu},
                        {"simd_per_cu", shape.simds_per_cu},
                        {"wave_front_size", shape.wave_size}});
}

inline Node fiji() {
  return make_node({8, 0, 3}, {0x7300, 64, 4, 4, 1, 10, 64, 1});
}
inline Node polaris10() {
  return make_node({8, 0, 3}, {0x67df, 36, 4, 4, 1, 10, 64, 1});
}
inline Node tonga() {
  return make_node({8, 0, 2}, {0x6938, 32, 4, 4, 1, 10, 64, 0});
}
inline Node vega10() {
  return make_node({9, 0, 0}, {0x687f, 64, 4, 4, 1, 10, 64, 2});
}
inline Node vega20() {
  return make_node({9, 0, 6}, {0x66af, 60, 4, 4, 1, 10, 64, 2});
}
inline Node mi100() {
  return make_node({9, 0, 8}, {0x738c, 120, 4, 8, 1, 10, 64, 2});
}
inline Node mi210() {
  return make_node({9, 0, 10}, {0x740f, 104, 4, 8, 1, 8, 64, 2});
}
inline Node mi300x() {
  return make_node({9, 4, 2}, {0x74a1, 304, 4, 32, 1, 8, 64, 2}).set("num_xcc", 8);
}
inline Node navi10() {
  return make_node({10, 1, 0}, {0x731f, 40, 2, 4, 2, 20, 32, 2});
}
inline Node navi21() {
  return make_node({10, 3, 0}, {0x73bf, 80, 2, 8, 2, 16, 32, 2});
}
inline Node navi31() {
  return make_node({11, 0, 0}, {0x744c, 96, 2, 12, 2, 16, 32, 2});
}
inline Node navi48() {
  return make_node({12, 0, 1}, {0x7550, 64, 2, 8, 2, 16, 32, 2});
}
inline Node navi33() {
  return make_node({11, 0, 2}, {0x7480, 32, 2, 4, 2, 16, 32, 2});
}

}  // namespace rigel::gfx::testing
