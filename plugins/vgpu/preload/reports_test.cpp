// Compares the reports in docs/guide/diagnosing.md and more_reports.txt with the virtual GPU's, except for
// addresses, thread numbers and times.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugins/vgpu/preload/run_program.hpp"

namespace rigel::vgpu {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

std::string vgpu_run() {
  const char* const path = std::getenv("VGPU_RUN");
  return path == nullptr ? "vgpu-run" : path;
}

std::string code_for(const std::string& target) {
  return MISTAKE_FOLDER "/vgpu_mistakes_" + target + ".hsaco";
}

// Replaces addresses, registers, thread numbers and times, which vary.
std::string normalised(std::string text) {
  text = std::regex_replace(text, std::regex("0x[0-9a-f]{5,}"), "ADDRESS");
  text = std::regex_replace(text, std::regex("[0-9a-f]{16}"), "REGISTER");
  text = std::regex_replace(text, std::regex("vgpu\\[[0-9]+\\]"), "vgpu[THREAD]");
  text = std::regex_replace(text, std::regex("[0-9]+\\.[0-9] s"), "TIME");
  text = std::regex_replace(text, std::regex("rigel\\[[0-9:]+\\]"), "rigel[PROCESS]");
  return text;
}

// Adds the reports of a file by error: the block after a line "<!-- report: NAME -->".
void read_reports(const char* file, std::map<std::string, std::string>& reports) {
  std::ifstream page(file);
  std::string name;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    constexpr std::string_view kMark = "<!-- report: ";
    if (line.starts_with(kMark)) {
      name = line.substr(kMark.size(), line.find(" -->") - kMark.size());
    } else if (line.starts_with("```")) {
      inside = !inside && !name.empty();
      if (!inside) name.clear();
    } else if (inside) {
      reports[name] += line + "\n";
    }
  }
}

std::map<std::string, std::string> expected_reports() {
  std::map<std::string, std::string> reports;
  for (const char* file : {REPORTS_PAGE, MORE_REPORTS}) read_reports(file, reports);
  return reports;
}

// Returns the report of a program with an error, without the program's output.
std::string report_of(const std::string& mistake, const std::string& target, const std::string& compiler,
                      int& status, const std::vector<std::string>& options) {
  std::vector<std::string> command = {"env", "VGPU_COMPILER=" + compiler, vgpu_run(), "--gpu", "gfx900"};
  command.insert(command.end(), options.begin(), options.end());
  command.insert(command.end(), {MISTAKE_PROGRAM, mistake, code_for(target)});
  const ProgramResult result = run_program(command);
  status = result.status;
  std::istringstream lines(result.out);
  std::string report;
  for (std::string line; std::getline(lines, line);) {
    if (line != "running" && line != "failed") report += line + "\n";
  }
  return report;
}

struct Mistake {
  const char* name;
  const char* target;
  std::vector<std::string> options;
  int status;
};

class Reports : public ::testing::TestWithParam<Mistake> {};

TEST_P(Reports, MatchDocumentation) {
  const Mistake& mistake = GetParam();
  const auto page = expected_reports();
  ASSERT_TRUE(page.contains(mistake.name)) << "no report of it in " REPORTS_PAGE " and " MORE_REPORTS;
  // Interpreted, and compiled if there is a compiler.
  for (const char* compiler : {"off", "beforehand"}) {
    int status = 0;
    const std::string report = report_of(mistake.name, mistake.target, compiler, status, mistake.options);
    EXPECT_EQ(status, mistake.status) << report;
    if (!MISTAKES_AS_ON_PAGE) continue;
    if (report.find("mistake_kernels.cpp") == report.npos && std::strcmp(mistake.name, "other_gpu") != 0) {
      GTEST_SKIP() << "built without libdw: no source lines\n" << report;
    }
    EXPECT_EQ(normalised(report), normalised(page.at(mistake.name)))
        << "as it was printed, compiler " << compiler << ":\n"
        << report;
  }
  if (!MISTAKES_AS_ON_PAGE) GTEST_SKIP() << "the page's kernels are clang 15's, and these are another's";
}

INSTANTIATE_TEST_SUITE_P(
    , Reports,
    ::testing::Values(Mistake{"out_of_bounds", "gfx900", {}, 3}, Mistake{"use_after_free", "gfx900", {}, 3},
                      Mistake{"trap", "gfx900", {}, 3}, Mistake{"assert", "gfx900", {}, 3},
                      Mistake{"undefined", "gfx900", {}, 3}, Mistake{"other_gpu", "gfx1030", {}, 1},
                      Mistake{"endless", "gfx900", {"--watchdog", "2.5"}, 124}),
    [](const auto& row) { return std::string(row.param.name); });

// A program that runs an endless kernel and receives requests meanwhile.
class EndlessKernel : public ::testing::Test {
 protected:
  void start(std::vector<std::string> command, const std::string& mistake = "endless") {
    command.insert(command.end(), {MISTAKE_PROGRAM, mistake});
    if (mistake == "endless") command.push_back(code_for("gfx900"));
    std::vector<char*> arguments;
    for (std::string& argument : command) arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(ends[1], 1);
      dup2(ends[1], 2);
      signal(SIGQUIT, SIG_DFL);  // may be ignored in the environment of the test
      alarm(60);                 // ends the program if the test does not
      execvp(arguments[0], arguments.data());
      _exit(127);
    }
    ::close(ends[1]);
    out_ = fdopen(ends[0], "r");
    read_until("running\n");
  }
  // Reads until a line contains the text, and returns all lines.
  std::string read_until(const std::string& text) {
    std::string all;
    char line[1024];
    while (std::fgets(line, sizeof line, out_) != nullptr) {
      all += line;
      if (std::string_view(line).find(text) != std::string_view::npos) break;
    }
    return all;
  }
  ~EndlessKernel() override {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    if (out_ != nullptr) std::fclose(out_);
  }
  pid_t pid_ = 0;
  FILE* out_ = nullptr;
};

TEST_F(EndlessKernel, SigquitReportsStatusAndContinues) {
  start({vgpu_run(), "--gpu", "gfx900"});
  for (int i = 0; i < 2; ++i) {
    kill(pid_, SIGQUIT);
    const std::string report = read_until("=> 0x");
    EXPECT_THAT(report, HasSubstr("info: SIGQUIT: queue status:\ngpu vega10 (node 1), gfx900:\n"));
    EXPECT_THAT(report, HasSubstr("1 packets submitted, 1 started, 0 completed\n"));
    EXPECT_THAT(report, HasSubstr("kernel       wait_for(MistakeArguments)\n"));
    EXPECT_THAT(report, HasSubstr("0 of 2 work-groups completed\n"));
    EXPECT_THAT(report, HasSubstr("2 waves      pc 0x"));
    EXPECT_THAT(report, HasSubstr("(0, 0, 0) wave 0, (1, 0, 0) wave 0\n"));
    EXPECT_THAT(report, HasSubstr("=> 0x"));
  }
  EXPECT_EQ(waitpid(pid_, nullptr, WNOHANG), 0) << "SIGQUIT has ended the program";
}

TEST_F(EndlessKernel, SigquitReportsStuckQueues) {
  start({vgpu_run(), "--gpu", "gfx900"}, "stuck_queues");
  const std::string expected = normalised(expected_reports().at("stuck_queues"));
  std::string report;
  for (int i = 0; i < 1000 && normalised(report) != expected; ++i) {  // queues may not have started yet
    kill(pid_, SIGQUIT);
    report = read_until("queue 1, ");
  }
  EXPECT_EQ(normalised(report), expected) << report;
}

TEST_F(EndlessKernel, SigquitEndsProgramWithoutSignals) {
  start({"env", "VGPU_SIGNALS=0", vgpu_run(), "--gpu", "gfx900"});
  kill(pid_, SIGQUIT);
  int status = 0;
  ASSERT_EQ(waitpid(pid_, &status, 0), pid_);
  pid_ = 0;
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGQUIT) << status;
}

// Returns the names of the threads once one of them starts with `prefix`.
std::vector<std::string> thread_names(pid_t pid, const std::string& prefix) {
  std::vector<std::string> names;
  for (int i = 0; i < 1000; ++i) {
    names.clear();
    const ProgramResult result =
        run_program({"sh", "-c", "cat /proc/" + std::to_string(pid) + "/task/*/comm"});
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);) names.push_back(line);
    if (std::any_of(names.begin(), names.end(),
                    [&](const std::string& name) { return name.starts_with(prefix); })) {
      break;
    }
  }
  return names;
}

TEST_F(EndlessKernel, NamesThreadsIfEnabled) {
  start({"env", "VGPU_THREAD_NAMES=1", vgpu_run(), "--gpu", "gfx900"});
  EXPECT_THAT(thread_names(pid_, "wait_for"), ::testing::Contains(MatchesRegex("wait_for [01]")));
}

TEST_F(EndlessKernel, IsVisibleInDebugger) {
  if (!has_program("gdb")) GTEST_SKIP() << "gdb is not installed";
  start({"env", "VGPU_THREAD_NAMES=1", vgpu_run(), "--gpu", "gfx900"});
  const ProgramResult gdb =
      run_program({"gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-p", std::to_string(pid_),
                   "-ex", "info threads", "-ex", "call (void)vgpu_report()"});
  if (gdb.out.find("ptrace") != gdb.out.npos) GTEST_SKIP() << "debuggers are forbidden here: " << gdb.out;
  EXPECT_THAT(gdb.out, ::testing::ContainsRegex("\"wait_for [01]\""));
  EXPECT_THAT(read_until("=> 0x"), HasSubstr("at           wait_for(MistakeArguments) at "));
}

// Returns address and size of the kernel's entries in a perf map.
std::vector<std::pair<uint64_t, uint64_t>> perf_entries(const std::string& path, const std::string& kernel) {
  std::vector<std::pair<uint64_t, uint64_t>> entries;
  std::ifstream map(path);
  for (std::string line; std::getline(map, line);) {
    uint64_t start_address = 0, bytes = 0;
    char name[256] = {};
    EXPECT_EQ(std::sscanf(line.c_str(), "%lx %lx %255[^\n]", &start_address, &bytes, name), 3) << line;
    EXPECT_THAT(name, StartsWith("vgpu:")) << line;
    if (std::string_view(name).starts_with("vgpu:" + kernel + "("))
      entries.emplace_back(start_address, bytes);
  }
  return entries;
}

bool is_executable(pid_t pid, uint64_t start_address, uint64_t bytes) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    uint64_t from = 0, to = 0;
    char rights[5] = {};
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &from, &to, rights) != 3) continue;
    if (start_address >= from && start_address < to) return rights[2] == 'x' && start_address + bytes <= to;
  }
  return false;
}

TEST_F(EndlessKernel, PerfMapHasAddressOfCode) {
  start({"env", "VGPU_COMPILER=beforehand", "VGPU_PERF_MAP=1", vgpu_run(), "--gpu", "gfx900"});
  kill(pid_, SIGQUIT);
  read_until("=> 0x");  // the kernel runs, so it has been compiled
  const std::string path = "/tmp/perf-" + std::to_string(pid_) + ".map";
  const auto entries = perf_entries(path, "wait_for");
  unlink(path.c_str());
  if (entries.empty()) GTEST_SKIP() << "no compiler on this machine";
  for (const auto& [start_address, bytes] : entries) {
    EXPECT_NE(bytes, 0u);
    EXPECT_TRUE(is_executable(pid_, start_address, bytes)) << std::hex << start_address << ' ' << bytes;
  }
}

TEST_F(EndlessKernel, KeepsThreadNamesByDefault) {
  start({"env", "-u", "VGPU_THREAD_NAMES", vgpu_run(), "--gpu", "gfx900"});
  const auto names = thread_names(pid_, "vgpu-shader");
  EXPECT_THAT(names, ::testing::Contains("vgpu-shader"));
  EXPECT_THAT(names, Not(::testing::Contains(HasSubstr("wait_for"))));
}

TEST(CompiledKernel, IsNamedInPerfMap) {
  const ProgramResult shell = run_program({"env", "VGPU_COMPILER=beforehand", "VGPU_PERF_MAP=1", "sh", "-c",
                                           "echo pid $$ >&2; exec \"$@\"", "sh", vgpu_run(), "--gpu",
                                           "gfx900", MISTAKE_PROGRAM, "out_of_bounds", code_for("gfx900")});
  const size_t at = shell.out.find("pid ");
  ASSERT_NE(at, shell.out.npos) << shell.out;
  const std::string path = "/tmp/perf-" + std::to_string(std::atoi(shell.out.c_str() + at + 4)) + ".map";
  if (access(path.c_str(), F_OK) != 0) GTEST_SKIP() << "no compiler on this machine";
  EXPECT_FALSE(perf_entries(path, "shift").empty());
  unlink(path.c_str());
}

}  // namespace
}  // namespace rigel::vgpu
