// DS: LDS and GDS, lane by lane, as in the ISA manuals.
//
// Where the manuals are silent: an element that is partly out of range loads as 0 and is not stored; lower
// lanes come first.
#include <algorithm>
#include <map>
#include <string>

#include "plugins/vgpu/reference/element.hpp"

namespace rigel::vgpu::exec::reference {
namespace {

using isa::Family;
using isa::Op;
using Kind = Element::Kind;
using Part = Element::Part;

struct DataShare {
  Element element;
  bool two = false;      ///< read2, write2, wrxchg2
  bool far = false;      ///< Offsets of two elements count 64 elements.
  bool returns = false;  ///< Atomics.
  bool source2 = false;  ///< The operand is in memory, too.
  bool add_tid = false;
};

std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    if (c == '_') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

unsigned bytes_of(const std::string& type) {
  return static_cast<unsigned>(std::stoul(type.substr(1))) / 8;
}

// ds_read_b32, ds_read2st64_b64, ds_read_i8_d16_hi, ds_write_addtid_b32, ds_max_rtn_f32, ds_or_src2_b64 …
bool parse(std::string_view name, DataShare& out) {
  std::vector<std::string> words = words_of(name);
  words.erase(words.begin());  // ds
  const auto drop = [&](std::string_view word) {
    const auto found = std::find(words.begin(), words.end(), word);
    if (found == words.end()) return false;
    words.erase(found);
    return true;
  };
  out.returns = drop("rtn");
  out.source2 = drop("src2");
  out.add_tid = drop("addtid");
  if (drop("pk")) {  // ds_pk_add_f16
    out.element.kind = Kind::kAtomic;
    out.element.bytes = 4;
    out.element.change = words.back() == "bf16" ? Change::kPackedAddBf16 : Change::kPackedAdd;
    return words.size() == 2 && words[0] == "add";
  }
  const bool hi = drop("hi"), d16 = drop("d16");
  if (d16) out.element.part = hi ? Part::kHigh : Part::kLow;
  if (words.size() == 3 && (words[1] == "clamp" || words[1] == "sub")) {  // sub_clamp, cond_sub
    words[0] += "_" + words[1];
    words.erase(words.begin() + 1);
  }
  if (words.size() != 2) return false;
  std::string verb = words[0];
  if (verb == "condxchg32") {
    out.element.kind = Kind::kAtomic;
    out.element.bytes = 8;
    out.element.change = Change::kConditionalExchange;
    return true;
  }
  const std::string& type = words[1];
  out.element.bytes = bytes_of(type);
  if (verb.ends_with("st64")) {
    out.far = true;
    verb.resize(verb.size() - 4);
  }
  if (verb.ends_with("2")) {
    out.two = true;
    verb.resize(verb.size() - 1);
  }
  if (verb == "read") {
    out.element.kind = Kind::kLoad;
    out.element.is_signed = type[0] == 'i';
    return true;
  }
  if (verb == "write" && !out.source2) {
    out.element.kind = Kind::kStore;
    return true;
  }
  out.element.kind = Kind::kAtomic;
  const bool is_float = type[0] == 'f', is_signed = type[0] == 'i';
  const std::map<std::string_view, Change> kChanges = {
      {"add", is_float ? Change::kFloatAdd : Change::kAdd},
      {"sub", Change::kSubtract},
      {"rsub", Change::kReverseSubtract},
      {"sub_clamp", Change::kClampedSubtract},
      {"cond_sub", Change::kConditionalSubtract},
      {"inc", Change::kIncrement},
      {"dec", Change::kDecrement},
      {"min", is_float    ? Change::kFloatMin
              : is_signed ? Change::kSignedMin
                          : Change::kUnsignedMin},
      {"max", is_float    ? Change::kFloatMax
              : is_signed ? Change::kSignedMax
                          : Change::kUnsignedMax},
      {"and", Change::kAnd},
      {"or", Change::kOr},
      {"xor", Change::kXor},
      {"mskor", Change::kMaskedOr},
      {"wrap", Change::kWrap},
      {"wrxchg", Change::kSwap},
      {"write", Change::kSwap},
      {"cmpst", is_float ? Change::kFloatCompareSwap : Change::kCompareSwap},
  };
  const auto found = kChanges.find(verb);
  if (found == kChanges.end()) return false;
  out.element.change = found->second;
  return true;
}

/// The accessible memory of an instruction.
struct Window {
  Space space = Space::kLds;
  uint32_t base = 0, limit = 0;

  bool holds(uint32_t address, unsigned bytes) const { return uint64_t{address} + bytes <= limit; }
};

Window window_of(const isa::Instruction& in, const State& state, bool m0_is_address) {
  const uint32_t m0 = state.scalar[isa::code::kM0];
  Window window;
  if (in.gds) {
    // M0: base in the upper half, size in the lower.
    window.space = Space::kGds;
    window.base = m0 >> 16;
    const auto bytes = static_cast<uint32_t>(state.world.gds.size());
    window.limit = std::min(m0 & 0xffff, bytes - std::min(window.base, bytes));
    if (m0_is_address) window.limit = bytes - std::min(window.base, bytes);
    return window;
  }
  window.limit = static_cast<uint32_t>(state.world.lds.size());
  // On gfx8, M0 has the size limit, unless it has the address.
  if (state.target.family() == Family::kGfx8 && !m0_is_address)
    window.limit = std::min(window.limit, state.scalar[isa::code::kM0]);
  return window;
}

class Lanes {
 public:
  Lanes(const isa::Instruction& in, const State& before, State& after)
      : in_(in), before_(before), after_(after) {}

  uint32_t get(const isa::Operand& operand, unsigned n, unsigned lane) const {
    return before_.vgpr[operand.vgpr() + n][lane];
  }
  uint64_t get(const isa::Operand& operand, unsigned bytes, unsigned first, unsigned lane) const {
    uint64_t value = get(operand, first, lane);
    if (bytes == 8) value |= uint64_t{get(operand, first + 1, lane)} << 32;
    return value;
  }
  void set(unsigned n, unsigned lane, uint32_t value) { after_.vgpr[in_.vdst.vgpr() + n][lane] = value; }
  bool active(unsigned lane) const { return (before_.exec() >> lane & 1) != 0; }
  unsigned count() const { return before_.wave_size; }

 private:
  const isa::Instruction& in_;
  const State& before_;
  State& after_;
};

/// Rounds to nearest, with the mode's denormals; additions of doubles and of pairs of halves keep them.
Rules rules_of_sharing(const Element& element, const State& state) {
  const Rules mode = element.bytes == 8 ? state.other() : state.single();
  if (element.bytes == 8 && element.change == Change::kFloatAdd) return {};
  if (element.change == Change::kPackedAdd || element.change == Change::kPackedAddBf16) return {};
  return {0, mode.keep_inputs, mode.keep_results};
}

/// Accesses one element of a lane.
void access(const isa::Instruction& in, const DataShare& op, const Window& window, uint32_t address,
            unsigned which, unsigned lane, Lanes& lanes, State& state) {
  const Element& element = op.element;
  const unsigned bytes = element.bytes;
  const bool gfx8 = state.target.family() == Family::kGfx8;
  // Ignores low bits below the element's size: for atomics, and on gfx8 always.
  if (gfx8 || element.kind == Kind::kAtomic) address &= ~(bytes == 12 ? 15u : bytes - 1);
  const bool in_range = window.holds(address, bytes);
  World& world = state.world;
  const uint32_t place = window.base + address;
  const unsigned first = which * element.registers();
  const isa::Operand& data = which == 0 ? in.vdata : in.vdata2;
  switch (element.kind) {
    case Kind::kLoad:
      if (bytes < 4) {
        const auto loaded = in_range ? static_cast<uint32_t>(world.read(window.space, place, bytes)) : 0;
        lanes.set(0, lane, narrow_loaded(element, loaded, lanes.get(in.vdst, 0, lane), state.target));
        return;
      }
      for (unsigned i = 0; i < bytes / 4; ++i) {
        lanes.set(first + i, lane,
                  in_range ? static_cast<uint32_t>(world.read(window.space, place + i * 4, 4)) : 0);
      }
      return;
    case Kind::kStore:
      if (!in_range) return;
      if (bytes < 4) {
        world.write(window.space, place, bytes, narrow_stored(element, lanes.get(data, 0, lane)));
        return;
      }
      for (unsigned i = 0; i < bytes / 4; ++i)
        world.write(window.space, place + i * 4, 4, lanes.get(data, i, lane));
      return;
    case Kind::kAtomic:
      break;
  }
  uint64_t memory = 0;
  if (in_range) {
    // The order of two exchanges at one address is not defined.
    for (unsigned i = 0; i < bytes && op.two; ++i)
      if (world.given(window.space, place + i) != nullptr) world.open = true;
    memory = world.read(window.space, place, bytes);
    const uint64_t given = lanes.get(data, bytes, 0, lane);
    const bool has_second = in.vdata2.exists() && !op.two;
    const uint64_t second = has_second ? lanes.get(in.vdata2, bytes, 0, lane) : 0;
    // Compare-and-store: DATA0 is the expected value, DATA1 the new one.
    const bool compares =
        element.change == Change::kCompareSwap || element.change == Change::kFloatCompareSwap;
    const Rules rules = rules_of_sharing(element, state);
    const uint64_t source = compares ? second : given, other = compares ? given : second;
    world.update(window.space, place, bytes, changed(element.change, bytes, memory, source, other, rules));
  }
  if (!op.returns) return;
  lanes.set(first, lane, static_cast<uint32_t>(memory));
  if (bytes == 8) lanes.set(first + 1, lane, static_cast<uint32_t>(memory >> 32));
}

/// A = ADDR; B = A + 4 * (offset1[7] ? {A[31], A[31:17]} : {offset1[6], offset1[6:0], offset0}); MEM[A] =
/// f(MEM[A], MEM[B]). If the upper bits of A are an offset, the address is its lower 17 bits.
void access_source2(const isa::Instruction& in, const DataShare& op, const Window& window, unsigned lane,
                    Lanes& lanes, State& state) {
  const unsigned bytes = op.element.bytes;
  uint32_t a = lanes.get(in.vaddr, 0, lane);
  int32_t dwords = 0;
  if ((in.offset & 0x8000) != 0) {
    dwords = static_cast<int32_t>(a) >> 17;
    a &= 0x1ffff;
  } else {
    dwords = in.offset & 0x3fff;
    if ((in.offset & 0x4000) != 0) dwords -= 0x4000;
  }
  const uint32_t b = (a + static_cast<uint32_t>(dwords * 4)) & ~(bytes - 1);
  a &= ~(bytes - 1);
  if (!window.holds(a, bytes)) return;
  const uint64_t source = window.holds(b, bytes) ? state.world.read(window.space, window.base + b, bytes) : 0;
  const uint64_t memory = state.world.read(window.space, window.base + a, bytes);
  const Rules rules = rules_of_sharing(op.element, state);
  state.world.update(window.space, window.base + a, bytes,
                     changed(op.element.change, bytes, memory, source, 0, rules));
}

// Lane permutations
// ---------------------------------------------------------------------------------------------------

// Returns the source lane, within the same 32 lanes.
unsigned swizzle_source(unsigned lane, uint32_t offset, Family family) {
  const unsigned base = lane & ~31u, j = lane & 31;
  if (family != Family::kGfx8 && offset >= 0xe000) {
    // FFT: reverses the bits of the lane number, within groups given by the mask.
    const uint32_t mask = offset & 0x1f;
    unsigned reversed = 0;
    for (unsigned bit = 0; bit < 5; ++bit)
      if ((j >> bit & 1) != 0) reversed |= 1u << (4 - bit);
    unsigned ones = 0;
    for (unsigned bit = 0; bit < 5; ++bit) ones += mask >> bit & 1;
    return base + ((reversed >> ones) | (j & mask));
  }
  if (family != Family::kGfx8 && offset >= 0xc000) {
    // Rotation: keeps bits of the mask and adds the amount to the others.
    const uint32_t mask = offset & 0x1f;
    const unsigned amount = offset >> 5 & 0x1f;
    const unsigned moved = (offset >> 10 & 1) != 0 ? j + 32 - amount : j + amount;
    return base + ((j & mask) | (moved & ~mask & 31));
  }
  if ((offset & 0x8000) != 0) return (lane & ~3u) + (offset >> 2 * (lane % 4) & 3);
  const uint32_t and_mask = offset & 0x1f, or_mask = offset >> 5 & 0x1f, xor_mask = offset >> 10 & 0x1f;
  return base + (((j & and_mask) | or_mask) ^ xor_mask);
}

bool exchange_lanes(const isa::Instruction& in, const State& before, Lanes& lanes) {
  const unsigned count = lanes.count();
  // With 64 lanes on gfx10, each half is permuted separately.
  const bool halves = count == 64 && before.target.family() >= Family::kGfx10;
  const auto other_lane = [&](unsigned lane, unsigned address_lane) {
    const uint32_t number = (lanes.get(in.vaddr, 0, address_lane) + static_cast<uint32_t>(in.offset)) / 4;
    return halves ? (lane & 32) + number % 32 : number % count;
  };
  switch (in.op) {
    case Op::ds_swizzle_b32:
      for (unsigned lane = 0; lane < count; ++lane) {
        const unsigned from = swizzle_source(lane, static_cast<uint32_t>(in.offset), before.target.family());
        if (lanes.active(lane)) lanes.set(0, lane, lanes.active(from) ? lanes.get(in.vaddr, 0, from) : 0);
      }
      return true;
    case Op::ds_bpermute_b32:
      for (unsigned lane = 0; lane < count; ++lane) {
        if (!lanes.active(lane)) continue;
        const unsigned from = other_lane(lane, lane);
        lanes.set(0, lane, lanes.active(from) ? lanes.get(in.vdata, 0, from) : 0);
      }
      return true;
    case Op::ds_permute_b32: {
      uint32_t got[64] = {};
      for (unsigned lane = 0; lane < count; ++lane)
        if (lanes.active(lane)) got[other_lane(lane, lane)] = lanes.get(in.vdata, 0, lane);
      for (unsigned lane = 0; lane < count; ++lane)
        if (lanes.active(lane)) lanes.set(0, lane, got[lane]);
      return true;
    }
    default:
      return false;
  }
}

// Operations of the whole wave
// ---------------------------------------------------------------------------------------------------

bool count_lanes(const isa::Instruction& in, State& state, Lanes& lanes) {
  if (in.op != Op::ds_append && in.op != Op::ds_consume) return false;
  uint32_t active = 0;
  for (unsigned lane = 0; lane < lanes.count(); ++lane) active += lanes.active(lane) ? 1 : 0;
  if (active == 0) return true;
  const Window window = window_of(in, state, true);
  const uint32_t m0 = state.scalar[isa::code::kM0];
  // LDS: the address is M0's lower half. GDS: that is the size, and the upper half is the base.
  const uint32_t address = ((in.gds ? 0 : m0 & 0xffff) + static_cast<uint32_t>(in.offset)) & ~3u;
  uint32_t old = 0;
  if (window.holds(address, 4)) {
    old = static_cast<uint32_t>(state.world.read(window.space, window.base + address, 4));
    state.world.update(window.space, window.base + address, 4,
                       in.op == Op::ds_append ? old + active : old - active);
  }
  for (unsigned lane = 0; lane < lanes.count(); ++lane)
    if (lanes.active(lane)) lanes.set(0, lane, old);
  return true;
}

// GWS operations of one wave, whose value is the first active lane's.
bool synchronise(const isa::Instruction& in, State& state, Lanes& lanes) {
  const uint32_t resource =
      ((state.scalar[isa::code::kM0] >> 16 & 63) + static_cast<uint32_t>(in.offset)) % 64;
  uint32_t& counter = state.world.gws[resource];
  unsigned first = 0;
  for (unsigned lane = lanes.count(); lane-- > 0;)
    if (lanes.active(lane)) first = lane;
  const auto value = [&] { return lanes.get(in.vdata.exists() ? in.vdata : in.vaddr, 0, first); };
  switch (in.op) {
    case Op::ds_gws_init:
      counter = value();
      return true;
    case Op::ds_gws_barrier:
      if (counter == 0) {
        counter = value();
      } else {
        --counter;
        state.world.waits = true;
      }
      return true;
    case Op::ds_gws_sema_v:
      ++counter;
      return true;
    case Op::ds_gws_sema_br:
      counter += value();
      return true;
    case Op::ds_gws_sema_release_all:
      counter = 0;  // Number of waiting waves: none.
      return true;
    case Op::ds_gws_sema_p:
      if (counter == 0) {
        state.world.waits = true;
      } else {
        --counter;
      }
      return true;
    default:
      return false;
  }
}

}  // namespace

Outcome execute_data_share(const isa::Instruction& in, State& state) {
  if (in.op == Op::ds_nop) return Outcome::kDone;
  const State before = state;
  Lanes lanes(in, before, state);
  if (exchange_lanes(in, before, lanes) || count_lanes(in, state, lanes) || synchronise(in, state, lanes))
    return Outcome::kDone;
  DataShare op;
  const std::string_view name = isa::name(in.op);
  if (name.starts_with("ds_gws_") || in.op == Op::ds_ordered_count || !parse(name, op))
    return Outcome::kNotModelled;

  const Window window = window_of(in, state, op.add_tid && !in.gds);
  const uint32_t unit = op.two ? op.element.bytes * (op.far ? 64 : 1) : 1;
  for (unsigned lane = 0; lane < lanes.count(); ++lane) {
    if (!lanes.active(lane)) continue;
    if (op.source2) {
      access_source2(in, op, window, lane, lanes, state);
      continue;
    }
    const uint32_t base = op.add_tid ? (state.scalar[isa::code::kM0] & (in.gds ? 0 : 0xffff)) + lane * 4
                                     : lanes.get(in.vaddr, 0, lane);
    for (unsigned which = 0; which < (op.two ? 2u : 1u); ++which) {
      const uint32_t offset = which == 0 ? static_cast<uint32_t>(in.offset) : in.offset1;
      access(in, op, window, base + offset * unit, which, lane, lanes, state);
    }
  }
  return Outcome::kDone;
}

}  // namespace rigel::vgpu::exec::reference
