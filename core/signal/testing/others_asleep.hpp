// Waits until the other threads of a test are asleep, as reported by the kernel.
#pragma once

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace rigel::testing {

/// Whether every thread of the process but the caller is asleep in the kernel.
inline bool others_are_asleep() {
  const std::string own = std::to_string(::gettid());
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == own) continue;
    std::ifstream file(task.path() / "stat");
    std::string stat;
    if (!std::getline(file, stat)) continue;  // the thread has ended
    if (stat.compare(stat.rfind(')'), 3, ") S") != 0) return false;
  }
  return true;
}

/// For a thread that all others wait for. Gives up after ten seconds, because callers must also be correct
/// for threads that are not asleep.
inline void await_others_asleep() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!others_are_asleep() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
}

}  // namespace rigel::testing
