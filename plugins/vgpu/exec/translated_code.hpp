// The translated and compiled code of one kernel. Blocks are translated when waves first execute them.
//
// Only reachable code is decoded: bytes after an unconditional branch may be data. An instruction that cannot
// be decoded or executed becomes a micro-operation that stops the wave when it is executed.
//
// Stale code: a program may free a kernel and load another one to the same address. Therefore the translated
// bytes are compared with memory before each dispatch (is_current()). Most kernels have a few cache lines.
//
// Threads: find functions and follow(): any worker inside a translation scope. They take a lock if code must
// be translated. They do not compile or read files; prepare() and supply() do, outside of translation scopes
// and without that lock.
//
// Lifetime: blocks live as long as the TranslatedCode. Launches own it.
//
// Errors: if the host has no memory to translate code, find functions return a micro-operation that stops the
// wave (Stop::kNoMemory). They do not throw, because compiled code calls them and has no unwind tables.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "api/support/mutex.hpp"
#include "plugins/vgpu/analysis/yield_points.hpp"
#include "plugins/vgpu/cp/device_bus.hpp"
#include "plugins/vgpu/exec/block.hpp"
#include "plugins/vgpu/exec/lowering.hpp"
#include "plugins/vgpu/exec/native/compiler_process.hpp"
#include "plugins/vgpu/exec/native/plan.hpp"
#include "plugins/vgpu/exec/profile/counters.hpp"
#include "plugins/vgpu/isa/target.hpp"

namespace rigel::vgpu::exec {

/// All that the translation of a kernel depends on besides its code.
struct CodeKey {
  uint64_t entry_va = 0;
  isa::Target target;
  RegisterLayout layout;
  SimdLevel level = SimdLevel::kBaseline;
  /// Each instruction calls the tracer before it is executed.
  bool traced = false;
  /// Specifies when the whole kernel is compiled (plugins/vgpu/compiler).
  Compilation compilation = Compilation::kNone;
  bool as_large = false;  ///< See compiler::Request::as_large
  analysis::Yields yields = analysis::Yields::kNone;
  /// Barriers report to WorkGroup::checker, and memory operations of the interpreter.
  bool checked = false;
  /// Those of compiled code do as well.
  bool reports_accesses = false;
  /// Each instruction applies its InitRule (exec/check/init_rule.hpp).
  bool tracks_undefined = false;
  analysis::StartRegisters start = {};  ///< Only if tracks_undefined
  /// Each instruction is counted in WorkGroup::counters.
  bool counted = false;
  /// The sampler of WorkGroup::counters counts each instruction.
  bool sampled = false;

  friend bool operator==(const CodeKey&, const CodeKey&) = default;
};

class TranslatedCode {
  struct Compiled;

 public:
  /// `kernel`: its name, for perf maps; may be empty.
  TranslatedCode(const CodeKey& key, DeviceBus& bus, std::string kernel = {});
  ~TranslatedCode();

  const CodeKey& key() const { return key_; }
  const std::string& kernel() const { return kernel_; }

  /// Returns the interpreted code of the block at `pc`; never null.
  const MicroOp* find(uint64_t pc, uint32_t variant);
  /// Returns compiled code if it has an entry point at `pc`, otherwise find().
  const MicroOp* find_best(uint64_t pc, uint32_t variant);
  /// As find_best(), for a function call. Registers the function to be compiled.
  const MicroOp* find_function(uint64_t pc, uint32_t variant);
  /// Returns compiled code for an interpreted wave at `pc` (loop header, return address, function), or null.
  /// `shape`: of its launch's full work-groups.
  const MicroOp* compiled_entry(uint64_t pc, uint32_t variant, const GroupShape& shape);

  /// Whether a find function has returned `op` because there is no memory to translate the code.
  bool is_missing(const MicroOp* op) const { return op == &no_memory_op_; }

  /// How waves of a launch start. Compiled code assumes it: a kernel is compiled once for each usage that is
  /// hot, up to kForms times.
  struct Usage {
    uint32_t variant = 0;
    std::shared_ptr<const GroupShape> shape;  ///< Of full work-groups
    std::atomic<uint64_t> executed{0};        ///< Instructions of waves
    std::atomic<bool> is_prepared{false};
  };
  /// Returns the usage, which lives as long as the code. Threads: any.
  Usage& usage(uint32_t variant, const std::shared_ptr<const GroupShape>& shape);

  struct StartPoint {
    const MicroOp* op = nullptr;
    /// The code initialises the registers from WorkGroup::scalars and Wave::start_ids; the caller must not.
    bool fills_registers = false;
  };
  /// Returns the start for waves of a work-group of this shape, compiled if possible. `has_common_scalars`:
  /// all waves have the same initial SGPRs.
  StartPoint begin(const Usage& usage, const GroupShape& shape, bool has_common_scalars) {
    const Compiled* form = find_form(usage.variant, shape);
    if (form != nullptr && form->expected != nullptr && has_common_scalars) return {form->expected, true};
    // Smaller work-groups, at the ends of the grid, may have some full waves.
    if (form == nullptr && &shape != usage.shape.get()) form = find_form(usage.variant, *usage.shape);
    return {form != nullptr ? form->entry : find(key_.entry_va, usage.variant)};
  }
  /// Provides compiled code for the usage before waves start: compiles the kernel with
  /// Compilation::kBeforehand, otherwise loads it if it is cached on disk. Waits for compiler and files: call
  /// outside of translation scopes. Threads: any.
  void prepare(Usage& usage);
  /// As prepare(), for functions that waves have called for the first time.
  void supply();
  bool has_to_supply() const { return has_new_functions_.load(std::memory_order_relaxed); }
  /// Whether a wave must return to the scheduler, so that supply() can run before the wave continues.
  bool waits_for_supply() const { return key_.compilation == Compilation::kBeforehand && has_to_supply(); }
  /// Wave instructions after which a kernel is hot. Interpreting them takes as long as compiling the kernel.
  static constexpr uint64_t kHot = 1'000'000;
  /// Counts executed instructions. Returns true if compile_aside() is due: the kernel has just become hot in
  /// this usage, or a hot kernel has called a function for the first time. Threads: any.
  bool becomes_hot(Usage& usage, uint64_t instructions) {
    if (key_.compilation != Compilation::kWhenHot) return false;
    const uint64_t before = usage.executed.fetch_add(instructions, std::memory_order_relaxed);
    return before + instructions >= kHot && (before < kHot || has_functions_.load(std::memory_order_relaxed));
  }
  /// Compiles the kernel for the usage, and the functions that it has called, on another thread. After that,
  /// waves enter compiled code at their start, at calls and at returns. A wave whose time slice ends at a
  /// loop header enters it there (go_on_compiled()). Call inside a translation scope.
  static void compile_aside(const std::shared_ptr<TranslatedCode>& code, const Usage& usage);
  bool is_compiled() const { return first_form() != nullptr; }
  /// Maximum number of compiled forms of the kernel. The last one assumes no shape. It has the variant of the
  /// usage that needs it first. Usages of other variants that need it are interpreted.
  static constexpr uint32_t kForms = 8;
  /// Whether the kernel or a function that it calls is compiled.
  bool has_compiled() const { return has_compiled_.load(std::memory_order_acquire); }
  bool is_being_compiled() const { return underway_.load(std::memory_order_acquire) != 0; }
  /// Whether compile_aside() would compile anything.
  bool is_to_be_compiled(const Usage& usage);
  /// Returns why the kernel is not compiled. Empty if it is, or if compiling it has not been tried.
  std::string why_not_compiled();
  /// Returns how the kernel's compiled code and the cache on disk are related.
  compiler::CacheUse cache_use();

  /// Returns the approximate host memory that it uses. Threads: any.
  size_t bytes() const { return sizeof *this + bytes_.load(std::memory_order_relaxed); }

  /// Reads the flow graph of the code at `pc`. Call inside a translation scope.
  tl::expected<analysis::FlowGraph, std::string> read_graph(uint64_t pc);
  /// Returns the instructions of its counters (CodeKey::counted).
  CountedPlaces& counted_places() { return *places_; }
  /// Returns true at the first call, so that the kernel's waits are checked once.
  bool begin_wait_check() { return !has_checked_waits_.exchange(true, std::memory_order_relaxed); }

  /// Reports, at the first call, that waves of the code enable arithmetic exceptions. Threads: any.
  void warn_of_exceptions();

  /// Whether memory still contains the code that was translated.
  bool is_current();

  /// For s_icache_inv: if the code in memory has changed, creates a successor. find_code() then uses the
  /// successor, which translates the new code.
  void renew();
  /// Returns the newest successor that renew() has created, or this object.
  TranslatedCode& newest();

 private:
  struct Translation;
  struct BlockKey {
    uint64_t pc = 0;
    uint32_t variant = 0;
    bool operator==(const BlockKey&) const = default;
  };
  /// What a compiler compiles: the form of the kernel, or a function.
  struct Target : BlockKey {
    std::shared_ptr<const GroupShape> shape{};  ///< Null: no shape is assumed
    uint32_t form = 0;
  };
  struct Hash {
    size_t operator()(const BlockKey& key) const { return hash(key.pc, key.variant); }
  };
  static size_t hash(uint64_t pc, uint32_t variant) {
    return static_cast<size_t>((pc >> 2 ^ uint64_t{variant} << 20) * 0x9e3779b97f4a7c15u >> 32);
  }

  const Block* find_or_translate(uint64_t pc, uint32_t variant);
  const Block& block_at(uint64_t pc, uint32_t variant);
  void add_function(const Block& block);
  /// At the first call, sets may_yield_ from survey().
  void ensure_surveyed() RIGEL_REQUIRES(mutex_);
  const Compiled* first_form() const {
    for (const auto& form : forms_) {
      if (const Compiled* const compiled = form.load(std::memory_order_acquire)) return compiled;
    }
    return nullptr;
  }
  // Returns the form in which full waves of the shape can start, or null.
  const Compiled* find_form(uint32_t variant, const GroupShape& shape) const {
    for (const auto& form : forms_) {
      const Compiled* const compiled = form.load(std::memory_order_acquire);
      if (compiled == nullptr || compiled->request.variant != variant) continue;
      if (compiled->covers(shape)) return compiled;
    }
    return nullptr;
  }
  // Returns the form to compile for the usage. Returns nothing if a form that the usage can run exists or is
  // being compiled, or if no form is left. claim() also reserves it.
  std::optional<Target> missing_form(const Usage& usage) RIGEL_REQUIRES(mutex_);
  std::optional<Target> claim(const Usage& usage) RIGEL_REQUIRES(mutex_);
  // Compiles or loads the kernel or function. Call outside of translation scopes.
  void supply(const Target& target) RIGEL_REQUIRES(supplying_);
  compiler::Request request(const Target& target) RIGEL_REQUIRES(mutex_);
  // Returns the input of a compiler, or why the code cannot be compiled.
  tl::expected<std::shared_ptr<Compiled>, std::string> plan(const Target& target) RIGEL_REQUIRES(mutex_);
  // Makes the compiler's result available to waves.
  void publish(std::shared_ptr<Compiled> planned, compiler::Compiled result) RIGEL_REQUIRES(mutex_);
  void note_failure(uint64_t pc, std::string why) RIGEL_REQUIRES(mutex_);
  void log_compiled(const Compiled& compiled) RIGEL_REQUIRES(mutex_);
  void log_state(uint64_t pc, std::string_view state) RIGEL_REQUIRES(mutex_);
  bool is_in_memory(uint64_t pc, std::span<const std::byte> image);
  /// Properties of the code that branches reach from the entry. It does not include functions that are called
  /// by address.
  struct Survey {
    bool has_barrier = false;
    bool calls = false;
  };
  Survey survey() const;
  /// Returns a warning about the first instruction of a translation that accesses a register which the kernel
  /// has not allocated.
  std::string describe_missing_register(const Translation& translation) const;
  /// Finds the yield points in the code that is reachable from `pc`, once for each `pc`.
  void find_yields(uint64_t pc) RIGEL_REQUIRES(mutex_);

  const CodeKey key_;
  const std::string kernel_;
  DeviceBus& bus_;

  static constexpr size_t kCached = 256;
  std::array<std::atomic<const Block*>, kCached> cache_{};  // by hash: the block that was found last

  std::shared_ptr<CountedPlaces> places_ = std::make_shared<CountedPlaces>();  // shared with successors

  Block no_memory_;
  MicroOp no_memory_op_;

  Mutex
      supplying_;  // Serialises prepare() and supply(). Locked outside of translation scopes, before mutex_.
  Mutex mutex_;
  std::unordered_map<BlockKey, const Block*, Hash> blocks_ RIGEL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Translation>> translations_ RIGEL_GUARDED_BY(mutex_);
  bool is_surveyed_ RIGEL_GUARDED_BY(mutex_) = false;
  bool may_yield_ RIGEL_GUARDED_BY(mutex_) = false;
  /// By address of an instruction: whether waves yield after it.
  std::unordered_map<uint64_t, bool> yields_after_ RIGEL_GUARDED_BY(mutex_);
  bool warned_of_registers_ RIGEL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<TranslatedCode> successor_owner_ RIGEL_GUARDED_BY(mutex_);
  std::atomic<TranslatedCode*> successor_{nullptr};
  std::atomic<bool> warned_of_exceptions_{false};
  struct Compiled {
    uint32_t form = 0;
    const MicroOp* entry = nullptr;
    const MicroOp* expected = nullptr;  ///< Start of full waves, or null
    std::unique_ptr<compiler::Plan> plan;
    compiler::Request request;
    std::vector<compiler::Image> images;  ///< The GPU code from which it was compiled
    compiler::CacheUse cache_use = compiler::CacheUse::kNone;
    std::shared_ptr<std::byte> memory;  ///< The machine code

    bool covers(const GroupShape& shape) const {
      return request.shape == nullptr || request.shape->covers(shape);
    }
  };
  std::map<std::pair<uint32_t, GroupShape::Key>, Usage> usages_ RIGEL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Compiled>> all_compiled_ RIGEL_GUARDED_BY(mutex_);  // the kernel and functions
  std::vector<std::weak_ptr<Compiled>> planned_ RIGEL_GUARDED_BY(mutex_);  // also compilations in progress
  struct CompiledEntry {
    const Compiled* compiled = nullptr;
    const MicroOp* op = nullptr;
  };
  std::unordered_map<BlockKey, std::vector<CompiledEntry>, Hash> compiled_entries_ RIGEL_GUARDED_BY(mutex_);
  std::array<Target, kForms> claimed_ RIGEL_GUARDED_BY(mutex_);   // `pc` is 0: the form is free.
  std::vector<BlockKey> functions_ RIGEL_GUARDED_BY(mutex_);      // called, not yet given to the compiler
  std::vector<BlockKey> new_functions_ RIGEL_GUARDED_BY(mutex_);  // called since the last supply()
  std::string why_not_compiled_ RIGEL_GUARDED_BY(mutex_);
  std::array<std::atomic<const Compiled*>, kForms> forms_{};  // of the kernel
  std::atomic<bool> has_compiled_{false};                     // the kernel or a function
  std::atomic<uint32_t> underway_{0};                         // compilations in progress
  std::atomic<bool> has_functions_{false};                    // functions_ is not empty
  std::atomic<bool> has_new_functions_{false};                // new_functions_ is not empty
  std::atomic<size_t> bytes_{0};
  std::atomic<bool> has_checked_waits_{false};
};

/// Moves a wave after a time slice from the interpreter to compiled code, if that has an entry point there.
void go_on_compiled(Wave& wave);

}  // namespace rigel::vgpu::exec
