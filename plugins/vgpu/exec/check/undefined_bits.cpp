#include "plugins/vgpu/exec/check/undefined_bits.hpp"

namespace rigel::vgpu::exec {
namespace {

// All bits from the lowest set one on: a carry may change them.
constexpr uint64_t from_lowest(uint64_t bits) {
  return bits | (0 - bits);
}

constexpr int64_t sign_extended(uint64_t bits, unsigned width) {
  const unsigned unused = 64 - width;
  return static_cast<int64_t>(bits << unused) >> unused;
}

constexpr uint64_t all_if(bool condition) {
  return condition ? ~uint64_t{0} : 0;
}

Bits bitwise_and(const Bits& a, const Bits& b) {
  const uint64_t known_zeros = (~a.value & ~a.undefined) | (~b.value & ~b.undefined);
  return {a.value & b.value, (a.undefined | b.undefined) & ~known_zeros};
}

Bits inverted(const Bits& a) {
  return {~a.value, a.undefined};
}

Bits bitwise_or(const Bits& a, const Bits& b) {
  return inverted(bitwise_and(inverted(a), inverted(b)));
}

// `c` has the lowest bit only.
Bits select(const Bits& a, const Bits& b, const Bits& c) {
  if ((c.undefined & 1) != 0) return {a.value, a.undefined | b.undefined | (a.value ^ b.value)};
  return (c.value & 1) != 0 ? b : a;
}

Bits shifted_left(const Bits& a, uint64_t count) {
  return {a.value << count, a.undefined << count};
}

Bits shifted_right(const Bits& a, uint64_t count, unsigned width, bool is_signed) {
  if (!is_signed) return {(a.value & low_bits(width)) >> count, (a.undefined & low_bits(width)) >> count};
  return {static_cast<uint64_t>(sign_extended(a.value, width) >> count),
          static_cast<uint64_t>(sign_extended(a.undefined, width) >> count)};
}

Bits extracted(const Bits& a, uint64_t from, uint64_t count, unsigned width, bool is_signed) {
  if (count == 0) return {};
  const Bits moved = shifted_right(a, from, width, false);
  if (!is_signed)
    return {moved.value & low_bits(static_cast<unsigned>(count)),
            moved.undefined & low_bits(static_cast<unsigned>(count))};
  const auto bits = static_cast<unsigned>(count);
  return {static_cast<uint64_t>(sign_extended(moved.value, bits)),
          static_cast<uint64_t>(sign_extended(moved.undefined, bits))};
}

uint64_t permuted(const Bits& a, const Bits& b, uint64_t selectors) {
  const uint64_t bytes = (a.undefined & 0xffffffff) << 32 | (b.undefined & 0xffffffff);
  uint64_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const uint64_t selector = selectors >> 8 * i & 0xff;
    uint64_t byte = 0;
    if (selector < 8) {
      byte = bytes >> 8 * selector & 0xff;
    } else if (selector < 12) {  // the sign of a 16-bit part
      byte = (bytes >> (16 * (selector - 8) + 15) & 1) != 0 ? 0xff : 0;
    }
    result |= byte << 8 * i;
  }
  return result;
}

}  // namespace

Bits apply(BitRule rule, const Bits& a, const Bits& b, const Bits& c, unsigned width) {
  const uint64_t places = width - 1;
  const uint64_t all = low_bits(width);
  const uint64_t any = all_if((a.undefined | b.undefined | c.undefined) != 0);
  const auto limited = [all](const Bits& bits) { return Bits{bits.value & all, bits.undefined & all}; };
  // A result whose control is undefined is undefined if that can matter.
  const auto controlled = [&](const Bits& control, const Bits& result) {
    return control.undefined != 0 ? Bits{0, any & all} : limited(result);
  };
  switch (rule) {
    case BitRule::kAny:
      break;
    case BitRule::kMove:
      return limited(a);
    case BitRule::kReverse: {
      Bits reversed;
      for (unsigned i = 0; i < width; ++i) {
        reversed.value |= (a.value >> i & 1) << (width - 1 - i);
        reversed.undefined |= (a.undefined >> i & 1) << (width - 1 - i);
      }
      return reversed;
    }
    case BitRule::kAnd:
      return limited(bitwise_and(a, b));
    case BitRule::kAndNot:
      return limited(bitwise_and(a, inverted(b)));
    case BitRule::kOr:
      return limited(bitwise_or(a, b));
    case BitRule::kOrNot:
      return limited(bitwise_or(a, inverted(b)));
    case BitRule::kXor:
      return limited({a.value ^ b.value ^ c.value, a.undefined | b.undefined | c.undefined});
    case BitRule::kAndOr:
      return limited(bitwise_or(bitwise_and(a, b), c));
    case BitRule::kOr3:
      return limited(bitwise_or(bitwise_or(a, b), c));
    case BitRule::kBitSelect:
      return limited(bitwise_or(bitwise_and(a, b), bitwise_and(inverted(a), c)));
    case BitRule::kSelect:
      return limited(select(a, b, c));
    case BitRule::kShiftLeft:
      return controlled(b, shifted_left(a, b.value & places));
    case BitRule::kShiftRight:
      return controlled(b, shifted_right(a, b.value & places, width, false));
    case BitRule::kShiftSigned:
      return controlled(b, shifted_right(a, b.value & places, width, true));
    case BitRule::kShiftOr:
      return controlled(b, bitwise_or(shifted_left(a, b.value & places), c));
    case BitRule::kShiftAdd:
      return controlled(b, {0, from_lowest(a.undefined << (b.value & places) | c.undefined)});
    case BitRule::kAddShift:
      return controlled(c, {0, from_lowest(a.undefined | b.undefined) << (c.value & places)});
    case BitRule::kAlignBits:
    case BitRule::kAlignBytes: {
      const uint64_t count = rule == BitRule::kAlignBits ? c.value & 31 : (c.value & 3) * 8;
      const Bits both{a.value << 32 | (b.value & 0xffffffff), a.undefined << 32 | (b.undefined & 0xffffffff)};
      return controlled(c, {both.value >> count, both.undefined >> count});
    }
    case BitRule::kPermute:
      return controlled(c, {0, permuted(a, b, c.value)});
    case BitRule::kExtract:
    case BitRule::kExtractSigned: {
      if ((b.undefined | c.undefined) != 0) break;
      const uint64_t from = b.value & places, most = width - from;
      const uint64_t count = c.value < most ? c.value : most;
      return limited(extracted(a, from, count, width, rule == BitRule::kExtractSigned));
    }
    case BitRule::kSum:
      return {0, from_lowest(a.undefined | b.undefined | c.undefined) & all};
    case BitRule::kSum24:
      return {0, from_lowest(((a.undefined | b.undefined) & 0xffffff) | c.undefined) & all};
    case BitRule::kProductSum:
      return {0, from_lowest(all_if((a.undefined | b.undefined) != 0) | c.undefined) & all};
    case BitRule::kEqual: {
      const uint64_t unknown = a.undefined | b.undefined;
      const bool differ = ((a.value ^ b.value) & ~unknown & all) != 0;
      return {0, all_if(unknown != 0 && !differ) & all};
    }
  }
  return {0, any & all};
}

}  // namespace rigel::vgpu::exec
