// Compares two builds of libhsa-runtime64: the same measurements, alternately, each in a separate process.
// kHelp describes options and output.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "compare/measurements.hpp"

namespace {

constexpr const char* kChild = "--measure";
constexpr const char* kResult = "ns ";  // start of the child's line
constexpr int kNotStarted = 127;

constexpr const char* kHelp =
    "usage: hsa_compare [options] DIRECTORY DIRECTORY\n"
    "Measures two builds of libhsa-runtime64 alternately, each measurement in a separate process.\n"
    "\n"
    "  DIRECTORY          contains libhsa-runtime64.so.1\n"
    "  --rounds N         number of runs of each measurement (default: 3)\n"
    "  --filter TEXT      only measurements with TEXT in their names (default: all)\n"
    "  --with COMMAND --  command that runs the measuring processes, for example vgpu-run (default: none)\n"
    "  --help             print this text (also -h)\n"
    "\n"
    "Printed are the minimum elapsed and CPU times of each library and the speedup of the first (2: twice "
    "as\n"
    "fast). A measurement without a time is followed by its reason. HSA_COMPARE_VERBOSE=1 shows the "
    "processes'\n"
    "error output.\n"
    "\n"
    "Examples:\n"
    "  hsa_compare build/lib /usr/lib/x86_64-linux-gnu\n"
    "  hsa_compare --filter copy --with vgpu-run --gpu gfx900 -- build/lib /usr/lib/x86_64-linux-gnu\n";

int usage(const std::string& problem) {
  std::fprintf(stderr, "hsa_compare: error: %s; use hsa_compare --help\n", problem.c_str());
  return 2;
}

std::string program_path() {
  char path[4096] = "";
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : std::string();
}

// The child process: runs one measurement and prints one line.
int measure(const std::string& name) {
  const std::string path = program_path();
  for (const auto& measurement : compare::measurements(path.substr(0, path.rfind('/')))) {
    if (measurement.name != name) continue;
    const double ns = measurement.run();
    std::printf("ns %.3f cpu %.3f\n", ns, compare::cpu_time_per_call());
    return 0;
  }
  return 2;
}

struct Times {
  double ns = INFINITY;
  double cpu = INFINITY;
  std::string failure;  // reason of the last child process that returned no time

  void merge(const Times& other) {
    ns = std::min(ns, other.ns);
    cpu = std::min(cpu, other.cpu);
    if (!other.failure.empty()) failure = other.failure;
  }
};

constexpr unsigned kSecondsAChild = 60;

// Describes how a child process without a result ended, and quotes its last line.
std::string explain(int status, std::string output) {
  std::string text;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
    text = "stopped after " + std::to_string(kSecondsAChild) + " s";
  } else if (WIFSIGNALED(status)) {
    text = std::string("stopped by signal ") + strsignal(WTERMSIG(status));
  } else if (WEXITSTATUS(status) == kNotStarted) {
    text = "cannot run the command";
  } else if (WEXITSTATUS(status) == 0) {
    text = "not supported";
  } else {
    text = "exit status " + std::to_string(WEXITSTATUS(status));
  }
  while (!output.empty() && output.back() == '\n') output.pop_back();
  const std::string last = output.substr(output.rfind('\n') + 1);
  return last.empty() || last.starts_with(kResult) ? text : text + ": " + last;
}

// Returns infinite times and the reason if the child process fails.
Times run_child(const std::vector<std::string>& wrapper, const std::string& library_directory,
                const std::string& name) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return {.failure = std::string("cannot create a pipe: ") + std::strerror(errno)};
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    if (std::getenv("HSA_COMPARE_VERBOSE") == nullptr) dup2(ends[1], STDERR_FILENO);
    setenv("LD_LIBRARY_PATH", library_directory.c_str(), 1);
    setenv("VGPU_RUNTIME", "system", 1);  // makes vgpu-run use LD_LIBRARY_PATH
    std::vector<std::string> command = wrapper;
    command.insert(command.end(), {program_path(), kChild, name});
    std::vector<char*> arguments;
    for (std::string& argument : command) arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    alarm(kSecondsAChild);
    execvp(arguments[0], arguments.data());
    _exit(kNotStarted);
  }
  close(ends[1]);
  std::string text;
  char buffer[256];
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  double ns = -1, cpu = -1;
  Times times;
  const size_t at = ("\n" + text).find(std::string("\n") + kResult);
  const int found = at == std::string::npos ? 0 : std::sscanf(text.c_str() + at, "ns %lf cpu %lf", &ns, &cpu);
  if (found >= 1 && ns >= 0) times.ns = ns;
  if (found >= 2 && cpu >= 0) times.cpu = cpu;
  if (!std::isfinite(times.ns)) times.failure = explain(status, std::move(text));
  return times;
}

std::string show(double ns) {
  char text[32];
  if (!(ns >= 0) || std::isinf(ns)) return "-";
  if (ns < 1e3)
    std::snprintf(text, sizeof text, "%.1f ns", ns);
  else if (ns < 1e6)
    std::snprintf(text, sizeof text, "%.2f us", ns / 1e3);
  else
    std::snprintf(text, sizeof text, "%.2f ms", ns / 1e6);
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], kChild) == 0) return measure(argv[2]);
  int rounds = 3;
  std::string filter;
  std::vector<std::string> wrapper;
  std::vector<std::string> library_directories;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--rounds" && i + 1 < argc) {
      rounds = std::max(1, std::atoi(argv[++i]));
    } else if (argument == "--filter" && i + 1 < argc) {
      filter = argv[++i];
    } else if (argument == "--with") {
      while (++i < argc && std::strcmp(argv[i], "--") != 0) wrapper.emplace_back(argv[i]);
    } else if (argument == "--help" || argument == "-h") {
      return std::fputs(kHelp, stdout) < 0 ? 1 : 0;
    } else if (argument.starts_with("-")) {
      return usage("unknown option '" + argument + "', or missing value");
    } else {
      library_directories.push_back(argument);
    }
  }
  if (library_directories.size() != 2) return usage("expected two directories");

  std::printf("%-42s %12s %12s %8s %12s %12s %8s\n", "", "first", "second", "speedup", "CPU, first", "second",
              "speedup");
  double log_sum = 0;
  int count = 0;
  const auto ratio = [](double first, double second) {
    if (!std::isfinite(first) || !std::isfinite(second)) return std::string("-");
    return std::to_string(second / first).substr(0, 5);
  };
  for (const auto& measurement : compare::measurements({})) {
    if (measurement.name.find(filter) == std::string::npos) continue;
    Times best[2];
    for (int round = 0; round < rounds; ++round) {
      for (size_t side = 0; side < 2; ++side)
        best[side].merge(run_child(wrapper, library_directories[side], measurement.name));
    }
    if (std::isfinite(best[0].ns) && std::isfinite(best[1].ns))
      log_sum += std::log(best[1].ns / best[0].ns), ++count;
    std::printf("%-42s %12s %12s %8s %12s %12s %8s\n", measurement.name.c_str(), show(best[0].ns).c_str(),
                show(best[1].ns).c_str(), ratio(best[0].ns, best[1].ns).c_str(), show(best[0].cpu).c_str(),
                show(best[1].cpu).c_str(), ratio(best[0].cpu, best[1].cpu).c_str());
    for (size_t side = 0; side < 2; ++side) {
      if (!best[side].failure.empty())
        std::printf("  %s: %s\n", library_directories[side].c_str(), best[side].failure.c_str());
    }
    std::fflush(stdout);
  }
  if (count > 0) std::printf("geometric mean of %d speedups: %.2f\n", count, std::exp(log_sum / count));
  return 0;
}
