// Services of the device that handlers use besides memory: clocks, messages, the trap handler. Launch
// implements it, one object per dispatch.
//
// Threads: any worker that runs a wave of the dispatch, inside a translation scope.
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

/// Receives each instruction before it is executed (CodeKey::traced).
class Tracer {
 public:
  virtual ~Tracer() = default;
  virtual void before(Wave& wave, uint64_t pc) = 0;
};

class Core {
 public:
  virtual ~Core() = default;

  /// s_memrealtime: ticks of the reference clock that GET_CLOCK_COUNTERS reports.
  virtual uint64_t reference_clock() = 0;

  /// s_memtime and SHADER_CYCLES: cycles of the shader clock. Never goes backwards.
  virtual uint64_t shader_clock() = 0;

  /// s_sendmsg(MSG_INTERRUPT): interrupts the host. `payload` is M0.
  virtual void send_interrupt(Wave& wave, uint32_t payload) = 0;

  /// s_icache_inv: waves execute code that has been stored since the dispatch started.
  virtual void invalidate_instructions(Wave& wave) = 0;

  /// Returns TBA and TMA: zeros if the process has no trap handler.
  using TrapHandler = DeviceBus::TrapHandler;
  virtual TrapHandler trap_handler() = 0;

  /// A wave has taken trap `id` at `pc` and will run the trap handler. Returns true if its time slice must
  /// end first, so that the trap is reported before the handler notifies the program.
  virtual bool trap_taken(Wave&, uint32_t /*id*/, uint64_t /*pc*/, uint64_t /*exec*/) { return false; }

  /// The wave has set bits of EXCP_EN in MODE.
  virtual void exceptions_enabled(Wave&) {}

  /// s_sendmsg(MSG_GET_DOORBELL): the doorbell index of the wave's queue.
  virtual uint32_t doorbell_index(Wave&) { return 0; }

  /// HW_ID or HW_ID1, and HW_ID2: compute unit and wave slot.
  virtual uint32_t hardware_id(const Wave&) { return 0; }
  virtual uint32_t hardware_id2(const Wave&) { return 0; }

  /// The layout parameters of tiled images; null if the GPU does not define them.
  virtual const images::TilingConfig* tiling() { return nullptr; }

  /// ds_gws_*; null if the GPU has none.
  virtual GlobalWaveSync* global_wave_sync() { return nullptr; }

  /// DS instructions with GDS; null if the GPU has none.
  virtual GlobalDataShare* global_data_share() { return nullptr; }

  /// ds_ordered_count: whether all earlier work-groups have completed their ordered count.
  virtual bool is_ordered_turn(Wave&) { return true; }
  /// The wave's work-group has completed its ordered count.
  virtual void end_ordered_turn(Wave&) {}

  virtual void trace(Wave&, uint64_t /*pc*/) {}
};

}  // namespace rigel::vgpu::exec
