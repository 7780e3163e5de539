#include "plugins/vgpu/exec/whole_kernels/generator.hpp"

#include <algorithm>
#include <bit>
#include <string>

namespace rigel::vgpu::exec::whole {

using isa::code::kLiteral;

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
      case 0:  // random
        v_and_const(offset, (in - 1) & ~(unit - 1), data_vgpr());
        break;
      case 1:  // uniform
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
  const uint32_t form = draw_.below(8);
  if (form == 0) {
    place.form = Place::Form::kBuffer;
    place.vgpr = offset;
    return place;
  }
  place.base = out ? sgpr::kOut : sgpr::kIn;
  if (odd_ != 0 && odd_out_ == out && draw_.one_in(2)) {
    place.base = sgpr::kOddBase;
    v_add_const(offset, static_cast<int32_t>(odd_), offset);
  }
  const uint32_t base = place.base;
  if (form <= 2 && !is_gfx8()) {
    place.form = Place::Form::kGlobalBase;
    place.vgpr = offset;
    return place;
  }
  place.form = is_gfx8() || form == 3 ? Place::Form::kFlat : Place::Form::kGlobal;
  place.vgpr = data_vgpr(2);
  if (place.vgpr + 1 == offset) place.vgpr = offset + 2 <= kernel_.vgprs ? offset : offset - 1;
  // If the lower half is the offset, the upper half is written first.
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

// 64-bit shift and addition, as compilers compute addresses of arrays.
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
  for (const Place& existing : places_) {
    if (existing.out == out && draw_.one_in(2)) return existing;
  }
  Place created = new_place(out);
  forget_written();
  places_.push_back(created);
  return created;
}

uint32_t Generator::random_width(uint32_t at_most) {
  const uint32_t widths[] = {4, 8, 12, 16, 4, 8, 16, 1, 2};
  for (;;) {
    const uint32_t width = widths[draw_.below(9)];
    if (width <= at_most) return width;
  }
}

// Loads or stores random data registers, or the register `wanted`.
void Generator::access(const Place& place, bool is_store, std::optional<uint32_t> wanted) {
  const uint32_t width = streams_ ? std::min(place.bytes, 16u) : random_width(place.bytes);
  const uint32_t unit = std::min(width, 4u);
  const uint32_t offset_in_place = draw_.below((place.bytes - width) / unit + 1) * unit;
  const uint32_t dwords = std::max(width / 4, 1u);
  std::string suffix;
  if (is_store) {
    constexpr const char* kStores[] = {"dword", "dwordx2", "dwordx3", "dwordx4"};
    suffix = std::string("_store_") + (width == 1 ? "byte" : width == 2 ? "short" : kStores[dwords - 1]);
    if (width < 4 && !is_gfx8() && draw_.one_in(3)) suffix += "_d16_hi";
  } else {
    constexpr const char* kLoads[] = {"dword", "dwordx2", "dwordx3", "dwordx4"};
    suffix = std::string("_load_") + (width == 1   ? one_of({"ubyte", "sbyte"})
                                      : width == 2 ? one_of({"ushort", "sshort"})
                                                   : kLoads[dwords - 1]);
    if (width < 4 && !is_gfx8() && draw_.one_in(3)) {
      suffix = width == 2 ? "_load_short_d16" : one_of({"_load_ubyte_d16", "_load_sbyte_d16"});
      if (draw_.one_in(2)) suffix += "_hi";
    }
  }
  if (kernel_.vgprs - first_data_ < dwords) return;
  const uint32_t data = wanted ? std::min(*wanted, kernel_.vgprs - dwords) : data_vgpr(dwords);
  const uint32_t offset = offset_in_place + place.constant;
  switch (place.form) {
    case Place::Form::kBuffer:
      put(encoder_.buffer(op("buffer" + suffix), place.vgpr, data,
                          place.out ? sgpr::kOutResource : sgpr::kInResource, offset, inline_integer(0),
                          {.offen = true}));
      break;
    case Place::Form::kGlobalBase:
      put(encoder_.flat(op("global" + suffix), place.vgpr, data, static_cast<int32_t>(offset), place.base));
      break;
    case Place::Form::kGlobal:
      put(encoder_.flat(op("global" + suffix), place.vgpr, data, static_cast<int32_t>(offset)));
      break;
    case Place::Form::kFlat: {
      if (offset == 0 || flat_has_offset()) {
        put(encoder_.flat(op("flat" + suffix), place.vgpr, data, static_cast<int32_t>(offset)));
        break;
      }
      const uint32_t pair = data_vgpr(2);
      if (pair + 1 == place.vgpr || pair == place.vgpr + 1) break;
      if (is_store && data < pair + 2 && pair < data + dwords) break;
      s_mov(sgpr::kTemporary, offset);
      v_add_co(pair, sgpr::kTemporary, place.vgpr);
      v_addc(pair + 1, inline_integer(0), place.vgpr + 1);
      put(encoder_.flat(op("flat" + suffix), pair, data, 0));
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

// Stores to the wave's place, which is the field of one of its work-items.
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
  const uint32_t stored = data_sgpr(dwords);
  put(encoder_.smem(store, stored, t + 2, static_cast<int32_t>(draw_.below(5 - dwords) * 4)));
}

uint32_t Generator::unified_format() {
  return 1 + draw_.below(is_rdna3() ? 63 : 77);
}

// Writes a descriptor of `count` records with a random format to temporaries.
uint32_t Generator::record_descriptor(bool out, const Field& field, uint32_t count) {
  const uint32_t t = sgpr::kTemporary, source = out ? sgpr::kOutResource : sgpr::kInResource;
  put(encoder_.sop2(op("s_add_u32"), t, source, kLiteral, static_cast<uint32_t>(field.base)));
  put(encoder_.sop2(op("s_addc_u32"), t + 1, source + 1, inline_integer(0)));
  put(encoder_.sop2(op("s_or_b32"), t + 1, t + 1, kLiteral, static_cast<uint32_t>(field.stride) << 16));
  s_mov(t + 2, count);
  const uint32_t format = is_rdna() ? unified_format() << 12  // range in records
                                    : draw_.below(8) << 12 | (1 + draw_.below(14)) << 15;
  s_mov(t + 3, 0xfac | format);
  return t;
}

// Typed or untyped access to buffer records, by the work-item's index or a random index.
void Generator::record_access() {
  static constexpr const char* kFormats[] = {"format_x", "format_xy", "format_xyz", "format_xyzw"};
  const Field& field = fields_[draw_.below(static_cast<uint32_t>(fields_.size()))];
  const bool out = draw_.one_in(3) && field.stride >= 16 && field.bytes >= 16;
  const uint32_t stride = one_of({4u, 8u, 16u, 20u, 12u, 1u, 36u});
  const Field in{0, static_cast<int32_t>(stride), stride};
  const uint32_t count = kernel_.in_bytes / stride;
  const uint32_t resource =
      out ? record_descriptor(true, field, total_) : record_descriptor(false, in, count);
  uint32_t index = index_;
  if (!out) {
    index = data_vgpr();
    v_and_const(index, std::bit_ceil(count) - 1, data_vgpr());  // some are past the last record
  }
  const uint32_t components = draw_.below(4), data = data_vgpr(4);
  const std::string verb = out ? "store_" : "load_";
  const uint32_t offset = out ? 0 : draw_.below(stride);
  const bool small = !out && !is_gfx8() && draw_.one_in(4);
  const std::string format =
      small ? std::string("format_d16_") + (kFormats[components] + 7) : kFormats[components];
  switch (draw_.below(3)) {
    case 0:
      put(encoder_.buffer(op("buffer_" + verb + format), index, data, resource, offset, inline_integer(0),
                          {.idxen = true}));
      break;
    case 1:
      put(encoder_.typed_buffer(
          op("tbuffer_" + verb + format), index, data, resource, offset, inline_integer(0),
          is_rdna() ? unified_format() : (1 + draw_.below(14)) | draw_.below(8) << 4, {.idxen = true}));
      break;
    default: {
      constexpr const char* kWidths[] = {"dword", "dwordx2", "dwordx3", "dwordx4"};
      put(encoder_.buffer(op("buffer_" + verb + kWidths[components]), index, data, resource, offset / 4 * 4,
                          inline_integer(0), {.idxen = true}));
      break;
    }
  }
  wait();
}

// Untyped loads from a byte range. Some end past it because of the lane's offset, the instruction's offset
// or SOFFSET.
void Generator::byte_range_load() {
  constexpr const char* kWidths[] = {"ubyte", "sshort", "dword", "dwordx2", "dwordx3", "dwordx4"};
  const uint32_t t = sgpr::kTemporary;
  for (uint32_t i = 0; i < 4; ++i) put(encoder_.sop1(op("s_mov_b32"), t + i, sgpr::kInResource + i));
  const uint32_t records = draw_.below(draw_.one_in(2) ? 256 : kernel_.in_bytes + 1);
  s_mov(t + 2, records);
  const uint32_t soffset = data_sgpr(1), address = data_vgpr(), data = data_vgpr(4);
  s_mov(soffset, draw_.one_in(8) ? 0u - draw_.below(64) : draw_.below(records + 16) & ~3u);
  v_and_const(address, std::bit_ceil(records + 4) - 1, data_vgpr());
  const uint32_t offset = draw_.below(64);
  if (draw_.one_in(2)) v_add_const(address, -static_cast<int32_t>(draw_.below(96)), address);
  const bool has_soffset = draw_.one_in(2);
  put(encoder_.buffer(op(std::string("buffer_load_") + kWidths[draw_.below(6)]), address, data, t, offset,
                      has_soffset ? soffset : inline_integer(0), {.offen = true}));
  wait();
}

// Atomic sums of all work-items. Each operation has separate memory, so that their order does not matter.
void Generator::sum() {
  static constexpr const char* kKinds[] = {"add", "smin", "smax", "umin", "umax", "and", "or", "xor"};
  const uint32_t kind = draw_.below(8);
  const bool wide = draw_.one_in(4);
  const uint32_t address = data_vgpr(2), data = data_vgpr(wide ? 2 : 1);
  v_and_const(address, wide ? 0xf8 : 0xfc, data_vgpr());
  const uint32_t offset = kind * 1024 + (wide ? 512 : 0);
  const std::string name = std::string("_atomic_") + kKinds[kind] + (wide ? "_x2" : "");
  s_mov(sgpr::kTemporary + 2, offset);
  put(encoder_.sop2(op("s_add_u32"), sgpr::kTemporary + 2, sgpr::kAtomics, sgpr::kTemporary + 2));
  v_add_co(address, sgpr::kTemporary + 2, address);
  v_mov(address + 1, sgpr::kAtomics + 1);
  v_addc(address + 1, inline_integer(0), address + 1);
  if (data + (wide ? 2 : 1) <= address || data >= address + 2) {
    put(encoder_.flat(op((is_gfx8() || draw_.one_in(3) ? "flat" : "global") + name), address, data, 0));
  }
}

// Stores a result, or adds it atomically to a sum. Stored results are often overwritten later; sums are
// not.
void Generator::store_or_accumulate(uint32_t vgpr) {
  if (draw_.one_in(4)) return store_of(vgpr);
  uint32_t address = data_vgpr(2);
  while (vgpr == address || vgpr == address + 1) address = data_vgpr(2);
  v_and_const(address, 63, item_);
  v_scale(address, 4, address);
  if (!is_gfx8()) {
    put(encoder_.flat(op("global_atomic_add"), address, vgpr, 0, sgpr::kAtomics));
    return;
  }
  v_add_co(address, sgpr::kAtomics, address);
  v_mov(address + 1, sgpr::kAtomics + 1);
  put(encoder_.flat(op("flat_atomic_add"), address, vgpr, 0));
}

// Atomics on the work-item's own field; their results do not depend on other work-items.
void Generator::atomic_on_own_field() {
  static constexpr const char* kKinds[] = {"add", "sub", "smin", "smax", "umin", "umax",    "and",
                                           "or",  "xor", "inc",  "dec",  "swap", "cmpswap", "cmpswap"};
  const std::string kind = kKinds[draw_.below(std::size(kKinds))];
  const uint32_t dwords = draw_.one_in(3) ? 2 : 1, bytes = 4 * dwords;
  const bool compares = kind == "cmpswap", returns = !draw_.one_in(3), odd = odd_out_ && odd_ != 0;
  const uint32_t offset = atomic_field_ + draw_.below(16 / bytes) * bytes;
  const uint32_t data = data_vgpr(compares ? 2 * dwords : dwords), address = data_vgpr(2);
  const std::string name = "_atomic_" + kind + (dwords == 2 ? "_x2" : "");
  if (compares && draw_.one_in(2)) {  // compares with the current value, so it is exchanged
    v_scale(address, 16, index_);
    v_add_const(address, static_cast<int32_t>(offset), address);
    put(encoder_.buffer(op(dwords == 2 ? "buffer_load_dwordx2" : "buffer_load_dword"), address, data + dwords,
                        sgpr::kOutResource, 0, inline_integer(0), {.offen = true}));
    wait();
  }
  v_scale(address, 16, index_);
  v_add_const(address, static_cast<int32_t>(offset), address);
  const uint32_t addressing = draw_.below(4);
  uint32_t result = data_vgpr(dwords);
  if (addressing == 0) {
    Words words = encoder_.buffer(op("buffer" + name), address, data, sgpr::kOutResource, 0,
                                  inline_integer(0), {.offen = true});
    if (returns) encoder_.make_return(isa::Encoding::kMubuf, data, words);
    put(words);
    result = data;
  } else {
    const bool by_base = addressing == 1 && !is_gfx8();
    const uint32_t base = odd && draw_.one_in(2) ? sgpr::kOddBase : sgpr::kOut;
    if (base == sgpr::kOddBase) v_add_const(address, static_cast<int32_t>(odd_), address);
    if (!by_base) {
      v_add_co(address, base, address);
      v_mov(address + 1, base + 1);
      v_addc(address + 1, inline_integer(0), address + 1);
    }
    const bool is_flat = is_gfx8() || (!by_base && draw_.one_in(3));
    Words words = by_base ? encoder_.flat(op("global" + name), address, data, 0, base)
                          : encoder_.flat(op((is_flat ? "flat" : "global") + name), address, data, 0);
    if (returns) encoder_.make_return(isa::Encoding::kFlat, result, words);
    put(words);
  }
  wait();
  if (returns && draw_.one_in(2)) store_of(result);
}

void Generator::lds_load(uint32_t address, uint32_t width) {
  const uint32_t dwords = std::max(width / 4, 1u), count = lds_own_ / width;
  const std::string bits = "b" + std::to_string(width * 8);
  if (width >= 4 && width <= 8 && count >= 2 && draw_.one_in(3)) {
    const uint32_t to = data_vgpr(2 * dwords);
    const uint32_t first = draw_.below(count), second = draw_.below(count);
    put(encoder_.ds(op("ds_read2_" + bits), address, to, 0, first, second));
    return;
  }
  uint32_t offset = draw_.below(count) * width & 0xff;
  if (draw_.one_in(12)) offset = 0x10000 - width * (1 + draw_.below(8));  // past the end
  const std::string small = std::string(draw_.one_in(2) ? "i" : "u") + std::to_string(width * 8);
  put(encoder_.ds(op("ds_read_" + (width < 4 ? small : bits)), address, data_vgpr(dwords), 0, offset & 0xff,
                  offset >> 8));
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
  if (function_) {
    lds_load(slot_, width);
    return wait();
  }
  if (!lds_shared_ && draw_.one_in(4)) {  // shared sums, which are not read before a barrier
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
    } else {  // a neighbour's slot
      put(encoder_.vop2(op("v_xor_b32"), address, kLiteral, slot_,
                        lds_stride_ * one_of({1u, 2u, 16u, 31u, 4u})));
    }
  }
  if (reads) {
    // Compiled code checks several loads from one address together. None of them overwrites the address.
    const uint32_t loads = address == slot_ && draw_.one_in(3) ? 2 + draw_.below(3) : 1;
    for (uint32_t i = 0; i < loads; ++i) lds_load(address, width);
    wait();
  } else if (draw_.one_in(5) && width == 4) {
    put(encoder_.ds(op("ds_add_rtn_u32"), address, data, data2, offset));
  } else if (two) {
    const uint32_t first = draw_.below(count), second = draw_.below(count);
    put(encoder_.ds(op("ds_write2_" + bits), address, data, data2, first, second));
  } else {
    put(encoder_.ds(op("ds_write_" + bits), address, data, 0, offset & 0xff));
  }
}

// Returns SOFFSET of scratch accesses: the wave's offset, unless the descriptor includes it.
uint32_t Generator::scratch_wave() {
  if (!scratch_in_resource_) return sgpr::kScratchOffset;
  return is_rdna() && draw_.one_in(2) ? isa::code::kNull : inline_integer(0);
}

void Generator::scratch() {
  const uint32_t width = one_of({4u, 4u, 8u, 16u, 1u, 2u});
  const uint32_t dwords = std::max(width / 4, 1u), data = data_vgpr(dwords);
  const uint32_t last = kernel_.private_bytes - std::max(width, 4u);
  const uint32_t offset = draw_.below(last / 4 + 1) * 4 + (width < 4 ? draw_.below(4 / width) * width : 0);
  // Amount moved from the immediate offset to the register; the immediate may become negative or odd.
  const uint32_t moved = draw_.one_in(2) ? 0 : draw_.one_in(2) ? draw_.below(4) : draw_.below(64);
  const uint32_t wave = scratch_wave();
  const bool stores = draw_.one_in(2);
  constexpr const char* kWidths[] = {"dword", "dwordx2", "dwordx3", "dwordx4"};
  const std::string suffix =
      std::string(stores ? "_store_" : "_load_") + (width == 1   ? (stores ? "byte" : "ubyte")
                                                    : width == 2 ? (stores ? "short" : "ushort")
                                                                 : kWidths[dwords - 1]);
  const uint32_t addressing = is_rdna3() ? 2 + draw_.below(3) : draw_.below(is_gfx8() ? 3 : 5);
  if (addressing == 3) {  // scratch_*, by an offset in an SGPR
    const isa::Op scratch = op("scratch" + suffix);
    s_mov(sgpr::kTemporary, offset + moved);
    put(encoder_.flat(scratch, 0, data, -static_cast<int32_t>(moved), sgpr::kTemporary));
    return;
  }
  if (addressing == 0) {
    put(encoder_.buffer(op("buffer" + suffix), 0, data, kScratchResource, offset, wave, {}));
    return;
  }
  const uint32_t address = data_vgpr(2);
  v_and_const(address, (std::bit_floor(kernel_.private_bytes) / 2 - 1) & ~3u & ~(std::bit_ceil(width) - 1),
              data_vgpr());
  const uint32_t small = kernel_.private_bytes >= 32 ? offset % (kernel_.private_bytes / 2 - 12) / 4 * 4 : 0;
  if (kernel_.private_bytes < 32) v_const(address, 0);
  if (draw_.one_in(3)) v_const(address, offset / 2 & ~(std::bit_ceil(width) - 1));
  if (addressing == 1) {
    // Moves part of the instruction's offset to the register, or the reverse, so that the register may
    // become negative.
    const auto added = draw_.one_in(3) ? -static_cast<int32_t>(draw_.below(600))
                                       : static_cast<int32_t>(std::min(moved, small));
    if (added != 0) v_add_const(address, added, address);
    put(encoder_.buffer(op("buffer" + suffix), address, data, kScratchResource,
                        small - static_cast<uint32_t>(added), wave, {.offen = true}));
    return;
  }
  if (addressing == 4) {
    if (moved != 0) v_add_const(address, static_cast<int32_t>(moved), address);
    put(encoder_.flat(op("scratch" + suffix), address, data, static_cast<int32_t>(small - moved)));
    return;
  }
  if (address + 2 > data && data + dwords > address && stores) return;
  v_const(address + 1, kPrivateApertureHigh);
  put(encoder_.flat(op("flat" + suffix), address, data, 0));
}

}  // namespace rigel::vgpu::exec::whole
