#include "plugins/vgpu/check/findings.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <fmt/core.h>

#include "api/support/process_end.hpp"

namespace rigel::vgpu::check {
namespace {

int end_process() {
  Findings& findings = Findings::of_process();
  findings.end();
  return findings.errors() == 0 ? 0 : findings.options().exit_status;
}

std::string times(uint64_t kinds, uint64_t count) {
  return count > kinds ? fmt::format(" (found {} times)", count) : std::string();
}

}  // namespace

Findings::Findings(Options options)
    : options_(std::move(options)), suppressions_(options_.suppressions), output_(make_output(options_)) {}

Findings& Findings::of_process() {
  static Findings* const findings = [] {
    auto* const created = new Findings(Options::from_environment());
    if (created->options().tools != 0) {
      add_end_function(end_process);
      pthread_atfork(nullptr, nullptr, [] { of_process().forget(); });
    }
    return created;
  }();
  return *findings;
}

bool Findings::count(const Kind& kind, Severity severity) {
  if (output_ == nullptr) return false;
  const MutexLock lock(mutex_);
  const auto [found, is_new] = kinds_.try_emplace(kind, Count{severity, 0});
  ++found->second.times;
  if (!is_new) return false;
  // Only a description shows whether a finding is suppressed.
  if (reported_ < options_.limit || !suppressions_.empty()) return true;
  ++over_limit_;
  return false;
}

void Findings::add(const Finding& finding, DeviceBus& bus, uint32_t queue_id) {
  {
    const MutexLock lock(mutex_);
    const auto used = std::find_if(suppressions_.begin(), suppressions_.end(),
                                   [&](const Suppression& each) { return matches(each, finding); });
    if (used != suppressions_.end()) {
      ++used->uses;
      if (const auto counted = kinds_.find(finding.kind); counted != kinds_.end())
        counted->second.is_suppressed = true;
      return;
    }
    if (reported_ == options_.limit) {
      ++over_limit_;
      return;
    }
    ++reported_;
  }
  if (output_ != nullptr) output_->add(finding, bus, queue_id);
}

void Findings::note_unchecked(std::string_view text) {
  const MutexLock lock(mutex_);
  if (std::find(unchecked_.begin(), unchecked_.end(), text) == unchecked_.end())
    unchecked_.emplace_back(text);
}

Summary Findings::summary() {
  const MutexLock lock(mutex_);
  enum Row { kErrors, kWarnings, kSuppressed, kRows };
  uint64_t kinds[kRows] = {}, counts[kRows] = {};
  for (const auto& [kind, count] : kinds_) {
    const Row row = count.is_suppressed                  ? kSuppressed
                    : count.severity == Severity::kError ? kErrors
                                                         : kWarnings;
    ++kinds[row];
    counts[row] += count.times;
  }
  const auto part = [&](Row row, std::string_view singular, std::string_view plural) {
    return fmt::format("{} {}{}", kinds[row], kinds[row] == 1 ? singular : plural,
                       times(kinds[row], counts[row]));
  };
  std::string tools;
  for (uint32_t i = 0; i < kTools; ++i) {
    if (!options_.has(static_cast<Tool>(i))) continue;
    tools.append(tools.empty() ? "" : ", ").append(check::name(static_cast<Tool>(i)));
  }
  Summary summary;
  summary.findings = fmt::format("{}, {} by {}", part(kErrors, "error", "errors"),
                                 part(kWarnings, "warning", "warnings"), tools);
  for (const auto& [kind, count] : kinds_) summary.counts.emplace_back(kind, count.times);
  auto& notes = summary.notes;
  if (kinds[kSuppressed] != 0)
    notes.push_back(part(kSuppressed, "suppressed finding", "suppressed findings"));
  for (const Suppression& each : suppressions_) {
    if (each.uses == 0) notes.push_back(fmt::format("unused suppression: {}: {}", each.position, each.text));
  }
  if (over_limit_ != 0)
    notes.push_back(
        fmt::format("findings over the limit, which were not printed: {}; use --check-limit", over_limit_));
  if (launches_ == 0) notes.emplace_back("not checked: the process has launched no kernels");
  if (const uint64_t count = unselected_launches_; count != 0) {
    notes.push_back(
        fmt::format("not checked: {} of {} launches, which --check-kernel or --check-launch leaves out",
                    count, launches_.load()));
  }
  for (const std::string& part_of_program : unchecked_)
    notes.push_back(fmt::format("not checked: {}", part_of_program));
  return summary;
}

uint64_t Findings::errors() {
  const MutexLock lock(mutex_);
  return static_cast<uint64_t>(std::count_if(kinds_.begin(), kinds_.end(), [](const auto& entry) {
    return entry.second.severity == Severity::kError && !entry.second.is_suppressed;
  }));
}

void Findings::end() {
  if (output_ != nullptr) output_->end(summary());
}

void Findings::forget() {
  // Another thread may have held the lock during fork().
  new (&mutex_) Mutex;
  const MutexLock lock(mutex_);
  kinds_.clear();
  unchecked_.clear();
  suppressions_ = options_.suppressions;
  reported_ = over_limit_ = 0;
  launches_ = unselected_launches_ = 0;
  output_ = options_.only_process == 0 ? make_output(options_) : nullptr;
}

}  // namespace rigel::vgpu::check
