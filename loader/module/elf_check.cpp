#include "loader/module/elf_check.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <vector>

#include <fmt/core.h>

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

auto no(std::string why) {
  return tl::unexpected(std::move(why));
}

bool read_at(int fd, void* out, size_t size, uint64_t offset) {
  auto* to = static_cast<char*>(out);
  while (size != 0) {
    const ssize_t got = ::pread(fd, to, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    size -= static_cast<size_t>(got);
    offset += static_cast<uint64_t>(got);
  }
  return true;
}

Explained<void> check_header(const ElfW(Ehdr) & header) {
  if (header.e_ident[EI_CLASS] != kHostClass) {
    return no(fmt::format("a library of {} bits in a process of {}",
                          header.e_ident[EI_CLASS] == ELFCLASS32 ? 32 : 64, sizeof(void*) * 8));
  }
  if (header.e_ident[EI_DATA] != kHostData) return no("of the other byte order");
  if (header.e_machine != kHostMachine) {
    return no(fmt::format("built for another architecture (ELF machine {}; this process is {}, machine {})",
                          header.e_machine, kHostArch, kHostMachine));
  }
  if (header.e_type != ET_DYN) return no(fmt::format("not a shared library (ELF type {})", header.e_type));
  if (header.e_phentsize != sizeof(ElfW(Phdr)) || header.e_phnum == 0 || header.e_phnum > kMaxSegments) {
    return no(fmt::format("{} program headers of {} bytes", header.e_phnum, header.e_phentsize));
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
  const auto size = static_cast<uint64_t>(status.st_size);

  ElfW(Ehdr) header{};
  if (size < SELFMAG || !read_at(file.get(), &header, SELFMAG, 0) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return no("not an ELF file");
  }
  if (size < sizeof header || !read_at(file.get(), &header, sizeof header, 0))
    return no("truncated in its ELF header");
  if (auto good = check_header(header); !good) return good;

  std::vector<ElfW(Phdr)> segments(header.e_phnum);
  const uint64_t table_size = uint64_t{header.e_phnum} * sizeof(ElfW(Phdr));
  if (header.e_phoff > size || table_size > size - header.e_phoff ||
      !read_at(file.get(), segments.data(), table_size, header.e_phoff)) {
    return no("truncated before its program headers end");
  }
  bool is_dynamic = false;
  for (const auto& segment : segments) {
    is_dynamic |= segment.p_type == PT_DYNAMIC;
    if (segment.p_type != PT_LOAD && segment.p_type != PT_DYNAMIC) continue;
    if (segment.p_offset > size || segment.p_filesz > size - segment.p_offset) {
      return no(fmt::format("truncated: a segment ends at byte {} of {}", segment.p_offset + segment.p_filesz,
                            size));
    }
  }
  return is_dynamic ? Explained<void>{} : no("not a shared library (no dynamic section)");
}

}  // namespace rigel
