// The two ways in which rigel-info shows what it found.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "inventory.hpp"

namespace rigel_info {

/// For people: a block for the runtime and one for each agent.
std::string to_text(const Inventory& inventory);

/// A line for the runtime and one for each agent: number, type, ISA, product, memory, compute units, uuid.
std::string to_summary(const Inventory& inventory);

/// For people: a block for each tool.
std::string to_text(const std::vector<Tool>& tools);

/// For programs: an array, as the member "tools" below.
std::string to_json(const std::vector<Tool>& tools);

/// For programs: one object, as docs/schemas/rigel-info.json describes it; sizes in bytes; what a runtime
/// does not tell is not there. `report` (JSON, or empty) becomes its member "report".
std::string to_json(const Inventory& inventory, const std::string& report,
                    const std::optional<std::vector<Tool>>& tools);

}  // namespace rigel_info
