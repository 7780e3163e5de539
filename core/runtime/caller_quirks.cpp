#include "core/runtime/caller_quirks.hpp"

#include <link.h>

#include <charconv>
#include <cstdint>
#include <string_view>

namespace rigel {
namespace {

/// Versions of a library, by the first number behind `stem` in its file's name.
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

/// Whether one of them is in the process.
bool has(Versions wanted) noexcept {
  return ::dl_iterate_phdr(is_of, &wanted) != 0;
}

}  // namespace

bool has_hip_that_needs_a_gpu() noexcept {
  return has({.stem = "libamdhip64.so.", .first = 1, .last = 5});
}

bool has_hip_that_knows_extended_scope() noexcept {
  return has({.stem = "libamdhip64.so.", .first = 6});
}

bool has_openmp_that_reads_all_isas() noexcept {
  return has({.stem = "libomptarget.so.", .first = 20});
}

}  // namespace rigel
