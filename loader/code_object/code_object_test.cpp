#include "loader/code_object/code_object.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hsa/amd_hsa_kernel_code.h>

#include <functional>
#include <string>

#include "loader/code_object/elf_builder_for_test.hpp"
#include "loader/code_object/target_id.hpp"

namespace rigel {
namespace {

using ::testing::HasSubstr;
using Bytes = std::vector<std::byte>;

constexpr uint32_t kGfx900 = 0x2c;
constexpr uint32_t kGfx90a = 0x3f;

// A host shared object with parts of every kind.
ElfBuilder rich_elf() {
  ElfBuilder elf;
  elf.symbols = {
      {.name = "outside", .type = STT_NOTYPE, .section = SHN_UNDEF},
      {.name = "constant", .value = ElfBuilder::kConstants + 0x100, .size = 16},
      {.name = "variable", .value = ElfBuilder::kData + 0x10, .size = 8},
      {.name = "zeros", .value = ElfBuilder::kZeros, .size = 0x100},
      {.name = "function", .value = ElfBuilder::kCode, .size = 32, .type = STT_FUNC},
      {.name = "hidden", .value = ElfBuilder::kData, .size = 8, .visibility = STV_HIDDEN},
      {.name = "number", .value = 0x1234, .type = STT_NOTYPE, .section = SHN_ABS},
      {.name = "_end", .value = 0x100000, .type = STT_NOTYPE},
  };
  elf.add_kernel("work", ElfBuilder::kConstants + 0x40, ElfBuilder::kCode + 0x100,
                 {.group_segment_fixed_size = 96,
                  .private_segment_fixed_size = 32,
                  .kernarg_size = 24,
                  .reserved0 = {},
                  .kernel_code_entry_byte_offset = 0,
                  .reserved1 = {},
                  .compute_pgm_rsrc3 = 0,
                  .compute_pgm_rsrc1 = 0,
                  .compute_pgm_rsrc2 = 0,
                  .kernel_code_properties = kKernelUsesDynamicStack,
                  .kernarg_preload = 0,
                  .reserved2 = {}});
  elf.relocations = {
      {.place = ElfBuilder::kData, .type = R_X86_64_RELATIVE, .addend = ElfBuilder::kCode},
      {.place = ElfBuilder::kData + 8, .type = R_X86_64_JUMP_SLOT, .symbol = 1, .procedure_linkage = true}};
  elf.notes = {{"GNU", 3, "id"}, {"Some", 77, ""}};
  return elf;
}

const CodeSymbol* find(const CodeObject& object, std::string_view name) {
  for (const CodeSymbol& symbol : object.symbols()) {
    if (symbol.name == name) return &symbol;
  }
  return nullptr;
}

std::string why_refused(const Bytes& bytes) {
  std::string reason;
  const auto object = CodeObject::parse(bytes, &reason);
  if (object) return "(it was not refused)";
  EXPECT_EQ(object.error(), HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
  EXPECT_FALSE(reason.empty());
  return reason;
}

TEST(CodeObject, ParsesSegments) {
  const Bytes bytes = rich_elf().build();
  const auto object = CodeObject::parse(bytes);
  ASSERT_TRUE(object);
  ASSERT_EQ(object->segments().size(), 3u);
  const CodeSegment& data = object->segments()[2];
  EXPECT_EQ(data.address, ElfBuilder::kData);
  EXPECT_EQ(data.memory_size, ElfBuilder::kEnd - ElfBuilder::kData);
  EXPECT_EQ(data.file_offset, ElfBuilder::kDataOffset);
  EXPECT_EQ(data.file_size, 0x1000u);
  EXPECT_TRUE(data.readable && data.writable && !data.executable);
  EXPECT_TRUE(object->segments()[1].executable);
  EXPECT_FALSE(object->segments()[0].writable);
  EXPECT_EQ(object->layout().address, 0u);
  EXPECT_EQ(object->layout().size, ElfBuilder::kEnd);
  EXPECT_EQ(object->layout().alignment, ElfBuilder::kPage);
}

TEST(CodeObject, ParsesSymbols) {
  using Kind = CodeSymbol::Kind;
  using Place = CodeSymbol::Place;
  const Bytes bytes = rich_elf().build();
  const auto object = CodeObject::parse(bytes);
  ASSERT_TRUE(object);
  EXPECT_EQ(find(*object, "outside")->place, Place::kUndefined);
  const CodeSymbol* variable = find(*object, "variable");
  EXPECT_EQ(variable->kind, Kind::kVariable);
  EXPECT_EQ(variable->place, Place::kSegment);
  EXPECT_EQ(variable->segment, 2u);
  EXPECT_EQ(variable->size, 8u);
  EXPECT_TRUE(variable->exported && variable->preemptible);
  EXPECT_EQ(find(*object, "function")->kind, Kind::kFunction);
  EXPECT_FALSE(find(*object, "hidden")->exported);
  EXPECT_EQ(find(*object, "number")->place, Place::kAbsolute);
  EXPECT_EQ(find(*object, "_end")->place, Place::kOutside);
  EXPECT_TRUE(find(*object, "work.kd")->exported);
  EXPECT_FALSE(find(*object, "work.kd")->preemptible) << "its visibility is protected";
}

TEST(CodeObject, ParsesKernels) {
  const Bytes bytes = rich_elf().build();
  const auto object = CodeObject::parse(bytes);
  ASSERT_TRUE(object);
  ASSERT_EQ(object->kernels().size(), 1u);
  const CodeKernel& kernel = object->kernels()[0];
  EXPECT_EQ(object->symbols()[kernel.symbol].name, "work.kd");
  EXPECT_EQ(kernel.entry, ElfBuilder::kCode + 0x100);
  EXPECT_EQ(kernel.descriptor_size, 64u);
  EXPECT_EQ(kernel.group_size, 96u);
  EXPECT_EQ(kernel.private_size, 32u);
  EXPECT_EQ(kernel.kernarg_size, 24u);
  EXPECT_EQ(kernel.kernarg_alignment, 16u);
  EXPECT_TRUE(kernel.dynamic_callstack);
}

// Metadata as in compiler output: {"amdhsa.kernels": [{".symbol": …, ".kernarg_segment_align": …}]}.
std::string alignment_note(std::string_view symbol, uint8_t alignment) {
  const auto text = [](std::string_view what) {
    return std::string(1, static_cast<char>(0xa0 | what.size())).append(what);
  };
  return "\x81" + text("amdhsa.kernels") + "\x91\x82" + text(".symbol") + text(symbol) +
         text(".kernarg_segment_align") + "\xcc" + static_cast<char>(alignment);
}

TEST(CodeObject, MergesMetadataOfLinkedObjects) {
  ElfBuilder elf = rich_elf();
  elf.add_kernel("other", ElfBuilder::kConstants + 0x80, ElfBuilder::kCode + 0x200);
  elf.notes = {{"AMDGPU", 32, alignment_note("work.kd", 64)},
               {"AMDGPU", 32, alignment_note("other.kd", 128)}};
  const Bytes bytes = elf.build();
  const auto object = CodeObject::parse(bytes);
  ASSERT_TRUE(object);
  ASSERT_EQ(object->kernels().size(), 2u);
  for (const CodeKernel& kernel : object->kernels()) {
    const bool work = object->symbols()[kernel.symbol].name == "work.kd";
    EXPECT_EQ(kernel.kernarg_alignment, work ? 64u : 128u);
  }
}

TEST(CodeObject, ParsesRelocationsOfBothTables) {
  const Bytes bytes = rich_elf().build();
  const auto object = CodeObject::parse(bytes);
  ASSERT_TRUE(object);
  ASSERT_EQ(object->relocations().size(), 2u);
  EXPECT_EQ(object->relocations()[0].type, unsigned{R_X86_64_RELATIVE});
  EXPECT_EQ(object->relocations()[0].addend, int64_t{ElfBuilder::kCode});
  EXPECT_EQ(object->relocations()[1].symbol, 1u);
}

TEST(CodeObject, ParsesNotesNeededLibrariesAndInitializers) {
  ElfBuilder elf = rich_elf();
  elf.more_dynamic = {{DT_NEEDED, 1}, {DT_INIT, ElfBuilder::kCode}};
  const Bytes bytes = elf.build();
  const auto object = CodeObject::parse(bytes);
  ASSERT_TRUE(object);
  ASSERT_EQ(object->notes().size(), 2u);
  EXPECT_EQ(object->notes()[0].name, "GNU");
  EXPECT_EQ(object->notes()[0].type, 3u);
  EXPECT_EQ(object->notes()[0].description.size(), 2u);
  EXPECT_EQ(object->notes()[1].name, "Some");
  EXPECT_THAT(object->needed(), ::testing::ElementsAre("outside")) << "offset 1 is the first symbol's name";
  EXPECT_TRUE(object->has_initializers());
}

TEST(CodeObject, CountsSymbolsBySectionWithoutHashTable) {
  ElfBuilder elf = rich_elf();
  elf.with_hash_table = false;
  EXPECT_THAT(why_refused(elf.build()), HasSubstr("number of symbols"));
  elf.with_sections = true;
  const Bytes bytes = elf.build();
  const auto object = CodeObject::parse(bytes);
  ASSERT_TRUE(object);
  EXPECT_EQ(object->symbols().size(), elf.symbols.size() + 1);
}

TEST(CodeObject, RejectsTruncatedFile) {
  const Bytes bytes = rich_elf().build();
  const auto whole = CodeObject::parse(bytes);
  ASSERT_TRUE(whole);
  uint64_t needed = 0;
  for (const CodeSegment& segment : whole->segments()) {
    needed = std::max(needed, segment.file_offset + segment.file_size);
  }
  for (size_t size = 0; size < bytes.size(); ++size) {
    const Bytes cut(bytes.begin(),
                    bytes.begin() + static_cast<ptrdiff_t>(size));  // ends at the end of accessible memory
    const auto object = CodeObject::parse(cut);
    if (size < needed) {
      ASSERT_FALSE(object) << size;
    }
  }
}

TEST(CodeObject, AcceptsUnalignedBytes) {
  const Bytes bytes = rich_elf().build();
  Bytes shifted(bytes.size() + 1);
  std::copy(bytes.begin(), bytes.end(), shifted.begin() + 1);
  const auto object = CodeObject::parse(std::span(shifted).subspan(1));
  ASSERT_TRUE(object);
  EXPECT_EQ(find(*object, "variable")->value, ElfBuilder::kData + 0x10);
}

// --- What code is for --------------------------------------------------------------------------------------

std::string isa_name_of(const ElfBuilder& elf) {
  const Bytes bytes = elf.build();
  const auto object = CodeObject::parse(bytes);
  return object ? object->identity().isa_name : "(refused)";
}

TEST(CodeIdentity, HostCodeUsesMinimumProcessor) {
  ElfBuilder elf;
  EXPECT_EQ(isa_name_of(elf), "x86_64-unknown-linux-gnu--x86-64");
  elf.machine = EM_AARCH64;
  elf.os_abi = ELFOSABI_GNU;
  EXPECT_EQ(isa_name_of(elf), "aarch64-unknown-linux-gnu--armv8-a");
}

TEST(CodeIdentity, Version3HasFeaturesOnOrOff) {
  EXPECT_EQ(isa_name_of(ElfBuilder::amd_gpu(1, 0x2a)), "amdgcn-amd-amdhsa--gfx803");
  EXPECT_EQ(isa_name_of(ElfBuilder::amd_gpu(1, kGfx900)), "amdgcn-amd-amdhsa--gfx900:xnack-");
  EXPECT_EQ(isa_name_of(ElfBuilder::amd_gpu(1, kGfx900 | 0x100)), "amdgcn-amd-amdhsa--gfx900:xnack+");
  EXPECT_EQ(isa_name_of(ElfBuilder::amd_gpu(1, kGfx90a | 0x200)),
            "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-");
}

TEST(CodeIdentity, Version4CanLeaveFeatureOpen) {
  for (const uint8_t abi_version : {2, 3, 4}) {
    EXPECT_EQ(isa_name_of(ElfBuilder::amd_gpu(abi_version, kGfx90a | 0x500)), "amdgcn-amd-amdhsa--gfx90a");
    EXPECT_EQ(isa_name_of(ElfBuilder::amd_gpu(abi_version, kGfx90a | 0xb00)),
              "amdgcn-amd-amdhsa--gfx90a:sramecc-:xnack+");
    EXPECT_EQ(isa_name_of(ElfBuilder::amd_gpu(abi_version, kGfx90a | 0xe00)),
              "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-");
  }
}

TEST(CodeIdentity, Version6HasRevisionOfGenericProcessor) {
  const Bytes bytes = ElfBuilder::amd_gpu(4, 0x03000051 | 0x100).build();
  const auto object = CodeObject::parse(bytes);
  ASSERT_TRUE(object);
  EXPECT_EQ(object->identity().version, 6u);
  EXPECT_EQ(object->identity().generic_version, 3u);
  EXPECT_EQ(object->identity().isa_name, "amdgcn-amd-amdhsa--gfx9-generic");
}

TEST(CodeIdentity, UnknownProcessorIsAccepted) {
  const Bytes bytes = ElfBuilder::amd_gpu(3, 0xee).build();
  const auto object = CodeObject::parse(bytes);
  ASSERT_TRUE(object);
  EXPECT_EQ(object->identity().isa_name, "");
  EXPECT_EQ(object->identity().flags, 0xeeu);
}

std::string words(std::initializer_list<uint32_t> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(uint32_t)};
}

ElfBuilder version2_elf(uint32_t major, uint32_t minor, uint32_t stepping) {
  ElfBuilder elf = ElfBuilder::amd_gpu(0, 0);
  elf.notes = {{"AMD", 1, words({2, 1})},
               {"AMD", 3, words({4u | 7u << 16, major, minor, stepping}) + std::string("AMD\0AMDGPU\0", 11)}};
  return elf;
}

TEST(CodeIdentity, Version2UsesNotes) {
  EXPECT_EQ(isa_name_of(version2_elf(8, 0, 3)), "amdgcn-amd-amdhsa--gfx803");
  EXPECT_EQ(isa_name_of(version2_elf(8, 0, 1)), "amdgcn-amd-amdhsa--gfx801:xnack+");
  EXPECT_EQ(isa_name_of(version2_elf(9, 0, 1)), "amdgcn-amd-amdhsa--gfx900:xnack+");
  EXPECT_EQ(isa_name_of(version2_elf(9, 0, 6)), "amdgcn-amd-amdhsa--gfx906:sramecc-:xnack-");
  EXPECT_THAT(why_refused(version2_elf(10, 1, 0).build()), HasSubstr("AMDGPU:10:1:0"));
}

TEST(CodeIdentity, HsailCodeHasProfileModelAndRounding) {
  ElfBuilder elf = version2_elf(9, 0, 0);
  elf.flags = 1;  // xnack
  elf.notes.push_back({"AMD", 2, words({1, 0}) + std::string("\1\1\2", 3)});
  const Bytes bytes = elf.build();
  const auto object = CodeObject::parse(bytes);
  ASSERT_TRUE(object);
  EXPECT_EQ(object->identity().isa_name, "amdgcn-amd-amdhsa--gfx900:xnack+");
  EXPECT_EQ(object->identity().profile, HSA_PROFILE_FULL);
  EXPECT_EQ(object->identity().machine_model, HSA_MACHINE_MODEL_LARGE);
  EXPECT_EQ(object->identity().rounding_mode, HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR);
}

TEST(CodeIdentity, Version1IsRejected) {
  ElfBuilder elf = ElfBuilder::amd_gpu(0, 0);
  EXPECT_THAT(why_refused(elf.build()), HasSubstr("the version note is missing"));
  elf.notes = {{"AMD", 1, words({1, 0})}};
  EXPECT_THAT(why_refused(elf.build()), HasSubstr("version 1.0"));
  elf.notes = {{"AMD", 1, words({2, 1})}, {"AMD", 3, words({4, 8, 0})}};
  EXPECT_THAT(why_refused(elf.build()), HasSubstr("the ISA note is missing")) << "the note is too short";
}

TEST(CodeIdentity, Version2KernelsAreKernelObjects) {
  ElfBuilder elf = version2_elf(8, 0, 3);
  elf.symbols = {{.name = "old", .value = ElfBuilder::kCode, .size = 512, .type = STT_LOOS}};
  amd_kernel_code_t code{};
  code.kernel_code_entry_byte_offset = 256;
  code.kernarg_segment_byte_size = 40;
  code.kernarg_segment_alignment = AMD_POWERTWO_64;
  code.workgroup_group_segment_byte_size = 128;
  code.workitem_private_segment_byte_size = 4;
  code.wavefront_size = AMD_POWERTWO_64;
  elf.contents = {{ElfBuilder::kCode, {reinterpret_cast<const char*>(&code), sizeof code}}};
  const Bytes bytes = elf.build();
  const auto object = CodeObject::parse(bytes);
  ASSERT_TRUE(object);
  ASSERT_EQ(object->kernels().size(), 1u);
  const CodeKernel& kernel = object->kernels()[0];
  EXPECT_EQ(kernel.entry, ElfBuilder::kCode + 256);
  EXPECT_EQ(kernel.descriptor_size, 256u);
  EXPECT_EQ(kernel.kernarg_size, 40u);
  EXPECT_EQ(kernel.kernarg_alignment, 64u);
  EXPECT_EQ(kernel.group_size, 128u);
  EXPECT_EQ(kernel.private_size, 4u);
  EXPECT_EQ(kernel.wavefront_size, 64u);
}

// --- Rejected files ----------------------------------------------------------------------------------------

TEST(CodeObject, RejectsFileTruncatedAtAnyByte) {
  for (const bool with_sections : {false, true}) {
    ElfBuilder elf = rich_elf();
    elf.with_sections = with_sections;
    const Bytes whole = elf.build();
    ASSERT_TRUE(CodeObject::parse(whole));
    for (size_t size = 0; size < whole.size(); ++size) {
      // A separate allocation, so that AddressSanitizer detects a read past the end.
      const Bytes cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
      const auto object = CodeObject::parse(cut);
      ASSERT_FALSE(object) << "cut to " << size << " of " << whole.size();
    }
  }
}

struct Damage {
  const char* name;
  std::function<void(Bytes&)> apply;
  const char* reason;
};

class DamagedCodeObject : public ::testing::TestWithParam<Damage> {};

TEST_P(DamagedCodeObject, IsRejectedWithReason) {
  Bytes bytes = rich_elf().build();
  GetParam().apply(bytes);
  EXPECT_THAT(why_refused(bytes), HasSubstr(GetParam().reason));
}

const auto header = [](auto change) {
  return [change](Bytes& file) { change(ElfBuilder::header_of(file)); };
};
const auto segment = [](size_t index, auto change) {
  return [index, change](Bytes& file) { change(ElfBuilder::program_header(file, index)); };
};
const auto dynamic = [](int64_t tag, uint64_t value) {
  return [tag, value](Bytes& file) { ElfBuilder::dynamic_entry(file, tag).d_un.d_val = value; };
};

INSTANTIATE_TEST_SUITE_P(
    Header, DamagedCodeObject,
    ::testing::Values(
        Damage{"Magic", header([](auto& h) { h.e_ident[0] = 0; }), "not an ELF file"},
        Damage{"Class", header([](auto& h) { h.e_ident[EI_CLASS] = ELFCLASS32; }), "64-bit"},
        Damage{"ByteOrder", header([](auto& h) { h.e_ident[EI_DATA] = ELFDATA2MSB; }), "little-endian"},
        Damage{"Version", header([](auto& h) { h.e_version = 2; }), "version"},
        Damage{"HeaderSize", header([](auto& h) { h.e_ehsize = 52; }), "invalid ELF header size"},
        Damage{"Relocatable", header([](auto& h) { h.e_type = ET_REL; }), "relocatable file"},
        Damage{"Executable", header([](auto& h) { h.e_type = ET_EXEC; }), "not a shared object"},
        Damage{"Machine", header([](auto& h) { h.e_machine = EM_ARM; }), "machine 40"},
        Damage{"HostOsAbi", header([](auto& h) { h.e_ident[EI_OSABI] = ELFOSABI_FREEBSD; }), "OS ABI 9"},
        Damage{"ProgramHeaderSize", header([](auto& h) { h.e_phentsize = 32; }),
               "invalid program header size 32"},
        Damage{"ProgramHeaderCount", header([](auto& h) { h.e_phnum = PN_XNUM; }),
               "65535 program headers exceed the limit"},
        Damage{"ProgramHeaderOffset", header([](auto& h) { h.e_phoff = ~uint64_t{0} - 8; }),
               "program headers"},
        Damage{"NoProgramHeaders", header([](auto& h) { h.e_phnum = 0; }), "there are no loadable segments"},
        Damage{"SectionOffset", header([](auto& h) {
                 h.e_shoff = ~uint64_t{0};
                 h.e_shnum = 2;
                 h.e_shentsize = 64;
               }),
               "section headers"},
        Damage{"SectionSize", header([](auto& h) {
                 h.e_shoff = 64;
                 h.e_shnum = 2;
                 h.e_shentsize = 40;
               }),
               "invalid section header size 40"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Segments, DamagedCodeObject,
    ::testing::Values(
        Damage{"FileLargerThanMemory", segment(2, [](auto& s) { s.p_memsz = s.p_filesz - 1; }),
               "4096 bytes in the file exceed"},
        Damage{"PastTheFile", segment(2, [](auto& s) { s.p_offset += 0x1000; }), "exceed the file"},
        Damage{"OffsetOverflows", segment(2, [](auto& s) { s.p_offset = ~uint64_t{0xfff}; }),
               "exceed the file"},
        Damage{"AddressOverflows", segment(2, [](auto& s) { s.p_vaddr = ~uint64_t{0xfff}; }),
               "the addresses overflow"},
        Damage{"HugeMemory", segment(2, [](auto& s) { s.p_memsz = uint64_t{1} << 40; }),
               "bytes of memory exceed the limit"},
        Damage{"Overlap", segment(1, [](auto& s) { s.p_memsz = 0x3000; }), "overlaps the preceding segment"},
        Damage{"Descending", segment(1, [](auto& s) { s.p_vaddr = 0x1000; }),
               "overlaps the preceding segment"},
        Damage{"OddAlignment", segment(0, [](auto& s) { s.p_align = 0x1001; }), "invalid alignment"},
        Damage{"HugeOddAlignment", segment(0, [](auto& s) { s.p_align = (uint64_t{1} << 30) + 1; }),
               "invalid alignment"},
        Damage{"TwoDynamicSections", segment(4, [](auto& s) { s.p_type = PT_DYNAMIC; }), "two dynamic"},
        Damage{"NoDynamicSection", segment(3, [](auto& s) { s.p_type = PT_NULL; }),
               "the dynamic section is missing"},
        Damage{"DynamicPastTheFile", segment(3, [](auto& s) { s.p_offset = 0x3ff8; }), "dynamic section"},
        Damage{"NotesPastTheFile", segment(4, [](auto& s) { s.p_filesz = 0x4000; }),
               "notes exceed the file"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Tables, DamagedCodeObject,
    ::testing::Values(
        Damage{"SymbolEntrySize", dynamic(DT_SYMENT, 16), "invalid symbol size 16"},
        Damage{"SymbolTableOutside", dynamic(DT_SYMTAB, 0x100000), "symbol table"},
        Damage{"SymbolTableInZeros", dynamic(DT_SYMTAB, ElfBuilder::kZeros), "symbol table"},
        Damage{"SymbolTableOverflows", dynamic(DT_SYMTAB, ~uint64_t{7}), "symbol table"},
        Damage{"StringTableOutside", dynamic(DT_STRTAB, 0x100000), "string table"},
        Damage{"StringTableTooLong", dynamic(DT_STRSZ, ~uint64_t{0}), "string table"},
        Damage{"StringTableEmpty", dynamic(DT_STRSZ, 0), "string table"},
        Damage{"StringTableTooShort", dynamic(DT_STRSZ, 1), "symbol 1: its name is outside"},
        Damage{"StringTableUnterminated", dynamic(DT_STRSZ, 3), "string table"},
        Damage{"HashOutside", dynamic(DT_HASH, 0x1ffc), "hash table"},
        Damage{"HashCountsTooMany",
               [](Bytes& file) {
                 const uint64_t hash = ElfBuilder::dynamic_entry(file, DT_HASH).d_un.d_val;
                 const uint32_t many = 0xffffffff;
                 std::memcpy(file.data() + hash + 4, &many, sizeof many);
               },
               "entries exceed the file"},
        Damage{"RelocationEntrySize", dynamic(DT_RELAENT, 16), "invalid relocation size 16"},
        Damage{"RelocationBytes", dynamic(DT_RELASZ, 25), "invalid total size 25"},
        Damage{"RelocationsHuge", dynamic(DT_RELASZ, uint64_t{24} << 50), "entries exceed the file"},
        Damage{"RelocationsOutside", dynamic(DT_RELA, 0x6000), "not in the file"},
        Damage{"LinkageKind", dynamic(DT_PLTREL, DT_REL), "without addends"},
        Damage{"TagTwice", [](Bytes& file) { ElfBuilder::dynamic_entry(file, DT_STRSZ).d_tag = DT_STRTAB; },
               "twice"},
        Damage{"Rel", [](Bytes& file) { ElfBuilder::dynamic_entry(file, DT_RELA).d_tag = DT_REL; },
               "without addends"},
        Damage{"Relr", [](Bytes& file) { ElfBuilder::dynamic_entry(file, DT_RELA).d_tag = DT_RELR; },
               "packed"}),
    [](const auto& test) { return test.param.name; });

// --- Files of linkers that look damaged but are not, and damage that concerns no kernel

TEST(CodeObject, AcceptsUnusualSegments) {
  const std::pair<const char*, std::function<void(Bytes&)>> changes[] = {
      {"aligned to 1 GiB", segment(0, [](auto& s) { s.p_align = uint64_t{1} << 30; })},
      {"alignment 0", segment(0, [](auto& s) { s.p_align = 0; })},
      {"offset and address not congruent", segment(1, [](auto& s) { s.p_align = 0x4000; })},
      {"an empty segment of odd alignment", segment(4,
                                                    [](auto& s) {
                                                      s.p_type = PT_LOAD;
                                                      s.p_align = 3;
                                                      s.p_filesz = s.p_memsz = 0;
                                                    })},
      {"thread-local variables that no relocation needs", segment(4, [](auto& s) { s.p_type = PT_TLS; })},
      {"a note longer than its segment", segment(4, [](auto& s) { s.p_filesz -= 6; })},
  };
  for (const auto& [what, apply] : changes) {
    Bytes bytes = rich_elf().build();
    apply(bytes);
    std::string reason;
    EXPECT_TRUE(CodeObject::parse(bytes, &reason)) << what << ": " << reason;
  }
}

TEST(CodeObject, UsesSectionSymbolsWithoutDynamicOnes) {
  ElfBuilder elf = ElfBuilder::amd_gpu(2, kGfx900);
  elf.add_kernel("k", ElfBuilder::kConstants, ElfBuilder::kCode);
  elf.symbols.push_back({.name = "variable", .value = ElfBuilder::kData, .size = 8});
  elf.symbols.push_back({.name = "local", .value = ElfBuilder::kData, .size = 8, .binding = STB_LOCAL});
  elf.symbols_in_section = true;
  const Bytes bytes = elf.build();
  std::string reason;
  const auto object = CodeObject::parse(bytes, &reason);
  ASSERT_TRUE(object) << reason;
  EXPECT_EQ(object->kernels().size(), 1u);
  ASSERT_NE(find(*object, "variable"), nullptr);
  EXPECT_TRUE(find(*object, "variable")->exported);
  EXPECT_EQ(find(*object, "local"), nullptr);

  elf.relocations = {{.place = ElfBuilder::kData, .type = 3, .symbol = 2}};
  EXPECT_THAT(why_refused(elf.build()), HasSubstr("symbol 2 does not exist"));
  for (size_t size = 0; size < bytes.size(); ++size) {
    const Bytes cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
    ASSERT_FALSE(CodeObject::parse(cut)) << "cut to " << size;
  }
}

TEST(CodeObject, KeepsNotesBeforeDamagedOne) {
  Bytes bytes = rich_elf().build();
  ElfBuilder::program_header(bytes, 4).p_filesz -= 6;
  const auto object = CodeObject::parse(bytes);
  ASSERT_TRUE(object);
  ASSERT_EQ(object->notes().size(), 1u);
  EXPECT_EQ(object->notes()[0].name, "GNU");
}

TEST(CodeObject, ExportsEmptyVariableOutsideSegments) {
  // Linkers give an empty section an address outside the segments.
  for (const uint64_t value : {uint64_t{0x2800}, ElfBuilder::kEnd + 0x12e8}) {
    ElfBuilder elf = ElfBuilder::amd_gpu(2, kGfx900);
    elf.symbols = {{.name = "table", .value = value}, {.name = "_end", .value = value, .type = STT_NOTYPE}};
    elf.relocations = {{.place = ElfBuilder::kData, .type = 3, .symbol = 1}};
    std::string reason;
    const Bytes bytes = elf.build();
    const auto object = CodeObject::parse(bytes, &reason);
    ASSERT_TRUE(object) << reason;
    const CodeSymbol* table = find(*object, "table");
    EXPECT_EQ(table->place, CodeSymbol::Place::kOutside);
    EXPECT_EQ(table->value, value);
    EXPECT_TRUE(table->exported);
    EXPECT_FALSE(find(*object, "_end")->exported) << "it is no variable";
  }
}

TEST(CodeObject, HidesSymbolsWithBytesOutsideSegments) {
  for (const uint64_t value : {uint64_t{0x2800}, ~uint64_t{0}}) {
    ElfBuilder elf = ElfBuilder::amd_gpu(2, kGfx900);
    elf.symbols = {{.name = "astray", .value = value, .size = 8},
                   {.name = "k.kd", .value = value, .size = 64}};
    const Bytes bytes = elf.build();
    const auto object = CodeObject::parse(bytes);
    ASSERT_TRUE(object);
    EXPECT_FALSE(find(*object, "astray")->exported);
    EXPECT_TRUE(object->kernels().empty());

    elf.relocations = {{.place = ElfBuilder::kData, .type = 3, .symbol = 1}};
    EXPECT_THAT(why_refused(elf.build()), HasSubstr("astray, which is outside"));
  }
}

TEST(CodeObject, LimitsSymbolsToTheirSegment) {
  ElfBuilder elf;
  elf.symbols = {{.name = "long", .value = ElfBuilder::kEnd - 4, .size = 8},
                 {.name = "endless", .value = ElfBuilder::kData, .size = ~uint64_t{0}}};
  const Bytes bytes = elf.build();
  const auto object = CodeObject::parse(bytes);
  ASSERT_TRUE(object);
  EXPECT_EQ(find(*object, "long")->size, 4u);
  EXPECT_EQ(find(*object, "endless")->size, ElfBuilder::kEnd - ElfBuilder::kData);
}

TEST(CodeObject, RejectsRelocationsOfUnsupportedSymbols) {
  for (const uint8_t type : {STT_TLS, STT_GNU_IFUNC}) {
    ElfBuilder elf;
    elf.symbols = {{.name = "special", .value = ElfBuilder::kCode, .size = 8, .type = type}};
    const Bytes bytes = elf.build();
    const auto object = CodeObject::parse(bytes);
    ASSERT_TRUE(object);
    EXPECT_EQ(find(*object, "special")->place, CodeSymbol::Place::kNoAddress);
    EXPECT_FALSE(find(*object, "special")->exported);

    elf.relocations = {{.place = ElfBuilder::kData, .type = R_X86_64_64, .symbol = 1}};
    EXPECT_THAT(why_refused(elf.build()), HasSubstr("special, which is thread-local"));
  }
}

TEST(CodeObject, LogsReasonOfRejectionAsError) {
  configure_log(nullptr);
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(CodeObject::parse({}));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("rigel: error: code object: 0 bytes are less than an ELF header"));
}

TEST(CodeObject, RejectsUnsupportedRelocations) {
  const auto reason_for = [](const ElfBuilder::Relocation& relocation) {
    ElfBuilder elf;
    elf.symbols = {{.name = "outside", .type = STT_NOTYPE, .section = SHN_UNDEF},
                   {.name = "group", .type = STT_OBJECT, .section = 0xff00}};
    elf.relocations = {relocation};
    return why_refused(elf.build());
  };
  constexpr uint64_t kPlace = ElfBuilder::kData;
  EXPECT_THAT(reason_for({.place = kPlace, .type = R_X86_64_COPY, .symbol = 1}),
              HasSubstr("copies a variable"));
  EXPECT_THAT(reason_for({.place = kPlace, .type = R_X86_64_TPOFF64, .symbol = 1}),
              HasSubstr("thread-local"));
  EXPECT_THAT(reason_for({.place = kPlace, .type = R_X86_64_IRELATIVE}), HasSubstr("resolver"));
  EXPECT_THAT(reason_for({.place = kPlace, .type = R_X86_64_PC32, .symbol = 1}), HasSubstr("by a linker"));
  EXPECT_THAT(reason_for({.place = kPlace, .type = 999, .symbol = 1}), HasSubstr("type 999 is unknown"));
  EXPECT_THAT(reason_for({.place = kPlace, .type = R_X86_64_64, .symbol = 3}), HasSubstr("symbol 3"));
  EXPECT_THAT(reason_for({.place = kPlace, .type = R_X86_64_64, .symbol = 2}), HasSubstr("group"));
  EXPECT_THAT(reason_for({.place = ElfBuilder::kEnd - 7, .type = R_X86_64_RELATIVE}), HasSubstr("outside"));
  EXPECT_THAT(reason_for({.place = ~uint64_t{3}, .type = R_X86_64_RELATIVE}), HasSubstr("outside"));
  EXPECT_THAT(reason_for({.place = ElfBuilder::kCode, .type = R_X86_64_RELATIVE}), HasSubstr("-fPIC"));
}

TEST(CodeObject, AcceptsRelocationsOfGpuCode) {
  ElfBuilder elf = ElfBuilder::amd_gpu(3, kGfx900);
  elf.relocations = {{.place = ElfBuilder::kCode + 4, .type = 1, .addend = 8}};
  EXPECT_TRUE(CodeObject::parse(elf.build()));
}

TEST(CodeObject, RejectsInvalidKernels) {
  const auto reason_for = [](uint64_t descriptor, uint64_t entry, bool gpu) {
    ElfBuilder elf = gpu ? ElfBuilder::amd_gpu(3, kGfx900) : ElfBuilder{};
    elf.add_kernel("k", descriptor, entry);
    return why_refused(elf.build());
  };
  EXPECT_THAT(reason_for(ElfBuilder::kConstants, ElfBuilder::kData, false),
              HasSubstr("not in an executable"));
  EXPECT_THAT(reason_for(ElfBuilder::kConstants, 0x2000, false), HasSubstr("not in an executable"));
  EXPECT_THAT(reason_for(ElfBuilder::kConstants, uint64_t{1} << 63, false),
              HasSubstr("not in an executable"));
  EXPECT_THAT(reason_for(ElfBuilder::kConstants + 8, ElfBuilder::kCode, false), HasSubstr("aligned to 64"));
  EXPECT_THAT(reason_for(ElfBuilder::kConstants, ElfBuilder::kCode + 64, true), HasSubstr("aligned to 256"));

  ElfBuilder elf;
  elf.symbols = {{.name = "k.kd", .value = ElfBuilder::kZeros, .size = 64}};
  EXPECT_THAT(why_refused(elf.build()), HasSubstr("kernel descriptor k.kd: not 64 bytes"))
      << "its bytes are not in the file";
}

TEST(CodeObject, KernelDescriptorRequiresExactSize) {
  ElfBuilder elf;
  elf.symbols = {{.name = "setting.kd", .value = ElfBuilder::kConstants, .size = 32}};
  const Bytes bytes = elf.build();
  const auto object = CodeObject::parse(bytes);
  ASSERT_TRUE(object);
  EXPECT_TRUE(object->kernels().empty());
  EXPECT_TRUE(find(*object, "setting.kd")->exported);
}

TEST(CodeObject, AcceptsGpuKernelsInAnySegment) {
  ElfBuilder elf = ElfBuilder::amd_gpu(2, kGfx900);
  elf.add_kernel("k", ElfBuilder::kConstants, ElfBuilder::kData + 0x100);
  EXPECT_TRUE(CodeObject::parse(elf.build()));
}

TEST(CodeObject, SurvivesAnyChangedByteInTables) {
  const Bytes whole = rich_elf().build();
  const auto flip_all_of = [&whole](size_t from, size_t to) {
    for (size_t at = from; at < to; ++at) {
      for (const uint8_t mask : {0x01, 0x80, 0xff}) {
        Bytes bytes = whole;
        bytes[at] ^= std::byte{mask};
        // Accepted or rejected, but without invalid accesses; accepted objects satisfy the header's
        // guarantees.
        const auto object = CodeObject::parse(bytes);
        if (!object) continue;
        for (const CodeRelocation& relocation : object->relocations()) {
          EXPECT_LT(relocation.symbol, std::max<size_t>(object->symbols().size(), 1));
        }
        for (const CodeKernel& kernel : object->kernels()) EXPECT_LT(kernel.symbol, object->symbols().size());
      }
    }
  };
  flip_all_of(0, 0x600);  // headers, notes, symbols, relocations
  flip_all_of(ElfBuilder::kConstants + 0x40, ElfBuilder::kConstants + 0x80);
  flip_all_of(ElfBuilder::kDataOffset + ElfBuilder::kDataBytes,
              ElfBuilder::kDataOffset + ElfBuilder::kDataBytes + 0x100);
}

}  // namespace
}  // namespace rigel
