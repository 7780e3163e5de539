#include "plugins/vgpu/exec/report/kernel_name.hpp"

#include <elf.h>

#include <cstring>

#include "api/support/page_size.hpp"

namespace rigel::vgpu::exec {
namespace {

constexpr uint64_t kMaxHeaderDistance = uint64_t{256} << 20;  // from the ELF header to the kernel object
constexpr uint32_t kMaxSymbols = 1 << 20;
constexpr size_t kMaxNameBytes = 512;

template <class T>
bool read(WaveMemory& memory, uint64_t va, T& out) {
  VmFault fault;
  return memory.read(va, &out, sizeof out, fault);
}

// Returns the address of the page with a code object's ELF header, or 0.
uint64_t find_header(WaveMemory& memory, uint64_t va) {
  const uint64_t first = page_down(va);
  for (uint64_t distance = 0; distance <= kMaxHeaderDistance && distance <= first; distance += kPageBytes) {
    unsigned char ident[EI_NIDENT];
    if (!read(memory, first - distance, ident)) return 0;
    if (std::memcmp(ident, ELFMAG, SELFMAG) == 0 && ident[EI_CLASS] == ELFCLASS64) return first - distance;
  }
  return 0;
}

std::string read_name(WaveMemory& memory, uint64_t va) {
  std::string name;
  for (char c = 0; name.size() < kMaxNameBytes && read(memory, va + name.size(), c) && c != 0;) name += c;
  if (name.ends_with(".kd")) name.resize(name.size() - 3);
  return name;
}

}  // namespace

std::string kernel_name(WaveMemory& memory, uint64_t kernel_object_va) {
  const uint64_t base = find_header(memory, kernel_object_va);
  Elf64_Ehdr header;
  if (base == 0 || !read(memory, base, header) || header.e_phentsize != sizeof(Elf64_Phdr)) return {};
  uint64_t symbols = 0, strings = 0, hash = 0;
  for (uint16_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!read(memory, base + header.e_phoff + i * sizeof segment, segment)) return {};
    if (segment.p_type != PT_DYNAMIC) continue;
    for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= segment.p_memsz; at += sizeof(Elf64_Dyn)) {
      Elf64_Dyn entry;
      if (!read(memory, base + segment.p_vaddr + at, entry) || entry.d_tag == DT_NULL) break;
      // The value as linked, or as relocated by a loader.
      const uint64_t value = entry.d_un.d_ptr >= base ? entry.d_un.d_ptr : base + entry.d_un.d_ptr;
      if (entry.d_tag == DT_SYMTAB) symbols = value;
      if (entry.d_tag == DT_STRTAB) strings = value;
      if (entry.d_tag == DT_HASH) hash = value;
    }
  }
  uint32_t buckets_and_count[2];
  if (symbols == 0 || strings == 0 || hash == 0 || !read(memory, hash, buckets_and_count)) return {};
  for (uint32_t i = 1; i < buckets_and_count[1] && i < kMaxSymbols; ++i) {
    Elf64_Sym symbol;
    if (!read(memory, symbols + i * sizeof symbol, symbol)) return {};
    if (symbol.st_shndx == SHN_UNDEF) continue;
    if (symbol.st_value == kernel_object_va - base || symbol.st_value == kernel_object_va) {
      return read_name(memory, strings + symbol.st_name);
    }
  }
  return {};
}

}  // namespace rigel::vgpu::exec
