// Durations of calls, kernels and copies by name, and the tables that are printed at the end.
//
// *Threads:* one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace trace {

/// A histogram of durations. Its memory does not grow with their number. Each range from a power of two to
/// the next has 32 buckets of equal width. A percentile is the middle of a bucket, so its error is at
/// most 1.6 %.
class Durations {
 public:
  void add(uint64_t ns);
  uint64_t count() const { return count_; }
  uint64_t total() const { return total_; }
  uint64_t mean() const { return count_ == 0 ? 0 : total_ / count_; }
  /// Returns the minimum duration that `share` (0 to 1) of all durations do not exceed, with the error above.
  /// Returns 0 if there are no durations.
  uint64_t percentile(double share) const;

 private:
  uint64_t count_ = 0;
  uint64_t total_ = 0;
  uint64_t minimum_ = UINT64_MAX;
  uint64_t maximum_ = 0;
  std::vector<uint64_t> buckets_;
};

class Statistics {
 public:
  enum Table { kCalls, kKernels, kCopies, kTables };

  /// Returns the durations of a name; adds the name if it is new. The reference stays valid.
  Durations& of(Table table, std::string_view name);

  /// Returns the tables that have rows, as text. Each is sorted by total time. At most `rows` names have a
  /// row; one more row has the sum of the others.
  std::string text(size_t rows = 40) const;

 private:
  std::map<std::string, Durations, std::less<>> tables_[kTables];
};

}  // namespace trace
