// A graph in words, for people: vgpu-exec --dump.
#pragma once

#include <string>

#include "plugins/vgpu/analysis/liveness.hpp"

namespace rigel::vgpu::analysis {

/// Blocks with their edges, and behind each instruction which VGPRs it writes must keep in inactive lanes, and how many are
/// live before it.
std::string text_of(const FlowGraph& graph, const Liveness& liveness);

/// "v0-v3 v7", in ascending order.
std::string vgprs_in(const std::bitset<256>& set);

}  // namespace rigel::vgpu::analysis
