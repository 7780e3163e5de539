// The file of a trace: appended to, and nobody else's while it is. What is no regular file has no such owner.
#pragma once

#include <string>
#include <string_view>

namespace trace {

class OutputFile {
 public:
  OutputFile() = default;
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Opens the file, and empties it unless `goes_on`. Throws std::system_error, or std::runtime_error if
  /// another process writes to it, as far as the file system can tell.
  void open(const std::string& path, bool goes_on);
  /// Writes it all, or returns the number of the error (errno).
  int write(std::string_view bytes) noexcept;
  void close() noexcept;

 private:
  int descriptor_ = -1;
};

}  // namespace trace
