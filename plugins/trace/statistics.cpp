#include "plugins/trace/statistics.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>

namespace trace {
namespace {

constexpr unsigned kBits = 5;  // precision of a bucket: bits after the highest set bit

size_t bucket_of(uint64_t ns) {
  if (ns < uint64_t{1} << kBits) return static_cast<size_t>(ns);
  const auto power = static_cast<unsigned>(std::bit_width(ns)) - 1 - kBits;
  return (static_cast<size_t>(power) << kBits) + static_cast<size_t>(ns >> power);
}

// Returns the middle of a bucket.
uint64_t value_of(size_t bucket) {
  if (bucket < size_t{2} << kBits) return bucket;
  const size_t power = (bucket >> kBits) - 1;
  const uint64_t first = uint64_t{bucket - (power << kBits)} << power;
  return first + (uint64_t{1} << power) / 2;
}

std::string duration(uint64_t ns) {
  char text[32];
  const auto value = static_cast<double>(ns);
  if (ns < 1'000) {
    std::snprintf(text, sizeof text, "%u ns", static_cast<unsigned>(ns));
  } else if (ns < 1'000'000) {
    std::snprintf(text, sizeof text, "%.2f us", value / 1e3);
  } else if (ns < 1'000'000'000) {
    std::snprintf(text, sizeof text, "%.2f ms", value / 1e6);
  } else {
    std::snprintf(text, sizeof text, "%.2f s", value / 1e9);
  }
  return text;
}

std::string line(const std::string& count, const std::string& total, const std::string& mean,
                 const std::string& p50, const std::string& p99, const std::string& share,
                 const std::string& name) {
  char text[128];
  std::snprintf(text, sizeof text, "%10s %11s %11s %11s %11s %7s  ", count.c_str(), total.c_str(),
                mean.c_str(), p50.c_str(), p99.c_str(), share.c_str());
  return text + name + "\n";
}

std::string percent(uint64_t part, uint64_t whole) {
  char text[16];
  std::snprintf(text, sizeof text, "%.1f %%",
                whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
  return text;
}

}  // namespace

void Durations::add(uint64_t ns) {
  const size_t bucket = bucket_of(ns);
  if (bucket >= buckets_.size()) buckets_.resize(bucket + 1);
  ++buckets_[bucket];
  ++count_;
  total_ += ns;
  minimum_ = std::min(minimum_, ns);
  maximum_ = std::max(maximum_, ns);
}

uint64_t Durations::percentile(double share) const {
  if (count_ == 0) return 0;
  const double wanted = share * static_cast<double>(count_);
  uint64_t seen = 0;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    seen += buckets_[i];
    if (buckets_[i] != 0 && static_cast<double>(seen) >= wanted)
      return std::clamp(value_of(i), minimum_, maximum_);
  }
  return maximum_;
}

Durations& Statistics::of(Table table, std::string_view name) {
  auto& all = tables_[table];
  const auto found = all.find(name);
  return found != all.end() ? found->second : all.emplace(name, Durations()).first->second;
}

std::string Statistics::text(size_t rows) const {
  static constexpr const char* kTitles[] = {"calls", "kernels", "copies"};
  std::string out;
  for (size_t t = 0; t < kTables; ++t) {
    std::vector<std::pair<const std::string*, const Durations*>> sorted;
    uint64_t count = 0, total = 0;
    for (const auto& [name, durations] : tables_[t]) {
      if (durations.count() == 0) continue;
      sorted.emplace_back(&name, &durations);
      count += durations.count();
      total += durations.total();
    }
    if (sorted.empty()) continue;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.second->total() > b.second->total(); });
    if (!out.empty()) out += '\n';
    out += line("count", "total", "mean", "p50", "p99", "share", kTitles[t]);
    uint64_t shown_count = 0, shown_total = 0;
    for (size_t i = 0; i < sorted.size() && i < rows; ++i) {
      const Durations& all = *sorted[i].second;
      shown_count += all.count();
      shown_total += all.total();
      out += line(std::to_string(all.count()), duration(all.total()), duration(all.mean()),
                  duration(all.percentile(0.5)), duration(all.percentile(0.99)), percent(all.total(), total),
                  *sorted[i].first);
    }
    if (sorted.size() > rows) {
      out += line(std::to_string(count - shown_count), duration(total - shown_total), "", "", "",
                  percent(total - shown_total, total), std::to_string(sorted.size() - rows) + " others");
    }
  }
  return out;
}

}  // namespace trace
