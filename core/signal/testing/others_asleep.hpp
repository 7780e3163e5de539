// Until the other threads of a test are asleep. Nothing of the runtime tells that; the kernel does.
#pragma once

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace rigel::testing {

/// Whether the kernel has every thread of the process asleep but the caller.
inline bool others_are_asleep() {
  const std::string own = std::to_string(::gettid());
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == own) continue;
    std::ifstream file(task.path() / "stat");
    std::string stat;
    if (!std::getline(file, stat)) continue;  // it has ended meanwhile
    if (stat.compare(stat.rfind(')'), 3, ") S") != 0) return false;
  }
  return true;
}

/// For a thread that all others wait for. What follows has to hold for those that have not come to sleep, too, so it
/// gives up after ten seconds.
inline void await_others_asleep() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!others_are_asleep() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
}

}  // namespace rigel::testing
