// Compiler output: the seeds of code_object_fuzz (make_seeds.sh has their sources).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "loader/code_object/bounds.hpp"
#include "loader/code_object/code_image.hpp"
#include "loader/code_object/code_object.hpp"
#include "loader/code_object/metadata.hpp"

namespace rigel {
namespace {

constexpr uint64_t kDevice = 0x7f00'0020'0000;
constexpr uint64_t kOutside = 0x7e00'1234'5678;

std::vector<char> read_seed(const std::string& name) {
  std::ifstream file(std::string(RIGEL_CODE_OBJECTS "/") + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Seed {
  const char* name;
  uint32_t version;
  const char* isa_name;
  uint32_t wavefront_size;
};

class CompiledGpuCode : public ::testing::TestWithParam<Seed> {
 protected:
  const std::vector<char> file_ = read_seed(GetParam().name);
  const Result<CodeObject> object_ = CodeObject::parse(std::as_bytes(std::span(file_)));
};

INSTANTIATE_TEST_SUITE_P(Clang, CompiledGpuCode,
                         ::testing::Values(Seed{"gfx803_v2", 2, "amdgcn-amd-amdhsa--gfx803", 64},
                                           Seed{"gfx900_v3", 3, "amdgcn-amd-amdhsa--gfx900:xnack+", 64},
                                           Seed{"gfx90a_v4", 4, "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-",
                                                64},
                                           Seed{"gfx1030_v4", 4, "amdgcn-amd-amdhsa--gfx1030", 32},
                                           Seed{"gfx1030_v5", 5, "amdgcn-amd-amdhsa--gfx1030", 32},
                                           Seed{"gfx90a_v6", 6, "amdgcn-amd-amdhsa--gfx9-generic", 64}),
                         [](const auto& test) { return test.param.name; });

TEST_P(CompiledGpuCode, IsIdentified) {
  ASSERT_TRUE(object_);
  EXPECT_EQ(object_->identity().version, GetParam().version);
  EXPECT_EQ(object_->identity().isa_name, GetParam().isa_name);
}

TEST_P(CompiledGpuCode, HasKernels) {
  ASSERT_TRUE(object_);
  ASSERT_EQ(object_->kernels().size(), 2u);
  const auto of_name = [this](std::string_view name) {
    return std::find_if(object_->kernels().begin(), object_->kernels().end(), [&](const CodeKernel& kernel) {
      return object_->symbols()[kernel.symbol].name == name;
    });
  };
  const bool version2 = GetParam().version == 2;
  const auto add = of_name(version2 ? "add" : "add.kd");
  ASSERT_NE(add, object_->kernels().end());
  EXPECT_NE(of_name(version2 ? "read_outside" : "read_outside.kd"), object_->kernels().end());
  EXPECT_EQ(add->kernarg_size, 20u) << "three arguments, without room after the last";
  EXPECT_EQ(add->kernarg_alignment, 16u);
  EXPECT_EQ(add->wavefront_size, GetParam().wavefront_size);
  EXPECT_FALSE(add->dynamic_callstack);
}

TEST_P(CompiledGpuCode, IsRelocatedForDeviceAddress) {
  ASSERT_TRUE(object_);
  std::vector<std::byte> image(object_->layout().size);
  const SymbolResolver resolve = [](const CodeSymbol& symbol) {
    return symbol.name == "outside" ? std::optional(kOutside) : std::nullopt;
  };
  ASSERT_TRUE(build_image(*object_, image, kDevice, resolve));
  const auto address_of = [this](std::string_view name) {
    const auto found = std::find_if(object_->symbols().begin(), object_->symbols().end(),
                                    [&](const CodeSymbol& symbol) { return symbol.name == name; });
    return found->value;
  };
  EXPECT_EQ(read_unaligned<uint64_t>(image.data() + address_of("pointer")), kDevice + address_of("counter"));
  EXPECT_EQ(read_unaligned<uint32_t>(image.data() + address_of("counter")), 7u);
  // `outside` and all others use the global offset table.
  const auto words = std::count_if(
      object_->relocations().begin(), object_->relocations().end(),
      [&](const auto& entry) { return read_unaligned<uint64_t>(image.data() + entry.address) == kOutside; });
  EXPECT_EQ(words, 1);
}

TEST(CompiledHostCode, IsParsedAndRelocated) {
  const auto file = read_seed("host_x86_64");
  const auto object = CodeObject::parse(std::as_bytes(std::span(file)));
  ASSERT_TRUE(object);
  EXPECT_EQ(object->identity().isa_name, "x86_64-unknown-linux-gnu--x86-64");
  ASSERT_EQ(object->kernels().size(), 1u);
  EXPECT_EQ(object->kernels()[0].kernarg_size, 8u);
  EXPECT_TRUE(object->needed().empty());
  const auto data = std::find_if(object->segments().begin(), object->segments().end(),
                                 [](const CodeSegment& segment) { return segment.writable; });
  ASSERT_NE(data, object->segments().end());
  EXPECT_GT(data->constant_size, 0u) << "its offset table is written by relocations only";
  std::vector<std::byte> image(object->layout().size);
  const SymbolResolver none = [](const CodeSymbol&) { return std::nullopt; };
  const auto unresolved = build_image(*object, image, object->layout().alignment, none);
  ASSERT_FALSE(unresolved);
  EXPECT_EQ(unresolved.error(), HSA_STATUS_ERROR_VARIABLE_UNDEFINED);
  const SymbolResolver any = [](const CodeSymbol&) { return std::optional<uint64_t>(0x1000); };
  EXPECT_TRUE(build_image(*object, image, object->layout().alignment, any));
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST(Metadata, AddsPropertiesMissingInDescriptor) {
  using namespace std::string_view_literals;
  // {"amdhsa.kernels": [{".symbol": "k.kd", ".kernarg_segment_size": 20, ".kernarg_segment_align": 64,
  //                      ".uses_dynamic_stack": true}, {".name": "no symbol"}]}
  const auto note =
      "\x81\xae"
      "amdhsa.kernels\x92"
      "\x84\xa7.symbol\xa4k.kd\xb5.kernarg_segment_size\x14\xb6.kernarg_segment_align\x40\xb3.uses_dynamic_"
      "stack\xc3"
      "\x81\xa5.name\xa9no symbol"sv;
  const auto kernels = read_kernel_metadata(bytes_of(note));
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].symbol, "k.kd");
  EXPECT_EQ(kernels[0].kernarg_size, 20u);
  EXPECT_EQ(kernels[0].kernarg_alignment, 64u);
  EXPECT_EQ(kernels[0].dynamic_callstack, true);
  for (size_t size = 0; size < note.size(); ++size) {
    EXPECT_TRUE(read_kernel_metadata(bytes_of(note.substr(0, size))).empty()) << "cut to " << size;
  }
}

TEST(Metadata, IgnoresInvalidNotes) {
  using namespace std::string_view_literals;
  for (const auto note :
       {"\xc0"sv,
        "\x81\xae"
        "amdhsa.kernels\xc0"sv,
        "\x81\xae"
        "amdhsa.kernels\x91\xc0"sv,
        "\xdf\xff\xff\xff\xff"sv, "\xdd\xff\xff\xff\xff\xdd\xff\xff\xff\xff"sv, "\xdb\xff\xff\xff\xff"sv}) {
    EXPECT_TRUE(read_kernel_metadata(bytes_of(note)).empty());
  }
  EXPECT_TRUE(read_kernel_metadata(bytes_of(std::string(100000, '\x91'))).empty()) << "nested too deep";
}

}  // namespace
}  // namespace rigel
