// Flow graphs as text, for vgpu-exec --dump.
#pragma once

#include <string>

#include "plugins/vgpu/analysis/liveness.hpp"

namespace rigel::vgpu::analysis {

/// Prints the blocks with their edges and live VGPRs. After an instruction are the VGPRs that it writes and
/// that must keep the values of inactive lanes.
std::string text_of(const FlowGraph& graph, const Liveness& liveness);

/// "v0-v3 v7", in ascending order.
std::string vgprs_in(const std::bitset<256>& set);

}  // namespace rigel::vgpu::analysis
