// From the instructions of a block to segments, the units of native code.
//
// A segment is a run of instructions with one way in, at its first. Vector instructions in it are executed
// for 16 lanes at a time: all of them for the first 16, then all for the next. That is possible because a
// lane of one depends on nothing but the same lane of others: what doesn't fit ends the segment, such as a
// scalar instruction between two vector instructions of which the first makes a mask that it reads and the
// second reads what it makes of that. Scalar instructions are executed once, before the vector instructions
// or after them, whichever is possible. Those that combine lane masks can be done by 16 lanes as well.
// A memory instruction is a segment of its own.
#pragma once

#include <bitset>
#include <cstdint>
#include <vector>

#include "plugins/vgpu/exec/native/memory_access.hpp"
#include "plugins/vgpu/exec/native/native.hpp"

namespace rigel::vgpu::exec::native {

/// Scalar slots by code (registers.hpp), and SCC.
constexpr unsigned kSccSlot = 255;
using Scalars = std::bitset<256>;

/// A source of an instruction.
struct Input {
  enum class Kind : uint8_t { kNone, kRow, kScalar, kConstant };
  Kind kind = Kind::kNone;
  bool abs = false, neg = false;
  bool extends_sign = false;  ///< Of the part:
  uint8_t shift = 0;          ///< where it begins, in bits,
  uint8_t width = 32;         ///< and ends.
  uint32_t index = 0;         ///< Of the VGPR or the scalar slot.
  uint64_t bits = 0;          ///< The constant.

  bool is_plain() const { return !abs && !neg && width == 32; }
};

struct VectorOp;
struct ScalarOp;
struct MaskOp;

enum class StepKind : uint8_t { kNothing, kScalar, kVector, kMask, kBranch, kOther };

constexpr uint32_t kNoMask = 0xffff;

/// An instruction as the planner and the emitters see it.
struct Step {
  StepKind kind = StepKind::kOther;
  uint32_t site = 0;
  const VectorOp* vector = nullptr;
  const ScalarOp* scalar = nullptr;
  const MaskOp* mask = nullptr;  ///< Beside `scalar`: how it is done by lanes.
  Input src[3];
  uint32_t dst = 0;             ///< VGPR or scalar slot.
  uint32_t mask_in = kNoMask;   ///< Scalar slot of the lane mask that it reads …
  uint32_t mask_out = kNoMask;  ///< … and of the one that it makes.
  bool clamp = false;
  Scalars reads, writes;  ///< Scalar slots, those of masks included.
  Scalars whole_reads;    ///< Those that lanes read as a whole, not their bit of it.
  bool writes_exec = false;
};

struct Segment {
  uint32_t first_site = 0, last_site = 0;  ///< Both are in it.
  std::vector<Step> before, lanes, after;
  Step branch;  ///< The last one, if it is one.
  bool has_branch = false;
  bool writes_exec = false;
  uint32_t exec_mask = kNoMask;      ///< EXEC becomes this mask, made by lanes.
  uint32_t scc_mask = kNoMask;       ///< SCC is whether this mask, made by lanes, has any bit.
  std::optional<MemoryStep> memory;  ///< It is this and nothing else.

  bool empty() const { return before.empty() && lanes.empty() && after.empty() && !has_branch && !memory; }
};

/// An instruction of the request as a step; memory operations are none.
Step make_step(const Request& request, uint32_t site);

/// Cuts a block. Sites that are in no segment are left to their handlers.
std::vector<Segment> plan(const Request& request);

}  // namespace rigel::vgpu::exec::native
