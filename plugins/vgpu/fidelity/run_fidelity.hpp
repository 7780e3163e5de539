// Which instructions, packets and ioctls a process has executed, how each compares with hardware, and how
// often (docs/guide/profiling.md).
//
// Threads: any.
// Lifetime: one object for each process, from the first use on. A child of fork starts without counts.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "api/support/mutex.hpp"

namespace rigel::vgpu::fidelity {

/// How an execution compares with hardware.
enum class Degree : uint8_t {
  kExact,
  kEquivalent,   ///< Results are hardware's; order, time or visibility differ as hardware permits.
  kApproximate,  ///< Results may differ.
  kUnsupported,  ///< Not executed: the queue stopped or the call failed.
};
constexpr size_t kDegrees = 4;

/// "exact", "equivalent", "approximate", "unsupported".
std::string_view name(Degree degree);

/// "isa", "aql", "pm4", "sdma", "kfd", "drm".
enum class Set : uint8_t { kIsa, kAql, kPm4, kSdma, kKfd, kDrm };

struct Row {
  Set set{};
  std::string name;  ///< Instruction, packet with field, or ioctl
  Degree degree{};
  std::string note;  ///< The difference from hardware

  auto operator<=>(const Row&) const = default;
};
using Counts = std::map<Row, uint64_t>;

struct Options {
  struct Output {
    std::string path;  ///< Empty: stderr
    bool is_json = false;
  };
  std::vector<Output> outputs;
  bool requires_exact = false;  ///< Approximate and unsupported executions change the status of the process.

  bool is_on() const { return !outputs.empty() || requires_exact; }
  /// Reads VGPU_RUN_FIDELITY and VGPU_REQUIRE. Ignores the environment in a process with elevated privileges.
  static Options from_environment();
};

/// Returns the outputs of a list of paths, separated by commas: *.txt, *.json, or - (text on stderr). "%p" in
/// a path becomes the process ID. An error names the path.
tl::expected<std::vector<Options::Output>, std::string> parse_outputs(std::string_view list);

/// Status of a program that succeeds with VGPU_REQUIRE=exact, but was not executed exactly.
constexpr int kNotExactStatus = 68;

class RunFidelity {
 public:
  /// Returns the object of the process; its options come from the environment.
  static RunFidelity& of_process();

  explicit RunFidelity(Options options) : options_(std::move(options)), is_on_(options_.is_on()) {}

  /// Whether executions are counted. Cheap.
  bool is_on() const { return is_on_; }
  const Options& options() const { return options_; }

  void count(Set set, std::string_view name, Degree degree, std::string_view note, uint64_t times = 1);
  Counts counts();
  void forget();

 private:
  const Options options_;
  const bool is_on_;
  Mutex mutex_;
  Counts counts_ RIGEL_GUARDED_BY(mutex_);
};

// Return the contents of files. The text lists what is not exact.
std::string text_of(const Counts& counts);
std::string json_of(const Counts& counts);
/// Whether all instructions and packets were exact or equivalent. A program learns of ioctls that fail.
bool is_exact(const Counts& counts);

}  // namespace rigel::vgpu::fidelity
