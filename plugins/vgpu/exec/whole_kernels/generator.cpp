#include "plugins/vgpu/exec/whole_kernels/generator.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "plugins/vgpu/exec/whole_kernels/generate.hpp"
#include "plugins/vgpu/isa/traits.hpp"

namespace rigel::vgpu::exec::whole {

using isa::code::kLiteral;
using isa::code::kVccLo;

void Generator::draw_shape() {
  Kernel& k = kernel_;
  const uint32_t kind = draw_.below(8);
  flavour_ = kind < 3 ? Flavour::kMoves : kind < 4 ? Flavour::kArithmetic : Flavour::kEverything;
  topic_ = static_cast<Topic>(draw_.below(kTopics));
  const uint32_t groups = 1 + draw_.below(9);
  if (flavour_ == Flavour::kMoves || !draw_.one_in(4)) {
    k.group[0] = draw_.one_in(3)    ? 1 + draw_.below(256)
                 : draw_.one_in(24) ? 1024
                                    : one_of({64u, 64u, 64u, 128u, 256u, 32u, 192u});
    k.grid[0] = k.group[0] * groups;
    if (draw_.one_in(3)) k.grid[0] -= draw_.below(k.group[0]);
  } else {
    const bool three = draw_.one_in(2);
    k.group[0] = one_of({1u, 3u, 4u, 8u, 16u, 32u, 7u});
    k.group[1] = one_of({1u, 2u, 5u, 8u, 4u});
    if (three) k.group[2] = one_of({1u, 2u, 3u, 4u});
    uint32_t remaining = groups;
    for (int i = 0; i < (three ? 3 : 2); ++i) {
      const uint32_t n = i == 0 ? 1 + draw_.below(remaining) : 1 + draw_.below(std::max(remaining, 1u));
      remaining = std::max(remaining / n, 1u);
      k.grid[i] = k.group[i] * n;
      if (draw_.one_in(4)) k.grid[i] -= draw_.below(k.group[i]);
    }
    if (k.grid[1] == 1 && k.grid[2] == 1 && k.group[1] == 1 && k.group[2] == 1) k.group[1] = 2, k.grid[1] = 2;
  }
  uint64_t total = 1;
  for (int i = 0; i < 3; ++i) total *= (k.grid[i] + k.group[i] - 1) / k.group[i] * k.group[i];
  total_ = static_cast<uint32_t>(total);
  const auto items = static_cast<uint32_t>(k.work_items());
  k.limit = draw_.one_in(2) ? items : 1 + draw_.below(items);
  k.in_bytes = total_ <= 256 && draw_.one_in(2) ? 4096 : 1u << (12 + draw_.below(5));
  const bool plain = flavour_ == Flavour::kMoves;
  k.vgprs = plain && draw_.one_in(2) ? 8 + draw_.below(8) : 20 + draw_.below(28);
  if (draw_.one_in(2)) k.sgprs = sgpr::kEnd;
  k.mode = draw_.one_in(2) ? 0x3f0 : draw_.one_in(2) ? 0x3c0 : any_mode();
  mode_ = k.mode;
  k.data_seed = draw_.bits() >> 24;
  if (plain && draw_.one_in(2)) {
    streams_ = true;
    k.group[0] = one_of({64u, 64u, 128u, 192u, 256u});
    k.grid[0] = k.group[0] * groups - (draw_.one_in(3) ? draw_.below(k.group[0]) : 0);
    total_ = k.group[0] * groups;
    k.limit = draw_.one_in(2) ? k.grid[0] : 1 + draw_.below(k.grid[0]);
    k.in_bytes = kMaxInBytes;
  }
  if (plain) {
    index_ = 0;
    item_ = 1;  // not needed
    first_data_ = 1;
  }
}

void Generator::draw_fields() {
  int32_t offset = 0;
  const uint32_t count = 1 + draw_.below(4);
  for (uint32_t i = 0; i < count; ++i) {
    Field field;
    field.bytes = one_of({4u, 8u, 16u, 4u, 8u, 16u, 12u, 32u, 20u, 2u, 1u});
    if (streams_) field.bytes = one_of({4u, 8u, 16u, 16u});
    const uint32_t unit = field.bytes < 4 ? field.bytes : 4;
    uint32_t stride = field.bytes + (!streams_ && draw_.one_in(3) ? unit * draw_.below(4) : 0);
    if (uint64_t{stride} * total_ > kMaxOutBytes / 8) stride = field.bytes = 4;
    if (stride % 4 == 0) offset = (offset + 3) / 4 * 4;
    const bool down = !streams_ && draw_.one_in(6);
    field.stride = down ? -static_cast<int32_t>(stride) : static_cast<int32_t>(stride);
    field.base = down ? offset + static_cast<int32_t>(stride * (total_ - 1)) : offset;
    offset += static_cast<int32_t>(stride * total_);
    fields_.push_back(field);
  }
  scalar_field_ = static_cast<uint32_t>(offset + 15) / 16 * 16;
  kernel_.out_bytes = scalar_field_;
  if (flavour_ == Flavour::kMoves) return;
  atomic_field_ = scalar_field_ + total_ * 16;
  image_field_ = (atomic_field_ + total_ * 16 + 255) / 256 * 256;
  kernel_.out_bytes = image_field_ + (total_ + RandomImage::kRowTexels) * 16;
}

void Generator::run() {
  draw_shape();
  draw_fields();
  budget_ = flavour_ == Flavour::kMoves ? 4 + draw_.below(8) : 4 + draw_.below(24);
  end_ = new_label();
  begin();
  if (flavour_ == Flavour::kMoves) {
    const uint32_t loads = 1 + draw_.below(4);
    for (uint32_t i = 0; i < loads; ++i) load();
    wait();
    moves();
    if (draw_.one_in(3)) arithmetic(3);
    const uint32_t stores = 1 + draw_.below(4);
    for (uint32_t i = 0; i < stores; ++i) {
      if (i != 0 && draw_.one_in(2)) moves();
      store();
    }
  } else {
    const uint32_t loads = 2 + draw_.below(4);
    for (uint32_t i = 0; i < loads; ++i) load();
    wait();
    // Large kernels are compiled differently.
    const size_t min_items = draw_.one_in(60) ? 900 : 0;
    do {
      statements(budget_, 0);
      budget_ = 8;
    } while (kernel_.items.size() < min_items);
  }
  finish();
}

void Generator::begin() {
  Kernel& k = kernel_;
  const bool dimensions = k.has_dimensions();
  const auto s_load = [&](const char* name, uint32_t to, uint32_t at) {
    put(encoder_.smem(op(name), to, kKernarg, static_cast<int32_t>(at)));
  };
  if (draw_.one_in(2)) {
    s_load("s_load_dwordx4", sgpr::kIn, argument::kIn);
    s_load("s_load_dwordx2", sgpr::kAtomics, argument::kAtomics);
  } else {
    s_load("s_load_dwordx2", sgpr::kOut, argument::kOut);
    s_load("s_load_dwordx2", sgpr::kAtomics, argument::kAtomics);
    s_load("s_load_dwordx2", sgpr::kIn, argument::kIn);
  }
  s_load("s_load_dword", sgpr::kLimit, argument::kLimit);
  copy_group_ids(dimensions ? 3 : 1);
  if (flavour_ != Flavour::kMoves || draw_.one_in(2)) {
    s_load("s_load_dwordx8", sgpr::kInResource, argument::kInResource);
  } else {
    s_load("s_load_dwordx4", sgpr::kInResource, argument::kInResource);
    s_load("s_load_dwordx4", sgpr::kOutResource, argument::kOutResource);
  }
  s_load("s_load_dwordx16", sgpr::kData, argument::kNumbers);
  s_load("s_load_dwordx16", sgpr::kData + 16, argument::kNumbers + 64);
  wait();
  if (draw_.one_in(3)) {
    odd_ = one_of({1u, 2u, 3u, 6u});
    odd_out_ = draw_.one_in(2);
    const uint32_t base = odd_out_ ? sgpr::kOut : sgpr::kIn;
    put(encoder_.sop2(op("s_sub_u32"), sgpr::kOddBase, base, inline_integer(static_cast<int32_t>(odd_))));
    put(encoder_.sop2(op("s_subb_u32"), sgpr::kOddBase + 1, base + 1, inline_integer(0)));
  }
  const bool uses_scratch =
      flavour_ == Flavour::kEverything && (topic_ == Topic::kScratch || draw_.one_in(6));
  if (uses_scratch) {
    k.private_bytes = one_of({16u, 32u, 64u, 128u});
    flat_scratch(dimensions ? 3 : 1);
    scratch_in_resource_ = !is_rdna3() && draw_.one_in(3);
    if (scratch_in_resource_) {
      const uint32_t r = kScratchResource;
      put(encoder_.sop2(op("s_add_u32"), r, r, sgpr::kScratchOffset));
      put(encoder_.sop2(op("s_addc_u32"), r + 1, r + 1, inline_integer(0)));
    }
  }
  const bool wants_lds = topic_ == Topic::kPipelines || topic_ == Topic::kTiles;
  if (flavour_ == Flavour::kEverything && (wants_lds || draw_.one_in(3))) {
    lds_own_ = one_of({4u, 8u, 16u, 16u, 32u});
    lds_stride_ = lds_own_;
    k.lds_bytes = 256 + k.group[0] * k.group[1] * k.group[2] * lds_stride_;
    k.lds_bytes = (k.lds_bytes + 511) / 512 * 512;
  }
  if (flavour_ != Flavour::kMoves) put(encoder_.sop1(op("s_mov_b32"), isa::code::kM0, inline_integer(-1)));

  const uint32_t t = sgpr::kTemporary;
  if (!dimensions) {
    if (item_ > first_data_ || first_data_ > 2) v_mov(item_, v(0));
    const uint32_t size = k.group[0];
    if (std::has_single_bit(size) && draw_.one_in(2)) {
      put(encoder_.sop2(op("s_lshl_b32"), t, kFirstGroupId, inline_integer(std::countr_zero(size))));
    } else if (has_inline_integer(size)) {
      put(encoder_.sop2(op("s_mul_i32"), t, kFirstGroupId, inline_integer(static_cast<int32_t>(size))));
    } else {
      put(encoder_.sop2(op("s_mul_i32"), t, kFirstGroupId, kLiteral, size));
    }
    v_add(index_, t, 0);
  } else {
    if (isa::traits_of(k.target).packs_work_item_ids) {
      put(encoder_.vop3(op("v_bfe_u32"), 2, v(0), inline_integer(20), inline_integer(10)));
      put(encoder_.vop3(op("v_bfe_u32"), 1, v(0), inline_integer(10), inline_integer(10)));
      v_and_const(0, 0x3ff, 0);
    }
    uint32_t counts[3];
    for (int i = 0; i < 3; ++i) counts[i] = (k.grid[i] + k.group[i] - 1) / k.group[i] * k.group[i];
    const auto multiply = [&](uint32_t to, uint32_t factor, uint32_t source) {
      s_mov(t + 1, factor);
      put(encoder_.vop3(op("v_mul_lo_u32"), to, v(source), t + 1));
    };
    // (z * Y + y) * X + x, within the work-group and within the grid
    multiply(item_, k.group[1], 2);
    v_add(item_, v(1), item_);
    multiply(item_, k.group[0], item_);
    v_add(item_, v(0), item_);
    for (uint32_t i = 0; i < 3; ++i) {
      put(encoder_.sop2(op("s_mul_i32"), t, kFirstGroupId + i, kLiteral, k.group[i]));
      v_add(i, t, i);
    }
    multiply(index_, counts[1], 2);
    v_add(index_, v(1), index_);
    multiply(index_, counts[0], index_);
    v_add(index_, v(0), index_);
  }
  if (lds_stride_ != 0) {
    v_scale(slot_, static_cast<int32_t>(lds_stride_), item_);
    v_add_const(slot_, 256, slot_);
  }
  // Work-items past the limit exit.
  if (!draw_.one_in(4)) {
    if (draw_.one_in(2)) {
      v_cmp("v_cmp_gt_u32", sgpr::kLimit, index_);
    } else {
      v_cmp("v_cmp_gt_i32", sgpr::kLimit, index_);
    }
    if (draw_.one_in(8)) {
      put(encoder_.sop2(mask_op("s_and"), isa::code::kExecLo, isa::code::kExecLo, kVccLo));
    } else {
      put(encoder_.sop1(mask_op("s_and_saveexec"), saved_exec(0), kVccLo));
    }
    if (!draw_.one_in(6)) branch("s_cbranch_execz", end_);
  }
  if (flavour_ != Flavour::kMoves) {
    const uint32_t count = 1 + draw_.below(6);
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t to = data_vgpr();
      v_mov(to, draw_.one_in(2) ? data_sgpr() : v(index_));
    }
  }
  places_.clear();
  forget_written();
}

void Generator::finish() {
  if (flavour_ != Flavour::kMoves) {
    const uint32_t count = 1 + draw_.below(5);
    for (uint32_t i = 0; i < count; ++i) {
      if (draw_.one_in(3)) {
        const uint32_t to = data_vgpr();
        v_mov(to, draw_.one_in(6) ? kVccLo : data_sgpr());
      }
      forget_written();
      store();
    }
  }
  put_label(end_);
  // Indexing is off when the next wave starts.
  if (draw_.one_in(16)) {
    const uint32_t index = data_sgpr();
    put(encoder_.sopc(op("s_set_gpr_idx_on"), index, draw_.below(16)));
  }
  put(encoder_.sopp(op("s_endpgm"), 0));
  // Functions that these functions call are appended to the list.
  for (size_t i = 0; i < functions_.size(); ++i) {
    const Function function = functions_[i];
    function_ = function;
    put_label(function.label);
    places_.clear();
    budget_ = 6;
    same_for_group_ = function.whole_group;
    statements(1 + draw_.below(4), function.depth());
    put(encoder_.sop1(op("s_setpc_b64"), 0, function.return_sgprs()));
  }
}

// Statements
// ---------------------------------------------------------------------------------------------------

void Generator::statements(uint32_t count, uint32_t depth) {
  for (uint32_t i = 0; i < count && budget_ > 0; ++i) {
    --budget_;
    statement(depth);
  }
}

void Generator::statement(uint32_t depth) {
  forget_written();
  const bool branches = flavour_ == Flavour::kEverything;
  if (draw_.one_in(16)) return draw_.one_in(2) ? scalar_store() : record_access();
  if (draw_.one_in(24)) return byte_range_load();
  if (image_.exists() && draw_.one_in(12))
    return draw_.one_in(2) ? read_image() : draw_.one_in(2) ? write_image() : sum_image();
  if (alu_.has_matrices() && draw_.one_in(16)) return matrices();
  if (draw_.one_in(20)) return temporary_mode(depth);
  if (draw_.one_in(30)) return indexed_moves();
  if (draw_.one_in(12)) return rare_statement();
  if (draw_.one_in(6)) return id_arithmetic();
  if (branches && topic_ != Topic::kNone && draw_.one_in(3)) return statement_of_topic(depth);
  if (branches && !function_ && draw_.one_in(80)) return end_a_wave();
  if (draw_.one_in(40)) return carries();
  if (draw_.one_in(30)) return pipeline();
  if (draw_.one_in(40)) return atomic_on_own_field();
  if (branches && draw_.one_in(30)) return draw_.one_in(2) ? read_state() : changed_mask();
  if (branches && depth == 0 && !function_ && draw_.one_in(10)) return multiply_add_chain();
  const uint32_t choice = draw_.below(branches ? 26 : 12);
  switch (choice) {
    case 0:
    case 1:
    case 2:
      return arithmetic(6);
    case 3:
      return moves();
    case 4:
    case 5:
      load();
      return wait();
    case 6:
    case 7:
      return store();
    case 8:
      scalar_load();
      return wait();
    case 9:
      return exchange();
    case 10:
      return sum();
    case 11: {
      put(alu_.scalar(draw_, registers()));
      return;
    }
    case 12:
    case 13:
    case 14:
      if (kernel_.lds_bytes != 0) return lds();
      return arithmetic(4);
    case 15:
    case 16:
      if (kernel_.lds_bytes != 0 && same_for_group_) return barrier();
      return exchange();
    case 17:
    case 18:
      if (kernel_.private_bytes != 0) return scratch();
      return temporary_exec();
    case 19:
      return temporary_exec();
    case 20:
      return call(depth);
    case 21:
    case 22:
      return region(depth, draw_.one_in(2));
    case 23:
      return uniform_branch(depth);
    case 24:
      return uniform_loop(depth);
    default:
      return lane_loop(depth);
  }
}

// Statements that compilers emit rarely, but assembly programmers do.
void Generator::rare_statement() {
  switch (draw_.below(10)) {
    case 0:
    case 1:
      return common_carry();
    case 2:
    case 3:
      return loads_where_lanes_wrap();
    case 4:
    case 5:
      return branch_with_exit();
    case 6:
      return relative_registers();
    default:
      if (encoder_.target().wave32) return high_halves_as_registers();
      return is_rdna() || draw_.one_in(3) ? relative_registers() : indexing();
  }
}

void Generator::statement_of_topic(uint32_t depth) {
  switch (topic_) {
    case Topic::kPipelines:
      return pipeline();
    case Topic::kTiles:
      return tile();
    case Topic::kMasks:
      return draw_.one_in(3) ? read_state() : draw_.one_in(4) ? temporary_exec() : changed_mask();
    case Topic::kAtomics:
      return atomic_on_own_field();
    case Topic::kCarries:
      return carries();
    case Topic::kCalls:
      return call(depth);
    case Topic::kScratch:
      return scratch();
    case Topic::kNone:
      return;
  }
}

void Generator::forget_written() {
  std::erase_if(places_, [&](const Place& place) {
    for (uint32_t i = place.vgpr; i < place.vgpr + place.vgprs(); ++i) {
      if ((written_[i / 64] >> i % 64 & 1) != 0) return true;
    }
    return false;
  });
  std::fill(std::begin(written_), std::end(written_), 0);
}

void Generator::moves() {
  const uint32_t count = 1 + draw_.below(6);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t near = data_vgpr();
    const uint32_t to = draw_.one_in(2)
                            ? std::clamp(near + draw_.below(5), first_data_ + 2, kernel_.vgprs + 1) - 2
                            : data_vgpr();
    if (draw_.one_in(8)) {
      put(encoder_.vop2(op("v_xor_b32"), to, kLiteral, near, 0x80000000));
    } else {
      v_mov(to, draw_.one_in(12) ? data_sgpr() : v(near));
    }
  }
}

void Generator::matrices() {
  const uint32_t count = 1 + draw_.below(4);
  for (uint32_t i = 0; i < count; ++i) {
    if (const Words words = alu_.matrix(draw_, registers()); !words.empty()) put(words);
  }
}

void Generator::arithmetic(uint32_t max_count) {
  const uint32_t count = 1 + draw_.below(max_count);
  for (uint32_t i = 0; i < count; ++i) {
    if (draw_.one_in(8)) {
      put(alu_.scalar(draw_, registers()));
    } else {
      put(draw_.one_in(4) ? alu_.vector(draw_, registers()) : alu_.common(draw_, registers()));
    }
  }
}

void Generator::exchange() {
  const uint32_t to = data_vgpr(), from = data_vgpr();
  switch (draw_.below(5)) {
    case 0:
      put(encoder_.ds(op("ds_bpermute_b32"), data_vgpr(), from, to, 0));
      return;
    case 1:
      put(encoder_.ds(op("ds_permute_b32"), item_, from, to, 4 * draw_.below(16)));
      return;
    case 2: {
      const uint32_t low = draw_.below(256);
      put(encoder_.ds(op("ds_swizzle_b32"), from, to, 0, low, draw_.below(256)));
      return;
    }
    case 3:
      put(encoder_.vop1(op("v_readfirstlane_b32"), data_sgpr(), v(from)));
      return;
    default: {
      const uint32_t scalar = data_sgpr();
      const uint32_t lane =
          draw_.one_in(2) ? data_sgpr() : inline_integer(static_cast<int32_t>(draw_.below(64)));
      put(encoder_.vop3(op("v_readlane_b32"), scalar, v(from), lane));
      return;
    }
  }
}

void Generator::indexed_moves() {
  const bool is_gfx8 = kernel_.target.family() == isa::Family::kGfx8;
  if (is_gfx9() || (is_gfx8 && draw_.one_in(2))) return indexed_arithmetic();
  const uint32_t count = 1 + draw_.below(3);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t place = data_vgpr(), other = data_vgpr();
    const uint32_t index = draw_.below(place - first_data_ + 1);
    s_mov(isa::code::kM0, index);
    if (draw_.one_in(2)) {
      put(encoder_.vop1(op("v_movrels_b32"), other, v(place - index)));
    } else {
      put(encoder_.vop1(op("v_movreld_b32"), place - index, v(other)));
    }
    if (draw_.one_in(2)) arithmetic(2);
  }
  s_mov(isa::code::kM0, ~0u);
  places_.clear();
}

// Operands that M0[15:12] selects are `index` registers further.
void Generator::indexed_arithmetic() {
  const uint32_t index = draw_.below(6), from = data_sgpr();
  s_mov(from, index);
  put(encoder_.sopc(op("s_set_gpr_idx_on"), from, draw_.below(16)));
  const uint32_t count = 1 + draw_.below(3);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t place = data_vgpr();
    const uint32_t to = place - std::min(place - first_data_, index);
    if (draw_.one_in(2)) {
      put(encoder_.vop1(op("v_mov_b32"), to, v(data_vgpr())));
    } else {
      const uint32_t other = v(data_vgpr());
      put(encoder_.vop2(op("v_xor_b32"), to, other, data_vgpr()));
    }
    if (draw_.one_in(4)) put(encoder_.sopp(op("s_set_gpr_idx_mode"), draw_.below(16)));
    if (draw_.one_in(4)) put(encoder_.sop1(op("s_set_gpr_idx_idx"), 0, from));
  }
  put(encoder_.sopp(op("s_set_gpr_idx_off"), 0));
  s_mov(isa::code::kM0, ~0u);
  places_.clear();
}

// Memory
// ---------------------------------------------------------------------------------------------------

Kernel generate(const isa::Target& chip, uint64_t seed) {
  Draw draw(seed * 0x9e3779b97f4a7c15u + 1);
  Kernel kernel;
  kernel.target = chip;
  kernel.target.wave32 = chip.family() >= isa::Family::kGfx10 && draw.one_in(2);
  Generator(kernel, draw).run();
  return kernel;
}

}  // namespace rigel::vgpu::exec::whole
