// The profile of a kernel: its launches, and the number of times that each instruction was executed.
//
// Counts are exact and depend only on the code and its input. They do not depend on the machine, the number
// of threads or the schedule, unless the program's waves wait for each other in loops.
//
// Threads: one per object.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rigel::vgpu::profile {

/// Kind of an instruction. Hardware's counters SQ_INSTS_* divide instructions in a similar way.
enum class Kind : uint8_t {
  kVector,        ///< VALU, interpolation included
  kMatrix,        ///< MFMA, and moves to and from accumulation registers
  kScalar,        ///< SALU
  kScalarMemory,  ///< SMEM, caches included
  kLoad,          ///< Vector memory
  kStore,
  kAtomic,
  kImage,
  kDataShare,  ///< LDS and GDS, lane permutations included
  kBranch,
  kBarrier,
  kOther,  ///< Waits, messages, exports, ends
};
constexpr size_t kKinds = 12;

/// "valu", "mfma", "salu", "smem", "load", "store", "atomic", "image", "lds", "branch", "barrier", "other".
std::string_view name(Kind kind);

struct Position {
  std::string function;  ///< Demangled; empty: unknown
  std::string file;
  int line = 0;  ///< 0: unknown
};

/// Constant properties of an instruction.
struct Instruction {
  Kind kind = Kind::kOther;
  std::string text;                 ///< Assembly text of the instruction
  uint32_t read_bytes = 0;          ///< Read from memory for each active lane; SMEM: for each wave
  uint32_t written_bytes = 0;       ///< Written to memory for each active lane
  std::string_view approximation;   ///< How the result may differ from hardware's; empty: it is exact. Static
  std::vector<Position> positions;  ///< Innermost first, then those that it was inlined into; empty: unknown
  bool is_block = false;            ///< The bytes are those of one register: see Count::block_dwords
};

struct Count {
  uint64_t times = 0;         ///< Waves that have executed it
  uint64_t lanes = 0;         ///< Sum of their active lanes
  uint64_t block_dwords = 0;  ///< Blocks: dwords that these lanes have moved
};

/// Memory that the executions of an instruction have moved. Counted only on request (Options::memory).
struct MemoryCount {
  uint64_t lines_read = 0;  ///< 64-byte lines, before caches; each execution by a wave counts its own
  uint64_t lines_written = 0;
  uint64_t lds_cycles = 0;     ///< By the model of exec/profile/memory_counter.hpp; conflicts included
  uint64_t lds_conflicts = 0;  ///< Cycles beyond those of accesses without conflicts
  uint64_t scratch_bytes = 0;  ///< Read or written in scratch

  MemoryCount& operator+=(const MemoryCount& other) {
    lines_read += other.lines_read;
    lines_written += other.lines_written;
    lds_cycles += other.lds_cycles;
    lds_conflicts += other.lds_conflicts;
    scratch_bytes += other.scratch_bytes;
    return *this;
  }
};

struct CountedInstruction {
  Instruction instruction;
  Count count;
  MemoryCount memory;
};

/// Waves of a kernel that a compute unit, or a pair of them in WGP mode, can hold at once.
struct Occupancy {
  uint32_t waves = 0;
  uint32_t simds = 0;
  uint32_t max_waves = 0;  ///< Of a SIMD, for any kernel
  std::string_view limit;  ///< The resource that limits them; empty: only `max_waves`. Static

  double waves_of_simd() const { return simds == 0 ? 0 : static_cast<double>(waves) / simds; }
};

/// Resources of a kernel.
struct Resources {
  uint32_t wave_size = 0;
  uint32_t vgprs = 0;          ///< Allocated to each lane, AGPRs included
  uint32_t sgprs = 0;          ///< Allocated to each wave
  uint32_t lds_bytes = 0;      ///< LDS of each work-group
  uint32_t private_bytes = 0;  ///< Scratch of each work-item
  Occupancy occupancy;         ///< Of the latest launch
};

/// Totals of launches.
struct Totals {
  uint64_t launches = 0;
  uint64_t work_groups = 0;
  uint64_t waves = 0;
  uint64_t work_items = 0;
  uint64_t nanoseconds = 0;  ///< Sum of the launches' times from start to end, on this machine
};

struct Kernel {
  std::string name;
  Resources resources;
  Totals totals;
  bool has_memory_counts = false;
  /// By offset from the kernel's entry, in bytes. Functions may have negative offsets.
  std::map<int64_t, CountedInstruction> instructions;
};

/// Sums over a kernel's instructions.
struct Summary {
  uint64_t instructions = 0;
  std::array<uint64_t, kKinds> by_kind{};
  uint64_t lanes_of_vector = 0;  ///< Sum of the active lanes of Kind::kVector and Kind::kMatrix
  uint64_t read_bytes = 0;       ///< Bytes read by loads, atomics and scalar loads, before caches
  uint64_t written_bytes = 0;    ///< Bytes written by stores and atomics
  uint64_t lds_bytes = 0;        ///< Read and written in LDS
  MemoryCount memory;

  uint64_t of(Kind kind) const { return by_kind[static_cast<size_t>(kind)]; }
  /// Mean share of lanes that are active in vector instructions, from 0 to 1. 0 without vector instructions.
  double active_lanes(uint32_t wave_size) const;
};
Summary summary_of(const Kernel& kernel);

}  // namespace rigel::vgpu::profile
