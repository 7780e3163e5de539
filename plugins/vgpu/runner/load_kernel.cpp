#include "plugins/vgpu/runner/load_kernel.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <fmt/core.h>

namespace rigel::vgpu::runner {
namespace {

constexpr uint16_t kMachineAmdGpu = 224;
constexpr uint32_t kNoteMetadata = 32;
constexpr uint32_t kRelocateAbsolute64 = 3, kRelocateRelative64 = 13;

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error("code object: " + what);
}

class Image {
 public:
  explicit Image(std::span<const char> file) : file_(file) {
    header_ = read<Elf64_Ehdr>(0);
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0 || header_.e_machine != kMachineAmdGpu) {
      fail("not an ELF file for AMD GPUs");
    }
    for (uint16_t i = 0; i < header_.e_phnum; ++i) {
      segments_.push_back(read<Elf64_Phdr>(header_.e_phoff + i * sizeof(Elf64_Phdr)));
    }
  }

  template <class T>
  T read(uint64_t offset) const {
    T value;
    std::memcpy(&value, bytes(offset, sizeof value), sizeof value);
    return value;
  }
  const char* bytes(uint64_t offset, uint64_t count) const {
    if (offset > file_.size() || count > file_.size() - offset) fail("truncated");
    return file_.data() + offset;
  }
  const std::vector<Elf64_Phdr>& segments() const { return segments_; }

 private:
  std::span<const char> file_;
  Elf64_Ehdr header_;
  std::vector<Elf64_Phdr> segments_;
};

// The loaded image, addressed by link-time addresses.
class Loaded {
 public:
  Loaded(const Image& image, MemoryBus& memory) {
    uint64_t end = 0;
    for (const Elf64_Phdr& s : image.segments()) {
      if (s.p_type != PT_LOAD) continue;
      if (s.p_memsz > kMost || s.p_vaddr > kMost || s.p_filesz > s.p_memsz)
        fail("segment outside of the file");
      end = std::max(end, s.p_vaddr + s.p_memsz);
    }
    region_ = memory.allocate(end);
    for (const Elf64_Phdr& s : image.segments()) {
      if (s.p_type != PT_LOAD) continue;
      std::memcpy(region_.host + s.p_vaddr, image.bytes(s.p_offset, s.p_filesz), s.p_filesz);
    }
  }

  std::byte* at(uint64_t address, uint64_t count) const {
    if (address > region_.bytes || count > region_.bytes - address) fail("address outside of all segments");
    return region_.host + address;
  }
  template <class T>
  T read(uint64_t address) const {
    T value;
    std::memcpy(&value, at(address, sizeof value), sizeof value);
    return value;
  }
  std::string text(uint64_t address) const {
    std::string result;
    for (char c = 0; (c = read<char>(address + result.size())) != 0;) result += c;
    return result;
  }
  uint64_t va() const { return region_.va; }

 private:
  static constexpr uint64_t kMost = uint64_t{1} << 32;
  Region region_;
};

struct Dynamic {
  uint64_t symbols = 0, strings = 0, hash = 0, relocations = 0, relocation_bytes = 0;
};

Dynamic read_dynamic(const Image& image, const Loaded& loaded) {
  Dynamic result;
  for (const Elf64_Phdr& s : image.segments()) {
    if (s.p_type != PT_DYNAMIC) continue;
    for (uint64_t at = s.p_vaddr; at + sizeof(Elf64_Dyn) <= s.p_vaddr + s.p_memsz; at += sizeof(Elf64_Dyn)) {
      const auto entry = loaded.read<Elf64_Dyn>(at);
      switch (entry.d_tag) {
        case DT_SYMTAB:
          result.symbols = entry.d_un.d_ptr;
          break;
        case DT_STRTAB:
          result.strings = entry.d_un.d_ptr;
          break;
        case DT_HASH:
          result.hash = entry.d_un.d_ptr;
          break;
        case DT_RELA:
          result.relocations = entry.d_un.d_ptr;
          break;
        case DT_RELASZ:
          result.relocation_bytes = entry.d_un.d_val;
          break;
        default:
          break;
      }
    }
  }
  if (result.symbols == 0 || result.strings == 0 || result.hash == 0) fail("no symbol table");
  return result;
}

void relocate(const Dynamic& dynamic, const Loaded& loaded) {
  for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= dynamic.relocation_bytes; at += sizeof(Elf64_Rela)) {
    const auto relocation = loaded.read<Elf64_Rela>(dynamic.relocations + at);
    const uint32_t type = ELF64_R_TYPE(relocation.r_info);
    uint64_t value = loaded.va() + static_cast<uint64_t>(relocation.r_addend);
    if (type == kRelocateAbsolute64) {
      const auto symbol =
          loaded.read<Elf64_Sym>(dynamic.symbols + ELF64_R_SYM(relocation.r_info) * sizeof(Elf64_Sym));
      if (symbol.st_shndx == SHN_UNDEF)
        fail("undefined symbol " + loaded.text(dynamic.strings + symbol.st_name));
      value += symbol.st_value;
    } else if (type != kRelocateRelative64) {
      fail(fmt::format("unknown relocation type {}", type));
    }
    std::memcpy(loaded.at(relocation.r_offset, 8), &value, 8);
  }
}

struct Metadata {
  std::string target;
  nlohmann::json kernels = nlohmann::json::array();
};

// An object that was linked from several has one note for each.
Metadata read_metadata(const Image& image) {
  Metadata result;
  for (const Elf64_Phdr& s : image.segments()) {
    if (s.p_type != PT_NOTE) continue;
    for (uint64_t at = 0; at + sizeof(Elf64_Nhdr) <= s.p_filesz;) {
      const auto note = image.read<Elf64_Nhdr>(s.p_offset + at);
      const uint64_t name = s.p_offset + at + sizeof note;
      const uint64_t content = name + (note.n_namesz + 3) / 4 * 4;
      if (note.n_type == kNoteMetadata && note.n_namesz == 7 &&
          std::memcmp(image.bytes(name, 7), "AMDGPU", 7) == 0) {
        const char* const bytes = image.bytes(content, note.n_descsz);
        const auto metadata = nlohmann::json::from_msgpack(bytes, bytes + note.n_descsz);
        const auto& kernels = metadata.at("amdhsa.kernels");
        result.kernels.insert(result.kernels.end(), kernels.begin(), kernels.end());
        result.target = metadata.value("amdhsa.target", "");
      }
      at = content + (note.n_descsz + 3) / 4 * 4 - s.p_offset;
    }
  }
  constexpr std::string_view kTriple = "amdgcn-amd-amdhsa--";
  if (result.target.starts_with(kTriple)) result.target.erase(0, kTriple.size());
  if (result.kernels.empty()) fail("no kernels in the metadata; use code object version 3 or later");
  return result;
}

Kernel kernel_of(const nlohmann::json& metadata) {
  Kernel kernel;
  kernel.name = metadata.at(".name");
  kernel.kernarg_bytes = metadata.at(".kernarg_segment_size");
  kernel.group_bytes = metadata.at(".group_segment_fixed_size");
  kernel.private_bytes = metadata.at(".private_segment_fixed_size");
  kernel.max_group_items = metadata.value(".max_flat_workgroup_size", 0u);
  if (const auto size = metadata.find(".reqd_workgroup_size"); size != metadata.end())
    kernel.required_group = size->get<std::array<uint32_t, 3>>();
  for (const auto& argument : metadata.value(".args", nlohmann::json::array())) {
    kernel.arguments.push_back(
        {argument.at(".offset"), argument.at(".size"), argument.at(".value_kind").get<std::string>()});
  }
  return kernel;
}

}  // namespace

CodeObject load_code_object(std::span<const char> file, MemoryBus& memory) {
  const Image image(file);
  const Metadata metadata = read_metadata(image);
  const Loaded loaded(image, memory);
  const Dynamic dynamic = read_dynamic(image, loaded);
  relocate(dynamic, loaded);

  std::map<std::string, uint64_t> symbols;
  const auto symbol_count = loaded.read<uint32_t>(dynamic.hash + 4);
  for (uint32_t i = 1; i < symbol_count; ++i) {
    const auto symbol = loaded.read<Elf64_Sym>(dynamic.symbols + i * sizeof(Elf64_Sym));
    symbols.insert_or_assign(loaded.text(dynamic.strings + symbol.st_name), symbol.st_value);
  }
  CodeObject object{metadata.target, {}};
  for (const nlohmann::json& kernel : metadata.kernels) {
    object.kernels.push_back(kernel_of(kernel));
    const auto& symbol_name = kernel.at(".symbol").get_ref<const std::string&>();
    const auto symbol = symbols.find(symbol_name);
    if (symbol == symbols.end()) fail("missing symbol " + symbol_name);
    object.kernels.back().descriptor_va = loaded.va() + symbol->second;
  }
  return object;
}

Kernel load_kernel(std::span<const char> file, const std::string& name, MemoryBus& memory) {
  CodeObject object = load_code_object(file, memory);
  std::string names;
  for (Kernel& kernel : object.kernels) {
    names += " " + kernel.name;
    if (kernel.name == name || (name.empty() && object.kernels.size() == 1)) return std::move(kernel);
  }
  fail("no kernel \"" + name + "\"; there are:" + names);
}

std::vector<std::span<const char>> find_code_objects(std::span<const char> file) {
  constexpr std::string_view kMagic(ELFMAG, SELFMAG);
  const std::string_view text(file.data(), file.size());
  std::vector<std::span<const char>> objects;
  for (size_t at = text.find(kMagic); at != text.npos; at = text.find(kMagic, at + 1)) {
    Elf64_Ehdr header;
    if (text.size() - at < sizeof header) break;
    std::memcpy(&header, text.data() + at, sizeof header);
    if (header.e_machine == kMachineAmdGpu && header.e_type == ET_DYN) objects.push_back(file.subspan(at));
  }
  return objects;
}

}  // namespace rigel::vgpu::runner
