#include "loader/code_object/code_object.hpp"

#include <elf.h>
#include <hsa/amd_hsa_elf.h>
#include <hsa/amd_hsa_kernel_code.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "loader/code_object/bounds.hpp"
#include "loader/code_object/code_identity.hpp"
#include "loader/code_object/code_image.hpp"
#include "loader/code_object/elf_file.hpp"
#include "loader/code_object/kernel_descriptor.hpp"
#include "loader/code_object/metadata.hpp"
#include "loader/code_object/rejection.hpp"

namespace rigel {
namespace {

// More than any linker writes (a dozen), and few enough for a linear search.
constexpr uint16_t kMaxProgramHeaders = 128;
// Larger than the largest board's maximum allocation; additions of sizes cannot overflow.
constexpr uint64_t kMaxImageSize = uint64_t{1} << 36;
// The largest page of a host. Linkers support larger alignments of segments, but no code needs them.
constexpr uint64_t kMaxSegmentAlignment = uint64_t{1} << 21;
// Instruction fetch of AMD GPUs starts at multiples of this.
constexpr uint64_t kAmdCodeAlignment = 256;
constexpr uint32_t kMinKernargAlignment = 16;

constexpr std::string_view kDescriptorSuffix = ".kd";
constexpr std::string_view kMetadataNoteName = "AMDGPU";
constexpr uint32_t kMetadataNoteType = 32;

/// Entries of a dynamic section that locate tables.
enum DynamicEntry : uint8_t {
  kSymbolTable,
  kSymbolSize,
  kStringTable,
  kStringTableSize,
  kHash,
  kRela,
  kRelaSize,
  kRelaEntrySize,
  kPltRela,
  kPltRelaSize,
  kPltKind,
  kDynamicEntryCount,
};

std::optional<DynamicEntry> dynamic_entry(int64_t tag) {
  switch (tag) {
    case DT_SYMTAB:
      return kSymbolTable;
    case DT_SYMENT:
      return kSymbolSize;
    case DT_STRTAB:
      return kStringTable;
    case DT_STRSZ:
      return kStringTableSize;
    case DT_HASH:
      return kHash;
    case DT_RELA:
      return kRela;
    case DT_RELASZ:
      return kRelaSize;
    case DT_RELAENT:
      return kRelaEntrySize;
    case DT_JMPREL:
      return kPltRela;
    case DT_PLTRELSZ:
      return kPltRelaSize;
    case DT_PLTREL:
      return kPltKind;
    default:
      return std::nullopt;
  }
}

/// Alignment of notes: 4 bytes, except in segments with alignment 8.
constexpr uint64_t note_padding(uint64_t segment_alignment) {
  return segment_alignment == 8 ? 8 : 4;
}

}  // namespace

/// Fills a CodeObject step by step; each step relies on the checks of previous steps.
class CodeObjectParser {
 public:
  CodeObjectParser(std::span<const std::byte> bytes, std::string* reason) : reject_(reason) {
    object_.bytes_ = bytes;
  }

  Result<CodeObject> parse() {
    auto file = ElfFile::open(object_.bytes_, reject_);
    if (!file) return tl::unexpected(file.error());
    file_ = &*file;
    using Step = Result<void> (CodeObjectParser::*)();
    constexpr Step kSteps[] = {&CodeObjectParser::read_header,
                               &CodeObjectParser::read_program_headers,
                               &CodeObjectParser::lay_out,
                               &CodeObjectParser::identify,
                               &CodeObjectParser::read_dynamic,
                               &CodeObjectParser::read_symbols,
                               &CodeObjectParser::read_section_symbols,
                               &CodeObjectParser::read_needed,
                               &CodeObjectParser::read_relocations,
                               &CodeObjectParser::read_kernels};
    for (const Step step : kSteps) {
      const auto done = (this->*step)();
      if (!done) return tl::unexpected(done.error());
    }
    return std::move(object_);
  }

 private:
  Result<void> read_header();
  Result<void> read_program_headers();
  Result<void> add_segment(const Elf64_Phdr& header);
  Result<void> read_notes(const Elf64_Phdr& header);
  Result<void> lay_out();
  Result<void> identify();
  Result<void> read_dynamic();
  Result<void> read_symbols();
  Result<void> read_section_symbols();
  Result<uint64_t> count_symbols();
  Result<void> add_symbol(const Elf64_Sym& symbol);
  void place_symbol(const Elf64_Sym& symbol, CodeSymbol& placed) const;
  CodeSymbol::Kind kind_of(const Elf64_Sym& symbol) const;
  bool has_address(const Elf64_Sym& symbol) const;
  Result<void> read_needed();
  Result<void> read_relocations();
  Result<void> add_relocations(DynamicEntry table, DynamicEntry size, std::string_view what);
  Result<void> add_relocation(const Elf64_Rela& relocation);
  Result<void> read_kernels();
  Result<void> add_kernel(uint32_t index);
  void add_metadata();

  bool is_host_code() const { return object_.identity_.machine != CodeMachine::kAmdGpu; }
  const CodeSegment* find_segment(uint64_t address, uint64_t size) const;
  /// Returns `count` elements of a table at the `address` of a dynamic entry.
  template <class T>
  Result<std::span<const T>> table_at(uint64_t address, uint64_t count, std::string_view what);
  Result<std::span<const Elf64_Shdr>> sections() const;
  std::optional<std::string_view> name_at(uint64_t offset) const;

  const Rejection reject_;
  CodeObject object_;
  const ElfFile* file_ = nullptr;
  std::optional<Elf64_Phdr> dynamic_header_;
  std::optional<Elf64_Phdr> relro_header_;
  std::array<std::optional<uint64_t>, kDynamicEntryCount> dynamic_;
  std::vector<uint64_t> needed_offsets_;
  std::string_view strings_;    // names of the symbols that are being read
  size_t dynamic_symbols_ = 0;  // they come first, and only they are referenced by relocations
};

Result<void> CodeObjectParser::read_header() {
  const Elf64_Ehdr& header = file_->header();
  if (header.e_type == ET_REL) return reject_("relocatable file; link it as a shared object");
  if (header.e_type != ET_DYN) return reject_("ELF type {} is not a shared object", header.e_type);
  if (header.e_phentsize != sizeof(Elf64_Phdr)) {
    return reject_("invalid program header size {}", header.e_phentsize);
  }
  if (header.e_phnum > kMaxProgramHeaders)
    return reject_("{} program headers exceed the limit", header.e_phnum);
  // Sections are needed only if the number of symbols depends on them, but a file that ends before them is
  // truncated.
  if (header.e_shoff != 0 && header.e_shnum != 0) {
    if (header.e_shentsize != sizeof(Elf64_Shdr))
      return reject_("invalid section header size {}", header.e_shentsize);
    const auto sections =
        file_->array<Elf64_Shdr>(header.e_shoff, header.e_shnum, "section headers", reject_);
    if (!sections) return tl::unexpected(sections.error());
  }
  return {};
}

Result<void> CodeObjectParser::read_program_headers() {
  const Elf64_Ehdr& header = file_->header();
  const auto headers = file_->array<Elf64_Phdr>(header.e_phoff, header.e_phnum, "program headers", reject_);
  if (!headers) return tl::unexpected(headers.error());
  for (const Elf64_Phdr& entry : *headers) {
    Result<void> done;
    switch (entry.p_type) {
      case PT_LOAD:
        done = add_segment(entry);
        break;
      case PT_NOTE:
        done = read_notes(entry);
        break;
      case PT_DYNAMIC:
        if (dynamic_header_) return reject_("there are two dynamic sections");
        dynamic_header_ = entry;
        break;
      case PT_GNU_RELRO:
        relro_header_ = entry;
        break;
      default:
        break;
    }
    if (!done) return done;
  }
  return {};
}

Result<void> CodeObjectParser::add_segment(const Elf64_Phdr& header) {
  const size_t index = object_.segments_.size();
  if (header.p_filesz > header.p_memsz) {
    return reject_("segment {}: {} bytes in the file exceed {} bytes in memory", index, header.p_filesz,
                   header.p_memsz);
  }
  if (!lies_within(header.p_offset, header.p_filesz, file_->size())) {
    return reject_("segment {}: {} bytes at offset {:#x} exceed the file", index, header.p_filesz,
                   header.p_offset);
  }
  if (!checked_add(header.p_vaddr, header.p_memsz))
    return reject_("segment {}: the addresses overflow", index);
  if (header.p_memsz == 0) return {};
  // Segments are copied, not mapped: file offsets need not be congruent to addresses.
  const uint64_t wanted = std::max<uint64_t>(header.p_align, 1);
  if (!is_power_of_two(wanted)) return reject_("segment {}: invalid alignment {}", index, wanted);
  const uint64_t alignment = std::min(wanted, kMaxSegmentAlignment);
  if (!object_.segments_.empty()) {
    const CodeSegment& last = object_.segments_.back();
    if (header.p_vaddr < last.address + last.memory_size) {
      return reject_("segment {}: at {:#x} it overlaps the preceding segment", index, header.p_vaddr);
    }
  }
  object_.segments_.push_back({.address = header.p_vaddr,
                               .memory_size = header.p_memsz,
                               .file_offset = header.p_offset,
                               .file_size = header.p_filesz,
                               .alignment = alignment,
                               .readable = (header.p_flags & PF_R) != 0,
                               .writable = (header.p_flags & PF_W) != 0,
                               .executable = (header.p_flags & PF_X) != 0});
  return {};
}

Result<void> CodeObjectParser::read_notes(const Elf64_Phdr& header) {
  if (!lies_within(header.p_offset, header.p_filesz, file_->size())) {
    return reject_("notes exceed the file");
  }
  const uint64_t padding = note_padding(header.p_align);
  const auto padded = [padding](uint64_t size) { return (size + padding - 1) / padding * padding; };
  auto rest = object_.bytes_.subspan(header.p_offset, header.p_filesz);
  while (rest.size() >= sizeof(Elf64_Nhdr)) {
    const auto note = read_unaligned<Elf64_Nhdr>(rest.data());
    // The sizes have 32 bits, so these additions cannot overflow.
    const uint64_t description = padded(sizeof note + uint64_t{note.n_namesz});
    const uint64_t end = description + note.n_descsz;
    // Only version 2 requires a note, and reports a missing one. Other versions load without notes.
    if (end > rest.size()) {
      log_message(LogLevel::kDebug, LogTopic::kApi, "code object: note {} exceeds its segment; ignored",
                  object_.notes_.size());
      break;
    }
    std::string_view name(reinterpret_cast<const char*>(rest.data()) + sizeof note, note.n_namesz);
    while (!name.empty() && name.back() == '\0') name.remove_suffix(1);
    object_.notes_.push_back(
        {.name = name, .type = note.n_type, .description = rest.subspan(description, note.n_descsz)});
    // The last note may lack its padding.
    rest = rest.subspan(std::min<uint64_t>(padded(end), rest.size()));
  }
  return {};
}

Result<void> CodeObjectParser::lay_out() {
  if (object_.segments_.empty()) return reject_("there are no loadable segments");
  uint64_t alignment = kAmdCodeAlignment;
  for (CodeSegment& segment : object_.segments_) {
    alignment = std::max(alignment, segment.alignment);
    if (relro_header_ && segment.writable && relro_header_->p_vaddr == segment.address) {
      segment.constant_size = std::min(relro_header_->p_memsz, segment.memory_size);
    }
  }
  const CodeSegment& last = object_.segments_.back();
  const uint64_t start = align_down(object_.segments_.front().address, alignment);
  const uint64_t size = last.address + last.memory_size - start;
  if (size > kMaxImageSize) return reject_("{} bytes of memory exceed the limit", size);
  object_.layout_ = {.address = start, .size = size, .alignment = alignment};
  return {};
}

Result<void> CodeObjectParser::identify() {
  auto identity = identify_code(file_->header(), object_.notes_, reject_);
  if (!identity) return tl::unexpected(identity.error());
  object_.identity_ = std::move(*identity);
  return {};
}

Result<void> CodeObjectParser::read_dynamic() {
  if (!dynamic_header_) return reject_("the dynamic section is missing; link it as a shared object");
  const auto entries = file_->array<Elf64_Dyn>(
      dynamic_header_->p_offset, dynamic_header_->p_filesz / sizeof(Elf64_Dyn), "dynamic section", reject_);
  if (!entries) return tl::unexpected(entries.error());
  for (const Elf64_Dyn& entry : *entries) {
    if (entry.d_tag == DT_NULL) break;
    if (const auto known = dynamic_entry(entry.d_tag)) {
      if (dynamic_[*known]) return reject_("dynamic tag {} occurs twice", entry.d_tag);
      dynamic_[*known] = entry.d_un.d_val;
      continue;
    }
    switch (entry.d_tag) {
      case DT_NEEDED:
        needed_offsets_.push_back(entry.d_un.d_val);
        break;
      case DT_INIT:
      case DT_FINI:
      case DT_INIT_ARRAY:
      case DT_FINI_ARRAY:
      case DT_PREINIT_ARRAY:
        object_.has_initializers_ = true;
        break;
      case DT_REL:
        return reject_("relocations without addends (DT_REL) are not supported");
      case DT_RELR:
        return reject_("packed relative relocations are not supported; link with -z nopack-relative-relocs");
      default:
        break;
    }
  }
  return {};
}

template <class T>
Result<std::span<const T>> CodeObjectParser::table_at(uint64_t address, uint64_t count,
                                                      std::string_view what) {
  if (count > file_->size() / sizeof(T)) return reject_("{}: {} entries exceed the file", what, count);
  const auto bytes = object_.file_bytes(address, count * sizeof(T));
  if (bytes.empty() && count != 0) {
    return reject_("{}: {} entries at address {:#x} are not in the file", what, count, address);
  }
  const auto offset = bytes.empty() ? 0 : static_cast<uint64_t>(bytes.data() - object_.bytes_.data());
  return file_->array<T>(offset, count, what, reject_);
}

std::optional<std::string_view> CodeObjectParser::name_at(uint64_t offset) const {
  if (offset >= strings_.size()) return std::nullopt;
  // The table ends with a zero byte, which was checked when it was found.
  return std::string_view(strings_.data() + offset);
}

Result<std::span<const Elf64_Shdr>> CodeObjectParser::sections() const {
  const Elf64_Ehdr& header = file_->header();
  if (header.e_shoff == 0 || header.e_shnum == 0) return {};
  return file_->array<Elf64_Shdr>(header.e_shoff, header.e_shnum, "section headers", reject_);
}

Result<uint64_t> CodeObjectParser::count_symbols() {
  // The classic hash table has one chain entry per symbol: its second word is the number of symbols.
  if (dynamic_[kHash]) {
    const auto words = table_at<Elf64_Word>(*dynamic_[kHash], 2, "symbol hash table");
    if (!words) return tl::unexpected(words.error());
    return (*words)[1];
  }
  const auto all = sections();
  if (!all) return tl::unexpected(all.error());
  for (const Elf64_Shdr& section : *all) {
    if (section.sh_type == SHT_DYNSYM && section.sh_addr == *dynamic_[kSymbolTable]) {
      return section.sh_size / sizeof(Elf64_Sym);
    }
  }
  return reject_("the number of symbols is unknown; a hash table or section headers are needed");
}

Result<void> CodeObjectParser::read_symbols() {
  if (dynamic_[kStringTable]) {
    const uint64_t size = dynamic_[kStringTableSize].value_or(0);
    const auto bytes = object_.file_bytes(*dynamic_[kStringTable], size);
    if (bytes.empty() || bytes.back() != std::byte{0}) return reject_("the string table is invalid");
    strings_ = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  if (!dynamic_[kSymbolTable]) return {};
  if (dynamic_[kSymbolSize].value_or(sizeof(Elf64_Sym)) != sizeof(Elf64_Sym)) {
    return reject_("invalid symbol size {}", *dynamic_[kSymbolSize]);
  }
  const auto count = count_symbols();
  if (!count) return tl::unexpected(count.error());
  const auto symbols = table_at<Elf64_Sym>(*dynamic_[kSymbolTable], *count, "symbol table");
  if (!symbols) return tl::unexpected(symbols.error());
  object_.symbols_.reserve(symbols->size());
  for (const Elf64_Sym& symbol : *symbols) {
    const auto done = add_symbol(symbol);
    if (!done) return done;
  }
  return {};
}

/// Reads global symbols of the section .symtab if the dynamic symbol table defines none, as in a
/// position-independent executable. ROCr always reads .symtab.
Result<void> CodeObjectParser::read_section_symbols() {
  dynamic_symbols_ = object_.symbols_.size();
  const auto is_exported = [](const CodeSymbol& symbol) { return symbol.exported; };
  if (std::any_of(object_.symbols_.begin(), object_.symbols_.end(), is_exported)) return {};
  const auto all = sections();
  if (!all) return tl::unexpected(all.error());
  const auto table = std::find_if(all->begin(), all->end(),
                                  [](const Elf64_Shdr& section) { return section.sh_type == SHT_SYMTAB; });
  if (table == all->end()) return {};
  if (table->sh_link >= all->size()) return reject_("section .symtab has no string table");
  const Elf64_Shdr& names = (*all)[table->sh_link];
  if (!lies_within(names.sh_offset, names.sh_size, file_->size()) || names.sh_size == 0 ||
      object_.bytes_[names.sh_offset + names.sh_size - 1] != std::byte{0}) {
    return reject_("the string table of .symtab is invalid");
  }
  const auto symbols = file_->array<Elf64_Sym>(table->sh_offset, table->sh_size / sizeof(Elf64_Sym),
                                               "section .symtab", reject_);
  if (!symbols) return tl::unexpected(symbols.error());
  const std::string_view dynamic_strings = std::exchange(
      strings_, {reinterpret_cast<const char*>(object_.bytes_.data()) + names.sh_offset, names.sh_size});
  Result<void> done;
  for (const Elf64_Sym& symbol : *symbols) {
    if (ELF64_ST_BIND(symbol.st_info) == STB_LOCAL || symbol.st_shndx == SHN_UNDEF) continue;
    done = add_symbol(symbol);
    if (!done) break;
  }
  strings_ = dynamic_strings;
  return done;
}

CodeSymbol::Kind CodeObjectParser::kind_of(const Elf64_Sym& symbol) const {
  using Kind = CodeSymbol::Kind;
  const bool version2 = object_.identity_.version == 2;
  switch (ELF64_ST_TYPE(symbol.st_info)) {
    case STT_NOTYPE:
      return Kind::kNone;
    case STT_OBJECT:
    case STT_COMMON:
      return Kind::kVariable;
    case STT_FUNC:
      return Kind::kFunction;
    case STT_AMDGPU_HSA_KERNEL:
      return version2 ? Kind::kKernelObject : Kind::kOther;
    case STT_AMDGPU_HSA_INDIRECT_FUNCTION:
      return version2 ? Kind::kIndirectFunction : Kind::kOther;
    default:
      return Kind::kOther;
  }
}

/// Whether a symbol's value is its address. The value of a thread-local variable is an offset. The value of
/// an indirect function is the address of its resolver, which would have to be called. (In code objects of
/// version 2, the number STT_GNU_IFUNC means a kernel.) Such symbols are harmless unless a relocation needs
/// their address.
bool CodeObjectParser::has_address(const Elf64_Sym& symbol) const {
  const auto type = ELF64_ST_TYPE(symbol.st_info);
  return type != STT_TLS && (type != STT_GNU_IFUNC || object_.identity_.version == 2);
}

void CodeObjectParser::place_symbol(const Elf64_Sym& symbol, CodeSymbol& placed) const {
  using Place = CodeSymbol::Place;
  if (symbol.st_shndx == SHN_UNDEF) {
    placed.place = Place::kUndefined;
  } else if (!has_address(symbol)) {
    placed.place = Place::kNoAddress;
  } else if (symbol.st_shndx == SHN_ABS) {
    placed.place = Place::kAbsolute;
  } else if (symbol.st_shndx >= SHN_LORESERVE && symbol.st_shndx != SHN_XINDEX) {
    placed.place = Place::kNoAddress;
  } else if (const CodeSegment* segment =
                 find_segment(symbol.st_value, std::min(symbol.st_size, uint64_t{1}))) {
    placed.place = Place::kSegment;
    placed.segment = static_cast<uint32_t>(segment - object_.segments_.data());
    placed.size = std::min(symbol.st_size, segment->address + segment->memory_size - symbol.st_value);
  } else {
    placed.place = Place::kOutside;
  }
  if (placed.size == symbol.st_size && (placed.place != Place::kOutside || placed.size == 0)) return;
  log_message(LogLevel::kWarn, LogTopic::kApi,
              "code object: symbol {} ({} bytes at {:#x}) is not in a segment; {}", placed.name,
              symbol.st_size, symbol.st_value,
              placed.place == Place::kOutside ? "it cannot be used" : "its size is reduced");
}

Result<void> CodeObjectParser::add_symbol(const Elf64_Sym& symbol) {
  const auto name = symbol.st_name == 0 ? std::string_view("") : name_at(symbol.st_name);
  if (!name) return reject_("symbol {}: its name is outside the string table", object_.symbols_.size());
  CodeSymbol added{};
  added.name = *name;
  added.value = symbol.st_value;
  added.size = symbol.st_size;
  added.kind = kind_of(symbol);
  const auto binding = ELF64_ST_BIND(symbol.st_info);
  added.binding = binding == STB_LOCAL  ? CodeSymbol::Binding::kLocal
                  : binding == STB_WEAK ? CodeSymbol::Binding::kWeak
                                        : CodeSymbol::Binding::kGlobal;
  place_symbol(symbol, added);
  // An empty variable may mark an empty section, which linkers omit from the segments. A program that queries
  // it does not read from it.
  const bool is_empty_section = added.place == CodeSymbol::Place::kOutside && added.size == 0 &&
                                added.kind == CodeSymbol::Kind::kVariable;
  const auto visibility = ELF64_ST_VISIBILITY(symbol.st_other);
  const bool visible = visibility == STV_DEFAULT || visibility == STV_PROTECTED;
  added.exported = visible && (added.place == CodeSymbol::Place::kSegment || is_empty_section) &&
                   added.binding != CodeSymbol::Binding::kLocal && !added.name.empty();
  added.preemptible = added.exported && visibility == STV_DEFAULT;
  object_.symbols_.push_back(added);
  return {};
}

Result<void> CodeObjectParser::read_needed() {
  for (const uint64_t offset : needed_offsets_) {
    const auto name = name_at(offset);
    if (!name) return reject_("the name of a needed library is outside the string table");
    object_.needed_.push_back(*name);
  }
  return {};
}

Result<void> CodeObjectParser::read_relocations() {
  if (dynamic_[kPltRela] && dynamic_[kPltKind].value_or(DT_RELA) != DT_RELA) {
    return reject_("procedure linkage relocations without addends are not supported");
  }
  if (dynamic_[kRelaEntrySize].value_or(sizeof(Elf64_Rela)) != sizeof(Elf64_Rela)) {
    return reject_("invalid relocation size {}", *dynamic_[kRelaEntrySize]);
  }
  const auto done = add_relocations(kRela, kRelaSize, "relocations");
  if (!done) return done;
  return add_relocations(kPltRela, kPltRelaSize, "procedure linkage relocations");
}

Result<void> CodeObjectParser::add_relocations(DynamicEntry table, DynamicEntry size, std::string_view what) {
  if (!dynamic_[table]) return {};
  const uint64_t bytes = dynamic_[size].value_or(0);
  if (bytes % sizeof(Elf64_Rela) != 0) return reject_("{}: invalid total size {}", what, bytes);
  const auto relocations = table_at<Elf64_Rela>(*dynamic_[table], bytes / sizeof(Elf64_Rela), what);
  if (!relocations) return tl::unexpected(relocations.error());
  object_.relocations_.reserve(object_.relocations_.size() + relocations->size());
  for (const Elf64_Rela& relocation : *relocations) {
    const auto done = add_relocation(relocation);
    if (!done) return done;
  }
  return {};
}

Result<void> CodeObjectParser::add_relocation(const Elf64_Rela& relocation) {
  const uint32_t type = ELF64_R_TYPE(relocation.r_info);
  const uint32_t symbol = ELF64_R_SYM(relocation.r_info);
  const size_t index = object_.relocations_.size();
  const RelocationKind kind = relocation_kind(object_.identity_.machine, type);
  if (!kind.rule) return reject_("relocation {}: type {} {}", index, type, kind.why_not);
  if (symbol != 0) {
    if (symbol >= dynamic_symbols_) return reject_("relocation {}: symbol {} does not exist", index, symbol);
    const CodeSymbol& named = object_.symbols_[symbol];
    const bool is_outside = named.place == CodeSymbol::Place::kOutside && named.size != 0;
    if (named.place == CodeSymbol::Place::kNoAddress || is_outside) {
      return reject_("relocation {}: needs the address of {}, which {}", index, named.name,
                     is_outside ? "is outside the segments"
                                : "is thread-local, an indirect function or in group memory");
    }
  }
  if (*kind.rule != RelocationRule::kNothing) {
    const CodeSegment* segment = find_segment(relocation.r_offset, relocation_width(*kind.rule));
    if (segment == nullptr)
      return reject_("relocation {}: patches {:#x} outside the segments", index, relocation.r_offset);
    // GPU code may contain addresses as literals. Host code that does was not compiled as position
    // independent.
    if (is_host_code() && !segment->writable) {
      return reject_("relocation {}: patches {:#x} in a read-only segment; compile with -fPIC", index,
                     relocation.r_offset);
    }
  }
  object_.relocations_.push_back(
      {.address = relocation.r_offset, .addend = relocation.r_addend, .type = type, .symbol = symbol});
  return {};
}

Result<void> CodeObjectParser::read_kernels() {
  for (uint32_t i = 0; i < object_.symbols_.size(); ++i) {
    const CodeSymbol& symbol = object_.symbols_[i];
    if (!symbol.exported) continue;
    const bool has_descriptor =
        symbol.kind == CodeSymbol::Kind::kVariable || symbol.kind == CodeSymbol::Kind::kNone;
    const bool is_kernel = object_.identity_.version == 2
                               ? symbol.kind == CodeSymbol::Kind::kKernelObject
                               : has_descriptor && symbol.name.ends_with(kDescriptorSuffix) &&
                                     (symbol.size == 0 || symbol.size == sizeof(KernelDescriptor));
    if (!is_kernel) continue;
    const auto done = add_kernel(i);
    if (!done) return done;
  }
  add_metadata();
  return {};
}

Result<void> CodeObjectParser::add_kernel(uint32_t index) {
  const CodeSymbol& symbol = object_.symbols_[index];
  CodeKernel kernel{};
  kernel.symbol = index;
  kernel.kernarg_alignment = kMinKernargAlignment;
  int64_t entry_offset = 0;
  if (object_.identity_.version == 2) {
    kernel.descriptor_size = sizeof(amd_kernel_code_t);
    const auto bytes = object_.file_bytes(symbol.value, kernel.descriptor_size);
    if (bytes.empty()) return reject_("kernel {}: not in the file", symbol.name);
    const auto code = read_unaligned<amd_kernel_code_t>(bytes.data());
    entry_offset = code.kernel_code_entry_byte_offset;
    kernel.kernarg_size =
        static_cast<uint32_t>(std::min<uint64_t>(code.kernarg_segment_byte_size, UINT32_MAX));
    if (code.kernarg_segment_alignment > 31) {
      return reject_("kernel {}: invalid argument alignment 2^{}", symbol.name,
                     code.kernarg_segment_alignment);
    }
    kernel.kernarg_alignment = std::max(kMinKernargAlignment, uint32_t{1} << code.kernarg_segment_alignment);
    kernel.group_size = code.workgroup_group_segment_byte_size;
    kernel.private_size = code.workitem_private_segment_byte_size;
    kernel.wavefront_size = code.wavefront_size == AMD_POWERTWO_32 ? 32 : 64;
    kernel.dynamic_callstack =
        (code.kernel_code_properties & AMD_KERNEL_CODE_PROPERTIES_IS_DYNAMIC_CALLSTACK) != 0;
  } else {
    kernel.descriptor_size = sizeof(KernelDescriptor);
    const auto bytes = object_.file_bytes(symbol.value, kernel.descriptor_size);
    if (bytes.empty()) {
      return reject_("kernel descriptor {}: not {} bytes of the file", symbol.name, kernel.descriptor_size);
    }
    const auto descriptor = read_unaligned<KernelDescriptor>(bytes.data());
    entry_offset = descriptor.kernel_code_entry_byte_offset;
    kernel.kernarg_size = descriptor.kernarg_size;
    kernel.group_size = descriptor.group_segment_fixed_size;
    kernel.private_size = descriptor.private_segment_fixed_size;
    kernel.wavefront_size = (descriptor.kernel_code_properties & kKernelUsesWave32) != 0 ? 32 : 64;
    kernel.dynamic_callstack = (descriptor.kernel_code_properties & kKernelUsesDynamicStack) != 0;
  }
  if (symbol.value % kKernelDescriptorAlignment != 0) {
    return reject_("kernel descriptor {}: {:#x} is not aligned to {} bytes", symbol.name, symbol.value,
                   kKernelDescriptorAlignment);
  }
  // Modulo 2^64, because an address may be below its descriptor; the segment check is decisive.
  kernel.entry = symbol.value + static_cast<uint64_t>(entry_offset);
  const CodeSegment* segment = find_segment(kernel.entry, 1);
  // A GPU can execute all readable memory.
  if (segment == nullptr || (is_host_code() && !segment->executable)) {
    return reject_("kernel {}: its code at {:#x} is not in an executable segment", symbol.name, kernel.entry);
  }
  if (!is_host_code() && kernel.entry % kAmdCodeAlignment != 0) {
    return reject_("kernel {}: its code at {:#x} is not aligned to {} bytes", symbol.name, kernel.entry,
                   kAmdCodeAlignment);
  }
  object_.kernels_.push_back(kernel);
  return {};
}

void CodeObjectParser::add_metadata() {
  if (object_.kernels_.empty()) return;
  // The output contains a note of each linked object.
  std::vector<KernelMetadata> noted;
  for (const CodeNote& note : object_.notes_) {
    if (note.type != kMetadataNoteType || note.name != kMetadataNoteName) continue;
    const auto more = read_kernel_metadata(note.description);
    noted.insert(noted.end(), more.begin(), more.end());
  }
  std::unordered_map<std::string_view, const KernelMetadata*> by_symbol(noted.size());
  for (const KernelMetadata& facts : noted) by_symbol.emplace(facts.symbol, &facts);
  for (CodeKernel& kernel : object_.kernels_) {
    const auto found = by_symbol.find(object_.symbols_[kernel.symbol].name);
    if (found == by_symbol.end()) continue;
    const KernelMetadata& facts = *found->second;
    // Compilers before LLVM 11 set the size in the descriptor to 0.
    if (kernel.kernarg_size == 0) kernel.kernarg_size = facts.kernarg_size.value_or(0);
    const uint32_t alignment = facts.kernarg_alignment.value_or(0);
    if (is_power_of_two(alignment)) kernel.kernarg_alignment = std::max(kernel.kernarg_alignment, alignment);
    kernel.dynamic_callstack |= facts.dynamic_callstack.value_or(false);
  }
}

const CodeSegment* CodeObjectParser::find_segment(uint64_t address, uint64_t size) const {
  const auto found =
      std::find_if(object_.segments_.begin(), object_.segments_.end(),
                   [=](const CodeSegment& segment) { return segment.contains(address, size); });
  return found == object_.segments_.end() ? nullptr : &*found;
}

bool CodeSegment::contains(uint64_t at, uint64_t size) const {
  return at >= address && lies_within(at - address, size, memory_size);
}

std::span<const std::byte> CodeObject::file_bytes(uint64_t address, uint64_t size) const {
  for (const CodeSegment& segment : segments_) {
    if (address >= segment.address && lies_within(address - segment.address, size, segment.file_size)) {
      return bytes_.subspan(segment.file_offset + (address - segment.address), size);
    }
  }
  return {};
}

Result<CodeObject> CodeObject::parse(std::span<const std::byte> bytes, std::string* reason) {
  return CodeObjectParser(bytes, reason).parse();
}

}  // namespace rigel
