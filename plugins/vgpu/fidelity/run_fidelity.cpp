#include "plugins/vgpu/fidelity/run_fidelity.hpp"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "api/support/process_end.hpp"
#include "loader/text/words.hpp"
#include "plugins/vgpu/fidelity/result_file.hpp"

namespace rigel::vgpu::fidelity {
namespace {

constexpr std::string_view kDegreeNames[kDegrees] = {"exact", "equivalent", "approximate", "unsupported"};
constexpr std::string_view kSetNames[] = {"isa", "aql", "pm4", "sdma", "kfd", "drm"};

// What a user counts: instructions of waves, packets of queues, ioctls.
constexpr size_t kGroups = 3, kPackets = 1, kIoctls = 2;
constexpr std::string_view kGroupNames[kGroups] = {"instructions", "packets", "ioctls"};

size_t group_of(Set set) {
  return set == Set::kIsa ? 0 : set >= Set::kKfd ? kIoctls : kPackets;
}

using Sums = std::array<std::array<uint64_t, kDegrees>, kGroups>;

Sums sums_of(const Counts& counts) {
  Sums sums{};
  for (const auto& [row, times] : counts) sums[group_of(row.set)][static_cast<size_t>(row.degree)] += times;
  return sums;
}

std::string_view name(Set set) {
  return kSetNames[static_cast<size_t>(set)];
}

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
}

int end_process() {
  RunFidelity& run = RunFidelity::of_process();
  const Options& options = run.options();
  const Counts counts = run.counts();
  // A process that does not use the GPU, such as a shell, leaves the files of others alone.
  if (counts.empty()) return 0;
  for (const Options::Output& output : options.outputs) {
    const std::string text = output.is_json ? json_of(counts) : text_of(counts);
    if (output.path.empty()) {
      print(text);
    } else if (!write_file(output.path, text)) {
      print(
          fmt::format("vgpu: error: {}: cannot write the fidelity: {}\n", output.path, std::strerror(errno)));
    }
  }
  if (!options.requires_exact || is_exact(counts)) return 0;
  if (options.outputs.empty()) print(text_of(counts));
  return kNotExactStatus;
}

}  // namespace

std::string_view name(Degree degree) {
  return kDegreeNames[static_cast<size_t>(degree)];
}

tl::expected<std::vector<Options::Output>, std::string> parse_outputs(std::string_view list) {
  std::vector<Options::Output> outputs;
  for (const std::string_view path : split(list, ',')) {
    const bool is_json = path.ends_with(".json");
    if (path == "-") {
      outputs.emplace_back();
    } else if (is_json || path.ends_with(".txt")) {
      outputs.push_back({with_process_id(std::string(path)), is_json});
    } else {
      return tl::unexpected(
          fmt::format("{}: unknown format; use a name that ends in .txt or .json, or -", in_quotes(path)));
    }
  }
  return outputs;
}

Options Options::from_environment() {
  Options options;
  const char* const outputs = secure_getenv("VGPU_RUN_FIDELITY");
  if (outputs != nullptr) options.outputs = parse_outputs(outputs).value_or(std::vector<Output>());
  const char* const degree = secure_getenv("VGPU_REQUIRE");
  options.requires_exact = degree != nullptr && std::string_view(degree) == "exact";
  return options;
}

RunFidelity& RunFidelity::of_process() {
  static RunFidelity* const run = [] {
    auto* const created = new RunFidelity(Options::from_environment());
    if (created->is_on()) {
      add_end_function(end_process);
      pthread_atfork(nullptr, nullptr, [] { of_process().forget(); });
    }
    return created;
  }();
  return *run;
}

void RunFidelity::count(Set set, std::string_view name, Degree degree, std::string_view note,
                        uint64_t times) {
  if (!is_on_ || times == 0) return;
  const MutexLock lock(mutex_);
  counts_[{set, std::string(name), degree, std::string(note)}] += times;
}

Counts RunFidelity::counts() {
  const MutexLock lock(mutex_);
  return counts_;
}

void RunFidelity::forget() {
  // Another thread may have held the lock during fork().
  new (&mutex_) Mutex;
  const MutexLock lock(mutex_);
  counts_.clear();
}

bool is_exact(const Counts& counts) {
  for (const auto& [row, times] : counts) {
    if (group_of(row.set) != kIoctls && row.degree > Degree::kEquivalent) return false;
  }
  return true;
}

std::string text_of(const Counts& counts) {
  std::string text = is_exact(counts) ? "fidelity: exact\n" : "fidelity: not exact\n";
  const Sums sums = sums_of(counts);
  for (size_t group = 0; group < kGroups; ++group) {
    text += fmt::format("  {:<13}", kGroupNames[group]);
    for (size_t degree = 0; degree < kDegrees; ++degree)
      text += fmt::format("{} {} {}", degree == 0 ? "" : ",", sums[group][degree], kDegreeNames[degree]);
    text += '\n';
  }
  for (size_t degree = kDegrees; degree-- > 1;) {
    for (const auto& [row, times] : counts) {
      if (static_cast<size_t>(row.degree) != degree) continue;
      text += fmt::format("  {:<13} {} {} {}{}{}\n", kDegreeNames[degree], times, name(row.set), row.name,
                          row.note.empty() ? "" : ": ", row.note);
    }
  }
  return text;
}

std::string json_of(const Counts& counts) {
  nlohmann::ordered_json document = {{"version", 1}, {"is_exact", is_exact(counts)}};
  const Sums sums = sums_of(counts);
  for (size_t group = 0; group < kGroups; ++group) {
    nlohmann::ordered_json& of_group = document[std::string(kGroupNames[group])];
    for (size_t degree = 0; degree < kDegrees; ++degree)
      of_group[std::string(kDegreeNames[degree])] = sums[group][degree];
  }
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const auto& [row, times] : counts) {
    rows.push_back({{"set", name(row.set)},
                    {"name", row.name},
                    {"fidelity", name(row.degree)},
                    {"times", times},
                    {"note", row.note}});
  }
  document["executed"] = std::move(rows);
  return document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace rigel::vgpu::fidelity
