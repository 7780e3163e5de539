// Writes instructions of a generated kernel, and records which registers they change.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "plugins/vgpu/exec/whole_kernels/encode.hpp"
#include "plugins/vgpu/exec/whole_kernels/whole_kernel.hpp"
#include "plugins/vgpu/reference/draw.hpp"

namespace rigel::vgpu::exec::whole {

// Scalar registers of generated kernels, after the initial ones.
namespace sgpr {
constexpr uint32_t kIn = 12, kOut = 14, kAtomics = 16, kLimit = 18;  ///< The arguments, in order.
constexpr uint32_t kInResource = 20, kOutResource = 24;
constexpr uint32_t kData = 28, kDataEnd = 60;  ///< Random data.
constexpr uint32_t kCall = 60, kReturn = 62;
constexpr uint32_t kSavedExec = 64;    ///< Pairs, by depth.
constexpr uint32_t kReturnInner = 76;  ///< A pair.
constexpr uint32_t kOtherExec = 78;    ///< A pair, for statements without nested saves of EXEC.
constexpr uint32_t kLoopCount = 80;    ///< By depth.
constexpr uint32_t kTemporary = 88;    ///< Four registers.
constexpr uint32_t kScratchOffset = 92;
constexpr uint32_t kOddBase = 94, kEnd = 96;  ///< A pair: an unaligned pointer.
}  // namespace sgpr

using reference::Draw;

class InstructionWriter {
 public:
  InstructionWriter(Kernel& kernel, Draw& draw) : draw_(draw), encoder_(kernel.target), kernel_(kernel) {}

 protected:
  // Append code. put() returns false, without effect, for instructions that the chip does not have.
  bool put(Words words);
  void put_label(uint32_t label);
  uint32_t new_label() { return labels_++; }
  void branch(const char* op, uint32_t label);
  static isa::Op op(std::string_view name) { return op_named(name); }
  /// Returns the operation for the wave's masks: "s_and" is s_and_b32 or s_and_b64.
  isa::Op mask_op(const std::string& name) const {
    return op_named(name + (encoder_.target().wave32 ? "_b32" : "_b64"));
  }

  bool is_gfx8() const { return encoder_.target().family() == isa::Family::kGfx8; }
  bool is_gfx9() const { return encoder_.target().family() == isa::Family::kGfx9; }
  bool is_rdna3() const { return encoder_.target().family() >= isa::Family::kGfx11; }
  bool is_gfx12() const { return encoder_.target().family() == isa::Family::kGfx12; }
  bool is_rdna() const { return encoder_.target().family() >= isa::Family::kGfx10; }
  bool flat_has_offset() const { return is_gfx9() || is_rdna3(); }
  void s_mov(uint32_t dst, uint32_t value);
  void v_mov(uint32_t dst, uint32_t source) { put(encoder_.vop1(op("v_mov_b32"), dst, source)); }
  void v_const(uint32_t dst, uint32_t value);
  /// dst = a + b, with or without a carry in VCC. `a` is a source, `b` a VGPR.
  void v_add_co(uint32_t dst, uint32_t a, uint32_t b);
  void v_addc(uint32_t dst, uint32_t a, uint32_t b);
  void v_add(uint32_t dst, uint32_t a, uint32_t b);
  void v_add_const(uint32_t dst, int32_t value, uint32_t b);
  void v_and_const(uint32_t dst, uint32_t value, uint32_t b);
  /// dst = source * factor, with a random choice of instructions.
  void v_scale(uint32_t dst, int32_t factor, uint32_t source);
  void v_cmp(const char* op_name, uint32_t a, uint32_t b);
  /// Emits a wait. Following statements work whether or not loads have completed.
  void wait();
  void wait_for_some();
  void wait_for_all();
  void put_barrier();
  /// Copies the work-group's ids to where other chips have them.
  void copy_group_ids(uint32_t group_ids);
  /// Copies the wave's offset in scratch, which has the SGPR after the work-group's ids, and initialises
  /// FLAT_SCRATCH. gfx11 does the latter at launch, and has no offset.
  void flat_scratch(uint32_t group_ids);

  static constexpr uint32_t kNoWait = ~0u;
  uint32_t counters(uint32_t vector, uint32_t others) const;

  template <class T>
  T one_of(std::initializer_list<T> list) {
    return *(list.begin() + draw_.below(static_cast<uint32_t>(list.size())));
  }
  /// Returns random initial bits of MODE: rounding, denormals, DX10_CLAMP and IEEE.
  uint32_t any_mode() {
    const uint32_t roundings = draw_.below(16), denormals = draw_.below(16), others = draw_.below(4);
    return roundings | denormals << 4 | others << 8;
  }
  uint32_t data_vgpr(uint32_t dwords = 1) {
    return first_data_ + draw_.below(kernel_.vgprs - first_data_ - dwords + 1);
  }
  uint32_t data_sgpr(uint32_t dwords = 1) {
    const uint32_t unit = dwords == 1 ? 1 : dwords == 2 ? 2 : 4;
    return sgpr::kData + draw_.below((sgpr::kDataEnd - sgpr::kData - dwords) / unit + 1) * unit;
  }

  Draw& draw_;
  Encoder encoder_;
  Kernel& kernel_;
  uint32_t first_data_ = 8;   ///< VGPRs below this are reserved.
  uint64_t written_[4] = {};  ///< VGPRs that were written since this was cleared.

 private:
  uint32_t labels_ = 0;
};

}  // namespace rigel::vgpu::exec::whole
