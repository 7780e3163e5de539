// The measurements of a runtime.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace compare {

struct Measurement {
  std::string name;
  /// Returns the minimum or median time of one operation in nanoseconds; negative if it is not supported.
  std::function<double()> run;
};

/// Returns the CPU time of all threads, including a virtual GPU's, per call of the last measurement, in
/// nanoseconds. Negative if unknown.
double cpu_time_per_call();

/// Returns the measurements of the first GPU agent, or of the CPU agent if there is no GPU. Each calls
/// hsa_init and hsa_shut_down. `kernels` is the directory of the code objects.
std::vector<Measurement> measurements(const std::string& kernels);

}  // namespace compare
