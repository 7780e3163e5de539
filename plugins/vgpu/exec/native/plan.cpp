#include "plugins/vgpu/exec/native/plan.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory_resource>
#include <set>
#include <span>

#include <fmt/core.h>

#include "plugins/vgpu/exec/check/group_checker.hpp"
#include "plugins/vgpu/exec/native/lane_shape.hpp"
#include "plugins/vgpu/exec/native/modes.hpp"
#include "plugins/vgpu/exec/profile/counters.hpp"
#include "plugins/vgpu/exec/register_bounds.hpp"
#include "plugins/vgpu/exec/wave.hpp"
#include "plugins/vgpu/exec/wave_memory.hpp"
#include "plugins/vgpu/isa/op_class.hpp"

namespace rigel::vgpu::exec::compiler {

using isa::Encoding;
using isa::Op;

// Collects the micro-ops of an instruction from the interpreter's lowering.
struct Plan::Storage final : Emitter {
  MicroOp& emit(Handler handler) override {
    MicroOp& op = emitted.emplace_back();
    op.handler = handler;
    op.code_offset = offset;
    op.block = &block;
    known.emplace_back();
    return op;
  }
  void identify(const KnownOperation& does) override { known.back() = does; }
  void* allocate(uint64_t bytes, uint64_t alignment) override {
    void* const object = arena.allocate(bytes, alignment);
    sizes[reinterpret_cast<uintptr_t>(object)] = bytes;
    return object;
  }
  Link* link(uint64_t pc) override {
    Link* const object = new (arena.allocate(sizeof(Link), alignof(Link))) Link;
    object->pc = pc;
    return object;
  }

  Block block;  // Covers the whole kernel, for reports that locate an operation.
  std::pmr::monotonic_buffer_resource arena;
  std::map<uint64_t, uint64_t> sizes;  // Sizes of allocations.
  std::vector<MicroOp> emitted;
  std::vector<KnownOperation> known;  // By micro-op.
  uint32_t offset = 0;
  std::unique_ptr<MicroOp, decltype(&std::free)> operations{nullptr, std::free};
  Linkage linkage;
  std::vector<Counter> lost_counters;
};

namespace {

constexpr size_t kMostInstructions = 16000;
// Maximum calls × VGPRs of a small kernel, which copies its rows after each call. LLVM takes minutes for
// larger ones.
constexpr size_t kMostRowsCopied = 512;

void return_control(const MicroOp* op, Wave* wave, std::byte*, uint64_t) {
  RIGEL_LEAVE(op, wave);
}

void enter(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t) {
  reinterpret_cast<Run>(op->imm)(wave, registers, op->aux,
                                 reinterpret_cast<const Linkage*>(op->src[0].constant));
}

// Whether a barrier or yield may sink below such an instruction. Other waves cannot observe the difference,
// and control does not leave there.
bool can_precede_switch(const Plan& plan, const Site& site) {
  if (site.kind == Site::Kind::kNothing) return true;
  if (site.kind != Site::Kind::kInline) return false;
  const std::span<const Step> steps(plan.steps.data() + site.first_step, site.step_count);
  return std::ranges::all_of(steps, [](const Step& step) {
    return step.kind == KnownOperation::Kind::kComputes && !step.has_test && step.is_float;
  });
}

// Sinks barriers and yields below arithmetic that reduces the number of live registers. The registers that
// are live there are stored and reloaded. RDNA code loads from LDS, waits, and has a barrier before it
// computes with the loaded values. A switch at a block's start stays: interpreted waves enter there. Returns
// true if the order of nodes changed.
bool put_off_switches(Plan& plan) {
  // The interpreter continues at a checked barrier, and would repeat the arithmetic.
  const auto may_sink = [&](Site::Kind kind) {
    return kind == Site::Kind::kYield || (kind == Site::Kind::kBarrier && !plan.is_checked);
  };
  const auto kept = [&](uint32_t node) {
    return (plan.live.before[node].vgprs | plan.live.inactive_before[node]).count();
  };
  bool any = false;
  for (const analysis::Block& block : plan.graph.blocks) {
    for (uint32_t node = block.first + 1; node + 1 < block.end; ++node) {
      if (!may_sink(plan.sites[node].kind)) continue;
      uint32_t best = node + 1;
      for (uint32_t next = best; next + 1 < block.end && can_precede_switch(plan, plan.sites[next]); ++next) {
        if (kept(next + 1) < kept(best)) best = next + 1;
      }
      if (best == node + 1) continue;
      std::rotate(&plan.graph.nodes[node], &plan.graph.nodes[node + 1], &plan.graph.nodes[best]);
      std::rotate(&plan.sites[node], &plan.sites[node + 1], &plan.sites[best]);
      any = true;
      node = best - 1;
    }
  }
  return any;
}

std::vector<Segment> segments_of(const Plan& plan) {
  std::vector<Segment> segments;
  for (const analysis::Block& block : plan.graph.blocks) {
    uint32_t first = block.first;
    const auto end_at = [&](uint32_t end) {
      if (end != first) segments.push_back({first, end});
      first = end;
    };
    uint32_t node = block.first;
    for (; node < block.end && plan.sites[node].kind != Site::Kind::kToInterpreter; ++node) {
      const Site& site = plan.sites[node];
      if (analysis::writes_exec(plan.graph.nodes[node]) || site.is_wave_switch()) end_at(node + 1);
    }
    end_at(node);
  }
  return segments;
}

// With indexing, an operand may be any register from the named one on.
void add_indexed(analysis::Node& node, uint8_t indexed) {
  const isa::Instruction& in = node.instruction;
  if (!isa::is_vector_alu(in.encoding)) return;
  isa::Effects& effects = node.effects;
  effects.reads.scalars.set(isa::code::kM0);
  const auto from = [](const isa::Operand& operand) { return ~std::bitset<256>() << operand.vgpr(); };
  for (unsigned i = 0; i < 3; ++i) {
    if ((indexed >> i & 1) == 0 || !in.src[i].is_vgpr()) continue;
    effects.reads.vgprs |= from(in.src[i]);
    effects.reads.vgprs.set(0);  // v0 is read for an index past the wave's registers.
  }
  if ((indexed & 8) == 0 || !in.dst[0].is_vgpr()) return;
  effects.reads.vgprs |= from(in.dst[0]);
  effects.writes.vgprs |= from(in.dst[0]);
  effects.replaces.vgprs.reset();
}

// Registers that may differ from the wave's register array: initial ones, and those that compiled code
// writes.
isa::Registers registers_held_in_code(const analysis::FlowGraph& graph, bool is_function) {
  isa::Registers registers;
  if (!is_function) {
    for (uint32_t code = 0; code < kMostStartScalars; ++code) registers.scalars.set(code);
    if (isa::traits_of(graph.target).has_ids_in_ttmps) registers.scalars.set(kTtmp7).set(kTtmp9);
    registers.scalars.set(isa::code::kVccLo).set(isa::code::kVccHi);
    for (uint32_t id = 0; id < 3; ++id) registers.vgprs.set(id);
    registers.scc = true;
  }
  for (const analysis::Block& block : graph.blocks) {
    for (uint32_t node = block.first; node < block.end; ++node) {
      const bool is_elsewhere = block.leaves && node + 1 == block.end;
      if (!is_elsewhere) registers |= graph.nodes[node].effects.writes;
    }
  }
  return registers;
}

bool is_long_branch(const analysis::FlowGraph& graph, uint32_t node) {
  return graph.nodes[node].instruction.op == Op::s_setpc_b64 && !graph.blocks[graph.block_of(node)].leaves;
}

// Instructions at which a wave may stop without failing, or which read their code or the time. Scalar
// instructions that change MODE or branch are found by their effects.
bool may_leave(const isa::Instruction& in) {
  return isa::op_class(in.op) == isa::OpClass::kGlobalSync || in.op == Op::ds_ordered_count ||
         in.encoding == Encoding::kSopp || isa::is_graphics(in.encoding);
}

// Whether a block load can write its address register. If a later register of the block gets undefined bits,
// compiled code leaves, and the interpreter executes the whole load again.
bool overwrites_own_address(const isa::Instruction& in) {
  if (!isa::accesses_block(in.op) || !in.vdst.is_vgpr() || !in.vaddr.is_vgpr()) return false;
  const uint32_t first = in.vdst.vgpr(), address = in.vaddr.vgpr();
  return address < first + isa::kBlockRegisters && first < address + in.vaddr.dwords;
}

// With rounding other than to nearest, negation before and after rounding differ, and LLVM does not
// distinguish them.
bool has_sign_to_keep(const isa::Instruction& in, uint32_t mode) {
  constexpr uint32_t kRounding = 0xf;
  return (mode & kRounding) != 0 && (in.abs | in.neg | in.neg_hi) != 0;
}

// Compiled code knows VGPRs only.
bool accesses_agprs(const isa::Effects& effects) {
  return (effects.reads.agprs | effects.writes.agprs).any();
}

Site::Kind kind_of(const isa::Instruction& in, const Plan& plan) {
  const isa::MemoryShape* const shape = isa::memory_shape(in.op);
  if (shape == nullptr || shape->bytes == 0 || shape->addtid || shape->transposes || shape->is_block)
    return Site::Kind::kCall;
  const bool atomic = shape->verb == isa::Verb::kAtomic;
  if (atomic && (shape->bytes != 4 || shape->pair || shape->source2 || isa::is_float(shape->atomic)))
    return Site::Kind::kCall;
  switch (in.encoding) {
    case Encoding::kSmem:
      if (shape->verb != isa::Verb::kLoad || shape->space != isa::Space::kGlobal || in.glc ||
          shape->bytes < 4)
        return Site::Kind::kCall;
      return in.vdst.is_scalar_register() && in.vdst.code + in.vdst.dwords <= isa::code::kVccHi + 1
                 ? Site::Kind::kScalarLoad
                 : Site::Kind::kCall;
    case Encoding::kFlat:
    case Encoding::kGlobal: {
      const bool has_base = in.saddr.exists() && in.saddr.code != isa::code::kNull;
      const bool waits = in.glc && shape->verb == isa::Verb::kLoad;
      if (in.lds || waits || !in.vaddr.exists() || !in.vaddr.is_vgpr()) return Site::Kind::kCall;
      if (in.encoding == Encoding::kFlat && (has_base || plan.traits().flat_drops_offset))
        return Site::Kind::kCall;
      return Site::Kind::kGlobal;
    }
    case Encoding::kScratch:
      return shape->bytes >= 4 && !in.lds ? Site::Kind::kScratch : Site::Kind::kCall;
    case Encoding::kMubuf: {
      // For scratch, a register or 0.
      const bool is_scratch_offset = !in.soffset.exists() || in.soffset.is_scalar_register() ||
                                     in.soffset.code == isa::code::kZero ||
                                     (plan.traits().has_null && in.soffset.code == isa::code::kNull);
      const bool is_plain = shape->bytes >= 4 && !in.idxen && !in.tfe && !in.lds && !in.glc;
      return !atomic && is_plain && is_scratch_offset && in.saddr.is_scalar_register() ? Site::Kind::kScratch
                                                                                       : Site::Kind::kCall;
    }
    case Encoding::kDs:
      if (in.gds) return Site::Kind::kCall;
      return atomic ? Site::Kind::kLdsAtomic : Site::Kind::kLds;
    default:
      return Site::Kind::kCall;
  }
}

bool keep_operations(Plan& plan) {
  const std::vector<MicroOp>& emitted = plan.storage->emitted;
  auto* const kept =
      static_cast<MicroOp*>(std::aligned_alloc(alignof(MicroOp), emitted.size() * sizeof(MicroOp)));
  if (kept == nullptr) return false;
  std::copy(emitted.begin(), emitted.end(), kept);
  plan.storage->operations.reset(kept);
  plan.operations = kept;
  for (Site& site : plan.sites) site.operations = kept + site.first_operation + site.report_count;
  for (Step& step : plan.steps) step.micro = kept + step.operation;
  return true;
}

// Makes a plan. The functions run in the order of their declaration; each uses the results of the previous
// ones.
class Planner {
 public:
  explicit Planner(const Request& request) : request_(request) {}
  tl::expected<std::unique_ptr<Plan>, std::string> run();

 private:
  using Success = tl::expected<void, std::string>;  ///< Or the reason why the kernel is interpreted

  Success read_code();
  void find_effects();
  void find_liveness();
  void describe_waves();
  void keep_image();
  Success lower_nodes();
  Success lower_node(uint32_t node, LoweringContext& context, bool yields);
  void find_lds_stores();
  bool needs_no_report(uint32_t node) const;
  bool inline_handlers(uint32_t node, size_t first, size_t count);
  Success leave_rest_of_blocks();
  Success track_undefined();
  void number_entries();
  void add_way_in(uint32_t node, int32_t entry);
  bool is_way_in(uint32_t node) const;
  bool returns_to_start() const;
  void make_entries();
  void make_entry(int32_t entry, uint64_t pc);

  /// Returns the next unused number of an entry.
  int32_t next_entry() { return static_cast<int32_t>(plan_.entry_count++); }
  /// Numbers the entry before a node, unless it has one.
  void add_entry(uint32_t node) {
    if (plan_.sites[node].entry < 0) plan_.sites[node].entry = next_entry();
  }
  uint32_t first_node() const { return plan_.graph.blocks[plan_.graph.entry].first; }

  const Request& request_;
  std::unique_ptr<Plan> made_ = std::make_unique<Plan>();
  Plan& plan_ = *made_;
  std::vector<bool> is_ignored_;         ///< By node: it does nothing, because it accesses missing registers.
  std::vector<bool> is_near_lds_store_;  ///< By node; only if accesses are reported
  const std::bitset<256> vgprs_ =        ///< Those of the wave
      ~std::bitset<256>() >> (256 - std::min(request_.layout.vgprs, 256u));
};

tl::expected<std::unique_ptr<Plan>, std::string> Planner::run() {
  if (const Success read = read_code(); !read) return tl::unexpected(read.error());
  find_effects();
  find_liveness();
  describe_waves();
  keep_image();
  if (const Success lowered = lower_nodes(); !lowered) return tl::unexpected(lowered.error());
  if (const Success is_worth_it = leave_rest_of_blocks(); !is_worth_it)
    return tl::unexpected(is_worth_it.error());
  if (put_off_switches(plan_)) find_liveness();
  if (const Success tracked = track_undefined(); !tracked) return tl::unexpected(tracked.error());
  plan_.is_counted = request_.is_counted;
  if (plan_.is_counted) plan_.segments = segments_of(plan_);
  if (!keep_operations(plan_)) return tl::unexpected(std::string("not enough memory"));
  number_entries();
  make_entries();
  return std::move(made_);
}

Planner::Success Planner::read_code() {
  if (request_.level == SimdLevel::kBaseline) return tl::unexpected(std::string("the CPU lacks AVX2"));
  if ((request_.variant & ~(kFloatModeBits | kFiniteHalvesVariant)) != 0)
    return tl::unexpected(std::string("unsupported floating-point mode"));
  auto graph = analysis::read_flow_graph(request_.target, request_.layout.wave_size, request_.entry_va,
                                         request_.read, kMostInstructions);
  if (!graph) return tl::unexpected(graph.error());
  plan_.graph = std::move(*graph);
  plan_.mode = mode_of_variant(request_.variant);
  auto modes = modes_of(plan_.graph, plan_.mode);
  if (!modes) return tl::unexpected(modes.error());
  plan_.modes = std::move(*modes);
  return {};
}

void Planner::find_effects() {
  is_ignored_.resize(plan_.graph.nodes.size());
  for (size_t i = 0; i < is_ignored_.size(); ++i) {
    analysis::Node& node = plan_.graph.nodes[i];
    const uint8_t indexed = indexed_of(plan_.modes[i]);
    const Bounds bounds = bound_registers(node.instruction, request_.layout, indexed);
    is_ignored_[i] = bounds == Bounds::kIgnored;
    if (bounds != Bounds::kWithin) {
      node.effects = is_ignored_[i]
                         ? isa::Effects{}
                         : isa::effects_of(node.instruction, request_.target, request_.layout.wave_size);
    }
    if (indexed != 0 && !is_ignored_[i]) add_indexed(node, indexed);
    // The variant includes M0's index bits, also while indexing is off.
    if ((plan_.modes[i] & kGprIndexEnable) != 0) node.effects.reads.scalars.set(isa::code::kM0);
    // Effects such as "any register" concern the registers that the wave has.
    for (isa::Registers* const set : {&node.effects.reads, &node.effects.writes, &node.effects.replaces})
      set->vgprs &= vgprs_;
  }
}

void Planner::find_liveness() {
  plan_.live = analysis::liveness_of(plan_.graph, registers_held_in_code(plan_.graph, request_.is_function));
  for (isa::Registers& live : plan_.live.before) live.vgprs &= vgprs_;
  for (std::bitset<256>& inactive : plan_.live.inactive_before) inactive &= vgprs_;
  for (std::bitset<256>& inactive : plan_.live.inactive_behind) inactive &= vgprs_;
}

void Planner::describe_waves() {
  plan_.layout = request_.layout;
  plan_.level = request_.level;
  const auto calls =
      std::ranges::count_if(plan_.graph.blocks, [](const auto& block) { return block.back.has_value(); });
  plan_.is_large = request_.as_large || request_.is_function || plan_.graph.nodes.size() > kSmallKernel ||
                   static_cast<size_t>(calls) * request_.layout.vgprs > kMostRowsCopied;
  plan_.is_function = request_.is_function;
  plan_.is_checked = request_.checked;
  plan_.reports_accesses = request_.reports_accesses;
  plan_.tracks_undefined = request_.tracks_undefined;
  plan_.start = request_.start;
  plan_.m0_limits_lds = plan_.traits().m0_limits_lds;
  const GroupShape* const group = request_.shape.get();
  if (group == nullptr || !group->waves_are_alike) return;
  for (uint32_t i = 0; i < group->key.id_rows; ++i) {
    const uint32_t* const row = group->row(0, i);
    auto shape = std::make_shared<Shape>();
    shape->zeros = group->zeros[i];
    for (uint32_t lane = 0; lane < request_.layout.wave_size; ++lane)
      shape->offsets[lane] = row[lane] - row[0];
    plan_.ids.push_back(std::move(shape));
  }
}

// Reports print the code around an instruction.
void Planner::keep_image() {
  plan_.storage = std::make_shared<Plan::Storage>();
  Block& block = plan_.storage->block;
  block.pc = plan_.graph.nodes.front().pc;
  block.variant = request_.variant;
  const analysis::Node& last = plan_.graph.nodes.back();
  const uint64_t code_bytes = last.pc + last.instruction.bytes - block.pc;
  auto* const image = static_cast<std::byte*>(plan_.storage->allocate(code_bytes, 8));
  block.bytes = static_cast<uint32_t>(request_.read(block.pc, {image, code_bytes}));
  block.image = image;
}

Planner::Success Planner::lower_nodes() {
  LoweringContext context;
  context.target = request_.target;
  context.layout = request_.layout;
  context.level = request_.level;
  context.checked = request_.checked;
  if (request_.reports_accesses) find_lds_stores();
  const std::vector<bool> yields_behind = analysis::yield_points(plan_.graph, request_.yields);
  plan_.sites.resize(plan_.graph.nodes.size());
  for (uint32_t i = 0; i < plan_.sites.size(); ++i) {
    if (Success lowered = lower_node(i, context, yields_behind[i]); !lowered) return lowered;
  }
  return {};
}

Planner::Success Planner::lower_node(uint32_t index, LoweringContext& context, bool yields) {
  const analysis::Node& node = plan_.graph.nodes[index];
  const isa::Instruction& in = node.instruction;
  Plan::Storage& storage = *plan_.storage;
  Site& site = plan_.sites[index];
  storage.offset = static_cast<uint32_t>(node.pc - storage.block.pc);
  const size_t first = storage.emitted.size();
  site.first_operation = static_cast<uint32_t>(first);
  context.pc = node.pc;
  context.mode = FloatMode::from_mode(plan_.modes[index]);
  context.gpr_index = indexed_of(plan_.modes[index]);
  const auto text = [&](std::string_view why) {
    return fmt::format("{} at {:#x}: {}", isa::name(in.op), node.pc, why);
  };
  const auto leave = [&](std::string_view why) {
    site.kind = Site::Kind::kToInterpreter;
    plan_.left.push_back(text(why));
  };
  // A checked barrier calls the checks, and then control leaves.
  const bool is_checked_barrier = request_.checked && isa::waits_at_barrier(in.op);
  const isa::MemoryShape* const memory = isa::memory_shape(in.op);
  const bool is_observed = request_.reports_accesses || memory != nullptr || is_checked_barrier;
  if (request_.checked && is_observed && !is_ignored_[index]) emit_note_site(in, storage);
  site.report_count = static_cast<uint32_t>(storage.emitted.size() - first);
  const Refusal refusal = is_ignored_[index] || is_checked_barrier ? Refusal() : lower(in, context, storage);
  if (request_.is_counted && refusal.empty() && isa::accesses_block(in.op)) {
    site.block_counter = static_cast<int32_t>(storage.emitted.size());
    storage.emit(count_block);
  }
  const size_t count = storage.emitted.size() - first;
  storage.emit(return_control);
  if (!refusal.empty()) {
    leave(refusal);
  } else if (node.effects.changes_mode) {
    site.kind = Site::Kind::kMode;
    plan_.changes_mode |= !indexes_registers(in.op);
  } else if (isa::waits_at_barrier(in.op)) {
    if (plan_.modes[index] != plan_.mode)
      return tl::unexpected(text("MODE differs from its initial value at a barrier"));
    site.kind = Site::Kind::kBarrier;
  } else if (in.op == Op::s_sleep) {
    site.kind = Site::Kind::kSleep;
  } else if (in.op == Op::s_barrier_signal) {
    site.kind = Site::Kind::kSignal;
  } else if (in.op == Op::s_endpgm) {
    site.kind = Site::Kind::kEnd;
  } else if (isa::is_branch(in.op) || is_long_branch(plan_.graph, index)) {
    site.kind = Site::Kind::kBranch;
  } else if (node.effects.flow != isa::Flow::kNext) {
    leave("it jumps to an unknown address");
  } else if (yields) {
    site.kind = Site::Kind::kYield;
  } else if (count == 0) {
    site.kind = Site::Kind::kNothing;
  } else if (may_leave(in)) {
    leave("a wave may stop at it");
  } else if (request_.tracks_undefined && overwrites_own_address(in)) {
    leave("it overwrites its address before all loaded bits are checked");
  } else {
    site.kind = accesses_agprs(node.effects) ? Site::Kind::kCall : kind_of(in, plan_);
    if (request_.reports_accesses && site.report_count != 0 && !needs_no_report(index)) {
      const bool may_be_affine = site.kind == Site::Kind::kGlobal || site.kind == Site::Kind::kLds;
      site.is_noted = may_be_affine && memory->bytes >= 4 && memory->verb != isa::Verb::kAtomic;
      // No other wave accesses a wave's scratch.
      if (!site.is_noted && site.kind != Site::Kind::kScratch) site.kind = Site::Kind::kCall;
    }
    if (request_.tracks_undefined &&
        (site.kind == Site::Kind::kScratch || site.kind == Site::Kind::kLdsAtomic))
      site.kind = Site::Kind::kCall;
    if (site.kind == Site::Kind::kCall && inline_handlers(index, first, count))
      site.kind = Site::Kind::kInline;
  }
  return {};
}

// Whether accesses of compiled code to be checked for races are not, or elsewhere: loads from LDS that no
// wave writes between the same barriers, and scalar loads (build_scalar_load()).
bool Planner::needs_no_report(uint32_t node) const {
  const Site::Kind kind = plan_.sites[node].kind;
  const isa::MemoryShape* const shape = isa::memory_shape(plan_.graph.nodes[node].instruction.op);
  if (kind == Site::Kind::kScalarLoad) return true;
  return kind == Site::Kind::kLds && shape->verb == isa::Verb::kLoad && !is_near_lds_store_[node];
}

// Marks the instructions that waves may execute between the same two barriers as a store to LDS.
void Planner::find_lds_stores() {
  const auto& nodes = plan_.graph.nodes;
  is_near_lds_store_.assign(nodes.size(), true);
  const auto& blocks = plan_.graph.blocks;
  if (std::ranges::any_of(blocks, [](const auto& block) { return block.leaves || block.back.has_value(); }))
    return;  // Other code may store.
  const auto may_store = [&](const isa::Instruction& in) {
    const isa::MemoryShape* const shape = isa::memory_shape(in.op);
    if (shape == nullptr) return isa::op_class(in.op) == isa::OpClass::kDataShare;
    const bool may_be_lds = in.encoding == Encoding::kDs || in.encoding == Encoding::kFlat || in.lds;
    return may_be_lds && (shape->verb != isa::Verb::kLoad || in.lds);
  };
  std::vector<uint32_t> starts = {blocks[plan_.graph.entry].first};
  for (uint32_t i = 0; i + 1 < nodes.size(); ++i) {
    if (isa::waits_at_barrier(nodes[i].instruction.op)) starts.push_back(i + 1);
  }
  std::vector<bool> is_near(nodes.size());
  for (const uint32_t start : starts) {
    std::vector<bool> reached(nodes.size());
    std::vector<uint32_t> pending = {start};
    bool stores = false;
    while (!pending.empty()) {
      uint32_t node = pending.back();
      pending.pop_back();
      const uint32_t block = plan_.graph.block_of(node);
      bool ends_at_barrier = false;
      for (; node < blocks[block].end && !reached[node] && !ends_at_barrier; ++node) {
        reached[node] = true;
        stores |= may_store(nodes[node].instruction);
        ends_at_barrier = isa::waits_at_barrier(nodes[node].instruction.op);
      }
      if (ends_at_barrier || node != blocks[block].end) continue;
      for (const uint32_t next : blocks[block].successors) pending.push_back(blocks[next].first);
    }
    for (uint32_t i = 0; stores && i < nodes.size(); ++i) is_near[i] = is_near[i] || reached[i];
  }
  is_near_lds_store_ = std::move(is_near);
}

// Adds the steps of a site if the compiler knows all of them; otherwise returns false.
bool Planner::inline_handlers(uint32_t node, size_t first, size_t count) {
  const isa::Instruction& in = plan_.graph.nodes[node].instruction;
  Site& site = plan_.sites[node];
  site.first_step = static_cast<uint32_t>(plan_.steps.size());
  bool known = !has_sign_to_keep(in, plan_.modes[node]), narrowed = false;
  for (size_t s = 0; s < count && known; ++s) {
    const Step step{plan_.storage->known[first + s], static_cast<uint32_t>(first + s)};
    known = step.kind != KnownOperation::Kind::kOther;
    // Operations across lanes that write EXEC are left to the interpreter.
    if (step.kind == KnownOperation::Kind::kWave) {
      known = !in.dst[0].is_scalar_register() || in.dst[0].code < isa::code::kExecLo;
      narrowed |= step.named == NamedOperation::kFetchDpp;
      known = known && (step.named != NamedOperation::kRestoreExec || narrowed);
    }
    if (known) plan_.steps.push_back(step);
  }
  if (known) {
    site.step_count = static_cast<uint32_t>(count);
  } else {
    plan_.steps.resize(site.first_step);
  }
  return known;
}

// Control never reaches the rest of a block after an interpreted instruction. Fails if every wave leaves in
// the first block without coming back: that is not worth compiling. Functions end like that, but must have
// another instruction first.
Planner::Success Planner::leave_rest_of_blocks() {
  for (const analysis::Block& block : plan_.graph.blocks) {
    bool left = false;
    for (uint32_t i = block.first; i < block.end; ++i) {
      left |= plan_.sites[i].kind == Site::Kind::kToInterpreter;
      if (left) plan_.sites[i].kind = Site::Kind::kToInterpreter;
    }
  }
  const analysis::Block& first_block = plan_.graph.blocks[plan_.graph.entry];
  for (uint32_t i = first_block.first; i < first_block.end; ++i) {
    const bool is_worth_it = request_.is_function ? i != first_block.first : first_block.back.has_value();
    if (plan_.sites[i].kind == Site::Kind::kToInterpreter && !is_worth_it)
      return tl::unexpected(plan_.left.front());
  }
  return {};
}

Planner::Success Planner::track_undefined() {
  if (!request_.tracks_undefined) return {};
  const auto reject = [](const char* why) {
    return tl::unexpected(std::string("the check init does not support ") + why + " in compiled code");
  };
  if (request_.is_function) return reject("functions");
  if (request_.layout.agprs != 0) return reject("AGPRs");
  if (returns_to_start()) return reject("a loop that includes the first instruction");
  plan_.definedness = analysis::definedness_of(plan_.graph, plan_.live, request_.start);
  // At each of these sites the code stores all live scalars and leaves. LLVM takes minutes for many of them.
  constexpr ptrdiff_t kMostExits = 200;
  const auto exits = std::ranges::count_if(plan_.sites, [](const Site& site) {
    return site.kind == Site::Kind::kCall || site.kind == Site::Kind::kGlobal ||
           site.kind == Site::Kind::kLds;
  });
  if (plan_.is_large && exits > kMostExits) return reject("more than 200 accesses of memory");
  if (plan_.definedness.writes_unknown) return reject("registers that are indexed by M0");
  plan_.definedness.tracked.vgprs &= vgprs_;
  return {};
}

// Entries: the start, after barriers and calls, loop headers.
void Planner::number_entries() {
  const auto& blocks = plan_.graph.blocks;
  add_entry(first_node());
  if (request_.is_function) add_way_in(first_node(), plan_.sites[first_node()].entry);
  std::set<uint32_t> heads;
  for (const analysis::Block& block : blocks) {
    for (const uint32_t next : block.successors) {
      if (blocks[next].first <= block.first) heads.insert(blocks[next].first);
    }
    if (!block.back) continue;
    const uint32_t back = blocks[*block.back].first;
    add_entry(back);
    if (!is_way_in(back)) add_way_in(back, plan_.sites[back].entry);
  }
  for (const uint32_t head : heads) {
    add_entry(head);
    Site& site = plan_.sites[head];
    if (is_way_in(head) || site.kind == Site::Kind::kToInterpreter) continue;
    site.from_interpreter = next_entry();
    add_way_in(head, site.from_interpreter);
  }
  std::ranges::sort(plan_.ways_in, {}, &Plan::WayIn::pc);
  for (Site& site : plan_.sites) {
    if (site.is_wave_switch()) site.entry_after = next_entry();
  }
  if (!plan_.ids.empty() && !returns_to_start()) plan_.expected_entry = next_entry();
}

void Planner::add_way_in(uint32_t node, int32_t entry) {
  // The interpreter's variant differs while registers are indexed.
  if (indexed_of(plan_.modes[node]) != 0) return;
  plan_.ways_in.push_back({plan_.graph.nodes[node].pc, variant_of_mode(plan_.modes[node]), entry});
}

bool Planner::is_way_in(uint32_t node) const {
  return std::ranges::any_of(plan_.ways_in,
                             [&](const Plan::WayIn& way) { return way.pc == plan_.graph.nodes[node].pc; });
}

// If a loop leads back to the start, its rows may not have their initial values.
bool Planner::returns_to_start() const {
  return std::ranges::any_of(plan_.graph.blocks, [&](const analysis::Block& block) {
    const std::vector<uint32_t> followers = block.followers();
    return std::ranges::find(followers, plan_.graph.entry) != followers.end();
  });
}

void Planner::make_entries() {
  const auto& nodes = plan_.graph.nodes;
  plan_.entries.resize(plan_.entry_count);
  make_entry(plan_.expected_entry, nodes[first_node()].pc);
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    const Site& site = plan_.sites[i];
    make_entry(site.entry, nodes[i].pc);
    make_entry(site.from_interpreter, nodes[i].pc);
    const bool is_last = i + 1 == nodes.size();
    make_entry(site.entry_after, is_last ? nodes[i].pc + nodes[i].instruction.bytes : nodes[i + 1].pc);
  }
}

void Planner::make_entry(int32_t entry, uint64_t pc) {
  if (entry < 0) return;
  const Block& block = plan_.storage->block;
  MicroOp& op = plan_.entries[static_cast<size_t>(entry)];
  op.handler = enter;
  op.aux = static_cast<uint32_t>(entry);
  op.block = &block;
  op.code_offset = static_cast<uint32_t>(pc - block.pc);
}

}  // namespace

isa::Registers Plan::live_after(uint32_t node) const {
  const analysis::Block& block = graph.blocks[graph.block_of(node)];
  if (node + 1 < block.end) return live.before[node + 1];
  isa::Registers wanted;
  for (const uint32_t next : block.successors) wanted |= live.before[graph.blocks[next].first];
  return wanted;
}

std::span<const std::byte> Plan::details(const MicroOp& op) const {
  const auto found = storage->sizes.find(op.imm);
  if (found == storage->sizes.end()) return {};
  return {reinterpret_cast<const std::byte*>(op.imm), found->second};
}

uint64_t Plan::digest() const {
  uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&](uint64_t value) { hash = (hash ^ value) * 0x100000001b3u; };
  for (const Site& site : sites) {
    add(static_cast<uint64_t>(site.kind));
    add(site.first_operation);
    add(static_cast<uint64_t>(site.entry) << 32 ^ static_cast<uint32_t>(site.entry_after));
  }
  for (const Step& step : steps) {
    const MicroOp& op = *step.micro;
    for (const Source& source : op.src) add(source.constant);
    const std::span<const std::byte> beside = details(op);
    for (const std::byte byte : beside) add(static_cast<uint64_t>(byte));
    if (beside.empty()) add(op.imm);
    for (const uint64_t value : {uint64_t{op.dst}, uint64_t{op.dst2}, uint64_t{op.aux}}) add(value);
  }
  for (const uint32_t at : modes) add(at);
  add(entry_count);
  add(static_cast<uint64_t>(expected_entry));
  return hash;
}

void resume(const MicroOp* at, Wave* wave) {
  checks::track_undefined(*wave);
  wave->op = find_interpreted(wave, at, pc_of(at));
  wave->travelling_exec = wave->exec();
  wave->stop = Stop::kRunning;
}

void resume_if_undefined(const MicroOp* at, Wave* wave) {
  if (wave->stop == Stop::kUndefined) resume(at, wave);
}

void note_accesses(const MicroOp* site, Wave* wave, uint64_t begin, const AccessPattern* pattern,
                   uint64_t exec, uint32_t pitch, const uint32_t* data) {
  wave->group->checker->access_pattern(site, *wave, begin, *pattern, exec, pitch, data);
}

void note_rows(const MicroOp* site, Wave* wave, const RowAccesses* accesses, const uint32_t* low,
               const uint32_t* high, uint64_t base, uint64_t exec, const uint32_t* data) {
  wave->group->checker->access_rows(site, *wave, *accesses, low, high, base, exec, data);
}

void forget_lds(WorkGroup* group) {
  std::memset(group->lds_undefined, 0xff, group->lds_bytes);
}

std::byte* find_place(WaveMemory* memory, const MicroOp* site, uint64_t va, uint64_t bytes, Access access) {
  return memory->find_in_bounds(site, va, bytes, access);
}

bool call_handlers(const MicroOp* first, Wave* wave, std::byte* registers) {
  wave->op = first;
  wave->travelling_exec = wave->exec();
  wave->stop = Stop::kRunning;
  do {
    wave->op->handler(wave->op, wave, registers, wave->travelling_exec);
  } while (wave->stop == Stop::kRunning && wave->op->handler != return_control);
  return wave->stop == Stop::kRunning;
}

Counter* find_counters(WorkGroup* group, const Linkage* linkage) {
  GroupCounters& counters = *group->counters;
  const uint32_t end = linkage->first_counter + linkage->segment_count + linkage->instruction_count;
  if (!counters.reserve(end)) return linkage->lost_counters;
  return counters.range(linkage->first_counter, linkage->segment_count);
}

void count_instructions(WorkGroup* group, const Linkage* linkage, uint64_t nodes, int64_t lanes,
                        int64_t times) {
  GroupCounters& counters = *group->counters;
  const auto first = static_cast<uint32_t>(nodes), count = static_cast<uint32_t>(nodes >> 32) - first;
  const uint32_t index = linkage->first_counter + linkage->segment_count + first;
  if (counters.is_incomplete() || !counters.reserve(index + count)) return;
  Counter* const instructions = counters.range(index, count);
  for (uint32_t i = 0; i < count; ++i) {
    instructions[i].count.times += static_cast<uint64_t>(times);
    instructions[i].count.lanes += static_cast<uint64_t>(lanes * times);
  }
}

// Adds a counter for each segment and for each instruction.
static void add_counters(const Plan& plan, CountedPlaces& places, Linkage& linkage) {
  linkage.segment_count = static_cast<uint32_t>(plan.segments.size());
  linkage.instruction_count = static_cast<uint32_t>(plan.graph.nodes.size());
  std::vector<std::vector<uint64_t>> ranges;
  for (const Segment& segment : plan.segments) {
    std::vector<uint64_t>& range = ranges.emplace_back();
    for (uint32_t node = segment.first; node < segment.end; ++node)
      range.push_back(plan.graph.nodes[node].pc);
  }
  for (const analysis::Node& node : plan.graph.nodes) ranges.push_back({node.pc});
  linkage.first_counter = places.add_all(ranges);
}

void attach(Plan& plan, TranslatedCode& code, CountedPlaces& places, Run run) {
  if (plan.is_counted) {
    Linkage& linkage = plan.storage->linkage;
    add_counters(plan, places, linkage);
    plan.storage->lost_counters.resize(linkage.segment_count);
    linkage.lost_counters = plan.storage->lost_counters.data();
    for (uint32_t node = 0; node < plan.sites.size(); ++node) {
      const int32_t operation = plan.sites[node].block_counter;
      if (operation >= 0)
        plan.storage->operations.get()[operation].aux = linkage.first_counter + linkage.segment_count + node;
    }
  }
  plan.storage->block.code = &code;
  plan.storage->linkage.operations = plan.operations;
  plan.storage->linkage.entries = plan.entries.data();
  for (MicroOp& op : plan.entries) {
    op.imm = reinterpret_cast<uint64_t>(run);
    op.src[0].constant = reinterpret_cast<uint64_t>(&plan.storage->linkage);
  }
}

tl::expected<std::unique_ptr<Plan>, std::string> make_plan(const Request& request) {
  return Planner(request).run();
}

}  // namespace rigel::vgpu::exec::compiler
