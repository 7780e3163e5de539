#include "runtime_library.hpp"

#include <filesystem>

#include <fmt/core.h>

namespace rigel::vgpu_run {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libhsa-runtime64.so.1";

}  // namespace

tl::expected<std::string, std::string> runtime_folder(std::string_view what, const std::string& own_folder) {
  std::error_code error;
  if (what == "system") return std::string();
  if (what == "rigel") {
    if (fs::exists(fs::path(own_folder) / kLibrary, error)) return own_folder;
    return tl::unexpected(
        fmt::format("--runtime rigel: {} not found in {}; use --runtime system", kLibrary, own_folder));
  }
  const fs::path path(what);
  if (!fs::exists(path, error)) {
    const bool word = what.find('/') == what.npos;
    return tl::unexpected(
        word ? fmt::format("--runtime: unknown runtime '{}'; use rigel, system or a path", what)
             : fmt::format("--runtime: no such file or directory '{}'", what));
  }
  const fs::path folder = fs::is_directory(path, error) ? path : path.parent_path();
  const fs::path library = (folder.empty() ? fs::path(".") : folder) / kLibrary;
  if (!fs::exists(library, error)) {
    return tl::unexpected(fmt::format("--runtime {}: {} not found in this directory", what, kLibrary));
  }
  // The dynamic linker looks for the name that programs ask for.
  if (!fs::is_directory(path, error) && !fs::equivalent(path, library, error)) {
    return tl::unexpected(fmt::format(
        "--runtime {}: programs load {}, which is a different file in this directory", what, kLibrary));
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
