// The files of the virtual driver: sysfs topology, PCI identity, /proc/modules, device nodes.
//
// Maps absolute paths to contents. Directories exist implicitly if they contain files. Other names of the
// same files in Linux (/sys/class/kfd) are links: prefixes that are rewritten.
//
// Threads: immutable after construction.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace rigel::vgpu {

struct FileNode {
  enum class Kind : uint8_t { kFile, kDirectory, kKfd, kDrmNode };
  Kind kind = Kind::kFile;
  std::string content{};  ///< Content of a regular file.
  uint32_t minor = 0;     ///< Minor number of a DRM node: a card or a render node.
  /// A file with the VRAM that a GPU has allocated, at most `limit_bytes`.
  struct VramUse {
    uint32_t gpu_index;
    uint64_t limit_bytes;
  };
  std::optional<VramUse> vram_use{};
};

class FileTree {
 public:
  void add_file(std::string path, std::string content);
  void add_vram_use(std::string path, FileNode::VramUse use);
  void add_kfd(std::string path);
  void add_drm_node(std::string path, uint32_t minor);
  /// Adds a directory that exists even if it is empty. It contains only what is in this tree.
  void add_directory(std::string path);
  /// Makes `from` and all paths below it aliases of `to` and the paths below it.
  void add_link(std::string from, std::string to);

  /// Returns the absolute path without "//", "/./", "/../" and links of this tree. Symbolic links of the real
  /// file system are not followed. `last` decides about a link that the whole path names.
  enum class LastLink : uint8_t { kFollow, kKeep };
  std::string canonical(std::string_view path, LastLink last = LastLink::kFollow) const;
  /// The node of a canonical path, or null if this tree does not have it.
  const FileNode* find(std::string_view canonical_path) const;
  /// Whether this tree answers for the path: it contains the path, has a link of that name, or owns a
  /// directory above it. In an owned directory, other paths do not exist.
  bool owns(std::string_view canonical_path) const;
  /// The names in a directory, including links.
  std::vector<std::string> list(std::string_view canonical_path) const;
  /// The target of the link `path`, or null if it is not a link.
  const std::string* link_target(std::string_view path) const;

  const std::map<std::string, FileNode, std::less<>>& nodes() const { return nodes_; }

 private:
  void add(std::string path, FileNode node);
  void add_parents(const std::string& path);
  std::map<std::string, FileNode, std::less<>> nodes_;
  std::set<std::string, std::less<>> owned_;  // directories that contain only files of this tree
  std::map<std::string, std::string, std::less<>> links_;
};

}  // namespace rigel::vgpu
