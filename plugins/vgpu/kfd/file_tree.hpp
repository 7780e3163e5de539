// The files that the virtual driver shows: sysfs topology, PCI identity, /proc/modules, device nodes.
//
// A set of absolute paths with contents, built once and never changed: any thread. Folders exist because
// files do. Links from the other names that Linux has for the same files (/sys/class/kfd) are prefixes that
// are rewritten.
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
  enum class Kind : uint8_t { kFile, kFolder, kKfd, kDrmNode };
  Kind kind = Kind::kFile;
  std::string content{};  ///< Of a file.
  uint32_t minor = 0;     ///< Of a DRM node: a card or a render node.
  /// A file that tells how much of its local memory a GPU, by its index, has given away: up to `most` bytes.
  struct VramUse {
    uint32_t gpu_index;
    uint64_t most;
  };
  std::optional<VramUse> vram_use{};
};

class FileTree {
 public:
  void add_file(std::string path, std::string content);
  void add_vram_use(std::string path, FileNode::VramUse use);
  void add_kfd(std::string path);
  void add_drm_node(std::string path, uint32_t minor);
  /// A folder that exists even if nothing is in it, and shows nothing else than what is in this tree.
  void add_folder(std::string path);
  /// What is said of `from` and below holds of `to` and below.
  void add_link(std::string from, std::string to);

  /// The absolute path without "//", "/./", "/../" and links; symbolic links of the real system are not
  /// followed. One that the path itself names can be kept.
  enum class LastLink : uint8_t { kFollow, kKeep };
  std::string canonical(std::string_view path, LastLink last = LastLink::kFollow) const;
  /// The node of a canonical path, or null if this tree does not have it.
  const FileNode* find(std::string_view canonical_path) const;
  /// Whether the path is the tree's to answer: it is there, is a link of the tree, or lies in a folder that
  /// is wholly the tree's, so that what isn't there does not exist.
  bool owns(std::string_view canonical_path) const;
  /// The names in a folder, links included.
  std::vector<std::string> list(std::string_view canonical_path) const;
  /// Where a symbolic link of this tree points, if `canonical_path` is one.
  const std::string* link_target(std::string_view path) const;

  const std::map<std::string, FileNode, std::less<>>& nodes() const { return nodes_; }

 private:
  void add(std::string path, FileNode node);
  void add_parents(const std::string& path);
  std::map<std::string, FileNode, std::less<>> nodes_;
  std::set<std::string, std::less<>> owned_;  // folders that are wholly the tree's
  std::map<std::string, std::string, std::less<>> links_;
};

}  // namespace rigel::vgpu
