// Builds small shared objects for tests, independent of compilers.
//
// Memory of every object: read-only constants at kConstants, code at kCode, data at kData followed by zeros.
// Tables of the dynamic linker are before the constants and after the data.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "loader/code_object/kernel_descriptor.hpp"

namespace rigel {

struct ElfBuilder {
  static constexpr uint64_t kPage = 0x1000;
  static constexpr uint64_t kConstants = 0x1000;
  static constexpr uint64_t kCode = 0x3000;
  static constexpr uint64_t kData = 0x5000;
  static constexpr uint64_t kDataBytes = 0x800;  // size in the file, before the dynamic section
  static constexpr uint64_t kZeros = 0x7000;     // from here on, segments have no bytes in the file
  static constexpr uint64_t kEnd = 0x7400;
  // Offsets in the file.
  static constexpr uint64_t kCodeOffset = 0x2000;
  static constexpr uint64_t kDataOffset = 0x3000;
  static constexpr uint64_t kFileBytes = 0x4000;

  struct Symbol {
    std::string name;
    uint64_t value = 0;
    uint64_t size = 0;
    uint8_t type = STT_OBJECT;
    uint8_t binding = STB_GLOBAL;
    uint8_t visibility = STV_DEFAULT;
    uint16_t section = 1;  // any but special indices; SHN_UNDEF for a declaration
  };
  struct Relocation {
    uint64_t place;
    uint32_t type;
    uint32_t symbol = 0;
    int64_t addend = 0;
    bool procedure_linkage = false;
  };
  struct Note {
    std::string name;
    uint32_t type;
    std::string description;
  };
  struct Descriptor {
    uint64_t address;
    KernelDescriptor contents;
  };

  uint16_t machine = EM_X86_64;
  uint8_t os_abi = ELFOSABI_NONE;
  uint8_t abi_version = 0;
  uint32_t flags = 0;
  std::vector<Symbol> symbols;  // preceded by the null symbol: the first has index 1
  std::vector<Relocation> relocations;
  std::vector<Note> notes;
  std::vector<Descriptor> descriptors;
  std::vector<std::pair<int64_t, uint64_t>> more_dynamic;
  std::vector<std::pair<uint64_t, std::string>> contents;  // bytes at an address
  bool with_hash_table = true;
  bool with_sections = false;
  bool symbols_in_section = false;  // only in .symtab, as in a position-independent executable

  static ElfBuilder amd_gpu(uint8_t abi_version, uint32_t flags) {
    ElfBuilder elf;
    elf.machine = 224;
    elf.os_abi = 64;
    elf.abi_version = abi_version;
    elf.flags = flags;
    return elf;
  }

  /// Adds a kernel `name` whose code starts at `entry`, with its descriptor at `address`.
  void add_kernel(const std::string& name, uint64_t address, uint64_t entry,
                  KernelDescriptor descriptor = {}) {
    descriptor.kernel_code_entry_byte_offset = static_cast<int64_t>(entry - address);
    descriptors.push_back({address, descriptor});
    symbols.push_back({.name = name + ".kd", .value = address, .size = 64, .visibility = STV_PROTECTED});
  }

  std::vector<std::byte> build() const {
    std::vector<std::byte> file(kFileBytes);
    const auto put = [&file](uint64_t offset, const void* bytes, uint64_t size) {
      if (offset + size > file.size()) file.resize(offset + size);
      std::memcpy(file.data() + offset, bytes, size);
      return offset + size;
    };

    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_ident[EI_OSABI] = os_abi;
    header.e_ident[EI_ABIVERSION] = abi_version;
    header.e_type = ET_DYN;
    header.e_machine = machine;
    header.e_version = EV_CURRENT;
    header.e_phoff = sizeof header;
    header.e_flags = flags;
    header.e_ehsize = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = kProgramHeaders;

    uint64_t at = sizeof header + kProgramHeaders * sizeof(Elf64_Phdr);
    const auto align = [&at](uint64_t alignment) { at = (at + alignment - 1) / alignment * alignment; };

    const uint64_t notes_at = at;
    for (const Note& note : notes) {
      const Elf64_Nhdr head{static_cast<uint32_t>(note.name.size() + 1),
                            static_cast<uint32_t>(note.description.size()), note.type};
      at = put(at, &head, sizeof head);
      at = put(at, note.name.c_str(), note.name.size() + 1);
      align(4);
      at = put(at, note.description.data(), note.description.size());
      align(4);
    }
    const uint64_t notes_end = at;

    std::string strings(1, '\0');
    std::vector<Elf64_Sym> table(1);
    for (const Symbol& symbol : symbols) {
      table.push_back({.st_name = static_cast<uint32_t>(strings.size()),
                       .st_info = static_cast<uint8_t>(ELF64_ST_INFO(symbol.binding, symbol.type)),
                       .st_other = symbol.visibility,
                       .st_shndx = symbol.section,
                       .st_value = symbol.value,
                       .st_size = symbol.size});
      strings += symbol.name + '\0';
    }
    std::vector<Elf64_Sym> section_table;
    if (symbols_in_section) {
      section_table = table;
      table.resize(1);
    }
    align(8);
    const uint64_t symbols_at = at;
    at = put(at, table.data(), table.size() * sizeof table[0]);
    const uint64_t strings_at = at;
    at = put(at, strings.data(), strings.size());
    align(8);
    const uint64_t hash_at = at;
    const uint32_t hash[] = {1, static_cast<uint32_t>(table.size())};
    at = put(at, hash, sizeof hash);

    uint64_t rela_at[2];
    uint64_t rela_bytes[2];
    for (const bool procedure_linkage : {false, true}) {
      align(8);
      rela_at[procedure_linkage] = at;
      for (const Relocation& relocation : relocations) {
        if (relocation.procedure_linkage != procedure_linkage) continue;
        const Elf64_Rela entry{relocation.place, ELF64_R_INFO(uint64_t{relocation.symbol}, relocation.type),
                               relocation.addend};
        at = put(at, &entry, sizeof entry);
      }
      rela_bytes[procedure_linkage] = at - rela_at[procedure_linkage];
    }

    for (const Descriptor& descriptor : descriptors) {
      put(file_offset(descriptor.address), &descriptor.contents, sizeof descriptor.contents);
    }
    for (const auto& [address, bytes] : contents) put(file_offset(address), bytes.data(), bytes.size());

    std::vector<Elf64_Dyn> dynamic;
    const auto add = [&dynamic](int64_t tag, uint64_t value) { dynamic.push_back({tag, {value}}); };
    add(DT_SYMTAB, symbols_at);
    add(DT_SYMENT, sizeof(Elf64_Sym));
    add(DT_STRTAB, strings_at);
    add(DT_STRSZ, strings.size());
    if (with_hash_table) add(DT_HASH, hash_at);
    if (rela_bytes[0] != 0) {
      add(DT_RELA, rela_at[0]);
      add(DT_RELASZ, rela_bytes[0]);
      add(DT_RELAENT, sizeof(Elf64_Rela));
    }
    if (rela_bytes[1] != 0) {
      add(DT_JMPREL, rela_at[1]);
      add(DT_PLTRELSZ, rela_bytes[1]);
      add(DT_PLTREL, DT_RELA);
    }
    for (const auto& [tag, value] : more_dynamic) add(tag, value);
    add(DT_NULL, 0);
    put(kDataOffset + kDataBytes, dynamic.data(), dynamic.size() * sizeof dynamic[0]);

    const uint64_t dynamic_bytes = dynamic.size() * sizeof dynamic[0];
    const Elf64_Phdr program_headers[kProgramHeaders] = {
        {PT_LOAD, PF_R, 0, 0, 0, kCodeOffset, kCodeOffset, kPage},
        {PT_LOAD, PF_R | PF_X, kCodeOffset, kCode, kCode, kPage, kPage, kPage},
        {PT_LOAD, PF_R | PF_W, kDataOffset, kData, kData, kPage, kEnd - kData, kPage},
        {PT_DYNAMIC, PF_R | PF_W, kDataOffset + kDataBytes, kData + kDataBytes, kData + kDataBytes,
         dynamic_bytes, dynamic_bytes, 8},
        {PT_NOTE, PF_R, notes_at, notes_at, notes_at, notes_end - notes_at, notes_end - notes_at, 4},
    };
    put(sizeof header, program_headers, sizeof program_headers);

    if (with_sections) {
      Elf64_Shdr sections[2] = {};
      sections[1].sh_type = SHT_DYNSYM;
      sections[1].sh_addr = symbols_at;
      sections[1].sh_offset = symbols_at;
      sections[1].sh_size = table.size() * sizeof table[0];
      header.e_shoff = file.size();
      header.e_shentsize = sizeof sections[0];
      header.e_shnum = 2;
      put(header.e_shoff, sections, sizeof sections);
    }
    if (symbols_in_section) {
      Elf64_Shdr sections[3] = {};
      sections[1].sh_type = SHT_SYMTAB;
      sections[1].sh_link = 2;
      sections[1].sh_offset = (file.size() + 7) / 8 * 8;
      sections[1].sh_size = section_table.size() * sizeof section_table[0];
      sections[2].sh_type = SHT_STRTAB;
      sections[2].sh_offset = put(sections[1].sh_offset, section_table.data(), sections[1].sh_size);
      sections[2].sh_size = strings.size();
      header.e_shoff = (put(sections[2].sh_offset, strings.data(), strings.size()) + 7) / 8 * 8;
      header.e_shentsize = sizeof sections[0];
      header.e_shnum = 3;
      put(header.e_shoff, sections, sizeof sections);
    }
    put(0, &header, sizeof header);
    return file;
  }

  static constexpr uint16_t kProgramHeaders = 5;

  static constexpr uint64_t file_offset(uint64_t address) {
    return address >= kData   ? address - kData + kDataOffset
           : address >= kCode ? address - kCode + kCodeOffset
                              : address;
  }
  static Elf64_Ehdr& header_of(std::vector<std::byte>& file) {
    return *reinterpret_cast<Elf64_Ehdr*>(file.data());
  }
  static Elf64_Phdr& program_header(std::vector<std::byte>& file, size_t index) {
    return reinterpret_cast<Elf64_Phdr*>(file.data() + sizeof(Elf64_Ehdr))[index];
  }
  /// Returns the dynamic entry with that tag, which must exist.
  static Elf64_Dyn& dynamic_entry(std::vector<std::byte>& file, int64_t tag) {
    auto* entry = reinterpret_cast<Elf64_Dyn*>(file.data() + kDataOffset + kDataBytes);
    while (entry->d_tag != tag) ++entry;
    return *entry;
  }
};

}  // namespace rigel
