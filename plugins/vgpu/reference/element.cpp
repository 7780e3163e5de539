#include "plugins/vgpu/reference/element.hpp"

#include <map>
#include <string>

namespace rigel::vgpu::exec::reference {
namespace {

using Kind = Element::Kind;
using Part = Element::Part;

const std::map<std::string_view, Element>& known_elements() {
  static const std::map<std::string_view, Element> kElements = {
      {"load_ubyte", {Kind::kLoad, 1, false, Part::kWhole, {}}},
      {"load_sbyte", {Kind::kLoad, 1, true, Part::kWhole, {}}},
      {"load_ushort", {Kind::kLoad, 2, false, Part::kWhole, {}}},
      {"load_sshort", {Kind::kLoad, 2, true, Part::kWhole, {}}},
      {"load_ubyte_d16", {Kind::kLoad, 1, false, Part::kLow, {}}},
      {"load_ubyte_d16_hi", {Kind::kLoad, 1, false, Part::kHigh, {}}},
      {"load_sbyte_d16", {Kind::kLoad, 1, true, Part::kLow, {}}},
      {"load_sbyte_d16_hi", {Kind::kLoad, 1, true, Part::kHigh, {}}},
      {"load_short_d16", {Kind::kLoad, 2, false, Part::kLow, {}}},
      {"load_short_d16_hi", {Kind::kLoad, 2, false, Part::kHigh, {}}},
      {"load_u8", {Kind::kLoad, 1, false, Part::kWhole, {}}},
      {"load_i8", {Kind::kLoad, 1, true, Part::kWhole, {}}},
      {"load_u16", {Kind::kLoad, 2, false, Part::kWhole, {}}},
      {"load_i16", {Kind::kLoad, 2, true, Part::kWhole, {}}},
      {"load_b96", {Kind::kLoad, 12, false, Part::kWhole, {}}},
      {"load_dword", {Kind::kLoad, 4, false, Part::kWhole, {}}},
      {"load_dwordx2", {Kind::kLoad, 8, false, Part::kWhole, {}}},
      {"load_dwordx3", {Kind::kLoad, 12, false, Part::kWhole, {}}},
      {"load_dwordx4", {Kind::kLoad, 16, false, Part::kWhole, {}}},
      {"load_dwordx8", {Kind::kLoad, 32, false, Part::kWhole, {}}},
      {"load_dwordx16", {Kind::kLoad, 64, false, Part::kWhole, {}}},
      {"store_byte", {Kind::kStore, 1, false, Part::kWhole, {}}},
      {"store_byte_d16_hi", {Kind::kStore, 1, false, Part::kHigh, {}}},
      {"store_short", {Kind::kStore, 2, false, Part::kWhole, {}}},
      {"store_short_d16_hi", {Kind::kStore, 2, false, Part::kHigh, {}}},
      {"store_dword", {Kind::kStore, 4, false, Part::kWhole, {}}},
      {"store_dwordx2", {Kind::kStore, 8, false, Part::kWhole, {}}},
      {"store_dwordx3", {Kind::kStore, 12, false, Part::kWhole, {}}},
      {"store_dwordx4", {Kind::kStore, 16, false, Part::kWhole, {}}},
  };
  return kElements;
}

struct KnownAtomic {
  std::string_view name;
  Change change;
  unsigned bytes = 0;  // 0: four, or eight with _x2.
};
constexpr KnownAtomic kAtomics[] = {
    {"swap", Change::kSwap},
    {"cmpswap", Change::kCompareSwap},
    {"add", Change::kAdd},
    {"sub", Change::kSubtract},
    {"csub", Change::kClampedSubtract},
    {"sub_clamp_u32", Change::kClampedSubtract, 4},
    {"cond_sub_u32", Change::kConditionalSubtract, 4},
    {"smin", Change::kSignedMin},
    {"umin", Change::kUnsignedMin},
    {"smax", Change::kSignedMax},
    {"umax", Change::kUnsignedMax},
    {"and", Change::kAnd},
    {"or", Change::kOr},
    {"xor", Change::kXor},
    {"inc", Change::kIncrement},
    {"dec", Change::kDecrement},
    {"fcmpswap", Change::kFloatCompareSwap},
    {"fmin", Change::kFloatMin},
    {"fmax", Change::kFloatMax},
    {"add_f32", Change::kFloatAdd, 4},
    {"add_flt", Change::kFloatAdd, 4},
    {"pk_add_f16", Change::kPackedAdd, 4},
    {"pk_add_bf16", Change::kPackedAddBf16, 4},
    {"add_f64", Change::kFloatAdd, 8},
    {"min_f64", Change::kFloatMin, 8},
    {"max_f64", Change::kFloatMax, 8},
};

int64_t as_signed(uint64_t x, unsigned bytes) {
  return bytes == 8 ? static_cast<int64_t>(x) : static_cast<int64_t>(static_cast<int32_t>(x));
}

// The order for min, from the lowest: -inf, negative numbers, -0, +0, positive numbers, +inf, quiet NaNs. For
// max, quiet NaNs are below -inf.
int64_t rank(Format f, uint64_t x, bool is_max) {
  const auto infinity = static_cast<int64_t>(f.infinity());
  if (is_nan(f, x)) return is_max ? -infinity - 2 : infinity + 1;
  const auto magnitude = static_cast<int64_t>(x & ~f.sign_bit());
  return is_negative(f, x) ? -magnitude - 1 : magnitude;
}

// Memory is the first source, and is kept if both are equal.
uint64_t float_choice(Format f, uint64_t memory, uint64_t source, bool is_max, const Rules& rules) {
  if (is_signalling(f, memory)) return quieted(f, memory);
  if (is_signalling(f, source)) return quieted(f, source);
  const int64_t memory_rank = rank(f, flushed_input(f, memory, rules), is_max);
  const int64_t source_rank = rank(f, flushed_input(f, source, rules), is_max);
  return (is_max ? source_rank > memory_rank : source_rank < memory_rank) ? source : memory;
}

// Zeros are equal, NaNs are not.
bool float_equal(Format f, uint64_t a, uint64_t b) {
  if (is_nan(f, a) || is_nan(f, b)) return false;
  return a == b || (is_zero(f, a) && is_zero(f, b));
}

}  // namespace

std::optional<Element> element_of(std::string_view mnemonic) {
  if (const auto found = known_elements().find(mnemonic); found != known_elements().end())
    return found->second;
  if (!mnemonic.starts_with("atomic_")) return std::nullopt;
  mnemonic.remove_prefix(7);
  const bool x2 = mnemonic.ends_with("_x2");
  const std::string_view base = x2 ? mnemonic.substr(0, mnemonic.size() - 3) : mnemonic;
  for (const KnownAtomic& atomic : kAtomics) {
    if (atomic.name != base || (x2 && atomic.bytes != 0)) continue;
    const unsigned bytes = atomic.bytes != 0 ? atomic.bytes : x2 ? 8 : 4;
    return Element{Kind::kAtomic, bytes, false, Part::kWhole, atomic.change};
  }
  return std::nullopt;
}

uint64_t changed(Change change, unsigned bytes, uint64_t memory, uint64_t source, uint64_t other,
                 const Rules& rules) {
  const uint64_t all = bytes == 8 ? ~uint64_t{0} : 0xffffffff;
  const Format f = bytes == 8 ? kDouble : kSingle;
  switch (change) {
    case Change::kSwap:
      return source;
    case Change::kCompareSwap:
      return memory == other ? source : memory;
    case Change::kAdd:
      return (memory + source) & all;
    case Change::kSubtract:
      return (memory - source) & all;
    case Change::kReverseSubtract:
      return (source - memory) & all;
    case Change::kConditionalSubtract:
      return memory >= source ? memory - source : memory;
    case Change::kClampedSubtract:
      return memory > source ? memory - source : 0;
    case Change::kSignedMin:
      return as_signed(source, bytes) < as_signed(memory, bytes) ? source : memory;
    case Change::kUnsignedMin:
      return source < memory ? source : memory;
    case Change::kSignedMax:
      return as_signed(source, bytes) > as_signed(memory, bytes) ? source : memory;
    case Change::kUnsignedMax:
      return source > memory ? source : memory;
    case Change::kAnd:
      return memory & source;
    case Change::kOr:
      return memory | source;
    case Change::kXor:
      return memory ^ source;
    case Change::kIncrement:
      return memory >= source ? 0 : memory + 1;
    case Change::kDecrement:
      return memory == 0 || memory > source ? source : memory - 1;
    case Change::kMaskedOr:
      return (memory & ~source & all) | other;
    case Change::kWrap:
      return memory >= source ? memory - source : (memory + other) & all;
    case Change::kConditionalExchange: {
      // Each of two dwords is stored, without its highest bit, if that bit is set.
      uint64_t result = memory;
      for (unsigned shift = 0; shift < 64; shift += 32) {
        const uint64_t dword = source >> shift & 0xffffffff;
        if (dword < 0x80000000) continue;
        result = (result & ~(uint64_t{0xffffffff} << shift)) | (dword - 0x80000000) << shift;
      }
      return result;
    }
    case Change::kFloatAdd:
      return add(f, memory, source, rules);
    case Change::kFloatMin:
      return float_choice(f, memory, source, false, rules);
    case Change::kFloatMax:
      return float_choice(f, memory, source, true, rules);
    case Change::kFloatCompareSwap:
      return float_equal(f, flushed_input(f, memory, rules), flushed_input(f, other, rules))
                 ? flushed_input(f, source, rules)
                 : memory;
    case Change::kPackedAddBf16:
      return add(kBf16, memory & 0xffff, source & 0xffff, rules) |
             add(kBf16, memory >> 16, source >> 16, rules) << 16;
    case Change::kPackedAdd:
      return add(kHalf, memory & 0xffff, source & 0xffff, rules) |
             add(kHalf, memory >> 16, source >> 16, rules) << 16;
  }
  return memory;
}

bool d16_clears(const isa::Target& target) {
  return target.major == 9 &&
         (target.minor != 0 || target.stepping == 6 || target.stepping == 8 || target.stepping == 10);
}

uint32_t narrow_loaded(const Element& element, uint32_t loaded, uint32_t before, const isa::Target& target) {
  const unsigned bits = element.bytes * 8;
  if (element.is_signed && (loaded >> (bits - 1)) != 0) loaded |= ~((1u << bits) - 1);
  if (d16_clears(target)) before = 0;
  switch (element.part) {
    case Part::kWhole:
      return loaded;
    case Part::kLow:
      return (before & 0xffff0000) | (loaded & 0xffff);
    case Part::kHigh:
      return (before & 0xffff) | loaded << 16;
  }
  return loaded;
}

uint32_t narrow_stored(const Element& element, uint32_t held) {
  return element.part == Part::kHigh ? held >> 16 : held;
}

}  // namespace rigel::vgpu::exec::reference
