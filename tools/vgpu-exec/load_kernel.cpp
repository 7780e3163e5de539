#include "tools/vgpu-exec/load_kernel.hpp"

#include <elf.h>

#include <algorithm>
#include <stdexcept>

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
  explicit Image(const std::vector<char>& file) : file_(file) {
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
  const std::vector<char>& file_;
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

// An object that was linked from several has one note for each.
nlohmann::json read_kernels(const Image& image) {
  nlohmann::json kernels = nlohmann::json::array();
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
        const auto& of_note = metadata.at("amdhsa.kernels");
        kernels.insert(kernels.end(), of_note.begin(), of_note.end());
      }
      at = content + (note.n_descsz + 3) / 4 * 4 - s.p_offset;
    }
  }
  if (kernels.empty()) fail("no kernels in the metadata; use code object version 3 or later");
  return kernels;
}

}  // namespace

Kernel load_kernel(const std::vector<char>& file, const std::string& name, MemoryBus& memory) {
  const Image image(file);
  const nlohmann::json kernels = read_kernels(image);
  const nlohmann::json* found = nullptr;
  std::string names;
  for (const auto& kernel : kernels) {
    const auto& its_name = kernel.at(".name").get_ref<const std::string&>();
    names += " " + its_name;
    if (its_name == name || (name.empty() && kernels.size() == 1)) found = &kernel;
  }
  if (found == nullptr) fail("no kernel \"" + name + "\"; there are:" + names);

  const Loaded loaded(image, memory);
  const Dynamic dynamic = read_dynamic(image, loaded);
  relocate(dynamic, loaded);

  Kernel kernel;
  kernel.kernarg_bytes = found->at(".kernarg_segment_size");
  kernel.group_bytes = found->at(".group_segment_fixed_size");
  kernel.private_bytes = found->at(".private_segment_fixed_size");
  for (const auto& argument : found->value(".args", nlohmann::json::array())) {
    kernel.arguments.push_back(
        {argument.at(".offset"), argument.at(".size"), argument.at(".value_kind").get<std::string>()});
  }
  const auto& symbol_name = found->at(".symbol").get_ref<const std::string&>();
  const auto symbols = loaded.read<uint32_t>(dynamic.hash + 4);
  for (uint32_t i = 1; i < symbols; ++i) {
    const auto symbol = loaded.read<Elf64_Sym>(dynamic.symbols + i * sizeof(Elf64_Sym));
    if (loaded.text(dynamic.strings + symbol.st_name) == symbol_name) {
      kernel.descriptor_va = loaded.va() + symbol.st_value;
    }
  }
  if (kernel.descriptor_va == 0) fail("missing symbol " + symbol_name);
  return kernel;
}

}  // namespace rigel::vgpu::runner
