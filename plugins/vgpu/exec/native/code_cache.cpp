#include "plugins/vgpu/exec/native/code_cache.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/support/descriptor.hpp"
#include "api/support/file_signals.hpp"

namespace rigel::vgpu::exec::compiler {
namespace {

constexpr char kMagic[8] = {'R', 'I', 'G', 'E', 'L', 'V', 'C', '1'};
constexpr uint64_t kMostEntryBytes = 16 << 20;
constexpr size_t kNamedBytes = 256;  // Bytes of code in the name; they distinguish most kernels.

struct Header {
  char magic[8];
  uint64_t checksum;  // Of everything after it.
  uint64_t request_bytes;
};

uint64_t hash_of(std::span<const std::byte> bytes, uint64_t hash) {
  for (const std::byte byte : bytes) hash = (hash ^ static_cast<uint64_t>(byte)) * 0x100000001b3u;
  return hash;
}
constexpr uint64_t kFirstHash = 0xcbf29ce484222325u, kOtherHash = 0x9ae16a3b2f90404fu;

// Whether only this user can have written it; in read-only directories, also root.
bool is_trusted(const struct stat& status, bool is_read_only) {
  return (status.st_uid == geteuid() || (is_read_only && status.st_uid == 0)) &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

int open_directory(const std::string& path, bool is_read_only) {
  const int directory = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct stat status {};
  if (directory < 0 || (fstat(directory, &status) == 0 && is_trusted(status, is_read_only))) return directory;
  close(directory);
  return -1;
}

// Returns the request as if the kernel began at address 0.
std::vector<std::byte> normalized_request(Request request, std::span<const Image> images) {
  std::vector<Image> moved(images.begin(), images.end());
  for (Image& image : moved) image.va -= request.entry_va;
  request.entry_va = 0;
  return to_message(request, moved);
}

bool read_all(int file, std::vector<std::byte>& to) {
  for (size_t done = 0; done < to.size();) {
    const ssize_t got = read(file, to.data() + done, to.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += static_cast<size_t>(got);
  }
  return true;
}

bool write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = without_file_signals([&] { return write(file, bytes.data(), bytes.size()); });
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(put));
  }
  return true;
}

// Whether the name is that of an entry or of an unfinished one; the directory may have other files.
bool is_entry_name(std::string_view name) {
  constexpr size_t kDigits = 32;
  return name.size() >= kDigits && (name.size() == kDigits || name[kDigits] == '.') &&
         name.find_first_not_of("0123456789abcdef") >= kDigits;
}

bool make_folders(const std::string& path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    if (mkdir(path.substr(0, end).c_str(), S_IRWXU) != 0 && errno != EEXIST) return false;
    if (end == std::string::npos) return true;
  }
}

}  // namespace

CodeCache::CodeCache(std::string folder, std::vector<std::string> read_only, uint64_t most_bytes)
    : folder_(std::move(folder)), read_only_(std::move(read_only)), most_bytes_(most_bytes) {}

int CodeCache::open_folder(bool make) const {
  if (folder_.empty() || (make && !make_folders(folder_))) return -1;
  return open_directory(folder_, false);
}

std::string CodeCache::name_of(const Request& request) const {
  if (folder_.empty() && read_only_.empty()) return {};
  std::byte begin[kNamedBytes];
  const size_t size = request.read(request.entry_va, begin);
  const std::vector<std::byte> asked = normalized_request(request, {});
  const auto hash = [&](uint64_t first) { return hash_of({begin, size}, hash_of(asked, first)); };
  return fmt::format("{:016x}{:016x}", hash(kFirstHash), hash(kOtherHash));
}

bool CodeCache::has(const std::string& name) const {
  const auto has_it = [&](const std::string& directory) {
    return !directory.empty() && access((directory + "/" + name).c_str(), R_OK) == 0;
  };
  return !name.empty() && (has_it(folder_) || std::ranges::any_of(read_only_, has_it));
}

std::optional<Answer> CodeCache::find(const std::string& name, const Request& request,
                                      std::span<const Image> images) const {
  if (name.empty()) return std::nullopt;
  if (const Descriptor folder(open_folder(false)); folder) {
    std::optional<Answer> answer = find_in(folder.get(), false, name, request, images);
    if (answer) return answer;
  }
  for (const std::string& path : read_only_) {
    const Descriptor directory(open_directory(path, true));
    if (!directory) continue;
    std::optional<Answer> answer = find_in(directory.get(), true, name, request, images);
    if (answer) return answer;
  }
  return std::nullopt;
}

std::optional<Answer> CodeCache::find_in(int directory, bool is_read_only, const std::string& name,
                                         const Request& request, std::span<const Image> images) {
  const Descriptor file(openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      !is_trusted(status, is_read_only))
    return std::nullopt;
  const auto size = static_cast<uint64_t>(status.st_size);
  if (size < sizeof(Header) || size > kMostEntryBytes) return std::nullopt;
  std::vector<std::byte> entry(size);
  if (!read_all(file.get(), entry)) return std::nullopt;
  Header header;
  std::memcpy(&header, entry.data(), sizeof header);
  const std::span<const std::byte> checked = std::span(entry).subspan(offsetof(Header, request_bytes));
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 ||
      header.checksum != hash_of(checked, kFirstHash))
    return std::nullopt;
  const std::span<const std::byte> rest = std::span(entry).subspan(sizeof header);
  if (header.request_bytes > rest.size()) return std::nullopt;
  const std::vector<std::byte> asked = normalized_request(request, images);
  if (!std::ranges::equal(rest.first(header.request_bytes), asked)) return std::nullopt;
  std::optional<Answer> answer = answer_from(rest.subspan(header.request_bytes));
  if (!answer || !answer->error.empty()) return std::nullopt;
  if (!is_read_only) futimens(file.get(), nullptr);  // Marks the entry as recently used.
  return answer;
}

bool CodeCache::keep(const std::string& name, const Request& request, std::span<const Image> images,
                     const Answer& answer) const {
  if (name.empty() || !answer.error.empty()) return false;
  const Descriptor folder(open_folder(true));
  if (!folder) return false;
  const std::vector<std::byte> asked = normalized_request(request, images), answered = to_message(answer);
  if (asked.size() + answered.size() > std::min(kMostEntryBytes, most_bytes_) - sizeof(Header)) return false;
  std::vector<std::byte> entry(sizeof(Header));
  entry.insert(entry.end(), asked.begin(), asked.end());
  entry.insert(entry.end(), answered.begin(), answered.end());
  Header header{{}, 0, asked.size()};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  std::memcpy(entry.data(), &header, sizeof header);
  header.checksum = hash_of(std::span(entry).subspan(offsetof(Header, request_bytes)), kFirstHash);
  std::memcpy(entry.data(), &header, sizeof header);
  static std::atomic<unsigned> unnamed_count{0};
  const std::string unnamed = fmt::format("{}.{}.{}", name, getpid(), unnamed_count.fetch_add(1));
  {
    const Descriptor file(openat(folder.get(), unnamed.c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!file) return false;
    if (!write_all(file.get(), entry) ||
        renameat(folder.get(), unnamed.c_str(), folder.get(), name.c_str()) != 0) {
      unlinkat(folder.get(), unnamed.c_str(), 0);
      return false;
    }
  }
  make_room(folder.get());
  return true;
}

void CodeCache::make_room(int folder) const {
  struct Entry {
    timespec used;
    uint64_t bytes;
    std::string name;
  };
  std::vector<Entry> entries;
  uint64_t bytes = 0;
  {
    const int duplicate = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const std::unique_ptr<DIR, int (*)(DIR*)> listing(duplicate < 0 ? nullptr : fdopendir(duplicate),
                                                      closedir);
    if (listing == nullptr) {
      if (duplicate >= 0) close(duplicate);
      return;
    }
    while (const dirent* const entry = readdir(listing.get())) {
      struct stat status {};
      if (!is_entry_name(entry->d_name)) continue;
      if (fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode))
        continue;
      entries.push_back({status.st_mtim, static_cast<uint64_t>(status.st_size), entry->d_name});
      bytes += entries.back().bytes;
    }
  }
  if (bytes <= most_bytes_) return;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
  });
  // Frees more than necessary, so that this is rarely done.
  for (const Entry& entry : entries) {
    if (bytes <= most_bytes_ / 4 * 3) return;
    if (unlinkat(folder, entry.name.c_str(), 0) == 0) bytes -= entry.bytes;
  }
}

std::vector<std::string> read_only_cache_directories() {
  std::vector<std::string> directories;
  const char* const value = getauxval(AT_SECURE) != 0 ? nullptr : std::getenv("VGPU_CACHE_READONLY");
  for (std::string_view rest = value == nullptr ? "" : value; !rest.empty();) {
    const std::string_view path = rest.substr(0, rest.find(':'));
    if (!path.empty()) directories.emplace_back(path);
    rest.remove_prefix(std::min(path.size() + 1, rest.size()));
  }
  return directories;
}

std::string code_cache_folder() {
  if (getauxval(AT_SECURE) != 0) return {};
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (const std::string chosen = variable("VGPU_CACHE"); !chosen.empty())
    return chosen == "off" ? "" : chosen;
  if (const std::string cache = variable("XDG_CACHE_HOME"); cache.starts_with('/'))
    return cache + "/rigel/vgpu";
  const std::string home = variable("HOME");
  return home.starts_with('/') ? home + "/.cache/rigel/vgpu" : "";
}

}  // namespace rigel::vgpu::exec::compiler
