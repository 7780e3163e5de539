#include "plugins/vgpu/exec/opencl_bench/check_cost.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "plugins/vgpu/exec/opencl_bench/bench.hpp"
#include "plugins/vgpu/exec/opencl_bench/cases.hpp"
#include "plugins/vgpu/exec/opencl_bench/cpu_time.hpp"
#include "plugins/vgpu/exec/opencl_bench/gpu.hpp"

namespace rigel::vgpu::bench {
namespace {

constexpr int kWarmUps = 2;

// A process that runs kernels on request (serve_runs()), with some checks.
class Server {
 public:
  explicit Server(const std::string& checks) {
    int requests[2], answers[2];
    // Later servers do not keep these open.
    if (pipe2(requests, O_CLOEXEC) != 0 || pipe2(answers, O_CLOEXEC) != 0) fail("no pipe");
    const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
    const std::string launcher = self.parent_path() / "vgpu-run", option = "--check=" + checks;
    process_ = fork();
    if (process_ < 0) fail("no process");
    if (process_ == 0) {
      dup2(requests[0], STDIN_FILENO);
      dup2(answers[1], STDOUT_FILENO);
      setenv("VGPU_COMPILER", "beforehand", 1);
      setenv("VGPU_CHECK_LOG", "/dev/null", 1);
      if (checks.empty()) execl(self.c_str(), self.c_str(), "--serve", nullptr);
      execl(launcher.c_str(), launcher.c_str(), option.c_str(), self.c_str(), "--serve", nullptr);
      _exit(127);
    }
    close(requests[0]), close(answers[1]);
    requests_ = fdopen(requests[1], "w"), answers_ = fdopen(answers[0], "r");
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() {
    std::fclose(requests_);
    std::fclose(answers_);
    waitpid(process_, nullptr, 0);
  }

  /// Returns the answer to a request, a number; negative if the process failed.
  double ask(const std::string& request) {
    double answer = -1;
    char line[64];
    std::fprintf(requests_, "%s\n", request.c_str());
    if (std::fflush(requests_) != 0 || std::fgets(line, sizeof line, answers_) == nullptr) return -1;
    return std::sscanf(line, "%lf", &answer) == 1 ? answer : -1;
  }

 private:
  pid_t process_ = -1;
  std::FILE* requests_ = nullptr;
  std::FILE* answers_ = nullptr;
};

// Peak of this process's memory in MB.
double peak_megabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    double kilobytes = 0;
    if (std::sscanf(line.c_str(), "VmHWM: %lf kB", &kilobytes) == 1) return kilobytes / 1024;
  }
  return -1;
}

}  // namespace

bool show_check_cost(int repetitions, const std::vector<std::string>& kernels,
                     const std::vector<std::string>& checks) {
  std::vector<std::unique_ptr<Server>> servers;
  servers.push_back(std::make_unique<Server>(""));
  for (const std::string& check : checks) servers.push_back(std::make_unique<Server>(check));
  std::printf("minimum CPU time in ms without checks; slowdown by checks\n%-12s %10s", "kernel", "plain");
  for (const std::string& check : checks) std::printf(" %12s", check.c_str());
  std::printf("\n");
  std::vector<Mean> means(checks.size());
  std::vector<std::vector<std::byte>> memory;
  const auto allocate = [&](size_t bytes) { return memory.emplace_back(bytes).data(); };
  for (const Case& work : make_cases(allocate)) {
    if (!kernels.empty() && std::find(kernels.begin(), kernels.end(), work.name) == kernels.end()) continue;
    std::vector<double> best(servers.size(), INFINITY);
    for (const auto& server : servers) {
      if (server->ask(work.name) < 0) return false;
    }
    for (int i = 0; i < repetitions; ++i) {
      for (size_t s = 0; s < servers.size(); ++s) {
        const double ms = servers[s]->ask("run");
        if (ms < 0) return false;
        best[s] = std::min(best[s], ms);
      }
    }
    std::printf("%-12s %10.3f", work.name.c_str(), best[0]);
    for (size_t s = 1; s < servers.size(); ++s) {
      means[s - 1].add(best[s] / best[0]);
      std::printf(" %12.2f", best[s] / best[0]);
    }
    std::printf("\n");
    std::fflush(stdout);
  }
  std::printf("%-12s %10s", "geom. mean", "");
  for (const Mean& mean : means) std::printf(" %12.2f", mean.value());
  std::printf("\n%-12s", "peak in MB");
  for (size_t s = 0; s < servers.size(); ++s)
    std::printf(s == 0 ? " %10.0f" : " %12.0f", servers[s]->ask("peak"));
  std::printf("\n");
  return true;
}

bool serve_runs(const std::string& folder) {
  Gpu gpu(folder);
  const std::vector<Case> cases = make_cases([&](size_t bytes) { return gpu.allocate(bytes); });
  char line[64];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    line[std::strcspn(line, "\n")] = 0;
    double answer = 0;
    if (std::strcmp(line, "run") == 0) {
      const double start = cpu_seconds();
      gpu.run();
      answer = (cpu_seconds() - start) * 1e3;
    } else if (std::strcmp(line, "peak") == 0) {
      answer = peak_megabytes();
    } else {
      const auto work =
          std::find_if(cases.begin(), cases.end(), [&](const Case& c) { return c.name == line; });
      if (work == cases.end()) fail("unknown kernel '" + std::string(line) + "'");
      gpu.prepare(*work);
      for (int i = 0; i < kWarmUps; ++i) gpu.run();
    }
    std::printf("%.6f\n", answer);
    if (std::fflush(stdout) != 0) return false;
  }
  return true;
}

}  // namespace rigel::vgpu::bench
