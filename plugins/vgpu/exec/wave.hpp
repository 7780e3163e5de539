// A wave and its work-group, as the handlers see them. A work-group runs on one worker thread at a time, its
// waves in turns; so nothing here is shared between threads while a handler runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "plugins/vgpu/exec/micro_op.hpp"
#include "plugins/vgpu/exec/registers.hpp"

namespace rigel::vgpu::exec {

class WaveMemory;  // wave_memory.hpp: GPU addresses to host pointers, one for each worker
class Core;        // what handlers ask of the device: blocks, messages, clocks
struct WorkGroup;

/// Why a wave gave control back.
enum class Stop : uint8_t {
  kRunning,
  kBudget,    ///< Its turn is over; it goes on later.
  kBarrier,   ///< s_barrier
  kYield,     ///< It lets the other waves of its work-group go on (analysis/yield_points.hpp).
  kSleep,     ///< s_sleep, or a wait that another wave has to end
  kEnd,       ///< s_endpgm
  kFault,     ///< A memory access that failed: Wave::fault_*
  kIllegal,   ///< An instruction that cannot be executed
  kNoMemory,  ///< The host has no memory to translate the code.
  kTrap,      ///< s_trap in the trap handler
  kHalt,      ///< s_sethalt: it goes on when a debugger says so, that is, not before it is cancelled
};

struct Wave {
  const MicroOp* op = nullptr;   ///< Where to go on.
  uint64_t travelling_exec = 0;  ///< EXEC on its way from one handler to the next where both return.
  std::byte* registers = nullptr;
  WaveMemory* memory = nullptr;  ///< Of the worker that runs it; set before each turn.
  WorkGroup* group = nullptr;
  Core* core = nullptr;
  uint32_t scc = 0;          ///< 0 or 1
  uint32_t mode = 0;         ///< MODE, as the hardware lays it out
  uint32_t status = 0;       ///< STATUS, without the bits that follow from other state
  uint32_t trap_status = 0;  ///< TRAPSTS
  uint32_t raised = 0;       ///< Enabled exceptions of the instruction under way: exceptions.hpp.
  /// Instructions until the end of its turn. Counted down at the end of each block; below zero the wave
  /// leaves with kBudget at the next branch that goes back, call or return.
  int64_t budget = 0;
  Stop stop = Stop::kRunning;
  RegisterLayout layout;

  // Flat addressing. Apertures are 4 GiB each: an address whose high half equals these is LDS or scratch.
  uint32_t shared_aperture_hi = 0;
  uint32_t private_aperture_hi = 0;
  /// gfx8: SH_HIDDEN_PRIVATE_BASE_VMID, from where FLAT_SCRATCH_HI counts in units of 256 bytes. Later chips
  /// have an address in FLAT_SCRATCH. Flat and scratch accesses are swizzled from there: dword i of lane l
  /// lies at i * wave_size * 4 + l * 4.
  uint64_t scratch_base = 0;
  uint32_t scratch_lane_bytes = 0;  ///< Of scratch, that a lane may access.
  uint32_t scratch_offset = 0;      ///< Of this wave in its queue's scratch, which it starts with in an SGPR.
  uint64_t private_va = 0;          ///< Where that is. 0: the wave has no scratch.

  // Who it is: registers of the hardware and reports.
  uint32_t id_in_group = 0;
  uint64_t launched_exec = 0;  ///< EXEC at the start: lanes that exist.
  /// Rows of the ids that its lanes start with: for waves that start in compiled code.
  const uint32_t* start_ids = nullptr;

  /// ds_gws_barrier: it has arrived, and waits for this round's end. ds_gws_sema_p: not 0 if it waits.
  uint64_t sync_round = 0;

  // Why it stopped.
  uint64_t fault_va = 0;
  uint8_t fault_access = 0;  ///< vgpu::Access
  uint8_t fault_reason = 0;  ///< vgpu::FaultReason
  uint8_t trap_id = 0;
  const char* illegal_reason = nullptr;  ///< Lives as long as the block.
  bool left_in_handler = false;          ///< `op` is one that it came by before.

  uint32_t* scalars() { return reinterpret_cast<uint32_t*>(registers); }
  uint64_t exec() { return pair(126) & mask(); }
  /// One access of 64 bits, as pairs are written: two halves would wait for each other.
  uint64_t pair(uint32_t code) {
    uint64_t value;
    std::memcpy(&value, scalars() + code, sizeof value);
    return value;
  }
  uint64_t mask() const { return layout.wave_size == 64 ? ~uint64_t{0} : 0xffffffffu; }
};

/// Bytes before and behind the LDS that can be read, though no wave sees them: compiled code does, for lanes that are not active.
constexpr uint32_t kLdsMargin = 4096;

/// User SGPRs, and the ids of the work-group behind them.
constexpr uint32_t kMostStartScalars = 32 + 3;

struct WorkGroup {
  std::byte* lds = nullptr;  ///< Aligned to 64 bytes, with kLdsMargin around it.
  uint32_t lds_bytes = 0;    ///< As allocated: accesses beyond read 0 and write nothing.
  uint32_t id[3] = {};
  uint32_t place = 0;  ///< Its number in the grid, or what is left of it in 32 bits.
  /// s0 … that all its waves start with, where they have those in common: for waves that start in compiled code. Behind
  /// the last one, room for an id that no register has.
  uint32_t scalars[kMostStartScalars + 1] = {};
  Wave* waves = nullptr;
  uint32_t wave_count = 0;
  Wave* running = nullptr;  ///< Or the one that ran last.

  // The waves by what they do: bit i stands for wave i. The wave that runs, and waves that have ended, are in none of
  // the sets. A pass runs each ready wave once; waves that have yielded are ready for the next pass.
  uint32_t ready = 0;
  uint32_t yielded = 0;
  uint32_t at_barrier = 0;
  uint32_t halted = 0;

  uint32_t all_waves() const { return ~0u >> (32 - wave_count); }
  /// The waves of the next pass if there is no ready wave: those that have yielded, else all at the barrier, which
  /// every wave has reached that has not ended.
  uint32_t take_next_pass() {
    uint32_t& next = yielded != 0 ? yielded : at_barrier;
    const uint32_t pass = next;
    next = 0;
    return pass;
  }

  /// For compiled code, which goes from wave to wave by itself (wave_row.hpp).
  struct Row {
    uint32_t first = 0, end = 0;     ///< id[0] of its work-groups; `end` 0: there is none.
    uint32_t id_scalar = 0;          ///< Which of `scalars` is id[0].
    const MicroOp* begin = nullptr;  ///< Where waves begin.
    int64_t turn = 0;                ///< Wave::budget, with which each begins
    int64_t left = 0;                ///< Instructions until the worker has other things to do.
  };
  Row row;
};

/// See RIGEL_NEXT and RIGEL_NEXT_BLOCK.
inline void go_on_with(const MicroOp* op, Wave* wave, uint64_t exec) {
  wave->op = op;
  wave->travelling_exec = exec;
}

/// See RIGEL_LEAVE.
inline void leave_at(const MicroOp* op, Wave* wave) {
  wave->op = op;
}

/// Runs a wave until it stops; why is in Wave::stop.
inline void run_wave(Wave* wave) {
  wave->stop = Stop::kRunning;
  wave->travelling_exec = wave->exec();
  do {
    wave->op->handler(wave->op, wave, wave->registers, wave->travelling_exec);
  } while (wave->stop == Stop::kRunning);
}

}  // namespace rigel::vgpu::exec
