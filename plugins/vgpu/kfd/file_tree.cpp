#include "plugins/vgpu/kfd/file_tree.hpp"

namespace rigel::vgpu {

// Implicit parents are directories that the tree shares with the real file system.
void FileTree::add_parents(const std::string& path) {
  for (size_t slash = path.rfind('/'); slash != std::string::npos && slash > 0;
       slash = path.rfind('/', slash - 1)) {
    nodes_.try_emplace(path.substr(0, slash), FileNode{.kind = FileNode::Kind::kDirectory});
  }
}

void FileTree::add(std::string path, FileNode node) {
  add_parents(path);
  nodes_.insert_or_assign(std::move(path), std::move(node));
}

void FileTree::add_file(std::string path, std::string content) {
  add(std::move(path), {.content = std::move(content)});
}

void FileTree::add_vram_use(std::string path, FileNode::VramUse use) {
  add(std::move(path), {.vram_use = use});
}

void FileTree::add_kfd(std::string path) {
  add(std::move(path), {.kind = FileNode::Kind::kKfd});
}

void FileTree::add_drm_node(std::string path, uint32_t minor) {
  add(std::move(path), {.kind = FileNode::Kind::kDrmNode, .minor = minor});
}

void FileTree::add_directory(std::string path) {
  owned_.insert(path);
  add(std::move(path), {.kind = FileNode::Kind::kDirectory});
}

void FileTree::add_link(std::string from, std::string to) {
  add_parents(from);
  links_.emplace(std::move(from), std::move(to));
}

std::string FileTree::canonical(std::string_view path, LastLink last) const {
  std::string out;
  out.reserve(path.size());
  for (size_t at = 0; at < path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    at = end + 1;
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      out.resize(out.empty() ? 0 : out.rfind('/'));
      continue;
    }
    out += '/';
    out += part;
    // A link inside a path is followed at once, so that ".." after it refers to its target.
    if (at < path.size()) {
      if (const auto it = links_.find(out); it != links_.end()) out = it->second;
    }
  }
  // A path that ends in a slash refers to the target of the link.
  if (last == LastLink::kFollow || path.ends_with('/')) {
    if (const auto it = links_.find(out); it != links_.end()) out = it->second;
  }
  return out.empty() ? "/" : out;
}

const FileNode* FileTree::find(std::string_view canonical_path) const {
  const auto it = nodes_.find(canonical_path);
  return it == nodes_.end() ? nullptr : &it->second;
}

bool FileTree::owns(std::string_view canonical_path) const {
  const FileNode* const node = find(canonical_path);
  if (node != nullptr && node->kind != FileNode::Kind::kDirectory) return true;
  if (links_.contains(canonical_path)) return true;
  for (std::string_view path = canonical_path; !path.empty();) {
    if (owned_.contains(path)) return true;
    path = path.substr(0, path.rfind('/'));
  }
  return false;
}

std::vector<std::string> FileTree::list(std::string_view canonical_path) const {
  std::vector<std::string> names;
  std::string prefix(canonical_path);
  prefix += '/';
  const auto add_from = [&](const auto& paths) {
    for (auto it = paths.lower_bound(prefix); it != paths.end() && it->first.starts_with(prefix); ++it) {
      const std::string_view rest = std::string_view(it->first).substr(prefix.size());
      if (rest.find('/') == rest.npos) names.emplace_back(rest);
    }
  };
  add_from(nodes_);
  add_from(links_);
  return names;
}

const std::string* FileTree::link_target(std::string_view path) const {
  const auto it = links_.find(path);
  return it == links_.end() ? nullptr : &it->second;
}

}  // namespace rigel::vgpu
