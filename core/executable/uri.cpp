#include "core/executable/uri.hpp"

#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>

#include <fmt/core.h>

#include "api/support/mutex.hpp"
#include "core/executable/fork.hpp"
#include "loader/code_object/bounds.hpp"

namespace rigel {
namespace {

constexpr std::string_view kPlainCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_.~-";

/// Returns the target of a link in /proc, which need not be a file's path.
std::optional<std::string> read_link(const char* path) {
  std::string target(PATH_MAX, '\0');
  const ssize_t size = ::readlink(path, target.data(), target.size());
  if (size <= 0 || static_cast<size_t>(size) >= target.size()) return std::nullopt;
  target.resize(static_cast<size_t>(size));
  return target;
}

std::optional<std::string> absolute_path(const char* path) {
  const std::unique_ptr<char, decltype(&::free)> absolute(::realpath(path, nullptr), &::free);
  return absolute ? std::optional<std::string>(absolute.get()) : std::nullopt;
}

/// Finds the segment of a loaded ELF file that contains a memory range.
struct MappedFile {
  uint64_t address;
  uint64_t size;
  std::optional<std::string> path;
  uint64_t offset = 0;

  static int visit(dl_phdr_info* info, size_t, void* data) {
    return static_cast<MappedFile*>(data)->look_at(*info);
  }

  int look_at(const dl_phdr_info& info) {
    for (ElfW(Half) i = 0; i < info.dlpi_phnum; ++i) {
      const ElfW(Phdr)& segment = info.dlpi_phdr[i];
      if (segment.p_type != PT_LOAD) continue;
      const uint64_t start = info.dlpi_addr + segment.p_vaddr;
      if (address < start || !lies_within(address - start, size, segment.p_memsz)) continue;
      // Writable data may differ from the file, and data past the file is zeros.
      if ((segment.p_flags & PF_W) == 0 && lies_within(address - start, size, segment.p_filesz)) {
        // The executable has an empty name in this list.
        path = info.dlpi_name[0] == '\0' ? read_link("/proc/self/exe") : absolute_path(info.dlpi_name);
        offset = segment.p_offset + (address - start);
      }
      return 1;
    }
    return 0;
  }
};

}  // namespace

std::string file_uri(std::string_view path, std::optional<FileRange> range) {
  std::string uri = "file://";
  for (const char character : path) {
    if (kPlainCharacters.find(character) != kPlainCharacters.npos) {
      uri += character;
    } else {
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(character));
    }
  }
  if (range) uri += fmt::format("#offset={}&size={}", range->offset, range->size);
  return uri;
}

std::string memory_uri(std::span<const std::byte> memory) {
  return fmt::format("memory://{}#offset={:#x}&size={}", ::getpid(),
                     reinterpret_cast<uintptr_t>(memory.data()), memory.size());
}

std::string best_uri(std::span<const std::byte> memory) {
  MappedFile file{.address = reinterpret_cast<uintptr_t>(memory.data()), .size = memory.size(), .path = {}};
  {
    const MutexLock lock(loaded_files_mutex());
    ::dl_iterate_phdr(&MappedFile::visit, &file);
  }
  if (!file.path) return memory_uri(memory);
  return file_uri(*file.path, FileRange{file.offset, memory.size()});
}

Mutex& loaded_files_mutex() noexcept {
  static constinit Mutex mutex;
  return mutex;
}

std::optional<std::string> path_of_file(int descriptor) {
  auto path = read_link(fmt::format("/proc/self/fd/{}", descriptor).c_str());
  // For a deleted or renamed file, a memfd, or a file of another mount namespace, the link names nothing or
  // another file.
  struct stat by_path {};
  struct stat by_descriptor {};
  if (!path || ::stat(path->c_str(), &by_path) != 0 || ::fstat(descriptor, &by_descriptor) != 0)
    return std::nullopt;
  if (by_path.st_dev != by_descriptor.st_dev || by_path.st_ino != by_descriptor.st_ino) return std::nullopt;
  return path;
}

}  // namespace rigel
