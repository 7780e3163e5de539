// The performance counters of a GPU, as PM4 programs them: the sixteen counters of the sequencers (SQ).
// Counters of other blocks measure times and caches; their registers are storage and read 0.
//
// CP_PERFMON_CNTL resets, starts and stops all counters. SQ_PERFCOUNTERn_SELECT selects an event for a
// counter of all shader engines. SQ_PERFCOUNTERn_LO and _HI read the counter of the shader engine that
// GRBM_GFX_INDEX selects. A dispatch counts if the counters run when it starts and COMPUTE_PERFCOUNT_ENABLE
// of its queue is set.
//
// Shader engines: the sum of a counter over all engines is exact. The events of a dispatch are divided evenly
// among the engines, because waves are not placed in time.
//
// From gfx11 on, each work-group processor has eight counters: SELECT register 2 n belongs to counter n.
// GRBM_GFX_INDEX also selects the array and, in bits 7:2, the processor. Those of an engine share its events
// evenly.
//
// Sources: gc_9_2_1_offset.h, gc_10_3_0_offset.h, gc_11_0_0_offset.h, vega10_enum.h, navi10_enum.h,
// soc21_enum.h, soc24_enum.h (SQ_PERF_SEL), rocprofiler's basic_counters.xml, and the order of packets of
// AMD's aqlprofile (pmc_builder.h).
//
// *Threads:* any.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "api/support/mutex.hpp"
#include "plugins/vgpu/cp/dialect.hpp"
#include "plugins/vgpu/cp/wave_events.hpp"

namespace rigel::vgpu {

/// Returns the event with a number of SQ_PERF_SEL, or nothing if the virtual GPU cannot count it.
std::optional<WaveEvent> sequencer_event(SequencerEvents numbers, uint32_t number);

class PerformanceCounters {
 public:
  /// Numbers of units with separate counters.
  struct Units {
    uint32_t dies = 1;
    uint32_t engines = 1;     ///< Of a die
    uint32_t arrays = 1;      ///< Of an engine
    uint32_t processors = 1;  ///< Work-group processors of an array
  };

  PerformanceCounters(SequencerEvents numbers, const Units& units) : numbers_(numbers), units_(units) {}

  /// Whether a register has an effect on counters, or is one. Its address is in dwords.
  static bool has_register(uint32_t address);
  /// Writes such a register. Returns the number of a selected event that cannot be counted.
  std::optional<uint32_t> write(uint32_t address, uint32_t value);
  /// `die`: the die that reads. On a GPU of several dies, packets select it (PRED_EXEC).
  uint32_t read(uint32_t address, uint32_t die = 0) const;

  bool is_running() const;
  /// Adds the events of a dispatch, also if the counters have been stopped since it started.
  void add(const WaveEvents& events);

 private:
  static constexpr uint32_t kCounters = 16;

  bool counts_processors() const { return numbers_ >= SequencerEvents::kNavi3; }
  uint64_t value(uint32_t counter, uint32_t die) const RIGEL_REQUIRES(mutex_);
  uint64_t share_of_processors(uint64_t of_engine) const RIGEL_REQUIRES(mutex_);

  const SequencerEvents numbers_;
  const Units units_;
  mutable Mutex mutex_;
  bool is_running_ RIGEL_GUARDED_BY(mutex_) = false;
  uint32_t control_ RIGEL_GUARDED_BY(mutex_) = 0;
  uint32_t index_ RIGEL_GUARDED_BY(mutex_) = 0;  // GRBM_GFX_INDEX
  std::array<uint32_t, kCounters> selected_ RIGEL_GUARDED_BY(mutex_){};
  WaveEvents events_ RIGEL_GUARDED_BY(mutex_);
};

}  // namespace rigel::vgpu
