// For tests: limits the size of this process's files to `bytes` while it lives, as `ulimit -f` does.
#pragma once

#include <signal.h>
#include <sys/resource.h>

namespace rigel {

class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
    action_ = signal(SIGXFSZ, SIG_DFL);
  }
  ~FileLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, action_);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit before_{};
  void (*action_)(int);
};

}  // namespace rigel
