#include "plugins/vgpu/compiler/plan.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory_resource>
#include <set>
#include <span>

#include <fmt/core.h>

#include "plugins/vgpu/compiler/modes.hpp"
#include "plugins/vgpu/compiler/shapes.hpp"
#include "plugins/vgpu/exec/check/group_checker.hpp"
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
  const auto kept = [&](uint32_t node) {
    return (plan.live.before[node].vgprs | plan.live.inactive_before[node]).count();
  };
  bool any = false;
  for (const analysis::Block& block : plan.graph.blocks) {
    for (uint32_t node = block.first + 1; node + 1 < block.end; ++node) {
      const Site::Kind what = plan.sites[node].kind;
      if (what != Site::Kind::kBarrier && what != Site::Kind::kYield) continue;
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

bool is_branch(Op op) {
  switch (op) {
    case Op::s_branch:
    case Op::s_cbranch_scc0:
    case Op::s_cbranch_scc1:
    case Op::s_cbranch_vccz:
    case Op::s_cbranch_vccnz:
    case Op::s_cbranch_execz:
    case Op::s_cbranch_execnz:
      return true;
    default:
      return false;
  }
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
  if (shape == nullptr || shape->bytes == 0 || shape->addtid) return Site::Kind::kCall;
  const bool atomic = shape->verb == isa::Verb::kAtomic;
  if (atomic && (shape->bytes != 4 || shape->pair || shape->source2 || isa::is_float(shape->atomic)))
    return Site::Kind::kCall;
  switch (in.encoding) {
    case Encoding::kSmem:
      if (shape->verb != isa::Verb::kLoad || shape->space != isa::Space::kGlobal || in.glc)
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
  for (Site& site : plan.sites) site.operations = kept + site.first_operation;
  for (Step& step : plan.steps) step.micro = kept + step.operation;
  return true;
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
  wave->op = find_interpreted(wave, at, pc_of(at));
  wave->travelling_exec = wave->exec();
  wave->stop = Stop::kRunning;
}

std::byte* find_place(WaveMemory* memory, const MicroOp* site, uint64_t va, uint64_t bytes, Access access) {
  return memory->find(site, va, bytes, access);
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

void attach(Plan& plan, TranslatedCode& code, Run run) {
  plan.storage->block.code = &code;
  plan.storage->linkage.operations = plan.operations;
  plan.storage->linkage.entries = plan.entries.data();
  for (MicroOp& op : plan.entries) {
    op.imm = reinterpret_cast<uint64_t>(run);
    op.src[0].constant = reinterpret_cast<uint64_t>(&plan.storage->linkage);
  }
}

tl::expected<std::unique_ptr<Plan>, std::string> make_plan(const Request& request) {
  if (request.level == SimdLevel::kBaseline) return tl::unexpected(std::string("the CPU lacks AVX2"));
  if ((request.variant & ~(kFloatModeBits | kFiniteHalvesVariant)) != 0)
    return tl::unexpected(std::string("unsupported floating-point mode"));
  auto graph = analysis::read_flow_graph(request.target, request.layout.wave_size, request.entry_va,
                                         request.read, kMostInstructions);
  if (!graph) return tl::unexpected(graph.error());
  auto plan = std::make_unique<Plan>();
  plan->graph = std::move(*graph);
  plan->mode = mode_of_variant(request.variant);
  auto modes = modes_of(plan->graph, plan->mode);
  if (!modes) return tl::unexpected(modes.error());
  plan->modes = std::move(*modes);
  std::vector<bool> is_ignored(plan->graph.nodes.size());
  for (size_t i = 0; i < is_ignored.size(); ++i) {
    analysis::Node& node = plan->graph.nodes[i];
    const uint8_t indexed = indexed_of(plan->modes[i]);
    const Bounds bounds = bound_registers(node.instruction, request.layout, indexed);
    is_ignored[i] = bounds == Bounds::kIgnored;
    if (bounds != Bounds::kWithin) {
      node.effects = is_ignored[i]
                         ? isa::Effects{}
                         : isa::effects_of(node.instruction, request.target, request.layout.wave_size);
    }
    if (indexed != 0 && !is_ignored[i]) add_indexed(node, indexed);
    // The variant includes M0's index bits, also while indexing is off.
    if ((plan->modes[i] & kGprIndexEnable) != 0) node.effects.reads.scalars.set(isa::code::kM0);
  }
  // Restricts effects such as "any register" to the registers that the wave has.
  const std::bitset<256> vgprs = ~std::bitset<256>() >> (256 - std::min(request.layout.vgprs, 256u));
  for (analysis::Node& node : plan->graph.nodes) {
    for (isa::Registers* const set : {&node.effects.reads, &node.effects.writes, &node.effects.replaces})
      set->vgprs &= vgprs;
  }
  const isa::Registers elsewhere = registers_held_in_code(plan->graph, request.is_function);
  const auto find_liveness = [&] {
    plan->live = analysis::liveness_of(plan->graph, elsewhere);
    for (isa::Registers& live : plan->live.before) live.vgprs &= vgprs;
    for (std::bitset<256>& inactive : plan->live.inactive_before) inactive &= vgprs;
    for (std::bitset<256>& inactive : plan->live.inactive_behind) inactive &= vgprs;
  };
  find_liveness();
  plan->layout = request.layout;
  plan->level = request.level;
  const auto calls =
      std::ranges::count_if(plan->graph.blocks, [](const auto& block) { return block.back.has_value(); });
  plan->is_large = request.as_large || request.is_function || plan->graph.nodes.size() > kSmallKernel ||
                   static_cast<size_t>(calls) * request.layout.vgprs > kMostRowsCopied;
  plan->is_function = request.is_function;
  plan->is_checked = request.checked;
  plan->m0_limits_lds = plan->traits().m0_limits_lds;
  if (const GroupShape* const group = request.shape.get(); group != nullptr && group->waves_are_alike) {
    for (uint32_t i = 0; i < group->key.id_rows; ++i) {
      const uint32_t* const row = group->row(0, i);
      auto shape = std::make_shared<Shape>();
      shape->zeros = group->zeros[i];
      for (uint32_t lane = 0; lane < request.layout.wave_size; ++lane) {
        shape->offsets[lane] = row[lane] - row[0];
      }
      plan->ids.push_back(std::move(shape));
    }
  }
  plan->storage = std::make_shared<Plan::Storage>();
  Plan::Storage& storage = *plan->storage;
  storage.block.pc = plan->graph.nodes.front().pc;
  storage.block.variant = request.variant;
  // Reports print the code around an instruction.
  const analysis::Node& last = plan->graph.nodes.back();
  const uint64_t code_bytes = last.pc + last.instruction.bytes - storage.block.pc;
  auto* const image = static_cast<std::byte*>(storage.allocate(code_bytes, 8));
  storage.block.bytes = static_cast<uint32_t>(request.read(storage.block.pc, {image, code_bytes}));
  storage.block.image = image;

  LoweringContext context;
  context.target = request.target;
  context.layout = request.layout;
  context.level = request.level;
  context.checked = request.checked;
  const auto& nodes = plan->graph.nodes;
  const std::vector<bool> yields_behind = analysis::yield_points(plan->graph, request.yields);
  plan->sites.resize(nodes.size());
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    const isa::Instruction& in = nodes[i].instruction;
    Site& site = plan->sites[i];
    storage.offset = static_cast<uint32_t>(nodes[i].pc - storage.block.pc);
    const size_t first = storage.emitted.size();
    site.first_operation = static_cast<uint32_t>(first);
    context.pc = nodes[i].pc;
    context.mode = FloatMode::from_mode(plan->modes[i]);
    context.gpr_index = indexed_of(plan->modes[i]);
    const auto text = [&](std::string_view why) {
      return fmt::format("{} at {:#x}: {}", isa::name(in.op), nodes[i].pc, why);
    };
    const auto leave = [&](std::string_view why) {
      site.kind = Site::Kind::kToInterpreter;
      plan->left.push_back(text(why));
    };
    // A checked barrier calls the checks, and then control leaves.
    const bool is_checked_barrier = request.checked && in.op == Op::s_barrier;
    if (request.checked && !is_ignored[i]) emit_note_site(in, storage);
    const bool reports = storage.emitted.size() != first;
    const Refusal refusal = is_ignored[i] || is_checked_barrier ? Refusal() : lower(in, context, storage);
    const size_t count = storage.emitted.size() - first;
    storage.emit(return_control);
    if (!refusal.empty()) {
      leave(refusal);
    } else if (nodes[i].effects.changes_mode) {
      site.kind = Site::Kind::kMode;
      plan->changes_mode |= !indexes_registers(in.op);
    } else if (in.op == Op::s_barrier) {
      if (plan->modes[i] != plan->mode)
        return tl::unexpected(text("MODE differs from its initial value at a barrier"));
      site.kind = Site::Kind::kBarrier;
    } else if (in.op == Op::s_sleep) {
      site.kind = Site::Kind::kSleep;
    } else if (in.op == Op::s_endpgm) {
      site.kind = Site::Kind::kEnd;
    } else if (is_branch(in.op) || is_long_branch(plan->graph, i)) {
      site.kind = Site::Kind::kBranch;
    } else if (nodes[i].effects.goes_elsewhere) {
      leave("it jumps to an unknown address");
    } else if (yields_behind[i]) {
      site.kind = Site::Kind::kYield;
    } else if (count == 0) {
      site.kind = Site::Kind::kNothing;
    } else if (may_leave(in)) {
      leave("a wave may stop at it");
    } else {
      const bool is_call = reports || accesses_agprs(nodes[i].effects);
      site.kind = is_call ? Site::Kind::kCall : kind_of(in, *plan);
      if (site.kind == Site::Kind::kCall) {
        site.first_step = static_cast<uint32_t>(plan->steps.size());
        bool known = !has_sign_to_keep(in, plan->modes[i]), narrowed = false;
        for (size_t s = 0; s < count && known; ++s) {
          const Step step{storage.known[first + s], static_cast<uint32_t>(first + s)};
          known = step.kind != KnownOperation::Kind::kOther;
          // Operations across lanes that write EXEC are left to the interpreter.
          if (step.kind == KnownOperation::Kind::kWave) {
            known = !in.dst[0].is_scalar_register() || in.dst[0].code < isa::code::kExecLo;
            narrowed |= step.named == NamedOperation::kFetchDpp;
            known = known && (step.named != NamedOperation::kRestoreExec || narrowed);
          }
          if (known) plan->steps.push_back(step);
        }
        if (known) {
          site.kind = Site::Kind::kInline;
          site.step_count = static_cast<uint32_t>(count);
        } else {
          plan->steps.resize(site.first_step);
        }
      }
    }
  }
  // Control never reaches the rest of the block after an interpreted instruction.
  for (const analysis::Block& block : plan->graph.blocks) {
    bool left = false;
    for (uint32_t i = block.first; i < block.end; ++i) {
      left |= plan->sites[i].kind == Site::Kind::kToInterpreter;
      if (left) plan->sites[i].kind = Site::Kind::kToInterpreter;
    }
  }
  // Code that every wave leaves in the first block, without coming back, is not worth compiling. Functions
  // end like that, but must have another instruction first.
  const analysis::Block& first_block = plan->graph.blocks[plan->graph.entry];
  for (uint32_t i = first_block.first; i < first_block.end; ++i) {
    const bool is_worth_it = request.is_function ? i != first_block.first : first_block.back.has_value();
    if (plan->sites[i].kind == Site::Kind::kToInterpreter && !is_worth_it)
      return tl::unexpected(plan->left.front());
  }
  if (put_off_switches(*plan)) find_liveness();
  if (!keep_operations(*plan)) return tl::unexpected(std::string("not enough memory"));

  // Entries: the start, after barriers and calls, loop headers.
  uint32_t entries = 0;
  const auto& blocks = plan->graph.blocks;
  const auto add = [&](uint32_t node) {
    if (plan->sites[node].entry < 0) plan->sites[node].entry = static_cast<int32_t>(entries++);
  };
  add(blocks[plan->graph.entry].first);
  const auto add_way_in = [&](uint32_t node, int32_t entry) {
    // The interpreter's variant differs while registers are indexed.
    if (indexed_of(plan->modes[node]) != 0) return;
    plan->ways_in.push_back({nodes[node].pc, variant_of_mode(plan->modes[node]), entry});
  };
  const uint32_t beginning = blocks[plan->graph.entry].first;
  if (request.is_function) add_way_in(beginning, plan->sites[beginning].entry);
  const auto is_way_in = [&](uint32_t node) {
    return std::ranges::any_of(plan->ways_in,
                               [&](const Plan::WayIn& way) { return way.pc == nodes[node].pc; });
  };
  std::set<uint32_t> heads;
  for (const analysis::Block& block : blocks) {
    for (const uint32_t next : block.successors) {
      if (blocks[next].first <= block.first) heads.insert(blocks[next].first);
    }
    if (!block.back) continue;
    const uint32_t back = blocks[*block.back].first;
    add(back);
    if (!is_way_in(back)) add_way_in(back, plan->sites[back].entry);
  }
  for (const uint32_t head : heads) {
    add(head);
    if (is_way_in(head) || plan->sites[head].kind == Site::Kind::kToInterpreter) continue;
    plan->sites[head].from_interpreter = static_cast<int32_t>(entries++);
    add_way_in(head, plan->sites[head].from_interpreter);
  }
  std::ranges::sort(plan->ways_in, {}, &Plan::WayIn::pc);
  for (Site& site : plan->sites) {
    if (site.is_wave_switch()) site.entry_after = static_cast<int32_t>(entries++);
  }
  // If a loop leads back to the start, its rows may not have their initial values.
  const bool is_wave_switch = std::any_of(blocks.begin(), blocks.end(), [&](const analysis::Block& block) {
    const std::vector<uint32_t> followers = block.followers();
    return std::find(followers.begin(), followers.end(), plan->graph.entry) != followers.end();
  });
  if (!plan->ids.empty() && !is_wave_switch) plan->expected_entry = static_cast<int32_t>(entries++);
  plan->entry_count = entries;
  plan->entries.resize(entries);
  const auto make_entry = [&](int32_t entry, uint64_t pc) {
    if (entry < 0) return;
    MicroOp& op = plan->entries[static_cast<size_t>(entry)];
    op.handler = enter;
    op.aux = static_cast<uint32_t>(entry);
    op.block = &storage.block;
    op.code_offset = static_cast<uint32_t>(pc - storage.block.pc);
  };
  make_entry(plan->expected_entry, nodes[blocks[plan->graph.entry].first].pc);
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    make_entry(plan->sites[i].entry, nodes[i].pc);
    make_entry(plan->sites[i].from_interpreter, nodes[i].pc);
    if (plan->sites[i].entry_after < 0) continue;
    const bool is_last = i + 1 == nodes.size();
    make_entry(plan->sites[i].entry_after,
               is_last ? nodes[i].pc + nodes[i].instruction.bytes : nodes[i + 1].pc);
  }
  return plan;
}

}  // namespace rigel::vgpu::exec::compiler
