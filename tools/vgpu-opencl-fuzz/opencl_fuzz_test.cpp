// OpenCL C programs of fixed seeds, run on all execution paths of the virtual GPU and compiled for the host.
//
// RIGEL_PROGRAMS is the number of programs per chip (default 10). tools/stress kernels runs others for
// longer.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tools/vgpu-opencl-fuzz/many.hpp"

namespace rigel::vgpu::opencl_fuzz {
namespace {

// Half of the programs from this seed on are small enough for the reference model.
constexpr uint64_t kFirstSeed = 16;

class OpenClPrograms : public ::testing::TestWithParam<const char*> {};

TEST_P(OpenClPrograms, ResultsAreEqualOnAllPathsAndHost) {
  const char* const text = std::getenv("RIGEL_PROGRAMS");
  const uint64_t count = text == nullptr ? 10 : std::strtoull(text, nullptr, 10);
  ProgramCompiler compiler;
  const Count result = compare_many(
      compiler, GetParam(), kFirstSeed, count,
      [](const Finding& found) {
        ADD_FAILURE() << "seed " << found.program.seed << " at -O" << found.build.level << ": "
                      << found.mismatch << "\nvgpu_opencl_fuzz --board " << GetParam() << " --seed "
                      << found.program.seed / 16 * 16 << " --count 16 reduces it";
      },
      [] { return true; });
  EXPECT_EQ(result.compared, count);
  EXPECT_GT(result.by_host * 2, count) << "most have a judge that is not us";
  EXPECT_GT(result.by_model, 0u);
}

INSTANTIATE_TEST_SUITE_P(On, OpenClPrograms, ::testing::Values("gfx900", "gfx1030"),
                         [](const auto& chip) { return std::string(chip.param); });

TEST(OpenClPrograms, DependOnlyOnSeed) {
  EXPECT_EQ(source(generate(5), "k"), source(generate(5), "k"));
  EXPECT_NE(source(generate(5), "k"), source(generate(6), "k"));
}

// If host and GPU disagree, the mismatch is reported and the program reduced.
TEST(OpenClPrograms, ReducesMismatchingProgram) {
  ProgramCompiler compiler;
  Program program = generate(16);
  program.crosses_lanes = false;
  program.functions.clear();
  const Statement odd{"s->u0 = ODD;", false, {}, {}};
  program.phases = {{odd, {"s->u1 = gid;", false, {}, {}}, {"if (gid > 2)", true, {odd}, {}}}};
  program.limit = program.total();
  const Build build{"gfx900", 1, false};
  program.functions = {"\n#ifdef HOST\n#define ODD 1\n#else\n#define ODD 2\n#endif\n"};
  const auto board = find_board("gfx900");
  const auto host = compiler.compile_for_host({program});
  const auto difference = compare(*board, compiler.compile_for(build, {program}), "k0", program, host[0]);
  EXPECT_NE(difference.mismatch.find("is 0x2, not 0x1"), std::string::npos) << difference.mismatch;
  const Program small = reduce(compiler, *board, program, build);
  ASSERT_EQ(small.phases.size(), 1u);
  EXPECT_EQ(small.phases[0].size(), 1u);
  EXPECT_EQ(small.all_groups(), 1u);
}

}  // namespace
}  // namespace rigel::vgpu::opencl_fuzz
