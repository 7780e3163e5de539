// The compiler of group_code.hpp: what it knows of a kernel while it goes through the instructions, from the
// first to the last. Scalars and masks are in group_code.cpp, rows, loads and stores in group_rows.cpp, ramps
// in group_ramps.cpp.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "plugins/vgpu/exec/native/lanes.hpp"

namespace rigel::vgpu::exec::native {

// The frame of the code, from rsp on: 8 bytes for each base of a ramp and each place in memory, then room for
// masks and rows that find none in registers, and what 64 lanes store.
inline constexpr uint32_t kGroupSlots = 256;
inline constexpr uint32_t kMaxStored = 8;  // dwords of a lane
inline constexpr int kMaskRoom = kGroupSlots * 8;
inline constexpr int kStored = kMaskRoom + 1024;
inline constexpr int kRowRoom = kStored + static_cast<int>(kMaxStored) * 256;
inline constexpr int kFrame = kRowRoom + 256 * 64;

inline int slot_at(uint64_t slot) {
  return static_cast<int>(slot) * 8;
}

/// How two numbers are compared that rise with the lanes (group_ramps.cpp).
struct Comparison;

class GroupCompiler {
 public:
  GroupCompiler(const Request& request, std::span<uint8_t> buffer) : request_(request), a_(buffer, request) {
    wave64_ = request.layout.wave_size == 64;
  }

  /// How many instructions a wave executes; none: this kernel goes by waves.
  uint32_t run();

  std::span<const std::byte> code() const {
    return {reinterpret_cast<const std::byte*>(a_.getCode()), a_.getSize()};
  }

 private:
  // What a scalar slot holds. Lane masks are known here and not in the scalar file.
  enum class Slot : uint8_t {
    kScalar,
    kCarry,   ///< A mask, all lanes or none: a ramp's carry, in carries_.
    kFull,    ///< A mask of all lanes.
    kRow,     ///< A mask that rows have made.
    kUpper,   ///< The upper half of the mask before it.
    kUnknown  ///< Nobody may read it.
  };

  struct Value {  // of a VGPR
    bool is_ramp = false;
    bool is_row = false;  ///< It may be both.
    uint32_t slot = 0, stride = 0;
  };

  // A dword of a ramp, or the same for all lanes.
  struct Term {
    enum class Kind : uint8_t { kConstant, kScalar, kSlot } kind = Kind::kConstant;
    uint32_t value = 0;
    uint32_t stride = 0;
    bool is_constant() const { return kind == Kind::kConstant; }
  };

  struct Stored {
    uint32_t slot = 0, first = 0, dwords = 1;
  };

  static constexpr uint32_t kZero = 0, kLane = 1;  // slots: of VGPRs that nobody has set, of v0
  static constexpr auto kNear = Assembler::T_NEAR;

  void begin();
  void finish();
  // The rows, for 64 lanes in an iteration.
  void loop();
  void emit_store(const Stored& stored);

  // Scalars and masks
  // -------------------------------------------------------------------------------------------------

  bool is_scalar(uint32_t first, uint32_t count = 1) const;
  bool are_scalars(const Scalars& slots) const;
  // Part of a mask that is overwritten leaves the rest without meaning.
  void set_scalar(uint32_t slot, Slot what);
  // Rows read scalars when all scalar instructions are done: they have to be the same then.
  bool write_scalar(uint32_t slot);
  void set_mask(uint32_t slot, Slot what);
  bool is_mask(uint32_t slot, Slot what) const {
    return scalars_[slot] == what && (!wave64_ || scalars_[slot + 1] == Slot::kUpper);
  }
  bool is_full(const Input& mask) const;

  // Instructions
  // -------------------------------------------------------------------------------------------------

  bool place(uint32_t index);
  // All lanes are active, so nothing is skipped; branches by SCC have to go straight on.
  bool branch(isa::Op op);
  bool scalar(const Step& step, isa::Op op);
  bool scalar_load(const MemoryStep& step, const MicroOp& op);

  // Memory
  // -------------------------------------------------------------------------------------------------

  // The place in memory of the work-group's first lane to r9, where all its lanes' dwords lie. False: there
  // is no code for this access.
  bool locate(const MemoryStep& step, const isa::Instruction& in, const MicroOp& op, Access access,
              uint32_t& stride);
  bool load(const MemoryStep& step, const isa::Instruction& in, const MicroOp& op);
  bool store(const MemoryStep& step, const isa::Instruction& in, const MicroOp& op);

  // Rows
  // -------------------------------------------------------------------------------------------------

  Step& add_step(const VectorOp& op, uint32_t dst, uint32_t one, uint32_t other);
  void make_row(uint32_t v);
  bool vector(const Step& step, isa::Op op);

  // Ramps
  // -------------------------------------------------------------------------------------------------

  uint32_t new_slot();
  uint32_t keep_eax();
  void set_ramp(uint32_t v, uint32_t slot, uint32_t stride) { values_[v] = {true, false, slot, stride}; }
  // A source that is a ramp or the same for all lanes.
  bool term(const Step& step, unsigned i, Term& out, unsigned part = 0) const;
  // The first lane's.
  void get(const Xbyak::Reg32& to, const Term& term);
  void get_wide(const Xbyak::Reg64& to, const Term& low, const Term& high, const Xbyak::Reg64& scratch);
  // What the last lane has more than the first.
  void get_reach(const Xbyak::Reg32& to, uint32_t stride) { a_.imul(to, a_.ebx, static_cast<int>(stride)); }
  // From here on it is sure that the ramp doesn't wrap.
  void rise(const Term& ramp);
  // eax is the result's first lane.
  bool result(const Step& step, uint64_t stride);
  // False: it is done as a row, or not at all. Nothing may have been emitted then.
  bool ramp(const Step& step, isa::Op op);
  void set_mask_out(const Step& step, Slot what);
  bool difference(const Step& step, const Term& x, const Term& y);
  bool shifted(const Step& step, const Term& x, uint32_t by, const Term& sum);
  bool logic(const Step& step, const Term& x, const Term& y, void (*emit)(Assembler& a));
  // x >> by, of which there is nothing left but the sign: all lanes have the same.
  bool sign(const Step& step, const Term& by, const Term& x);
  bool shift_wide(const Step& step, const Term& by, const Term& low);
  // rax is the first lane's; the lanes' low dwords rise from it.
  void set_pair(const Step& step, uint32_t stride);
  bool multiply_add_wide(const Step& step, const Term& x, const Term& y, const Term& low);
  // Neither the sources nor the sum wrap, so that all lanes have the first one's carry.
  bool add_with_carry_out(const Step& step, const Term& x, const Term& y);
  // Who goes on: all lanes, or it goes by waves.
  bool compare(const Step& step, isa::Op op);
  void decide(const Comparison& how);

  const Request& request_;
  Assembler a_;
  bool wave64_ = true;
  bool fits_ = true;
  Xbyak::Label otherwise_;
  std::array<Value, 257> values_;
  std::array<Slot, kScalarSlots + 2> scalars_{};
  std::array<uint32_t, kScalarSlots> carries_{};  // slots
  Scalars row_reads_;
  std::bitset<kGroupSlots> rises_;  // ramps that don't wrap
  uint32_t used_slots_ = 0;
  std::vector<Step> steps_;
  std::vector<Stored> stores_;
  uint32_t stored_ = 0;                                // dwords of a lane
  std::vector<std::pair<uint32_t, uint32_t>> moving_;  // slots and strides of ramps that rows are made of
};

}  // namespace rigel::vgpu::exec::native
