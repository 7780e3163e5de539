#include "plugins/vgpu/compiler/flat_code.hpp"

#include <llvm/BinaryFormat/ELF.h>
#include <llvm/Object/ELFObjectFile.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

namespace rigel::vgpu::exec::compiler {
namespace {

using llvm::object::ELF64LEObjectFile;
using llvm::object::ELFRelocationRef;
using llvm::object::ELFSectionRef;
using llvm::object::ELFSymbolRef;
using llvm::object::SectionRef;

class Flattener {
 public:
  explicit Flattener(const ELF64LEObjectFile& object) : object_(object) {}

  FlatCode run() {
    for (const SectionRef section : object_.sections()) {
      if ((ELFSectionRef(section).getFlags() & llvm::ELF::SHF_ALLOC) != 0) place_section(section);
    }
    for (const SectionRef section : object_.sections()) relocate(section);
    for (const llvm::object::SymbolRef symbol : object_.symbols()) {
      if (text_of(symbol.getName()) != "kernel") continue;
      if (const auto at = address_of(symbol)) code_.entry = *at;
      has_entry_ = true;
    }
    if (!has_entry_) fail("the object has no symbol 'kernel'");
    return std::move(code_);
  }

 private:
  void fail(std::string why) {
    if (code_.error.empty()) code_.error = std::move(why);
  }
  template <class T>
  T value_of(llvm::Expected<T> value) {
    if (value) return std::move(*value);
    fail(llvm::toString(value.takeError()));
    return {};
  }
  std::string text_of(llvm::Expected<llvm::StringRef> text) { return value_of(std::move(text)).str(); }

  void place_section(const SectionRef& section) {
    const size_t alignment = std::max<size_t>(section.getAlignment().value(), 16);
    if (alignment > 64) return fail("a section is aligned to more than 64 bytes");
    const size_t begin = (code_.bytes.size() + alignment - 1) / alignment * alignment;
    if (section.isBSS()) return fail("the object has a BSS section");
    const llvm::StringRef contents = value_of(section.getContents());
    code_.bytes.resize(begin + contents.size());
    std::memcpy(code_.bytes.data() + begin, contents.data(), contents.size());
    begins_[section.getIndex()] = begin;
  }

  // Returns the symbol's offset in the bytes.
  std::optional<size_t> address_of(const llvm::object::SymbolRef& symbol) {
    auto found = symbol.getSection();
    if (!found) {
      fail("a symbol has no section");
      llvm::consumeError(found.takeError());
      return std::nullopt;
    }
    const auto section = *found;
    if (section == object_.section_end() || !begins_.contains(section->getIndex())) {
      fail("undefined symbol " + text_of(symbol.getName()));
      return std::nullopt;
    }
    return begins_[section->getIndex()] + value_of(symbol.getValue());
  }

  void relocate(const SectionRef& section) {
    auto found = section.getRelocatedSection();
    if (!found) return fail(llvm::toString(found.takeError()));
    const auto target = *found;
    if (target == object_.section_end() || !begins_.contains(target->getIndex())) return;
    const size_t begin = begins_[target->getIndex()];
    for (const llvm::object::RelocationRef relocation : section.relocations()) {
      const auto at = begin + relocation.getOffset();
      const auto symbol = address_of(*relocation.getSymbol());
      if (!symbol) return;
      const int64_t addend = value_of(ELFRelocationRef(relocation).getAddend());
      switch (relocation.getType()) {
        case llvm::ELF::R_X86_64_PC32:
        case llvm::ELF::R_X86_64_PLT32: {
          const auto value =
              static_cast<int32_t>(static_cast<int64_t>(*symbol) + addend - static_cast<int64_t>(at));
          std::memcpy(code_.bytes.data() + at, &value, sizeof value);
          break;
        }
        default:
          return fail("unknown relocation type " + std::to_string(relocation.getType()));
      }
    }
  }

  const ELF64LEObjectFile& object_;
  FlatCode code_;
  std::map<uint64_t, size_t> begins_;
  bool has_entry_ = false;
};

}  // namespace

FlatCode flatten(llvm::MemoryBufferRef buffer) {
  auto object = llvm::object::ObjectFile::createELFObjectFile(buffer);
  if (!object) return {{}, 0, llvm::toString(object.takeError())};
  const auto* const elf = llvm::dyn_cast<ELF64LEObjectFile>(object->get());
  if (elf == nullptr) return {{}, 0, "the object is not for x86-64"};
  return Flattener(*elf).run();
}

}  // namespace rigel::vgpu::exec::compiler
