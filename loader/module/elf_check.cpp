#include "loader/module/elf_check.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <climits>
#include <cstring>
#include <optional>
#include <vector>

#include <fmt/core.h>

#include "api/support/descriptor.hpp"
#include "loader/module/files.hpp"

namespace rigel {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kHostMachine = EM_X86_64;
constexpr std::string_view kHostArch = "x86_64";
#elif defined(__aarch64__)
constexpr uint16_t kHostMachine = EM_AARCH64;
constexpr std::string_view kHostArch = "aarch64";
#elif defined(__riscv) && __riscv_xlen == 64
constexpr uint16_t kHostMachine = EM_RISCV;
constexpr std::string_view kHostArch = "riscv64";
#elif defined(__powerpc64__)
constexpr uint16_t kHostMachine = EM_PPC64;
constexpr std::string_view kHostArch = "ppc64le";
#else
#error "the ELF machine of this architecture is not known here"
#endif

constexpr uint8_t kHostClass = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
constexpr uint8_t kHostData = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
constexpr size_t kMaxSegments = 256;
constexpr uint64_t kMaxEntries = 4096;  // entries of the dynamic section to read; a library has about 30

auto no(std::string why) {
  return tl::unexpected(std::move(why));
}

struct Image {
  bool read(void* out, uint64_t count, uint64_t offset) const {
    if (offset > size || count > size - offset) return false;
    auto* to = static_cast<char*>(out);
    while (count != 0) {
      const ssize_t got = ::pread(fd, to, count, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      to += got;
      count -= static_cast<uint64_t>(got);
      offset += static_cast<uint64_t>(got);
    }
    return true;
  }

  int fd;
  uint64_t size;
};

using Segments = std::vector<ElfW(Phdr)>;

Explained<void> check_header(const ElfW(Ehdr) & header) {
  if (header.e_ident[EI_CLASS] != kHostClass) {
    return no(fmt::format("a {}-bit library in a {}-bit process",
                          header.e_ident[EI_CLASS] == ELFCLASS32 ? 32 : 64, sizeof(void*) * 8));
  }
  if (header.e_ident[EI_DATA] != kHostData) return no("the byte order differs from that of this process");
  if (header.e_machine != kHostMachine) {
    return no(fmt::format("built for another architecture (ELF machine {}; this process is {}, machine {})",
                          header.e_machine, kHostArch, kHostMachine));
  }
  if (header.e_type != ET_DYN) return no(fmt::format("not a shared library (ELF type {})", header.e_type));
  if (header.e_phentsize != sizeof(ElfW(Phdr)) || header.e_phnum == 0 || header.e_phnum > kMaxSegments) {
    return no(fmt::format("invalid program headers ({} of {} bytes)", header.e_phnum, header.e_phentsize));
  }
  return {};
}

Explained<ElfW(Ehdr)> read_header(const Image& image) {
  ElfW(Ehdr) header{};
  if (!image.read(&header, SELFMAG, 0) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return no("not an ELF file");
  }
  if (!image.read(&header, sizeof header, 0)) return no("truncated within the ELF header");
  if (auto good = check_header(header); !good) return no(good.error());
  return header;
}

Explained<Segments> read_segments(const Image& image, const ElfW(Ehdr) & header) {
  Segments segments(header.e_phnum);
  if (!image.read(segments.data(), segments.size() * sizeof(ElfW(Phdr)), header.e_phoff)) {
    return no("truncated within the program headers");
  }
  for (const auto& segment : segments) {
    if (segment.p_type != PT_LOAD && segment.p_type != PT_DYNAMIC) continue;
    if (segment.p_offset > image.size || segment.p_filesz > image.size - segment.p_offset) {
      return no(fmt::format("truncated: a segment ends at byte {} of {}", segment.p_offset + segment.p_filesz,
                            image.size));
    }
  }
  return segments;
}

// Returns the file offset of the data that the process will have at `address`.
std::optional<uint64_t> offset_of(const Segments& segments, uint64_t address) {
  for (const auto& segment : segments) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    const uint64_t within = address - segment.p_vaddr;
    if (within < segment.p_filesz) return segment.p_offset + within;
  }
  return std::nullopt;
}

std::string read_text(const Image& image, uint64_t offset) {
  std::array<char, NAME_MAX + 1> text{};
  if (offset >= image.size) return {};
  if (!image.read(text.data(), std::min<uint64_t>(text.size() - 1, image.size - offset), offset)) return {};
  return text.data();
}

// Returns the libraries that the dynamic linker will load. Unreadable names are left to it.
std::vector<std::string> needed_libraries(const Image& image, const Segments& segments,
                                          const ElfW(Phdr) & dynamic) {
  std::vector<ElfW(Dyn)> entries(std::min<uint64_t>(dynamic.p_filesz / sizeof(ElfW(Dyn)), kMaxEntries));
  if (!image.read(entries.data(), entries.size() * sizeof(ElfW(Dyn)), dynamic.p_offset)) return {};
  entries.erase(std::find_if(entries.begin(), entries.end(), [](auto& e) { return e.d_tag == DT_NULL; }),
                entries.end());
  const auto strings =
      std::find_if(entries.begin(), entries.end(), [](auto& e) { return e.d_tag == DT_STRTAB; });
  if (strings == entries.end()) return {};
  const auto table = offset_of(segments, strings->d_un.d_ptr);
  if (!table) return {};
  std::vector<std::string> names;
  for (const auto& entry : entries) {
    if (entry.d_tag == DT_NEEDED && entry.d_un.d_val < image.size)
      names.push_back(read_text(image, *table + entry.d_un.d_val));
  }
  return names;
}

// Sanitizer runtimes that must be loaded at process start. UndefinedBehaviorSanitizer's need not be.
bool is_sanitizer(std::string_view library) {
  constexpr std::array<std::string_view, 7> kBeginnings{
      "libasan.so",       "libhwasan.so",       "liblsan.so",      "libtsan.so",
      "libclang_rt.asan", "libclang_rt.hwasan", "libclang_rt.tsan"};
  return std::any_of(kBeginnings.begin(), kBeginnings.end(),
                     [&](std::string_view beginning) { return library.starts_with(beginning); });
}

bool is_in_process(const std::string& library) {
  void* const handle = ::dlopen(library.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle != nullptr) ::dlclose(handle);
  return handle != nullptr;
}

Explained<void> check_needed(const std::vector<std::string>& libraries) {
  for (const std::string& library : libraries) {
    if (is_sanitizer(library) && !is_in_process(library)) {
      return no(fmt::format(
          "built with a sanitizer ({}) that is not in this process; preload it, or use a build without it",
          library));
    }
  }
  return {};
}

}  // namespace

std::string_view host_arch() {
  return kHostArch;
}

Explained<void> check_shared_library(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) return no(error_text(errno));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return no(error_text(errno));
  if (!S_ISREG(status.st_mode)) return no("not a regular file");
  const Image image{file.get(), static_cast<uint64_t>(status.st_size)};

  const auto header = read_header(image);
  if (!header) return no(header.error());
  const auto segments = read_segments(image, *header);
  if (!segments) return no(segments.error());
  const auto dynamic = std::find_if(segments->begin(), segments->end(),
                                    [](auto& segment) { return segment.p_type == PT_DYNAMIC; });
  if (dynamic == segments->end()) return no("not a shared library (no dynamic section)");
  return check_needed(needed_libraries(image, *segments, *dynamic));
}

}  // namespace rigel
