#include "plugins/vgpu/profile/profile.hpp"

#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include <fmt/core.h>

#include "api/support/process_end.hpp"
#include "plugins/vgpu/fidelity/result_file.hpp"

namespace rigel::vgpu::profile {
namespace {

constexpr std::string_view kNames[kKinds] = {"valu",   "mfma",  "salu", "smem",   "load",    "store",
                                             "atomic", "image", "lds",  "branch", "barrier", "other"};

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
}

std::string contents_of(Format format, const std::vector<Kernel>& kernels, const Options& options) {
  switch (format) {
    case Format::kTable:
      return table_of(kernels);
    case Format::kJson:
      return json_of(kernels);
    case Format::kCallgrind:
      return callgrind_of(kernels, options.program);
    case Format::kLcov:
      return lcov_of(kernels);
    case Format::kFolded:
      return folded_of(kernels);
    case Format::kPerfetto:
      return perfetto_of(Profile::of_process().samples());
  }
  return {};
}

void add_to(Summary& sum, const Instruction& instruction, const Count& count) {
  sum.instructions += count.times;
  sum.by_kind[static_cast<size_t>(instruction.kind)] += count.times;
  switch (instruction.kind) {
    case Kind::kVector:
    case Kind::kMatrix:
      sum.lanes_of_vector += count.lanes;
      break;
    case Kind::kDataShare:
      sum.lds_bytes += count.lanes * (uint64_t{instruction.read_bytes} + instruction.written_bytes);
      break;
    case Kind::kScalarMemory:
      sum.read_bytes += count.times * instruction.read_bytes;
      sum.written_bytes += count.times * instruction.written_bytes;
      break;
    default: {
      const uint64_t elements = instruction.is_block ? count.block_dwords : count.lanes;
      sum.read_bytes += elements * instruction.read_bytes;
      sum.written_bytes += elements * instruction.written_bytes;
      break;
    }
  }
}

int end_process() {
  Profile& profile = Profile::of_process();
  const Options& options = profile.options();
  const std::vector<Kernel> kernels = profile.kernels();
  // A process without kernels, such as a shell, leaves the files of others alone.
  if (kernels.empty()) return 0;
  for (const Output& output : options.outputs) {
    const std::string text = contents_of(output.format, kernels, options);
    if (output.path.empty()) {
      print(text);
    } else if (!write_file(output.path, text)) {
      print(
          fmt::format("vgpu: error: {}: cannot write the profile: {}\n", output.path, std::strerror(errno)));
    }
  }
  if (options.against.empty()) return 0;
  std::ifstream file(options.against, std::ios::binary);
  const std::string json{std::istreambuf_iterator<char>(file), {}};
  const Comparison comparison = compare(kernels, json, options.against);
  print(comparison.text);
  return comparison.grew || !comparison.is_valid ? kGrewStatus : 0;
}

}  // namespace

std::string_view name(Kind kind) {
  return kNames[static_cast<size_t>(kind)];
}

double Summary::active_lanes(uint32_t wave_size) const {
  const uint64_t waves = of(Kind::kVector) + of(Kind::kMatrix);
  if (waves == 0 || wave_size == 0) return 0;
  return static_cast<double>(lanes_of_vector) / (static_cast<double>(waves) * wave_size);
}

Summary summary_of(const Kernel& kernel) {
  Summary sum;
  for (const auto& [offset, counted] : kernel.instructions) {
    add_to(sum, counted.instruction, counted.count);
    sum.memory += counted.memory;
  }
  return sum;
}

Profile& Profile::of_process() {
  static Profile* const profile = [] {
    auto* const created = new Profile(Options::from_environment());
    if (created->options().is_on()) {
      add_end_function(end_process);
      pthread_atfork(nullptr, nullptr, [] { of_process().forget(); });
    }
    return created;
  }();
  return *profile;
}

void Profile::add(const Launch& launch, const std::function<Instruction(int64_t offset)>& describe) {
  const MutexLock lock(mutex_);
  Kernel& kernel = kernels_[launch.kernel];
  kernel.name = launch.kernel;
  kernel.resources = launch.resources;
  kernel.totals.launches += launch.totals.launches;
  kernel.totals.work_groups += launch.totals.work_groups;
  kernel.totals.waves += launch.totals.waves;
  kernel.totals.work_items += launch.totals.work_items;
  kernel.totals.nanoseconds += launch.totals.nanoseconds;
  Sample sample{launch.begin_time, launch.end_time, launch.resources.wave_size, {}};
  for (const auto& [offset, count] : launch.counts) {
    const auto [found, is_new] = kernel.instructions.try_emplace(offset);
    if (is_new) found->second.instruction = describe(offset);
    found->second.count.times += count.times;
    found->second.count.lanes += count.lanes;
    found->second.count.block_dwords += count.block_dwords;
    add_to(sample.sum, found->second.instruction, count);
  }
  if (options_.writes(Format::kPerfetto)) samples_.push_back(sample);
  kernel.has_memory_counts |= launch.has_memory_counts;
  for (const auto& [offset, memory] : launch.memory) {
    const auto found = kernel.instructions.find(offset);
    if (found != kernel.instructions.end()) found->second.memory += memory;
  }
}

bool Profile::knows(const std::string& kernel) {
  const MutexLock lock(mutex_);
  return kernels_.contains(kernel);
}

std::vector<Kernel> Profile::kernels() {
  std::vector<std::pair<uint64_t, Kernel>> sorted;
  {
    const MutexLock lock(mutex_);
    for (const auto& [name, kernel] : kernels_) sorted.emplace_back(summary_of(kernel).instructions, kernel);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Kernel> kernels;
  for (auto& [instructions, kernel] : sorted) kernels.push_back(std::move(kernel));
  return kernels;
}

std::vector<Sample> Profile::samples() {
  const MutexLock lock(mutex_);
  return samples_;
}

void Profile::forget() {
  // Another thread may have held the lock during fork().
  new (&mutex_) Mutex;
  const MutexLock lock(mutex_);
  kernels_.clear();
  samples_.clear();
  launches_ = 0;
}

}  // namespace rigel::vgpu::profile
