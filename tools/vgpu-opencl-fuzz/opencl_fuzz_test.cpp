// OpenCL C programs of fixed seeds, in every way that the virtual GPU has to run them and by the host's compiler.
//
// RIGEL_PROGRAMS is how many for each chip (default 32; tools/stress kernels runs others for as long as one likes).
#include <gtest/gtest.h>

#include <cstdlib>

#include "tools/vgpu-opencl-fuzz/many.hpp"

namespace rigel::vgpu::opencl_fuzz {
namespace {

class OpenClPrograms : public ::testing::TestWithParam<const char*> {};

TEST_P(OpenClPrograms, AreTheSameInEveryWayAndOnTheHost) {
  const char* const text = std::getenv("RIGEL_PROGRAMS");
  const uint64_t count = text == nullptr ? 20 : std::strtoull(text, nullptr, 10);
  Workshop workshop;
  const Count result = compare_many(
      workshop, GetParam(), 0, count,
      [](const Found& found) {
        ADD_FAILURE() << "seed " << found.program.seed << " at -O" << found.build.level << ": " << found.what
                      << "\nvgpu_opencl_fuzz --board " << GetParam() << " --seed "
                      << found.program.seed / 16 * 16 << " --count 16 reduces it";
      },
      [] { return true; });
  EXPECT_EQ(result.compared, count);
  EXPECT_GT(result.by_host * 2, count) << "most have a judge that is not us";
  EXPECT_GT(result.by_model, 0u);
}

INSTANTIATE_TEST_SUITE_P(On, OpenClPrograms, ::testing::Values("gfx803", "gfx900", "gfx1010", "gfx1030"),
                         [](const auto& chip) { return std::string(chip.param); });

TEST(OpenClPrograms, AreTheSameForTheSameSeed) {
  EXPECT_EQ(source(generate(5), "k"), source(generate(5), "k"));
  EXPECT_NE(source(generate(5), "k"), source(generate(6), "k"));
}

// A judge that is wrong is found out, and the program that shows it is made small.
TEST(OpenClPrograms, ThatDifferAreFoundAndMadeSmall) {
  Workshop workshop;
  Program program = generate(16);
  program.crosses_lanes = false;
  program.functions.clear();
  const Statement odd{"s->u0 = ODD;", false, {}, {}};
  program.phases = {{odd, {"s->u1 = gid;", false, {}, {}}, {"if (gid > 2)", true, {odd}, {}}}};
  program.limit = program.total();
  const Build build{"gfx900", 1, false};
  program.functions = {"\n#ifdef HOST\n#define ODD 1\n#else\n#define ODD 2\n#endif\n"};
  const auto board = find_board("gfx900");
  const auto host = workshop.compile_for_host({program});
  const auto difference = compare(*board, workshop.compile_for(build, {program}), "k0", program, host[0]);
  EXPECT_NE(difference.wrong.find("is 0x2, not 0x1"), std::string::npos) << difference.wrong;
  const Program small = reduce(workshop, *board, program, build);
  ASSERT_EQ(small.phases.size(), 1u);
  EXPECT_EQ(small.phases[0].size(), 1u);
  EXPECT_EQ(small.all_groups(), 1u);
}

}  // namespace
}  // namespace rigel::vgpu::opencl_fuzz
