// What the maker sells a board as, from the list that libdrm installs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/driver/kfd_topology.hpp"
#include "core/driver/transport.hpp"

namespace rigel {

/// The name in a list whose lines read "device id, revision, name", ids in hexadecimal. Empty if the board is
/// not in it.
std::string find_board_name(std::string_view list, uint32_t device_id, uint32_t revision);

/// The name of a node's board, or an empty string. Reads files: for who asks, not for everybody who starts.
std::string board_name(const Transport& transport, const KfdNode& node);

}  // namespace rigel
