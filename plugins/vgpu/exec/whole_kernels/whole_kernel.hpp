// A kernel in machine code with its launch parameters, for the generator, the runner, the reducer and test
// files. Plain data.
//
// Its result depends only on this data, so all execution paths must leave the same memory. Buffers are
// filled from `data_seed`. Unwritten registers, LDS and scratch are zero. The code must not contain writes
// of several work-items to the same place in an order that matters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/vgpu/isa/instruction.hpp"
#include "plugins/vgpu/isa/target.hpp"

namespace rigel::vgpu::exec::whole {

constexpr uint32_t kNoLabel = ~0u;

struct Item {
  std::vector<uint32_t> words;  ///< Empty: a label.
  /// The label's number. For an instruction, its target label: branches have the distance in SIMM16.
  /// s_add_u32 has it in its literal, relative to itself, because it follows s_getpc_b64.
  uint32_t label = kNoLabel;

  bool is_label() const { return words.empty(); }
};

// Initial s0 … s7 of each wave, and the memory at KERNARG.
constexpr uint32_t kScratchResource = 0;  ///< Four SGPRs.
constexpr uint32_t kKernarg = 4;          ///< Two SGPRs: the address of the arguments.
constexpr uint32_t kFlatScratchInit = 6;  ///< Two SGPRs, as the packet processor initialises them.
/// Work-group id X; with more than one dimension then Y and Z; then the offset of scratch.
constexpr uint32_t kFirstGroupId = 8;
/// Offsets from KERNARG.
namespace argument {
constexpr uint32_t kIn = 0, kOut = 8, kAtomics = 16, kLimit = 24;
constexpr uint32_t kInResource = 32, kOutResource = 48;  ///< Descriptors of raw buffers.
constexpr uint32_t kNumbers = 64;                        ///< 64 random words.
constexpr uint32_t kBytes = 320;
}  // namespace argument

constexpr uint32_t kAtomicsBytes = 8192;  ///< Zero at the start.
constexpr uint32_t kInSlack = 512;        ///< Readable bytes past the input.
constexpr uint32_t kMaxInBytes = 1 << 16, kMaxOutBytes = 1 << 20;

struct Kernel {
  isa::Target target;  ///< Includes the wave size.
  uint32_t grid[3] = {1, 1, 1};
  uint32_t group[3] = {1, 1, 1};
  uint32_t vgprs = 32;
  uint32_t sgprs = 106;  ///< If the chip allocates SGPRs in units of 16 (gfx8, gfx9).
  uint32_t lds_bytes = 0;
  uint32_t private_bytes = 0;  ///< Scratch per lane.
  uint32_t in_bytes = 4096;
  uint32_t out_bytes = 4096;
  uint32_t limit = 0;      ///< An argument: work-items from here on exit.
  uint32_t mode = 0x3f0;   ///< FP_ROUND, FP_DENORM, DX10_CLAMP and IEEE of MODE.
  uint64_t data_seed = 0;  ///< Seed of the buffers' contents.
  std::vector<Item> items;
  /// Items at the start and end that the reducer keeps, because the rest depends on them. Not part of the
  /// text.
  uint32_t prefix_items = 0, suffix_items = 0;

  uint32_t wave_size() const { return target.wave32 ? 32 : 64; }
  bool has_dimensions() const { return group[1] != 1 || group[2] != 1 || grid[1] != 1 || grid[2] != 1; }
  uint64_t groups() const;
  uint64_t work_items() const;
};

/// Returns the code with branch distances. Empty if a distance does not fit.
std::vector<uint32_t> assemble(const Kernel& kernel);

/// Returns the text of a file: a line per property, then one per instruction, with its disassembly as a
/// comment.
std::string to_text(const Kernel& kernel);
/// Parses the text of a file. Returns false and sets `error` if the text is invalid.
bool from_text(std::string_view text, Kernel& kernel, std::string& error);

}  // namespace rigel::vgpu::exec::whole
