// The compiler's input: a kernel's code as a graph, and for each instruction the interpreter's operations
// with what the compiler knows about them.
//
// A *plan* is this description of a whole kernel, or of one function that a kernel calls. A *site* is its
// record of one instruction: how it is compiled, and where control enters and leaves. A *step* is one of the
// site's micro-ops. A *variant* (block.hpp) is the part of MODE and M0 that code is specialised on. *Shapes*
// are in lane_shape.hpp.
//
// The interpreter's lowering is the only description of what an instruction does. The compiler inlines
// operations whose source it has as bitcode. For other operations it stores their sources, calls the
// interpreter's handlers and loads their results. The compiler therefore supports the same instructions as
// the interpreter.
//
// A function that a kernel calls has a separate plan; nothing is known about the registers at its start. The
// interpreter executes calls and returns.
//
// Control enters at the start, after barriers and calls, and at loop headers. Each entry is a micro-op in
// `entries`, which a wave executes like any other. At a barrier, at a yield and at its end, a wave is
// followed by the next wave of its batch (wave_row.hpp). Otherwise, at the end of a time slice, and if a
// memory access fails, compiled code returns with all live registers in the wave's register array.
//
// *Threads:* make_plan() reads the kernel's code and must run inside a translation scope. A plan is constant
// afterwards.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "plugins/vgpu/analysis/definedness.hpp"
#include "plugins/vgpu/analysis/liveness.hpp"
#include "plugins/vgpu/analysis/yield_points.hpp"
#include "plugins/vgpu/exec/block.hpp"
#include "plugins/vgpu/exec/group_shape.hpp"
#include "plugins/vgpu/exec/lowering.hpp"
#include "plugins/vgpu/exec/native/linkage.hpp"
#include "plugins/vgpu/isa/memory_shape.hpp"

namespace rigel::vgpu::exec {

class CountedPlaces;

/// When kernels are compiled.
enum class Compilation : uint8_t {
  kNone,
  kWhenHot,     ///< In the background, once a kernel has run for about as long as compiling takes.
  kBeforehand,  ///< Before its first wave starts.
};

namespace compiler {

/// One of the site's micro-ops, with what the compiler knows about it.
struct Step : KnownOperation {
  uint32_t operation = 0;  ///< Index in Plan::operations.
  const MicroOp* micro = nullptr;
};

/// How one instruction is compiled. Sites have the indices of the graph's nodes.
struct Site {
  enum class Kind : uint8_t {
    kNothing,     ///< Without observable effect: waits, hints.
    kInline,      ///< All steps are known to the compiler.
    kScalarLoad,  ///< Done by inlined code, which calls the handler if the address is not found.
    kGlobal,      ///< Loads, stores and atomics; handler as for kScalarLoad.
    kScratch,     ///< Dwords by buffer instructions, like those of scratch.
    kLds,
    kLdsAtomic,
    kCall,           ///< Calls the interpreter's handlers.
    kSignal,         ///< The first part of a split barrier.
    kBranch,         ///< The last instruction of its block.
    kBarrier,        ///< Control leaves and re-enters at `entry_after`.
    kYield,          ///< A wait at which other waves may continue; re-enters like kBarrier.
    kSleep,          ///< Re-enters like kBarrier.
    kMode,           ///< Sets MODE to its value at the next node.
    kToInterpreter,  ///< The interpreter continues here. Control may re-enter at Plan::ways_in.
    kEnd,
  };
  Kind kind = Kind::kCall;
  uint32_t first_step = 0, step_count = 0;
  uint32_t first_operation = 0;  ///< Index in Plan::operations.
  /// The first micro-ops, which only report to the checks.
  uint32_t report_count = 0;
  /// The site's other micro-ops; after the last one is one that returns control. Reports use it to locate
  /// faults.
  const MicroOp* operations = nullptr;
  int32_t block_counter = -1;  ///< Index in Plan::operations of the one that counts a block's dwords, or -1.
  bool is_noted = false;       ///< Its code reports each access to the checks.
  int32_t entry = -1;          ///< Entry before the instruction, or -1.
  int32_t entry_after = -1;    ///< Entry after the instruction, or -1.
  /// Entry before the instruction for interpreted waves: first compares their registers with the expected
  /// shapes. Or -1.
  int32_t from_interpreter = -1;

  bool is_wave_switch() const {
    return kind == Kind::kBarrier || kind == Kind::kYield || kind == Kind::kSleep;
  }
};

struct Shape;  // lane_shape.hpp

/// Instructions of a block that are executed together, with the same EXEC: the unit of counting. A segment
/// ends after an instruction that writes EXEC, and where control leaves.
struct Segment {
  uint32_t first = 0, end = 0;  ///< Nodes
};

struct Plan {
  analysis::FlowGraph graph;  ///< Nodes in execution order; some barriers and yields have been sunk.
  analysis::Liveness live;
  RegisterLayout layout;
  SimdLevel level = SimdLevel::kBaseline;
  uint32_t mode = 0;  ///< The bits of MODE that waves start with.
  /// MODE before each node (modes.hpp).
  std::vector<uint32_t> modes;
  bool changes_mode = false;
  bool m0_limits_lds = false;
  /// More than kSmallKernel instructions, a function, or many calls.
  bool is_large = false;
  bool is_function = false;
  /// Executed instructions are counted, by segments.
  bool is_counted = false;
  std::vector<Segment> segments;  ///< Sorted by `first`; only if is_counted
  bool is_checked = false;        ///< See Request
  bool reports_accesses = false;  ///< See Request
  bool tracks_undefined = false;  ///< See Request
  analysis::StartRegisters start;
  analysis::Definedness definedness;  ///< Only if tracks_undefined
  std::vector<Site> sites;
  std::vector<Step> steps;
  uint32_t entry_count = 0;
  /// Entry for full waves that start with `ids` and with the scalars of their work-group; -1 if there is
  /// none. It loads the initial state itself and does not need it in the wave's registers.
  int32_t expected_entry = -1;
  /// For each entry, the micro-op that a wave continues with.
  std::vector<MicroOp> entries;
  /// An entry for interpreted waves: after a call, at a loop header or at a function's start. The wave must
  /// have this variant (block.hpp).
  struct WayIn {
    uint64_t pc = 0;
    uint32_t variant = 0;
    int32_t entry = 0;
  };
  std::vector<WayIn> ways_in;  ///< Sorted by pc.
  /// Descriptions of the instructions at which the interpreter takes over.
  std::vector<std::string> left;

  const isa::Traits& traits() const { return isa::traits_of(graph.target); }

  /// The micro-ops of all sites, one after the other.
  const MicroOp* operations = nullptr;
  /// Returns the registers that are live after the node; VGPRs: in active lanes.
  isa::Registers live_after(uint32_t node) const;
  /// Returns the data that `op.imm` points to; empty if `imm` is a number.
  std::span<const std::byte> details(const MicroOp& op) const;
  /// Returns a hash of everything that generated code depends on. All processes of one build get the same.
  uint64_t digest() const;
  /// Shapes of the VGPRs that waves start with, the work-item ids. Waves that start with other shapes are
  /// interpreted.
  std::vector<std::shared_ptr<const Shape>> ids;

  /// Micro-ops and the data they point to. Waves may reach them as long as they live.
  struct Storage;
  std::shared_ptr<Storage> storage;
};

/// Maximum number of instructions of a kernel that LLVM gets unrolled and inlined. Each GPU instruction
/// becomes hundreds of IR instructions; larger kernels would take minutes.
constexpr size_t kSmallKernel = 800;

struct Request {
  isa::Target target;
  RegisterLayout layout;
  SimdLevel level = SimdLevel::kBaseline;
  uint32_t variant = 0;  ///< block.hpp
  uint64_t entry_va = 0;
  bool as_large = false;  ///< Compiles the kernel as a large one, whatever its size; for tests.
  /// A function that a kernel with this layout calls. It starts with any registers and has no `shape`.
  bool is_function = false;
  bool is_counted = false;  ///< Executed instructions are counted in WorkGroup::counters.
  /// WorkGroup::checker observes barriers, and accesses that are not in the bounds of the wave's memory.
  bool checked = false;
  /// It observes all accesses. Only if `checked`.
  bool reports_accesses = false;
  /// Waves with undefined registers or memory are interpreted from the first instruction that reads them on.
  /// Only if `checked`.
  bool tracks_undefined = false;
  analysis::StartRegisters start = {};  ///< Only if tracks_undefined
  analysis::Yields yields = analysis::Yields::kNone;
  analysis::ReadCode read;
  /// Expected shape of the work-groups; null: unknown.
  std::shared_ptr<const GroupShape> shape;
  std::string cache_name;  ///< From cache_name(); empty: the code is not kept on disk.
};

/// On failure, returns the reason why the kernel is interpreted.
tl::expected<std::unique_ptr<Plan>, std::string> make_plan(const Request& request);

/// Makes the micro-ops of `plan.entries` run code that was generated from this plan. Adds its counters to
/// `places`.
void attach(Plan& plan, TranslatedCode& code, CountedPlaces& places, Run run);

}  // namespace compiler
}  // namespace rigel::vgpu::exec
