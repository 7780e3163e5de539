// What the compiler of kernels is given: a kernel's code as a graph, and for each of its instructions the operations that
// the interpreter would execute, with what the compiler makes of them.
//
// The interpreter's lowering is the one description of what an instruction does. Operations that the compiler has as
// bitcode, which is the same source compiled otherwise, are inlined; of the rest it stores what they read, calls the
// interpreter's handlers, and loads what they wrote. So there is no instruction that one of the two has and the other has
// not, and code for none of them stands here.
//
// Functions that a kernel calls are plans of their own, which begin with registers of which nothing is known: a wave goes from one
// to another by the interpreter, which executes the call and the return.
//
// Ways in and out. Control enters at the beginning, behind barriers and calls and at the heads of loops. Each such place has
// an operation of its own (`entries`), by which a wave goes on as by any other operation. At barriers and
// at its end a wave is followed by the next one of its row (wave_row.hpp), if there is one; otherwise, where its turn is over and
// where memory fails, compiled code leaves, with all that is live in the wave's registers.
//
// Threads: make_plan() inside a translation scope, since it reads the kernel's code; a plan is constant afterwards.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "plugins/vgpu/analysis/liveness.hpp"
#include "plugins/vgpu/analysis/yield_points.hpp"
#include "plugins/vgpu/compiler/linkage.hpp"
#include "plugins/vgpu/exec/block.hpp"
#include "plugins/vgpu/exec/group_shape.hpp"
#include "plugins/vgpu/exec/lowering.hpp"
#include "plugins/vgpu/isa/memory_shape.hpp"

namespace rigel::vgpu::exec {

/// When a kernel is compiled.
enum class Compilation : uint8_t {
  kNone,
  kWhenHot,     ///< Once it has run for about as long as that takes, by another thread.
  kBeforehand,  ///< Before its first wave starts.
};

namespace compiler {

/// One of the interpreter's operations.
struct Step : KnownOperation {
  uint32_t operation = 0;  ///< Of Plan::operations
  const MicroOp* micro = nullptr;
};

/// An instruction, by the same number as its node in the graph.
struct Site {
  enum class What : uint8_t {
    kNothing,     ///< Nobody can tell that it was executed: waits, hints.
    kInline,      ///< Its steps are all known to the compiler.
    kScalarLoad,  ///< Perhaps done by the compiler; else as a call.
    kGlobal,      ///< Loads, stores and atomics, likewise.
    kScratch,     ///< Loads and stores of dwords by buffer instructions as those of scratch.
    kLds,
    kLdsAtomic,
    kCall,     ///< The interpreter's handlers do it.
    kBranch,   ///< The last of its block
    kBarrier,  ///< Control leaves, and comes back to `behind`.
    kYield,    ///< Likewise: a wait at which the wave lets others go on.
    kSleep,    ///< Likewise.
    kMode,     ///< MODE becomes what it is for the next node.
    kLeaves,   ///< The interpreter goes on with it. Control may come back to Plan::ways_in.
    kEnd,
  };
  What what = What::kCall;
  uint32_t first_step = 0, step_count = 0;
  uint32_t first_operation = 0;  ///< Of Plan::operations
  /// Its operations, the last of them one that gives control back. Where reports look for the place of a fault.
  const MicroOp* operations = nullptr;
  int32_t entry = -1;   ///< The way in that leads to before the instruction …
  int32_t behind = -1;  ///< … and to behind it, if control leaves there.
  /// The way in to before it for waves that the interpreter has had: it compares their registers with what is known of them there.
  int32_t from_interpreter = -1;

  bool comes_back() const { return what == What::kBarrier || what == What::kYield || what == What::kSleep; }
};

struct Shape;  // lane_shape.hpp

struct Plan {
  analysis::FlowGraph
      graph;  ///< Its nodes are executed in their order: some barriers and yields are put off.
  analysis::Liveness live;
  RegisterLayout layout;
  SimdLevel level = SimdLevel::kBaseline;
  uint32_t mode = 0;  ///< Of MODE, what waves begin with
  /// What it is before each node (modes.hpp).
  std::vector<uint32_t> modes;
  bool changes_mode = false;
  bool m0_limits_lds = false;
  /// It has more than kSmallKernel instructions, or control comes and goes often: functions, and kernels that call many.
  bool is_large = false;
  bool is_function = false;
  std::vector<Site> sites;
  std::vector<Step> steps;
  uint32_t entry_count = 0;
  /// The way in for waves of which it is known that they start with `ids`, with all lanes, and with the scalars of their
  /// work-group; -1: there is none. It needs nothing of that in the wave's registers.
  int32_t expected_entry = -1;
  /// For each way in, what a wave goes on with.
  std::vector<MicroOp> entries;
  /// Where waves come in that the interpreter has had: behind calls, at heads of loops and where functions begin, with the
  /// variant (block.hpp) that they have to have.
  struct WayIn {
    uint64_t pc = 0;
    uint32_t variant = 0;
    int32_t entry = 0;
  };
  std::vector<WayIn> ways_in;  ///< By ascending pc.
  /// What the interpreter goes on with, where a wave comes to it.
  std::vector<std::string> left;

  const isa::Traits& traits() const { return isa::traits_of(graph.target); }

  /// Those of all sites, one after the other.
  const MicroOp* operations = nullptr;
  /// The registers that are wanted behind the node: of vector registers, in lanes that are active there.
  isa::Registers wanted_behind(uint32_t node) const;
  /// What an operation points to beside itself, by its `imm`; nothing: that is a number.
  std::span<const std::byte> details(const MicroOp& op) const;
  /// Of everything that code made from this plan depends on. Two processes of one build plan the same.
  uint64_t digest() const;
  /// Of the VGPRs that waves start with, the lanes' numbers, but for a number that all have in common. Waves that start
  /// with others are the interpreter's.
  std::vector<std::shared_ptr<const Shape>> ids;

  /// Operations and what they point to, which waves may come upon as long as they live.
  struct Storage;
  std::shared_ptr<Storage> storage;
};

/// Instructions of a kernel that LLVM gets unrolled and inlined. Of larger ones it would have to read hundreds for each that the GPU
/// has, and take minutes.
constexpr size_t kSmallKernel = 800;

struct Request {
  isa::Target target;
  RegisterLayout layout;
  SimdLevel level = SimdLevel::kBaseline;
  uint32_t variant = 0;  ///< block.hpp
  uint64_t entry_va = 0;
  bool as_large = false;  ///< Compiled as large kernels are, whatever its size: for tests.
  /// Which a kernel of that layout calls: waves come to it with any registers. It has no `shape`.
  bool is_function = false;
  analysis::Yields yields = analysis::Yields::kNone;
  analysis::ReadCode read;
  /// Of the work-groups that most waves will be of; null if that is not known.
  std::shared_ptr<const GroupShape> shape;
  std::string cache_name;  ///< From cache_name(); empty: the code is not kept on disk.
};

/// An error says why the kernel is left to the interpreter.
tl::expected<std::unique_ptr<Plan>, std::string> make_plan(const Request& request);

/// Makes the operations of `plan.entries` lead to code that was made from such a plan.
void attach(Plan& plan, TranslatedCode& code, Run run);

}  // namespace compiler
}  // namespace rigel::vgpu::exec
