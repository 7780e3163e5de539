#include "core/runtime/caller_quirks.hpp"

#include <link.h>

#include <charconv>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace rigel {
namespace {

/// Versions of a library: the first number after `stem` in its file name.
struct Versions {
  std::string_view stem;
  uint32_t first;
  uint32_t last = UINT32_MAX;
};

int is_of(dl_phdr_info* library, size_t, void* data) noexcept {
  const auto& wanted = *static_cast<const Versions*>(data);
  std::string_view name = library->dlpi_name == nullptr ? "" : library->dlpi_name;
  if (const size_t slash = name.rfind('/'); slash != name.npos) name.remove_prefix(slash + 1);
  if (!name.starts_with(wanted.stem)) return 0;
  name.remove_prefix(wanted.stem.size());
  uint32_t version = 0;
  std::from_chars(name.data(), name.data() + name.size(), version);
  return version >= wanted.first && version <= wanted.last ? 1 : 0;
}

/// Whether one of them is loaded.
bool has(Versions wanted) noexcept {
  return ::dl_iterate_phdr(is_of, &wanted) != 0;
}

constexpr std::string_view kHip = "libamdhip64.so.";

/// Parses the numbers after `kHip` in a file name.
std::optional<HipVersion> hip_version(std::string_view path) noexcept {
  const size_t at = path.rfind(kHip);
  if (at == path.npos) return std::nullopt;
  path.remove_prefix(at + kHip.size());
  HipVersion version{};
  const char* const end = path.data() + path.size();
  const auto major = std::from_chars(path.data(), end, version.major);
  if (major.ec != std::errc{}) return std::nullopt;
  if (major.ptr != end && *major.ptr == '.') std::from_chars(major.ptr + 1, end, version.minor);
  return version;
}

/// Copies the path if this library is HIP.
int keep_path_of_hip(dl_phdr_info* library, size_t, void* data) noexcept {
  const char* const path = library->dlpi_name;
  if (path == nullptr || std::strlen(path) >= PATH_MAX || !hip_version(path)) return 0;
  std::strcpy(static_cast<char*>(data), path);
  return 1;
}

}  // namespace

std::optional<HipVersion> hip_in_process() noexcept {
  char path[PATH_MAX];
  if (::dl_iterate_phdr(keep_path_of_hip, path) == 0) return std::nullopt;
  // libamdhip64.so.5 is a link to the file with the full version.
  char file[PATH_MAX];
  if (::realpath(path, file) != nullptr) {
    if (const auto version = hip_version(file)) return version;
  }
  return hip_version(path);
}

bool has_hip_that_needs_a_gpu() noexcept {
  return has({.stem = kHip, .first = 1, .last = 5});
}

bool has_hip_that_knows_extended_scope() noexcept {
  return has({.stem = kHip, .first = 6});
}

bool has_openmp_that_reads_all_isas() noexcept {
  return has({.stem = "libomptarget.so.", .first = 20});
}

}  // namespace rigel
