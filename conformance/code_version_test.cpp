// Code objects of every version for AMD GPUs, with each setting of xnack and sramecc: which of them an agent
// accepts, and whether their kernels run.
#include <elf.h>
#include <hsa/amd_hsa_queue.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <ostream>
#include <string_view>

#include "kernels/kernels.hpp"
#include "support/dispatch_test.hpp"

namespace conformance {
namespace {

constexpr uint32_t kXnackShift = 8, kSrameccShift = 10;  // two bits each in e_flags, from version 4 on
constexpr uint32_t kAny = 1, kOff = 2, kOn = 3;          // 0: the chip does not have the feature
constexpr uint32_t kMachMask = 0xff, kGenericVersionShift = 24;

class CodeObjectVersion : public DispatchTest {
 protected:
  void SetUp() override {
    DispatchTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    hsa_isa_t isa{};
    ASSERT_HSA(hsa_agent_get_info(agent(), HSA_AGENT_INFO_ISA, &isa));
    uint32_t length = 0;
    ASSERT_HSA(hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME_LENGTH, &length));
    isa_.resize(length + 1);
    ASSERT_HSA(hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME, isa_.data()));
    isa_ = isa_.c_str();
    if (!isa_.starts_with("amdgcn-")) GTEST_SKIP() << "not an AMD GPU";
    std::string reason;
    code_ = find_code_object(agent(), reason);
  }

  static Elf64_Ehdr& header(std::vector<char>& code) { return *reinterpret_cast<Elf64_Ehdr*>(code.data()); }
  /// The tests' code object with another version and other flags in its header.
  std::vector<char> patched(uint8_t abi_version, uint32_t flags) {
    std::vector<char> code = code_;
    header(code).e_ident[EI_ABIVERSION] = abi_version;
    header(code).e_flags = flags;
    return code;
  }
  uint32_t flags() { return header(code_).e_flags; }

  hsa_status_t load(const std::vector<char>& code) {
    hsa_code_object_reader_t reader{};
    hsa_executable_t executable{};
    EXPECT_HSA(hsa_code_object_reader_create_from_memory(code.data(), code.size(), &reader));
    EXPECT_HSA(hsa_executable_create_alt(HSA_PROFILE_BASE, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr,
                                         &executable));
    const hsa_status_t status =
        hsa_executable_load_agent_code_object(executable, agent(), reader, nullptr, nullptr);
    EXPECT_HSA(hsa_executable_destroy(executable));
    EXPECT_HSA(hsa_code_object_reader_destroy(reader));
    return status;
  }

  /// Kernel arguments followed by the hidden arguments of version 5, from which code for gfx8 reads the upper
  /// halves of its apertures (LLVM's AMDGPU user guide, "Code Object V5 Metadata").
  template <class Args>
  void* arguments(const Args& args) {
    constexpr size_t kPrivateBase = 192, kSharedBase = 196;
    struct {
      Args own;
      alignas(8) std::byte hidden[256];
    } all{args, {}};
    const auto& amd_queue = *reinterpret_cast<const amd_queue_t*>(queue());
    std::memcpy(all.hidden + kPrivateBase, &amd_queue.private_segment_aperture_base_hi, sizeof(uint32_t));
    std::memcpy(all.hidden + kSharedBase, &amd_queue.group_segment_aperture_base_hi, sizeof(uint32_t));
    return kernarg(all);
  }

  /// Runs kernels that use global, group and private memory and a variable of the code object.
  void expect_runs(const std::vector<char>& code, const char* suffix) {
    KernelSet kernels;
    kernels.load(agent(), code);
    ASSERT_FALSE(HasFatalFailure());
    constexpr uint32_t kCount = 640;
    auto* const in = shared<uint32_t>(kCount);
    auto* const out = shared<uint32_t>(kCount);
    for (uint32_t i = 0; i < kCount; ++i) in[i] = i * 7;
    const Kernel scale = kernels.kernel("scale", suffix);
    EXPECT_GE(scale.kernarg_size, 20u);
    ASSERT_TRUE(run(dispatch_packet(scale, arguments(ScaleArgs{in, out, kCount, 0}), kCount, 64)));
    for (uint32_t i = 0; i < kCount; ++i) ASSERT_EQ(out[i], in[i] * 3) << i;
    const Kernel reverse = kernels.kernel("reverse", suffix);
    EXPECT_EQ(reverse.group_size, kReverseGroup * 4);
    EXPECT_EQ(reverse.private_size, 0u);
    ASSERT_TRUE(run(dispatch_packet(reverse, arguments(ReverseArgs{in}), kCount, kReverseGroup)));
    for (uint32_t i = 0; i < kCount; ++i) ASSERT_EQ(in[i], (i / 64 * 64 + 63 - i % 64) * 7) << i;
    const Kernel keep = kernels.kernel("keep", suffix);
    EXPECT_GE(keep.private_size, kPrivateWords * 4);
    EXPECT_LT(keep.private_size, kPrivateWords * 4 + 256);
    EXPECT_EQ(keep.group_size, 0u);
    ASSERT_TRUE(run(dispatch_packet(keep, arguments(KeepArgs{out, kCount, 0}), kCount, 64)));
    for (uint32_t i = 0; i < kCount; ++i) ASSERT_EQ(out[i], sum_of_kept(i)) << i;
    EXPECT_EQ(errors().count, 0);
  }

  /// The setting of a feature in the name of the agent's ISA; nullopt if the name does not contain it.
  std::optional<bool> agent_has(std::string_view feature) const {
    const size_t at = isa_.find(":" + std::string(feature));
    if (at == std::string::npos) return std::nullopt;
    return isa_[at + 1 + feature.size()] == '+';
  }

  std::string isa_;
  std::vector<char> code_;  // version 4
};

TEST_P(CodeObjectVersion, RunsVersion2) {
  std::string reason;
  const auto code = find_code_object(agent(), reason, "_v2");
  if (code.empty()) GTEST_SKIP() << reason;
  if (agent_has("sramecc").value_or(false)) {  // code objects of version 2 are compiled without sramecc
    EXPECT_STATUS(HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS, load(code));
    return;
  }
  expect_runs(code, "");
}

TEST_P(CodeObjectVersion, RunsVersion3) {
  std::string reason;
  const auto code = find_code_object(agent(), reason, "_v3");
  if (code.empty()) GTEST_SKIP() << reason;
  expect_runs(code, ".kd");
}

TEST_P(CodeObjectVersion, RunsVersion4) {
  expect_runs(code_, ".kd");
}

// Code objects that were compiled for the version or target instead of being patched.
class CompiledCodeObject : public CodeObjectVersion {
 protected:
  void expect_compiled_runs(const char* variant, uint8_t abi_version) {
    std::string reason;
    auto code = find_code_object(agent(), reason, variant);
    if (code.empty()) GTEST_SKIP() << reason;
    EXPECT_EQ(header(code).e_ident[EI_ABIVERSION], abi_version);
    expect_runs(code, ".kd");
  }
};

TEST_P(CompiledCodeObject, RunsVersion5) {
  expect_compiled_runs("_v5", 3);
}

TEST_P(CompiledCodeObject, RunsVersion6) {
  expect_compiled_runs("_v6", 4);
}

TEST_P(CompiledCodeObject, RunsGenericTarget) {
  expect_compiled_runs("_generic", 4);
}

TEST_P(CodeObjectVersion, RunsVersion6OfProcessorAndOfGenericTarget) {
  expect_runs(patched(4, flags()), ".kd");
  const std::string_view processor = std::string_view(isa_).substr(isa_.find("gfx"));
  const uint32_t generic = processor.starts_with("gfx90a") || processor.starts_with("gfx908") ? 0u
                           : processor.starts_with("gfx94")                                   ? 0x5fu
                           : processor.starts_with("gfx9")                                    ? 0x51u
                           : processor.starts_with("gfx101")                                  ? 0x52u
                           : processor.starts_with("gfx103")                                  ? 0x53u
                           : processor.starts_with("gfx11")                                   ? 0x54u
                           : processor.starts_with("gfx120")                                  ? 0x59u
                                                                                              : 0u;
  if (generic == 0) GTEST_SKIP() << processor << " is of no generic target";
  uint32_t generic_flags = (flags() & ~kMachMask) | generic | 1u << kGenericVersionShift;
  if (generic == 0x51) generic_flags &= ~(3u << kSrameccShift);  // gfx9-generic does not have sramecc
  expect_runs(patched(4, generic_flags), ".kd");
  EXPECT_STATUS_IN(load(patched(4, generic_flags & 0x00ffffff)), HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS,
                   HSA_STATUS_ERROR_INVALID_CODE_OBJECT)
      << "generic code without a version";
  EXPECT_STATUS_IN(load(patched(2, generic_flags)), HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS,
                   HSA_STATUS_ERROR_INVALID_CODE_OBJECT)
      << "generic code of version 4";
}

TEST_P(CodeObjectVersion, RejectsVersion7) {
  EXPECT_STATUS_IN(load(patched(5, flags())), HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS,
                   HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
}

TEST_P(CodeObjectVersion, RejectsOtherProcessors) {
  for (const uint32_t mach : {0x20u, 0x28u, 0x2du, 0x3fu, 0x41u}) {  // gfx600, 801, 904, 90a, 1100
    if (mach == (flags() & kMachMask)) continue;
    EXPECT_STATUS(HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS, load(patched(2, (flags() & ~kMachMask) | mach)))
        << std::hex << mach;
  }
}

TEST_P(CodeObjectVersion, TargetFeaturesMustMatchAgent) {
  const struct {
    const char* name;
    uint32_t shift;
  } features[] = {{"xnack", kXnackShift}, {"sramecc", kSrameccShift}};
  for (const auto& feature : features) {
    const std::optional<bool> has = agent_has(feature.name);
    if (!has) continue;
    const auto with = [&](uint32_t setting) {
      return load(patched(2, (flags() & ~(3u << feature.shift)) | setting << feature.shift));
    };
    EXPECT_STATUS(HSA_STATUS_SUCCESS, with(kAny)) << feature.name;
    EXPECT_STATUS(HSA_STATUS_SUCCESS, with(*has ? kOn : kOff)) << feature.name;
    EXPECT_STATUS(HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS, with(*has ? kOff : kOn)) << feature.name;
  }
}

INSTANTIATE_FOR_AGENTS(CodeObjectVersion);
INSTANTIATE_FOR_AGENTS(CompiledCodeObject);

}  // namespace
}  // namespace conformance
