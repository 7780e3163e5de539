#include "support/sharing_peer.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <utility>

namespace conformance {

Peer::Peer(const std::string& task) {
  // The peer may exit before it has read everything. The signal SIGPIPE must not end this process.
  std::signal(SIGPIPE, SIG_IGN);
  const auto directory = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::string program = directory / "conformance_peer";
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) {
    ADD_FAILURE() << "no pipes";
    return;
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  char* const arguments[] = {const_cast<char*>(program.c_str()), const_cast<char*>(task.c_str()), nullptr};
  const int problem = posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  request_pipe_ = in[1];
  reply_pipe_ = out[0];
  if (problem != 0) {
    pid_ = -1;
    ADD_FAILURE() << program << ": cannot be started";
  }
}

Peer::~Peer() {
  finish();
  if (reply_pipe_ >= 0) close(reply_pipe_);
}

bool Peer::send(const PeerMessage& message) {
  return write(request_pipe_, &message, sizeof message) == static_cast<ssize_t>(sizeof message);
}

bool Peer::receive(PeerMessage& message) {
  ssize_t got;
  do {
    got = read(reply_pipe_, &message, sizeof message);
  } while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(sizeof message);
}

int Peer::finish() {
  if (request_pipe_ >= 0) close(std::exchange(request_pipe_, -1));
  if (pid_ < 0) return -1;
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace conformance
