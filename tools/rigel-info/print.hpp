// The output formats of rigel-info.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "inventory.hpp"

namespace rigel_info {

/// Text with a block for the runtime and for each agent.
std::string to_text(const Inventory& inventory);

/// Text with a line for the runtime and each agent: number, type, ISA, product, memory, compute units, uuid.
std::string to_summary(const Inventory& inventory);

/// Text with a block for each tool.
std::string to_text(const std::vector<Tool>& tools);

/// A JSON array, as in the member "tools" below.
std::string to_json(const std::vector<Tool>& tools);

/// A JSON object as in docs/schemas/rigel-info.json, with sizes in bytes. Values that the runtime does not
/// report are omitted. `report` (JSON or empty) becomes the member "report".
std::string to_json(const Inventory& inventory, const std::string& report,
                    const std::optional<std::vector<Tool>>& tools);

}  // namespace rigel_info
