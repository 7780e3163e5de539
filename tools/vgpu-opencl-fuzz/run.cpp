#include "tools/vgpu-opencl-fuzz/run.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <future>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "plugins/vgpu/exec/native/compiler_process.hpp"
#include "plugins/vgpu/exec/scheduler.hpp"
#include "plugins/vgpu/exec/shader_cores.hpp"
#include "plugins/vgpu/reference/dispatch_run.hpp"
#include "plugins/vgpu/reference/draw.hpp"
#include "plugins/vgpu/runner/make_dispatch.hpp"

namespace rigel::vgpu::opencl_fuzz {
namespace {

using runner::MemoryBus;
using runner::Region;
using Words = std::vector<uint32_t>;
using exec::reference::World;

constexpr uint64_t kMaxInstructionsForModel = 3000;  // executed by all waves

struct ExecutionPath {
  exec::SimdLevel level;
  bool compiled = false;
};

std::vector<ExecutionPath> execution_paths() {
  std::vector<ExecutionPath> paths;
  for (const exec::SimdLevel level : exec::simd_levels()) paths.push_back({level});
  // Compiling takes 0.1 s to 2 s, so it is done only for the level that the machine would use.
  if (exec::compiler::why_no_compiler().empty() && exec::best_simd_level() != exec::SimdLevel::kBaseline) {
    paths.push_back({exec::best_simd_level(), true});
  }
  return paths;
}

std::string name_of(const ExecutionPath& path) {
  static constexpr const char* kLevels[] = {"baseline", "AVX2", "AVX-512"};
  return fmt::format("{} {}", path.compiled ? "compiled for" : "handlers of",
                     kLevels[static_cast<size_t>(path.level)]);
}

// Initial values for which every atomic operation has an effect.
Words first_sums() {
  Words sums(kSumWords);
  for (uint32_t i = 0; i < kSumWords; ++i) sums[i] = i / 8 == 1 || i / 8 == 3 ? ~0u : i * 0x01010101;
  return sums;
}

std::string first_difference(const char* what, const Words& expected, const std::byte* actual);

struct Memories {
  Words in, out, sums;

  std::string difference(const std::byte* actual_out, const std::byte* actual_sums) const {
    const std::string mismatch = first_difference("output", out, actual_out);
    return mismatch.empty() ? first_difference("sums", sums, actual_sums) : mismatch;
  }

  explicit Memories(const Program& program) : in(kInputWords), out(program.out_words()), sums(first_sums()) {
    exec::reference::Draw draw(program.seed + 77);
    for (uint32_t& word : in) word = draw.value();
    for (uint32_t& word : out) word = static_cast<uint32_t>(draw.bits());
  }
};

std::string first_difference(const char* what, const Words& expected, const std::byte* actual) {
  for (size_t i = 0; i < expected.size(); ++i) {
    uint32_t word = 0;
    std::memcpy(&word, actual + i * 4, 4);
    if (word == expected[i]) continue;
    const std::string item = what == std::string("output")
                                 ? fmt::format(", {} of work-item {},", i % kRecordWords, i / kRecordWords)
                                 : std::string();
    return fmt::format("word {} of the {}{} is {:#x}, not {:#x}", i, what, item, word, expected[i]);
  }
  return {};
}

// Adds all memory mapped around an address as a region of the model.
void add_pages(MemoryBus& memory, uint64_t va, World& world) {
  constexpr uint64_t kPage = 4096;
  const auto page = [&](uint64_t at) { return memory.translate(at, kPage, Access::kRead).host; };
  uint64_t first = va / kPage * kPage;
  while (page(first - kPage) != nullptr) first -= kPage;
  World::Region& region = world.regions.emplace_back();
  region.va = first;
  for (const std::byte* host; (host = page(first)) != nullptr; first += kPage) {
    const auto* const bytes = reinterpret_cast<const uint8_t*>(host);
    region.bytes.insert(region.bytes.end(), bytes, bytes + kPage);
  }
}

DispatchResult run_once(exec::Scheduler& scheduler, const Dispatch& dispatch) {
  std::promise<DispatchResult> promise;
  scheduler.start(dispatch, [&](DispatchResult result) { promise.set_value(std::move(result)); });
  std::future<DispatchResult> ended = promise.get_future();
  while (scheduler.wants_thread() && ended.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    scheduler.lend_thread();
  }
  return ended.get();
}

void put_pointer(const runner::Kernel::Argument& argument, uint64_t value, std::byte* to) {
  std::memcpy(to + argument.offset, &value, std::min<size_t>(argument.bytes, sizeof value));
}

}  // namespace

Comparison compare(const Board& board, const std::vector<char>& object, const std::string& name,
                   const Program& program, ProgramCompiler::HostKernel host) {
  const Memories before(program);
  Memories expected = before;
  bool has_expected = host != nullptr;
  if (has_expected) host(before.in.data(), expected.out.data(), expected.sums.data(), program.limit);

  MemoryBus memory(board.clocks.reference_khz);
  const runner::Kernel kernel = runner::load_kernel(object, name, memory);
  const Region in = memory.allocate(before.in.size() * 4), out = memory.allocate(before.out.size() * 4),
               sums = memory.allocate(before.sums.size() * 4),
               kernarg = memory.allocate(kernel.kernarg_bytes);
  std::memcpy(in.host, before.in.data(), before.in.size() * 4);
  const uint64_t values[] = {in.va, out.va, sums.va, program.limit};
  for (size_t i = 0; i < std::min(kernel.arguments.size(), std::size(values)); ++i) {
    put_pointer(kernel.arguments[i], values[i], kernarg.host);
  }
  runner::Shape shape;
  for (int i = 0; i < 3; ++i) shape.grid[i] = program.grid(i), shape.group[i] = program.group[i];
  shape.kernarg_va = kernarg.va;
  const Dispatch dispatch = runner::make_dispatch(board, memory, kernel, shape);

  Comparison comparison;
  const std::vector<ExecutionPath> paths = execution_paths();
  const ExecutionPath& first_path = paths.front();
  for (const ExecutionPath& path : paths) {
    exec::Device device = exec::device_of(board);
    device.level = path.level;
    device.compilation = path.compiled ? exec::Compilation::kBeforehand : exec::Compilation::kNone;
    exec::Scheduler scheduler(device, memory, {1, true});
    std::memcpy(out.host, before.out.data(), before.out.size() * 4);
    std::memcpy(sums.host, before.sums.data(), before.sums.size() * 4);
    const DispatchResult result = run_once(scheduler, dispatch);
    const std::string where = name_of(path) + ": ";
    if (result.kind != DispatchResult::Kind::kDone) return {where + result.reason};
    if (!has_expected) {
      std::memcpy(expected.out.data(), out.host, expected.out.size() * 4);
      std::memcpy(expected.sums.data(), sums.host, expected.sums.size() * 4);
      has_expected = true;
    }
    const std::string mismatch = expected.difference(out.host, sums.host);
    if (!mismatch.empty()) return {where + mismatch};
    if (&path != &first_path || result.instructions > kMaxInstructionsForModel) continue;
    World world;
    for (const Region& region : {out, sums, in, kernarg}) add_pages(memory, region.va, world);
    add_pages(memory, dispatch.entry_va, world);
    std::memcpy(world.regions[0].bytes.data(), before.out.data(), before.out.size() * 4);
    std::memcpy(world.regions[1].bytes.data(), before.sums.data(), before.sums.size() * 4);
    const exec::reference::DispatchRun model = run_dispatch(device.target, dispatch, world);
    if (!model.failure.empty()) continue;
    const std::string by_model =
        expected.difference(reinterpret_cast<std::byte*>(world.regions[0].bytes.data()),
                            reinterpret_cast<std::byte*>(world.regions[1].bytes.data()));
    if (!by_model.empty() && !model.is_open) return {"the reference model: " + by_model};
    comparison.by_model = by_model.empty();
  }
  return comparison;
}

namespace {

class Reducer {
 public:
  Reducer(ProgramCompiler& compiler, const Board& board, Program program, const Build& build)
      : compiler_(compiler), board_(board), best_(std::move(program)), build_(build) {}

  Program run() {
    for (bool smaller = true; smaller;) {
      smaller = false;
      for (size_t i = 0; i < best_.phases.size(); ++i)
        smaller |= remove_statements([i](Program& p) { return &p.phases[i]; });
      smaller |= attempt([](Program& p) { return p.groups[2] > 1 && (p.groups[2] = 1); });
      smaller |= attempt([](Program& p) { return p.groups[1] > 1 && (p.groups[1] = 1); });
      smaller |= attempt([](Program& p) { return p.groups[0] > 1 && (p.groups[0] /= 2) != 0; });
      smaller |= attempt([](Program& p) { return p.rounds > 1 && (p.rounds = 1); });
      smaller |= attempt([](Program& p) { return std::exchange(p.absent, 0) != 0; });
      smaller |= attempt([](Program& p) { return std::exchange(p.calls_phases, false); });
      smaller |= attempt([](Program& p) { return std::exchange(p.limit, p.total()) != p.total(); });
    }
    return best_;
  }

 private:
  using List = std::vector<Statement>;

  template <class Change>
  bool attempt(const Change& change) {
    Program candidate = best_;
    if (!change(candidate)) return false;
    try {
      const auto host = compiler_.compile_for_host({candidate});
      const auto object = compiler_.compile_for(build_, {candidate});
      if (compare(board_, object, "k0", candidate, host[0]).mismatch.empty()) return false;
    } catch (const std::runtime_error&) {
      return false;  // the declaration of a used variable was removed
    }
    best_ = std::move(candidate);
    return true;
  }

  // Removes statements, long runs first, then statements inside the remaining ones.
  bool remove_statements(const std::function<List*(Program&)>& get) {
    bool any = false;
    for (size_t length = std::max<size_t>(get(best_)->size() / 2, 1); length > 0; length /= 2) {
      for (size_t at = 0; at < get(best_)->size();) {
        const bool removed = attempt([&](Program& p) {
          List& list = *get(p);
          const auto first = list.begin() + static_cast<ptrdiff_t>(at);
          list.erase(first, first + static_cast<ptrdiff_t>(std::min(length, list.size() - at)));
          return true;
        });
        any |= removed;
        if (!removed) at += length;
      }
    }
    for (size_t i = 0; i < get(best_)->size(); ++i) {
      any |= remove_statements([&, i](Program& p) { return &(*get(p))[i].body; });
      any |= remove_statements([&, i](Program& p) { return &(*get(p))[i].otherwise; });
    }
    return any;
  }

  ProgramCompiler& compiler_;
  const Board& board_;
  Program best_;
  const Build& build_;
};

}  // namespace

Program reduce(ProgramCompiler& compiler, const Board& board, const Program& program, const Build& build) {
  return Reducer(compiler, board, program, build).run();
}

}  // namespace rigel::vgpu::opencl_fuzz
