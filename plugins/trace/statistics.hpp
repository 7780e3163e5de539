// How long things took, by name, and the table that is printed at the end. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace trace {

/// Durations of one kind, in memory that does not grow with their number: buckets whose width is a 32nd of
/// the power of two below them, so that a percentile is right within 1.6 %.
class Durations {
 public:
  void add(uint64_t ns);
  uint64_t count() const { return count_; }
  uint64_t total() const { return total_; }
  uint64_t mean() const { return count_ == 0 ? 0 : total_ / count_; }
  /// The least duration that `share` (0 to 1) of all do not exceed; 0 if there are none.
  uint64_t percentile(double share) const;

 private:
  uint64_t count_ = 0;
  uint64_t total_ = 0;
  uint64_t least_ = UINT64_MAX;
  uint64_t greatest_ = 0;
  std::vector<uint64_t> buckets_;
};

class Statistics {
 public:
  enum Table { kCalls, kKernels, kCopies, kTables };

  /// Where to add durations of that name. Stays valid.
  Durations& of(Table table, std::string_view name);

  /// A block for each table that has rows, by total time; at most `rows` rows in each, and a line for the
  /// others.
  std::string text(size_t rows = 40) const;

 private:
  std::map<std::string, Durations, std::less<>> tables_[kTables];
};

}  // namespace trace
