// The check `init` of one resident work-group: which bits of its registers, LDS and private memory are
// undefined, and which instructions let them decide (docs/guide/checking.md).
//
// The *shadow* of a register or of memory has a bit for each of its bits, which is set if that bit is
// undefined. Registers without an undefined bit are *clean*, so that most instructions need no loop over
// lanes.
//
// Compiled code does not apply rules. The waves that it runs are *untracked*: their registers are clean, but
// for those that they have not written (Wave::defined). Before an instruction reads one of these, or loads
// undefined bits, compiled code leaves, and the wave is *tracked* from then on: the interpreter applies a
// rule for each instruction. LDS and memory have one shadow for both.
//
// Threads: the worker of the work-group, inside a scope of its memory.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/vgpu/check/allocations.hpp"
#include "plugins/vgpu/exec/check/access.hpp"
#include "plugins/vgpu/exec/check/init_rule.hpp"
#include "plugins/vgpu/exec/check/memory_shadow.hpp"
#include "plugins/vgpu/exec/wave.hpp"

namespace rigel::vgpu::exec {

/// Where an undefined value has come from.
struct UndefinedOrigin {
  enum class From : uint8_t { kRegister, kMemory, kLds, kPrivate };
  From from = From::kRegister;
  uint64_t pc = 0;  ///< Of the instruction that loaded it
  uint64_t at = 0;  ///< Address or offset
};

enum class UndefinedUse : uint8_t {
  kBranch,
  kActiveLanes,  ///< EXEC
  kJump,
  kAddress,
  kAtomic,
};

class UndefinedUseListener {
 public:
  virtual void undefined_use(const Wave& wave, UndefinedUse use, uint64_t lanes,
                             const UndefinedOrigin& origin) = 0;

 protected:
  ~UndefinedUseListener() = default;
};

class InitChecker {
 public:
  explicit InitChecker(UndefinedUseListener& listener) : listener_(listener) {}

  /// Registers that a wave starts with.
  struct Start {
    uint32_t scalars = 0;
    uint32_t rows = 0;
    check::Allocations* allocations = nullptr;  ///< Null: device memory counts as defined.
  };
  /// Waves that start in compiled code are untracked.
  void start(WorkGroup& group, const Start& start);
  /// The wave leaves compiled code.
  void track(const Wave& wave);

  /// The wave is about to execute the instruction at `pc`.
  void execute(const InitRule& rule, Wave& wave, uint64_t exec, uint64_t pc);

  // The next three return false, without an effect, if the wave is untracked and would load undefined bits.
  /// A lane's dwords are `stride` bytes apart; `active[i]`: lanes that access dword i.
  bool move_memory(const Wave& wave, const MovedData& moved, const uint64_t* at, const uint64_t* active,
                   uint64_t stride);
  bool move_lds(const Wave& wave, const MovedData& moved, const uint32_t* at, uint64_t lanes);
  /// Loads or stores `dwords` scalars.
  bool move_scalars(const Wave& wave, bool stores, uint64_t va, uint32_t dwords, uint32_t scalar);
  /// Stores to private memory that are not moved: the bytes count as defined.
  void define(const Wave& wave, uint64_t va, uint32_t bytes);

  /// The undefined bits of a register, for tests. Rows: VGPRs, then AGPRs.
  uint32_t undefined_scalar(uint32_t wave, uint32_t scalar) const { return waves_[wave].bits[scalar]; }
  uint32_t undefined_row(uint32_t wave, uint32_t number, uint32_t lane) const {
    return waves_[wave].bits[kScalarSlots + number * wave_size_ + lane];
  }
  bool is_scc_undefined(uint32_t wave) const { return waves_[wave].scc; }
  void set_undefined_scalar(uint32_t wave, uint32_t scalar, uint32_t bits);
  void set_undefined_row(uint32_t wave, uint32_t number, uint32_t lane, uint32_t bits);
  void set_scc_undefined(uint32_t wave, bool undefined) { waves_[wave].scc = undefined; }

 private:
  static constexpr uint32_t kMostRegisters = kScalarSlots + 2 * 256;  // scalars, then rows
  struct WaveShadow {
    std::vector<uint32_t> bits;  // as the wave's registers
    std::vector<std::byte> in_private;
    size_t used_private = 0;  // bytes that have been changed
    bool is_tracked = false;
    bool scc = false;
    DefinedRegisters defined;  // while it is untracked
    uint64_t unclean[kMostRegisters / 64] = {};
    UndefinedOrigin origins[kMostRegisters];
    UndefinedOrigin scc_origin;
    uint64_t pc = 0;  // of the present instruction
  };
  struct Filled {
    uint64_t begin = 0, end = 0;
    uint64_t serial = 0;
    uint32_t fill = 0;
  };

  // Registers. `number`: scalars, then rows.
  bool is_clean(const WaveShadow& shadow, uint32_t number) const {
    return (shadow.unclean[number / 64] >> number % 64 & 1) == 0;
  }
  void set_clean(WaveShadow& shadow, uint32_t number, bool clean) const {
    const uint64_t bit = uint64_t{1} << number % 64;
    shadow.unclean[number / 64] = (shadow.unclean[number / 64] & ~bit) | (clean ? 0 : bit);
  }
  uint32_t* row(WaveShadow& shadow, uint32_t number) const {
    return shadow.bits.data() + kScalarSlots + number * wave_size_;
  }
  /// Sets `row` to that of the operand. Returns false if the operand's index is too high.
  bool find_row(const Wave& wave, const RuleOperand& operand, uint32_t& row) const;
  bool is_clean(const Wave& wave, const WaveShadow& shadow, const RuleOperand& operand) const;
  const UndefinedOrigin& origin_of(const Wave& wave, const WaveShadow& shadow, const InitRule& rule) const;
  const UndefinedOrigin& origin_of(const Wave& wave, const WaveShadow& shadow,
                                   const RuleOperand& operand) const;
  Bits read(const Wave& wave, WaveShadow& shadow, const RuleOperand& operand, uint32_t lane,
            const RulePart& part) const;
  void finish_row(WaveShadow& shadow, uint32_t number, const UndefinedOrigin& origin) const;
  void write_scalars(const Wave& wave, WaveShadow& shadow, const RuleOperand& result, uint64_t undefined,
                     const UndefinedOrigin& origin);

  // Instructions
  void compute_lanes(const InitRule& rule, const Wave& wave, WaveShadow& shadow, uint64_t exec);
  uint64_t result_of_lane(const InitRule& rule, const Wave& wave, WaveShadow& shadow, uint32_t lane,
                          const Bits* mapped, bool& any) const;
  void define_rows(const InitRule& rule, const Wave& wave, WaveShadow& shadow, uint64_t lanes);
  void compute_scalar(const InitRule& rule, const Wave& wave, WaveShadow& shadow);
  void exchange_lanes(const InitRule& rule, const Wave& wave, WaveShadow& shadow, uint64_t exec);
  void check_addresses(const InitRule& rule, const Wave& wave, WaveShadow& shadow, uint64_t exec);
  void decide(const InitRule& rule, const Wave& wave, WaveShadow& shadow, UndefinedUse use);
  void forget(WaveShadow& shadow);
  void set_undefined(WaveShadow& shadow, uint32_t row, uint64_t lanes);

  // Memory. `memory`: functions load(at, bytes), store(at, bytes, undefined, value) and origin(at).
  template <class Memory>
  bool move(const Wave& wave, const MovedData& moved, const uint64_t* at, const uint64_t* active,
            uint64_t stride, Memory memory);
  template <class Memory>
  bool move_atomic(const Wave& wave, const MovedData& moved, const uint64_t* at, uint64_t lanes,
                   uint64_t stride, Memory memory);
  bool move_transposed(const Wave& wave, const MovedData& moved, const uint64_t* at, uint64_t lanes);
  /// Returns the number of the row at `offset`, or no number if it is a temporary one.
  uint32_t row_at(uint32_t offset) const;
  struct AnyMemory;
  struct LdsMemory;
  std::byte* private_shadow(const Wave& wave, WaveShadow& shadow, uint64_t va, uint32_t bytes) const;
  /// Forgets what holds for one instruction, and ranges of older allocations.
  void begin_instruction();
  bool is_filled(uint64_t va);
  uint32_t content(const Wave& wave, uint64_t va) const;
  MemoryShadow::Page* page_of(const Wave& wave, uint64_t va);
  uint32_t load_memory(const Wave& wave, uint64_t va, uint32_t bytes);
  void store_memory(const Wave& wave, uint64_t va, uint32_t bytes, uint32_t undefined, uint32_t value);

  UndefinedUseListener& listener_;
  uint32_t wave_size_ = 64;
  uint32_t rows_ = 0;  // VGPRs and AGPRs
  std::vector<WaveShadow> waves_;
  std::byte* lds_ = nullptr;  // WorkGroup::lds_undefined
  uint32_t lds_bytes_ = 0;

  check::Allocations* allocations_ = nullptr;
  uint64_t version_ = 0;
  static constexpr uint32_t kRanges = 4;
  Filled ranges_[kRanges];
  Filled* range_ = ranges_;  // the last one
  uint32_t next_range_ = 0;
  static constexpr uint32_t kPages = 16;
  struct CachedPage {
    uint64_t number = ~uint64_t{0};
    MemoryShadow::Page* page = nullptr;
  };
  CachedPage pages_[kPages];
  // The dword that the present instruction has written last, and its content after the instruction.
  uint64_t written_va_ = 0;
  uint32_t written_content_ = 0;
};

}  // namespace rigel::vgpu::exec
