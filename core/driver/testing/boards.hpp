// The boards that a test asks of the virtual GPU, as far as the build can have them.
#pragma once

#include <gtest/gtest.h>
#include <hsa_backend/sanitizer.h>

#include <cctype>
#include <string>

namespace rigel::testing {

inline constexpr bool kAddressSanitizer = HSABE_SANITIZER == HSABE_SANITIZER_ADDRESS;

/// gfx8 reaches 40 bits of addresses, which is where AddressSanitizer keeps its shadow: under it boards of
/// gfx9 stand in for those of gfx8.
inline std::string boards(std::string wanted) {
  constexpr const char* kGfx8 = "gfx803";
  if (!kAddressSanitizer) return wanted;
  for (size_t at = 0; (at = wanted.find(kGfx8, at)) != std::string::npos;) wanted.replace(at, 6, "gfx906");
  return wanted;
}

/// The name of a test on such boards: "gfx906_vram_128M" for "gfx906:vram=128M".
inline std::string board_test_name(const ::testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

}  // namespace rigel::testing
