#include "loader/module/files.hpp"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>

#include <fmt/core.h>

namespace rigel {
namespace {

Explained<void> check_one(const std::string& path, uid_t owner, bool may_be_sticky) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    return tl::unexpected(fmt::format("{}: {}", path, error_text(errno)));
  if (status.st_uid != 0 && status.st_uid != owner) {
    return tl::unexpected(fmt::format("{} belongs to user {}, not to root", path, status.st_uid));
  }
  const bool others_write = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  if (others_write && !(may_be_sticky && (status.st_mode & S_ISVTX) != 0)) {
    return tl::unexpected(
        fmt::format("{} is writable by group or others (mode {:o})", path, status.st_mode & 07777));
  }
  return {};
}

}  // namespace

Explained<std::string> real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> resolved(::realpath(path.c_str(), nullptr), &std::free);
  if (!resolved) return tl::unexpected(error_text(errno));
  return std::string(resolved.get());
}

std::string folder_of(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == path.npos) return ".";
  return std::string(path.substr(0, std::max<size_t>(slash, 1)));
}

std::string_view file_name_of(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? path : path.substr(slash + 1);
}

Explained<std::vector<std::string>> list_folder(const std::string& path, std::string_view suffix) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), &::closedir);
  if (!folder) return tl::unexpected(error_text(errno));
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string_view name(entry->d_name);
    if (name.ends_with(suffix) && !name.starts_with('.')) names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool is_folder(const std::string& path) noexcept {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool is_link(const std::string& path) noexcept {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
}

bool exists(const std::string& path) noexcept {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

Explained<void> check_trusted(const std::string& path, uid_t owner) {
  if (auto own = check_one(path, owner, false); !own) return own;
  bool may_be_sticky = false;
  for (std::string folder = folder_of(path);; folder = folder_of(folder)) {
    if (auto above = check_one(folder, owner, may_be_sticky); !above) return above;
    if (folder == "/") return {};
    may_be_sticky = true;
  }
}

}  // namespace rigel
