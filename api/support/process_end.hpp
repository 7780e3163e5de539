// Functions that write results when the process calls exit() or returns from main.
//
// Each linked module has a separate list. All functions of a list run, the last added first, before a status
// of one of them replaces the program's.
//
// Threads: any.
#pragma once

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "api/support/mutex.hpp"

namespace rigel {

/// Returns the status that the process reports in place of success; 0: the program's own.
using EndFunction = int (*)();

namespace detail {

struct EndFunctions {
  Mutex mutex;
  std::array<EndFunction, 8> functions RIGEL_GUARDED_BY(mutex){};
  size_t count RIGEL_GUARDED_BY(mutex) = 0;
};
inline constinit EndFunctions end_functions{};

// Called by exit(). The program's own status stays if it reports a failure.
inline void end_process(int program_status, void*) {
  std::array<EndFunction, 8> functions{};
  size_t count = 0;
  {
    const MutexLock lock(end_functions.mutex);
    functions = end_functions.functions;
    count = end_functions.count;
  }
  int status = 0;
  while (count != 0) {
    if (const int own_status = functions[--count](); status == 0) status = own_status;
  }
  if (program_status != 0 || status == 0) return;
  std::fflush(nullptr);
  _exit(status);
}

}  // namespace detail

/// Adds a function. At most eight fit; returns false for others.
inline bool add_end_function(EndFunction function) {
  detail::EndFunctions& all = detail::end_functions;
  const MutexLock lock(all.mutex);
  if (all.count == all.functions.size()) return false;
  if (all.count == 0 && on_exit(detail::end_process, nullptr) != 0) return false;
  all.functions[all.count++] = function;
  return true;
}

}  // namespace rigel
