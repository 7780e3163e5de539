#include "core/runtime/caller_quirks.hpp"

#include <link.h>

#include <string_view>

namespace rigel {

bool has_hip_that_needs_a_gpu() noexcept {
  const auto is_hip = [](dl_phdr_info* info, size_t, void*) noexcept -> int {
    std::string_view name = info->dlpi_name == nullptr ? "" : info->dlpi_name;
    if (const size_t slash = name.rfind('/'); slash != name.npos) name.remove_prefix(slash + 1);
    constexpr std::string_view kHip = "libamdhip64.so.";
    if (!name.starts_with(kHip)) return 0;
    name.remove_prefix(kHip.size());
    const bool one_digit = name.size() == 1 || (name.size() > 1 && name[1] == '.');
    return one_digit && name[0] >= '1' && name[0] <= '5' ? 1 : 0;
  };
  return ::dl_iterate_phdr(is_hip, nullptr) != 0;
}

}  // namespace rigel
