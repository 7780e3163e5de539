// The state of a wave and of its work-group, as handlers see it.
//
// Threads: a work-group and all its waves run on one worker thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "plugins/vgpu/exec/micro_op.hpp"
#include "plugins/vgpu/exec/registers.hpp"

namespace rigel::vgpu::exec {

class WaveMemory;
class Core;
class GroupChecker;
class GroupCounters;
struct GroupShape;
struct WorkGroup;

enum class Stop : uint8_t {
  kRunning,
  kBudget,     ///< End of its time slice
  kBarrier,    ///< s_barrier
  kYield,      ///< It lets the other waves of its work-group run (analysis/yield_points.hpp).
  kSleep,      ///< s_sleep, or a wait that another wave ends
  kEnd,        ///< s_endpgm
  kFault,      ///< A failed memory access; see Wave::fault_va and the fields after it
  kIllegal,    ///< An instruction that cannot be executed
  kNoMemory,   ///< The host has no memory to translate the code.
  kTrap,       ///< s_trap in the trap handler
  kUndefined,  ///< Compiled code cannot follow the undefined bits that an instruction would load.
  kHalt,       ///< s_sethalt: it stays halted until it is cancelled, since no debugger can resume it.
};

/// Which registers a wave has written, as far as compiled code of the check `init` tracks them
/// (analysis/definedness.hpp). All others count as defined.
struct DefinedRegisters {
  uint64_t rows[256];  ///< By VGPR: the lanes in which it is defined
  uint64_t scalars[2];
  uint64_t scc;  ///< Not 0: defined
};

struct Wave {
  const MicroOp* op = nullptr;   ///< The micro-operation at which it continues
  uint64_t travelling_exec = 0;  ///< EXEC for the next handler, in builds in which handlers return
  std::byte* registers = nullptr;
  WaveMemory* memory = nullptr;  ///< That of the present worker; set before each time slice
  WorkGroup* group = nullptr;
  Core* core = nullptr;
  uint32_t scc = 0;          ///< 0 or 1
  uint32_t mode = 0;         ///< MODE, in the hardware's layout
  uint32_t status = 0;       ///< STATUS, without the bits that follow from other state
  uint32_t trap_status = 0;  ///< TRAPSTS, as the program has written it
  /// Instructions until the end of the time slice, updated at the end of each block. If it is negative, the
  /// wave leaves with kBudget at the next backward branch, call or return.
  int64_t budget = 0;
  Stop stop = Stop::kRunning;
  RegisterLayout layout;

  // Flat addressing. Apertures have 4 GiB: an address with one of these upper halves is in LDS or scratch.
  uint32_t shared_aperture_hi = 0;
  uint32_t private_aperture_hi = 0;
  /// gfx8: SH_HIDDEN_PRIVATE_BASE_VMID, the base from which FLAT_SCRATCH_HI counts in units of 256 bytes. On
  /// later chips FLAT_SCRATCH holds an address. Dword i of lane l is at (i * wave_size + l) * 4.
  uint64_t scratch_base = 0;
  uint32_t scratch_lane_bytes = 0;  ///< Bytes of scratch per lane
  /// Bytes that checked compiled code accesses without a call. At most `scratch_lane_bytes`
  uint32_t exact_private_bytes = 0;
  uint32_t scratch_offset = 0;  ///< Offset in the queue's scratch; the initial value of an SGPR
  uint64_t private_va = 0;      ///< Address of the wave's scratch; 0: it has none

  // Identity, for hardware registers and reports.
  uint32_t id_in_group = 0;
  uint64_t launched_exec = 0;           ///< EXEC at the start: the lanes that exist
  DefinedRegisters* defined = nullptr;  ///< Only under the check `init`
  /// Initial rows of v0 (v1, v2): the work-items' ids. Read by compiled code that fills the registers itself.
  const uint32_t* start_ids = nullptr;

  /// ds_gws_barrier: the round in which it has arrived. ds_gws_sema_p: not 0 while it waits.
  uint64_t sync_round = 0;

  // Details of the reason for which it has stopped.
  uint64_t fault_va = 0;
  uint8_t fault_access = 0;  ///< vgpu::Access
  uint8_t fault_reason = 0;  ///< vgpu::FaultReason
  uint8_t trap_id = 0;
  const char* illegal_reason = nullptr;  ///< Lives as long as the block
  bool left_in_handler = false;          ///< A host fault ended a handler: the wave may have gone past `op`.

  uint32_t* scalars() { return reinterpret_cast<uint32_t*>(registers); }
  uint64_t exec() { return pair(126) & mask(); }
  /// Reads a register pair in one access of 64 bits, as pairs are written. Two would wait for each other.
  uint64_t pair(uint32_t code) {
    uint64_t value;
    std::memcpy(&value, scalars() + code, sizeof value);
    return value;
  }
  uint64_t mask() const { return layout.wave_size == 64 ? ~uint64_t{0} : 0xffffffffu; }
};

/// Readable bytes on both sides of a work-group's LDS. Compiled code may load them in inactive lanes; the
/// values are not used.
constexpr uint32_t kLdsMargin = 4096;

/// User SGPRs, then work-group ids.
constexpr uint32_t kMostStartScalars = 32 + 3;
/// TTMPs with ids (Traits::has_ids_in_ttmps), and their places in WorkGroup::scalars. TTMP9 has id[0]; TTMP7
/// id[1] and id[2]; TTMP8 the wave's number in the work-group, in bits 25 to 29. Source: LLVM's AMDGPUUsage.
constexpr uint32_t kTtmp7 = 115, kTtmp8 = 116, kTtmp9 = 117, kWaveNumberShift = 25;
constexpr uint32_t kScalarOfTtmp9 = kMostStartScalars, kScalarOfTtmp7 = kMostStartScalars + 1;

struct WorkGroup {
  std::byte* lds = nullptr;  ///< Aligned to 64 bytes, with kLdsMargin on both sides
  uint32_t lds_bytes = 0;    ///< Allocated size; reads past it return 0, writes do nothing
  /// Bytes that checked compiled code accesses without a call. At most `lds_bytes`
  uint32_t exact_lds_bytes = 0;
  /// Under the check `init`: the undefined bits of LDS, with the same margins. Otherwise null
  std::byte* lds_undefined = nullptr;
  uint32_t id[3] = {};
  uint32_t place = 0;  ///< The lower 32 bits of its index in the grid
  /// Initial SGPRs that all its waves share: user SGPRs, then work-group ids. Then TTMP9, on other chips a
  /// dummy for an id that the kernel does not request, and TTMP7.
  uint32_t scalars[kMostStartScalars + 2] = {};
  const GroupShape* usual_shape = nullptr;  ///< That of its launch's full work-groups
  Wave* waves = nullptr;
  uint32_t wave_count = 0;
  Wave* running = nullptr;          ///< The present wave, or the last one
  GroupChecker* checker = nullptr;  ///< Null: its waves are not checked
  /// The last barrier that a wave has reached, if the waves are checked.
  const MicroOp* barrier = nullptr;
  GroupCounters* counters = nullptr;  ///< Null: its instructions are not counted

  // Waves by state: bit i is wave i. The running wave and waves that have ended are in none of the sets. A
  // *pass* runs each ready wave once. Waves that have yielded are ready for the next pass.
  uint32_t ready = 0;
  uint32_t yielded = 0;
  uint32_t at_barrier = 0;
  uint32_t halted = 0;
  /// Split barriers (s_barrier_signal): waves that have signalled since the barrier was complete, and waves
  /// that need not wait at their next s_barrier_wait, because it was complete before.
  uint32_t signalled = 0, passed = 0;

  uint32_t all_waves() const { return ~0u >> (32 - wave_count); }
  /// Removes and returns the waves of the next pass if no wave is ready: those that have yielded, else those
  /// at the barrier, which every wave that has not ended has reached.
  uint32_t take_next_pass() {
    if (yielded == 0) signalled = 0;
    uint32_t& next = yielded != 0 ? yielded : at_barrier;
    const uint32_t pass = next;
    next = 0;
    return pass;
  }

  /// A wave batch (wave_row.hpp).
  struct Row {
    uint32_t first = 0, end = 0;     ///< Range of id[0] of its work-groups; `end` is 0 if there is no batch
    uint32_t id_scalar = 0;          ///< Index of id[0] in `scalars`
    const MicroOp* begin = nullptr;  ///< Entry point of each wave
    int64_t turn = 0;                ///< Initial Wave::budget of each wave
    int64_t left = 0;                ///< Instructions until the batch returns to the worker
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

/// Runs a wave until it stops. Wave::stop has the reason.
inline void run_wave(Wave* wave) {
  wave->stop = Stop::kRunning;
  wave->travelling_exec = wave->exec();
  do {
    wave->op->handler(wave->op, wave, wave->registers, wave->travelling_exec);
  } while (wave->stop == Stop::kRunning);
}

}  // namespace rigel::vgpu::exec
