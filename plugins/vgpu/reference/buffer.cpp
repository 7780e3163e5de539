// MUBUF and MTBUF, lane by lane, by the formulas of the ISA manuals:
//
//   ADDR = BASE + sgpr_offset + buffer_offset
//   index  = (idxen ? vgpr_index : 0) + (add_tid_enable ? thread_id : 0)
//   offset = (offen ? vgpr_offset : 0) + inst_offset
//   linear:   buffer_offset = offset + stride * index
//   swizzled: buffer_offset = (index_msb * stride + offset_msb * element_size) * index_stride +
//                             index_lsb * element_size + offset_lsb
#include <algorithm>

#include "plugins/vgpu/reference/buffer_format.hpp"
#include "plugins/vgpu/reference/lane_access.hpp"

namespace rigel::vgpu::exec::reference {
namespace {

using isa::Family;
using isa::Op;
using Kind = Element::Kind;

struct Descriptor {
  uint64_t base;
  uint32_t stride, records;
  bool swizzle, add_tid;
  uint32_t element_size, index_stride;
  uint32_t dst_sel[4];
  unsigned data_format, number_format, unified_format;
  unsigned oob_select;
};

Descriptor descriptor_of(const isa::Instruction& in, const State& state) {
  const auto bits = [&](unsigned from, unsigned to) {  // Bits of the 128-bit descriptor.
    uint64_t value = 0;
    for (unsigned bit = to + 1; bit-- > from;)
      value = value << 1 | (state.scalar[in.saddr.code + bit / 32] >> bit % 32 & 1);
    return value;
  };
  const Family family = state.target.family();
  Descriptor d{};
  d.base = bits(0, 47);
  d.stride = static_cast<uint32_t>(bits(48, 61));
  d.swizzle = bits(63, 63) != 0;
  d.records = static_cast<uint32_t>(bits(64, 95));
  for (unsigned i = 0; i < 4; ++i) d.dst_sel[i] = static_cast<uint32_t>(bits(96 + i * 3, 98 + i * 3));
  d.number_format = static_cast<unsigned>(bits(108, 110));
  d.data_format = static_cast<unsigned>(bits(111, 114));
  d.unified_format = static_cast<unsigned>(bits(108, 114));
  if (family >= Family::kGfx11) {
    d.swizzle = bits(62, 63) != 0;
    d.unified_format = static_cast<unsigned>(bits(108, 113));
  }
  d.element_size = family == Family::kGfx8 ? 2u << bits(115, 116) : 4;
  d.index_stride = 8u << bits(117, 118);
  d.add_tid = bits(119, 119) != 0;
  d.oob_select = static_cast<unsigned>(bits(124, 125));
  // Without a format, the field is the upper part of the stride.
  if (d.add_tid && family < Family::kGfx10) d.stride |= d.data_format << 14;
  return d;
}

class Buffer {
 public:
  Buffer(const isa::Instruction& in, const State& state, unsigned lane)
      : in_(in), family_(state.target.family()), wave_size_(state.wave_size), d_(descriptor_of(in, state)) {
    sgpr_offset_ = in.soffset.exists() ? static_cast<uint32_t>(scalar_value(in.soffset, in, state)) : 0;
    unsigned next = 0;
    const auto vaddr = [&] { return uint64_t{state.vgpr[in.vaddr.vgpr() + next++][lane]}; };
    if (in.idxen) index_ = vaddr();
    if (d_.add_tid) index_ += lane;
    offset_ = static_cast<uint64_t>(in.offset);
    if (in.offen) offset_ += vaddr();
    // Measured on gfx950: this addition has 32 bits, others have more. Not on gfx8: LLVM's
    // SelectMUBUFScratchOffen.
    if (family_ != Family::kGfx8) offset_ &= 0xffffffff;
  }

  const Descriptor& descriptor() const { return d_; }

  uint64_t address(unsigned byte) const {
    const uint64_t offset = offset_ + byte;
    if (!d_.swizzle) return d_.base + sgpr_offset_ + offset + d_.stride * index_;
    const uint64_t index_msb = index_ / d_.index_stride, index_lsb = index_ % d_.index_stride;
    const uint64_t offset_msb = offset / d_.element_size, offset_lsb = offset % d_.element_size;
    return d_.base + sgpr_offset_ + (index_msb * d_.stride + offset_msb * d_.element_size) * d_.index_stride +
           index_lsb * d_.element_size + offset_lsb;
  }

  /// A multiple of the size if the access is aligned; swizzled memory needs each part aligned.
  uint64_t alignment_address() const { return d_.swizzle ? (d_.base + sgpr_offset_) | offset_ : address(0); }

  /// Whether `bytes` bytes from `first` on are in range. Sources: the manuals' "Range Checking", and
  /// measurements on gfx950 and gfx12 (rocjitsu in ROCm/rocm-systems).
  bool in_range(unsigned first, unsigned bytes) const {
    const uint64_t end = offset_ + first + bytes;
    const bool in_record = index_ < d_.records && end <= d_.stride;
    if (family_ == Family::kGfx8) {
      // Scratch: each lane has the record of its number, and the limit is in bytes.
      if (d_.stride != 0 && d_.swizzle && !is_scratch()) return in_record;
      return end + sgpr_offset_ + (d_.swizzle ? 0 : index_ * d_.stride) <= d_.records;
    }
    if (family_ == Family::kGfx9) {
      if (d_.add_tid && !in_.idxen) return true;
      if (in_.idxen && d_.stride != 0) return index_ < d_.records;
      return end + sgpr_offset_ <= d_.records;
    }
    const uint64_t reduced = d_.records - std::min<uint64_t>(d_.records, sgpr_offset_);
    switch (d_.oob_select) {
      case 0:
        return in_record;
      case 1:
        return index_ < d_.records;
      case 2:
        return d_.records != 0;
      default:
        return d_.swizzle && d_.stride != 0 ? index_ < reduced && end <= d_.stride : end <= reduced;
    }
  }

  /// Whether the access is in range of the queue's scratch but past the lane's memory. It is reported, as for
  /// FLAT; hardware would access another wave's memory.
  bool is_reported(unsigned bytes, World& world) const {
    if (!is_scratch() || d_.element_size != 4 || d_.index_stride != wave_size_ || !in_range(0, bytes))
      return false;
    const uint64_t distance = d_.base + sgpr_offset_ - world.private_va;
    if (distance >= uint64_t{world.scratch_lane_bytes} * wave_size_) return false;
    const uint64_t lane_offset = distance / wave_size_ + offset_;
    if (lane_offset + bytes <= world.scratch_lane_bytes) return false;
    world.faults.insert(uint64_t{world.private_aperture_hi} << 32 | static_cast<uint32_t>(lane_offset));
    return true;
  }

 private:
  bool is_scratch() const { return d_.swizzle && d_.add_tid && !in_.idxen; }

  const isa::Instruction& in_;
  const Family family_;
  const uint32_t wave_size_;
  const Descriptor d_;
  uint64_t sgpr_offset_ = 0, index_ = 0, offset_ = 0;
};

struct Typed {
  bool store = false, d16 = false, high = false;
  unsigned components = 0;
};

// load_format_xyz, store_format_d16_hi_x
bool parse_typed(std::string_view name, Typed& out) {
  const auto take = [&](std::string_view word) {
    if (!name.starts_with(word)) return false;
    name.remove_prefix(word.size());
    return true;
  };
  out.store = take("store_format_");
  if (!out.store && !take("load_format_")) return false;
  out.d16 = take("d16_");
  out.high = take("hi_");
  out.components = static_cast<unsigned>(name.size());
  return true;
}

/// Loads or stores one element of a format.
void access_typed(const isa::Instruction& in, const Typed& typed, const Buffer& buffer, unsigned lane,
                  const State& before, State& state) {
  const Descriptor& d = buffer.descriptor();
  const bool gfx10 = before.target.family() >= Family::kGfx10;
  const bool own_format = in.encoding == isa::Encoding::kMtbuf;
  const bool gfx11 = before.target.family() >= Family::kGfx11;
  const TypedFormat format = gfx11        ? compact_format(own_format ? in.format : d.unified_format)
                             : own_format ? (gfx10 ? typed_format(in.format) : typed_format(in.dfmt, in.nfmt))
                             : gfx10      ? typed_format(d.unified_format)
                                          : typed_format(d.data_format, d.number_format);
  World& world = state.world;
  // OpenGL's normalized numbers exist on gfx8 only; their rounding is not specified.
  const bool ogl = format.number == TypedFormat::Number::kSnormOgl &&
                   (typed.store || before.target.family() != Family::kGfx8);
  if (!format.valid || ogl) {
    world.open = true;
    return;
  }
  // Registers have two halves each; on the first chips of gfx8 one.
  const bool packed = before.target.major != 8 || before.target.minor != 0;
  const unsigned size = format.bytes();
  const bool in_range = buffer.in_range(0, size);
  if (buffer.is_reported(size, world)) return;
  const bool integer =
      format.number == TypedFormat::Number::kUint || format.number == TypedFormat::Number::kSint;
  const uint32_t one = integer ? 1 : 0x3f800000;
  const unsigned first = typed.store ? in.vdata.vgpr() : in.vdst.vgpr();
  const auto selector = [&](unsigned i) { return own_format ? 4 + i : d.dst_sel[i]; };

  if (typed.store) {
    uint32_t values[4] = {}, given[4] = {};
    for (unsigned i = 0; i < typed.components; ++i) {
      uint32_t value = before.vgpr[first + (typed.d16 && packed ? i / 2 : i)][lane];
      if (typed.d16) {
        value = typed.high || (packed && i % 2 == 1) ? value >> 16 : value & 0xffff;
        if (!integer) {
          value = widened(kHalf, value);
        } else if (format.number == TypedFormat::Number::kSint && value >= 0x8000) {
          value |= 0xffff0000;
        }
      }
      given[i] = value;
    }
    for (unsigned i = typed.components;
         i-- > 0;) {  // The first one if several select the same component of memory.
      if (selector(i) >= 4) values[selector(i) - 4] = given[i];
    }
    if (!in_range) return;
    unsigned bit = 0;
    uint8_t bytes[16] = {};
    for (unsigned c = 0; c < format.components(); ++c) {
      const uint32_t bits = component_from_register(format, c, values[c]);
      for (unsigned i = 0; i < format.bits[c]; ++i, ++bit)
        bytes[bit / 8] = static_cast<uint8_t>(bytes[bit / 8] | (bits >> i & 1) << bit % 8);
    }
    for (unsigned i = 0; i < size; ++i) world.write(Space::kGlobal, buffer.address(i), 1, bytes[i]);
    return;
  }

  uint32_t values[4] = {0, 0, 0, one};
  if (in_range) {
    uint8_t bytes[16] = {};
    for (unsigned i = 0; i < size; ++i)
      bytes[i] = static_cast<uint8_t>(world.read(Space::kGlobal, buffer.address(i), 1));
    unsigned bit = 0;
    for (unsigned c = 0; c < format.components(); ++c) {
      uint32_t bits = 0;
      for (unsigned i = 0; i < format.bits[c]; ++i, ++bit) bits |= (bytes[bit / 8] >> bit % 8 & 1u) << i;
      values[c] = component_to_register(format, c, bits);
    }
  } else {
    values[3] = 0;
  }
  for (unsigned i = 0; i < typed.components; ++i) {
    const uint32_t from = selector(i);
    if (from == 2 || from == 3) world.open = true;
    if (from == 1 && !in_range) world.open = true;  // 1 of an inaccessible element.
    uint32_t value = from >= 4 ? values[from - 4] : from == 1 ? one : 0;
    if (!typed.d16) {
      state.vgpr[first + i][lane] = value;
      continue;
    }
    value = integer ? value & 0xffff : static_cast<uint32_t>(converted(kSingle, value, {}, kHalf, {}));
    uint32_t& to = state.vgpr[first + (packed ? i / 2 : i)][lane];
    if (d16_clears(before.target) && typed.components == 1) to = 0;
    if (typed.high || (packed && i % 2 == 1)) {
      to = (to & 0xffff) | value << 16;
    } else if (packed && typed.components == 1) {
      to = (to & 0xffff0000) | value;
    } else {
      to = value;
    }
  }
}

// Transfers between memory and LDS: the lane's dword is at LDS_OFFSET (M0) + inst_offset + 4 * lane.
void access_with_lds(const isa::Instruction& in, const Element& element, const Buffer& buffer, unsigned lane,
                     State& state) {
  World& world = state.world;
  const uint64_t lds =
      (state.scalar[isa::code::kM0] & 0xffff) + static_cast<uint64_t>(in.offset) + lane * uint64_t{4};
  const bool in_lds = lds + 4 <= world.lds.size();
  const bool in_range = buffer.in_range(0, element.bytes);
  if (buffer.is_reported(element.bytes, world)) return;
  uint32_t value = 0;
  if (in.op == Op::buffer_store_lds_dword) {
    if (in_lds) value = static_cast<uint32_t>(world.read(Space::kLds, lds, 4));
    for (unsigned i = 0; i < 4 && in_range; ++i)
      world.write(Space::kGlobal, buffer.address(i), 1, value >> 8 * i & 0xff);
    return;
  }
  for (unsigned i = 0; i < element.bytes && in_range; ++i)
    value |= static_cast<uint32_t>(world.read(Space::kGlobal, buffer.address(i), 1)) << 8 * i;
  if (element.bytes < 4) value = narrow_loaded(element, value, 0, state.target);
  if (in_lds) world.write(Space::kLds, lds, 4, value);
}

bool is_of_caches(Op op) {
  return op == Op::buffer_wbinvl1 || op == Op::buffer_wbinvl1_vol || op == Op::buffer_gl0_inv ||
         op == Op::buffer_gl1_inv || op == Op::buffer_wbl2 || op == Op::buffer_invl2 || op == Op::buffer_inv;
}

}  // namespace

Outcome execute_buffer(const isa::Instruction& in, State& state) {
  if (is_of_caches(in.op)) return Outcome::kDone;
  std::string_view name = isa::name(in.op);
  name.remove_prefix(name.find('_') + 1);
  Typed typed;
  const bool is_typed = parse_typed(name, typed);
  const bool from_lds = in.op == Op::buffer_store_lds_dword;
  const auto element = from_lds ? element_of("store_dword") : element_of(name);
  if (!is_typed && !element) return Outcome::kNotModelled;
  const bool with_lds = from_lds || in.lds;
  if (is_typed && with_lds) return Outcome::kNotModelled;

  const State before = state;
  for (unsigned lane = 0; lane < before.wave_size; ++lane) {
    if ((before.exec() >> lane & 1) == 0) continue;
    const Buffer buffer(in, before, lane);
    unsigned registers = 0;
    if (is_typed) {
      access_typed(in, typed, buffer, lane, before, state);
      const bool packed = before.target.major != 8 || before.target.minor != 0;
      registers = typed.d16 && packed ? (typed.components + 1) / 2 : typed.components;
    } else if (with_lds) {
      access_with_lds(in, *element, buffer, lane, state);
    } else if (!buffer.is_reported(element->bytes, state.world)) {
      ElementLocation location;
      location.alignment_address = buffer.alignment_address();
      location.address = [&](unsigned byte) { return buffer.address(byte); };
      const unsigned piece = element->kind == Kind::kAtomic ? element->bytes : std::min(element->bytes, 4u);
      location.in_range = [&](unsigned n) { return buffer.in_range(n * 4, piece); };
      access_lane(in, *element, location, lane, before, state);
      registers = element->registers();
    }
    // TFE: an additional register reports missing pages; all are present.
    const bool returns = in.vdst.exists() && !with_lds;
    if (in.tfe && returns) state.vgpr[in.vdst.vgpr() + registers][lane] = 0;
  }
  return Outcome::kDone;
}

}  // namespace rigel::vgpu::exec::reference
