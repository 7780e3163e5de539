#include "plugins/vgpu/devices/gpu_target.hpp"

#include <algorithm>
#include <initializer_list>

namespace rigel::vgpu {

bool fits(std::string_view target, std::string_view gfx) {
  const std::string_view processor = target.substr(0, target.find(':'));
  if (processor == gfx) return true;
  const auto is_in_family = [&](std::string_view family, std::initializer_list<std::string_view> members) {
    return processor == family && std::find(members.begin(), members.end(), gfx) != members.end();
  };
  return is_in_family("gfx9-generic", {"gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"}) ||
         is_in_family("gfx9-4-generic", {"gfx942"}) ||
         is_in_family("gfx10-1-generic", {"gfx1010", "gfx1011", "gfx1012", "gfx1013"}) ||
         is_in_family("gfx10-3-generic",
                      {"gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"}) ||
         is_in_family("gfx11-generic", {"gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151"}) ||
         is_in_family("gfx12-generic", {"gfx1200", "gfx1201"});
}

}  // namespace rigel::vgpu
