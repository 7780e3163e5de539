// Masks whose halves are changed separately, and reads of STATUS and MODE.
#include "plugins/vgpu/exec/whole_kernels/generator.hpp"

#include <string>
#include <vector>

#include "plugins/vgpu/isa/hardware_register.hpp"

namespace rigel::vgpu::exec::whole {

using isa::code::kVccLo;

void Generator::change_half(uint32_t mask) {
  const uint32_t half = mask + draw_.below(kernel_.wave_size() / 32), operand = data_sgpr();
  switch (draw_.below(6)) {
    case 0:
      return s_mov(half, draw_.value());
    case 1:
      put(encoder_.sop1(op(one_of({"s_mov_b32", "s_not_b32", "s_brev_b32"})), half, operand));
      return;
    case 2:
      put(encoder_.sop1(op(one_of({"s_bitset0_b32", "s_bitset1_b32"})), half, operand));
      return;
    case 3: {
      const uint32_t source = v(data_vgpr());
      put(encoder_.vop3(op("v_readlane_b32"), half, source,
                        inline_integer(static_cast<int32_t>(draw_.below(64)))));
      return;
    }
    case 4:
      put(encoder_.vop1(op("v_readfirstlane_b32"), half, v(data_vgpr())));
      return;
    default:
      put(encoder_.sop2(op(one_of({"s_and_b32", "s_or_b32", "s_xor_b32", "s_andn2_b32"})), half, half,
                        operand));
      return;
  }
}

void Generator::changed_mask() {
  uint32_t mask = kVccLo;
  if (draw_.one_in(3)) {
    const uint32_t to = data_vgpr(), a = data_vgpr(), b = data_vgpr();
    v_add_co(to, v(a), b);
  } else {
    mask = condition();
  }
  if (draw_.one_in(3)) arithmetic(2);
  change_half(mask);
  if (draw_.one_in(3)) arithmetic(2);
  const uint32_t to = data_vgpr(), from = data_vgpr(), other = v(data_vgpr());
  switch (draw_.below(4)) {
    case 0:
      put(encoder_.vop3(op("v_addc_u32"), to, other, v(from), mask, kVccLo));
      break;
    case 1: {
      const uint32_t exec = isa::code::kExecLo;
      put(encoder_.sop1(mask_op("s_and_saveexec"), sgpr::kOtherExec, mask));
      arithmetic(3);
      put(encoder_.sop1(mask_op("s_mov"), exec, sgpr::kOtherExec));
      break;
    }
    case 2: {
      const uint32_t skip_label = new_label();
      branch(one_of({"s_cbranch_vccz", "s_cbranch_vccnz"}), skip_label);
      arithmetic(2);
      put_label(skip_label);
      break;
    }
    default:
      break;
  }
  if (mask == kVccLo && draw_.one_in(2)) {
    put(encoder_.vop2(op("v_cndmask_b32"), to, other, from));
  } else {
    put(encoder_.vop3(op("v_cndmask_b32"), to, other, v(from), mask));
  }
  if (draw_.one_in(2)) store_of(to);
}

// With 32-lane waves, EXEC_HI and VCC_HI are ordinary registers. One of them is copied to EXEC for some
// statements.
void Generator::high_halves_as_registers() {
  constexpr uint32_t kExecLo = isa::code::kExecLo, kExecHi = isa::code::kExecHi, kVccHi = isa::code::kVccHi;
  const auto half = [&] { return one_of({kExecHi, kExecHi, kVccHi}); };
  const uint32_t saved = sgpr::kOtherExec, seen = data_vgpr();
  forget_written();
  const std::vector<Place> previous_places = places_;
  put(encoder_.sop1(op("s_mov_b32"), saved, kExecLo));
  for (const uint32_t to : {kExecHi, kVccHi}) s_mov(to, draw_.one_in(2) ? ~0u : draw_.value());
  const uint32_t count = 1 + draw_.below(5);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t to = half(), operand = draw_.one_in(3) ? half() : data_sgpr(), number = data_vgpr();
    switch (draw_.below(9)) {
      case 0:
        put(encoder_.sop1(op("s_mov_b32"), to, inline_integer(-1)));
        break;
      case 1:
        put(encoder_.sop1(op(one_of({"s_mov_b32", "s_not_b32", "s_brev_b32"})), to, operand));
        break;
      case 2:
        put(encoder_.sop2(op(one_of({"s_add_u32", "s_sub_u32"})), to, operand, inline_integer(0)));
        break;
      case 3:
        put(encoder_.sop2(op(one_of({"s_and_b32", "s_or_b32", "s_xor_b32", "s_add_u32"})), to, to, operand));
        break;
      case 4:
        put(encoder_.vop3(op(one_of({"v_cmp_gt_u32", "v_cmp_lg_u32"})), to, v(number), operand));
        break;
      case 5:
        put(encoder_.vop1(op("v_readfirstlane_b32"), to, v(number)));
        break;
      case 6:
        put(encoder_.sop2(op("s_xor_b32"), operand == to ? data_sgpr() : to, operand, to));
        break;
      case 7:
        put(encoder_.vop3(op("v_cndmask_b32"), seen, v(seen), v(number), to));
        break;
      default:
        put(encoder_.vop2(op("v_xor_b32"), seen, to, number));
        break;
    }
  }
  const uint32_t as_exec = half();
  if (draw_.one_in(3)) {
    // EXEC_HI is not used here: with it, the virtual GPU saves EXEC to EXEC_HI as a half of EXEC.
    const uint32_t to = kVccHi, by = data_sgpr();
    put(encoder_.sop1(op(one_of({"s_and_saveexec_b32", "s_or_saveexec_b32"})), to, by));
  } else {
    put(encoder_.sop1(op("s_mov_b32"), kExecLo, as_exec));
  }
  v_mov(seen, draw_.one_in(2) ? half() : inline_integer(static_cast<int32_t>(draw_.below(65))));
  if (draw_.one_in(2)) arithmetic(2);
  put(encoder_.sop1(op("s_mov_b32"), kExecLo, saved));
  places_ = previous_places;
  store_or_accumulate(seen);
  const uint32_t last = data_vgpr();
  v_mov(last, half());
  if (draw_.one_in(2)) store_or_accumulate(last);
}

// Reads SCC, EXECZ and VCCZ of STATUS, or MODE.
void Generator::read_state() {
  struct Bits {
    uint32_t id, shift, width;
  };
  namespace hwreg = isa::hwreg;
  const Bits field = one_of<Bits>({{hwreg::kStatus, 0, 1},
                                   {hwreg::kStatus, 9, 1},
                                   {hwreg::kStatus, 10, 1},
                                   {hwreg::kStatus, 9, 2},
                                   {hwreg::kMode, 0, 10},
                                   {hwreg::kMode, 4, 4}});
  if (draw_.one_in(2)) put(alu_.scalar(draw_, registers()));
  if (draw_.one_in(4)) condition();
  const uint32_t to = data_sgpr();
  put(encoder_.sopk(op("s_getreg_b32"), to, (field.width - 1) << 11 | field.shift << 6 | field.id));
  if (draw_.one_in(4)) return;
  const uint32_t seen = data_vgpr();
  v_mov(seen, to);
  store_of(seen);
}

}  // namespace rigel::vgpu::exec::whole
