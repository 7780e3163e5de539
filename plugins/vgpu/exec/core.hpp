// What handlers ask of the device beyond memory: its clocks, its messages, its trap handler. The scheduler
// implements it, one object for each dispatch; tests implement what they need.
//
// Threads: any worker, while one of the dispatch's waves runs on it, inside a translation scope.
#pragma once

#include <cstdint>

#include "plugins/vgpu/cp/device_bus.hpp"

namespace rigel::vgpu::images {
struct TilingConfig;
}

namespace rigel::vgpu::exec {

class GlobalDataShare;
class GlobalWaveSync;
struct Wave;

/// Sees each instruction before it is executed, where code is translated to be traced.
class Tracer {
 public:
  virtual ~Tracer() = default;
  virtual void before(Wave& wave, uint64_t pc) = 0;
};

class Core {
 public:
  virtual ~Core() = default;

  /// s_memrealtime: ticks of the reference clock, as GET_CLOCK_COUNTERS reports them.
  virtual uint64_t reference_clock() = 0;

  /// s_memtime and SHADER_CYCLES: cycles of the shader clock. Never goes backwards.
  virtual uint64_t shader_clock() = 0;

  /// s_sendmsg with an interrupt for the host: `payload` is M0's.
  virtual void send_interrupt(Wave& wave, uint32_t payload) = 0;

  /// s_icache_inv: from here on, code that was written since the dispatch began is seen.
  virtual void invalidate_instructions(Wave& wave) = 0;

  /// What TBA and TMA have: zeros if the process has no handler.
  using TrapHandler = DeviceBus::TrapHandler;
  virtual TrapHandler trap_handler() = 0;

  /// A wave takes trap `id` at `pc`, with these lanes: it is in the hands of that handler now. True: its turn
  /// ends before the handler begins, so that what the handler tells the program is not heard first.
  virtual bool trap_taken(Wave&, uint32_t /*id*/, uint64_t /*pc*/, uint64_t /*exec*/) { return false; }

  /// s_sendmsg(MSG_GET_DOORBELL): which doorbell the wave's queue has.
  virtual uint32_t doorbell_index(Wave&) { return 0; }

  /// HW_ID or HW_ID1, and HW_ID2: where the wave runs.
  virtual uint32_t hardware_id(const Wave&) { return 0; }
  virtual uint32_t hardware_id2(const Wave&) { return 0; }

  /// What tiled images are laid out by; null if the GPU does not say.
  virtual const images::TilingConfig* tiling() { return nullptr; }

  /// ds_gws_*; null if the GPU has none.
  virtual GlobalWaveSync* global_wave_sync() { return nullptr; }

  /// DS instructions with GDS; null if the GPU has none.
  virtual GlobalDataShare* global_data_share() { return nullptr; }

  /// ds_ordered_count: whether the work-groups that were started before the wave's have had their turn.
  virtual bool is_ordered_turn(Wave&) { return true; }
  /// The wave's work-group has had its turn.
  virtual void end_ordered_turn(Wave&) {}

  /// Before each instruction of code that is translated to be traced.
  virtual void trace(Wave&, uint64_t /*pc*/) {}
};

}  // namespace rigel::vgpu::exec
