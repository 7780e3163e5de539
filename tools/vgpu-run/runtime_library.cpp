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
    return tl::unexpected(fmt::format(
        "--runtime rigel: there is no {} in {} (--runtime system takes the system's)", kLibrary, own_folder));
  }
  const fs::path path(what);
  if (!fs::exists(path, error)) {
    const bool word = what.find('/') == what.npos;
    return tl::unexpected(fmt::format("--runtime {}: there is no such {}", what,
                                      word ? "runtime (rigel, system or a path)" : "file or folder"));
  }
  const fs::path folder = fs::is_directory(path, error) ? path : path.parent_path();
  const fs::path library = (folder.empty() ? fs::path(".") : folder) / kLibrary;
  if (!fs::exists(library, error)) {
    return tl::unexpected(fmt::format("--runtime {}: there is no {} in that folder", what, kLibrary));
  }
  // The dynamic linker looks for the name that programs ask for.
  if (!fs::is_directory(path, error) && !fs::equivalent(path, library, error)) {
    return tl::unexpected(
        fmt::format("--runtime {}: programs ask for {}, which is another file there", what, kLibrary));
  }
  return fs::canonical(library.parent_path(), error).string();
}

std::string cannot_be_named(std::string_view folder, std::string_view variable) {
  const std::string_view separators = variable == "LD_PRELOAD" ? " :" : ":;";
  const size_t at = folder.find_first_of(separators);
  if (at == folder.npos) return {};
  return fmt::format(
      "{}: the dynamic linker ends a name in {} at '{}', so libraries cannot be taken from there", folder,
      variable, folder[at]);
}

}  // namespace rigel::vgpu_run
