// Native code: runs of instructions of a block as machine code of the host, in place of a handler for each.
//
// The translator hands over a block when its micro-operations are in their place. What can be compiled is cut
// into segments (plan.hpp); the first micro-operation of each gets the segment's code as its handler, all
// others stay as they are. Native code has the interface of a handler (micro_op.hpp), does the work of its
// segment, and goes on with the handler of the micro-operation behind it, which may be native as well: then
// it follows directly. So native code and handlers mix freely, and whoever resumes a wave, counts its
// instructions or reports a fault need not know which of the two it was.
//
// What it does is what the handlers do, to the bit. Of several NaNs an operation passes on the first: see
// vector/ordered.hpp.
//
// Needs AVX-512 or AVX2 and, at build time, Xbyak; without them, or with VGPU_NATIVE=0, handlers do
// everything.
//
// Threads: compile() runs under the lock of its Code, before anybody can see the block.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/vgpu/exec/block.hpp"
#include "plugins/vgpu/exec/lowering.hpp"

namespace rigel::vgpu::exec::native {

/// Whether code can be compiled on this machine, for levels above the first, and nobody has forbidden it.
/// Found once.
bool available();

/// Why there is no native code for a level here: it is the first, was not built, is not this processor's, or
/// is forbidden. Empty: there is.
std::string_view why_none(SimdLevel level);

/// What the host can do beyond the AVX-512 of SimdLevel::kAvx512.
struct HostFeatures {
  bool vbmi2 = false;   ///< Shifts of concatenated dwords.
  bool popcnt = false;  ///< Population counts of dwords.
};
/// This processor's. Found once.
const HostFeatures& host_features();

/// An instruction of a block and the micro-operations that it became.
struct Site {
  isa::Instruction instruction;
  uint32_t op = 0;          ///< The first of them, by its place in the block …
  uint32_t op_count = 0;    ///< … and how many; none: it does nothing.
  bool is_target = false;   ///< A branch leads here.
  bool is_indexed = false;  ///< Its VGPRs are found by M0 (s_set_gpr_idx_on).
};

struct Request {
  isa::Target target;
  RegisterLayout layout;
  FloatMode mode;
  std::span<const Site> sites;  ///< In the order of the code.
  std::span<MicroOp> ops;
  SimdLevel level = SimdLevel::kAvx512;
  HostFeatures features = host_features();
  // For the map of perf: of whose code this is a part.
  const std::string* kernel = nullptr;
  uint64_t entry = 0;

  /// Code for AVX2 has vectors of 8 lanes, else of 16.
  bool has_eight_lanes() const { return level == SimdLevel::kAvx2; }
};

/// Machine code of one Code: lives as long as that does.
class CodeMemory {
 public:
  CodeMemory() = default;
  ~CodeMemory();
  CodeMemory(const CodeMemory&) = delete;
  CodeMemory& operator=(const CodeMemory&) = delete;

  /// Where the copy of `code` can be executed; null if the system has no executable memory for us.
  const std::byte* add(std::span<const std::byte> code);

 private:
  // Of one block each. Written before it is executable, and never after.
  struct Piece {
    void* at;
    size_t bytes;
  };

  std::vector<Piece> pieces_;
  bool refused_ = false;
};

/// Compiles what can be of a block and sets the handlers. Says how many instructions that are.
uint32_t compile(const Request& request, CodeMemory& memory);

/// A kernel from its beginning to its end, for all waves of a work-group at once: group_code.hpp.
struct GroupCode {
  /// `wave` is the work-group's first, with its scalars as at the start and its Memory; `items`, the number
  /// of work-items, is a multiple of 64. 0: nothing has happened, but the wave's scalars have changed.
  uint32_t (*run)(uint32_t items, Wave* wave, std::byte* registers) = nullptr;
  uint32_t instructions = 0;  ///< Of each wave.
};
GroupCode compile_group(const Request& request, CodeMemory& memory);

}  // namespace rigel::vgpu::exec::native
