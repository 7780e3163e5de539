// DebugInformation with elfutils' libdw.
#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>

#include "plugins/vgpu/exec/report/source_lines.hpp"

namespace rigel::vgpu::exec {
namespace {

#define RIGEL_LIBDW(X)    \
  X(elf_version)          \
  X(elf_memory)           \
  X(elf_end)              \
  X(dwarf_begin_elf)      \
  X(dwarf_end)            \
  X(dwarf_get_units)      \
  X(dwarf_haspc)          \
  X(dwarf_child)          \
  X(dwarf_siblingof)      \
  X(dwarf_tag)            \
  X(dwarf_attr)           \
  X(dwarf_attr_integrate) \
  X(dwarf_formstring)     \
  X(dwarf_formudata)      \
  X(dwarf_getsrc_die)     \
  X(dwarf_getsrcfiles)    \
  X(dwarf_filesrc)        \
  X(dwarf_linesrc)        \
  X(dwarf_lineno)         \
  X(dwarf_linecol)

struct Libdw {
#define X(name) decltype(&::name) name = nullptr;
  RIGEL_LIBDW(X)
#undef X
};

// The library stays open: it frees its per-thread allocations itself.
const Libdw* libdw() {
  static const Libdw* const loaded = []() -> const Libdw* {
    void* const library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return nullptr;
    static Libdw functions;
#define X(name)                                                                       \
  functions.name = reinterpret_cast<decltype(functions.name)>(dlsym(library, #name)); \
  if (functions.name == nullptr) return nullptr;
    RIGEL_LIBDW(X)
#undef X
    functions.elf_version(EV_CURRENT);
    return &functions;
  }();
  return loaded;
}

class DwarfInformation final : public DebugInformation {
 public:
  DwarfInformation(const Libdw& dw, std::span<char> contents) : dw_(dw) {
    elf_ = dw_.elf_memory(contents.data(), contents.size());
    if (elf_ != nullptr) dwarf_ = dw_.dwarf_begin_elf(elf_, DWARF_C_READ, nullptr);
  }
  ~DwarfInformation() override {
    if (dwarf_ != nullptr) dw_.dwarf_end(dwarf_);
    if (elf_ != nullptr) dw_.elf_end(elf_);
  }
  DwarfInformation(const DwarfInformation&) = delete;
  DwarfInformation& operator=(const DwarfInformation&) = delete;

  bool is_open() const { return dwarf_ != nullptr; }

  std::vector<SourceFrame> frames(uint64_t address) override {
    // Uses the units' ranges, because compilers for AMD GPUs write no .debug_aranges table.
    Dwarf_CU* unit = nullptr;
    Dwarf_Die die;
    while (dw_.dwarf_get_units(dwarf_, unit, &unit, nullptr, nullptr, &die, nullptr) == 0) {
      if (dw_.dwarf_haspc(&die, address) > 0) return frames_in(die, address);
    }
    return {};
  }

 private:
  std::vector<SourceFrame> frames_in(Dwarf_Die& unit, uint64_t address) const {
    std::vector<SourceFrame> frames;
    SourceFrame frame;
    if (Dwarf_Line* const line = dw_.dwarf_getsrc_die(&unit, address); line != nullptr) {
      if (const char* const file = dw_.dwarf_linesrc(line, nullptr, nullptr); file != nullptr)
        frame.file = file;
      dw_.dwarf_lineno(line, &frame.line);
      dw_.dwarf_linecol(line, &frame.column);
    }
    std::vector<Dwarf_Die> scopes;
    find_scopes(unit, address, scopes);
    for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
      const int tag = dw_.dwarf_tag(&*scope);
      if (tag == DW_TAG_lexical_block) continue;
      frame.function = name_of(*scope);
      frames.push_back(frame);
      if (tag == DW_TAG_subprogram) break;
      frame = {};
      frame.file = call_file(unit, *scope);
      frame.line = static_cast<int>(number_of(*scope, DW_AT_call_line));
      frame.column = static_cast<int>(number_of(*scope, DW_AT_call_column));
    }
    if (frames.empty() && !frame.file.empty()) frames.push_back(frame);
    return frames;
  }

  // Finds the scopes inside `parent` that contain the address, outermost first. dwarf_getscopes() finds
  // none in namespaces, because these have no addresses.
  bool find_scopes(Dwarf_Die& parent, uint64_t address, std::vector<Dwarf_Die>& scopes) const {
    Dwarf_Die die;
    for (int at_end = dw_.dwarf_child(&parent, &die); at_end == 0; at_end = dw_.dwarf_siblingof(&die, &die)) {
      const int tag = dw_.dwarf_tag(&die);
      if (tag == DW_TAG_namespace && find_scopes(die, address, scopes)) return true;
      if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block)
        continue;
      if (dw_.dwarf_haspc(&die, address) <= 0) continue;
      scopes.push_back(die);
      find_scopes(die, address, scopes);
      return true;
    }
    return false;
  }

  std::string name_of(Dwarf_Die& die) const {
    for (const unsigned attribute : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name}) {
      Dwarf_Attribute value;
      if (dw_.dwarf_attr_integrate(&die, attribute, &value) == nullptr) continue;
      if (const char* const text = dw_.dwarf_formstring(&value); text != nullptr) return demangled(text);
    }
    return {};
  }

  Dwarf_Word number_of(Dwarf_Die& die, unsigned attribute) const {
    Dwarf_Attribute value;
    Dwarf_Word number = 0;
    if (dw_.dwarf_attr(&die, attribute, &value) == nullptr) return 0;
    return dw_.dwarf_formudata(&value, &number) == 0 ? number : 0;
  }

  std::string call_file(Dwarf_Die& unit, Dwarf_Die& die) const {
    Dwarf_Files* files = nullptr;
    size_t count = 0;
    const Dwarf_Word index = number_of(die, DW_AT_call_file);
    if (dw_.dwarf_getsrcfiles(&unit, &files, &count) != 0 || index >= count) return {};
    const char* const name = dw_.dwarf_filesrc(files, index, nullptr, nullptr);
    return name == nullptr ? "" : name;
  }

  const Libdw& dw_;
  Elf* elf_ = nullptr;
  Dwarf* dwarf_ = nullptr;
};

}  // namespace

std::unique_ptr<DebugInformation> open_debug_information(std::span<char> contents) {
  const Libdw* const dw = libdw();
  if (dw == nullptr) return nullptr;
  auto information = std::make_unique<DwarfInformation>(*dw, contents);
  if (!information->is_open()) return nullptr;
  return information;
}

}  // namespace rigel::vgpu::exec
