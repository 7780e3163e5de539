#include "plugins/vgpu/exec/profile/launch_profile.hpp"

#include <cstring>
#include <ctime>
#include <new>
#include <optional>

#include "plugins/vgpu/cp/host_fault.hpp"
#include "plugins/vgpu/exec/launch.hpp"
#include "plugins/vgpu/exec/report/failure.hpp"
#include "plugins/vgpu/exec/report/source_lines.hpp"
#include "plugins/vgpu/exec/translated_code.hpp"
#include "plugins/vgpu/isa/decoder.hpp"
#include "plugins/vgpu/isa/disassembler.hpp"
#include "plugins/vgpu/isa/memory_shape.hpp"
#include "plugins/vgpu/isa/op_class.hpp"
#include "plugins/vgpu/profile/profile.hpp"

namespace rigel::vgpu::exec {
namespace {

using profile::Kind;

int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

Kind kind_of_scalar(const isa::Instruction& instruction) {
  switch (instruction.op) {
    case isa::Op::s_branch:
    case isa::Op::s_cbranch_scc0:
    case isa::Op::s_cbranch_scc1:
    case isa::Op::s_cbranch_vccz:
    case isa::Op::s_cbranch_vccnz:
    case isa::Op::s_cbranch_execz:
    case isa::Op::s_cbranch_execnz:
      return Kind::kBranch;
    case isa::Op::s_barrier:
      return Kind::kBarrier;
    default:
      return instruction.encoding == isa::Encoding::kSopp ? Kind::kOther : Kind::kScalar;
  }
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

}  // namespace

LaunchProfile::LaunchProfile() : begin_ns_(now_ns()) {}

bool LaunchProfile::is_wanted(const Dispatch& dispatch, DeviceBus& bus) {
  const profile::Options& options = profile::Profile::of_process().options();
  if (!options.is_on()) return false;
  return options.kernel.empty() || kernel_of(dispatch, bus).find(options.kernel) != std::string::npos;
}

void LaunchProfile::add(GroupCounters& counters) {
  const MutexLock lock(mutex_);
  is_incomplete_ |= counters.is_incomplete();
  if (counts_.size() < counters.size()) counts_.resize(counters.size());
  for (uint32_t i = 0; i < counters.size(); ++i) {
    counts_[i].times += counters[i].times;
    counts_[i].lanes += counters[i].lanes;
  }
  counters.clear();
}

void LaunchProfile::finish(const Launch& launch, TranslatedCode& code, DeviceBus& bus) noexcept {
  bool is_complete = false;
  try {
    pass_on(launch, code, bus);
    const MutexLock lock(mutex_);
    is_complete = !is_incomplete_;
  } catch (const std::bad_alloc&) {
  }
  if (is_complete) return;
  bus.report(Severity::kWarning, launch.dispatch().queue_id,
             "the profile is incomplete: not enough host memory");
}

void LaunchProfile::pass_on(const Launch& launch, TranslatedCode& code, DeviceBus& bus) {
  const Dispatch& dispatch = launch.dispatch();
  profile::Launch added;
  added.kernel = kernel_of(dispatch, bus);
  const RegisterLayout& layout = launch.layout();
  added.resources = {layout.wave_size, layout.vgprs + layout.agprs, layout.sgprs, dispatch.lds_bytes,
                     dispatch.private_bytes};
  added.totals.launches = 1;
  added.totals.work_groups = launch.groups();
  added.totals.waves = launch.groups() * launch.waves_per_group();
  added.totals.work_items = 1;
  for (const uint32_t size : dispatch.grid_size) added.totals.work_items *= size;
  added.totals.nanoseconds = static_cast<uint64_t>(now_ns() - begin_ns_);

  auto& process = profile::Profile::of_process();
  if (!process.knows(added.kernel)) append_reachable(code, bus, added.counts);
  {
    const MutexLock lock(mutex_);
    code.counted_places().for_each([&](uint64_t pc, uint32_t index) {
      if (index < counts_.size() && counts_[index].times != 0)
        added.counts.emplace_back(static_cast<int64_t>(pc - dispatch.entry_va), counts_[index]);
    });
  }
  SourceLines lines(bus.code_objects());
  process.add(added, [&](int64_t offset) {
    return describe(dispatch.entry_va + static_cast<uint64_t>(offset), code.key().target, lines, bus);
  });
}

}  // namespace rigel::vgpu::exec
