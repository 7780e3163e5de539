// ISA names of a processor with its features on and off, in static storage.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include <hsa_backend/hsa_backend.hpp>

namespace rigel::gfx {

template <size_t kSize>
struct Literal {
  char text[kSize]{};
  constexpr Literal(const char (&from)[kSize]) { std::copy_n(from, kSize, text); }
  constexpr std::string_view view() const { return {text, kSize - 1}; }
};

struct IsaFeatures {
  bool has_sramecc = false;
  bool has_xnack = false;
};

namespace detail {

template <Literal kProcessor, IsaFeatures kFeatures, bool kSramecc, bool kXnack>
struct IsaName {
  static constexpr auto kText = [] {
    std::array<char, 64> text{};
    size_t size = 0;
    const auto append = [&](std::string_view part) {
      for (const char letter : part) text[size++] = letter;
    };
    append("amdgcn-amd-amdhsa--");
    append(kProcessor.view());
    if (kFeatures.has_sramecc) append(kSramecc ? ":sramecc+" : ":sramecc-");
    if (kFeatures.has_xnack) append(kXnack ? ":xnack+" : ":xnack-");
    return text;
  }();
};

}  // namespace detail

/// Index: sramecc on << 1 | xnack on. Names omit features that the processor does not have.
template <Literal kProcessor, IsaFeatures kFeatures>
inline constexpr std::array<hsabe_str_t, 4> kIsaNames = {
    hsabe::str(detail::IsaName<kProcessor, kFeatures, false, false>::kText.data()),
    hsabe::str(detail::IsaName<kProcessor, kFeatures, false, true>::kText.data()),
    hsabe::str(detail::IsaName<kProcessor, kFeatures, true, false>::kText.data()),
    hsabe::str(detail::IsaName<kProcessor, kFeatures, true, true>::kText.data()),
};

}  // namespace rigel::gfx
