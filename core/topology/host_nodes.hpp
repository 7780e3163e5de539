// The NUMA nodes of this machine in Linux's sysfs.
#pragma once

#include <string>
#include <vector>

#include "core/topology/node.hpp"

namespace rigel {

/// Returns a Node of HSABE_BUS_CPU for each NUMA node with CPUs and memory, in order of number; always at
/// least one. Unavailable properties are omitted. `root` replaces "/" in tests.
std::vector<Node> read_host_nodes(const std::string& root = {});

}  // namespace rigel
