#include "loader/code_object/elf_file.hpp"

#include <cstring>
#include <limits>

namespace rigel {

Result<ElfFile> ElfFile::open(std::span<const std::byte> bytes, const Rejection& reject) {
  if (bytes.size() < sizeof(Elf64_Ehdr)) return reject("{} bytes are less than an ELF header", bytes.size());
  if (bytes.size() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return reject("{} bytes exceed the limit", bytes.size());
  }
  const auto header = read_unaligned<Elf64_Ehdr>(bytes.data());
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return reject("not an ELF file");
  if (header.e_ident[EI_CLASS] != ELFCLASS64) return reject("not a 64-bit ELF file");
  if (header.e_ident[EI_DATA] != ELFDATA2LSB) return reject("not a little-endian ELF file");
  if (header.e_ident[EI_VERSION] != EV_CURRENT || header.e_version != EV_CURRENT) {
    return reject("unknown ELF version {}", header.e_version);
  }
  if (header.e_ehsize != sizeof(Elf64_Ehdr)) return reject("invalid ELF header size {}", header.e_ehsize);

  elf_version(EV_CURRENT);
  // elf_memory takes a pointer to non-const, but writes only through elf_update, which is not called.
  Elf* elf = elf_memory(reinterpret_cast<char*>(const_cast<std::byte*>(bytes.data())), bytes.size());
  if (elf == nullptr) return reject("libelf: {}", elf_errmsg(-1));
  ElfFile file(elf, header, bytes.size());
  if (elf_kind(elf) != ELF_K_ELF) return reject("not an ELF file for libelf");
  return file;
}

}  // namespace rigel
