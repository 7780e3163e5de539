// Machine code of kernels on disk, so that a kernel which was hot once is compiled code from its first launch on in the programs
// that come after.
//
// An entry is a file of the user's own folder: what the compiler was asked, and what it answered. It is believed if it is whole
// (a checksum), if the same build asked exactly the same (the code of the kernel, byte for byte), and if the plan that the code
// was made from is the same (its digest, which the caller compares). Nothing in an entry depends on where Rigel lies, so that
// processes in other containers and on other machines can use it. Code of kernels may lie anywhere: requests are compared as
// if their kernels began at address 0.
//
// A cache can have read-only directories besides: those of an image or of an earlier CI job. They are searched after the
// user's own, and are not changed.
//
// Directories and files that other users can write to are ignored, and so are those that belong to another user, unless
// that user is root and the directory is read-only.
//
// Threads: any; also several processes at once. Files are complete when they get their name.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plugins/vgpu/compiler/messages.hpp"

namespace rigel::vgpu::exec::compiler {

class CodeCache {
 public:
  static constexpr uint64_t kMostBytes = 128 << 20;

  /// Without `folder` nothing is kept. What was used longest ago goes when there are more than `most_bytes`.
  explicit CodeCache(std::string folder, std::vector<std::string> read_only = {},
                     uint64_t most_bytes = kMostBytes);

  /// The name of the entry, for a request whose code can be read; empty: nothing is kept of it.
  std::string name_of(const Request& request) const;
  /// Whether there is an entry of that name.
  bool has(const std::string& name) const;
  std::optional<Answer> find(const std::string& name, const Request& request,
                             std::span<const Image> images) const;
  /// Errors are nobody's business: the kernel is compiled once more, some time.
  void keep(const std::string& name, const Request& request, std::span<const Image> images,
            const Answer& answer) const;

 private:
  // The user's directory, opened; -1: there is none, or another user may write to it.
  int open_folder(bool make) const;
  static std::optional<Answer> find_in(int directory, bool is_read_only, const std::string& name,
                                       const Request& request, std::span<const Image> images);
  void make_room(int folder) const;

  const std::string folder_;
  const std::vector<std::string> read_only_;
  const uint64_t most_bytes_;
};

/// Where the environment says: VGPU_CACHE ("off", or a folder), else XDG_CACHE_HOME, else .cache in HOME. Empty in elevated
/// processes.
std::string code_cache_folder();
/// The directories of VGPU_CACHE_READONLY, separated by colons. None in elevated processes.
std::vector<std::string> read_only_cache_directories();

}  // namespace rigel::vgpu::exec::compiler
