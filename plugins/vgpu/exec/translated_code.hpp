// The translated code of one kernel: its blocks, found from the entry on as they are executed.
//
// Code is decoded along the paths that it takes, never past an unconditional branch that nothing jumps
// behind: what lies between functions is not code. An instruction that cannot be decoded or executed is
// translated to an operation that says so when a wave gets there.
//
// Stale code. A program may free a kernel and load another one to the same address. So what was translated is
// compared with memory before each dispatch (is_current()); it is a few cache lines for most kernels.
//
// Threads: functions that find code, and follow(), from any worker inside a translation scope; they take a lock
// when something has to be translated. They neither compile nor read files: prepare() and supply() do, outside
// of scopes and without that lock. Blocks live as long as the TranslatedCode, which its dispatches keep.
//
// Host memory. Where there is none to translate code, functions that find code return an operation that stops
// the wave (Stop::kNoMemory). They throw nothing: compiled code, through which they are called, has no tables
// for exceptions.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <tl/expected.hpp>

#include "api/support/mutex.hpp"
#include "plugins/vgpu/analysis/yield_points.hpp"
#include "plugins/vgpu/compiler/compiler_process.hpp"
#include "plugins/vgpu/compiler/plan.hpp"
#include "plugins/vgpu/cp/device_bus.hpp"
#include "plugins/vgpu/exec/block.hpp"
#include "plugins/vgpu/exec/lowering.hpp"
#include "plugins/vgpu/isa/target.hpp"

namespace rigel::vgpu::exec {

/// What translations of one kernel have in common.
struct CodeKey {
  uint64_t entry_va = 0;
  isa::Target target;
  RegisterLayout layout;
  SimdLevel level = SimdLevel::kBaseline;
  /// Each instruction is preceded by a call of the tracer.
  bool traced = false;
  /// The whole kernel is compiled (plugins/vgpu/compiler).
  Compilation compilation = Compilation::kNone;
  bool as_large = false;  ///< As large kernels are (compiler::Request).
  analysis::Yields yields = analysis::Yields::kNone;

  friend bool operator==(const CodeKey&, const CodeKey&) = default;
};

class TranslatedCode {
  struct Compiled;

 public:
  /// `kernel`: its name, for maps; may be empty.
  TranslatedCode(const CodeKey& key, DeviceBus& bus, std::string kernel = {});
  ~TranslatedCode();

  const CodeKey& key() const { return key_; }
  const std::string& kernel() const { return kernel_; }

  /// The first operation of the block at `pc`; never null.
  const MicroOp* find(uint64_t pc, uint32_t variant);
  /// The same for a wave that comes from elsewhere; compiled, if there is a way in.
  const MicroOp* find_best(uint64_t pc, uint32_t variant);
  /// … to a function that it calls, which becomes one of those to be compiled.
  const MicroOp* find_function(uint64_t pc, uint32_t variant);
  /// Where a wave that the interpreter has had comes to compiled code at `pc`; null: there is no such way.
  const MicroOp* way_in(uint64_t pc, uint32_t variant);

  /// Whether it is what the above return where there is no memory to translate the code.
  bool is_missing(const MicroOp* op) const { return op == &no_memory_op_; }

  /// Where waves begin.
  struct Beginning {
    const MicroOp* op = nullptr;
    /// The code does by itself: from WorkGroup::scalars and Wave::start_ids.
    bool fills_registers = false;
  };
  /// … of `variant`, of a work-group of this shape: in compiled code, if there is some. `alike`: waves start
  /// with the same scalars.
  Beginning begin(uint32_t variant, const GroupShape& shape, bool alike) {
    const Compiled* compiled = compiled_.load(std::memory_order_acquire);
    if (compiled == nullptr || compiled->variant != variant) {
      const MicroOp* const interpreted = find(key_.entry_va, variant);
      compiled = compiled_.load(std::memory_order_acquire);  // by another thread meanwhile
      if (compiled == nullptr || compiled->variant != variant) return {interpreted};
    }
    if (alike && compiled->expected != nullptr && compiled->shape->key == shape.key)
      return {compiled->expected, true};
    return {compiled->entry};
  }
  /// The shape that most work-groups will have: before the first begin(), for code that is compiled.
  void expect(std::shared_ptr<const GroupShape> shape);
  /// Before waves begin in `variant`: compiles the kernel if that is to be done beforehand, or takes what is
  /// on disk. Waits for a compiler and for files: outside of translation scopes. Any thread.
  void prepare(uint32_t variant);
  /// The same for functions that waves have called for the first time.
  void supply();
  bool has_to_supply() const { return has_news_.load(std::memory_order_relaxed); }
  /// Whether a wave is to leave, so that supply() is called before it goes on.
  bool waits_for_supply() const { return key_.compilation == Compilation::kBeforehand && has_to_supply(); }
  /// Of instructions of waves, what the interpreter executes in about the time that a kernel takes to be compiled.
  static constexpr uint64_t kHot = 1'000'000;
  /// Waves have executed so many instructions more. True: the kernel is hot now, for the first time, or has called functions
  /// for the first time since it is: compile_aside() is due. Any thread.
  bool becomes_hot(uint64_t instructions) {
    if (key_.compilation != Compilation::kWhenHot) return false;
    const uint64_t before = executed_.fetch_add(instructions, std::memory_order_relaxed);
    return before + instructions >= kHot && (before < kHot || calls_others_.load(std::memory_order_relaxed));
  }
  /// Compiles it, and the functions that it has called, on another thread. Waves go on as before until that is done; afterwards
  /// they come to compiled code where they start, where they call and return, and at the head of a loop after each turn
  /// (go_on_compiled()). Inside a translation scope.
  static void compile_aside(const std::shared_ptr<TranslatedCode>& code, uint32_t variant);
  bool is_compiled() const { return compiled_.load(std::memory_order_acquire) != nullptr; }
  /// … or a function that it calls.
  bool has_compiled() const { return has_compiled_.load(std::memory_order_acquire); }
  /// Whether compile_aside() has begun what is not done.
  bool is_being_compiled() const { return underway_.load(std::memory_order_acquire) != 0; }
  /// Whether compile_aside() would have something to do.
  bool is_to_be_compiled();
  /// Why the kernel has not been compiled; empty if it has, or nobody has tried.
  std::string why_not_compiled();

  /// The host's memory that it has, roughly. Any thread.
  size_t bytes() const { return sizeof *this + bytes_.load(std::memory_order_relaxed); }

  /// Whether memory still has the code that was translated.
  bool is_current();

  /// For s_icache_inv: if memory has other code by now, find_code() goes on with that.
  void renew();
  /// This, or what renew() replaced it with.
  TranslatedCode& newest();

 private:
  struct Translation;
  struct BlockKey {
    uint64_t pc;
    uint32_t variant;
    bool operator==(const BlockKey&) const = default;
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
  void search() RIGEL_REQUIRES(mutex_);
  // The kernel, or a function: what begins at `pc`. Outside of scopes.
  void supply(const BlockKey& wanted) RIGEL_REQUIRES(supplying_);
  compiler::Request request(uint64_t pc, uint32_t variant) RIGEL_REQUIRES(mutex_);
  // What a compiler needs, or why it cannot be had.
  tl::expected<std::shared_ptr<Compiled>, std::string> plan(uint64_t pc, uint32_t variant)
      RIGEL_REQUIRES(mutex_);
  void take(std::shared_ptr<Compiled> planned, compiler::Compiled made) RIGEL_REQUIRES(mutex_);
  void refuse(uint64_t pc, std::string why) RIGEL_REQUIRES(mutex_);
  void tell(const Compiled& compiled) RIGEL_REQUIRES(mutex_);
  void tell(uint64_t pc, std::string_view what) RIGEL_REQUIRES(mutex_);
  bool is_in_memory(uint64_t pc, std::span<const std::byte> image);
  /// What branches lead to from the entry on. Functions that are called by their address are not looked into.
  struct Survey {
    bool touches_trap_status = false;  ///< It reads or writes TRAPSTS.
    bool has_barrier = false;
    bool calls = false;
  };
  Survey survey() const;
  /// For the log: the first instruction of a translation that names a VGPR which waves do not have.
  std::string describe_beyond(const Translation& translation) const;
  /// Finds where waves yield in the code that can be reached from `pc`, if that has not been looked into before.
  void find_yields(uint64_t pc) RIGEL_REQUIRES(mutex_);

  const CodeKey key_;
  const std::string kernel_;
  DeviceBus& bus_;

  static constexpr size_t kCached = 256;
  std::array<std::atomic<const Block*>, kCached> cache_{};  // by hash: what was looked up last

  // What waves find where there is no memory for a block.
  Block no_memory_;
  MicroOp no_memory_op_;

  Mutex supplying_;  // For all of supply(): locked outside of scopes, before mutex_.
  Mutex mutex_;
  std::unordered_map<BlockKey, const Block*, Hash> blocks_ RIGEL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Translation>> translations_ RIGEL_GUARDED_BY(mutex_);
  bool is_searched_ RIGEL_GUARDED_BY(mutex_) = false;
  bool may_yield_ RIGEL_GUARDED_BY(mutex_) = false;
  /// The instructions of the code that has been looked into, and whether waves yield behind them.
  std::unordered_map<uint64_t, bool> yields_behind_ RIGEL_GUARDED_BY(mutex_);
  bool warned_of_registers_ RIGEL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<TranslatedCode> successor_owner_ RIGEL_GUARDED_BY(mutex_);
  std::atomic<TranslatedCode*> successor_{nullptr};
  /// What all variants have: kExceptionsVariant if the kernel reads or writes TRAPSTS.
  std::atomic<uint32_t> every_variant_{0};
  struct Compiled {
    uint32_t variant = 0;
    const MicroOp* entry = nullptr;
    /// Waves of such work-groups begin at `expected`, if that is not null.
    std::shared_ptr<const GroupShape> shape;
    const MicroOp* expected = nullptr;
    std::unique_ptr<compiler::Plan> plan;
    compiler::Request request;
    std::vector<compiler::Image> images;  ///< The code that it was made of.
    std::shared_ptr<std::byte> memory;
  };
  std::shared_ptr<const GroupShape> shape_ RIGEL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Compiled>> all_compiled_ RIGEL_GUARDED_BY(mutex_);  // the kernel and functions
  std::vector<std::weak_ptr<Compiled>> planned_ RIGEL_GUARDED_BY(mutex_);  // those, and what is under way
  std::unordered_map<BlockKey, const MicroOp*, Hash> ways_in_ RIGEL_GUARDED_BY(mutex_);
  bool is_planned_ RIGEL_GUARDED_BY(mutex_) = false;          // Somebody compiles the kernel, or has.
  std::vector<BlockKey> functions_ RIGEL_GUARDED_BY(mutex_);  // that have been called, and are to be compiled
  std::vector<BlockKey> news_ RIGEL_GUARDED_BY(mutex_);       // What supply() has not seen.
  std::vector<uint32_t> prepared_ RIGEL_GUARDED_BY(mutex_);   // variants
  std::string why_not_compiled_ RIGEL_GUARDED_BY(mutex_);
  std::atomic<const Compiled*> compiled_{nullptr};  // the kernel
  std::atomic<bool> has_compiled_{false};           // That, or a function
  std::atomic<uint32_t> underway_{0};
  std::atomic<bool> calls_others_{false};  // There are some of functions_.
  std::atomic<bool> has_news_{false};
  static constexpr uint32_t kNoVariant = ~0u;
  std::atomic<uint32_t> prepared_last_{kNoVariant};
  std::atomic<size_t> bytes_{0};
  std::atomic<uint64_t> executed_{0};  // instructions of waves
};

/// For a wave of the interpreter whose turn is over: it goes on in compiled code, if there is some by now and a way in where it is.
void go_on_compiled(Wave& wave);

}  // namespace rigel::vgpu::exec
