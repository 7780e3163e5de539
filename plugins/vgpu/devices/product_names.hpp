// The names under which a board's chip and cards are known, beside the board's own name and its gfx name.
//
// Any thread.
#pragma once

#include <span>
#include <string_view>

namespace rigel::vgpu {

struct ProductNames {
  std::string_view board;
  std::string_view chip;  ///< "navi21": several boards may have one chip
  /// Cards with as many compute units, "rx6900xt", most usual first.
  std::span<const std::string_view> products;
};

/// Names of a built-in board; null for another board.
const ProductNames* find_product_names(std::string_view board);

/// The built-in board that has `word` among its products, or an empty name. Case, spaces, hyphens and underscores do not
/// matter, nor do the words AMD, Radeon, Instinct and RX before the rest: "5700 XT" is rx5700xt.
std::string_view board_of_product(std::string_view word);

/// All products of built-in boards.
std::span<const ProductNames> all_product_names();

}  // namespace rigel::vgpu
