#include "plugins/vgpu/exec/whole_kernels/generate.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <vector>

#include "plugins/vgpu/exec/whole_kernels/contents.hpp"
#include "plugins/vgpu/exec/whole_kernels/random_alu.hpp"
#include "plugins/vgpu/exec/whole_kernels/random_image.hpp"
#include "plugins/vgpu/exec/whole_kernels/writer.hpp"
#include "plugins/vgpu/isa/decoder.hpp"

namespace rigel::vgpu::exec::whole {
namespace {

using isa::code::kLiteral;
using isa::code::kVccLo;

/// What a work-item has of the output: `bytes` bytes at base + stride * (its number).
struct Field {
  int32_t base = 0, stride = 4;
  uint32_t bytes = 4;
};

/// An address in registers, good for accesses of [offset, offset + bytes).
struct Place {
  enum class Form : uint8_t { kFlat, kGlobal, kGlobalBase, kBuffer };
  Form form = Form::kFlat;
  bool out = false;       ///< Else in the input.
  uint32_t vgpr = 0;      ///< Of the address, or of the offset (kGlobalBase, kBuffer).
  uint32_t bytes = 0;     ///< That may be accessed from there on.
  uint32_t constant = 0;  ///< To be added to each access's own offset.

  uint32_t vgprs() const { return form == Form::kFlat || form == Form::kGlobal ? 2 : 1; }
};

class Generator : Writer {
 public:
  Generator(Kernel& kernel, Draw& draw) : Writer(kernel, draw), alu_(kernel.target), image_(kernel.target) {}
  void run();

 private:
  enum class Flavour : uint8_t {
    kMoves,       ///< Loads, elements moved about, stores; little else.
    kArithmetic,  ///< Without branches.
    kEverything,
  };

  void draw_shape();
  void draw_fields();
  void begin();
  void finish();
  void flat_scratch();

  void statements(uint32_t count, uint32_t depth);
  void statement(uint32_t depth);
  void moves();
  void arithmetic(uint32_t most);
  void exchange();

  Place new_place(bool out);
  Place new_stream(bool out, int32_t bytes, int32_t base);
  Place place(bool out);
  uint32_t widest(uint32_t at_most);
  void access(const Place& place, bool store);
  void load() { access(place(draw_.one_in(8)), false); }
  void store() { access(place(true), true); }
  void scalar_load();
  void scalar_store();
  uint32_t records(bool out, const Field& field, uint32_t count);
  void record();
  void sum();
  uint32_t image_words(const ImageWords& words);
  void read_image();
  void write_image();
  void sum_image();
  void lds();
  void barrier();
  void scratch();
  void call(uint32_t depth);

  void region(uint32_t depth, bool with_else);
  void uniform_branch(uint32_t depth);
  void uniform_loop(uint32_t depth);
  void lane_loop(uint32_t depth);
  void exec_game();
  void inside(uint32_t count, uint32_t depth);

  Registers registers() const {
    return {kernel_.vgprs, first_data_, sgpr::kData, sgpr::kDataEnd, false, true, layout_of(kernel_).sgprs};
  }
  uint32_t condition();
  void forget_written();
  uint32_t saved_exec(uint32_t depth) const { return sgpr::kSavedExec + 2 * depth; }

  RandomAlu alu_;
  RandomImage image_;
  Flavour flavour_ = Flavour::kEverything;
  bool streams_ =
      false;  // elements of vectors, one behind the other: such work-groups are compiled as a whole
  std::vector<Field> fields_;
  uint32_t scalar_field_ = 0;  // 16 bytes of each work-item, for the first lanes of waves
  uint32_t image_field_ = 0;   // likewise, a texel in a plane
  // Of such texels: rows of others would overlap those of other waves.
  std::optional<uint32_t> image_dwords_;
  std::vector<Place> places_;
  uint32_t total_ = 1;  // work-items, with those that are not there
  uint32_t index_ = 3;  // VGPR: the work-item's number in the grid …
  uint32_t item_ = 4;   // … and in its work-group
  uint32_t slot_ = 5;   // its place in LDS
  uint32_t loop_ = 6;   // counters of loops that lanes leave, by depth
  uint32_t lds_stride_ = 0, lds_own_ = 0;
  bool lds_shared_ = false;  // LDS may be read anywhere, and not be written
  bool in_function_ = false;
  uint32_t budget_ = 0;
  std::vector<uint32_t> functions_;
  uint32_t end_ = 0;
};

void Generator::draw_shape() {
  Kernel& k = kernel_;
  const uint32_t what = draw_.below(8);
  flavour_ = what < 3 ? Flavour::kMoves : what < 4 ? Flavour::kArithmetic : Flavour::kEverything;
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
    uint32_t left = groups;
    for (int i = 0; i < (three ? 3 : 2); ++i) {
      const uint32_t n = i == 0 ? 1 + draw_.below(left) : 1 + draw_.below(std::max(left, 1u));
      left = std::max(left / n, 1u);
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
  k.mode = draw_.one_in(2)   ? 0x3f0
           : draw_.one_in(2) ? 0x3c0
                             : (draw_.below(16) | draw_.below(16) << 4 | draw_.below(4) << 8);
  k.data_seed = draw_.bits() >> 24;
  if (plain && draw_.one_in(2)) {
    streams_ = true;
    k.group[0] = one_of({64u, 64u, 128u, 192u, 256u});
    k.grid[0] = k.group[0] * groups - (draw_.one_in(3) ? draw_.below(k.group[0]) : 0);
    total_ = k.group[0] * groups;
    k.limit = draw_.one_in(2) ? k.grid[0] : 1 + draw_.below(k.grid[0]);
    k.in_bytes = kMostInBytes;
  }
  if (plain) {
    index_ = 0;
    item_ = 1;  // none of its own
    first_data_ = 1;
  }
}

void Generator::draw_fields() {
  int32_t at = 0;
  const uint32_t count = 1 + draw_.below(4);
  for (uint32_t i = 0; i < count; ++i) {
    Field field;
    field.bytes = one_of({4u, 8u, 16u, 4u, 8u, 16u, 12u, 32u, 20u, 2u, 1u});
    if (streams_) field.bytes = one_of({4u, 8u, 16u, 16u});
    const uint32_t unit = field.bytes < 4 ? field.bytes : 4;
    uint32_t stride = field.bytes + (!streams_ && draw_.one_in(3) ? unit * draw_.below(4) : 0);
    if (uint64_t{stride} * total_ > kMostOutBytes / 8) stride = field.bytes = 4;
    if (stride % 4 == 0) at = (at + 3) / 4 * 4;
    const bool down = !streams_ && draw_.one_in(6);
    field.stride = down ? -static_cast<int32_t>(stride) : static_cast<int32_t>(stride);
    field.base = down ? at + static_cast<int32_t>(stride * (total_ - 1)) : at;
    at += static_cast<int32_t>(stride * total_);
    fields_.push_back(field);
  }
  scalar_field_ = static_cast<uint32_t>(at + 15) / 16 * 16;
  kernel_.out_bytes = scalar_field_;
  if (flavour_ == Flavour::kMoves) return;
  image_field_ = (scalar_field_ + total_ * 16 + 255) / 256 * 256;
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
    statements(budget_, 0);
  }
  finish();
}

// Arguments, and which work-item this is.
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
  if (flavour_ != Flavour::kMoves || draw_.one_in(2)) {
    s_load("s_load_dwordx8", sgpr::kInResource, argument::kInResource);
  } else {
    s_load("s_load_dwordx4", sgpr::kInResource, argument::kInResource);
    s_load("s_load_dwordx4", sgpr::kOutResource, argument::kOutResource);
  }
  s_load("s_load_dwordx16", sgpr::kData, argument::kNumbers);
  s_load("s_load_dwordx16", sgpr::kData + 16, argument::kNumbers + 64);
  wait();
  const bool uses_scratch = flavour_ == Flavour::kEverything && draw_.one_in(4);
  if (uses_scratch) {
    k.private_bytes = one_of({16u, 32u, 64u, 128u});
    put(encoder_.sop1(op("s_mov_b32"), sgpr::kScratchOffset, kFirstGroupId + (dimensions ? 3 : 1)));
    flat_scratch();
  }
  if (flavour_ == Flavour::kEverything && draw_.one_in(2)) {
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
    uint32_t counts[3];
    for (int i = 0; i < 3; ++i) counts[i] = (k.grid[i] + k.group[i] - 1) / k.group[i] * k.group[i];
    const auto multiply = [&](uint32_t to, uint32_t by, uint32_t source) {
      s_mov(t + 1, by);
      put(encoder_.vop3(op("v_mul_lo_u32"), to, v(source), t + 1));
    };
    // (z * Y + y) * X + x, of the work-group and of the grid
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
  // Who has nothing to do leaves.
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
      v_mov(data_vgpr(), draw_.one_in(2) ? data_sgpr() : v(index_));
    }
  }
  places_.clear();
  forget_written();
}

void Generator::flat_scratch() {
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
  if (is_gfx10()) {
    put(encoder_.sopk(op("s_setreg_b32"), to, 31u << 11 | 20));
    put(encoder_.sopk(op("s_setreg_b32"), to + 1, 31u << 11 | 21));
  }
}

// What registers hold is stored, and functions follow.
void Generator::finish() {
  if (flavour_ != Flavour::kMoves) {
    const uint32_t count = 1 + draw_.below(5);
    for (uint32_t i = 0; i < count; ++i) {
      if (draw_.one_in(3)) v_mov(data_vgpr(), draw_.one_in(6) ? kVccLo : data_sgpr());
      forget_written();
      store();
    }
  }
  put_label(end_);
  put(encoder_.sopp(op("s_endpgm"), 0));
  in_function_ = true;
  for (const uint32_t function : std::vector<uint32_t>(functions_)) {
    put_label(function);
    places_.clear();
    budget_ = 6;
    statements(1 + draw_.below(4), 2);
    put(encoder_.sop1(op("s_setpc_b64"), 0, sgpr::kReturn));
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
  if (draw_.one_in(16)) return draw_.one_in(2) ? scalar_store() : record();
  if (draw_.one_in(12)) return draw_.one_in(2) ? read_image() : draw_.one_in(2) ? write_image() : sum_image();
  const uint32_t what = draw_.below(branches ? 26 : 12);
  switch (what) {
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
      if (kernel_.lds_bytes != 0 && depth == 0 && !in_function_) return barrier();
      return exchange();
    case 17:
    case 18:
      if (kernel_.private_bytes != 0) return scratch();
      return exec_game();
    case 19:
      return exec_game();
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

// Places that registers no longer hold.
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

void Generator::arithmetic(uint32_t most) {
  const uint32_t count = 1 + draw_.below(most);
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
    case 2:
      put(encoder_.ds(op("ds_swizzle_b32"), from, to, 0, draw_.below(256), draw_.below(256)));
      return;
    case 3:
      put(encoder_.vop1(op("v_readfirstlane_b32"), data_sgpr(), v(from)));
      return;
    default:
      put(encoder_.vop3(
          op("v_readlane_b32"), data_sgpr(), v(from),
          draw_.one_in(2) ? data_sgpr() : inline_integer(static_cast<int32_t>(draw_.below(64)))));
      return;
  }
}

// Memory
// ---------------------------------------------------------------------------------------------------

// An address in registers that were for data until now.
Place Generator::new_place(bool out) {
  Place place;
  place.out = out;
  const uint32_t offset = data_vgpr();
  if (out) {
    const Field& field = fields_[draw_.below(static_cast<uint32_t>(fields_.size()))];
    place.bytes = field.bytes;
    if (streams_) return new_stream(true, field.stride, field.base);
    v_scale(offset, field.stride, index_);
    if (field.base != 0) {
      if (field.base < 2048 && field.stride > 0 && draw_.one_in(2)) {
        place.constant = static_cast<uint32_t>(field.base);
      } else {
        v_add_const(offset, field.base, offset);
      }
    }
  } else {
    const uint32_t in = kernel_.in_bytes;
    if (streams_ && !draw_.one_in(16)) {
      const int32_t bytes = one_of({4, 8});
      return new_stream(false, bytes, static_cast<int32_t>(draw_.below((in - total_ * 8) / 8) * 8));
    }
    const uint32_t unit = draw_.one_in(12) ? 1 : draw_.one_in(3) ? 16 : 4;
    place.bytes = one_of({4u, 16u, 32u, 64u});
    const int32_t scale =
        draw_.one_in(5) ? one_of({-4, -8, 0, 64, 100, -1, 36}) : one_of({4, 8, 16, 4, 8, 16, 12, 2, 1, 32});
    const uint32_t reach = static_cast<uint32_t>(std::abs(scale)) * total_;
    switch (draw_.below(8)) {
      case 0:  // wherever
        v_and_const(offset, (in - 1) & ~(unit - 1), data_vgpr());
        break;
      case 1:  // the same for all
        put(encoder_.sop2(op("s_and_b32"), sgpr::kTemporary, data_sgpr(), kLiteral, (in - 1) & ~(unit - 1)));
        v_mov(offset, sgpr::kTemporary);
        break;
      default: {
        const bool fits = reach <= in && scale % static_cast<int32_t>(unit == 16 ? 4 : unit) == 0;
        v_scale(offset, scale, flavour_ != Flavour::kMoves && draw_.one_in(5) ? item_ : index_);
        if (scale < 0) v_add_const(offset, fits ? static_cast<int32_t>(reach) : 0, offset);
        if (!fits) v_and_const(offset, (in - 1) & ~(unit - 1), offset);
      }
    }
  }
  const uint32_t base = out ? sgpr::kOut : sgpr::kIn;
  const uint32_t what = draw_.below(8);
  if (what == 0) {
    place.form = Place::Form::kBuffer;
    place.vgpr = offset;
    return place;
  }
  if (what <= 2 && !is_gfx8()) {
    place.form = Place::Form::kGlobalBase;
    place.vgpr = offset;
    return place;
  }
  place.form = is_gfx8() || what == 3 ? Place::Form::kFlat : Place::Form::kGlobal;
  place.vgpr = data_vgpr(2);
  if (place.vgpr + 1 == offset) place.vgpr = offset + 2 <= kernel_.vgprs ? offset : offset - 1;
  // The upper half first, where the lower one is the offset.
  if (place.vgpr == offset || draw_.one_in(2)) {
    if (place.vgpr + 1 == offset) {
      const uint32_t low = place.vgpr;
      v_add_co(low, base, offset);
      v_mov(low + 1, base + 1);
      v_addc(low + 1, inline_integer(0), low + 1);
    } else {
      v_mov(place.vgpr + 1, base + 1);
      v_add_co(place.vgpr, base, offset);
      v_addc(place.vgpr + 1, inline_integer(0), place.vgpr + 1);
    }
  } else {
    v_add_co(place.vgpr, base, offset);
    v_mov(place.vgpr + 1, base + 1);
    v_addc(place.vgpr + 1, inline_integer(0), place.vgpr + 1);
  }
  return place;
}

// As compilers do it: a shift of 64 bits, and a sum of 64.
Place Generator::new_stream(bool out, int32_t bytes, int32_t base) {
  const uint32_t address = data_vgpr(2);
  const uint32_t shift = static_cast<uint32_t>(std::countr_zero(static_cast<uint32_t>(bytes)));
  const uint32_t pointer = out ? sgpr::kOut : sgpr::kIn, start = sgpr::kTemporary;
  put(encoder_.sop2(op("s_add_u32"), start, pointer, kLiteral, static_cast<uint32_t>(base)));
  put(encoder_.sop2(op("s_addc_u32"), start + 1, pointer + 1, inline_integer(0)));
  v_mov(address, v(index_));
  if (draw_.one_in(2)) {
    put(encoder_.vop2(op("v_ashrrev_i32"), address + 1, inline_integer(31), index_));
  } else {
    v_const(address + 1, 0);
  }
  put(encoder_.vop3(op("v_lshlrev_b64"), address, inline_integer(static_cast<int32_t>(shift)), v(address)));
  const uint32_t high = data_vgpr();
  if (high != address && high != address + 1) {
    v_mov(high, start + 1);
    v_add_co(address, start, address);
    put(encoder_.vop2(op("v_addc_u32"), address + 1, v(high), address + 1));
  } else {
    v_add_co(address, start, address);
    v_mov(address + 1, start + 1);
    v_addc(address + 1, inline_integer(0), address + 1);
  }
  Place place;
  place.form = is_gfx8() ? Place::Form::kFlat : Place::Form::kGlobal;
  place.out = out;
  place.vgpr = address;
  place.bytes = static_cast<uint32_t>(bytes);
  return place;
}

Place Generator::place(bool out) {
  forget_written();
  for (const Place& known : places_) {
    if (known.out == out && draw_.one_in(2)) return known;
  }
  Place made = new_place(out);
  forget_written();
  places_.push_back(made);
  return made;
}

uint32_t Generator::widest(uint32_t at_most) {
  const uint32_t widths[] = {4, 8, 12, 16, 4, 8, 16, 1, 2};
  for (;;) {
    const uint32_t width = widths[draw_.below(9)];
    if (width <= at_most) return width;
  }
}

// A load to, or a store of, registers for data.
void Generator::access(const Place& place, bool is_store) {
  const uint32_t width = streams_ ? std::min(place.bytes, 16u) : widest(place.bytes);
  const uint32_t unit = std::min(width, 4u);
  const uint32_t inside_ = draw_.below((place.bytes - width) / unit + 1) * unit;
  const uint32_t dwords = std::max(width / 4, 1u);
  std::string what;
  if (is_store) {
    constexpr const char* kStores[] = {"dword", "dwordx2", "dwordx3", "dwordx4"};
    what = std::string("_store_") + (width == 1 ? "byte" : width == 2 ? "short" : kStores[dwords - 1]);
    if (width < 4 && !is_gfx8() && draw_.one_in(3)) what += "_d16_hi";
  } else {
    constexpr const char* kLoads[] = {"dword", "dwordx2", "dwordx3", "dwordx4"};
    what = std::string("_load_") + (width == 1   ? one_of({"ubyte", "sbyte"})
                                    : width == 2 ? one_of({"ushort", "sshort"})
                                                 : kLoads[dwords - 1]);
    if (width < 4 && !is_gfx8() && draw_.one_in(3)) {
      what = width == 2 ? "_load_short_d16" : one_of({"_load_ubyte_d16", "_load_sbyte_d16"});
      if (draw_.one_in(2)) what += "_hi";
    }
  }
  if (kernel_.vgprs - first_data_ < dwords) return;
  const uint32_t data = data_vgpr(dwords);
  const uint32_t offset = inside_ + place.constant;
  switch (place.form) {
    case Place::Form::kBuffer:
      put(encoder_.buffer(op("buffer" + what), place.vgpr, data,
                          place.out ? sgpr::kOutResource : sgpr::kInResource, offset, inline_integer(0),
                          {.offen = true}));
      break;
    case Place::Form::kGlobalBase:
      put(encoder_.flat(op("global" + what), place.vgpr, data, static_cast<int32_t>(offset),
                        place.out ? sgpr::kOut : sgpr::kIn));
      break;
    case Place::Form::kGlobal:
      put(encoder_.flat(op("global" + what), place.vgpr, data, static_cast<int32_t>(offset)));
      break;
    case Place::Form::kFlat: {
      if (offset == 0 || is_gfx9()) {
        put(encoder_.flat(op("flat" + what), place.vgpr, data, static_cast<int32_t>(offset)));
        break;
      }
      const uint32_t pair = data_vgpr(2);
      if (pair + 1 == place.vgpr || pair == place.vgpr + 1) break;
      if (is_store && data < pair + 2 && pair < data + dwords) break;
      s_mov(sgpr::kTemporary, offset);
      v_add_co(pair, sgpr::kTemporary, place.vgpr);
      v_addc(pair + 1, inline_integer(0), place.vgpr + 1);
      put(encoder_.flat(op("flat" + what), pair, data, 0));
      break;
    }
  }
}

void Generator::scalar_load() {
  const uint32_t dwords = one_of({1u, 2u, 4u, 8u, 16u, 1u, 2u});
  const std::string suffix = dwords == 1 ? "dword" : "dwordx" + std::to_string(dwords);
  const uint32_t to = data_sgpr(dwords);
  const bool buffer = draw_.one_in(3);
  const isa::Op load = op((buffer ? "s_buffer_load_" : "s_load_") + suffix);
  const uint32_t base = buffer ? sgpr::kInResource : sgpr::kIn;
  if (draw_.one_in(2)) {
    put(encoder_.smem(load, to, base, static_cast<int32_t>(draw_.below(1024) * 4)));
  } else {
    put(encoder_.sop2(op("s_and_b32"), sgpr::kTemporary, data_sgpr(), kLiteral,
                      (kernel_.in_bytes - 1) & ~3u));
    put(encoder_.smem(load, to, base, 0, sgpr::kTemporary));
  }
}

// A wave's own place is that of one of its work-items.
void Generator::scalar_store() {
  const uint32_t t = sgpr::kTemporary, dwords = one_of({1u, 2u, 4u});
  const isa::Op store = op(dwords == 1   ? "s_store_dword"
                           : dwords == 2 ? "s_store_dwordx2"
                                         : "s_store_dwordx4");
  if (!encoder_.has(store, isa::Encoding::kSmem)) return;
  put(encoder_.vop1(op("v_readfirstlane_b32"), t, v(index_)));
  put(encoder_.sop2(op("s_lshl_b32"), t, t, inline_integer(4)));
  put(encoder_.sop2(op("s_add_u32"), t, t, kLiteral, scalar_field_));
  put(encoder_.sop2(op("s_add_u32"), t + 2, sgpr::kOut, t));
  put(encoder_.sop2(op("s_addc_u32"), t + 3, sgpr::kOut + 1, inline_integer(0)));
  put(encoder_.smem(store, data_sgpr(dwords), t + 2, static_cast<int32_t>(draw_.below(5 - dwords) * 4)));
}

// A descriptor of `count` records, in temporaries. Its format is any.
uint32_t Generator::records(bool out, const Field& field, uint32_t count) {
  const uint32_t t = sgpr::kTemporary, from = out ? sgpr::kOutResource : sgpr::kInResource;
  put(encoder_.sop2(op("s_add_u32"), t, from, kLiteral, static_cast<uint32_t>(field.base)));
  put(encoder_.sop2(op("s_addc_u32"), t + 1, from + 1, inline_integer(0)));
  put(encoder_.sop2(op("s_or_b32"), t + 1, t + 1, kLiteral, static_cast<uint32_t>(field.stride) << 16));
  s_mov(t + 2, count);
  const uint32_t format = is_gfx10() ? (1 + draw_.below(77)) << 12  // what is out of range goes by records
                                     : draw_.below(8) << 12 | (1 + draw_.below(14)) << 15;
  s_mov(t + 3, 0xfac | format);
  return t;
}

// Typed and untyped access to records of buffers: by the work-item's number, or anything there is.
void Generator::record() {
  static constexpr const char* kFormats[] = {"format_x", "format_xy", "format_xyz", "format_xyzw"};
  const Field& field = fields_[draw_.below(static_cast<uint32_t>(fields_.size()))];
  const bool out = draw_.one_in(3) && field.stride >= 16 && field.bytes >= 16;
  const uint32_t stride = one_of({4u, 8u, 16u, 20u, 12u, 1u, 36u});
  const Field in{0, static_cast<int32_t>(stride), stride};
  const uint32_t count = kernel_.in_bytes / stride;
  const uint32_t resource = out ? records(true, field, total_) : records(false, in, count);
  uint32_t index = index_;
  if (!out) {
    index = data_vgpr();
    v_and_const(index, std::bit_ceil(count) - 1, data_vgpr());  // some are beyond the last
  }
  const uint32_t components = draw_.below(4), data = data_vgpr(4);
  const std::string what = out ? "store_" : "load_";
  const uint32_t offset = out ? 0 : draw_.below(stride);
  const bool small = !out && !is_gfx8() && draw_.one_in(4);
  const std::string format =
      small ? std::string("format_d16_") + (kFormats[components] + 7) : kFormats[components];
  switch (draw_.below(3)) {
    case 0:
      put(encoder_.buffer(op("buffer_" + what + format), index, data, resource, offset, inline_integer(0),
                          {.idxen = true}));
      break;
    case 1:
      put(encoder_.typed_buffer(
          op("tbuffer_" + what + format), index, data, resource, offset, inline_integer(0),
          is_gfx10() ? 1 + draw_.below(77) : (1 + draw_.below(14)) | draw_.below(8) << 4, {.idxen = true}));
      break;
    default: {
      constexpr const char* kWidths[] = {"dword", "dwordx2", "dwordx3", "dwordx4"};
      put(encoder_.buffer(op("buffer_" + what + kWidths[components]), index, data, resource, offset / 4 * 4,
                          inline_integer(0), {.idxen = true}));
      break;
    }
  }
  wait();
}

// Sums of all work-items: each operation has a place of its own, so that their order does not matter.
void Generator::sum() {
  static constexpr const char* kKinds[] = {"add", "smin", "smax", "umin", "umax", "and", "or", "xor"};
  const uint32_t kind = draw_.below(8);
  const bool wide = draw_.one_in(4);
  const uint32_t address = data_vgpr(2), data = data_vgpr(wide ? 2 : 1);
  v_and_const(address, wide ? 0xf8 : 0xfc, data_vgpr());
  const uint32_t at = kind * 1024 + (wide ? 512 : 0);
  const std::string name = std::string("_atomic_") + kKinds[kind] + (wide ? "_x2" : "");
  s_mov(sgpr::kTemporary + 2, at);
  put(encoder_.sop2(op("s_add_u32"), sgpr::kTemporary + 2, sgpr::kAtomics, sgpr::kTemporary + 2));
  v_add_co(address, sgpr::kTemporary + 2, address);
  v_mov(address + 1, sgpr::kAtomics + 1);
  v_addc(address + 1, inline_integer(0), address + 1);
  if (data + (wide ? 2 : 1) <= address || data >= address + 2) {
    put(encoder_.flat(op((is_gfx8() || draw_.one_in(3) ? "flat" : "global") + name), address, data, 0));
  }
}

// The words in registers, the resource's first and the sampler's behind them.
uint32_t Generator::image_words(const ImageWords& words) {
  constexpr uint32_t kWords = 12;
  const uint32_t first = sgpr::kData + 4 * draw_.below((sgpr::kDataEnd - sgpr::kData - kWords) / 4 + 1);
  for (uint32_t i = 0; i < 8; ++i) s_mov(first + i, words.resource[i]);
  for (uint32_t i = 0; i < 4; ++i) s_mov(first + 8 + i, words.sampler[i]);
  return first;
}

void Generator::read_image() {
  const uint32_t at = draw_.below((kernel_.in_bytes - RandomImage::kMostBytes) / 256 + 1);
  const uint32_t words = image_words(image_.reads(draw_, kInVa + uint64_t{at} * 256));
  const Words read = image_.read(draw_, registers(), words, words + 8);
  isa::Instruction in;
  if (isa::decode(encoder_.target(), read.data(), read.size(), in) != isa::DecodeStatus::kOk) return;
  // Most addresses are on the image or near it.
  for (uint32_t i = 0; i < 4 && !draw_.one_in(6); ++i) {
    const uint32_t address = i != 0 && i <= in.nsa_count ? in.nsa[i - 1] : in.vaddr.vgpr() + i;
    if (address < first_data_ || address >= kernel_.vgprs) continue;
    v_and_const(address, draw_.one_in(8) ? 31 : 3, address);
    if (in.extra[0].exists()) put(encoder_.vop1(op("v_cvt_f32_u32"), address, v(address)));
    if (in.extra[0].exists() && draw_.one_in(2))
      put(encoder_.vop2(op("v_mul_f32"), address, kLiteral, address, 0x3e000000 + draw_.below(1 << 24)));
  }
  put(read);
  wait();
}

void Generator::write_image() {
  const uint32_t dwords = image_dwords_.value_or(one_of({1u, 2u, 4u, 4u}));
  image_dwords_ = dwords;
  const uint32_t rows = (total_ + RandomImage::kRowTexels - 1) / RandomImage::kRowTexels;
  const uint32_t words = image_words(image_.plane(kOutVa + image_field_, dwords, rows));
  const uint32_t address = data_vgpr(2), data = data_vgpr(dwords);
  put(encoder_.vop2(op("v_lshrrev_b32"), address + 1, inline_integer(6), index_));
  v_and_const(address, RandomImage::kRowTexels - 1, index_);
  put(image_.write(op("image_store"), address, data, (1u << dwords) - 1, words));
}

// As sum(), of the same places.
void Generator::sum_image() {
  static constexpr const char* kKinds[] = {"add", "smin", "smax", "umin", "umax", "and", "or", "xor"};
  const uint32_t kind = draw_.below(8);
  const bool wide = draw_.one_in(4);
  const uint32_t at = kind * 1024 + (wide ? 512 : 0);
  const uint32_t words = image_words(image_.plane(kAtomicsVa + at, wide ? 2 : 1, 1));
  const uint32_t address = data_vgpr(2), data = data_vgpr(wide ? 2 : 1);
  v_and_const(address, draw_.one_in(8) ? 127 : 31, data_vgpr());
  v_const(address + 1, 0);
  put(image_.write(op(std::string("image_atomic_") + kKinds[kind]), address, data, wide ? 3 : 1, words));
}

void Generator::lds() {
  const auto aligned = [&](uint32_t width) { return lds_own_ % width == 0 && lds_own_ >= width; };
  uint32_t width = one_of({4u, 4u, 8u, 16u, 1u, 2u, 4u, 8u});
  if (!aligned(width)) width = 4;
  const uint32_t dwords = std::max(width / 4, 1u);
  const uint32_t data = data_vgpr(dwords), data2 = data_vgpr(dwords);
  const uint32_t offset = draw_.below(lds_own_ / width) * width;
  const bool two = width >= 4 && width <= 8 && lds_own_ >= 2 * width && draw_.one_in(3);
  const uint32_t count = lds_own_ / width;
  const std::string bits = "b" + std::to_string(width * 8);
  if (!lds_shared_ && draw_.one_in(4)) {  // what all change, and nobody reads before a barrier
    static constexpr const char* kKinds[] = {"add_u32", "min_i32", "max_i32", "min_u32",
                                             "max_u32", "and_b32", "or_b32",  "xor_b32"};
    const uint32_t kind = draw_.below(8), address = data_vgpr();
    v_and_const(address, 0x1c, data_vgpr());
    put(encoder_.ds(op(std::string("ds_") + kKinds[kind]), address, data_vgpr(), 0, kind * 32));
    return;
  }
  const bool reads = lds_shared_ || draw_.one_in(2);
  uint32_t address = slot_;
  if (lds_shared_ && !draw_.one_in(4)) {
    address = data_vgpr();
    const uint32_t range = std::bit_floor(kernel_.lds_bytes);
    if (draw_.one_in(3)) {
      v_and_const(address, (range - 1) & ~(width - 1), data_vgpr());
    } else {  // a neighbour's
      put(encoder_.vop2(op("v_xor_b32"), address, kLiteral, slot_,
                        lds_stride_ * one_of({1u, 2u, 16u, 31u, 4u})));
    }
  }
  if (reads) {
    const uint32_t to = two ? data_vgpr(2 * dwords) : data;
    if (two) {
      put(encoder_.ds(op("ds_read2_" + bits), address, to, 0, draw_.below(count), draw_.below(count)));
    } else {
      const std::string small = std::string(draw_.one_in(2) ? "i" : "u") + std::to_string(width * 8);
      put(encoder_.ds(op("ds_read_" + (width < 4 ? small : bits)), address, to, 0, offset & 0xff));
    }
    wait();
  } else if (draw_.one_in(5) && width == 4) {
    put(encoder_.ds(op("ds_add_rtn_u32"), address, data, data2, offset));
  } else if (two) {
    put(encoder_.ds(op("ds_write2_" + bits), address, data, data2, draw_.below(count), draw_.below(count)));
  } else {
    put(encoder_.ds(op("ds_write_" + bits), address, data, 0, offset & 0xff));
  }
}

void Generator::barrier() {
  wait();
  put(encoder_.sopp(op("s_barrier"), 0));
  lds_shared_ = !lds_shared_;
  const uint32_t count = 1 + draw_.below(3);
  for (uint32_t i = 0; i < count; ++i) lds();
}

void Generator::scratch() {
  const uint32_t width = one_of({4u, 4u, 8u, 16u, 1u, 2u});
  const uint32_t dwords = std::max(width / 4, 1u), data = data_vgpr(dwords);
  const uint32_t last = kernel_.private_bytes - std::max(width, 4u);
  const uint32_t at = draw_.below(last / 4 + 1) * 4;
  const bool stores = draw_.one_in(2);
  constexpr const char* kWidths[] = {"dword", "dwordx2", "dwordx3", "dwordx4"};
  const std::string what =
      std::string(stores ? "_store_" : "_load_") + (width == 1   ? (stores ? "byte" : "ubyte")
                                                    : width == 2 ? (stores ? "short" : "ushort")
                                                                 : kWidths[dwords - 1]);
  const uint32_t way = draw_.below(is_gfx8() ? 3 : 5);
  if (way == 3) {  // scratch_*, by an offset in an SGPR
    const isa::Op scratch = op("scratch" + what);
    s_mov(sgpr::kTemporary, at);
    put(encoder_.flat(scratch, 0, data, 0, sgpr::kTemporary));
    return;
  }
  if (way == 0) {
    put(encoder_.buffer(op("buffer" + what), 0, data, kScratchResource, at, sgpr::kScratchOffset, {}));
    return;
  }
  const uint32_t address = data_vgpr(2);
  v_and_const(address, (std::bit_floor(kernel_.private_bytes) / 2 - 1) & ~3u & ~(std::bit_ceil(width) - 1),
              data_vgpr());
  const uint32_t small = kernel_.private_bytes >= 32 ? at % (kernel_.private_bytes / 2 - 12) / 4 * 4 : 0;
  if (kernel_.private_bytes < 32) v_const(address, 0);
  if (way == 1) {
    put(encoder_.buffer(op("buffer" + what), address, data, kScratchResource, small, sgpr::kScratchOffset,
                        {.offen = true}));
    return;
  }
  if (way == 4) {
    put(encoder_.flat(op("scratch" + what), address, data, static_cast<int32_t>(small)));
    return;
  }
  if (address + 2 > data && data + dwords > address && stores) return;
  v_const(address + 1, kPrivateApertureHigh);
  put(encoder_.flat(op("flat" + what), address, data, 0));
}

void Generator::call(uint32_t depth) {
  if (in_function_ || depth > 2 || functions_.size() >= 2) return arithmetic(3);
  if (functions_.empty() || draw_.one_in(2)) functions_.push_back(new_label());
  const uint32_t function = functions_.back();
  if (!is_gfx8() && draw_.one_in(2)) {
    put(encoder_.sopk(op("s_call_b64"), sgpr::kReturn, 0));
    kernel_.items.back().label = function;
  } else {
    put(encoder_.sop1(op("s_getpc_b64"), sgpr::kCall, 0));
    put(encoder_.sop2(op("s_add_u32"), sgpr::kCall, sgpr::kCall, kLiteral, 0));
    kernel_.items.back().label = function;
    put(encoder_.sop2(op("s_addc_u32"), sgpr::kCall + 1, sgpr::kCall + 1, inline_integer(0)));
    put(encoder_.sop1(op("s_swappc_b64"), sgpr::kReturn, sgpr::kCall));
  }
  places_.clear();
}

// Control flow
// ---------------------------------------------------------------------------------------------------

// Addresses that are worked out inside are good for some lanes, or for one time round.
void Generator::inside(uint32_t count, uint32_t depth) {
  forget_written();
  const std::vector<Place> before = places_;
  statements(count, depth);
  forget_written();
  std::erase_if(places_, [&](const Place& place) {
    return std::none_of(before.begin(), before.end(), [&](const Place& known) {
      return known.vgpr == place.vgpr && known.form == place.form && known.out == place.out &&
             known.bytes == place.bytes && known.constant == place.constant;
    });
  });
}

// A mask that lanes have made: its registers.
uint32_t Generator::condition() {
  static constexpr const char* kCompare[] = {"v_cmp_lt_u32", "v_cmp_gt_i32", "v_cmp_eq_u32", "v_cmp_lg_u32",
                                             "v_cmp_lt_f32", "v_cmp_ge_i32", "v_cmp_ngt_f32"};
  const char* const name = kCompare[draw_.below(7)];
  if (draw_.one_in(3)) {
    const uint32_t to = data_sgpr(2);
    put(encoder_.vop3(op(name), to, v(data_vgpr()), draw_.one_in(2) ? data_sgpr() : v(data_vgpr())));
    return to;
  }
  v_cmp(name, draw_.one_in(2) ? inline_integer(static_cast<int32_t>(draw_.below(64))) : v(data_vgpr()),
        draw_.one_in(3) ? item_ : data_vgpr());
  return kVccLo;
}

void Generator::region(uint32_t depth, bool with_else) {
  if (depth >= 4) return arithmetic(2);
  const uint32_t saved = saved_exec(depth + 1), exec = isa::code::kExecLo;
  const uint32_t over = new_label();
  if (draw_.one_in(4)) {  // v_cmpx
    put(encoder_.sop1(mask_op("s_mov"), saved, exec));
    put(alu_.narrows(draw_, registers()));
    if (draw_.one_in(2)) branch("s_cbranch_execz", over);
    inside(1 + draw_.below(3), depth + 1);
    put_label(over);
    put(encoder_.sop1(mask_op("s_mov"), exec, saved));
    return;
  }
  const uint32_t mask = condition();
  put(encoder_.sop1(mask_op("s_and_saveexec"), saved, mask));
  put(encoder_.sop2(mask_op("s_xor"), saved, exec, saved));
  if (!draw_.one_in(3)) branch("s_cbranch_execz", over);
  inside(1 + draw_.below(3), depth + 1);
  put_label(over);
  if (with_else) {
    const uint32_t end = new_label();
    put(encoder_.sop1(mask_op("s_or_saveexec"), saved, saved));
    put(encoder_.sop2(mask_op("s_xor"), exec, exec, saved));
    if (!draw_.one_in(3)) branch("s_cbranch_execz", end);
    inside(1 + draw_.below(3), depth + 1);
    put_label(end);
  }
  put(encoder_.sop2(mask_op("s_or"), exec, exec, saved));
}

void Generator::uniform_branch(uint32_t depth) {
  const uint32_t over = new_label(), end = new_label();
  const char* const conditions[] = {"s_cbranch_scc0", "s_cbranch_scc1", "s_cbranch_vccz", "s_cbranch_vccnz"};
  const uint32_t which = draw_.below(4);
  if (which < 2) {
    static constexpr const char* kCompare[] = {"s_cmp_lt_u32", "s_cmp_gt_i32", "s_cmp_eq_u32",
                                               "s_cmp_lg_i32"};
    put(encoder_.sopc(op(kCompare[draw_.below(4)]), data_sgpr(), data_sgpr()));
  } else if (draw_.one_in(2)) {
    condition();
  }
  branch(conditions[which], over);
  inside(1 + draw_.below(3), depth + 1);
  if (draw_.one_in(2)) {
    put_label(over);
    return;
  }
  branch("s_branch", end);
  put_label(over);
  inside(1 + draw_.below(2), depth + 1);
  put_label(end);
}

void Generator::uniform_loop(uint32_t depth) {
  if (depth >= 3 || in_function_) return arithmetic(2);
  const uint32_t count = sgpr::kLoopCount + depth, again = new_label();
  s_mov(count, 1 + draw_.below(5));
  places_.clear();
  put_label(again);
  inside(1 + draw_.below(3), depth + 1);
  places_.clear();
  switch (draw_.below(3)) {
    case 0:
      put(encoder_.sop2(op("s_sub_u32"), count, count, inline_integer(1)));
      put(encoder_.sopc(op("s_cmp_lg_u32"), count, inline_integer(0)));
      break;
    case 1:
      put(encoder_.sopk(op("s_addk_i32"), count, 0xffff));
      put(encoder_.sopk(op("s_cmpk_lg_i32"), count, 0));
      break;
    default:
      put(encoder_.sop2(op("s_add_i32"), count, count, inline_integer(-1)));
      put(encoder_.sopc(op("s_cmp_eq_u32"), count, inline_integer(0)));
      branch("s_cbranch_scc0", again);
      return;
  }
  branch("s_cbranch_scc1", again);
}

// Lanes leave it one after the other.
void Generator::lane_loop(uint32_t depth) {
  if (depth >= 2 || in_function_) return arithmetic(2);
  const uint32_t saved = saved_exec(depth + 1), exec = isa::code::kExecLo, count = loop_ + depth;
  const uint32_t again = new_label();
  v_and_const(count, one_of({1u, 3u, 7u}), draw_.one_in(2) ? item_ : data_vgpr());
  put(encoder_.sop1(mask_op("s_mov"), saved, exec));
  places_.clear();
  put_label(again);
  inside(1 + draw_.below(2), depth + 1);
  places_.clear();
  v_add_const(count, -1, count);
  v_cmp("v_cmp_lt_i32", inline_integer(0), count);
  if (draw_.one_in(2)) {
    put(encoder_.sop2(mask_op("s_and"), exec, exec, kVccLo));
    branch("s_cbranch_execnz", again);
  } else {
    put(encoder_.sop2(mask_op("s_and"), kVccLo, exec, kVccLo));
    put(encoder_.sop1(mask_op("s_mov"), exec, kVccLo));
    branch("s_cbranch_vccnz", again);
  }
  put(encoder_.sop1(mask_op("s_mov"), exec, saved));
}

// EXEC becomes something else for a while, also lanes that are not there: these must not store.
void Generator::exec_game() {
  const uint32_t saved = sgpr::kSavedExec + 14, exec = isa::code::kExecLo;
  forget_written();
  const std::vector<Place> before = places_;
  places_.clear();
  put(encoder_.sop1(mask_op("s_mov"), saved, exec));
  switch (draw_.below(6)) {
    case 0:
      put(encoder_.sop1(mask_op("s_mov"), exec, inline_integer(-1)));
      break;
    case 1:
      put(encoder_.sop1(mask_op("s_mov"), exec, data_sgpr(2)));
      break;
    case 2:
      put(encoder_.sop1(mask_op("s_not"), exec, exec));
      break;
    case 3:
      put(encoder_.sop1(mask_op("s_wqm"), exec, exec));
      break;
    case 4:
      put(encoder_.sop2(mask_op("s_xor"), exec, exec, data_sgpr(2)));
      break;
    default:
      put(encoder_.sop1(
          mask_op(one_of({"s_or_saveexec", "s_andn2_saveexec", "s_nand_saveexec", "s_xor_saveexec"})),
          data_sgpr(2), data_sgpr(2)));
      break;
  }
  const uint32_t count = 1 + draw_.below(3);
  for (uint32_t i = 0; i < count; ++i) {
    if (draw_.one_in(3)) {
      access(new_place(false), false);
    } else if (draw_.one_in(3)) {
      exchange();
    } else {
      arithmetic(3);
    }
  }
  put(encoder_.sop1(mask_op("s_mov"), exec, saved));
  places_ = before;
  forget_written();
}

}  // namespace

Kernel generate(const isa::Target& chip, uint64_t seed) {
  Draw draw(seed * 0x9e3779b97f4a7c15u + 1);
  Kernel kernel;
  kernel.target = chip;
  kernel.target.wave32 = chip.family() == isa::Family::kGfx10 && draw.one_in(2);
  Generator(kernel, draw).run();
  return kernel;
}

}  // namespace rigel::vgpu::exec::whole
