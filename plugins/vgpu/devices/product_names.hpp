// Names of a board's chip and products, besides the board's name and its gfx name.
//
// Threads: any.
#pragma once

#include <span>
#include <string_view>

namespace rigel::vgpu {

struct ProductNames {
  std::string_view board;
  std::string_view chip;  ///< "navi21". Several boards may have the same chip.
  /// Products with the board's number of compute units, such as "rx6900xt", most common first.
  std::span<const std::string_view> products;
};

/// Returns the names of a built-in board, or null for another board.
const ProductNames* find_product_names(std::string_view board);

/// Returns the built-in board that has the product `word`, or an empty name. Ignores case, spaces, hyphens,
/// underscores and the brand names AMD, Radeon, Instinct and RX at the start: "5700 XT" is rx5700xt.
std::string_view board_of_product(std::string_view word);

std::span<const ProductNames> all_product_names();

}  // namespace rigel::vgpu
