// Where the bytes of a code object come from: a file or the application's memory.
//
// A file is read once, when its reader is created, into memory of the reader's own. So it may be closed,
// overwritten or truncated afterwards: a mapped file that shrinks would take the process down with SIGBUS in
// the middle of a load. Memory stays the application's, who keeps it unchanged for as long as the reader
// lives.
//
// Immutable once made; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/base/status.hpp"

namespace rigel {

class CodeObjectReader {
 public:
  /// All of an open file. INVALID_FILE if it cannot be read or is empty.
  static Result<std::shared_ptr<CodeObjectReader>> from_file(int descriptor);

  /// A part of an open file: INVALID_FILE as above, INVALID_CODE_OBJECT if the file has no such part.
  static Result<std::shared_ptr<CodeObjectReader>> from_file(int descriptor, uint64_t offset, uint64_t size);

  /// Memory; `owner` keeps it, if anybody has to.
  static std::shared_ptr<CodeObjectReader> from_memory(std::span<const std::byte> memory,
                                                       std::shared_ptr<const void> owner = nullptr);

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::string& uri() const { return uri_; }
  /// The descriptor that it was made from, which is the application's and may be closed by now.
  std::optional<int> file() const { return file_; }
  /// The bytes can be had again by the URI: whoever keeps that need not keep the reader.
  bool is_copy_of_named_file() const { return is_copy_of_named_file_; }

 private:
  CodeObjectReader() = default;
  static Result<std::shared_ptr<CodeObjectReader>> read(int descriptor, uint64_t file_size, uint64_t offset,
                                                        uint64_t size);

  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
  std::string uri_;
  std::optional<int> file_;
  bool is_copy_of_named_file_ = false;
};

}  // namespace rigel
