#include "plugins/vgpu/isa/operand_text.hpp"

#include <bit>
#include <iterator>
#include <string_view>

#include "plugins/vgpu/isa/traits.hpp"
#include "plugins/vgpu/isa/wait_counts.hpp"

namespace rigel::vgpu::isa {

namespace {

constexpr std::string_view kInlineFloats[] = {"0.5",  "-0.5", "1.0",  "-1.0",      "2.0",
                                              "-2.0", "4.0",  "-4.0", "0.15915494"};
constexpr uint16_t kInlineHalves[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118};
constexpr uint32_t kInlineSingles[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                                       0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
constexpr uint64_t kInlineDoubles[] = {0x3fe0000000000000, 0xbfe0000000000000, 0x3ff0000000000000,
                                       0xbff0000000000000, 0x4000000000000000, 0xc000000000000000,
                                       0x4010000000000000, 0xc010000000000000, 0x3fc45f306dc9c882};
constexpr std::string_view kInversePiOfDouble = "0.15915494309189532";

bool is_small(int64_t value) {
  return value >= -16 && value <= 64;
}

template <typename T, size_t kCount>
bool append_float(std::string& text, const T (&known)[kCount], T value) {
  for (size_t i = 0; i != kCount; ++i) {
    if (known[i] == value) {
      text += sizeof(T) == 8 && i == 8 ? kInversePiOfDouble : kInlineFloats[i];
      return true;
    }
  }
  return false;
}

void append_immediate(std::string& text, uint32_t value) {
  if (is_small(static_cast<int32_t>(value))) {
    append_number(text, static_cast<int32_t>(value));
  } else if (!append_float(text, kInlineSingles, value)) {
    append_hex(text, value);
  }
}

void append_half(std::string& text, uint32_t value) {
  if (is_small(static_cast<int16_t>(value))) {
    append_number(text, static_cast<int16_t>(value));
  } else if (!append_float(text, kInlineHalves, static_cast<uint16_t>(value))) {
    append_hex(text, value & 0xffff);
  }
}

void append_short(std::string& text, uint32_t value) {
  if (is_small(static_cast<int32_t>(value))) {
    append_number(text, static_cast<int32_t>(value));
  } else if (!append_float(text, kInlineSingles, value)) {
    append_hex(text, value & 0xffff);
  }
}

void append_pair(std::string& text, uint32_t value, bool floats) {
  if (is_small(static_cast<int32_t>(value))) {
    append_number(text, static_cast<int32_t>(value));
    return;
  }
  const bool named = floats
                         ? value <= 0xffff && append_float(text, kInlineHalves, static_cast<uint16_t>(value))
                         : append_float(text, kInlineSingles, value);
  if (!named) append_hex(text, value);
}

void append_literal(std::string& text, Type type, uint32_t value) {
  switch (type) {
    case Type::kF16:
      append_half(text, value);
      break;
    case Type::kB16:
    case Type::kI16:
    case Type::kU16:
      append_short(text, value);
      break;
    case Type::kV2F16:
      append_pair(text, value, true);
      break;
    case Type::kV2B16:
    case Type::kV2I16:
    case Type::kV2U16:
      append_pair(text, value, false);
      break;
    case Type::kF64:
      if (value == 0) {
        text += '0';
      } else if (!append_float(text, kInlineDoubles, uint64_t{value} << 32)) {
        append_hex(text, value);
      }
      break;
    case Type::kB64:
    case Type::kI64:
    case Type::kU64:
      if (value <= 64) {
        append_number(text, value);
      } else {
        append_hex(text, value);
      }
      break;
    default:
      append_immediate(text, value);
      break;
  }
}

void append_inline_float(std::string& text, Type type, size_t index) {
  switch (type) {
    case Type::kB16:
    case Type::kI16:
    case Type::kU16:
      append_short(text, kInlineHalves[index]);
      break;
    case Type::kF64:
    case Type::kB64:
    case Type::kI64:
    case Type::kU64:
      append_float(text, kInlineDoubles, kInlineDoubles[index]);
      break;
    default:
      text += kInlineFloats[index];
      break;
  }
}

void append_group(std::string& text, std::string_view letter, unsigned first, unsigned dwords) {
  text += letter;
  if (dwords == 1) {
    append_number(text, first);
    return;
  }
  text += '[';
  append_number(text, first);
  text += ':';
  append_number(text, first + dwords - 1);
  text += ']';
}

std::string_view special_name(uint16_t code, bool whole) {
  switch (code) {
    case 102:
      return whole ? "flat_scratch" : "flat_scratch_lo";
    case 103:
      return "flat_scratch_hi";
    case 104:
      return whole ? "xnack_mask" : "xnack_mask_lo";
    case 105:
      return "xnack_mask_hi";
    case 106:
      return whole ? "vcc" : "vcc_lo";
    case 107:
      return "vcc_hi";
    case 108:
      return whole ? "tba" : "tba_lo";
    case 109:
      return "tba_hi";
    case 110:
      return whole ? "tma" : "tma_lo";
    case 111:
      return "tma_hi";
    case 124:
      return "m0";
    case 125:
      return "null";
    case 126:
      return whole ? "exec" : "exec_lo";
    case 127:
      return "exec_hi";
    case 235:
      return "src_shared_base";
    case 236:
      return "src_shared_limit";
    case 237:
      return "src_private_base";
    case 238:
      return "src_private_limit";
    case 239:
      return "src_pops_exiting_wave_id";
    case 251:
      return "src_vccz";
    case 252:
      return "src_execz";
    case 253:
      return "src_scc";
    case 254:
      return "src_lds_direct";
    default:
      return "?";
  }
}

/// A named bit field, printed with its value in parentheses. Fields with the default value are omitted.
struct Counter {
  std::string_view name;
  uint16_t low, width;
};

unsigned bits_of(unsigned value, unsigned low, unsigned width) {
  return (value >> low) & ((1u << width) - 1);
}

}  // namespace

void append_number(std::string& text, int64_t value) {
  text += std::to_string(value);
}

void append_hex(std::string& text, int64_t value) {
  auto magnitude = static_cast<uint64_t>(value);
  if (value < 0) {
    text += '-';
    magnitude = 0 - magnitude;
  }
  text += "0x";
  for (int digits = magnitude == 0 ? 1 : (67 - std::countl_zero(magnitude)) / 4; digits != 0; --digits)
    text += "0123456789abcdef"[(magnitude >> (4 * (digits - 1))) & 15];
}

void append_constant(std::string& text, uint32_t value) {
  append_immediate(text, value);
}

void append_operand(std::string& text, const Target& target, const Operand& operand, uint32_t literal) {
  const uint16_t code = operand.code;
  const unsigned dwords = operand.dwords;
  const unsigned first_ttmp = target.family() == Family::kGfx8 ? 112 : 108;
  if (operand.is_agpr()) {
    append_group(text, "a", code - code::kAgpr, dwords);
  } else if (operand.is_vgpr()) {
    append_group(text, "v", code - code::kVgpr, dwords);
  } else if (code == code::kLiteral) {
    append_literal(text, operand.type, literal);
  } else if (code >= code::kHalf && code <= code::kInv2Pi) {
    append_inline_float(text, operand.type, code - code::kHalf);
  } else if (code >= code::kZero && code <= 208) {
    append_number(text, code <= 192 ? code - 128 : 192 - code);
  } else if (code >= first_ttmp && code <= 123) {
    append_group(text, "ttmp", code - first_ttmp, dwords);
  } else if (code <= (target.family() >= Family::kGfx10 ? 105 : 101)) {
    append_group(text, "s", code, dwords);
  } else {
    text += special_name(code, dwords == 2);
  }
}

void append_wait_count(std::string& text, Family family, uint16_t value) {
  const WaitCounts counts = wait_counts(family, value);
  const bool no_vm = counts.vm == counts.most_vm, no_exp = counts.exp == counts.most_exp,
             no_lgkm = counts.lgkm == counts.most_lgkm;
  const bool all = no_vm && no_exp && no_lgkm;
  const size_t begin = text.size();
  const auto append = [&](std::string_view name, unsigned count) {
    if (text.size() != begin) text += ' ';
    text += name;
    text += '(';
    append_number(text, count);
    text += ')';
  };
  if (!no_vm || all) append("vmcnt", counts.vm);
  if (!no_exp || all) append("expcnt", counts.exp);
  if (!no_lgkm || all) append("lgkmcnt", counts.lgkm);
}

namespace {

// gfx11 and later: eight bits, without operations and streams.
void append_message_of_gfx11(std::string& text, Family family, uint16_t value) {
  constexpr std::string_view kNames[16] = {"", "MSG_INTERRUPT",      "MSG_HS_TESSFACTOR", "MSG_DEALLOC_VGPRS",
                                           "", "MSG_STALL_WAVE_GEN", "MSG_HALT_WAVES",    "",
                                           "", "MSG_GS_ALLOC_REQ"};
  constexpr std::string_view kReturning[] = {"MSG_RTN_GET_DOORBELL", "MSG_RTN_GET_DDID",  "MSG_RTN_GET_TMA",
                                             "MSG_RTN_GET_REALTIME", "MSG_RTN_SAVE_WAVE", "MSG_RTN_GET_TBA",
                                             "MSG_RTN_GET_TBA_TO_PC"};
  constexpr unsigned kStallWaveGen = 5, kHaltWaves = 6, kGetPlace = 135;  // gfx12 has only the last one.
  const unsigned id = value & 0xffu;
  std::string_view name = id < std::size(kNames) ? kNames[id] : std::string_view();
  if (id >= 128 && id - 128 < std::size(kReturning)) name = kReturning[id - 128];
  if (family == Family::kGfx12) {
    if (id == kStallWaveGen || id == kHaltWaves) name = {};
    if (id == kGetPlace) name = "MSG_RTN_GET_SE_AID_ID";
  }
  if (!name.empty()) {
    text += "sendmsg(";
    text += name;
    text += ')';
  } else if (id == value) {
    text += "sendmsg(";
    append_number(text, id);
    text += ", 0, 0)";
  } else {
    append_number(text, value);
  }
}

}  // namespace

void append_message(std::string& text, Family family, uint16_t value) {
  if (family >= Family::kGfx11) {
    append_message_of_gfx11(text, family, value);
    return;
  }
  constexpr std::string_view kNames[16] = {"",
                                           "MSG_INTERRUPT",
                                           "MSG_GS",
                                           "MSG_GS_DONE",
                                           "MSG_SAVEWAVE",
                                           "MSG_STALL_WAVE_GEN",
                                           "MSG_HALT_WAVES",
                                           "MSG_ORDERED_PS_DONE",
                                           "MSG_EARLY_PRIM_DEALLOC",
                                           "MSG_GS_ALLOC_REQ",
                                           "MSG_GET_DOORBELL",
                                           "MSG_GET_DDID",
                                           "",
                                           "",
                                           "",
                                           "MSG_SYSMSG"};
  constexpr std::string_view kStreamOperations[] = {"GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT"};
  constexpr std::string_view kSystemOperations[] = {"", "SYSMSG_OP_ECC_ERR_INTERRUPT", "SYSMSG_OP_REG_RD",
                                                    "SYSMSG_OP_HOST_TRAP_ACK", "SYSMSG_OP_TTRACE_PC"};
  const unsigned id = bits_of(value, 0, 4), operation = bits_of(value, 4, 3), stream = bits_of(value, 8, 2);
  std::string_view name = kNames[id];
  if (id >= 5 && id <= 11 && (family == Family::kGfx8 || (id == 11 && family != Family::kGfx10))) name = {};
  std::string_view operation_name;
  bool valid = !name.empty();
  if (id == 15) {
    if (operation < std::size(kSystemOperations)) operation_name = kSystemOperations[operation];
    if (operation == 3 && family != Family::kGfx8) operation_name = {};
    valid = valid && !operation_name.empty() && stream == 0;
  } else if (id == 2 || id == 3) {
    if (operation < std::size(kStreamOperations)) operation_name = kStreamOperations[operation];
    valid = !operation_name.empty() && (operation != 0 || (id == 3 && stream == 0));
  } else {
    valid = valid && operation == 0 && stream == 0;
  }
  if (!valid && (id | operation << 4 | stream << 8) != value) {
    append_number(text, value);
    return;
  }
  text += "sendmsg(";
  if (valid) {
    text += name;
    if (!operation_name.empty()) {
      text += ", ";
      text += operation_name;
      if (id != 15 && operation != 0) {
        text += ", ";
        append_number(text, stream);
      }
    }
  } else {
    append_number(text, id);
    text += ", ";
    append_number(text, operation);
    text += ", ";
    append_number(text, stream);
  }
  text += ')';
}

void append_hardware_register(std::string& text, const Target& target, uint16_t value) {
  struct Register {
    uint8_t id;
    uint8_t families;  // Bit 0: gfx8, 1: gfx9, 2: gfx1010 …, 3: gfx1030 …, 4: gfx942, 5: gfx11, 6: gfx12
    std::string_view name;
  };
  constexpr Register kRegisters[] = {{1, 127, "HW_REG_MODE"},
                                     {2, 127, "HW_REG_STATUS"},
                                     {3, 63, "HW_REG_TRAPSTS"},
                                     {4, 19, "HW_REG_HW_ID"},
                                     {5, 127, "HW_REG_GPR_ALLOC"},
                                     {6, 127, "HW_REG_LDS_ALLOC"},
                                     {7, 127, "HW_REG_IB_STS"},
                                     {15, 62, "HW_REG_SH_MEM_BASES"},
                                     {16, 30, "HW_REG_TBA_LO"},
                                     {17, 30, "HW_REG_TBA_HI"},
                                     {18, 30, "HW_REG_TMA_LO"},
                                     {19, 30, "HW_REG_TMA_HI"},
                                     {20, 44, "HW_REG_FLAT_SCR_LO"},
                                     {21, 44, "HW_REG_FLAT_SCR_HI"},
                                     {22, 4, "HW_REG_XNACK_MASK"},
                                     {23, 108, "HW_REG_HW_ID1"},
                                     {24, 108, "HW_REG_HW_ID2"},
                                     {25, 12, "HW_REG_POPS_PACKER"},
                                     {29, 40, "HW_REG_SHADER_CYCLES"},
                                     {20, 16, "HW_REG_XCC_ID"},
                                     {21, 16, "HW_REG_SQ_PERF_SNAPSHOT_DATA"},
                                     {22, 16, "HW_REG_SQ_PERF_SNAPSHOT_DATA1"},
                                     {23, 16, "HW_REG_SQ_PERF_SNAPSHOT_PC_LO"},
                                     {24, 16, "HW_REG_SQ_PERF_SNAPSHOT_PC_HI"},
                                     {18, 32, "HW_REG_PERF_SNAPSHOT_PC_LO"},
                                     {19, 32, "HW_REG_PERF_SNAPSHOT_PC_HI"},
                                     {27, 32, "HW_REG_PERF_SNAPSHOT_DATA"},
                                     {4, 64, "HW_REG_STATE_PRIV"},
                                     {10, 64, "HW_REG_PERF_SNAPSHOT_DATA"},
                                     {11, 64, "HW_REG_PERF_SNAPSHOT_PC_LO"},
                                     {12, 64, "HW_REG_PERF_SNAPSHOT_PC_HI"},
                                     {15, 64, "HW_REG_PERF_SNAPSHOT_DATA1"},
                                     {16, 64, "HW_REG_PERF_SNAPSHOT_DATA2"},
                                     {17, 64, "HW_REG_EXCP_FLAG_PRIV"},
                                     {18, 64, "HW_REG_EXCP_FLAG_USER"},
                                     {19, 64, "HW_REG_TRAP_CTRL"},
                                     {20, 64, "HW_REG_SCRATCH_BASE_LO"},
                                     {21, 64, "HW_REG_SCRATCH_BASE_HI"},
                                     {29, 64, "HW_REG_SHADER_CYCLES_LO"},
                                     {30, 64, "HW_REG_SHADER_CYCLES_HI"},
                                     {31, 64, "HW_REG_DVGPR_ALLOC_LO"},
                                     {32, 64, "HW_REG_DVGPR_ALLOC_HI"}};
  const unsigned id = bits_of(value, 0, 6), offset = bits_of(value, 6, 5), width = bits_of(value, 11, 5) + 1;
  const unsigned family = traits_of(target).has_xcc_id                     ? 4
                          : target.family() == Family::kGfx12              ? 6
                          : target.family() == Family::kGfx11              ? 5
                          : target.family() == Family::kGfx8               ? 0
                          : target.family() == Family::kGfx9               ? 1
                          : traits_of(target).hardware_registers >> 29 & 1 ? 3
                                                                           : 2;
  text += "hwreg(";
  std::string_view name;
  for (const Register& candidate : kRegisters) {
    if (candidate.id == id && ((candidate.families >> family) & 1) != 0) name = candidate.name;
  }
  if (name.empty()) {
    append_number(text, id);
  } else {
    text += name;
  }
  if (width != 32 || offset != 0) {
    text += ", ";
    append_number(text, offset);
    text += ", ";
    append_number(text, width);
  }
  text += ')';
}

void append_dependency_counters(std::string& text, const Target& target, uint16_t value) {
  constexpr Counter kCounters[] = {{"depctr_hold_cnt", 7, 1}, {"depctr_sa_sdst", 0, 1},
                                   {"depctr_va_vdst", 12, 4}, {"depctr_va_sdst", 9, 3},
                                   {"depctr_va_ssrc", 8, 1},  {"depctr_va_vcc", 1, 1},
                                   {"depctr_vm_vsrc", 2, 3}};
  const bool has_first = target.family() > Family::kGfx10 || target.minor >= 3;  // gfx1030 and later
  const size_t first = has_first ? 0 : 1;
  unsigned known = 0;
  bool has_non_default = false;
  for (size_t i = first; i != std::size(kCounters); ++i) {
    const unsigned mask = (1u << kCounters[i].width) - 1;
    known |= mask << kCounters[i].low;
    if (bits_of(value, kCounters[i].low, kCounters[i].width) != mask) has_non_default = true;
  }
  if ((value & ~known) != 0) {
    append_hex(text, value);
    return;
  }
  bool separate = false;
  for (size_t i = first; i != std::size(kCounters); ++i) {
    const unsigned count = bits_of(value, kCounters[i].low, kCounters[i].width);
    if (has_non_default && count == (1u << kCounters[i].width) - 1) continue;
    if (separate) text += ' ';
    separate = true;
    text += kCounters[i].name;
    text += '(';
    append_number(text, count);
    text += ')';
  }
}

void append_version(std::string& text, uint16_t value) {
  constexpr std::string_view kVersions[] = {"UC_VERSION_GFX7", "UC_VERSION_GFX10", "UC_VERSION_GFX11",
                                            "UC_VERSION_GFX12"};
  constexpr unsigned kCodes[] = {0, 4, 6, 9};
  if ((value & 0x1f00) != 0) {
    append_hex(text, value);
    return;
  }
  std::string_view version;
  for (size_t i = 0; i != std::size(kCodes); ++i) {
    if (kCodes[i] == (value & 0xffu)) version = kVersions[i];
  }
  std::string expression(version);
  if (version.empty()) append_number(expression, value & 0xff);
  constexpr Counter kBits[] = {
      {"UC_VERSION_W64_BIT", 13, 1}, {"UC_VERSION_W32_BIT", 14, 1}, {"UC_VERSION_MDP_BIT", 15, 1}};
  bool compound = false;
  for (const Counter& bit : kBits) {
    if (bits_of(value, bit.low, bit.width) == 0) continue;
    if (compound) expression.insert(0, 1, '(').push_back(')');
    compound = true;
    expression += '|';
    expression += bit.name;
  }
  text += expression;
}

void append_index_mode(std::string& text, uint16_t value) {
  constexpr std::string_view kModes[] = {"SRC0", "SRC1", "SRC2", "DST"};
  if (value > 15) {
    append_hex(text, value);
    return;
  }
  text += "gpr_idx(";
  bool separate = false;
  for (size_t i = 0; i != 4; ++i) {
    if (((value >> i) & 1) == 0) continue;
    if (separate) text += ',';
    separate = true;
    text += kModes[i];
  }
  text += ')';
}

void append_swizzle(std::string& text, uint16_t value) {
  if ((value & 0xff00) == 0x8000) {
    text += "swizzle(QUAD_PERM";
    for (unsigned i = 0; i != 4; ++i) {
      text += ',';
      append_number(text, bits_of(value, 2 * i, 2));
    }
    text += ')';
    return;
  }
  if ((value & 0x8000) != 0) {
    append_number(text, value);
    return;
  }
  const unsigned keep = bits_of(value, 0, 5), set = bits_of(value, 5, 5), flip = bits_of(value, 10, 5);
  const unsigned group = 32 - keep;
  if (keep == 31 && set == 0 && std::has_single_bit(flip)) {
    text += "swizzle(SWAP,";
    append_number(text, flip);
  } else if (keep == 31 && set == 0 && flip != 0 && std::has_single_bit(flip + 1)) {
    text += "swizzle(REVERSE,";
    append_number(text, flip + 1);
  } else if (group > 1 && std::has_single_bit(group) && set < group && flip == 0) {
    text += "swizzle(BROADCAST,";
    append_number(text, group);
    text += ',';
    append_number(text, set);
  } else {
    // Each bit of the lane number: 0, 1, kept or inverted.
    text += "swizzle(BITMASK_PERM,\"";
    for (unsigned bit = 16; bit != 0; bit >>= 1) {
      const bool of_zero = ((set ^ flip) & bit) != 0;
      const bool of_one = (((keep | set) ^ flip) & bit) != 0;
      text += of_zero == of_one ? (of_zero ? '1' : '0') : (of_zero ? 'i' : 'p');
    }
    text += '"';
  }
  text += ')';
}

void append_lane_permutation(std::string& text, Family family, uint16_t control) {
  constexpr std::string_view kRows[] = {"row_shl:", "row_shr:", "row_ror:"};
  const auto with_count = [&](std::string_view name) {
    text += name;
    append_number(text, control & 15);
  };
  if (control <= 0xff) {
    text += "quad_perm:[";
    for (unsigned i = 0; i != 4; ++i) {
      if (i != 0) text += ',';
      append_number(text, bits_of(control, 2 * i, 2));
    }
    text += ']';
  } else if (control < 0x130) {
    with_count(kRows[bits_of(control, 4, 4) % 3]);
  } else if (control >= 0x160) {
    with_count("row_xmask:");
  } else if (control >= 0x150) {
    with_count(family >= Family::kGfx10 ? "row_share:" : "row_newbcast:");
  } else {
    switch (control) {
      case 0x130:
        text += "wave_shl:1";
        break;
      case 0x134:
        text += "wave_rol:1";
        break;
      case 0x138:
        text += "wave_shr:1";
        break;
      case 0x13c:
        text += "wave_ror:1";
        break;
      case 0x140:
        text += "row_mirror";
        break;
      case 0x141:
        text += "row_half_mirror";
        break;
      case 0x142:
        text += "row_bcast:15";
        break;
      default:
        text += "row_bcast:31";
        break;
    }
  }
}

void append_buffer_format(std::string& text, Family family, uint8_t format) {
  constexpr std::string_view kData[] = {"INVALID",     "8",          "16",          "8_8",
                                        "32",          "16_16",      "10_11_11",    "11_11_10",
                                        "10_10_10_2",  "2_10_10_10", "8_8_8_8",     "32_32",
                                        "16_16_16_16", "32_32_32",   "32_32_32_32", "RESERVED_15"};
  constexpr std::string_view kNumbers[] = {"UNORM", "SNORM", "USCALED",    "SSCALED",
                                           "UINT",  "SINT",  "RESERVED_6", "FLOAT"};
  if (format == 1) return;
  text += " format:";
  if (family < Family::kGfx10) {
    const unsigned data = bits_of(format, 0, 4), number = bits_of(format, 4, 3);
    text += '[';
    if (data != 1) {
      text += "BUF_DATA_FORMAT_";
      text += kData[data];
      if (number != 0) text += ',';
    }
    if (number != 0) {
      text += "BUF_NUM_FORMAT_";
      text += kNumbers[number];
    }
    text += ']';
    return;
  }
  // Unified formats: the data formats in order, each with its number formats.
  constexpr uint8_t kNumbersOfGfx10[] = {0x3f, 0xbf, 0x3f, 0xb0, 0xbf, 0xbf, 0xbf,
                                         0x3f, 0x3f, 0x3f, 0xb0, 0xbf, 0xb0, 0xb0};
  constexpr uint8_t kNumbersOfGfx11[] = {0x3f, 0xbf, 0x3f, 0xb0, 0xbf, 0x80, 0x80,
                                         0x33, 0x3f, 0x3f, 0xb0, 0xbf, 0xb0, 0xb0};
  const auto& numbers_of = family == Family::kGfx10 ? kNumbersOfGfx10 : kNumbersOfGfx11;
  if (format == 0) {
    text += "[BUF_FMT_INVALID]";
    return;
  }
  unsigned unified = 1;
  for (unsigned data = 0; data != std::size(numbers_of); ++data) {
    for (unsigned number = 0; number != 8; ++number) {
      if (((numbers_of[data] >> number) & 1) == 0) continue;
      if (unified++ != format) continue;
      text += "[BUF_FMT_";
      text += kData[data + 1];
      text += '_';
      text += kNumbers[number];
      text += ']';
      return;
    }
  }
  append_number(text, format);
}

void append_export_target(std::string& text, Family family, uint8_t target) {
  const bool gfx11 = family >= Family::kGfx11;
  if (target <= 7) {
    text += "mrt";
    append_number(text, target);
  } else if (target == 8) {
    text += "mrtz";
  } else if (target == 9 && !gfx11) {
    text += "null";
  } else if (target >= 12 && target <= (family >= Family::kGfx10 ? 16 : 15)) {
    text += "pos";
    append_number(text, target - 12);
  } else if (target == 20 && family >= Family::kGfx10) {
    text += "prim";
  } else if ((target == 21 || target == 22) && gfx11) {
    text += "dual_src_blend";
    append_number(text, target - 21);
  } else if (target >= 32 && !gfx11) {
    text += "param";
    append_number(text, target - 32);
  } else {
    text += "invalid_target_";
    append_number(text, target);
  }
}

void append_delay(std::string& text, uint16_t value) {
  constexpr std::string_view kInstructions[] = {
      "NO_DEP",        "VALU_DEP_1",    "VALU_DEP_2",        "VALU_DEP_3",   "VALU_DEP_4",   "TRANS32_DEP_1",
      "TRANS32_DEP_2", "TRANS32_DEP_3", "FMA_ACCUM_CYCLE_1", "SALU_CYCLE_1", "SALU_CYCLE_2", "SALU_CYCLE_3"};
  constexpr std::string_view kSkips[] = {"SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4"};
  std::string_view separator;
  const auto append = [&](std::string_view field, unsigned part, auto& names, std::string_view invalid) {
    if (part == 0) return;
    text += separator;
    text += field;
    text += part < std::size(names) ? names[part] : invalid;
    text += ')';
    separator = " | ";
  };
  append("instid0(", bits_of(value, 0, 4), kInstructions, "/* invalid instid value */");
  append("instskip(", bits_of(value, 4, 3), kSkips, "/* invalid instskip value */");
  append("instid1(", bits_of(value, 7, 4), kInstructions, "/* invalid instid value */");
  if (separator.empty()) text += '0';
}

}  // namespace rigel::vgpu::isa
