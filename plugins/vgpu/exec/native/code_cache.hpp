// Machine code of kernels on disk, so that later processes run compiled code from a hot kernel's first launch
// on.
//
// An entry is a file with a request to the compiler and its answer. It is used if its checksum is right, if
// the request is identical (same build, same code byte for byte), and if the caller finds the plan's digest
// equal. Entries do not depend on addresses: requests are compared as if kernels started at address 0.
// Processes in other containers and on other machines can use them.
//
// A cache can also have read-only directories, for example those of an image or of an earlier CI job. They
// are searched after the user's directory, and are not changed.
//
// Directories and files that other users can write to are ignored, and so are those that belong to another
// user, unless that user is root and the directory is read-only.
//
// *Threads:* any, and several processes. Files get their name when they are complete.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plugins/vgpu/exec/native/messages.hpp"

namespace rigel::vgpu::exec::compiler {

class CodeCache {
 public:
  static constexpr uint64_t kMostBytes = 128 << 20;

  /// Without `folder`, nothing is kept. Above `most_bytes`, the least recently used entries are deleted.
  explicit CodeCache(std::string folder, std::vector<std::string> read_only = {},
                     uint64_t most_bytes = kMostBytes);

  /// Returns the entry's name, for a request whose code can be read; empty: no entry is kept.
  std::string name_of(const Request& request) const;
  /// Whether there is an entry with this name.
  bool has(const std::string& name) const;
  std::optional<Answer> find(const std::string& name, const Request& request,
                             std::span<const Image> images) const;
  /// Stores an entry. Returns false if it could not; the kernel is then compiled again.
  bool keep(const std::string& name, const Request& request, std::span<const Image> images,
            const Answer& answer) const;

 private:
  // Returns the user's open directory, or -1 if it is missing or if another user may write to it.
  int open_folder(bool make) const;
  static std::optional<Answer> find_in(int directory, bool is_read_only, const std::string& name,
                                       const Request& request, std::span<const Image> images);
  void make_room(int folder) const;

  const std::string folder_;
  const std::vector<std::string> read_only_;
  const uint64_t most_bytes_;
};

/// Returns the directory: VGPU_CACHE ("off", or a directory), else rigel/vgpu in XDG_CACHE_HOME or in
/// ~/.cache. Empty if disabled, and in elevated processes.
std::string code_cache_folder();
/// The directories of VGPU_CACHE_READONLY, separated by colons. None in elevated processes.
std::vector<std::string> read_only_cache_directories();

}  // namespace rigel::vgpu::exec::compiler
