#include "plugins/vgpu/exec/whole_kernels/instruction_writer.hpp"

#include <algorithm>
#include <bit>

#include "plugins/vgpu/isa/decoder.hpp"

namespace rigel::vgpu::exec::whole {

using isa::Encoding;
using isa::code::kLiteral;

// Maximum registers that an image instruction writes, including TFE's. With lacks_registers it writes more
// than its operand has.
constexpr uint32_t kMaxImageRegisters = 5;

bool InstructionWriter::put(Words words) {
  if (words.empty()) return false;
  isa::Instruction in;
  if (isa::decode(encoder_.target(), words.data(), words.size(), in) == isa::DecodeStatus::kOk) {
    for (const isa::Operand* operand : {&in.dst[0], &in.dst[1], &in.second_dst, &in.vdst}) {
      if (!operand->is_vgpr()) continue;
      const uint32_t dwords = in.lacks_registers ? kMaxImageRegisters : operand->dwords;
      for (uint32_t i = operand->vgpr(); i < operand->vgpr() + dwords && i < 256; ++i) {
        written_[i / 64] |= uint64_t{1} << i % 64;
      }
    }
  }
  kernel_.items.push_back({std::move(words), kNoLabel});
  return true;
}

void InstructionWriter::put_label(uint32_t label) {
  kernel_.items.push_back({{}, label});
}

void InstructionWriter::branch(const char* op_name, uint32_t label) {
  if (put(encoder_.sopp(op(op_name), 0))) kernel_.items.back().label = label;
}

void InstructionWriter::s_mov(uint32_t dst, uint32_t value) {
  if (has_inline_integer(static_cast<int32_t>(value))) {
    put(encoder_.sop1(op("s_mov_b32"), dst, inline_integer(static_cast<int32_t>(value))));
  } else if (static_cast<int32_t>(value) == static_cast<int16_t>(value) && draw_.one_in(2)) {
    put(encoder_.sopk(op("s_movk_i32"), dst, value));
  } else {
    put(encoder_.sop1(op("s_mov_b32"), dst, kLiteral, value));
  }
}

void InstructionWriter::v_const(uint32_t dst, uint32_t value) {
  const bool is_inline = has_inline_integer(static_cast<int32_t>(value));
  put(encoder_.vop1(op("v_mov_b32"), dst, is_inline ? inline_integer(static_cast<int32_t>(value)) : kLiteral,
                    value));
}

void InstructionWriter::v_add_co(uint32_t dst, uint32_t a, uint32_t b) {
  if (!put(encoder_.vop2(op("v_add_co_u32"), dst, a, b))) {
    put(encoder_.vop3(op("v_add_co_u32"), dst, a, v(b), 0, isa::code::kVccLo));
  }
}

void InstructionWriter::v_addc(uint32_t dst, uint32_t a, uint32_t b) {
  if (is_rdna() && draw_.one_in(2)) {  // as compilers do for the last carry
    put(encoder_.vop3(op("v_addc_u32"), dst, a, v(b), isa::code::kVccLo, isa::code::kNull));
    return;
  }
  put(encoder_.vop2(op("v_addc_u32"), dst, a, b));
}

void InstructionWriter::v_add(uint32_t dst, uint32_t a, uint32_t b) {
  if (is_rdna() && draw_.one_in(8)) {
    put(encoder_.vop3(op("v_add_co_u32"), dst, a, v(b), 0, isa::code::kNull));
    return;
  }
  if (is_gfx8() || draw_.one_in(4)) return v_add_co(dst, a, b);
  put(encoder_.vop2(op("v_add_u32"), dst, a, b));
}

void InstructionWriter::v_add_const(uint32_t dst, int32_t value, uint32_t b) {
  if (has_inline_integer(value)) return v_add(dst, inline_integer(value), b);
  if (!is_gfx8()) {
    put(encoder_.vop2(op("v_add_u32"), dst, kLiteral, b, static_cast<uint32_t>(value)));
  } else {
    put(encoder_.vop2(op("v_add_co_u32"), dst, kLiteral, b, static_cast<uint32_t>(value)));
  }
}

void InstructionWriter::v_and_const(uint32_t dst, uint32_t value, uint32_t b) {
  const bool is_inline = has_inline_integer(static_cast<int32_t>(value));
  put(encoder_.vop2(op("v_and_b32"), dst, is_inline ? inline_integer(static_cast<int32_t>(value)) : kLiteral,
                    b, value));
}

void InstructionWriter::v_scale(uint32_t dst, int32_t factor, uint32_t source) {
  const auto bits = static_cast<uint32_t>(factor);
  if (factor == 0) return v_const(dst, 0);
  if (factor == 1 && draw_.one_in(2)) return v_mov(dst, v(source));
  if (factor > 0 && std::has_single_bit(bits) && !draw_.one_in(4)) {
    put(encoder_.vop2(op("v_lshlrev_b32"), dst, inline_integer(std::countr_zero(bits)), source));
    return;
  }
  const bool is_inline = has_inline_integer(factor);
  const uint32_t operand = is_inline ? inline_integer(factor) : kLiteral;
  switch (draw_.below(3)) {
    case 0:
      if (factor > 0) {
        put(encoder_.vop2(op("v_mul_u32_u24"), dst, operand, source, bits));
        return;
      }
      [[fallthrough]];
    case 1:
      put(encoder_.vop2(op("v_mul_i32_i24"), dst, operand, source, bits));
      return;
    default:
      break;
  }
  if (!is_inline) s_mov(sgpr::kTemporary, bits);
  put(encoder_.vop3(op("v_mul_lo_u32"), dst, v(source), is_inline ? operand : sgpr::kTemporary));
}

void InstructionWriter::v_cmp(const char* op_name, uint32_t a, uint32_t b) {
  put(encoder_.vopc(op(op_name), a, b));
}

void InstructionWriter::flat_scratch(uint32_t group_ids) {
  if (is_rdna3()) return;
  put(encoder_.sop1(op("s_mov_b32"), sgpr::kScratchOffset, kFirstGroupId + group_ids));
  const uint32_t offset = sgpr::kScratchOffset, init = kFlatScratchInit;
  if (is_gfx8()) {
    put(encoder_.sop2(op("s_add_u32"), init, init, offset));
    put(encoder_.sop2(op("s_lshr_b32"), 103, init, inline_integer(8)));
    put(encoder_.sop1(op("s_mov_b32"), 102, init + 1));
    return;
  }
  const uint32_t to = is_gfx9() ? 102 : init;
  put(encoder_.sop2(op("s_add_u32"), to, init, offset));
  put(encoder_.sop2(op("s_addc_u32"), to + 1, init + 1, inline_integer(0)));
  if (is_rdna()) {
    put(encoder_.sopk(op("s_setreg_b32"), to, 31u << 11 | 20));
    put(encoder_.sopk(op("s_setreg_b32"), to + 1, 31u << 11 | 21));
  }
}

void InstructionWriter::copy_group_ids(uint32_t group_ids) {
  if (!is_gfx12()) return;
  constexpr uint32_t kTtmp7 = 115, kTtmp9 = 117;
  put(encoder_.sop1(op("s_mov_b32"), kFirstGroupId, kTtmp9));
  if (group_ids == 1) return;
  put(encoder_.sop2(op("s_and_b32"), kFirstGroupId + 1, kTtmp7, isa::code::kLiteral, 0xffff));
  put(encoder_.sop2(op("s_lshr_b32"), kFirstGroupId + 2, kTtmp7, inline_integer(16)));
}

void InstructionWriter::wait_for_all() {
  if (!is_gfx12()) {
    put(encoder_.sopp(op("s_waitcnt"), 0));
    return;
  }
  put(encoder_.sopp(op(one_of({"s_wait_loadcnt_dscnt", "s_wait_idle"})), 0));
  put(encoder_.sopp(op("s_wait_kmcnt"), 0));
  put(encoder_.sopp(op("s_wait_storecnt"), 0));
}

void InstructionWriter::put_barrier() {
  if (!is_gfx12()) {
    put(encoder_.sopp(op("s_barrier"), 0));
    return;
  }
  put(encoder_.sop1(op("s_barrier_signal"), 0, inline_integer(-1)));
  put(encoder_.sopp(op("s_barrier_wait"), 0xffff));
}

void InstructionWriter::wait() {
  if (draw_.one_in(24)) put(encoder_.sopp(op("s_sleep"), draw_.below(3)));
  if (draw_.one_in(3)) wait_for_some();
  if (draw_.one_in(4)) return;  // loads may remain in flight
  if (is_gfx12()) {
    wait_for_all();
    return;
  }
  put(encoder_.sopp(op("s_waitcnt"), draw_.one_in(2) ? 0 : counters(0, 0)));
}

void InstructionWriter::wait_for_some() {
  const uint32_t max_count = draw_.one_in(2) ? 0 : draw_.below(6);
  if (is_gfx12()) {
    const char* const counter = one_of({"s_wait_loadcnt", "s_wait_dscnt", "s_wait_kmcnt", "s_wait_storecnt",
                                        "s_wait_loadcnt_dscnt", "s_wait_storecnt_dscnt"});
    put(encoder_.sopp(op(counter), max_count | max_count << 8));
    return;
  }
  if (is_rdna() && draw_.one_in(4)) {
    put(encoder_.sopk(op(one_of({"s_waitcnt_vmcnt", "s_waitcnt_lgkmcnt", "s_waitcnt_vscnt"})),
                      isa::code::kNull, max_count));
    return;
  }
  const uint32_t others = draw_.below(4);
  const uint32_t which = draw_.below(3);
  const uint32_t vector = which == 0 ? kNoWait : max_count;
  const uint32_t rest = which == 0 ? max_count : which == 1 ? kNoWait : others;
  put(encoder_.sopp(op("s_waitcnt"), counters(vector, rest)));
}

// Returns SIMM16 of s_waitcnt for the counters of vector memory, and of LDS and scalar memory.
uint32_t InstructionWriter::counters(uint32_t vector, uint32_t others) const {
  vector = std::min(vector, is_gfx8() ? 15u : 63u);
  others = std::min(others, is_rdna() ? 63u : 15u);
  if (is_rdna3()) return 7 | others << 4 | vector << 10;
  constexpr uint32_t kNoExports = 7 << 4;
  return (vector & 15) | kNoExports | others << 8 | vector >> 4 << 14;
}

}  // namespace rigel::vgpu::exec::whole
