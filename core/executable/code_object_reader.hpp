// Bytes of a code object, from a file or the application's memory.
//
// *Lifetime:* a file is read once into memory of the reader, when the reader is created. It may be closed,
// overwritten or truncated afterwards: a mapped file that shrinks would end the process with SIGBUS during a
// load. Memory belongs to the application, which must not change it while the reader lives.
// *Threads:* immutable after creation; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "api/support/status.hpp"

namespace rigel {

class CodeObjectReader {
 public:
  /// Reads a whole open file. Fails with INVALID_FILE if it is unreadable or empty.
  static Result<std::shared_ptr<CodeObjectReader>> from_file(int descriptor);

  /// Reads a part of an open file. Fails with INVALID_FILE as above, and INVALID_CODE_OBJECT if the file does
  /// not contain the part.
  static Result<std::shared_ptr<CodeObjectReader>> from_file(int descriptor, uint64_t offset, uint64_t size);

  /// Refers to memory, which `owner`, if not null, keeps alive.
  static std::shared_ptr<CodeObjectReader> from_memory(std::span<const std::byte> memory,
                                                       std::shared_ptr<const void> owner = nullptr);

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::string& uri() const { return uri_; }
  /// Descriptor of the file, which the application may have closed.
  std::optional<int> file() const { return file_; }
  /// Whether the URI refers to the same bytes, so that the reader is not needed for them.
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
