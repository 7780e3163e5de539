#include "plugins/vgpu/preload/run_program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <sstream>

namespace rigel::vgpu {

ProgramResult run_program(const std::vector<std::string>& arguments, int seconds) {
  ProgramResult result;
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return result;
  const pid_t pid = fork();
  if (pid == 0) {
    setpgid(0, 0);
    dup2(pipe_ends[1], 1);
    dup2(pipe_ends[1], 2);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  ::close(pipe_ends[1]);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  bool timed_out = false;
  for (;;) {
    pollfd file{pipe_ends[0], POLLIN, 0};
    const auto remaining_ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now())
            .count();
    if (remaining_ms <= 0 || poll(&file, 1, static_cast<int>(remaining_ms)) == 0) {
      timed_out = true;
      kill(-pid, SIGKILL);
      break;
    }
    char buffer[4096];
    const ssize_t bytes_read = ::read(pipe_ends[0], buffer, sizeof buffer);
    if (bytes_read <= 0) break;
    result.out.append(buffer, static_cast<size_t>(bytes_read));
  }
  ::close(pipe_ends[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  if (!timed_out) result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

bool has_program(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::istringstream directories(path == nullptr ? "" : path);
  for (std::string directory; std::getline(directories, directory, ':');) {
    if (access((directory + "/" + name).c_str(), X_OK) == 0) return true;
  }
  return false;
}

}  // namespace rigel::vgpu
