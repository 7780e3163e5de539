// The file of a trace, opened for appending. A regular file is locked exclusively, if its file system
// supports locks.
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

  /// Opens the file, and truncates it unless `append` is set. Throws std::system_error, or std::runtime_error
  /// if another process holds the lock.
  void open(const std::string& path, bool append);
  /// Writes all bytes. Returns 0 or errno.
  int write(std::string_view bytes) noexcept;
  void close() noexcept;

 private:
  int descriptor_ = -1;
};

}  // namespace trace
