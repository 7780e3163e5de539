// What is measured of a runtime: each measurement is a name and a function that gives nanoseconds.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace compare {

struct Measurement {
  std::string name;
  /// Nanoseconds of one operation, the least of many; negative: this runtime or agent cannot do it.
  std::function<double()> run;
};

/// Nanoseconds of processor time that a call of the last measurement took on average, of all threads: of the
/// virtual GPU too, where there is one. Negative: not known.
double processor_time();

/// The measurements for the first GPU agent, or the first agent that dispatches if there is no GPU. With its
/// own runtime reference each; `kernels` is the folder of the code objects.
std::vector<Measurement> measurements(const std::string& kernels);

}  // namespace compare
