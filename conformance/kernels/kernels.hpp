// The kernels that the tests dispatch: names and arguments, the same for every ISA. How one is written for a
// family of ISAs is in the files beside this one; each makes a code object with all of them.
#pragma once

#include <stdint.h>  // not <cstdint>: compilers for GPUs come without a C++ library

namespace conformance {

/// copy: to[i] = from[i] for each work-item i < count of a one-dimensional grid.
struct CopyArgs {
  const uint32_t* from;
  uint32_t* to;
  uint32_t count;
  uint32_t reserved;
};

/// identify: each work-item writes, at its flat place in the grid (x fastest), what it was told about itself.
struct WorkItemIdentity {
  uint32_t global[3];
  uint32_t local[3];
  uint32_t group[3];
  uint32_t group_size[3];  // of its own, maybe partial, work-group
  uint32_t visits;         // incremented
  uint32_t reserved[3];
};
struct IdentifyArgs {
  WorkItemIdentity* items;
};

/// reverse: each work-group of 64 reverses its 64 words by way of group memory, with a barrier between.
struct ReverseArgs {
  uint32_t* words;
};
constexpr uint32_t kReverseGroup = 64;

/// dynamic_sum: each work-group adds up its words in group memory that the packet asks for, 4 bytes a
/// work-item.
struct DynamicSumArgs {
  const uint32_t* words;
  uint32_t* sums;  // one a work-group
};

/// count: every work-item increments the counter atomically.
struct CountArgs {
  uint32_t* counter;
};

/// wait_for: spins until *flag is not 0, then writes it to *seen. One work-item.
struct WaitArgs {
  const uint32_t* flag;
  uint32_t* seen;
};

/// scale: out[i] = in[i] * factor, with the code object's own variable `factor`, which starts as 3.
struct ScaleArgs {
  const uint32_t* in;
  uint32_t* out;
  uint32_t count;
  uint32_t reserved;
};

/// empty: nothing.
struct EmptyArgs {
  uint64_t reserved;
};

// For GPUs only:

/// aligned: nothing, with arguments that want to lie at a multiple of 128 bytes.
struct alignas(128) AlignedArgs {
  uint64_t reserved;
};

// For GPUs only, and in a code object of its own, as its variables are the program's:

/// scale_outside: out[i] = in[i] * outside_factor + outside_table[i % kOutsideTable], and then adds one to
/// the factor. One work-group of at most a wave.
constexpr uint32_t kOutsideTable = 4;
/// What the factor is at first where a program code object defines it.
constexpr uint32_t kProgramFactor = 9;

// For GPUs whose waves can meet across work-groups (GWS):

/// gws_begin: prepares resource 0 for that many waves. One work-item.
struct GwsBeginArgs {
  uint32_t waves;
  uint32_t reserved;
};
/// gws_meet: `rounds` times each work-group, of one wave, counts itself, waits for all others, writes what
/// the counter says to seen[round * groups + group], and waits again.
struct GwsMeetArgs {
  uint32_t* counter;
  uint32_t* seen;
  uint32_t groups;
  uint32_t rounds;
};

// For GPUs only, with the errors that their waves make: `illegal` meets an instruction that is none, `trap`
// calls the trap handler as a failed assertion does, `divide_by_zero` does so with that exception enabled.

/// store: writes to an address of any segment.
struct StoreArgs {
  uint64_t address;
};

/// keep: each work-item puts its number into private memory, kPrivateWords times, and adds that up.
struct KeepArgs {
  uint32_t* sums;
  uint32_t count;
  uint32_t reserved;
};
constexpr uint32_t kPrivateWords = 256;
constexpr uint32_t sum_of_kept(uint32_t item) {
  return item * kPrivateWords + kPrivateWords * (kPrivateWords - 1) / 2;
}

}  // namespace conformance
