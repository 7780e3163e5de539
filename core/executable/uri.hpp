// Names of code objects for debuggers and profilers, in the syntax of hsa_ven_amd_loader.h:
//
//   file://<path>[#offset=<n>&size=<n>]        memory://<process>#offset=<address>&size=<n>
//
// *Threads:* any thread.
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

/// Returns the URI of a file or a part. `path` is absolute; characters outside of [a-zA-Z0-9/_.~-] are
/// encoded as %XX.
std::string file_uri(std::string_view path, std::optional<FileRange> range);

/// Returns the URI of memory of this process.
std::string memory_uri(std::span<const std::byte> memory);

/// Returns file_uri for read-only memory that is mapped from a shared object or the executable, because other
/// processes can read it later; otherwise memory_uri.
std::string best_uri(std::span<const std::byte> memory);

/// Returns the path by which the open file can be opened again, if any.
std::optional<std::string> path_of_file(int descriptor);

}  // namespace rigel
