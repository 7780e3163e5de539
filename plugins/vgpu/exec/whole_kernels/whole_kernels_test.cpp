// Runs kernels on every execution path: generated kernels of fixed seeds, reduced kernels that once
// differed (tests/, with the reason in the first lines), and every instruction once.
//
// RIGEL_KERNELS is the number of generated kernels per chip (default 150; tools/stress kernels runs them
// for hours). RIGEL_COMPILED_KERNELS is the number that is also compiled (default 25, at 0.1 s each).
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "plugins/vgpu/exec/native/compiler_process.hpp"
#include "plugins/vgpu/exec/whole_kernels/generate.hpp"
#include "plugins/vgpu/exec/whole_kernels/reducer.hpp"
#include "plugins/vgpu/exec/whole_kernels/run.hpp"
#include "plugins/vgpu/isa/decoder.hpp"
#include "plugins/vgpu/isa/instruction_tables.hpp"
#include "plugins/vgpu/reference/compare.hpp"

namespace rigel::vgpu::exec::whole {
namespace {

using Kind = Verdict::Kind;

std::vector<ExecutionPath> paths(bool compiled) {
  std::vector<ExecutionPath> all = execution_paths();
  std::erase_if(all, [&](const ExecutionPath& path) { return path.compiled != compiled; });
  if (compiled) all.insert(all.begin(), {SimdLevel::kBaseline, false});  // the expected results
  return all;
}

// AArch64 flushes denormal operands and results, or neither: see float_environment.hpp.
bool host_has_mode([[maybe_unused]] const Kernel& kernel) {
#if defined(__aarch64__)
  for (const unsigned denormals : {kernel.mode >> 4 & 3, kernel.mode >> 6 & 3}) {
    if (denormals == 1 || denormals == 2) return false;
  }
#endif
  return true;
}

class WholeKernels : public ::testing::TestWithParam<const char*> {};

void compare_interpreters(const char* chip, uint64_t count) {
  Runner runner;
  RunOptions options;
  options.paths = paths(false);
  uint64_t compared = 0, judged = 0;
  for (uint64_t seed = 1; seed <= count; ++seed) {
    const Verdict verdict = runner.run(generate(*isa::target_of(chip), seed), options);
    ASSERT_NE(verdict.kind, Kind::kDiffers) << verdict.what << "\nvgpu_kernel_fuzz --board " << chip
                                            << " --seed " << seed << " --count 1 reduces it";
    compared += verdict.kind == Kind::kSame ? 1 : 0;
    judged += verdict.judged ? 1 : 0;
  }
  EXPECT_GT(compared * 10, count * 9) << "most of what is made runs to its end";
  EXPECT_GT(judged * 4, count) << "the reference model runs those that are small";
}

TEST_P(WholeKernels, InterpretersAndModelAgree) {
  compare_interpreters(GetParam(), reference::number_from_environment("RIGEL_KERNELS", 150));
}

// Their compiled code has no other instructions than that of gfx900; handlers compute matrices.
TEST(WholeKernelsOfCdna, InterpretersAndModelAgree) {
  for (const char* const chip : {"gfx908", "gfx90a", "gfx942"})
    compare_interpreters(chip, reference::number_from_environment("RIGEL_KERNELS", 50));
}

TEST_P(WholeKernels, CompiledCodeAgreesWithInterpreter) {
  if (!compiler::why_no_compiler().empty()) GTEST_SKIP() << compiler::why_no_compiler();
  const isa::Target chip = *isa::target_of(GetParam());
  Runner runner;
  RunOptions options;
  options.paths = paths(true);
  options.judged_instructions = 0;
  const uint64_t count = reference::number_from_environment("RIGEL_COMPILED_KERNELS", 25);
  uint64_t compiled = 0;
  for (uint64_t seed = 1; seed <= count; ++seed) {
    const Verdict verdict = runner.run(generate(chip, seed), options);
    ASSERT_NE(verdict.kind, Kind::kDiffers) << verdict.what << "\nvgpu_kernel_fuzz --board " << GetParam()
                                            << " --seed " << seed << " --count 1 reduces it";
    compiled += verdict.was_compiled ? 1 : 0;
  }
  EXPECT_GT(compiled * 2, count) << "most of them can be compiled";
}

TEST_P(WholeKernels, EveryInstructionAgreesOnAllPaths) {
  const isa::Target chip = *isa::target_of(GetParam());
  const std::vector<uint16_t> rows = rows_of_every_instruction(chip);
  std::set<uint16_t> missing(rows.begin(), rows.end());
  Runner runner;
  RunOptions options;
  // These chips have the most encodings and operations. Compilation takes most of the time.
  const std::string name = isa::name(chip);
  const bool is_compiled = name == "gfx900" || name == "gfx1100" || name == "gfx1201";
  if (!is_compiled) options.paths = paths(false);
  for (const Kernel& kernel : generate_every_instruction(chip, 1)) {
    for (const Item& item : kernel.items) {
      isa::Instruction in;
      if (isa::decode(kernel.target, item.words.data(), item.words.size(), in) == isa::DecodeStatus::kOk)
        missing.erase(in.row);
    }
    if (!host_has_mode(kernel)) continue;
    const Verdict verdict = runner.run(kernel, options);
    EXPECT_EQ(verdict.kind, Kind::kSame) << verdict.what << "\nvgpu_kernel_fuzz --board " << GetParam()
                                         << " --every-instruction --seed 1 --count 1 reduces it";
    if (is_compiled && compiler::why_no_compiler().empty()) {
      EXPECT_TRUE(verdict.was_compiled) << verdict.not_compiled;
    }
  }
  for (const uint16_t row : missing) ADD_FAILURE() << "none of " << isa::name(isa::tables::rows()[row].op);
}

INSTANTIATE_TEST_SUITE_P(On, WholeKernels,
                         ::testing::Values("gfx803", "gfx900", "gfx1010", "gfx1030", "gfx1100", "gfx1201"),
                         [](const auto& chip) { return std::string(chip.param); });

TEST(WholeKernelRegressions, AgreeOnAllPaths) {
  Runner runner;
  RunOptions options;
  options.alternate_paths = false;
  unsigned count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(RIGEL_WHOLE_KERNELS)) {
    if (entry.path().extension() != ".kernel") continue;
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    Kernel kernel;
    std::string error;
    ASSERT_TRUE(from_text(text, kernel, error)) << entry.path() << ": " << error;
    const Verdict verdict = runner.run(kernel, options);
    EXPECT_EQ(verdict.kind, Kind::kSame) << entry.path() << ": " << verdict.what;
    ++count;
  }
  EXPECT_GT(count, 0u);
}

TEST(WholeKernelText, RoundTrips) {
  for (uint64_t seed = 1; seed < 20; ++seed) {
    const Kernel kernel = generate(*isa::target_of("gfx1030"), seed);
    Kernel parsed;
    std::string error;
    ASSERT_TRUE(from_text(to_text(kernel), parsed, error)) << error;
    EXPECT_EQ(to_text(parsed), to_text(kernel));
    EXPECT_EQ(assemble(parsed), assemble(kernel));
    EXPECT_FALSE(assemble(parsed).empty());
  }
}

TEST(WholeKernelText, ErrorsNameTheLine) {
  Kernel kernel;
  std::string error;
  EXPECT_FALSE(from_text("chip gfx900\nlength 3\n", kernel, error));
  EXPECT_EQ(error, "line 2: \"length\" is not a kernel property");
  EXPECT_FALSE(from_text("chip gfx900\ncode\n  bf81\n", kernel, error));
  EXPECT_EQ(error, "line 3: \"bf81\" is not a code word");
}

// The reducer keeps the property and removes the rest.
TEST(KernelReducer, KeepsTheRequiredProperty) {
  const Kernel kernel = generate(*isa::target_of("gfx900"), 3);
  const auto has_end = [](const Kernel& k) {
    for (const Item& item : k.items) {
      if (item.words == std::vector<uint32_t>{0xbf810000}) return true;
    }
    return false;
  };
  const Kernel small = reduce(kernel, has_end);
  EXPECT_EQ(small.items.size(), 1u);
  EXPECT_EQ(small.groups(), 1u);
}

}  // namespace
}  // namespace rigel::vgpu::exec::whole
