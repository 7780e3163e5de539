#include "plugins/vgpu/exec/report/loaded_code_objects.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

namespace rigel::vgpu::exec {
namespace {

constexpr size_t kMaxObjects = 1 << 16;
constexpr uint64_t kMaxBytes = uint64_t{4} << 30;
constexpr size_t kMaxUriBytes = 8192;

bool copy_from_self(void* to, uint64_t from, size_t bytes) {
  const iovec local{to, bytes}, remote{reinterpret_cast<void*>(from), bytes};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

template <class T>
bool copy_from_self(T& to, const void* from) {
  return copy_from_self(&to, reinterpret_cast<uint64_t>(from), sizeof to);
}

std::string copy_text(const char* from) {
  std::string text;
  for (char c = 0; text.size() < kMaxUriBytes && copy_from_self(c, from + text.size()) && c != 0;) text += c;
  return text;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

std::string decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0) {
      out += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

// Returns a number of fields such as "offset=0x40&size=12".
uint64_t number_of(std::string_view fields, std::string_view key, uint64_t default_value) {
  for (size_t at = 0; at < fields.size();) {
    const size_t end = std::min(fields.find('&', at), fields.size());
    std::string_view field = fields.substr(at, end - at);
    at = end + 1;
    if (!field.starts_with(key)) continue;
    field.remove_prefix(key.size());
    const bool hex = field.starts_with("0x");
    if (hex) field.remove_prefix(2);
    uint64_t value = 0;
    const auto [rest, error] =
        std::from_chars(field.data(), field.data() + field.size(), value, hex ? 16 : 10);
    if (error == std::errc() && rest == field.data() + field.size()) return value;
  }
  return default_value;
}

std::vector<char> read_file(const std::string& path, uint64_t offset, uint64_t size) {
  std::vector<char> out;
  // A system call, because the preload library intercepts libc's functions.
  const auto fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd < 0) return out;
  const off_t end = lseek(fd, 0, SEEK_END);
  if (end > 0 && offset < static_cast<uint64_t>(end)) {
    out.resize(std::min({size, static_cast<uint64_t>(end) - offset, kMaxBytes}));
    size_t done = 0;
    while (done < out.size()) {
      const ssize_t got = pread(fd, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
      if (got <= 0) break;
      done += static_cast<size_t>(got);
    }
    out.resize(done);
  }
  syscall(SYS_close, fd);
  return out;
}

std::vector<char> read_memory(uint64_t offset, uint64_t size) {
  std::vector<char> out;
  if (size == 0 || size > kMaxBytes) return out;
  out.resize(size);
  constexpr size_t kPiece = size_t{1} << 20;
  for (size_t at = 0; at < size; at += kPiece) {
    if (!copy_from_self(out.data() + at, offset + at, std::min<size_t>(kPiece, size - at))) return {};
  }
  return out;
}

template <class T>
bool copy_at(std::span<const char> file, uint64_t at, T& to) {
  if (at > file.size() || file.size() - at < sizeof to) return false;
  std::memcpy(&to, file.data() + at, sizeof to);
  return true;
}

bool read_header(std::span<const char> file, Elf64_Ehdr& header) {
  return copy_at(file, 0, header) && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_phentsize == sizeof(Elf64_Phdr);
}

std::optional<Elf64_Phdr> segment_of(std::span<const char> file, uint64_t address) {
  Elf64_Ehdr header;
  if (!read_header(file, header)) return std::nullopt;
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!copy_at(file, header.e_phoff + i * sizeof segment, segment)) return std::nullopt;
    if (segment.p_type == PT_LOAD && address - segment.p_vaddr < segment.p_memsz) return segment;
  }
  return std::nullopt;
}

std::string text_at(std::span<const char> file, uint64_t at) {
  std::string text;
  for (; at < file.size() && file[at] != 0; ++at) text += file[at];
  return text;
}

std::optional<Function> function_in(std::span<const char> file, const Elf64_Shdr& table, uint64_t strings,
                                    uint64_t address) {
  for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol;
    if (!copy_at(file, table.sh_offset + at, symbol)) return std::nullopt;
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || address - symbol.st_value >= symbol.st_size) continue;
    const auto segment = segment_of(file, symbol.st_value);
    if (!segment) return std::nullopt;
    const uint64_t begin = symbol.st_value - segment->p_vaddr + segment->p_offset;
    if (begin > file.size() || symbol.st_size > file.size() - begin) return std::nullopt;
    return Function{symbol.st_value, file.subspan(begin, symbol.st_size),
                    text_at(file, strings + symbol.st_name)};
  }
  return std::nullopt;
}

}  // namespace

std::vector<char> read_uri(const std::string& uri) {
  constexpr std::string_view kFile = "file://", kMemory = "memory://";
  const std::string_view text = uri;
  const size_t hash = std::min(text.find('#'), text.size());
  const std::string_view fields = hash < text.size() ? text.substr(hash + 1) : std::string_view();
  const uint64_t offset = number_of(fields, "offset=", 0);
  if (text.starts_with(kFile)) {
    return read_file(decoded(text.substr(kFile.size(), hash - kFile.size())), offset,
                     number_of(fields, "size=", kMaxBytes));
  }
  if (text.starts_with(kMemory) &&
      text.substr(kMemory.size(), hash - kMemory.size()) == std::to_string(getpid())) {
    return read_memory(offset, number_of(fields, "size=", 0));
  }
  return {};
}

std::optional<LoadedCodeObject> find_code_object(const void* list, uint64_t pc) {
  if (list == nullptr) list = dlsym(RTLD_DEFAULT, "_amdgpu_r_debug");
  r_debug rendezvous;
  if (list == nullptr || !copy_from_self(rendezvous, list)) return std::nullopt;
  // The list has no sizes: the nearest entry that starts at or below `pc` counts.
  std::optional<link_map> nearest;
  const link_map* at = rendezvous.r_map;
  for (size_t i = 0; at != nullptr && i < kMaxObjects; ++i) {
    link_map entry;
    if (!copy_from_self(entry, at)) break;
    if (entry.l_addr <= pc && (!nearest || entry.l_addr > nearest->l_addr)) nearest = entry;
    at = entry.l_next;
  }
  if (!nearest) return std::nullopt;
  LoadedCodeObject object{nearest->l_addr, read_uri(copy_text(nearest->l_name))};
  if (!segment_of(object.contents, pc - object.base)) return std::nullopt;
  return object;
}

std::optional<Function> function_at(std::span<const char> file, uint64_t address) {
  Elf64_Ehdr header;
  if (!read_header(file, header) || header.e_shentsize != sizeof(Elf64_Shdr)) return std::nullopt;
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr table, strings;
    if (!copy_at(file, header.e_shoff + i * sizeof table, table)) return std::nullopt;
    if (table.sh_type != SHT_SYMTAB && table.sh_type != SHT_DYNSYM) continue;
    if (!copy_at(file, header.e_shoff + uint64_t{table.sh_link} * sizeof strings, strings)) continue;
    if (auto function = function_in(file, table, strings.sh_offset, address)) return function;
  }
  return std::nullopt;
}

}  // namespace rigel::vgpu::exec
