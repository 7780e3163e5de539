#include "loader/module/loader_environment.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <vector>

#include <fmt/core.h>

#include "api/support/environment.hpp"
#include "loader/module/discovery_report.hpp"
#include "loader/module/files.hpp"

namespace rigel {
namespace {

// Variables that select backends or the configuration file. XDG_CONFIG_HOME and HOME are omitted: every
// desktop sets them, and privileged programs are expected to ignore them.
constexpr std::array kCodeVariables{"HSA_BACKEND_MANIFESTS", "HSA_ADD_BACKEND_MANIFESTS",
                                    "HSA_BACKENDS_SELECT", "HSA_PLUGIN_CONFIG"};

// Returns the path of the library that contains `address`, or an empty string. dladdr() returns the name by
// which the library was opened. A relative name may not be valid any more, because the working directory may
// have changed; the path then comes from the kernel's list of mappings.
std::string file_at(const void* address) {
  Dl_info info{};
  if (::dladdr(address, &info) != 0 && info.dli_fname != nullptr && info.dli_fname[0] == '/')
    return info.dli_fname;

  const std::unique_ptr<FILE, int (*)(FILE*)> maps(std::fopen("/proc/self/maps", "re"), &std::fclose);
  if (!maps) return {};
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  char line[8192];
  while (std::fgets(line, sizeof line, maps.get()) != nullptr) {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &begin, &end) != 2 || wanted < begin || wanted >= end)
      continue;
    const std::string_view text(line);
    const size_t slash = text.find('/');
    return slash == text.npos ? std::string() : std::string(text.substr(slash, text.find('\n') - slash));
  }
  return {};
}

std::string join(std::string_view folder, std::string_view relative) {
  return (std::filesystem::path(folder) / relative).lexically_normal().string();
}

}  // namespace

LoaderEnvironment LoaderEnvironment::of_process(const void* address) {
  LoaderEnvironment out;
  out.variable = [](const char* name) { return environment(name); };
  out.elevated = is_elevated();
  out.system_folder = "/etc/hsa";
  out.set_library(file_at(address));
  return out;
}

void LoaderEnvironment::set_library(const std::string& path) {
  const auto real = real_path(path);
  if (!real) return;
  library_folder = folder_of(*real);
  manifest_folder = join(library_folder, RIGEL_MANIFESTS_FROM_LIBRARY);
  backend_folder = join(library_folder, RIGEL_BACKENDS_FROM_LIBRARY);
  driver_folder = join(library_folder, "hsa/drivers");
  plugin_folder = join(library_folder, "hsa/plugins");
}

const char* LoaderEnvironment::get(const char* name) const {
  const char* value = variable ? variable(name) : nullptr;
  return value != nullptr && *value != '\0' ? value : nullptr;
}

const char* LoaderEnvironment::trusted(const char* name) const {
  return elevated ? nullptr : get(name);
}

std::string LoaderEnvironment::user_folder() const {
  // The XDG Base Directory Specification requires that relative values are ignored.
  if (const char* config = trusted("XDG_CONFIG_HOME"); config != nullptr && *config == '/')
    return join(config, "hsa");
  if (const char* home = trusted("HOME"); home != nullptr && *home == '/') return join(home, ".config/hsa");
  return {};
}

void LoaderEnvironment::report_ignored_variables(DiscoveryReport& report) const {
  if (!elevated) return;
  std::string names;
  for (const char* name : kCodeVariables) {
    const char* value = get(name);
    if (value == nullptr || std::string_view(value) == "none") continue;
    names += names.empty() ? "" : ", ";
    names += name;
  }
  if (!names.empty()) {
    report.add(Stage::kConfig, Outcome::kWarning, "environment",
               fmt::format("{} ignored because this process has elevated privileges", names));
  }
}

Explained<std::string> LoaderEnvironment::find_library(
    const std::string& library, const std::string& folder,
    std::initializer_list<std::string_view> more_folders) const {
  std::vector<std::string> paths;  // candidates
  if (library.find('/') == library.npos) {
    if (!folder.empty()) paths.push_back(join(folder, library));
    for (const auto other : more_folders) {
      if (!other.empty()) paths.push_back(join(other, library));
    }
  } else {
    paths.push_back(library.starts_with('/') ? library : join(folder, library));
  }
  if (paths.empty()) return tl::unexpected(std::string("there is no directory to search for it"));
  const auto found = std::find_if(paths.begin(), paths.end(), [](const auto& path) { return exists(path); });
  const auto real = real_path(found == paths.end() ? paths.front() : *found);
  if (!real) {
    std::string also;
    for (size_t i = 1; i < paths.size(); ++i) also += "; also not in " + folder_of(paths[i]);
    return tl::unexpected(fmt::format("{}: {}{}", paths.front(), real.error(), also));
  }
  if (auto permitted = check_permitted(*real); !permitted) return tl::unexpected(permitted.error());
  return *real;
}

Explained<void> LoaderEnvironment::check_permitted(const std::string& path) const {
  return elevated ? check_trusted(path, owner) : Explained<void>{};
}

}  // namespace rigel
