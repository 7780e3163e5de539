#include "backends/cpu/notes.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include <hsa_cpu/abi.h>

#include "api/support/page_size.hpp"

namespace rigel::cpu {
namespace {

using Bytes = std::span<const std::byte>;

std::optional<Bytes> slice(Bytes bytes, uint64_t offset, uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return std::nullopt;
  return bytes.subspan(offset, size);
}

template <class T>
std::optional<T> read(Bytes bytes, uint64_t offset) {
  const auto source = slice(bytes, offset, sizeof(T));
  if (!source) return std::nullopt;
  T value;
  std::memcpy(&value, source->data(), sizeof value);
  return value;
}

std::optional<Elf64_Ehdr> read_header(Bytes bytes) {
  const auto header = read<Elf64_Ehdr>(bytes, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return std::nullopt;
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB) return std::nullopt;
  return header;
}

// Returns nothing if the table is not inside the bytes.
std::optional<std::vector<Elf64_Phdr>> read_program_headers(Bytes bytes, const Elf64_Ehdr& header) {
  if (header.e_phentsize != sizeof(Elf64_Phdr)) return std::nullopt;
  const auto table = slice(bytes, header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
  if (!table) return std::nullopt;
  std::vector<Elf64_Phdr> headers(header.e_phnum);
  if (!headers.empty()) std::memcpy(headers.data(), table->data(), table->size());
  return headers;
}

void read_note_segment(Bytes segment, uint64_t alignment, Notes* notes) {
  uint64_t offset = 0;
  while (const auto header = read<Elf64_Nhdr>(segment, offset)) {
    const uint64_t name_at = offset + sizeof *header;
    const uint64_t text_at = round_up(name_at + header->n_namesz, alignment);
    offset = round_up(text_at + header->n_descsz, alignment);
    const auto name = slice(segment, name_at, header->n_namesz);
    if (!name || !slice(segment, text_at, header->n_descsz)) {
      notes->problem = "a note exceeds its segment";
      return;
    }
    constexpr char kName[] = HSA_CPU_NOTE_NAME;
    if (header->n_type != HSA_CPU_NOTE_TYPE || name->size() != sizeof kName ||
        std::memcmp(name->data(), kName, sizeof kName) != 0) {
      continue;
    }
    const auto note = read<hsa_cpu_note_t>(segment, text_at);
    if (!note || header->n_descsz < sizeof *note) {
      notes->problem = "an HSA-CPU note is too short";
      return;
    }
    if (notes->found && note->abi_major != notes->abi_major) {
      notes->problem = "its parts are for different versions of the kernel ABI";
      return;
    }
    notes->found = true;
    notes->abi_major = note->abi_major;
    notes->features |= note->features;
  }
}

}  // namespace

Notes read_notes(Bytes file) noexcept try {
  Notes notes;
  const auto header = read_header(file);
  if (!header) {
    notes.problem = "not a little-endian 64-bit ELF file";
    return notes;
  }
  const auto program_headers = read_program_headers(file, *header);
  if (!program_headers) {
    notes.problem = "the program headers are outside the file";
    return notes;
  }
  for (const Elf64_Phdr& part : *program_headers) {
    if (part.p_type != PT_NOTE) continue;
    const auto segment = slice(file, part.p_offset, part.p_filesz);
    if (!segment) {
      notes.problem = "a note segment is outside the file";
      return notes;
    }
    read_note_segment(*segment, part.p_align == 8 ? 8 : 4, &notes);
    if (notes.problem) return notes;
  }
  return notes;
} catch (...) {
  Notes notes;
  notes.problem = "out of memory";
  return notes;
}

}  // namespace rigel::cpu
