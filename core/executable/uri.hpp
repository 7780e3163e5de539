// Names of code objects for debuggers and profilers, in the syntax that hsa_ven_amd_loader.h defines:
//   file://<path>[#offset=<n>&size=<n>]        memory://<process>#offset=<address>&size=<n>
//
// Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rigel {

/// Part of a file.
struct FileRange {
  uint64_t offset;
  uint64_t size;
};

/// `path` is absolute; characters outside of [a-zA-Z0-9/_.~-] are written as %XX. Without a range: the whole
/// file.
std::string file_uri(std::string_view path, std::optional<FileRange> range);

/// Memory of this process.
std::string memory_uri(std::span<const std::byte> memory);

/// file_uri if the memory is read-only and mapped from a shared object or the executable, since that can be
/// found later and by others; else memory_uri.
std::string best_uri(std::span<const std::byte> memory);

/// The path by which the open file can be opened again, if there is one.
std::optional<std::string> path_of_file(int descriptor);

}  // namespace rigel
