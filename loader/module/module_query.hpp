// Calls a module's query function and copies the structs of its table, each of which starts with its size.
// Used by the files of this directory only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>

#include <fmt/core.h>

#include "loader/module/dynamic_module.hpp"
#include "loader/text/words.hpp"

namespace rigel {

constexpr uint64_t kMaxStructSize = 64 * 1024;  // larger sizes are invalid
constexpr uint64_t kMaxModuleText = 256;

/// Progress of loading before a failure, and its reason.
struct LoadFailure {
  bool was_opened;
  std::string text;
};

/// Opens the library at an absolute path and calls its query for the table of this version. An exception,
/// which the contract forbids, counts as a failure. The caller must hold no lock.
template <class Table>
tl::expected<const Table*, LoadFailure> query_module(const std::string& path, const char* symbol,
                                                     uint32_t major, uint32_t minor) {
  const auto opened_but = [](std::string why) { return tl::unexpected(LoadFailure{true, std::move(why)}); };
  const auto module = DynamicModule::open(path);
  if (!module) return tl::unexpected(LoadFailure{false, module.error()});
  auto* const query = module->template function<const Table*(uint32_t, uint32_t)>(symbol);
  if (query == nullptr) return opened_but(fmt::format("{}: does not export {}", path, symbol));
  try {
    if (const Table* table = query(major, minor)) return table;
    return opened_but(fmt::format("does not support ABI {}.{} of this runtime", major, minor));
  } catch (const std::exception& problem) {
    return opened_but(fmt::format("its query function threw: {}", problem.what()));
  } catch (...) {
    return opened_but("its query function threw an exception");
  }
}

/// Copies the struct at `from` into the runtime's, zero-filled if the module's is shorter. `least` is its
/// size in version 1.0.
template <class T>
Explained<T> copy_sized(const T* from, uint64_t least, const char* what) {
  T own{};
  const uint64_t size = from->struct_size;
  if (size < least || size > kMaxStructSize) {
    return tl::unexpected(
        fmt::format("{}: invalid struct_size {}; version 1.0 has {} bytes", what, size, least));
  }
  std::memcpy(&own, from, static_cast<size_t>(std::min<uint64_t>(size, sizeof own)));
  return own;
}

/// Copies a sized string: hsabe_str_t or similar.
template <class Str>
Explained<std::string> copy_text(const Str& text, const char* what) {
  if (text.size > kMaxModuleText || (text.data == nullptr && text.size != 0)) {
    return tl::unexpected(fmt::format("its {} is an invalid string ({} bytes at {})", what, text.size,
                                      static_cast<const void*>(text.data)));
  }
  return text.size == 0 ? std::string() : std::string(text.data, static_cast<size_t>(text.size));
}

}  // namespace rigel
