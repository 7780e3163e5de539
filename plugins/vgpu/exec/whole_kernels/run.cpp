#include "plugins/vgpu/exec/whole_kernels/run.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <optional>

#include <unistd.h>

#include "plugins/vgpu/analysis/liveness.hpp"
#include "plugins/vgpu/exec/group.hpp"
#include "plugins/vgpu/exec/launch.hpp"
#include "plugins/vgpu/exec/native/compiler_process.hpp"
#include "plugins/vgpu/exec/whole_kernels/contents.hpp"
#include "plugins/vgpu/exec/whole_kernels/model_run.hpp"
#include "plugins/vgpu/isa/traits.hpp"

namespace rigel::vgpu::exec::whole {
namespace {

bool is_counted(const Kernel& kernel) {
  return kernel.data_seed / 8 % 2 == 0;  // independent of the compiled path
}

constexpr int64_t kMaxTimeSlices = 256;  // each s_sleep ends a time slice
constexpr int64_t kShortTimeSlice = 40;
constexpr uint32_t kRegistersCompared = 128;  // scalars, by source code

std::string text(const char* format, auto... values) {
  char line[256];
  std::snprintf(line, sizeof line, format, values...);
  return line;
}

}  // namespace

std::string name(const ExecutionPath& path) {
  constexpr const char* kLevels[] = {"baseline", "AVX2", "AVX-512"};
  const std::string level = kLevels[static_cast<size_t>(path.level)];
  if (!path.compiled) return "handlers of " + level;
  return "compiled for " + level + (path.as_large ? " as a large kernel" : "");
}

std::vector<ExecutionPath> execution_paths() {
  std::vector<ExecutionPath> paths;
  std::vector<SimdLevel> levels(simd_levels().begin(), simd_levels().end());
  std::sort(levels.begin(), levels.end());
  for (const SimdLevel level : levels) paths.push_back({level, false});
  if (!compiler::why_no_compiler().empty()) return paths;
  for (const SimdLevel level : levels) {
    if (level == SimdLevel::kBaseline) continue;
    paths.push_back({level, true, false});
    paths.push_back({level, true, true});
  }
  return paths;
}

using Counts = std::map<uint64_t, reference::DispatchRun::Count>;

struct Runner::State {
  std::vector<std::byte> out, atomics;
  Counts counts;                    // of executed instructions, by address
  std::vector<uint32_t> registers;  // of the last work-group's waves
};

struct Runner::Memories {
  vgpu::testing::FakeBus bus;
  vgpu::testing::Buffer in, in_end, out, atomics, kernarg, code, scratch;
  std::vector<std::byte> out_before;
  Dispatch dispatch;
  State expected, actual;
};

Runner::Runner() : memories_(std::make_unique<Memories>()) {
  Memories& m = *memories_;
  m.in = m.bus.map_at(kInVa, kMaxInBytes + kInSlack);
  m.in_end = m.bus.map_at(kInEndVa, kInEndBytes);
  m.out = m.bus.map_at(kOutVa - kGuardBytes, kMaxOutBytes + 2 * kGuardBytes);
  m.atomics = m.bus.map_at(kAtomicsVa, kAtomicsBytes);
  m.kernarg = m.bus.map_at(kKernargVa, argument::kBytes);
  m.code = m.bus.map_at(kCodeVa, kMaxCodeBytes);
  m.scratch = m.bus.map_at(kScratchVa, kScratchBytes);
}

Runner::~Runner() = default;

void Runner::prepare(const Kernel& kernel, const std::vector<uint32_t>& code) {
  Memories& m = *memories_;
  std::memset(m.code.host, 0, kMaxCodeBytes);
  std::memcpy(m.code.host, code.data(), code.size() * 4);
  fill_in(kernel, {m.in.host, size_t{kernel.in_bytes} + kInSlack});
  fill_in_end(kernel, {m.in_end.host, kInEndBytes});
  fill_arguments(kernel, {m.kernarg.host, argument::kBytes});
  m.out_before.resize(size_t{kernel.out_bytes} + 2 * kGuardBytes);
  fill_out(kernel, m.out_before);
  m.dispatch = dispatch_of(kernel);
}

void Runner::reset(const Kernel&) {
  Memories& m = *memories_;
  std::memcpy(m.out.host, m.out_before.data(), m.out_before.size());
  std::memset(m.atomics.host, 0, kAtomicsBytes);
}

namespace {

// Returns the number of VGPRs with the work-item's ids.
uint32_t rows_of_ids(const isa::Target& target, uint32_t rsrc2) {
  return isa::traits_of(target).packs_work_item_ids ? 1 : (rsrc2 >> 11 & 3) + 1;
}

// Zeroes LDS, scratch and all registers except the initial ones.
void clear(const isa::Target& target, const Launch& launch, WorkGroup& group, std::byte* scratch) {
  const Dispatch& dispatch = launch.dispatch();
  const RegisterLayout& layout = launch.layout();
  const isa::Traits& traits = isa::traits_of(target);
  const bool keeps_flat_scratch = traits.has_launched_flat_scratch;
  const uint32_t rsrc2 = dispatch.pgm_rsrc2, id_rows = rows_of_ids(target, rsrc2);
  uint32_t sgprs = dispatch.user_sgpr_count + (keeps_flat_scratch ? 0 : rsrc2 & 1);
  for (int i = 0; i < 3 && !traits.has_ids_in_ttmps; ++i) sgprs += rsrc2 >> (7 + i) & 1;
  std::memset(group.lds, 0, group.lds_bytes);
  for (uint32_t w = 0; w < launch.waves_per_group(); ++w) {
    Wave& wave = group.waves[w];
    uint32_t* const scalars = wave.scalars();
    std::fill(scalars + sgprs, scalars + isa::code::kVccLo, 0);
    const uint32_t ids[] = {scalars[kTtmp7], scalars[kTtmp8], scalars[kTtmp9]};
    std::fill(scalars + isa::code::kVccLo + 2, scalars + isa::code::kExecLo, 0);
    if (traits.has_ids_in_ttmps) std::copy_n(ids, 3, scalars + kTtmp7);
    if (!keeps_flat_scratch) std::fill(scalars + kFlatScratchSlot, scalars + kFlatScratchSlot + 2, 0);
    std::memset(wave.registers + layout.vgpr_offset(id_rows), 0,
                size_t{layout.vgprs - id_rows + layout.agprs} * layout.row_bytes());
    if (scratch != nullptr) std::memset(scratch + wave.scratch_offset, 0, dispatch.scratch_wave_bytes);
  }
}

// Whether clear() is unnecessary between work-groups, because the kernel reads only what it has written.
bool reads_only_what_is_written(const Kernel& kernel, const Launch& launch, std::span<const std::byte> code) {
  if (kernel.lds_bytes != 0 || kernel.private_bytes != 0) return false;
  const auto graph = analysis::read_flow_graph(kernel.target, kernel.wave_size(), kCodeVa,
                                               [&](uint64_t va, std::span<std::byte> destination) -> size_t {
                                                 const uint64_t offset = va - kCodeVa;
                                                 if (offset >= code.size()) return 0;
                                                 const size_t bytes = std::min<size_t>(destination.size(),
                                                                                       code.size() - offset);
                                                 std::memcpy(destination.data(), code.data() + offset, bytes);
                                                 return bytes;
                                               });
  if (!graph) return false;
  const isa::Registers live = analysis::liveness_of(*graph).before[graph->blocks[graph->entry].first];
  const uint32_t rsrc2 = launch.dispatch().pgm_rsrc2;
  for (uint32_t v = rows_of_ids(kernel.target, rsrc2); v < 256; ++v) {
    if (live.vgprs[v]) return false;
  }
  if (live.agprs.any()) return false;
  uint32_t sgprs = launch.dispatch().user_sgpr_count;
  const bool has_ids = !isa::traits_of(kernel.target).has_ids_in_ttmps;
  for (int i = 0; i < 3 && has_ids; ++i) sgprs += rsrc2 >> (7 + i) & 1;
  for (uint32_t s = sgprs; s < isa::code::kVccLo; ++s) {
    if (live.scalars[s]) return false;
  }
  return true;
}

void keep_registers(const Launch& launch, const WorkGroup& group, std::vector<uint32_t>& out) {
  const RegisterLayout& layout = launch.layout();
  out.clear();
  for (uint32_t w = 0; w < group.wave_count; ++w) {
    Wave& wave = group.waves[w];
    out.push_back(wave.scc);
    out.push_back(wave.mode);
    out.insert(out.end(), wave.scalars(), wave.scalars() + kRegistersCompared);
    // SGPRs that the wave does not have are not compared.
    const auto scalars = out.end() - kRegistersCompared;
    if (layout.sgprs < kFlatScratchSgpr) std::fill(scalars + layout.sgprs, scalars + kFlatScratchSgpr, 0);
    const auto* const rows = reinterpret_cast<const uint32_t*>(wave.registers + layout.vgpr_offset(0));
    out.insert(out.end(), rows, rows + size_t{layout.vgprs} * layout.wave_size);
  }
}

std::string register_at(const Launch& launch, size_t index) {
  const RegisterLayout& layout = launch.layout();
  const size_t registers_per_wave = 2 + kRegistersCompared + size_t{layout.vgprs} * layout.wave_size;
  const size_t wave = index / registers_per_wave;
  index %= registers_per_wave;
  std::string where = "of wave " + std::to_string(wave) + " of the last work-group";
  if (index == 0) return "SCC " + where;
  if (index == 1) return "MODE " + where;
  index -= 2;
  if (index < kRegistersCompared) return "scalar " + std::to_string(index) + " " + where;
  index -= kRegistersCompared;
  return "v" + std::to_string(index / layout.wave_size) + " in lane " +
         std::to_string(index % layout.wave_size) + " " + where;
}

template <class T>
std::optional<size_t> first_difference(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0) return {};
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i] != b[i]) return i;
  }
  return std::min(a.size(), b.size());
}

std::string bytes_at(const std::vector<std::byte>& memory, size_t at) {
  std::string line;
  for (size_t i = at / 4 * 4; i < at / 4 * 4 + 16 && i < memory.size(); i += 4) {
    uint32_t word = 0;
    std::memcpy(&word, memory.data() + i, 4);
    line += text(" %08x", word);
  }
  return line;
}

// Adds the counts of a work-group and clears them.
void add_counts(TranslatedCode& code, GroupCounters& counters,
                std::map<uint64_t, reference::DispatchRun::Count>& counts) {
  code.counted_places().for_each([&](uint64_t pc, uint32_t index) {
    if (index < counters.begin() || index >= counters.end() || counters[index].times == 0) return;
    reference::DispatchRun::Count& count = counts[pc];
    count.waves += counters[index].times;
    count.lanes += counters[index].lanes;
  });
  counters.clear();
}

// Describes the first instruction whose counts differ; empty: none.
std::string count_difference(const Counts& expected, const Counts& actual) {
  const auto differs = [&](const Counts& from, const Counts& other) -> std::string {
    for (const auto& entry : from) {
      const uint64_t pc = entry.first;
      const auto found = other.find(pc);
      if (found != other.end() && found->second == entry.second) continue;
      const auto numbers = [&](const Counts& counts) {
        const auto at = counts.find(pc);
        return at == counts.end()
                   ? std::string("none")
                   : text("%llu waves, %llu lanes", static_cast<unsigned long long>(at->second.waves),
                          static_cast<unsigned long long>(at->second.lanes));
      };
      return text("count of the instruction at offset 0x%llx",
                  static_cast<unsigned long long>(pc - kCodeVa)) +
             ": expected " + numbers(expected) + ", is " + numbers(actual);
    }
    return {};
  };
  const std::string missing = differs(expected, actual);
  return missing.empty() ? differs(actual, expected) : missing;
}

// Compiles the code of waves that started in the interpreter, and functions that they called.
void compile(const std::shared_ptr<TranslatedCode>& code, const TranslatedCode::Usage& usage) {
  if (!code->is_to_be_compiled(usage)) return;
  TranslatedCode::compile_aside(code, usage);
  while (code->is_being_compiled()) usleep(2000);
}

}  // namespace

// Returns why the kernel failed, or an empty text. `verdict` receives differences.
std::string Runner::run_on_path(const Kernel& kernel, const ExecutionPath& path, const RunOptions& options,
                                Verdict& verdict) {
  Memories& m = *memories_;
  const bool is_first_path = m.expected.out.empty();
  Device device;
  device.target = kernel.target;
  device.level = path.level;
  device.compilation = path.compiled ? Compilation::kWhenHot : Compilation::kNone;
  CodeKey key;
  key.entry_va = kCodeVa;
  key.target = kernel.target;
  key.layout = layout_of(kernel);
  key.level = path.level;
  key.compilation = device.compilation;
  key.as_large = path.as_large;
  key.counted = is_counted(kernel);
  const auto code = std::make_shared<TranslatedCode>(key, m.bus);
  WaveMemory memory(m.bus);
  const auto slots =
      kernel.private_bytes == 0 ? nullptr : std::make_shared<ScratchSlots>(m.dispatch.scratch_waves);
  for (uint32_t round = 0; round < (path.compiled ? options.dispatches : 1); ++round) {
    reset(kernel);
    const auto launch = std::make_shared<Launch>(device, m.bus, m.dispatch, slots);
    launch->set_code(code);
    if (key.counted) launch->set_profiled({.events = true});
    m.actual.counts.clear();
    const bool needs_no_clear = reads_only_what_is_written(kernel, *launch, {m.code.host, kMaxCodeBytes});
    Group group(*launch);
    if (!group.reserve(launch)) return "no scratch memory for it";
    uint64_t instructions = 0;
    std::string failure;
    {
      const WaveMemory::Scope scope(memory);
      FloatEnvironment environment(path.level != SimdLevel::kBaseline);
      for (uint64_t index = 0; index < launch->groups() && failure.empty(); index = group.index() + 1) {
        group.start(index, needs_no_clear ? launch->groups() : index + 1);
        clear(kernel.target, *launch, group.work_group(),
              kernel.private_bytes == 0 ? nullptr : m.scratch.host);
        if (path.compiled) compile(code, launch->usage());
        Group::Outcome outcome = Group::Outcome::kTurnOver;
        const auto continues = [&] {
          return outcome == Group::Outcome::kTurnOver || outcome == Group::Outcome::kSleeping;
        };
        const int64_t time_slice = round == 0 && path.compiled ? kShortTimeSlice : kTurn;
        for (int64_t slice = 0; slice < kMaxTimeSlices * (kTurn / time_slice) && continues(); ++slice) {
          outcome = group.run(memory, environment, time_slice);
        }
        instructions += group.instructions();
        if (key.counted) add_counts(*code, group.counters(), m.actual.counts);
        group.set_unstarted();
        if (outcome == Group::Outcome::kEnded) continue;
        if (outcome == Group::Outcome::kFailed) {
          const Wave& wave = group.failed_wave();
          failure = wave.stop == Stop::kFault
                        ? text("a fault at 0x%llx", static_cast<unsigned long long>(wave.fault_va))
                        : std::string("cannot be executed: ") +
                              (wave.illegal_reason == nullptr ? "?" : wave.illegal_reason);
        } else {
          failure = "does not end";
        }
      }
    }
    if (failure.empty()) keep_registers(*launch, group.work_group(), m.actual.registers);
    group.end();
    if (!failure.empty()) return failure;
    m.actual.out.assign(m.out.host, m.out.host + m.out_before.size());
    m.actual.atomics.assign(m.atomics.host, m.atomics.host + kAtomicsBytes);
    if (is_first_path) {
      std::swap(m.expected, m.actual);
      verdict.instructions = instructions;
      continue;
    }
    if (path.compiled) {
      verdict.not_compiled = code->why_not_compiled();
      verdict.was_compiled = verdict.not_compiled.empty();
    }
    const std::string where = text(" in dispatch %u", round);
    if (const auto at = first_difference(m.expected.out, m.actual.out)) {
      const auto offset = static_cast<int64_t>(*at) - kGuardBytes;
      verdict.what = text("byte %lld of the output", static_cast<long long>(offset)) + where + ": expected" +
                     bytes_at(m.expected.out, *at) + ", is" + bytes_at(m.actual.out, *at);
    } else if (const auto atomic = first_difference(m.expected.atomics, m.actual.atomics)) {
      verdict.what = text("byte %zu of the sums", *atomic) + where + ": expected" +
                     bytes_at(m.expected.atomics, *atomic) + ", is" + bytes_at(m.actual.atomics, *atomic);
    } else if (const auto reg = first_difference(m.expected.registers, m.actual.registers);
               reg && !path.compiled) {
      verdict.what =
          register_at(*launch, *reg) + where + ": expected" +
          (*reg < m.expected.registers.size() ? text(" %08x", m.expected.registers[*reg]) : " none") +
          ", is" + (*reg < m.actual.registers.size() ? text(" %08x", m.actual.registers[*reg]) : " none");
    }
    if (verdict.what.empty()) {
      verdict.what = count_difference(m.expected.counts, m.actual.counts);
      if (!verdict.what.empty()) verdict.what += where;
    }
    if (!verdict.what.empty()) {
      verdict.kind = Verdict::Kind::kDiffers;
      return {};
    }
  }
  return {};
}

void Runner::judge(const Kernel& kernel, const std::vector<uint32_t>& code, Verdict& verdict) {
  Memories& m = *memories_;
  const ModelRun model = run_on_model(kernel, code, m.out_before);
  if (!model.failure.empty()) {
    verdict.not_judged = model.failure;
    return;
  }
  const auto out = first_difference(model.out, m.expected.out);
  const auto atomic = first_difference(model.atomics, m.expected.atomics);
  verdict.judged = !out && !atomic;
  const std::string count = is_counted(kernel) && verdict.judged && !model.is_open
                                ? count_difference(model.counts, m.expected.counts)
                                : std::string();
  if (!count.empty()) {
    verdict.judged = false;
    verdict.kind = Verdict::Kind::kDiffers;
    verdict.what = "reference model: " + count;
    return;
  }
  if (verdict.judged) return;
  if (model.is_open) {
    verdict.not_judged = "the manuals leave a result undefined";
    return;
  }
  verdict.kind = Verdict::Kind::kDiffers;
  verdict.what = (out ? text("byte %lld of the output", static_cast<long long>(*out) - kGuardBytes)
                      : text("byte %zu of the sums", *atomic)) +
                 ": by the reference model" +
                 (out ? bytes_at(model.out, *out) : bytes_at(model.atomics, *atomic)) + ", is" +
                 (out ? bytes_at(m.expected.out, *out) : bytes_at(m.expected.atomics, *atomic));
}

Verdict Runner::run(const Kernel& kernel, const RunOptions& options) {
  Verdict verdict;
  const std::vector<uint32_t> code = assemble(kernel);
  if (code.empty() || code.size() * 4 > kMaxCodeBytes) {
    verdict.kind = Verdict::Kind::kInvalid;
    verdict.what = "cannot be assembled";
    return verdict;
  }
  Memories& m = *memories_;
  prepare(kernel, code);
  m.expected = {};
  const auto compiled =
      std::count_if(options.paths.begin(), options.paths.end(), std::mem_fn(&ExecutionPath::compiled));
  uint64_t skipped_compiled_paths = compiled == 0 ? 0 : kernel.data_seed % static_cast<uint64_t>(compiled);
  for (const ExecutionPath& path : options.paths) {
    const bool first = path == options.paths.front();
    if (path.compiled && options.alternate_paths && skipped_compiled_paths-- != 0) continue;
    verdict.path = path;
    const std::string failure = run_on_path(kernel, path, options, verdict);
    if (!failure.empty()) {
      verdict.kind = first ? Verdict::Kind::kInvalid : Verdict::Kind::kDiffers;
      verdict.what = failure;
    }
    if (first && failure.empty() && verdict.instructions <= options.judged_instructions)
      judge(kernel, code, verdict);
    if (verdict.kind != Verdict::Kind::kSame) {
      verdict.what = name(path) + ": " + verdict.what;
      return verdict;
    }
  }
  return verdict;
}

}  // namespace rigel::vgpu::exec::whole
