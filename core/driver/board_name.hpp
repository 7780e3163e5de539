// Product names of boards, from the list that libdrm installs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/driver/kfd_topology.hpp"
#include "core/driver/transport.hpp"

namespace rigel {

/// Returns the name in a list whose lines are "device id, revision, name", ids in hexadecimal. Empty if the
/// board is not in the list.
std::string find_board_name(std::string_view list, uint32_t device_id, uint32_t revision);

/// Returns the name of a node's board, or an empty string. Reads files, so it is called only on request, not
/// at start.
std::string board_name(const Transport& transport, const KfdNode& node);

}  // namespace rigel
