#include "loader/code_object/code_image.hpp"

#include <gtest/gtest.h>

#include "loader/code_object/bounds.hpp"
#include "loader/code_object/elf_builder_for_test.hpp"

namespace rigel {
namespace {

using Bytes = std::vector<std::byte>;

constexpr uint64_t kDevice = 0x7f12'3456'0000;
constexpr uint64_t kOutside = 0x5555'6666'7777'8888;
constexpr uint64_t kVariable = ElfBuilder::kData + 0x40;
constexpr uint64_t kPlace = ElfBuilder::kData + 0x80;
constexpr int64_t kAddend = -0x18;

const SymbolResolver kNothingElse = [](const CodeSymbol&) { return std::nullopt; };
const SymbolResolver kOutsideOnly = [](const CodeSymbol& symbol) {
  return symbol.name == "outside" ? std::optional(kOutside) : std::nullopt;
};

struct Image {
  hsa_status_t status = HSA_STATUS_SUCCESS;
  Bytes bytes;

  template <class T>
  T at(uint64_t address) const {
    return read_unaligned<T>(bytes.data() + address);
  }
};

Image build(const ElfBuilder& elf, const SymbolResolver& resolve = kNothingElse, uint64_t device = kDevice) {
  const Bytes file = elf.build();
  const auto object = CodeObject::parse(file);
  if (!object) return {object.error(), {}};
  Image image{HSA_STATUS_SUCCESS, Bytes(object->layout().size)};
  const auto done = build_image(*object, image.bytes, device, resolve);
  if (!done) image.status = done.error();
  return image;
}

ElfBuilder elf_for(uint16_t machine) {
  ElfBuilder elf = machine == 224 ? ElfBuilder::amd_gpu(3, 0x2c) : ElfBuilder{};
  elf.machine = machine;
  elf.symbols = {{.name = "variable", .value = kVariable, .size = 8},
                 {.name = "outside", .type = STT_NOTYPE, .section = SHN_UNDEF}};
  return elf;
}

struct Case {
  const char* name;
  uint16_t machine;
  uint32_t type;
  uint32_t symbol;  // 0: none, 1: variable, 2: external
  uint64_t expected;
  unsigned bytes;
};

class Relocation : public ::testing::TestWithParam<Case> {};

TEST_P(Relocation, ChangesItsFieldOnly) {
  const Case& test = GetParam();
  ElfBuilder elf = elf_for(test.machine);
  elf.contents = {{kPlace - 8, std::string(24, '\xa5')}};
  elf.relocations = {{.place = kPlace, .type = test.type, .symbol = test.symbol, .addend = kAddend}};
  const Image image = build(elf, kOutsideOnly);
  ASSERT_EQ(image.status, HSA_STATUS_SUCCESS);
  uint64_t expected = 0xa5a5a5a5a5a5a5a5;
  std::memcpy(&expected, &test.expected, test.bytes);
  EXPECT_EQ(image.at<uint64_t>(kPlace), expected);
  EXPECT_EQ(image.at<uint64_t>(kPlace - 8), 0xa5a5a5a5a5a5a5a5);
  EXPECT_EQ(image.at<uint64_t>(kPlace + 8), 0xa5a5a5a5a5a5a5a5);
}

constexpr uint64_t kA = static_cast<uint64_t>(kAddend);
constexpr uint64_t kS = kDevice + kVariable;

INSTANTIATE_TEST_SUITE_P(
    Amdgpu, Relocation,
    ::testing::Values(Case{"None", 224, 0, 1, 0, 0}, Case{"Abs32Lo", 224, 1, 1, kS + kA, 4},
                      Case{"Abs32Hi", 224, 2, 1, (kS + kA) >> 32, 4}, Case{"Abs64", 224, 3, 1, kS + kA, 8},
                      Case{"Abs64Outside", 224, 3, 2, kOutside + kA, 8}, Case{"Abs32", 224, 6, 1, kS + kA, 4},
                      Case{"Abs32HiOutside", 224, 2, 2, (kOutside + kA) >> 32, 4},
                      Case{"Relative64", 224, 13, 0, kDevice + kA, 8}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(X86_64, Relocation,
                         ::testing::Values(Case{"None", EM_X86_64, R_X86_64_NONE, 1, 0, 0},
                                           Case{"Abs64", EM_X86_64, R_X86_64_64, 1, kS + kA, 8},
                                           Case{"Abs64NoSymbol", EM_X86_64, R_X86_64_64, 0, kA, 8},
                                           Case{"GlobDat", EM_X86_64, R_X86_64_GLOB_DAT, 2, kOutside, 8},
                                           Case{"JumpSlot", EM_X86_64, R_X86_64_JUMP_SLOT, 2, kOutside, 8},
                                           Case{"Relative", EM_X86_64, R_X86_64_RELATIVE, 0, kDevice + kA, 8},
                                           Case{"Pc64", EM_X86_64, R_X86_64_PC64, 1, kVariable + kA - kPlace,
                                                8}),
                         [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Aarch64, Relocation,
    ::testing::Values(Case{"None", EM_AARCH64, R_AARCH64_NONE, 1, 0, 0},
                      Case{"OldNone", EM_AARCH64, 256, 1, 0, 0},
                      Case{"Abs64", EM_AARCH64, R_AARCH64_ABS64, 1, kS + kA, 8},
                      Case{"GlobDat", EM_AARCH64, R_AARCH64_GLOB_DAT, 2, kOutside + kA, 8},
                      Case{"JumpSlot", EM_AARCH64, R_AARCH64_JUMP_SLOT, 2, kOutside + kA, 8},
                      Case{"Relative", EM_AARCH64, R_AARCH64_RELATIVE, 0, kDevice + kA, 8},
                      Case{"Prel64", EM_AARCH64, R_AARCH64_PREL64, 1, kVariable + kA - kPlace, 8}),
    [](const auto& test) { return test.param.name; });

TEST(RelocationKind, ReportsReasonForUnsupportedType) {
  struct {
    CodeMachine machine;
    uint32_t type;
  } const refused[] = {
      {CodeMachine::kAmdGpu, 4},     {CodeMachine::kAmdGpu, 11},    {CodeMachine::kAmdGpu, 12},
      {CodeMachine::kAmdGpu, 14},    {CodeMachine::kX86_64, 2},     {CodeMachine::kX86_64, 5},
      {CodeMachine::kX86_64, 18},    {CodeMachine::kX86_64, 37},    {CodeMachine::kAarch64, 258},
      {CodeMachine::kAarch64, 1024}, {CodeMachine::kAarch64, 1030}, {CodeMachine::kAarch64, 1032},
      {CodeMachine::kAarch64, 99999}};
  for (const auto& [machine, type] : refused) {
    const RelocationKind kind = relocation_kind(machine, type);
    EXPECT_FALSE(kind.rule) << type;
    EXPECT_FALSE(kind.why_not.empty()) << type;
  }
}

TEST(CodeImage, ContainsFileBytesAndZeros) {
  ElfBuilder elf;
  elf.contents = {{ElfBuilder::kCode, "code"}, {ElfBuilder::kData, "data"}};
  const Image image = build(elf);
  ASSERT_EQ(image.bytes.size(), ElfBuilder::kEnd);
  EXPECT_EQ(std::memcmp(image.bytes.data(), ELFMAG, SELFMAG), 0);
  EXPECT_EQ(std::memcmp(image.bytes.data() + ElfBuilder::kCode, "code", 4), 0);
  EXPECT_EQ(std::memcmp(image.bytes.data() + ElfBuilder::kData, "data", 4), 0);
  EXPECT_EQ(image.at<uint64_t>(0x2800), 0u) << "between segments";
  EXPECT_EQ(image.at<uint64_t>(ElfBuilder::kZeros), 0u);
}

TEST(CodeImage, AppliesRelocationsPastFile) {
  ElfBuilder elf = elf_for(EM_X86_64);
  elf.relocations = {{.place = ElfBuilder::kEnd - 8, .type = R_X86_64_RELATIVE, .addend = 1}};
  EXPECT_EQ(build(elf).at<uint64_t>(ElfBuilder::kEnd - 8), kDevice + 1);
}

TEST(CodeImage, FailsForUndefinedSymbol) {
  ElfBuilder elf = elf_for(EM_X86_64);
  elf.relocations = {{.place = kPlace, .type = R_X86_64_GLOB_DAT, .symbol = 2}};
  EXPECT_EQ(build(elf, kNothingElse).status, HSA_STATUS_ERROR_VARIABLE_UNDEFINED);
  EXPECT_EQ(build(elf, kOutsideOnly).status, HSA_STATUS_SUCCESS);
}

TEST(CodeImage, UndefinedWeakSymbolIsNull) {
  ElfBuilder elf = elf_for(EM_X86_64);
  elf.symbols[1].binding = STB_WEAK;
  elf.contents = {{kPlace, std::string(8, '\xa5')}};
  elf.relocations = {{.place = kPlace, .type = R_X86_64_GLOB_DAT, .symbol = 2}};
  const Image image = build(elf, kNothingElse);
  EXPECT_EQ(image.status, HSA_STATUS_SUCCESS);
  EXPECT_EQ(image.at<uint64_t>(kPlace), 0u);
}

TEST(CodeImage, WeakDefinitionYieldsUnlessProtected) {
  const SymbolResolver has_all = [](const CodeSymbol&) { return std::optional(kOutside); };
  ElfBuilder elf = elf_for(EM_X86_64);
  elf.relocations = {{.place = kPlace, .type = R_X86_64_64, .symbol = 1}};
  EXPECT_EQ(build(elf, has_all).at<uint64_t>(kPlace), kDevice + kVariable) << "it is not weak";
  elf.symbols[0].binding = STB_WEAK;
  EXPECT_EQ(build(elf, has_all).at<uint64_t>(kPlace), kOutside);
  EXPECT_EQ(build(elf, kNothingElse).at<uint64_t>(kPlace), kDevice + kVariable);
  elf.symbols[0].visibility = STV_PROTECTED;
  EXPECT_EQ(build(elf, has_all).at<uint64_t>(kPlace), kDevice + kVariable);
}

TEST(CodeImage, AbsoluteSymbolIsNotRelocated) {
  ElfBuilder elf = elf_for(EM_X86_64);
  elf.symbols.push_back({.name = "number", .value = 77, .type = STT_NOTYPE, .section = SHN_ABS});
  elf.relocations = {{.place = kPlace, .type = R_X86_64_64, .symbol = 3}};
  EXPECT_EQ(build(elf).at<uint64_t>(kPlace), 77u);
}

TEST(CodeImage, ResolvesEachSymbolOnce) {
  int lookups = 0;
  const SymbolResolver counting = [&lookups](const CodeSymbol&) {
    ++lookups;
    return std::optional(kOutside);
  };
  ElfBuilder elf = elf_for(EM_X86_64);
  for (uint64_t i = 0; i < 5; ++i) {
    elf.relocations.push_back({.place = kPlace + 8 * i, .type = R_X86_64_GLOB_DAT, .symbol = 2});
  }
  EXPECT_EQ(build(elf, counting).at<uint64_t>(kPlace + 32), kOutside);
  EXPECT_EQ(lookups, 1);
}

TEST(CodeImage, RequiresMatchingSizeAndAlignment) {
  const Bytes file = ElfBuilder{}.build();
  const auto object = CodeObject::parse(file);
  ASSERT_TRUE(object);
  Bytes place(object->layout().size);
  EXPECT_FALSE(build_image(*object, std::span(place).first(place.size() - 1), kDevice, kNothingElse));
  EXPECT_FALSE(build_image(*object, place, kDevice + 0x800, kNothingElse));
  EXPECT_TRUE(build_image(*object, place, kDevice, kNothingElse));
}

TEST(CodeImage, ConvertsToDeviceAddress) {
  ElfBuilder elf;
  Bytes file = elf.build();
  const auto object = CodeObject::parse(file);
  ASSERT_TRUE(object);
  EXPECT_EQ(device_address_of(*object, kDevice, ElfBuilder::kCode), kDevice + ElfBuilder::kCode);
}

}  // namespace
}  // namespace rigel
