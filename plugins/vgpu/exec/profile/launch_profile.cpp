#include "plugins/vgpu/exec/profile/launch_profile.hpp"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <new>
#include <optional>
#include <span>

#include "plugins/vgpu/cp/host_fault.hpp"
#include "plugins/vgpu/exec/launch.hpp"
#include "plugins/vgpu/exec/report/failure.hpp"
#include "plugins/vgpu/exec/report/source_lines.hpp"
#include "plugins/vgpu/exec/translated_code.hpp"
#include "plugins/vgpu/fidelity/run_fidelity.hpp"
#include "plugins/vgpu/isa/decoder.hpp"
#include "plugins/vgpu/isa/disassembler.hpp"
#include "plugins/vgpu/isa/fidelity.hpp"
#include "plugins/vgpu/isa/implicit_effects.hpp"
#include "plugins/vgpu/isa/matrix_shape.hpp"
#include "plugins/vgpu/isa/memory_shape.hpp"
#include "plugins/vgpu/isa/op_class.hpp"
#include "plugins/vgpu/profile/profile.hpp"

namespace rigel::vgpu::exec {
namespace {

using profile::Kind;

// Perfetto's clock.
int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

Kind kind_of_scalar(const isa::Instruction& instruction) {
  if (isa::is_branch(instruction.op)) return Kind::kBranch;
  if (isa::waits_at_barrier(instruction.op)) return Kind::kBarrier;
  return instruction.encoding == isa::Encoding::kSopp ? Kind::kOther : Kind::kScalar;
}

bool is_message(isa::Op op) {
  return op == isa::Op::s_sendmsg || op == isa::Op::s_sendmsghalt;
}

Kind kind_of_memory(const isa::MemoryShape* shape) {
  if (shape == nullptr) return Kind::kOther;  // caches
  switch (shape->verb) {
    case isa::Verb::kLoad:
      return Kind::kLoad;
    case isa::Verb::kStore:
      return Kind::kStore;
    case isa::Verb::kAtomic:
      return Kind::kAtomic;
  }
  return Kind::kOther;
}

Kind kind_of(const isa::Instruction& instruction) {
  switch (isa::op_class(instruction.op)) {
    case isa::OpClass::kScalar:
      return kind_of_scalar(instruction);
    case isa::OpClass::kVector:
    case isa::OpClass::kTranscendental:
    case isa::OpClass::kInterpolation:
      return Kind::kVector;
    case isa::OpClass::kMatrix:
      return Kind::kMatrix;
    case isa::OpClass::kScalarMemory:
      return Kind::kScalarMemory;
    case isa::OpClass::kVectorMemory:
      return kind_of_memory(isa::memory_shape(instruction.op));
    case isa::OpClass::kDataShare:
    case isa::OpClass::kGlobalSync:
      return Kind::kDataShare;
    case isa::OpClass::kImage:
      return Kind::kImage;
    case isa::OpClass::kNone:
    case isa::OpClass::kExport:
      return Kind::kOther;
  }
  return Kind::kOther;
}

void set_bytes(const isa::Instruction& instruction, profile::Instruction& described) {
  const isa::MemoryShape* const shape = isa::memory_shape(instruction.op);
  if (shape == nullptr) return;
  const uint32_t bytes = shape->pair ? 2u * shape->bytes : shape->bytes;
  described.is_block = shape->is_block;
  if (shape->verb != isa::Verb::kStore) described.read_bytes = bytes;
  if (shape->verb != isa::Verb::kLoad) described.written_bytes = bytes;
}

// Returns the instruction in memory at `pc`, or nothing if it cannot be read or decoded.
std::optional<isa::Instruction> instruction_at(uint64_t pc, const isa::Target& target, DeviceBus& bus) {
  uint32_t words[isa::kMaxInstructionDwords] = {};
  size_t bytes = 0;
  const TranslationScope scope(bus);
  while (bytes < sizeof words) {
    const Translation memory = bus.translate(pc + bytes, sizeof words - bytes, Access::kExecute);
    if (memory.host == nullptr ||
        !guarded_read(reinterpret_cast<std::byte*>(words) + bytes, memory.host, memory.bytes))
      break;
    bytes += memory.bytes;
  }
  isa::Instruction instruction;
  if (isa::decode(target, words, bytes / 4, instruction) != isa::DecodeStatus::kOk) return std::nullopt;
  return instruction;
}

profile::Instruction describe(uint64_t pc, const isa::Target& target, SourceLines& lines, DeviceBus& bus) {
  profile::Instruction described;
  if (const auto instruction = instruction_at(pc, target, bus)) {
    described.kind = kind_of(*instruction);
    described.text = isa::disassemble(target, *instruction);
    described.approximation = isa::approximation(*instruction);
    set_bytes(*instruction, described);
  }
  for (SourceFrame& frame : lines.frames(pc))
    described.positions.push_back({std::move(frame.function), std::move(frame.file), frame.line});
  return described;
}

// The instructions that branches reach from the kernel's entry, with counts of 0.
void append_reachable(TranslatedCode& code, DeviceBus& bus,
                      std::vector<std::pair<int64_t, profile::Count>>& to) {
  const TranslationScope scope(bus);
  const auto graph = code.read_graph(code.key().entry_va);
  if (!graph) return;
  for (const analysis::Node& node : graph->nodes)
    to.emplace_back(static_cast<int64_t>(node.pc - code.key().entry_va), profile::Count());
}

profile::Totals totals_of(const Launch& launch) {
  profile::Totals totals;
  totals.launches = 1;
  totals.work_groups = launch.groups();
  totals.waves = launch.groups() * launch.waves_per_group();
  totals.work_items = 1;
  for (const uint32_t size : launch.dispatch().grid_size) totals.work_items *= size;
  return totals;
}

bool is_flat(const isa::Instruction& instruction) {
  return instruction.encoding == isa::Encoding::kFlat || instruction.encoding == isa::Encoding::kGlobal ||
         instruction.encoding == isa::Encoding::kScratch;
}

bool is_buffer(const isa::Instruction& instruction) {
  return instruction.encoding == isa::Encoding::kMubuf || instruction.encoding == isa::Encoding::kMtbuf;
}

// The events of sequencers. gfx9's documentation of SQ_INSTS_FLAT does not mention GLOBAL and
// SCRATCH. They are FLAT instructions with another segment, so they count here.
void add_events(const isa::Instruction& instruction, const profile::Count& count, WaveEvents& events) {
  const auto add = [&](WaveEvent event) { events[event] += count.times; };
  add(WaveEvent::kInstructions);
  const bool returns = instruction.vdst.exists();
  switch (kind_of(instruction)) {
    case Kind::kVector:
    case Kind::kMatrix:
      add(WaveEvent::kVector);
      events[WaveEvent::kVectorLanes] += count.lanes;
      if (isa::matrix_shape(instruction.op) != nullptr) add(WaveEvent::kMatrix);
      break;
    case Kind::kScalar:
      add(WaveEvent::kScalar);
      break;
    case Kind::kScalarMemory:
      add(WaveEvent::kScalarMemory);
      break;
    case Kind::kLoad:
      add(WaveEvent::kVectorRead);
      break;
    case Kind::kStore:
      add(WaveEvent::kVectorWrite);
      break;
    case Kind::kAtomic:
    case Kind::kImage:
      add(returns ? WaveEvent::kVectorRead : WaveEvent::kVectorWrite);
      break;
    case Kind::kDataShare:
      add(instruction.gds ? WaveEvent::kGds : WaveEvent::kLds);
      break;
    case Kind::kBranch:
      add(WaveEvent::kBranch);
      break;
    case Kind::kBarrier:
    case Kind::kOther:
      if (instruction.encoding == isa::Encoding::kExp) add(WaveEvent::kExport);
      if (is_message(instruction.op)) add(WaveEvent::kMessage);
      break;
  }
  if (is_flat(instruction) && isa::memory_shape(instruction.op) != nullptr) add(WaveEvent::kFlat);
}

// The events of texture addressers. An instruction counts also if its lanes access LDS only or if none is
// active. Instructions for caches do not count.
void add_addressed(const isa::Instruction& instruction, uint64_t wavefronts, WaveEvents& events) {
  using Of = WaveEvent[3];  // by Verb
  constexpr Of kBuffer{WaveEvent::kBufferRead, WaveEvent::kBufferWrite, WaveEvent::kBufferAtomic};
  constexpr Of kFlat{WaveEvent::kFlatRead, WaveEvent::kFlatWrite, WaveEvent::kFlatAtomic};
  static_assert(static_cast<int>(isa::Verb::kLoad) == 0 && static_cast<int>(isa::Verb::kStore) == 1 &&
                static_cast<int>(isa::Verb::kAtomic) == 2);
  const isa::MemoryShape* const shape = isa::memory_shape(instruction.op);
  const bool is_image = isa::op_class(instruction.op) == isa::OpClass::kImage;
  const bool flat = is_flat(instruction), buffer = is_buffer(instruction);
  if (is_image || (shape != nullptr && (flat || buffer))) events[WaveEvent::kAddressed] += wavefronts;
  if (shape == nullptr || !(flat || buffer)) return;
  events[flat ? WaveEvent::kFlatAddressed : WaveEvent::kBuffer] += wavefronts;
  events[(flat ? kFlat : kBuffer)[static_cast<size_t>(shape->verb)]] += wavefronts;
}

}  // namespace

LaunchProfile::LaunchProfile(Purpose purpose) : purpose_(purpose), begin_ns_(now_ns()) {}

LaunchProfile::Purpose LaunchProfile::purpose_of(const Dispatch& dispatch, DeviceBus& bus) {
  Purpose purpose;
  purpose.events = dispatch.counts_events;
  purpose.lds_events = dispatch.counts_lds;
  purpose.fidelity = fidelity::RunFidelity::of_process().is_on();
  purpose.sampling = bus.sampling();
  profile::Profile& process = profile::Profile::of_process();
  const profile::Options& options = process.options();
  if (!options.is_on()) return purpose;
  purpose.profile =
      options.selects(process.number_launch(), dispatch.queue_id) &&
      (options.kernel.empty() || kernel_of(dispatch, bus).find(options.kernel) != std::string::npos);
  purpose.memory = purpose.profile && options.memory;
  return purpose;
}

void LaunchProfile::add(const MemoryCounter::Counts& counts) {
  const MutexLock lock(mutex_);
  for (const auto& [pc, count] : counts) memory_[pc] += count;
}

void LaunchProfile::add(GroupSampler& sampler) {
  const auto [samples, lost] = sampler.take_all();
  const MutexLock lock(mutex_);
  samples_.add(samples, lost);
}

void LaunchProfile::pass_on_samples(const Launch& launch, DeviceBus& bus) {
  const MutexLock lock(mutex_);
  const std::span<const PcSample> samples = samples_.finish();
  bus.take_samples(purpose_.sampling.session, launch.dispatch().queue_id, launch.dispatch().packet_id,
                   samples, samples_.lost());
}

void LaunchProfile::add(GroupCounters& counters) {
  const MutexLock lock(mutex_);
  is_incomplete_ |= counters.is_incomplete();
  if (counts_.size() < counters.end()) counts_.resize(counters.end());
  for (uint32_t i = counters.begin(); i < counters.end(); ++i) {
    const profile::Count count = counters[i];
    counts_[i].times += count.times;
    counts_[i].lanes += count.lanes;
    counts_[i].block_dwords += count.block_dwords;
  }
  counters.clear();
}

void LaunchProfile::finish(const Launch& launch, TranslatedCode& code, DeviceBus& bus,
                           DispatchResult& result) noexcept {
  bool is_complete = false;
  try {
    const Counts counts = counts_of(code);
    if (purpose_.events)
      result.events = std::make_shared<const WaveEvents>(events_of(counts, launch, code, bus));
    if (purpose_.fidelity) add_to_fidelity(counts, code, bus);
    if (purpose_.sampling.interval != 0) pass_on_samples(launch, bus);
    if (purpose_.profile) add_to_profile(counts, launch, code, bus);
    const MutexLock lock(mutex_);
    is_complete = !is_incomplete_;
  } catch (const std::bad_alloc&) {
  }
  if (is_complete) return;
  bus.report(Severity::kWarning, launch.dispatch().queue_id,
             "the counts of a kernel are incomplete: not enough host memory");
}

LaunchProfile::Counts LaunchProfile::counts_of(TranslatedCode& code) {
  std::vector<profile::Count> all;
  {
    const MutexLock lock(mutex_);
    all.swap(counts_);
  }
  Counts counts;
  code.counted_places().for_each([&](uint64_t pc, uint32_t index) {
    // Compiled code counts the dwords of blocks apart from their executions.
    if (index < all.size() && (all[index].times != 0 || all[index].block_dwords != 0))
      counts.emplace_back(pc, all[index]);
  });
  return counts;
}

WaveEvents LaunchProfile::events_of(const Counts& counts, const Launch& launch, TranslatedCode& code,
                                    DeviceBus& bus) {
  WaveEvents events;
  const profile::Totals totals = totals_of(launch);
  events[WaveEvent::kWaves] = totals.waves;
  const bool is_wave32 = launch.layout().wave_size == 32;
  events[is_wave32 ? WaveEvent::kWaves32 : WaveEvent::kWaves64] = totals.waves;
  events[WaveEvent::kWorkGroups] = totals.work_groups;
  events[WaveEvent::kItems] = totals.work_items;
  const isa::Target& target = code.key().target;
  const Dialect* const dialect = launch.dialect();
  // Of an addresser, for a wave.
  const uint64_t packets = dialect != nullptr && dialect->has_wave32 && !is_wave32 ? 2 : 1;
  for (const auto& [pc, count] : counts) {
    const auto instruction = instruction_at(pc, target, bus);
    if (!instruction) continue;
    add_events(*instruction, count, events);
    add_addressed(*instruction, count.times * packets, events);
  }
  events[is_wave32 ? WaveEvent::kInstructions32 : WaveEvent::kInstructions64] =
      events[WaveEvent::kInstructions];
  events[WaveEvent::kVectorMemory] = events[WaveEvent::kVectorRead] + events[WaveEvent::kVectorWrite];
  events[WaveEvent::kExportOrGds] = events[WaveEvent::kExport] + events[WaveEvent::kGds];
  const MutexLock lock(mutex_);
  for (const auto& [pc, memory] : memory_) {
    events[WaveEvent::kLdsCycles] += memory.lds_cycles;
    events[WaveEvent::kLdsConflicts] += memory.lds_conflicts;
  }
  return events;
}

void LaunchProfile::add_to_fidelity(const Counts& counts, TranslatedCode& code, DeviceBus& bus) {
  fidelity::RunFidelity& run = fidelity::RunFidelity::of_process();
  for (const auto& [pc, count] : counts) {
    const auto instruction = instruction_at(pc, code.key().target, bus);
    if (!instruction) continue;
    const std::string_view how = isa::approximation(*instruction);
    const std::string text = isa::disassemble(code.key().target, *instruction);
    run.count(fidelity::Set::kIsa, std::string_view(text).substr(0, text.find(' ')),
              how.empty() ? fidelity::Degree::kExact : fidelity::Degree::kApproximate, how, count.times);
  }
}

void LaunchProfile::add_to_profile(const Counts& counts, const Launch& launch, TranslatedCode& code,
                                   DeviceBus& bus) {
  const Dispatch& dispatch = launch.dispatch();
  profile::Launch added;
  added.kernel = kernel_of(dispatch, bus);
  const RegisterLayout& layout = launch.layout();
  added.resources = {layout.wave_size,   layout.vgprs + layout.agprs, layout.sgprs,
                     dispatch.lds_bytes, dispatch.private_bytes,      launch.occupancy()};
  added.totals = totals_of(launch);
  added.begin_time = static_cast<uint64_t>(begin_ns_);
  added.end_time = static_cast<uint64_t>(now_ns());
  added.totals.nanoseconds = added.end_time - added.begin_time;

  auto& process = profile::Profile::of_process();
  if (!process.knows(added.kernel)) append_reachable(code, bus, added.counts);
  for (const auto& [pc, count] : counts)
    added.counts.emplace_back(static_cast<int64_t>(pc - dispatch.entry_va), count);
  added.has_memory_counts = purpose_.memory;
  {
    const MutexLock lock(mutex_);
    for (const auto& [pc, memory] : memory_)
      added.memory.emplace_back(static_cast<int64_t>(pc - dispatch.entry_va), memory);
  }
  SourceLines lines(bus.code_objects());
  process.add(added, [&](int64_t offset) {
    return describe(dispatch.entry_va + static_cast<uint64_t>(offset), code.key().target, lines, bus);
  });
}

}  // namespace rigel::vgpu::exec
