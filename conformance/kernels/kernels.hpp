// The kernels that the tests dispatch: names and arguments, the same for every ISA. The other files of this
// directory implement them for a family of ISAs, in one code object each.
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

/// identify: each work-item writes its ids to the element of its flat id in the grid (x fastest).
struct WorkItemIdentity {
  uint32_t global[3];
  uint32_t local[3];
  uint32_t group[3];
  uint32_t group_size[3];  // of its work-group, which may be partial
  uint32_t visits;         // incremented
  uint32_t reserved[3];
};
struct IdentifyArgs {
  WorkItemIdentity* items;
};

/// reverse: each work-group of 64 reverses its 64 words through group memory, with a barrier.
struct ReverseArgs {
  uint32_t* words;
};
constexpr uint32_t kReverseGroup = 64;

/// dynamic_sum: each work-group adds its words in group memory that the packet requests, 4 bytes per
/// work-item.
struct DynamicSumArgs {
  const uint32_t* words;
  uint32_t* sums;  // one per work-group
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

/// scale: out[i] = in[i] * factor. `factor` is a variable of the code object, initially 3.
struct ScaleArgs {
  const uint32_t* in;
  uint32_t* out;
  uint32_t count;
  uint32_t reserved;
};

/// empty: does nothing.
struct EmptyArgs {
  uint64_t reserved;
};

// For GPUs only:

/// aligned: does nothing. Its arguments are aligned to 128 bytes.
struct alignas(128) AlignedArgs {
  uint64_t reserved;
};

// For GPUs only, in a separate code object, because the program defines its variables:

/// scale_outside: out[i] = in[i] * outside_factor + outside_table[i % kOutsideTable], then increments the
/// factor. One work-group of at most one wave.
constexpr uint32_t kOutsideTable = 4;
/// The initial factor if a program code object defines it.
constexpr uint32_t kProgramFactor = 9;

// For GPUs with barriers across work-groups (GWS):

/// gws_begin: initializes resource 0 for `waves` waves. One work-item.
struct GwsBeginArgs {
  uint32_t waves;
  uint32_t reserved;
};
/// gws_meet: `rounds` times, each work-group of one wave increments the counter, waits for all others, writes
/// the counter to seen[round * groups + group], and waits again.
struct GwsMeetArgs {
  uint32_t* counter;
  uint32_t* seen;
  uint32_t groups;
  uint32_t rounds;
};

// For GPUs only, with errors: `illegal` executes an illegal instruction, `trap` calls the trap handler like a
// failed assertion.

/// store: writes to an address of any segment.
struct StoreArgs {
  uint64_t address;
};

/// keep: each work-item writes kPrivateWords words, starting with its id, to private memory and adds them.
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
