// The code of a segment's vector instructions, for 16 lanes: what is in which vector and mask register of the
// host, and what the emitters of single operations (vector_ops.cpp) ask for.
//
// Registers of the host:
//   rdi op, rsi wave, rdx registers, rcx EXEC    as handlers get them; rdi is free until the end
//   r9                the bits of EXEC that are still to come
//   r10               rows, biased so that displacements are short; moves on by 16 lanes
//   r11               the scalar slots; moves on by 16 bits, so that slots seen as masks do
//   rax, r8, rdi      scratch; r8 and rdi collect two masks, rbx and r12 two more
//   zmm0 … zmm23      rows that were read or written: the cache
//   zmm24 … zmm31     scratch of one instruction
//   k1 … k4           lane masks that were read or written
//   k5, k6            scratch of one instruction
//   k7                the bits of EXEC
// Code without the loop moves neither r10 nor r11. Where all lanes are active, k7 has all bits set.
// On hosts with AVX2 only, what is said of 16 lanes is true of 8: rows, scratch and lane masks share ymm0 …
// ymm13, and masks for which there is no room, as well as EXEC, are in memory (assembler.hpp).
//
// Inactive lanes are computed like the others and left out when a row goes back to memory.
#pragma once

#include <array>
#include <deque>
#include <vector>

#include "plugins/vgpu/exec/native/assembler.hpp"
#include "plugins/vgpu/exec/native/plan.hpp"

namespace rigel::vgpu::exec::native {

class ScalarCode;

class Lanes {
 public:
  Lanes(Assembler& assembler, const Request& request, const std::vector<Step>& steps);

  /// Code of all steps, for all lanes of the wave. Masks that were made are in their scalar slots after it.
  /// A few steps are there twice: as a loop, and without one for waves whose lanes are all active; waves of
  /// 32 have no loop for either. With AVX2 more steps are as well, as two loops.
  void emit(uint32_t scc_mask);
  /// Which of the masks that were made are still in registers.
  void hand_on_masks(ScalarCode& scalars) const;
  /// Code of all steps for the lanes of one vector, all of which are active. What it leaves in rows and masks
  /// nobody sees: r10 and r11 are room for those that find none in registers. k7 has all bits set.
  void emit_piece();
  /// How far r10 is beyond the rows: EVEX counts displacements of a byte in vectors, and from here reaches 64
  /// rows of a wave of 64.
  static constexpr uint32_t kRowBias = 128 * 64;

  // For the emitters of operations.
  Assembler& a;
  const FloatMode& mode;
  const isa::Target& target;
  const HostFeatures& features;
  unsigned piece = 0;  ///< Which lanes, in vectors, where the caller of emit_piece() says so.
  const Step& step() const { return *step_; }

  /// Source `i`, its dword `part`, modifiers applied: in a register, which must not be changed.
  Xbyak::Zmm reg(unsigned i, unsigned part = 0);
  /// The same, or memory, for an instruction's last operand.
  const Xbyak::Operand& any(unsigned i, unsigned part = 0);
  /// The result's register, which has the source's value, for an instruction that changes it in place.
  Xbyak::Zmm taken(unsigned i);
  bool is_constant(unsigned i) const { return step_->src[i].kind == Input::Kind::kConstant; }
  uint32_t constant(unsigned i) const { return static_cast<uint32_t>(step_->src[i].bits); }
  bool is_zero(unsigned i) const { return is_constant(i) && constant(i) == 0; }
  bool is_row(unsigned i) const { return step_->src[i].kind == Input::Kind::kRow; }
  /// Both are the same register.
  bool same(unsigned i, unsigned j) const;
  /// Pairs of dwords as 64-bit lanes: 0, 1, 4, 5, 8 … (half 0) and 2, 3, 6, 7 … (half 1).
  Xbyak::Zmm wide(unsigned i, unsigned half);
  /// Where the result goes; sources can be read until the instruction ends.
  Xbyak::Zmm result(unsigned part = 0);
  /// Results out of 64-bit lanes, as wide() orders them.
  void put_wide(const Xbyak::Zmm& half0, const Xbyak::Zmm& half1);
  Xbyak::Zmm temporary();
  /// Makes all scratch registers but the first `kept` free again.
  void keep_temporaries(unsigned kept);

  Xbyak::Opmask mask_in();
  /// The mask that the step makes; whoever writes it leaves out inactive lanes (k7).
  Xbyak::Opmask mask_out();
  /// Whether somebody sees it.
  bool mask_matters() const { return mask_matters_; }
  /// Whether nobody reads it before all lanes are done.
  bool mask_is_left() const { return uses_[index_].mask_out == kAtEnd; }
  /// A mask that is read; `next` is the step after this one that does so, too.
  Xbyak::Opmask mask_of(uint32_t slot, uint32_t next);
  Xbyak::Opmask source_mask(unsigned i) { return mask_of(step_->src[i].index, next_use(i, 0)); }
  /// Scratch of one instruction.
  Xbyak::Opmask k_a() { return scratch_mask(0); }
  Xbyak::Opmask k_b() { return scratch_mask(1); }
  const Xbyak::Opmask k_exec{7};

 private:
  static constexpr unsigned kSlots = 24, kTemporaries = 8, kMasks = 4;
  static constexpr unsigned kSlotsOfEight = 14;
  static constexpr uint32_t kFree = ~0u, kResult = ~1u, kTemporary = ~2u;
  static constexpr uint32_t kMaskRow = ~15u;        // + k: the slot of a mask
  static constexpr uint32_t kScalarRow = 1u << 31;  // + its slot: a scalar, in all lanes
  static constexpr int kFirstScratchMask = 5;
  static constexpr uint32_t kNever = ~0u;
  static constexpr uint32_t kNextLanes = kNever - 1;  // before those that are never used again
  static constexpr uint32_t kAtEnd = kNever - 2;

  struct Slot {
    uint32_t row = kFree;
    bool dirty = false;
    bool pinned = false;
    uint32_t next = kNever;
  };
  struct MaskSlot {
    uint32_t scalar = kFree;
    bool dirty = false;
    bool pinned = false;
    uint32_t used = 0;
  };

  uint32_t chunks() const { return layout_.wave_size / a.lanes(); }
  unsigned slot_count() const { return a.eight_lanes() ? kSlotsOfEight : kSlots; }
  bool is_short() const;
  void emit_loop();
  void emit_loop_of_all();
  void emit_loop_of_eight(bool makes_masks);
  void jump_if_rows_left(const Xbyak::Label& loop);
  void emit_chunk();
  void emit_unrolled();
  void emit_unrolled_some(bool makes_masks);
  void begin_lanes();
  void collect_masks();
  void store_collected();
  /// The register that collects the masks of collected_[n].
  Xbyak::Reg64 collector_of(size_t n) const;
  void save_collectors();
  void restore_collectors();
  Xbyak::Address saved_at(size_t n) const;
  Xbyak::Address row_at(uint32_t row) const;
  Xbyak::Address mask_at(uint32_t scalar) const;
  void find_uses();
  void modify(const Xbyak::Zmm& to, const Xbyak::Operand& from, const Input& input, bool wide);
  bool keeps_scalars() const { return a.eight_lanes() && unrolled_; }
  Xbyak::Zmm scalar(uint32_t slot);
  Xbyak::Zmm extracted(const Xbyak::Zmm& from, const Input& input);
  void clamp(const Xbyak::Zmm& value);
  void run_step(uint32_t index);
  int cached(uint32_t row) const;
  unsigned free_slot();
  static bool is_mask(const Slot& slot) { return slot.row >= kMaskRow && slot.row < kMaskRow + 8; }
  void put_mask(uint32_t k, unsigned slot, uint32_t next);
  void take_mask_out(uint32_t k);
  unsigned free_mask(uint32_t next);
  void drop_mask(unsigned at);
  Xbyak::Opmask scratch_mask(unsigned n);
  Xbyak::Zmm load(uint32_t row, uint32_t next);
  void write_back_rows();
  uint32_t next_use(unsigned i, unsigned part) const { return uses_[index_].next[i][part]; }

  const RegisterLayout layout_;
  const std::vector<Step>& steps_;
  std::vector<uint32_t> collected_;  // masks in collectors
  std::vector<uint32_t> left_;       // those that are there in the end
  size_t collectors_ = 0;            // that are needed
  bool unrolled_ = false;
  bool all_active_ = false;
  uint32_t chunk_ = 0;  // of 16 lanes, if the code is only for these
  const Step* step_ = nullptr;
  uint32_t index_ = 0;
  bool mask_matters_ = true;

  struct Uses {
    uint32_t next[3][2] = {{kNever, kNever}, {kNever, kNever}, {kNever, kNever}};
    uint32_t result[2] = {kNever, kNever};
    bool mask_matters = true;
    uint32_t mask_in = kNever, mask_out = kNever;
  };
  std::vector<Uses> uses_;
  std::array<Slot, kSlots> slots_;
  std::array<MaskSlot, kMasks> masks_;
  std::deque<Xbyak::Address> addresses_;
  std::deque<Xbyak::Zmm> registers_;
  int results_[2] = {-1, -1};
  int new_mask_ = -1;
  bool has_scratch_mask_[2] = {};
  unsigned temporaries_ = 0;
  std::array<unsigned, kSlotsOfEight> temporary_slots_;  // where they share registers with rows
  uint32_t clock_ = 0;
};

/// How an operation is compiled.
struct VectorOp {
  isa::Op op;
  uint8_t sources = 0;
  uint8_t wide = 0;            ///< Bit i: source i is 64 bits wide; bit 7: the result is.
  bool float_sources = false;  ///< abs and neg mean something.
  bool float_result = false;   ///< clamp is of floating point.
  bool compares = false;       ///< dst[0] is a lane mask.
  bool writes_exec = false;    ///< … which EXEC becomes.
  bool carries = false;        ///< dst[1] is one.
  bool selects = false;        ///< The source behind the others is one.
  bool doubles = false;        ///< Needs the mode of double precision.
  bool (*condition)(const Request& request, const isa::Instruction& instruction) = nullptr;
  void (*emit)(Lanes& lanes) = nullptr;
};
const VectorOp* find_vector_op(isa::Op op);

/// Scalar operations: code that does one, and the mask operation that some of them are.
enum class MaskLogic : uint8_t { kMove, kNot, kAnd, kOr, kXor, kAndNot, kOrNot, kNand, kNor, kXnor };
struct MaskOp {
  MaskLogic logic;
};
/// What SCC becomes: a flag of the host as the operation leaves it, or whether the result is not 0.
enum class Scc : uint8_t {
  kKept,
  kNonzero,
  kCarry,
  kOverflow,
  kLess,
  kGreater,
  kBelow,
  kAbove,
  kEqual,
  kNotEqual,
  kLessEqual,
  kGreaterEqual,
  kBelowEqual,
  kAboveEqual
};
struct ScalarOp {
  isa::Op op;
  uint8_t sources = 0;
  uint8_t wide = 0;  ///< As in VectorOp.
  Scc scc = Scc::kKept;
  /// Source 0 in rax, source 1 in r8, the result to rax; may use r9.
  void (*emit)(Assembler& a) = nullptr;
  bool has_result = true;
  bool reads_scc = false;
  int8_t immediate = 0;  ///< SOPK: the last source, zero-extended (1) or sign-extended (-1).
  bool saves_exec =
      false;  ///< The destination gets EXEC, which is the second source; the result becomes EXEC.
  bool is_logic = false;
  MaskLogic logic = MaskLogic::kMove;
};
const ScalarOp* find_scalar_op(isa::Op op);

void emit_mask_logic(Lanes& lanes);
/// Code of scalar instructions, one after the other. Scalars are in memory, but who reads what has just been
/// written gets it from a register: the way through memory takes longer than most instructions. EXEC is in
/// rcx, and in memory. Uses rax, r8 and r9; rdi is left alone.
class ScalarCode {
 public:
  ScalarCode(Assembler& a, uint32_t wave_size) : a_(a), wave_size_(wave_size) {}

  /// `scc_is_read`: by whoever comes after these, or perhaps.
  void emit(const std::vector<Step>& steps, bool scc_is_read);
  void emit(const Step& step, bool scc_is_read = true);
  /// Whether SCC is in r9d.
  bool has_scc() const { return has_scc_; }
  /// EXEC becomes a lane mask.
  void set_exec(uint32_t mask);
  /// What is in a register already: r8, rdi or rax.
  void know(const Xbyak::Reg64& reg, uint32_t slot, bool wide);

 private:
  static constexpr uint32_t kNowhere = ~0u;
  struct Known {
    Xbyak::Reg64 reg;
    uint32_t slot = kNowhere;
    bool wide = false;
  };

  bool emit_wide_sum(const Step& low, const Step& high, bool scc_is_read);
  void set_scc(Scc scc);
  bool is_exec(uint32_t slot, bool wide) const;
  Known* known(const Input& input, bool wide);
  void load(const Input& input, bool wide, const Xbyak::Reg64& to);
  void store(uint32_t slot, bool wide, const Xbyak::Reg64& from);
  void reload_exec();

  Assembler& a_;
  const uint32_t wave_size_;
  Known known_[3] = {{a_.rax}, {a_.r8}, {a_.rdi}};
  bool has_scc_ = false;
};
/// Jumps to `target` if the branch is not taken. `has_scc`: SCC is in r9d as well.
void emit_unless_taken(Assembler& a, isa::Op op, uint32_t wave_size, bool has_scc, Xbyak::Label& target);

}  // namespace rigel::vgpu::exec::native
