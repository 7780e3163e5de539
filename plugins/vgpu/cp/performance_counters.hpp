// The performance counters of a GPU, as PM4 programs them: those of the sequencers (SQ), the texture
// addressers (TA) and the launchers of waves (SPI). Counters of other blocks measure times and caches; their
// registers are storage and read 0.
//
// CP_PERFMON_CNTL resets, starts and stops all counters. A SELECT register selects an event for a counter. LO
// and HI registers read the counter of the shader engine that GRBM_GFX_INDEX selects. A dispatch counts if
// the counters run when it starts and COMPUTE_PERFCOUNT_ENABLE of its queue is set.
//
// Shader engines: the sum of a counter over all engines is exact. The events of a dispatch are divided evenly
// among the engines, because waves are not placed in time.
//
// From gfx11 on, each work-group processor has eight counters of SQ: SELECT register 2 n belongs to counter
// n. GRBM_GFX_INDEX also selects the array and, in bits 7:2, the processor. Those of an engine share its
// events evenly.
//
// Each compute unit has an addresser with two counters and its own SELECT registers; the addressers of an
// engine share its events evenly. INSTANCE_INDEX of GRBM_GFX_INDEX selects it: by its number in the array, on
// gfx12 by the processor in bits 7:2 and the unit of the processor in bits 1:0. Reads with broadcast add the
// counters up.
//
// SPI: all pipes of compute count, whatever SPI_DEBUG_CNTL selects.
//
// Sources: gc_9_2_1_offset.h, gc_10_3_0_offset.h, gc_11_0_0_offset.h, gc_12_0_0_offset.h, gfx_8_0_enum.h,
// vega10_enum.h, navi10_enum.h, soc21_enum.h, soc24_enum.h, counter_defs.yaml of rocprofiler-sdk, and the
// order of packets of AMD's aqlprofile (pmc_builder.h).
//
// *Threads:* any.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "api/support/mutex.hpp"
#include "plugins/vgpu/cp/dialect.hpp"
#include "plugins/vgpu/cp/wave_events.hpp"

namespace rigel::vgpu {

/// A kind of block that counts.
enum class CounterBlock : uint8_t { kSequencer, kAddresser, kLauncher };

/// Returns the event with a number of a block, or nothing if the virtual GPU cannot count it.
std::optional<WaveEvent> counted_event(EventNumbers numbers, CounterBlock block, uint32_t number);

/// An event that a program selects and that cannot be counted.
struct UnknownEvent {
  std::string_view block;  ///< A block of AMD's headers, or several at one address; static
  uint32_t number;

  bool operator==(const UnknownEvent&) const = default;
};

class PerformanceCounters {
 public:
  /// Numbers of units with separate counters.
  struct Units {
    uint32_t dies = 1;
    uint32_t engines = 1;        ///< Of a die
    uint32_t arrays = 1;         ///< Of an engine
    uint32_t processors = 1;     ///< Work-group processors of an array
    uint32_t compute_units = 1;  ///< Of an array
  };

  PerformanceCounters(EventNumbers numbers, const Units& units) : numbers_(numbers), units_(units) {}

  /// Whether a register has an effect on counters, or is one. Its address is in dwords.
  static bool has_register(uint32_t address);
  /// Writes such a register. Returns an event that cannot be counted if the register selects one.
  std::optional<UnknownEvent> write(uint32_t address, uint32_t value);
  /// `die`: the die that reads. On a GPU of several dies, packets select it (PRED_EXEC).
  uint32_t read(uint32_t address, uint32_t die = 0) const;

  /// Returns the event that a write to a SELECT register of another block selects, or nothing.
  static std::optional<UnknownEvent> selected_elsewhere(uint32_t address, uint32_t value);

  bool is_running() const;
  /// Whether an event of needs_lds_counts() has been selected since the last reset. Profilers select events
  /// between a reset and the start; they leave the SELECT registers of unused counters as they were.
  bool selects_lds() const;
  /// Adds the events of a dispatch, also if the counters have been stopped since it started.
  void add(const WaveEvents& events);

 private:
  static constexpr uint32_t kSequencerCounters = 16, kLauncherRegisters = 10, kInstances = 256;
  /// SELECT registers of an addresser; the second and fourth extend the one before them.
  using AddresserSelects = std::array<uint32_t, 4>;

  bool counts_processors() const { return numbers_ >= EventNumbers::kNavi3; }
  std::optional<WaveEvent> event_of_sequencer(uint32_t counter) const RIGEL_REQUIRES(mutex_);
  std::optional<WaveEvent> event_of_launcher(uint32_t counter) const RIGEL_REQUIRES(mutex_);
  std::optional<UnknownEvent> select(CounterBlock block, uint32_t value) const;
  uint64_t of_engine(WaveEvent event, uint32_t die) const RIGEL_REQUIRES(mutex_);
  uint64_t of_sequencer(uint32_t counter, uint32_t die) const RIGEL_REQUIRES(mutex_);
  uint64_t of_addressers(uint32_t counter, uint32_t die) const RIGEL_REQUIRES(mutex_);
  uint64_t of_launcher(uint32_t counter, uint32_t die) const RIGEL_REQUIRES(mutex_);
  uint64_t share_of_processors(uint64_t of_engine) const RIGEL_REQUIRES(mutex_);
  bool selects_array(uint32_t array) const RIGEL_REQUIRES(mutex_);
  uint32_t instance_of_unit(uint32_t unit) const;

  const EventNumbers numbers_;
  const Units units_;
  mutable Mutex mutex_;
  bool is_running_ RIGEL_GUARDED_BY(mutex_) = false;
  uint32_t control_ RIGEL_GUARDED_BY(mutex_) = 0;
  uint32_t index_ RIGEL_GUARDED_BY(mutex_) = 0;                 // GRBM_GFX_INDEX
  uint32_t selected_since_reset_ RIGEL_GUARDED_BY(mutex_) = 0;  // bit: SELECT register of a sequencer
  // Values of SELECT registers.
  std::array<uint32_t, kSequencerCounters> sequencer_selects_ RIGEL_GUARDED_BY(mutex_){};
  std::array<uint32_t, kLauncherRegisters> launcher_selects_ RIGEL_GUARDED_BY(mutex_){};
  std::vector<AddresserSelects> addresser_selects_ RIGEL_GUARDED_BY(mutex_) =
      std::vector<AddresserSelects>(kInstances);
  WaveEvents events_ RIGEL_GUARDED_BY(mutex_);
};

}  // namespace rigel::vgpu
