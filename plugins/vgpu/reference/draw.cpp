#include "plugins/vgpu/reference/draw.hpp"

#include <iterator>

#include "plugins/vgpu/isa/decoder.hpp"

namespace rigel::vgpu::exec::reference {

using isa::LaneMode;

namespace {

void move_vgpr(isa::Operand& operand) {
  if (!operand.is_vgpr()) return;
  // Matrices have more registers than the drawn states; their test places them.
  if (operand.dwords + 8u >= kVgprs) return;
  const unsigned count = kVgprs - 8 - operand.dwords;
  operand.code = static_cast<uint16_t>(isa::code::kVgpr + operand.vgpr() % count);
}

}  // namespace

bool Draw::instruction(const isa::Target& target, uint16_t row, isa::Instruction& out, uint32_t (&words)[5]) {
  const isa::tables::Row& entry = isa::tables::rows()[row];
  const isa::tables::Shape& shape = isa::tables::shapes()[entry.shape];
  uint64_t fields = bits();
  // Modifiers use many bits; half of the time, fewer are set.
  if (one_in(2) && shape.encoding == isa::Encoding::kVop3)
    fields &= ~(uint64_t{0xf800'0700} << 32 & bits()) & ~(bits() & 0xff00);
  if (shape.has(isa::tables::flag::kDpp) && one_in(2)) fields |= uint64_t{0xff} << 56;
  const uint64_t encoded = entry.value | (fields & shape.live & ~shape.mask);
  words[0] = static_cast<uint32_t>(encoded);
  words[1] = shape.dwords >= 2 ? static_cast<uint32_t>(encoded >> 32) : value();
  for (size_t i = 2; i < std::size(words); ++i) words[i] = value();
  if (shape.dwords == 3 &&
      shape.has(isa::tables::flag::kDpp)) {  // A quad permutation; others are drawn below.
    words[2] = static_cast<uint32_t>(bits()) & 0xff0cffff;
    if (one_in(2)) words[2] |= 0xff000000;
  } else if (shape.dwords == 3 && shape.has(isa::tables::flag::kDpp8)) {
    words[1] = (words[1] & ~0x1ffu) | (233 + below(2));
    words[2] = static_cast<uint32_t>(bits());
  }
  if (isa::decode(target, words, std::size(words), out) != isa::DecodeStatus::kOk || out.row != row)
    return false;
  if (out.lanes == LaneMode::kDpp) {
    // Most values of the nine bits are reserved.
    static constexpr uint16_t kOthers[] = {0x130, 0x134, 0x138, 0x13c, 0x140, 0x141, 0x142, 0x143};
    const bool gfx10 = target.family() >= isa::Family::kGfx10;
    const uint16_t n = static_cast<uint16_t>(1 + below(15));
    const bool has_new_broadcast = target == isa::Target{9, 0, 10} || target == isa::Target{9, 4, 2};
    const auto is_double = [](const isa::Operand& operand) {
      return operand.dwords == 2 && operand.type != isa::Type::kMask;
    };
    const bool needs_new_broadcast = is_double(out.dst[0]) || is_double(out.src[0]) || is_double(out.src[1]);
    const unsigned kind = has_new_broadcast && (needs_new_broadcast || one_in(6)) ? 6 : below(6);
    switch (kind) {
      case 0:
        out.dpp_ctrl = static_cast<uint16_t>(below(256));
        break;
      case 1:
        out.dpp_ctrl = static_cast<uint16_t>(0x100 | n);
        break;
      case 2:
        out.dpp_ctrl = static_cast<uint16_t>(0x110 | n);
        break;
      case 3:
        out.dpp_ctrl = static_cast<uint16_t>(0x120 | n);
        break;
      case 4:
        out.dpp_ctrl = gfx10 ? static_cast<uint16_t>(0x150 | n) : kOthers[below(8)];
        break;
      case 5:
        out.dpp_ctrl =
            gfx10 ? static_cast<uint16_t>(one_in(2) ? 0x160 | n : 0x140 | (n & 1)) : kOthers[below(8)];
        break;
      default:  // row_newbcast
        out.dpp_ctrl = static_cast<uint16_t>(0x150 | n);
        break;
    }
  }
  for (isa::Operand& operand : out.dst) move_vgpr(operand);
  for (isa::Operand& operand : out.src) move_vgpr(operand);
  move_vgpr(out.second_dst);
  for (isa::Operand& operand : out.second_src) move_vgpr(operand);
  for (isa::Operand* operand : {&out.vaddr, &out.vdata, &out.vdata2, &out.vdst}) move_vgpr(*operand);
  return true;
}

void Draw::use_missing_register(isa::Instruction& in) {
  isa::Operand* const operands[] = {&in.dst[0], &in.dst[1], &in.src[0], &in.src[1], &in.src[2],
                                    &in.vaddr,  &in.vdata,  &in.vdata2, &in.vdst};
  const isa::Operand& chosen = *operands[below(std::size(operands))];
  if (!chosen.is_vgpr()) return;
  // A register may occur twice, for example as destination and addend.
  const uint16_t code = chosen.code;
  const uint32_t number = kVgprs - (one_in(2) ? 1 : 0) + (one_in(2) ? below(200) : 0);
  for (isa::Operand* const operand : operands) {
    if (operand->code == code) operand->code = static_cast<uint16_t>(isa::code::kVgpr + number);
  }
}

uint16_t Draw::half() {
  static constexpr uint16_t kSpecials[] = {0x0000, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00,
                                           0x7d00, 0xfe01, 0x0001, 0x03ff, 0x0400, 0x8400, 0x7bff,
                                           0xfbff, 0x3800, 0x4000, 0x3555, 0x8001, 0x7fff};
  return one_in(2) ? kSpecials[below(std::size(kSpecials))] : static_cast<uint16_t>(bits());
}

uint32_t Draw::value() {
  static constexpr uint32_t kIntegers[] = {0,          1,          2,          31,         32,
                                           63,         64,         0xff,       0xffff,     0x7fff,
                                           0x8000,     0x10000,    0x7fffff,   0x800000,   0xffffff,
                                           0x7fffffff, 0x80000000, 0x80000001, 0xffffffff, 0xfffffffe};
  static constexpr uint32_t kSingles[] = {
      0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7fa00000, 0xffc12345, 0x00000001,
      0x807fffff, 0x00800000, 0x80800000, 0x7f7fffff, 0xff7fffff, 0x3f000000, 0x3fffffff, 0x4f000000,
      0xcf000000, 0x4f800000, 0x3effffff, 0x34000000, 0x4b000000, 0x7f000000, 0x00400000, 0x80000000};
  // Upper halves of doubles.
  static constexpr uint32_t kDoubles[] = {0x3ff00000, 0xbff00000, 0x7ff00000, 0xfff00000,
                                          0x7ff80000, 0x7ff40000, 0x00100000, 0x000fffff,
                                          0x7fefffff, 0x41dfffff, 0xc1e00000, 0x3fe00000};
  switch (below(8)) {
    case 0:
      return kIntegers[below(std::size(kIntegers))];
    case 1:
      return kSingles[below(std::size(kSingles))];
    case 2:
      return half() | static_cast<uint32_t>(half()) << 16;
    case 3:
      return kDoubles[below(std::size(kDoubles))];
    case 4:
      return static_cast<uint32_t>(bits()) & 0x807fffff;  // Denormals.
    case 5:
      return (static_cast<uint32_t>(bits()) & 0x807fffff) | (0x3d000000 + (below(16) << 23));  // Near one.
    case 6:
      return static_cast<uint32_t>(bits()) >> below(32);
    default:
      return static_cast<uint32_t>(bits());
  }
}

State Draw::state(const isa::Target& target) {
  State s;
  s.target = target;
  s.wave_size = target.family() >= isa::Family::kGfx10 && target.wave32 ? 32 : 64;
  s.scc = below(2);
  // Denormals are mostly kept or flushed, by precision; sometimes only for operands or results. Rounding to
  // nearest has half of the probability.
  const auto round = [&] { return one_in(2) ? 0u : below(4); };
  const auto denormals = [&] { return one_in(4) ? 1 + below(2) : one_in(2) ? 3u : 0u; };
  s.mode = round() | round() << 2 | denormals() << 4 | denormals() << 6 | below(2) << 8 | below(2) << 9;
  if (!s.has_float_modes()) s.mode = (s.mode & ~(1u << 9)) | 1u << 8;
  if (one_in(3)) s.mode |= 1u << 23;  // FP16_OVFL
  for (uint32_t& scalar : s.scalar) scalar = value();
  s.scalar[isa::code::kM0] = below(8);
  if (target.family() < isa::Family::kGfx10 && one_in(8)) {  // VGPR indexing.
    s.mode |= 1u << 27;
    s.scalar[isa::code::kM0] |= below(16) << 12;
  }
  if (target.family() >= isa::Family::kGfx10) s.scalar[isa::code::kNull] = 0;
  const uint64_t by_bytes = (bits() & 0x0101010101010101) * 0xff;
  const uint64_t exec[] = {~uint64_t{0},
                           ~uint64_t{0},
                           bits(),
                           bits() & bits(),
                           0,
                           uint64_t{1} << below(64),
                           by_bytes,
                           by_bytes & (bits() | bits() | bits())};
  s.set_pair(isa::code::kExecLo, one_in(16) ? 0 : exec[below(8)]);
  if (s.wave_size == 32) s.scalar[isa::code::kExecHi] = 0;
  s.vgpr.resize(kVgprs);
  for (auto& row : s.vgpr) {
    for (uint32_t& lane : row) lane = value();
  }
  // Equal operands, and operands that nearly cancel.
  for (unsigned lane = 0; lane < 64; lane += 5)
    s.vgpr[1][lane] = s.vgpr[0][lane] ^ (one_in(2) ? 0x80000000u : 0u);
  return s;
}

}  // namespace rigel::vgpu::exec::reference
