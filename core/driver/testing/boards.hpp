// Boards for tests with the virtual GPU, as far as the build supports them.
#pragma once

#include <gtest/gtest.h>
#include <hsa_backend/sanitizer.h>

#include <cctype>
#include <string>

namespace rigel::testing {

inline constexpr bool kAddressSanitizer = HSABE_SANITIZER == HSABE_SANITIZER_ADDRESS;

/// gfx8 addresses 40 bits, where AddressSanitizer keeps its shadow: under it, gfx9 boards replace those of
/// gfx8.
inline std::string boards(std::string wanted) {
  constexpr const char* kGfx8 = "gfx803";
  if (!kAddressSanitizer) return wanted;
  for (size_t at = 0; (at = wanted.find(kGfx8, at)) != std::string::npos;) wanted.replace(at, 6, "gfx906");
  return wanted;
}

/// Returns the test name for a board: "gfx906_vram_128M" for "gfx906:vram=128M".
inline std::string board_test_name(const ::testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

}  // namespace rigel::testing
