#include "plugins/vgpu/exec/translated_code.hpp"

#include <algorithm>
#include <cstring>
#include <memory_resource>
#include <new>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "plugins/vgpu/cp/host_fault.hpp"
#include "plugins/vgpu/exec/check/group_checker.hpp"
#include "plugins/vgpu/exec/core.hpp"
#include "plugins/vgpu/exec/native/aside.hpp"
#include "plugins/vgpu/exec/native/perf_map.hpp"
#include "plugins/vgpu/exec/profile/group_sampler.hpp"
#include "plugins/vgpu/exec/register_bounds.hpp"
#include "plugins/vgpu/exec/report/place.hpp"
#include "plugins/vgpu/exec/scalar.hpp"
#include "plugins/vgpu/isa/decoder.hpp"
#include "plugins/vgpu/isa/effects.hpp"
#include "plugins/vgpu/isa/instruction_tables.hpp"
#include "plugins/vgpu/isa/memory_shape.hpp"
#include "plugins/vgpu/isa/op_class.hpp"

namespace rigel::vgpu::exec {
namespace {

constexpr uint32_t kMaxInstructions = 2048;  // of a block

// Micro-operations that do not belong to an instruction
// ---------------------------------------------------------------------------------------------------

void illegal(const MicroOp* op, Wave* wave, std::byte*, uint64_t) {
  wave->stop = Stop::kIllegal;
  wave->illegal_reason = reinterpret_cast<const char*>(op->imm);
  RIGEL_LEAVE(op, wave);
}

void without_memory(const MicroOp* op, Wave* wave, std::byte*, uint64_t) {
  wave->stop = Stop::kNoMemory;
  RIGEL_LEAVE(op, wave);
}

void unfetchable(const MicroOp* op, Wave* wave, std::byte*, uint64_t) {
  wave->stop = Stop::kFault;
  wave->fault_va = op->imm;
  wave->fault_access = static_cast<uint8_t>(Access::kExecute);
  wave->fault_reason = static_cast<uint8_t>(op->aux);
  RIGEL_LEAVE(op, wave);
}

void go_to(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  Link* const link = reinterpret_cast<Link*>(op->imm);
  const MicroOp* next = link->target.load(std::memory_order_acquire);
  if (next == nullptr) next = follow(op, link);
  wave->budget -= link->cost;
  RIGEL_NEXT_BLOCK(next, wave, registers, exec);
}

void yield(const MicroOp* op, Wave* wave, std::byte*, uint64_t) {
  wave->stop = Stop::kYield;
  RIGEL_LEAVE(op + 1, wave);
}

void count_instruction(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  wave->group->counters->count(op->aux, static_cast<unsigned>(__builtin_popcountll(exec)));
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

void sample_instruction(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  GroupSampler& sampler = *wave->group->counters->sampler;
  if (sampler.step(wave->id_in_group)) sampler.take(*wave, pc_of(op), exec);
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

void trace_instruction(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  wave->core->trace(*wave, pc_of(op));
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

// Reading code
// ---------------------------------------------------------------------------------------------------

// Reads code on demand and keeps what it has read.
class Fetcher {
 public:
  Fetcher(DeviceBus& bus, uint64_t pc) : bus_(bus), pc_(pc) {}

  /// Reads [offset, offset + bytes) if necessary. Returns how many of these bytes are readable.
  size_t fetch(size_t offset, size_t bytes) {
    while (image_.size() < offset + bytes) {
      // One cache line at a time, so that little more is read than is executed.
      const Translation found = bus_.translate(pc_ + image_.size(), 64, Access::kExecute);
      if (found.host == nullptr) {
        reason_ = found.reason == FaultReason::kNone ? FaultReason::kNotPresent : found.reason;
        break;
      }
      std::byte line[64];
      if (!guarded_read(line, found.host, found.bytes)) {
        reason_ = last_host_fault().reason;
        break;
      }
      image_.insert(image_.end(), line, line + found.bytes);
    }
    return image_.size() <= offset ? 0 : std::min(bytes, image_.size() - offset);
  }
  const std::byte* at(size_t offset) const { return image_.data() + offset; }
  FaultReason reason() const { return reason_; }

 private:
  DeviceBus& bus_;
  const uint64_t pc_;
  std::vector<std::byte> image_;
  FaultReason reason_ = FaultReason::kNotPresent;
};

// A consistent view of code for one plan: each byte is read only once, since a program may store to its code.
class CodeSnapshot {
 public:
  explicit CodeSnapshot(DeviceBus& bus) : bus_(bus) {}

  /// Copies code at `va`. Returns how many bytes are readable.
  size_t read(uint64_t va, std::span<std::byte> to) {
    size_t done = 0;
    while (done < to.size()) {
      const uint64_t at = va + done;
      const Line& line = line_of(at);
      const size_t before = at % kLineBytes;
      if (before >= line.bytes) break;
      const size_t count = std::min(to.size() - done, line.bytes - before);
      std::memcpy(to.data() + done, line.data + before, count);
      done += count;
    }
    return done;
  }

 private:
  static constexpr size_t kLineBytes = 64;
  struct Line {
    size_t bytes = 0;
    std::byte data[kLineBytes];
  };

  const Line& line_of(uint64_t va) {
    const auto [found, is_new] = lines_.try_emplace(va / kLineBytes);
    Line& line = found->second;
    while (is_new && line.bytes < kLineBytes) {
      const uint64_t at = va / kLineBytes * kLineBytes + line.bytes;
      const Translation memory = bus_.translate(at, kLineBytes - line.bytes, Access::kExecute);
      if (memory.host == nullptr || !guarded_read(line.data + line.bytes, memory.host, memory.bytes)) break;
      line.bytes += memory.bytes;
    }
    return line;
  }

  DeviceBus& bus_;
  std::unordered_map<uint64_t, Line> lines_;
};

}  // namespace

void count_block(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  const auto lanes = static_cast<uint64_t>(__builtin_popcountll(exec));
  const auto dwords = static_cast<uint64_t>(__builtin_popcount(wave->scalars()[isa::code::kM0]));
  wave->group->counters->count_block(op->aux, lanes * dwords);
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

// Translation of a block
// ---------------------------------------------------------------------------------------------------

struct TranslatedCode::Translation final : Emitter {
  /// yields_after: see TranslatedCode::yields_after_; must live until run() returns.
  Translation(const CodeKey& code_key, DeviceBus& bus, uint64_t pc, uint32_t variant,
              const std::unordered_map<uint64_t, bool>& yields_after, CountedPlaces& counted_places)
      : key(code_key), yields(yields_after), places_of_counters(counted_places), fetcher(bus, pc) {
    block.pc = pc;
    block.variant = variant;
  }

  MicroOp& emit(Handler handler) override {
    MicroOp& op = emitted.emplace_back();
    op.handler = handler;
    op.code_offset = offset;
    op.block = &block;
    return op;
  }

  void identify(const KnownOperation& operation) override {
    using Named = NamedOperation;
    const Named name = operation.named;
    if (name == Named::kFetchDpp || name == Named::kSwizzle32 || name == Named::kSwizzle64)
      moves_lanes = emitted.size();
  }

  void* allocate(uint64_t bytes, uint64_t alignment) override {
    allocated += bytes;
    return arena.allocate(bytes, alignment);
  }

  Link* link(uint64_t pc) override {
    Link* const new_link = new (arena.allocate(sizeof(Link), alignof(Link))) Link;
    new_link->pc = pc;
    new_link->cost = int64_t{position} + 1;
    links.push_back(new_link);
    if (pc > block.pc + offset) forward.insert(pc);
    return new_link;
  }

  const char* keep(std::string_view text) {
    char* const copy = static_cast<char*>(arena.allocate(text.size() + 1, 1));
    std::memcpy(copy, text.data(), text.size());
    copy[text.size()] = 0;
    return copy;
  }

  void run() {
    context.target = key.target;
    context.layout = key.layout;
    context.level = key.level;
    context.mode = FloatMode::from_mode(mode_of_variant(block.variant));
    context.checked = key.checked;
    context.gpr_index = static_cast<uint8_t>(block.variant >> kGprIndexShift & 0xf);
    indexes = (block.variant & kIndexingVariant) != 0;
    context.skip_vector = (block.variant & kSkipVectorVariant) != 0;
    do {
      if (position == kMaxInstructions) {
        emit_go_to(block.pc + offset);
        if (!skip_to_next_path()) break;
      }
    } while (step());
    finish();
  }

 private:
  struct Place {
    uint32_t op = 0;
    uint32_t position = 0;
  };

  /// Translates one instruction. Returns false at the end of the block.
  bool step() {
    forward.erase(block.pc + offset);
    places.emplace(offset, Place{static_cast<uint32_t>(emitted.size()), position});
    const size_t available = fetcher.fetch(offset, isa::kMaxInstructionDwords * 4);
    if (available < 4) return end_of_memory(available);
    uint32_t words[isa::kMaxInstructionDwords] = {};
    std::memcpy(words, fetcher.at(offset), available);
    isa::Instruction instruction;
    const isa::DecodeStatus status = isa::decode(key.target, words, available / 4, instruction);
    if (status == isa::DecodeStatus::kTruncated) {
      end = std::max(end, offset + static_cast<uint32_t>(available));
      return end_of_memory(available);
    }
    if (status != isa::DecodeStatus::kOk) {
      end = std::max(end, offset + 4);
      return reject(isa::reason(status));
    }
    end = std::max(end, offset + instruction.bytes);
    if (key.traced) emit(trace_instruction);
    if (key.checked) emit_note_site(instruction, *this);
    if (key.sampled) emit(sample_instruction);
    const uint32_t counter = key.counted ? places_of_counters.add(block.pc + offset) : 0;
    if (key.counted) emit(count_instruction).aux = counter;
    const size_t before = emitted.size();
    context.pc = block.pc + offset;
    context.position = position;
    context.ends_block = false;
    const Bounds bounds = bound_registers(instruction, key.layout, context.gpr_index);
    if (bounds != Bounds::kWithin && first_missing_register == kNone) first_missing_register = offset;
    InitRule* rule = nullptr;
    if (key.tracks_undefined && bounds != Bounds::kIgnored) rule = emit_init_rule(instruction);
    moves_lanes = 0;
    const Refusal refusal = bounds == Bounds::kIgnored ? Refusal() : lower(instruction, context, *this);
    if (!refusal.empty()) {
      emitted.resize(before);
      return reject(refusal);
    }
    if (key.counted && isa::accesses_block(instruction.op)) emit(count_block).aux = counter;
    if (rule != nullptr && moves_lanes != 0) {
      auto* const map = static_cast<LaneMap*>(allocate(sizeof(LaneMap), alignof(LaneMap)));
      *map = lanes_moved_by(emitted[moves_lanes - 1], instruction, key.layout.wave_size);
      rule->lanes = map;
    }
    if (indexes && !context.ends_block && changes_indexed_operands(instruction))
      scalar::emit_change_variant(instruction, context, *this);
    const auto waits = yields.find(block.pc + offset);
    if (waits != yields.end() && waits->second) emit(yield);
    offset += instruction.bytes;
    ++position;
    return !context.ends_block || skip_to_next_path();
  }

  // Returns null if the instruction has no rule.
  InitRule* emit_init_rule(const isa::Instruction& instruction) {
    if (instruction.second_op != isa::Op::none) {
      const isa::PairOrder order = isa::order_of_pair(instruction);
      const isa::Instruction first = isa::first_of_pair(instruction),
                             second = isa::second_of_pair(instruction);
      InitRule forgets;
      forgets.kind = InitRule::Kind::kForget;
      if (order == isa::PairOrder::kFirstSecondWithCopy) return emit_init_rule(forgets);
      const bool swaps = order == isa::PairOrder::kSecondFirst;
      emit_init_rule(swaps ? second : first);
      return emit_init_rule(swaps ? first : second);
    }
    return emit_init_rule(init_rule(instruction, context));
  }

  InitRule* emit_init_rule(const InitRule& rule) {
    if (rule.kind == InitRule::Kind::kNone) return nullptr;
    auto* const kept = static_cast<InitRule*>(allocate(sizeof rule, alignof(InitRule)));
    *kept = rule;
    emit(apply_init_rule).imm = reinterpret_cast<uint64_t>(kept);
    return kept;
  }

  // Ends a path because memory ends within the instruction or before it.
  bool end_of_memory(size_t available) {
    MicroOp& op = emit(unfetchable);
    op.imm = block.pc + offset + available;
    op.aux = static_cast<uint32_t>(fetcher.reason());
    complete = false;
    return skip_to_next_path();
  }

  // While GPR_IDX_EN is on, M0[15:12] select the indexed operands. Any instruction may write them.
  bool changes_indexed_operands(const isa::Instruction& instruction) const {
    if (instruction.op == isa::Op::s_set_gpr_idx_idx) return false;
    return isa::effects_of(instruction, key.target, key.layout.wave_size).writes.scalars[isa::code::kM0];
  }

  bool reject(std::string_view why) {
    emit(illegal).imm = reinterpret_cast<uint64_t>(keep(why));
    return skip_to_next_path();
  }

  // After the end of a path: continues at the next target of a forward branch, if it is near.
  bool skip_to_next_path() {
    constexpr uint64_t kNear = 256;
    const auto next = forward.lower_bound(block.pc + offset);
    if (position >= kMaxInstructions || next == forward.end() || *next - (block.pc + offset) > kNear) {
      return false;
    }
    offset = static_cast<uint32_t>(*next - block.pc);
    return true;
  }

  void emit_go_to(uint64_t pc) {
    Link* const out = link(pc);
    out->cost = position;
    emit(go_to).imm = reinterpret_cast<uint64_t>(out);
  }

  void finish() {
    ops = static_cast<MicroOp*>(arena.allocate(emitted.size() * sizeof(MicroOp), alignof(MicroOp)));
    std::copy(emitted.begin(), emitted.end(), ops);
    block.ops = ops;
    block.op_count = static_cast<uint32_t>(emitted.size());
    block.bytes = end;
    std::byte* const image = static_cast<std::byte*>(arena.allocate(std::max<size_t>(end, 1), 8));
    const size_t fetched = fetcher.fetch(0, end);
    if (fetched != 0) std::memcpy(image, fetcher.at(0), fetched);
    block.bytes = static_cast<uint32_t>(fetched);
    block.image = image;
    for (Link* const edge : links) {
      const auto place = places.find(static_cast<uint32_t>(edge->pc - block.pc));
      if (edge->pc < block.pc || edge->pc - block.pc > UINT32_MAX || place == places.end()) continue;
      edge->target.store(ops + place->second.op, std::memory_order_relaxed);
      edge->cost -= place->second.position;
    }
    emitted = {};
    places = {};
    forward = {};
  }

 public:
  const CodeKey& key;
  Block block;
  bool complete = true;  // all of its code could be fetched
  static constexpr uint32_t kNone = ~0u;
  // Offset of the first instruction that names a register which waves do not have.
  uint32_t first_missing_register = kNone;

  size_t bytes() const {
    return sizeof *this + allocated + block.op_count * sizeof(MicroOp) + links.size() * sizeof(Link) +
           2 * size_t{block.bytes};  // image and fetcher
  }

 private:
  const std::unordered_map<uint64_t, bool>& yields;
  CountedPlaces& places_of_counters;
  Fetcher fetcher;
  size_t allocated = 0;
  LoweringContext context;
  bool indexes = false;  // GPR_IDX_EN is on
  std::pmr::monotonic_buffer_resource arena;
  std::vector<MicroOp> emitted;
  size_t moves_lanes = 0;  // after the present instruction's micro-operation that moves data between lanes
  std::vector<Link*> links;
  std::unordered_map<uint32_t, Place> places;  // by offset
  std::set<uint64_t> forward;                  // targets of forward branches
  MicroOp* ops = nullptr;
  uint32_t offset = 0;
  uint32_t position = 0;
  uint32_t end = 0;
};

// TranslatedCode
// ---------------------------------------------------------------------------------------------------

TranslatedCode::TranslatedCode(const CodeKey& key, DeviceBus& bus, std::string kernel)
    : key_(key), kernel_(std::move(kernel)), bus_(bus) {
  no_memory_op_.handler = without_memory;
  no_memory_op_.block = &no_memory_;
  no_memory_.code = this;
  no_memory_.pc = key.entry_va;
  no_memory_.ops = &no_memory_op_;
}

TranslatedCode::~TranslatedCode() = default;

const Block& TranslatedCode::block_at(uint64_t pc, uint32_t variant) {
  std::atomic<const Block*>& cached = cache_[hash(pc, variant) % kCached];
  const Block* block = cached.load(std::memory_order_acquire);
  if (block == nullptr || block->pc != pc || block->variant != variant) {
    try {
      block = find_or_translate(pc, variant);
    } catch (const std::bad_alloc&) {
      return no_memory_;
    }
    cached.store(block, std::memory_order_release);
  }
  return *block;
}

const MicroOp* TranslatedCode::find(uint64_t pc, uint32_t variant) {
  return block_at(pc, variant).ops;
}

const MicroOp* TranslatedCode::find_best(uint64_t pc, uint32_t variant) {
  const Block& block = block_at(pc, variant);
  const MicroOp* const compiled = block.compiled.load(std::memory_order_acquire);
  return compiled != nullptr ? compiled : block.ops;
}

const MicroOp* TranslatedCode::find_function(uint64_t pc, uint32_t variant) {
  const Block& block = block_at(pc, variant);
  if (const MicroOp* const compiled = block.compiled.load(std::memory_order_acquire)) return compiled;
  const bool is_no_function =
      key_.compilation == Compilation::kNone || key_.traced || key_.tracks_undefined || pc == key_.entry_va;
  if (is_no_function || is_missing(block.ops)) return block.ops;
  if (!block.is_called.exchange(true, std::memory_order_relaxed)) add_function(block);
  return block.ops;
}

void TranslatedCode::add_function(const Block& block) {
  if (!compiler::why_no_compiler().empty()) return;
  const MutexLock lock(mutex_);
  try {
    functions_.push_back({block.pc, block.variant});
    new_functions_.push_back({block.pc, block.variant});
  } catch (const std::bad_alloc&) {  // It stays interpreted.
  }
  has_functions_.store(true, std::memory_order_relaxed);
  has_new_functions_.store(true, std::memory_order_relaxed);
}

const MicroOp* TranslatedCode::compiled_entry(uint64_t pc, uint32_t variant, const GroupShape& shape) {
  const MutexLock lock(mutex_);
  const auto entries = compiled_entries_.find({pc, variant});
  if (entries == compiled_entries_.end()) return nullptr;
  const auto entry = std::ranges::find_if(
      entries->second, [&](const CompiledEntry& each) { return each.compiled->covers(shape); });
  return entry == entries->second.end() ? nullptr : entry->op;
}

const Block* TranslatedCode::find_or_translate(uint64_t pc, uint32_t variant) {
  const MutexLock lock(mutex_);
  ensure_surveyed();
  const auto found = blocks_.find({pc, variant});
  if (found != blocks_.end()) return found->second;
  if (may_yield_) find_yields(pc);
  auto translation = std::make_unique<Translation>(key_, bus_, pc, variant, yields_after_, *places_);
  translation->block.code = this;
  translation->run();
  if (translation->first_missing_register != Translation::kNone &&
      !std::exchange(warned_of_registers_, true)) {
    bus_.report(Severity::kWarning, {}, describe_missing_register(*translation));
  }
  const Block* const block = &translation->block;
  const auto entries = compiled_entries_.find({pc, variant});
  if (entries != compiled_entries_.end())
    block->compiled.store(entries->second.front().op, std::memory_order_release);
  bytes_.fetch_add(translation->bytes(), std::memory_order_relaxed);
  translations_.push_back(std::move(translation));
  blocks_.emplace(BlockKey{pc, variant}, block);
  return block;
}

void TranslatedCode::ensure_surveyed() {
  if (is_surveyed_) return;
  const Survey found = survey();
  // If a kernel calls functions, other waves may spin in one until this wave stores. GCC's OpenMP does that.
  may_yield_ = key_.yields == analysis::Yields::kAtWaits ||
               (key_.yields == analysis::Yields::kBeforeStores && found.has_barrier && !found.calls);
  is_surveyed_ = true;
}

TranslatedCode::Usage& TranslatedCode::usage(uint32_t variant,
                                             const std::shared_ptr<const GroupShape>& shape) {
  const MutexLock lock(mutex_);
  Usage& usage = usages_[{variant, shape->key}];
  if (usage.shape == nullptr) {
    usage.variant = variant;
    usage.shape = shape;
  }
  return usage;
}

std::optional<TranslatedCode::Target> TranslatedCode::missing_form(const Usage& usage) {
  constexpr uint32_t kGeneral = kForms - 1;
  Target missing{{key_.entry_va, usage.variant}, nullptr, kGeneral};
  for (uint32_t form = 0; usage.shape->waves_are_alike && form < kGeneral; ++form) {
    const Target& claimed = claimed_[form];
    if (claimed.pc == 0) {
      missing.shape = usage.shape;
      missing.form = form;
      break;
    }
    if (claimed.variant == usage.variant && claimed.shape->covers(*usage.shape)) return std::nullopt;
  }
  if (missing.form == kGeneral && claimed_[kGeneral].pc != 0) return std::nullopt;
  return missing;
}

std::optional<TranslatedCode::Target> TranslatedCode::claim(const Usage& usage) {
  const std::optional<Target> missing = missing_form(usage);
  if (missing) claimed_[missing->form] = *missing;
  return missing;
}

void TranslatedCode::prepare(Usage& usage) {
  if (key_.compilation == Compilation::kNone || key_.traced) return;
  if (usage.is_prepared.load(std::memory_order_acquire)) return;
  const MutexLock supply_lock(supplying_);
  if (usage.is_prepared.load(std::memory_order_relaxed)) return;
  std::optional<Target> target;
  {
    const TranslationScope scope(bus_);
    const MutexLock lock(mutex_);
    ensure_surveyed();
    target = missing_form(usage);
  }
  if (target) supply(*target);
  usage.is_prepared.store(true, std::memory_order_release);
}

void TranslatedCode::supply() {
  const MutexLock supply_lock(supplying_);
  std::vector<BlockKey> targets;
  {
    const MutexLock lock(mutex_);
    targets.swap(new_functions_);
    has_new_functions_.store(false, std::memory_order_relaxed);
  }
  for (const BlockKey& target : targets) supply(Target{target});
}

void TranslatedCode::supply(const Target& target) {
  const bool beforehand = key_.compilation == Compilation::kBeforehand;
  const bool is_kernel = target.pc == key_.entry_va;
  const auto is_claimed = [&]() RIGEL_REQUIRES(mutex_) { return is_kernel && claimed_[target.form].pc != 0; };
  if (!beforehand) {
    // Planning takes time, so it is skipped if the disk cache does not have the code.
    std::string name;
    {
      const TranslationScope scope(bus_);
      const MutexLock lock(mutex_);
      if (is_claimed()) return;
      name = compiler::cache_name(request(target));
    }
    if (!compiler::is_cached(name)) return;
  }
  std::shared_ptr<Compiled> planned;
  {
    const TranslationScope scope(bus_);
    const MutexLock lock(mutex_);
    if (is_claimed()) return;
    if (beforehand && is_kernel) claimed_[target.form] = target;
    auto plan_or_reason = plan(target);
    if (!plan_or_reason) {
      if (beforehand) note_failure(target.pc, std::move(plan_or_reason.error()));
      return;
    }
    planned = std::move(*plan_or_reason);
  }
  compiler::Compiled result = beforehand
                                  ? compiler::compile(*planned->plan, planned->request, planned->images)
                                  : compiler::find_cached(*planned->plan, planned->request, planned->images);
  const MutexLock lock(mutex_);
  if (result.run == nullptr) {
    if (beforehand) note_failure(target.pc, std::move(result.error));
    return;
  }
  if (!beforehand && is_claimed()) return;  // It has become hot meanwhile.
  if (is_kernel) claimed_[target.form] = target;
  std::erase(functions_, static_cast<const BlockKey&>(target));
  has_functions_.store(!functions_.empty(), std::memory_order_relaxed);
  publish(planned, std::move(result));
  log_compiled(*planned);
}

void TranslatedCode::log_compiled(const Compiled& compiled) {
  const bool is_loaded = compiled.cache_use == compiler::CacheUse::kLoaded;
  std::string state = is_loaded ? "compiled, from the cache" : "compiled";
  if (!compiled.plan->left.empty())
    state += fmt::format(", interpreted from {}", fmt::join(compiled.plan->left, "; "));
  log_state(compiled.request.entry_va, state);
}

void TranslatedCode::log_state(uint64_t pc, std::string_view state) {
  if (!bus_.trace_enabled(TraceTopic::kDispatch)) return;
  const char* const kind = pc == key_.entry_va ? "kernel" : "function";
  bus_.trace(TraceTopic::kDispatch, fmt::format("{} at {:#x}: {}", kind, pc, state));
}

void TranslatedCode::warn_of_exceptions() {
  if (warned_of_exceptions_.exchange(true, std::memory_order_relaxed)) return;
  bus_.report(
      Severity::kWarning, {},
      fmt::format("kernel at {:#x}: it enables arithmetic exceptions (EXCP_EN), which are not supported; "
                  "TRAPSTS does not record them and no wave traps",
                  key_.entry_va));
}

void TranslatedCode::note_failure(uint64_t pc, std::string why) {
  log_state(pc, "interpreted: " + why);
  if (pc == key_.entry_va) why_not_compiled_ = std::move(why);
}

bool TranslatedCode::is_to_be_compiled(const Usage& usage) {
  const MutexLock lock(mutex_);
  return !key_.traced && (missing_form(usage) || !functions_.empty());
}

void TranslatedCode::compile_aside(const std::shared_ptr<TranslatedCode>& code, const Usage& usage) {
  if (const std::string why = compiler::why_no_compiler(); !why.empty()) {
    static std::atomic<bool> has_warned{false};
    if (!has_warned.exchange(true))
      code->bus_.report(Severity::kWarning, {}, compiler::kernels_are_interpreted(why));
  }
  std::vector<std::shared_ptr<Compiled>> all;
  {
    const MutexLock lock(code->mutex_);
    if (code->key_.traced) return;
    std::vector<Target> targets;
    if (const auto form = code->claim(usage)) targets.push_back(*form);
    for (const BlockKey& function : std::exchange(code->functions_, {})) targets.push_back({function});
    code->has_functions_.store(false, std::memory_order_relaxed);
    for (const Target& target : targets) {
      auto planned = code->plan(target);
      if (planned) {
        all.push_back(std::move(*planned));
        code->underway_.fetch_add(1, std::memory_order_relaxed);
      } else {
        code->note_failure(target.pc, std::move(planned.error()));
      }
    }
  }
  for (const std::shared_ptr<Compiled>& planned : all) {
    // The device may be destroyed before the job ends, so the job must not use it.
    const bool begun = compiler::do_aside(planned->plan->graph.nodes.size(), [code, planned] {
      compiler::Compiled result = compiler::compile(*planned->plan, planned->request, planned->images);
      const MutexLock lock(code->mutex_);
      code->publish(planned, std::move(result));
      code->underway_.fetch_sub(1, std::memory_order_release);
    });
    if (begun) continue;
    const MutexLock lock(code->mutex_);
    code->note_failure(planned->request.entry_va, "no thread to compile it");
    code->underway_.fetch_sub(1, std::memory_order_release);
  }
}

// Called by any thread, possibly after the device has been destroyed.
void TranslatedCode::publish(std::shared_ptr<Compiled> planned, compiler::Compiled result) {
  const bool is_function = planned->request.is_function;
  if (result.run == nullptr) {
    if (!is_function) why_not_compiled_ = std::move(result.error);
    return;
  }
  compiler::attach(*planned->plan, *this, *places_, result.run);
  if (compiler::perf_map_wanted()) {
    compiler::write_perf_map({result.memory.get(), result.bytes}, is_function ? std::string() : kernel_,
                             planned->request.entry_va);
  }
  bytes_.fetch_add(result.bytes, std::memory_order_relaxed);
  planned->memory = std::move(result.memory);
  planned->cache_use = result.cache_use;
  for (const compiler::Plan::WayIn& way_in : planned->plan->ways_in) {
    if (key_.tracks_undefined) break;  // The registers of interpreted waves may be undefined.
    const BlockKey key{way_in.pc, way_in.variant};
    auto& entries = compiled_entries_[key];
    entries.push_back({planned.get(), planned->entry + way_in.entry});
    const auto block = blocks_.find(key);
    // Forms differ in loop headers only: after calls nothing is known about shapes.
    if (block != blocks_.end()) block->second->compiled.store(entries.front().op, std::memory_order_release);
  }
  if (!is_function) forms_[planned->form].store(planned.get(), std::memory_order_release);
  all_compiled_.push_back(std::move(planned));
  has_compiled_.store(true, std::memory_order_release);
}

compiler::Request TranslatedCode::request(const Target& target) {
  compiler::Request request;
  request.target = key_.target;
  request.layout = key_.layout;
  request.level = key_.level;
  request.variant = target.variant;
  request.as_large = key_.as_large;
  request.is_counted = key_.counted;
  request.checked = key_.checked;
  request.reports_accesses = key_.reports_accesses;
  request.tracks_undefined = key_.tracks_undefined;
  request.start = key_.start;
  request.entry_va = target.pc;
  request.is_function = target.pc != key_.entry_va;
  if (may_yield_) request.yields = key_.yields;
  request.read = [snapshot = std::make_shared<CodeSnapshot>(bus_)](uint64_t va, std::span<std::byte> to) {
    return snapshot->read(va, to);
  };
  request.shape = target.shape;
  return request;
}

tl::expected<std::shared_ptr<TranslatedCode::Compiled>, std::string> TranslatedCode::plan(
    const Target& target) {
  compiler::Request request = this->request(target);
  request.cache_name = compiler::cache_name(request);
  auto plan = compiler::make_plan(request);
  if (!plan) return tl::unexpected(std::move(plan.error()));
  auto result = std::make_shared<Compiled>();
  result->form = target.form;
  result->entry = (*plan)->entries.data();
  if (const int32_t expected = (*plan)->expected_entry; expected >= 0)
    result->expected = result->entry + expected;
  for (const analysis::Block& block : (*plan)->graph.blocks) {
    const analysis::Node& first = (*plan)->graph.nodes[block.first];
    const analysis::Node& last = (*plan)->graph.nodes[block.end - 1];
    compiler::Image image{first.pc, std::vector<std::byte>(last.pc + last.instruction.bytes - first.pc)};
    if (request.read(image.va, image.bytes) != image.bytes.size()) {
      return tl::unexpected(std::string("its code was unmapped"));
    }
    result->images.push_back(std::move(image));
  }
  result->plan = std::move(*plan);
  bytes_.fetch_add(result->plan->graph.nodes.size() * (sizeof(analysis::Node) + sizeof(MicroOp)),
                   std::memory_order_relaxed);
  result->request = std::move(request);
  result->request.read = nullptr;
  planned_.push_back(result);
  return result;
}

std::string TranslatedCode::why_not_compiled() {
  const MutexLock lock(mutex_);
  return why_not_compiled_;
}

compiler::CacheUse TranslatedCode::cache_use() {
  const Compiled* const compiled = first_form();
  return compiled == nullptr ? compiler::CacheUse::kNone : compiled->cache_use;
}

std::string TranslatedCode::describe_missing_register(const Translation& translation) const {
  uint32_t bytes = 0;
  return fmt::format(
      "kernel at {:#x}: register number out of range: the kernel has {} VGPRs and {} SGPRs, the instruction "
      "at "
      "{:#x} is {}; such writes are dropped, such reads return v0 or s0",
      key_.entry_va, key_.layout.vgprs, key_.layout.sgprs,
      translation.block.pc + translation.first_missing_register,
      instruction_at(translation.block, translation.first_missing_register, bytes));
}

tl::expected<analysis::FlowGraph, std::string> TranslatedCode::read_graph(uint64_t pc) {
  CodeSnapshot snapshot(bus_);
  return analysis::read_flow_graph(
      key_.target, key_.layout.wave_size, pc,
      [&](uint64_t va, std::span<std::byte> to) { return snapshot.read(va, to); });
}

void TranslatedCode::find_yields(uint64_t pc) {
  if (yields_after_.contains(pc)) return;
  const auto graph = read_graph(pc);
  if (graph) {  // Otherwise a wave reports the instruction that cannot be decoded when it is executed.
    const std::vector<bool> points = analysis::yield_points(*graph, key_.yields);
    for (size_t i = 0; i < points.size(); ++i) yields_after_[graph->nodes[i].pc] = points[i];
  }
  yields_after_.try_emplace(pc, false);
}

TranslatedCode::Survey TranslatedCode::survey() const {
  constexpr uint32_t kMaxSurveyed = 1 << 18;  // instructions
  uint32_t surveyed = 0;
  Survey found;
  Fetcher fetcher(bus_, key_.entry_va);
  std::vector<bool> seen;
  std::vector<uint64_t> starts{0};
  while (!starts.empty()) {
    uint64_t offset = starts.back();
    starts.pop_back();
    for (bool ends = false; !ends && surveyed != kMaxSurveyed; ++surveyed) {
      const size_t dword = offset / 4;
      if (dword >= seen.size()) seen.resize(dword + 1024);
      if (seen[dword]) break;
      seen[dword] = true;
      const size_t available = fetcher.fetch(offset, isa::kMaxInstructionDwords * 4);
      if (available < 4) break;
      uint32_t words[isa::kMaxInstructionDwords] = {};
      std::memcpy(words, fetcher.at(offset), available);
      isa::Instruction instruction;
      if (isa::decode(key_.target, words, available / 4, instruction) != isa::DecodeStatus::kOk) break;
      found.has_barrier |= isa::waits_at_barrier(instruction.op);
      const isa::Flow flow = isa::implicit_effects(instruction.op).flow;
      found.calls |= flow == isa::Flow::kCall || flow == isa::Flow::kJump;
      ends = flow == isa::Flow::kBranch || flow == isa::Flow::kEnd || flow == isa::Flow::kJump;
      if (isa::tables::shapes()[isa::tables::rows()[instruction.row].shape].has(isa::tables::flag::kBranch)) {
        const int64_t target =
            static_cast<int64_t>(offset) + 4 + int64_t{static_cast<int16_t>(instruction.simm16)} * 4;
        if (target >= 0) starts.push_back(static_cast<uint64_t>(target));
      }
      offset += instruction.bytes;
    }
  }
  return found;
}

bool TranslatedCode::is_current() {
  if (successor_.load(std::memory_order_acquire) != nullptr)
    return false;  // Waves would continue in the successor.
  const MutexLock lock(mutex_);
  for (const auto& translation : translations_) {
    const Block& block = translation->block;
    if (!translation->complete) return false;  // The missing code may be readable now.
    if (!is_in_memory(block.pc, {block.image, block.bytes})) return false;
  }
  std::erase_if(planned_, [](const auto& planned) { return planned.expired(); });
  for (const auto& planned : planned_) {
    const auto alive = planned.lock();
    if (alive == nullptr) continue;
    for (const compiler::Image& image : alive->images) {
      if (!is_in_memory(image.va, image.bytes)) return false;
    }
  }
  return true;
}

bool TranslatedCode::is_in_memory(uint64_t pc, std::span<const std::byte> image) {
  for (size_t done = 0; done < image.size();) {
    const vgpu::Translation memory = bus_.translate(pc + done, image.size() - done, Access::kExecute);
    if (memory.host == nullptr) return false;
    bool same = false;
    const auto compare = [&] { same = std::memcmp(memory.host, image.data() + done, memory.bytes) == 0; };
    const auto is_code = [&](const std::byte* at) {
      return at >= memory.host && at < memory.host + memory.bytes;
    };
    if (!guarded(compare, is_code) || !same) return false;
    done += memory.bytes;
  }
  return true;
}

TranslatedCode& TranslatedCode::newest() {
  TranslatedCode* code = this;
  while (TranslatedCode* const next = code->successor_.load(std::memory_order_acquire)) code = next;
  return *code;
}

void TranslatedCode::renew() {
  TranslatedCode& newest_code = newest();
  if (newest_code.is_current()) return;
  const MutexLock lock(newest_code.mutex_);
  if (newest_code.successor_owner_ != nullptr) return;
  newest_code.successor_owner_ = std::make_unique<TranslatedCode>(key_, bus_, kernel_);
  newest_code.successor_owner_->places_ = places_;
  newest_code.successor_.store(newest_code.successor_owner_.get(), std::memory_order_release);
}

const MicroOp* follow(const MicroOp* from, Link* link) {
  const Block& block = block_of(from);
  const MicroOp* const target = block.code->find(link->pc, block.variant);
  if (!block.code->is_missing(target)) link->target.store(target, std::memory_order_release);
  return target;
}

const MicroOp* find_code(Wave* wave, const MicroOp* from, uint64_t pc) {
  return block_of(from).code->newest().find_best(pc, variant_of(*wave));
}

const MicroOp* find_function(Wave* wave, const MicroOp* from, uint64_t pc) {
  TranslatedCode& code = block_of(from).code->newest();
  const MicroOp* const found = code.find_function(pc, variant_of(*wave));
  if (code.waits_for_supply()) wave->stop = Stop::kBudget;
  return found;
}

void go_on_compiled(Wave& wave) {
  const Block& block = block_of(wave.op);
  const bool is_interpreted = block.ops != nullptr;
  if (!is_interpreted || !block.code->has_compiled()) return;
  const MicroOp* const compiled =
      block.code->compiled_entry(pc_of(wave.op), variant_of(wave), *wave.group->usual_shape);
  if (compiled != nullptr) wave.op = compiled;
}

const MicroOp* find_interpreted(Wave* wave, const MicroOp* from, uint64_t pc) {
  return block_of(from).code->newest().find(pc, variant_of(*wave));
}

}  // namespace rigel::vgpu::exec
