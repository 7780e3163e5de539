#include "backends/common/code_fit.hpp"

#include <array>
#include <cstring>

#include <gtest/gtest.h>
#include <hsa/amd_hsa_elf.h>
#include <hsa/amd_hsa_kernel_code.h>
#include <hsa/hsa.h>

#include "backends/common/testing/nodes.hpp"
#include "backends/gfx10/chips.hpp"
#include "backends/gfx11/chips.hpp"
#include "backends/gfx12/chips.hpp"
#include "backends/gfx8/chips.hpp"
#include "backends/gfx9/chips.hpp"

namespace rigel::gfx {
namespace {

constexpr uint32_t kV2 = 0, kV3 = 1, kV4 = 2, kV5 = 3, kV6 = 4;
constexpr uint32_t kXnackAny = 0x100, kXnackOff = 0x200, kXnackOn = 0x300;
constexpr uint32_t kEccAny = 0x400, kEccOff = 0x800, kEccOn = 0xc00;

hsabe_code_target_t code(uint32_t version, uint32_t flags, const char* name = "code") {
  hsabe_code_target_t target{};
  target.struct_size = sizeof(target);
  target.elf_machine = 224;
  target.elf_os_abi = 64;
  target.elf_abi_version = version;
  target.elf_flags = flags;
  target.isa_name = hsabe::str(name);
  return target;
}

class CodeFit : public ::testing::Test {
 protected:
  uint32_t fit(const Family& family, testing::Node node, const hsabe_code_target_t& target) {
    const NodeFacts facts = node.facts();
    return fit_of(*find_chip(family, facts.version), facts, target, &why_);
  }
  std::string why_;
};

TEST_F(CodeFit, RequiresSameProcessor) {
  EXPECT_EQ(fit(gfx10::kFamily, testing::navi21(), code(kV4, ELF::EF_AMDGPU_MACH_AMDGCN_GFX1030)), kFitExact);
  EXPECT_EQ(fit(gfx10::kFamily, testing::navi21(), code(kV4, ELF::EF_AMDGPU_MACH_AMDGCN_GFX1031, "gfx1031")),
            kFitNone);
  EXPECT_EQ(why_, "code for gfx1031 does not run on amdgcn-amd-amdhsa--gfx1030");
  EXPECT_EQ(fit(gfx8::kFamily, testing::fiji(), code(kV4, ELF::EF_AMDGPU_MACH_AMDGCN_GFX803)), kFitExact);
}

TEST_F(CodeFit, RequiresMatchingFeatures) {
  constexpr uint32_t k906 = ELF::EF_AMDGPU_MACH_AMDGCN_GFX906;
  testing::Node off = testing::vega20();  // both are off
  EXPECT_EQ(fit(gfx9::kFamily, off, code(kV4, k906 | kXnackAny | kEccAny)), kFitAny);
  EXPECT_EQ(fit(gfx9::kFamily, off, code(kV4, k906 | kXnackOff | kEccOff)), kFitExact);
  EXPECT_EQ(fit(gfx9::kFamily, off, code(kV4, k906 | kXnackOff | kEccAny)), kFitAny);
  EXPECT_EQ(fit(gfx9::kFamily, off, code(kV4, k906 | kXnackOn | kEccAny)), kFitNone);
  EXPECT_EQ(fit(gfx9::kFamily, off, code(kV5, k906 | kXnackAny | kEccOn)), kFitNone);
  testing::Node on = testing::vega20().set("xnack_enabled", 1).set("capability", 0x2280 | kCapabilitySramEcc);
  EXPECT_EQ(fit(gfx9::kFamily, on, code(kV4, k906 | kXnackOn | kEccOn)), kFitExact);
  EXPECT_EQ(fit(gfx9::kFamily, on, code(kV4, k906 | kXnackOff | kEccOn)), kFitNone);
}

TEST_F(CodeFit, ReadsFeaturesOfOlderVersions) {
  constexpr uint32_t k906 = ELF::EF_AMDGPU_MACH_AMDGCN_GFX906;
  EXPECT_EQ(fit(gfx9::kFamily, testing::vega20(), code(kV3, k906)), kFitExact);
  EXPECT_EQ(fit(gfx9::kFamily, testing::vega20(), code(kV3, k906 | 0x100)), kFitNone);  // xnack
  EXPECT_EQ(fit(gfx9::kFamily, testing::vega20(), code(kV3, k906 | 0x200)), kFitNone);  // sramecc
  EXPECT_EQ(fit(gfx8::kFamily, testing::fiji(), code(kV2, 0, "amdgcn-amd-amdhsa--gfx803")), kFitExact);
  EXPECT_EQ(fit(gfx8::kFamily, testing::fiji(), code(kV2, 0, "amdgcn-amd-amdhsa--gfx900")), kFitNone);
  EXPECT_EQ(fit(gfx9::kFamily, testing::vega10(), code(kV2, 0x2c, "gfx900:xnack+")), kFitNone);
  EXPECT_EQ(fit(gfx9::kFamily, testing::vega10(), code(kV2, 0x2d, "gfx900:xnack-")), kFitExact)
      << "the flags name the processor, not xnack";
}

TEST_F(CodeFit, AcceptsGenericCodeOfItsGroup) {
  constexpr uint32_t kVersion1 = 1u << 24;
  constexpr uint32_t k9 = ELF::EF_AMDGPU_MACH_AMDGCN_GFX9_GENERIC,
                     k101 = ELF::EF_AMDGPU_MACH_AMDGCN_GFX10_1_GENERIC,
                     k103 = ELF::EF_AMDGPU_MACH_AMDGCN_GFX10_3_GENERIC;
  EXPECT_EQ(fit(gfx10::kFamily, testing::navi21(), code(kV6, k103 | kVersion1)), kFitGenericExact);
  EXPECT_EQ(fit(gfx10::kFamily, testing::navi21(), code(kV6, k101 | kVersion1)), kFitNone);
  EXPECT_EQ(fit(gfx9::kFamily, testing::vega10(), code(kV6, k9 | kVersion1 | kXnackAny)), kFitGeneric);
  EXPECT_EQ(fit(gfx9::kFamily, testing::vega10(), code(kV6, k9 | kVersion1 | kXnackOn)), kFitNone);
  EXPECT_EQ(fit(gfx9::kFamily, testing::vega10(), code(kV6, k9 | kXnackAny)), kFitNone);  // no version
  // Arcturus and Aldebaran belong to no generic target.
  auto arcturus = testing::make_node({9, 0, 8}, {0x738c, 60, 4, 4, 1, 10, 64, 2});
  EXPECT_EQ(fit(gfx9::kFamily, arcturus, code(kV6, k9 | kVersion1 | kXnackAny)), kFitNone);
  // Aqua Vanjaram has another one.
  constexpr uint32_t k94 = ELF::EF_AMDGPU_MACH_AMDGCN_GFX9_4_GENERIC;
  EXPECT_EQ(fit(gfx9::kFamily, testing::mi300x(), code(kV6, k9 | kVersion1 | kXnackAny)), kFitNone);
  EXPECT_EQ(fit(gfx9::kFamily, testing::mi300x(), code(kV6, k94 | kVersion1 | kXnackAny)), kFitGeneric);
  EXPECT_EQ(fit(gfx9::kFamily, testing::vega10(), code(kV6, k94 | kVersion1 | kXnackAny)), kFitNone);
  // All of gfx11 have one.
  constexpr uint32_t k11 = ELF::EF_AMDGPU_MACH_AMDGCN_GFX11_GENERIC;
  for (const Chip& chip : gfx11::kFamily.chips) {
    const auto node = testing::make_node(chip.version, {0x744c, 12, 2, 2, 2, 16, 32, 2});
    EXPECT_EQ(fit(gfx11::kFamily, node, code(kV6, k11 | kVersion1)), kFitGenericExact) << chip.processor;
    EXPECT_EQ(fit(gfx11::kFamily, node, code(kV6, k103 | kVersion1)), kFitNone) << chip.processor;
    EXPECT_EQ(fit(gfx11::kFamily, node, code(kV5, chip.mach)), kFitExact) << chip.processor;
  }
  constexpr uint32_t k12 = ELF::EF_AMDGPU_MACH_AMDGCN_GFX12_GENERIC;
  EXPECT_EQ(fit(gfx12::kFamily, testing::navi48(), code(kV6, k12 | kVersion1)), kFitGenericExact);
  EXPECT_EQ(fit(gfx12::kFamily, testing::navi48(), code(kV6, k11 | kVersion1)), kFitNone);
}

TEST_F(CodeFit, PrefersProcessorCodeToGenericCode) {
  EXPECT_LT(static_cast<uint32_t>(kFitGenericExact), static_cast<uint32_t>(kFitAny));
}

TEST_F(CodeFit, RejectsOtherCode) {
  auto host = code(kV4, ELF::EF_AMDGPU_MACH_AMDGCN_GFX803);
  host.elf_machine = 62;
  EXPECT_EQ(fit(gfx8::kFamily, testing::fiji(), host), kFitNone);
  auto mesa = code(kV4, ELF::EF_AMDGPU_MACH_AMDGCN_GFX803);
  mesa.elf_os_abi = 66;
  EXPECT_EQ(fit(gfx8::kFamily, testing::fiji(), mesa), kFitNone);
  EXPECT_EQ(fit(gfx8::kFamily, testing::fiji(), code(7, ELF::EF_AMDGPU_MACH_AMDGCN_GFX803)), kFitNone);
  EXPECT_EQ(why_, "unknown code object version 9");
}

TEST(DescribeKernel, ReadsDescriptor) {
  alignas(64) std::array<uint32_t, 16> descriptor{};
  descriptor[0] = 4096;
  descriptor[1] = 128;
  descriptor[2] = 96;
  descriptor[14] = 1u << 10 | 1u << 11;
  hsabe_kernel_info_t info{};
  ASSERT_EQ(describe_kernel(gfx10::kFamily, descriptor.data(), &info), HSA_STATUS_SUCCESS);
  EXPECT_EQ(info.group_size, 4096u);
  EXPECT_EQ(info.private_size, 128u);
  EXPECT_EQ(info.kernarg_size, 96u);
  EXPECT_EQ(info.kernarg_alignment, 16u);
  EXPECT_EQ(info.wavefront_size, 32u);
  EXPECT_NE(info.dynamic_callstack, 0u);
  // Bit 10 is undefined or has another meaning if waves have 64 lanes.
  ASSERT_EQ(describe_kernel(gfx9::kFamily, descriptor.data(), &info), HSA_STATUS_SUCCESS);
  EXPECT_EQ(info.wavefront_size, 64u);
}

}  // namespace
}  // namespace rigel::gfx
