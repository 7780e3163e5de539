#include "plugins/vgpu/isa/instruction_tables.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>

namespace rigel::vgpu::isa::tables {

namespace {

#define RIGEL_OPERAND(file, type, dwords) \
  OperandShape {                          \
    File::file, Type::type, dwords        \
  }
#define RIGEL_NO_OPERAND \
  OperandShape {}

constexpr Shape kShapes[] = {
#define RIGEL_SHAPE(name, encoding, dwords, mask, live, dst0, dst1, src0, src1, src2, flags) \
  {Encoding::encoding, dwords, mask, live, {dst0, dst1}, {src0, src1, src2}, flags},
#include "plugins/vgpu/isa/instruction_shapes.inc"
#undef RIGEL_SHAPE
};

enum ShapeIndex : uint16_t {
#define RIGEL_SHAPE(name, ...) name,
#include "plugins/vgpu/isa/instruction_shapes.inc"
#undef RIGEL_SHAPE
};

constexpr Row kRows[] = {
#define RIGEL_INSTRUCTION(op, mnemonic, shape, chips, word0, word1) \
  {word0 | (uint64_t{word1} << 32), ChipSet(chips), shape, Op::op},
#include "plugins/vgpu/isa/instructions.inc"
#undef RIGEL_INSTRUCTION
};

constexpr std::string_view kMnemonics[] = {
#define RIGEL_INSTRUCTION(op, mnemonic, shape, chips, word0, word1) #mnemonic,
#include "plugins/vgpu/isa/instructions.inc"
#undef RIGEL_INSTRUCTION
};

constexpr Image kImages[] = {
#define RIGEL_IMAGE(op, further, gradients, half, coordinates, level, ...) \
  {Op::op, further, gradients, half, coordinates, level, __VA_ARGS__},
#include "plugins/vgpu/isa/image_shapes.inc"
#undef RIGEL_IMAGE
};

/// Fields and opcodes that families have in common.
enum class Opcodes : uint8_t { kGcn, kGfx10, kGfx11, kGfx12 };

struct DualOfOpcodes {
  Opcodes opcodes;
  Dual dual;
};

constexpr DualOfOpcodes kDuals[] = {
#define RIGEL_DUAL(opcodes, code, op, mnemonic, shape) {Opcodes::opcodes, {code, Op::op, #mnemonic, shape}},
#include "plugins/vgpu/isa/dual_operations.inc"
#undef RIGEL_DUAL
};

constexpr ChipSet chips_of(Opcodes opcodes) {
  switch (opcodes) {
    case Opcodes::kGcn:
      return chip_set(Family::kGfx8) | chip_set(Family::kGfx9);
    case Opcodes::kGfx10:
      return chip_set(Family::kGfx10);
    case Opcodes::kGfx11:
      return chip_set(Family::kGfx11);
    case Opcodes::kGfx12:
      return chip_set(Family::kGfx12);
  }
  return {};
}

struct Positions {
  Opcodes opcodes;
  Encoding encoding;
  FieldPositions fields;
};

constexpr Positions kPositions[] = {
#define RIGEL_FIELDS(opcodes, encoding, ...) {Opcodes::opcodes, Encoding::encoding, {__VA_ARGS__}},
#include "plugins/vgpu/isa/field_positions.inc"
#undef RIGEL_FIELDS
};

constexpr Opcodes opcodes_of(Family family) {
  return family == Family::kGfx12   ? Opcodes::kGfx12
         : family == Family::kGfx11 ? Opcodes::kGfx11
         : family == Family::kGfx10 ? Opcodes::kGfx10
                                    : Opcodes::kGcn;
}

constexpr size_t kEncodings = static_cast<size_t>(Encoding::kLdsDirect) + 1;

/// By opcodes and encoding.
constexpr auto kFieldPositions = [] {
  std::array<std::array<FieldPositions, kEncodings>, 4> table{};
  for (const Positions& row : kPositions) {
    auto& of_opcodes = table[static_cast<size_t>(row.opcodes)];
    of_opcodes[static_cast<size_t>(row.encoding)] = row.fields;
    if (row.encoding != Encoding::kFlat) continue;
    of_opcodes[static_cast<size_t>(Encoding::kGlobal)] = row.fields;
    of_opcodes[static_cast<size_t>(Encoding::kScratch)] = row.fields;
  }
  return table;
}();

// A slot is an encoding and an opcode. These are the first slots of the encodings. Encodings that start with
// a 0 bit are identified by the top bits of the first dword.
enum Base : uint16_t {
  kVop2Slots = 0,
  kVopcSlots = kVop2Slots + 64,
  kVop1Slots = kVopcSlots + 256,
  kSop2Slots = kVop1Slots + 256,
  kSopkSlots = kSop2Slots + 128,
  kSop1Slots = kSopkSlots + 32,
  kSopcSlots = kSop1Slots + 256,
  kSoppSlots = kSopcSlots + 128,
  kSmemSlots = kSoppSlots + 128,
  kVintrpSlots = kSmemSlots + 256,
  kVop3Slots = kVintrpSlots + 8,
  kVop3pSlots = kVop3Slots + 1024,
  kDsSlots = kVop3pSlots + 128,
  kFlatSlots = kDsSlots + 256,
  kMubufSlots = kFlatSlots + 512,
  kMtbufSlots = kMubufSlots + 256,
  kMimgSlots = kMtbufSlots + 16,
  kExpSlot = kMimgSlots + 256,
  kVopdSlots,
  kLdsDirectSlots = kVopdSlots + 16,
  kNoSlot = kLdsDirectSlots + 4,
  kSlots
};

constexpr unsigned field(uint64_t bits, unsigned low, unsigned width) {
  return static_cast<unsigned>(bits >> low) & ((1u << width) - 1);
}

constexpr unsigned slot(Opcodes opcodes, uint64_t bits) {
  switch (field(bits, 30, 2)) {
    case 0:
    case 1: {
      const unsigned op = field(bits, 25, 6);
      if (op == 0x3e) return kVopcSlots + field(bits, 17, 8);
      if (op == 0x3f) return kVop1Slots + field(bits, 9, 8);
      return kVop2Slots + op;
    }
    case 2: {
      const unsigned op = field(bits, 23, 7);
      if (op == 0x7d) return kSop1Slots + field(bits, 8, 8);
      if (op == 0x7e) return kSopcSlots + field(bits, 16, 7);
      if (op == 0x7f) return kSoppSlots + field(bits, 16, 7);
      if (op >= 0x60) return kSopkSlots + field(bits, 23, 5);
      return kSop2Slots + op;
    }
    default:
      break;
  }
  switch (field(bits, 26, 4) | static_cast<unsigned>(opcodes) << 4) {
    case 0x00:
      return kSmemSlots + field(bits, 18, 8);
    case 0x01:
      return kExpSlot;
    case 0x04:
      return kVop3Slots + field(bits, 16, 10);
    case 0x05:
      return kVintrpSlots + field(bits, 16, 2);
    case 0x06:
      return kDsSlots + field(bits, 17, 8);
    case 0x0a:
      return kMtbufSlots + field(bits, 15, 4);
    case 0x0c:
      return kMimgSlots + field(bits, 18, 7);
    case 0x12:
      return kVintrpSlots + field(bits, 16, 2);
    case 0x13:
      return kVop3pSlots + field(bits, 16, 7);
    case 0x15:
      return kVop3Slots + field(bits, 16, 10);
    case 0x16:
      return kDsSlots + field(bits, 18, 8);
    case 0x1a:
      return kMtbufSlots + field(bits, 16, 3) + (field(bits, 53, 1) << 3);
    case 0x1c:
      return kMimgSlots + field(bits, 18, 7) + (field(bits, 0, 1) << 7);
    case 0x1d:
      return kSmemSlots + field(bits, 18, 8);
    case 0x1e:
      return kExpSlot;
    case 0x07:
    case 0x17:
      return kFlatSlots + field(bits, 18, 7) + (field(bits, 14, 2) << 7);
    case 0x08:
      return kMubufSlots + field(bits, 18, 7);  // Before gfx10, the top bit is not part of the opcode.
    case 0x18:
    case 0x28:
      return kMubufSlots + field(bits, 18, 8);
    case 0x22:
      return kVopdSlots + field(bits, 22, 4);
    case 0x23:
      if (field(bits, 24, 2) == 2) return kLdsDirectSlots + field(bits, 20, 2);
      return field(bits, 24, 2) == 1 ? kVintrpSlots + field(bits, 16, 3) : kVop3pSlots + field(bits, 16, 7);
    case 0x25:
      return kVop3Slots + field(bits, 16, 10);
    case 0x26:
      return kDsSlots + field(bits, 18, 8);
    case 0x27:
      return kFlatSlots + field(bits, 18, 7) + (field(bits, 16, 2) << 7);
    case 0x2a:
      return kMtbufSlots + field(bits, 15, 4);
    case 0x2c:
      return kMimgSlots + field(bits, 18, 8);
    case 0x2d:
      return kSmemSlots + field(bits, 18, 8);
    case 0x2e:
      return kExpSlot;
    case 0x31:
      return kMubufSlots + field(bits, 14, 8);
    case 0x32:
      return kVopdSlots + field(bits, 22, 4);
    case 0x33:
      if (field(bits, 24, 2) == 2) return kLdsDirectSlots + field(bits, 20, 2);
      return field(bits, 24, 2) == 1 ? kVintrpSlots + field(bits, 16, 3) : kVop3pSlots + field(bits, 16, 7);
    case 0x34:
    case 0x39:
      return kMimgSlots + field(bits, 14, 8);
    case 0x35:
      return kVop3Slots + field(bits, 16, 10);
    case 0x36:
      return kDsSlots + field(bits, 18, 8);
    case 0x3b:
      return kFlatSlots + field(bits, 14, 7) + (field(bits, 24, 2) << 7);
    case 0x3d:
      return kSmemSlots + field(bits, 13, 6);
    case 0x3e:
      return kExpSlot;
    default:
      return kNoSlot;
  }
}

constexpr size_t count_rows(Opcodes opcodes) {
  const ChipSet chips = chips_of(opcodes);
  size_t count = 0;
  for (const Row& row : kRows) count += row.chips.intersects(chips) ? 1 : 0;
  return count;
}

// The rows with these opcodes, sorted by slot: slot s has rows[first[s]] to rows[first[s + 1]].
template <Opcodes kOpcodes>
struct Index {
  std::array<uint16_t, kSlots + 1> first{};
  std::array<Candidate, count_rows(kOpcodes)> rows{};
};

template <Opcodes kOpcodes>
constexpr Index<kOpcodes> make_index() {
  constexpr ChipSet kChips = chips_of(kOpcodes);
  Index<kOpcodes> index;
  std::array<uint16_t, kSlots + 1> next{};
  for (const Row& row : kRows) {
    if (row.chips.intersects(kChips)) ++index.first[slot(kOpcodes, row.value) + 1u];
  }
  for (size_t s = 0; s != kSlots; ++s) {
    index.first[s + 1] = static_cast<uint16_t>(index.first[s + 1] + index.first[s]);
    next[s] = index.first[s];
  }
  for (size_t i = 0; i != std::size(kRows); ++i) {
    const Row& row = kRows[i];
    if (!row.chips.intersects(kChips)) continue;
    // Inserts it among the slot's rows, those with more fixed bits first.
    const unsigned s = slot(kOpcodes, row.value);
    const Shape& shape = kShapes[row.shape];
    uint16_t at = next[s]++;
    for (; at != index.first[s]; --at) {
      const Candidate& previous = index.rows[at - 1u];
      if (std::popcount(previous.mask) >= std::popcount(shape.mask)) break;
      index.rows[at] = previous;
    }
    index.rows[at] = {
        shape.mask, row.value, row.chips, static_cast<uint16_t>(i), shape.dwords, shape.has(flag::kDpp8)};
  }
  return index;
}

template <Opcodes kOpcodes>
std::span<const Candidate> candidates(uint64_t bits) {
  static constexpr Index kIndex = make_index<kOpcodes>();
  const unsigned s = slot(kOpcodes, bits);
  return {kIndex.rows.data() + kIndex.first[s], kIndex.rows.data() + kIndex.first[s + 1]};
}

}  // namespace

std::span<const Row> rows() {
  return kRows;
}

std::span<const Shape> shapes() {
  return kShapes;
}

std::string_view mnemonic(uint16_t row) {
  return row < std::size(kMnemonics) ? kMnemonics[row] : "?";
}

const Image* image(Op op) {
  const auto* found = std::lower_bound(std::begin(kImages), std::end(kImages), op,
                                       [](const Image& image, Op wanted) { return image.op < wanted; });
  return found != std::end(kImages) && found->op == op ? found : nullptr;
}

const FieldPositions& field_positions(Family family, Encoding encoding) {
  return kFieldPositions[static_cast<size_t>(opcodes_of(family))][static_cast<size_t>(encoding)];
}

const Dual* dual(Family family, unsigned code) {
  for (const DualOfOpcodes& row : kDuals) {
    if (row.opcodes == opcodes_of(family) && row.dual.code == code) return &row.dual;
  }
  return nullptr;
}

std::span<const Candidate> candidates(Family family, uint64_t bits) {
  switch (family) {
    case Family::kGfx8:
    case Family::kGfx9:
      return candidates<Opcodes::kGcn>(bits);
    case Family::kGfx10:
      return candidates<Opcodes::kGfx10>(bits);
    case Family::kGfx11:
      return candidates<Opcodes::kGfx11>(bits);
    case Family::kGfx12:
      return candidates<Opcodes::kGfx12>(bits);
    case Family::kNone:
      break;
  }
  return {};
}

}  // namespace rigel::vgpu::isa::tables
