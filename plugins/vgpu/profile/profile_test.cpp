#include "plugins/vgpu/profile/profile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace rigel::vgpu::profile {
namespace {

using testing::HasSubstr;
using testing::Not;

Instruction instruction(Kind kind, int line, uint32_t read = 0, uint32_t written = 0) {
  return {kind, "x", read, written, "", {{"inner(int)", "k.hip", line}, {"outer()", "k.hip", 50}}};
}

// A kernel of two waves: a load of 4 bytes by 64 and 32 lanes, an addition in a loop, a line without waves.
std::vector<Kernel> two_waves() {
  Profile profile({});
  Launch launch;
  launch.kernel = "k()";
  launch.resources = {64, 8, 16, 0, 0, {20, 4, 10, "LDS"}};
  launch.totals = {1, 2, 2, 96, 1000};
  launch.counts = {{0, {2, 96}}, {4, {10, 480}}, {8, {0, 0}}};
  profile.add(launch, [](int64_t offset) {
    if (offset == 0) return instruction(Kind::kLoad, 10, 4);
    return instruction(Kind::kVector, offset == 4 ? 11 : 12);
  });
  return profile.kernels();
}

TEST(Profile, AddsLaunchesOfOneName) {
  Profile profile({});
  Launch launch;
  launch.kernel = "k()";
  launch.totals = {1, 2, 3, 4, 5};
  launch.counts = {{0, {2, 100}}};
  int described = 0;
  const auto describe = [&](int64_t) {
    ++described;
    return instruction(Kind::kScalar, 1);
  };
  profile.add(launch, describe);
  profile.add(launch, describe);
  const std::vector<Kernel> kernels = profile.kernels();
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].totals.launches, 2u);
  EXPECT_EQ(kernels[0].totals.waves, 6u);
  EXPECT_EQ(kernels[0].instructions.at(0).count.times, 4u);
  EXPECT_EQ(kernels[0].instructions.at(0).count.lanes, 200u);
  EXPECT_EQ(described, 1);
}

TEST(Profile, KernelsWithMostInstructionsAreFirst) {
  Profile profile({});
  Launch launch;
  launch.kernel = "few()";
  launch.counts = {{0, {2, 2}}};
  profile.add(launch, [](int64_t) { return Instruction(); });
  launch.kernel = "many()";
  launch.counts = {{0, {3, 3}}};
  profile.add(launch, [](int64_t) { return Instruction(); });
  const std::vector<Kernel> kernels = profile.kernels();
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].name, "many()");
}

TEST(ProfileSummary, AddsLanesAndBytes) {
  const Summary sum = summary_of(two_waves()[0]);
  EXPECT_EQ(sum.instructions, 12u);
  EXPECT_EQ(sum.of(Kind::kLoad), 2u);
  EXPECT_EQ(sum.of(Kind::kVector), 10u);
  EXPECT_EQ(sum.read_bytes, 96u * 4);
  EXPECT_EQ(sum.written_bytes, 0u);
  EXPECT_DOUBLE_EQ(sum.active_lanes(64), 480.0 / 640);
}

TEST(ProfileSummary, BytesOfLdsAreSeparate) {
  Kernel kernel;
  kernel.instructions[0] = {instruction(Kind::kDataShare, 1, 8), {1, 64}, {}};
  kernel.instructions[4] = {instruction(Kind::kScalarMemory, 1, 16), {3, 192}, {}};
  kernel.instructions[8] = {instruction(Kind::kAtomic, 1, 4, 4), {1, 10}, {}};
  const Summary sum = summary_of(kernel);
  EXPECT_EQ(sum.lds_bytes, 512u);
  EXPECT_EQ(sum.read_bytes, 3u * 16 + 40);
  EXPECT_EQ(sum.written_bytes, 40u);
}

TEST(ProfileLcov, LineWithoutWavesHasCountZero) {
  EXPECT_EQ(lcov_of(two_waves()),
            "TN:gpu\nSF:k.hip\nFN:10,inner(int)\nFN:50,outer()\nFNDA:10,inner(int)\nFNDA:10,outer()\n"
            "FNF:2\nFNH:2\nDA:10,2\nDA:11,10\nDA:12,0\nDA:50,10\nLF:4\nLH:3\nend_of_record\n");
}

TEST(ProfileLcov, NamesOfFunctionsHaveNoCommas) {
  Kernel kernel;
  kernel.instructions[0].instruction.positions = {{"f(int, int)", "k.hip", 3}};
  EXPECT_THAT(lcov_of({kernel}), HasSubstr("FN:3,f(int int)\nFNDA:0,f(int int)\nFNF:1\nFNH:0\n"));
}

TEST(ProfileFolded, StackBeginsWithKernel) {
  EXPECT_EQ(folded_of(two_waves()), "k();outer();inner(int) 12\n");
}

TEST(ProfileCallgrind, InlinedFunctionIsCalled) {
  const std::string text = callgrind_of(two_waves(), "./a.out");
  EXPECT_THAT(text, HasSubstr("cmd: ./a.out\n"));
  EXPECT_THAT(text, HasSubstr("summary: 12 576\n"));
  EXPECT_THAT(text, HasSubstr("fn=inner(int)\n10 2 96\n11 10 480\n"));
  EXPECT_THAT(text, HasSubstr("fn=outer()\ncob=k()\ncfi=k.hip\ncfn=inner(int)\ncalls=10 0\n50 12 576\n"));
}

TEST(ProfileCallgrind, LaunchesCallKernels) {
  const std::string text = callgrind_of(two_waves(), "./a.out");
  EXPECT_THAT(text, HasSubstr("ob=./a.out\nfl=???\nfn=(launches)\n"
                              "cob=k()\ncfi=k.hip\ncfn=outer()\ncalls=1 0\n0 12 576\n"));
}

TEST(ProfileCallgrind, CostOfLaunchesExcludesCalledFunctions) {
  Kernel kernel;
  kernel.name = "k()";
  kernel.totals.launches = 3;
  const auto counted = [](const char* function, const char* file, uint64_t times) {
    CountedInstruction result{instruction(Kind::kVector, 1), {times, times}, {}};
    result.instruction.positions = {{function, file, 1}};
    return result;
  };
  kernel.instructions[-8] = counted("called()", "k.hip", 100);
  kernel.instructions[0] = {instruction(Kind::kVector, 1), {1, 1}, {}};
  kernel.instructions[0].instruction.positions.clear();
  kernel.instructions[4] = counted("k()", "k.hip", 20);
  kernel.instructions[8] = counted("k()", "included.hpp", 300);
  EXPECT_THAT(callgrind_of({kernel}, "a"), HasSubstr("cfi=k.hip\ncfn=k()\ncalls=3 0\n0 321 321\n"));
  kernel.instructions.clear();
  EXPECT_THAT(callgrind_of({kernel}, "a"), ::testing::Not(HasSubstr("calls=")));
}

// The trace of two launches that overlap from time 2000 to 3000: 300 vector instructions of each.
std::string trace_of_launches(uint64_t lanes_of_first, uint64_t lanes_of_second) {
  Options options;
  options.outputs = {{"x.perfetto", Format::kPerfetto}};
  Profile profile(options);
  Launch launch;
  launch.kernel = "k()";
  launch.resources.wave_size = 64;
  const auto describe = [](int64_t) { return instruction(Kind::kVector, 1); };
  launch.counts = {{0, {300, lanes_of_first}}};
  launch.begin_time = 1000;
  launch.end_time = 3000;
  profile.add(launch, describe);
  launch.counts = {{0, {300, lanes_of_second}}};
  launch.begin_time = 2000;
  launch.end_time = 4000;
  profile.add(launch, describe);
  return perfetto_of(profile.samples());
}

// Whether a track has a value at a time: TracePacket.timestamp, then TrackEvent with
// TrackEvent.counter_value, in base 128.
bool has_value(const std::string& trace, uint32_t time, std::string_view value) {
  const std::string stamp = {0x40, static_cast<char>(time | 0x80), static_cast<char>(time >> 7)};
  const std::string wanted = std::string("\xf0\x01").append(value);
  for (size_t at = trace.find(stamp); at != trace.npos; at = trace.find(stamp, at + 1)) {
    if (trace.substr(at, 30).find(wanted) != trace.npos) return true;
  }
  return false;
}

TEST(ProfilePerfetto, ValueOfOverlappingLaunchesIsTheirSum) {
  const std::string trace = trace_of_launches(19200, 19200);
  EXPECT_THAT(trace, HasSubstr("GPU instructions"));
  EXPECT_TRUE(has_value(trace, 1000, "\xac\x02")) << "300";
  EXPECT_TRUE(has_value(trace, 2000, "\xd8\x04")) << "600";
  EXPECT_TRUE(has_value(trace, 3000, "\xac\x02")) << "300";
  EXPECT_TRUE(has_value(trace, 4000, std::string_view("\0", 1)));
}

TEST(ProfilePerfetto, PercentageOfOverlappingLaunchesIsTheirMean) {
  const std::string trace = trace_of_launches(19200, 9600);
  EXPECT_TRUE(has_value(trace, 1000, "\x64")) << "100 %";
  EXPECT_TRUE(has_value(trace, 2000, "\x4b")) << "75 %";
  EXPECT_TRUE(has_value(trace, 3000, "\x32")) << "50 %";
}

TEST(ProfileJson, ContainsCountsAndPlaces) {
  const auto document = nlohmann::json::parse(json_of(two_waves()));
  const auto& kernel = document.at("kernels").at(0);
  EXPECT_EQ(kernel.at("name"), "k()");
  EXPECT_EQ(kernel.at("instructions"), 12);
  EXPECT_EQ(kernel.at("instructions_by_kind").at("valu"), 10);
  EXPECT_EQ(kernel.at("code").at(1).at("line"), 11);
  EXPECT_EQ(kernel.at("code").at(1).at("lanes"), 480);
  EXPECT_EQ(kernel.at("occupancy").at("waves_per_simd"), 5);
  EXPECT_EQ(kernel.at("occupancy").at("limited_by"), "LDS");
}

TEST(ProfileComparison, EqualCountsDoNotGrow) {
  const std::vector<Kernel> kernels = two_waves();
  const Comparison comparison = compare(kernels, json_of(kernels), "old.json");
  EXPECT_FALSE(comparison.grew);
  EXPECT_TRUE(comparison.is_valid);
  EXPECT_EQ(comparison.text, "profile: all counts are those of old.json\n");
}

TEST(ProfileComparison, LargerCountGrows) {
  std::vector<Kernel> kernels = two_waves();
  const std::string before = json_of(kernels);
  kernels[0].instructions[4].count.times = 11;
  const Comparison comparison = compare(kernels, before, "old.json");
  EXPECT_TRUE(comparison.grew);
  EXPECT_THAT(comparison.text, HasSubstr("profile: k(): valu: 10 before, 11 now\n"));
}

TEST(ProfileComparison, SmallerCountDoesNotGrow) {
  std::vector<Kernel> kernels = two_waves();
  const std::string before = json_of(kernels);
  kernels[0].instructions[4].count.times = 9;
  const Comparison comparison = compare(kernels, before, "old.json");
  EXPECT_FALSE(comparison.grew);
  EXPECT_THAT(comparison.text, HasSubstr("profile: k(): valu: 10 before, 9 now\n"));
}

TEST(ProfileComparison, NewKernelGrows) {
  const Comparison comparison = compare(two_waves(), json_of({}), "old.json");
  EXPECT_TRUE(comparison.grew);
  EXPECT_THAT(comparison.text, HasSubstr("k(): a new kernel"));
}

TEST(ProfileComparison, InvalidFileIsAnError) {
  for (const char* const text : {"", "{}", "[1]", R"({"kernels":[{"name":"k"}]})"}) {
    const Comparison comparison = compare(two_waves(), text, "old.json");
    EXPECT_FALSE(comparison.is_valid) << text;
    EXPECT_THAT(comparison.text, HasSubstr("error: old.json: not a profile")) << text;
  }
}

TEST(ProfileTable, LinesAreShort) {
  const std::string text = table_of(two_waves());
  EXPECT_THAT(text, HasSubstr("profile: 1 kernel, 1 launch, 12 instructions of waves\n"));
  EXPECT_THAT(text, HasSubstr("  active lanes  75.0% of vector instructions\n"));
  EXPECT_THAT(text, HasSubstr("  by kind       valu 10 load 2\n"));
  EXPECT_THAT(text, Not(HasSubstr("salu")));
  EXPECT_THAT(text, HasSubstr("  occupancy     5 of 10 waves for each SIMD, limited by LDS\n"));
}

TEST(ProfileTable, ApproximateInstructionsAreListed) {
  Kernel kernel;
  kernel.name = "k()";
  for (int64_t offset : {0, 4}) {
    kernel.instructions[offset] = {instruction(Kind::kVector, 1), {5, 5}, {}};
    kernel.instructions[offset].instruction.text = "v_exp_f32_e32 v0, v1";
    kernel.instructions[offset].instruction.approximation = "within one unit in the last place";
  }
  EXPECT_THAT(table_of({kernel}),
              HasSubstr("  approximate   10 v_exp_f32_e32: within one unit in the last place\n"));
  EXPECT_THAT(json_of({kernel}), HasSubstr("\"approximation\": \"within one unit in the last place\""));
}

}  // namespace
}  // namespace rigel::vgpu::profile
