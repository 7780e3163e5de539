#include "runtime_library.hpp"

#include <filesystem>

#include <fmt/core.h>

namespace rigel::vgpu_run {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libhsa-runtime64.so.1";

}  // namespace

tl::expected<std::string, std::string> runtime_folder(std::string_view selection,
                                                      const std::string& own_folder) {
  std::error_code error;
  if (selection == "system") return std::string();
  if (selection == "rigel") {
    if (fs::exists(fs::path(own_folder) / kLibrary, error)) return own_folder;
    return tl::unexpected(
        fmt::format("--runtime rigel: {} not found in {}; use --runtime system", kLibrary, own_folder));
  }
  const fs::path path(selection);
  if (!fs::exists(path, error)) {
    const bool is_name = selection.find('/') == selection.npos;
    return tl::unexpected(
        is_name ? fmt::format("--runtime: unknown runtime '{}'; use rigel, system or a path", selection)
                : fmt::format("--runtime: no such file or directory '{}'", selection));
  }
  const fs::path folder = fs::is_directory(path, error) ? path : path.parent_path();
  const fs::path library = (folder.empty() ? fs::path(".") : folder) / kLibrary;
  if (!fs::exists(library, error)) {
    return tl::unexpected(fmt::format("--runtime {}: {} not found in this directory", selection, kLibrary));
  }
  // Programs load the library by the name kLibrary: a file of another name would not be used.
  if (!fs::is_directory(path, error) && !fs::equivalent(path, library, error)) {
    return tl::unexpected(fmt::format(
        "--runtime {}: programs load {}, which is a different file in this directory", selection, kLibrary));
  }
  return fs::canonical(library.parent_path(), error).string();
}

std::string cannot_be_named(std::string_view folder, std::string_view variable) {
  const std::string_view separators = variable == "LD_PRELOAD" ? " :" : ":;";
  const size_t at = folder.find_first_of(separators);
  if (at == folder.npos) return {};
  return fmt::format(
      "{}: invalid directory name: the dynamic linker ends names in {} at '{}'; install in another directory",
      folder, variable, folder[at]);
}

}  // namespace rigel::vgpu_run
