// A whole kernel in machine code, with what it is launched with: what the generator makes, the runner runs,
// the reducer takes apart, and a file of tests holds. Plain data.
//
// Everything that a kernel may depend on is in here or follows from it, so that all ways to run it must leave
// the same memory behind: its buffers are filled from `data_seed`, all registers, LDS and scratch that nobody
// has written are zero, and it is up to whoever writes the code that no two work-items write the same place
// in an order that matters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/vgpu/isa/instruction.hpp"
#include "plugins/vgpu/isa/target.hpp"

namespace rigel::vgpu::exec::whole {

constexpr uint32_t kNoLabel = ~0u;

/// A place in the code, or an instruction.
struct Item {
  std::vector<uint32_t> words;  ///< Empty: a label.
  /// The label's number. Of an instruction: where it leads to. A branch has the distance in SIMM16; s_add_u32
  /// has it in its literal, counted from itself, as it stands behind an s_getpc_b64.
  uint32_t label = kNoLabel;

  bool is_label() const { return words.empty(); }
};

// What s0 … s7 are at the start of each wave, and what KERNARG points to.
constexpr uint32_t kScratchResource = 0;  ///< Four SGPRs.
constexpr uint32_t kKernarg = 4;          ///< Two: the address of what is below.
constexpr uint32_t kFlatScratchInit = 6;  ///< Two: as the packet processor gives them.
constexpr uint32_t kFirstGroupId =
    8;  ///< X; with more than one dimension Y and Z; then the offset of scratch.
/// Bytes from KERNARG.
namespace argument {
constexpr uint32_t kIn = 0, kOut = 8, kAtomics = 16, kLimit = 24;
constexpr uint32_t kInResource = 32, kOutResource = 48;  ///< Descriptors of raw buffers.
constexpr uint32_t kNumbers = 64;                        ///< Words of all kinds, 64 of them.
constexpr uint32_t kBytes = 320;
}  // namespace argument

constexpr uint32_t kAtomicsBytes = 8192;  ///< Zero at the start.
constexpr uint32_t kInSlack = 512;        ///< Bytes behind the input that can be read.
constexpr uint32_t kMostInBytes = 1 << 16, kMostOutBytes = 1 << 20;

struct Kernel {
  isa::Target target;  ///< wave32 says how wide waves are.
  uint32_t grid[3] = {1, 1, 1};
  uint32_t group[3] = {1, 1, 1};
  uint32_t vgprs = 32;
  uint32_t sgprs = 106;  ///< Where chips give them by sixteens (gfx8, gfx9); others give all.
  uint32_t lds_bytes = 0;
  uint32_t private_bytes = 0;  ///< Scratch of a lane.
  uint32_t in_bytes = 4096;
  uint32_t out_bytes = 4096;
  uint32_t limit = 0;      ///< An argument: work-items from here on have nothing to do.
  uint32_t mode = 0x3f0;   ///< FP_ROUND, FP_DENORM, DX10_CLAMP and IEEE of MODE.
  uint64_t data_seed = 0;  ///< Of what is in the buffers.
  std::vector<Item> items;
  /// Items at the beginning and at the end that are not left out when it is made smaller, since the rest would do something else
  /// without them. Not in its text.
  uint32_t kept_in_front = 0, kept_behind = 0;

  uint32_t wave_size() const { return target.wave32 ? 32 : 64; }
  bool has_dimensions() const { return group[1] != 1 || group[2] != 1 || grid[1] != 1 || grid[2] != 1; }
  uint64_t groups() const;
  uint64_t work_items() const;
};

/// The code, with distances filled in. Empty if one does not fit.
std::vector<uint32_t> assemble(const Kernel& kernel);

/// As a file: a line for each property, then one for each instruction, with its disassembly as a comment.
std::string to_text(const Kernel& kernel);
/// False, and why, if the text is none of to_text()'s.
bool from_text(std::string_view text, Kernel& kernel, std::string& error);

}  // namespace rigel::vgpu::exec::whole
