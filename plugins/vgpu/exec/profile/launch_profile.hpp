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

namespace rigel::vgpu::exec {

class Launch;
class TranslatedCode;

class LaunchProfile {
 public:
  LaunchProfile();

  /// Whether the user wants a profile of a dispatch's kernel.
  static bool is_wanted(const Dispatch& dispatch, DeviceBus& bus);

  /// Adds the counts of a work-group and clears them. Throws std::bad_alloc.
  void add(GroupCounters& counters);

  /// Passes the counts on: to the profile of the process if that is wanted, and as events in `result` if the
  /// dispatch requests them. Call once, after all work-groups have ended and before the launch is completed,
  /// because its code may be unloaded then.
  void finish(const Launch& launch, TranslatedCode& code, DeviceBus& bus, DispatchResult& result) noexcept;

 private:
  using Counts = std::vector<std::pair<uint64_t, profile::Count>>;  // by address of the instruction

  Counts counts_of(TranslatedCode& code);
  void add_to_profile(const Counts& counts, const Launch& launch, TranslatedCode& code, DeviceBus& bus);
  WaveEvents events_of(const Counts& counts, const Launch& launch, TranslatedCode& code, DeviceBus& bus);

  const int64_t begin_ns_;
  Mutex mutex_;
  std::vector<profile::Count> counts_ RIGEL_GUARDED_BY(mutex_);  // by index of CountedPlaces
  bool is_incomplete_ RIGEL_GUARDED_BY(mutex_) = false;
};

}  // namespace rigel::vgpu::exec
