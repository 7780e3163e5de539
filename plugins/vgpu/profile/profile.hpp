// The profile of this process: collects the counts of launches, and writes the requested files at exit.
//
// Threads: any.
// Lifetime: one object for each process, from the first use on. A child of fork starts with an empty profile.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/support/mutex.hpp"
#include "plugins/vgpu/profile/kernel_profile.hpp"
#include "plugins/vgpu/profile/profile_options.hpp"

namespace rigel::vgpu::profile {

/// What a launch adds to its kernel.
struct Launch {
  std::string kernel;  ///< Demangled name; launches of one name are one kernel.
  Resources resources;
  Totals totals;
  std::vector<std::pair<int64_t, Count>> counts;  ///< By offset from the kernel's entry
};

class Profile {
 public:
  /// Returns the object of the process; its options come from the environment.
  static Profile& of_process();

  explicit Profile(Options options) : options_(std::move(options)) {}

  const Options& options() const { return options_; }

  /// Adds a launch. `describe` is called for instructions of which the kernel has no description yet.
  void add(const Launch& launch, const std::function<Instruction(int64_t offset)>& describe);

  /// Whether the kernel has been launched before.
  bool knows(const std::string& kernel);

  /// Returns the kernels, those with the most instructions first.
  std::vector<Kernel> kernels();

  /// Forgets all launches, in a child of fork.
  void forget();

 private:
  const Options options_;
  Mutex mutex_;
  std::map<std::string, Kernel> kernels_ RIGEL_GUARDED_BY(mutex_);
};

/// Status of a program whose kernels execute more instructions than Options::against says.
constexpr int kGrewStatus = 67;

// Return the contents of files.
std::string table_of(const std::vector<Kernel>& kernels);
std::string json_of(const std::vector<Kernel>& kernels);
std::string callgrind_of(const std::vector<Kernel>& kernels, std::string_view program);
std::string lcov_of(const std::vector<Kernel>& kernels);
std::string folded_of(const std::vector<Kernel>& kernels);

struct Comparison {
  std::string text;   ///< One line for each count that differs
  bool grew = false;  ///< A count is larger, or a kernel is new.
  bool is_valid = true;
};
/// Compares counts with the contents of a JSON file that json_of() has written. `name`: the file, for
/// messages.
Comparison compare(const std::vector<Kernel>& kernels, std::string_view json, std::string_view name);

}  // namespace rigel::vgpu::profile
