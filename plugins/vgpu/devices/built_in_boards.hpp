// The board files of this directory, compiled in. CMake generates built_in_boards.cpp from them.
#pragma once

#include <span>
#include <string_view>

namespace rigel::vgpu {

struct BuiltInBoard {
  std::string_view name;
  std::string_view json;
};

extern const std::span<const BuiltInBoard> kBuiltInBoards;

}  // namespace rigel::vgpu
