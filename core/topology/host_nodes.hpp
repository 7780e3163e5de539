// The NUMA nodes of this machine, as Linux describes them.
#pragma once

#include <string>
#include <vector>

#include "core/topology/node.hpp"

namespace rigel {

/// One Node of HSABE_BUS_CPU for each NUMA node that has both processors and memory, in order of number;
/// always at least one. Facts that the system does not give are left out. `root` stands for "/" (tests point
/// it at a tree of their own).
std::vector<Node> read_host_nodes(const std::string& root = {});

}  // namespace rigel
