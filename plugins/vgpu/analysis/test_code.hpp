// Code for tests of analyses, of gfx900 by default.
#pragma once

#include <cstring>

#include <gtest/gtest.h>

#include "plugins/vgpu/analysis/flow_graph.hpp"

namespace rigel::vgpu::analysis {

using Words = std::vector<uint32_t>;

inline const Words kEnd{0xbf810000};

inline Words skip_if_no_lane(uint32_t dwords) {
  return {0xbf880000 | dwords};  // s_cbranch_execz
}
inline Words back_while_lanes(uint32_t dwords) {
  return {0xbf890000 | (0x10000 - dwords)};  // s_cbranch_execnz
}

inline FlowGraph graph_of_code(const std::vector<Words>& instructions,
                               isa::Target target = {.major = 9, .minor = 0, .stepping = 0}) {
  constexpr uint64_t kEntry = 0x1000;
  Words code;
  for (const Words& words : instructions) code.insert(code.end(), words.begin(), words.end());
  auto graph = read_flow_graph(target, 64, kEntry, [&](uint64_t va, std::span<std::byte> to) -> size_t {
    const size_t at = va - kEntry, size = code.size() * 4;
    if (at >= size) return 0;
    const size_t bytes = std::min(to.size(), size - at);
    std::memcpy(to.data(), reinterpret_cast<std::byte*>(code.data()) + at, bytes);
    return bytes;
  });
  EXPECT_TRUE(graph) << graph.error();
  return std::move(graph.value());
}

}  // namespace rigel::vgpu::analysis
