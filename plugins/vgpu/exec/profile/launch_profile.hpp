// The counts of one launch. Workers add the counts of a work-group after each slice of execution, before they
// report that it has ended; finish() adds the sum to the profile of the process.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "api/support/mutex.hpp"
#include "plugins/vgpu/cp/device_bus.hpp"
#include "plugins/vgpu/cp/dispatch.hpp"
#include "plugins/vgpu/exec/profile/counters.hpp"
#include "plugins/vgpu/exec/profile/group_sampler.hpp"
#include "plugins/vgpu/exec/profile/launch_samples.hpp"
#include "plugins/vgpu/exec/profile/memory_counter.hpp"

namespace rigel::vgpu::exec {

class Launch;
class TranslatedCode;

class LaunchProfile {
 public:
  /// What a launch is counted for.
  struct Purpose {
    bool profile = false;     ///< The profile of the process
    bool memory = false;      ///< With lines, LDS conflicts and scratch
    bool events = false;      ///< Performance counters
    bool lds_events = false;  ///< With the cycles of LDS
    bool fidelity = false;    ///< The fidelity of the run
    PcSampling sampling{};    ///< Samples of program counters

    bool is_any() const { return profile || events || fidelity || sampling.interval != 0; }
  };
  /// Returns the purpose of a new launch. Call once for each.
  static Purpose purpose_of(const Dispatch& dispatch, DeviceBus& bus);

  explicit LaunchProfile(Purpose purpose);

  bool counts_memory() const { return purpose_.memory || purpose_.lds_events; }
  const PcSampling& sampling() const { return purpose_.sampling; }

  /// Adds the counts of a work-group and clears them. Throws std::bad_alloc.
  void add(GroupCounters& counters);
  void add(const MemoryCounter::Counts& counts);
  /// Adds the samples of work-groups, and clears them.
  void add(GroupSampler& sampler);

  /// Passes the counts on: to the profile of the process if that is wanted, and as events in `result` if the
  /// dispatch requests them. Call once, after all work-groups have ended and before the launch is completed,
  /// because its code may be unloaded then.
  void finish(const Launch& launch, TranslatedCode& code, DeviceBus& bus, DispatchResult& result) noexcept;

 private:
  using Counts = std::vector<std::pair<uint64_t, profile::Count>>;  // by address of the instruction

  Counts counts_of(TranslatedCode& code);
  void pass_on_samples(const Launch& launch, DeviceBus& bus);
  void add_to_profile(const Counts& counts, const Launch& launch, TranslatedCode& code, DeviceBus& bus);
  void add_to_fidelity(const Counts& counts, TranslatedCode& code, DeviceBus& bus);
  WaveEvents events_of(const Counts& counts, const Launch& launch, TranslatedCode& code, DeviceBus& bus);

  const Purpose purpose_;
  const int64_t begin_ns_;
  Mutex mutex_;
  std::vector<profile::Count> counts_ RIGEL_GUARDED_BY(mutex_);  // by index of CountedPlaces
  MemoryCounter::Counts memory_ RIGEL_GUARDED_BY(mutex_);
  LaunchSamples samples_ RIGEL_GUARDED_BY(mutex_);
  bool is_incomplete_ RIGEL_GUARDED_BY(mutex_) = false;
};

}  // namespace rigel::vgpu::exec
