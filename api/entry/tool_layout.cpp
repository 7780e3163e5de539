#include "api/entry/tool_layout.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "api/support/environment.hpp"
#include "api/support/log.hpp"
#include "core/runtime/caller_quirks.hpp"
#include "loader/text/words.hpp"

namespace rigel::api {
namespace {

/// Names of a library and of its dependencies.
struct Names {
  std::vector<std::string_view> own;     // the file's name, and DT_SONAME
  std::vector<std::string_view> needed;  // DT_NEEDED
};

Names names_of(void* handle) {
  Names names;
  const link_map* map = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map->l_ld == nullptr) return names;
  // glibc has already added the load address to DT_STRTAB's value.
  const char* strings = nullptr;
  for (const auto* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(entry->d_un.d_ptr);
  }
  std::string_view file = map->l_name;
  names.own.push_back(file.substr(file.rfind('/') + 1));
  if (strings == nullptr) return names;
  for (const auto* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_SONAME) names.own.emplace_back(strings + entry->d_un.d_val);
    if (entry->d_tag == DT_NEEDED) names.needed.emplace_back(strings + entry->d_un.d_val);
  }
  return names;
}

bool has_prefix(const std::vector<std::string_view>& names, std::string_view prefix) {
  return std::any_of(names.begin(), names.end(),
                     [prefix](std::string_view name) { return name.starts_with(prefix); });
}

ToolLayout layout_of_hip(HipVersion hip) {
  const auto because = fmt::format("HIP {}.{} is in the process", hip.major, hip.minor);
  if (hip.major < 5 || (hip.major == 5 && hip.minor < 5)) return {TableLayout::kRocm5, because};
  if (hip.major == 5 && hip.minor == 5) return {TableLayout::kRocm55, because};
  return {TableLayout::kCurrent, because};
}

}  // namespace

ToolLayout find_tool_layout(void* handle) {
  const Names names = names_of(handle);
  for (const char* library : {"librocprofiler-register.so", "librocprofiler-sdk.so"}) {
    if (has_prefix(names.needed, library)) {
      return {TableLayout::kCurrent, fmt::format("it needs {}, which ROCm has since version 6.2", library)};
    }
  }
  // From ROCm 5.3 on, the file's name ends in ".so.4".
  constexpr std::string_view kOldTracer = "libroctracer64.so.1";
  if (std::find(names.needed.begin(), names.needed.end(), kOldTracer) != names.needed.end()) {
    return {TableLayout::kRocm5, fmt::format("it needs {}, which ROCm had until version 5.2", kOldTracer)};
  }
  const bool is_of_amd = has_prefix(names.own, "libroctracer") || has_prefix(names.own, "librocprofiler64") ||
                         has_prefix(names.own, "libtracer_tool");
  if (is_of_amd && ::dlsym(handle, "HSA_AMD_TOOL_PRIORITY") == nullptr) {
    return {TableLayout::kRocm5,
            "it does not export HSA_AMD_TOOL_PRIORITY, as AMD's tools do since ROCm 5.5"};
  }
  if (const auto hip = hip_in_process()) return layout_of_hip(*hip);
  return {TableLayout::kEither, {}};
}

TableLayout tool_layout_of_environment() {
  const char* const text = trusted_environment("HSA_TOOLS_TABLE");
  if (text == nullptr || *text == '\0') return TableLayout::kEither;
  if (const auto layout = table_layout_of(text)) return *layout;
  log_message(LogLevel::kWarn, LogTopic::kChain, "HSA_TOOLS_TABLE: unknown layout {}; ignored{}",
              in_quotes(text), suggestion(text, kTableLayouts));
  return TableLayout::kEither;
}

}  // namespace rigel::api
