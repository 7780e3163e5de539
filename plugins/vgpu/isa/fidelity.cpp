#include "plugins/vgpu/isa/fidelity.hpp"

#include <iterator>

#include "plugins/vgpu/isa/decoder.hpp"
#include "plugins/vgpu/isa/hardware_register.hpp"
#include "plugins/vgpu/isa/image_shape.hpp"
#include "plugins/vgpu/isa/instruction_tables.hpp"
#include "plugins/vgpu/isa/op_class.hpp"

namespace rigel::vgpu::isa {

namespace {

std::string form_of(const Instruction& instruction) {
  constexpr std::string_view kEncodings[] = {
      "SOP1",   "SOP2", "SOPK", "SOPC",   "SOPP",    "SMEM",  "VOP1",  "VOP2", "VOPC", "VOP3", "VOP3P",
      "VINTRP", "DS",   "FLAT", "GLOBAL", "SCRATCH", "MUBUF", "MTBUF", "MIMG", "EXP",  "VOPD", "LDSDIR"};
  constexpr std::string_view kLanes[] = {"", " SDWA", " DPP", " DPP8"};
  std::string form(kEncodings[static_cast<size_t>(instruction.encoding)]);
  form += kLanes[static_cast<size_t>(instruction.lanes)];
  if (instruction.lds) form += " LDS";
  return form;
}

/// Query results for one operation.
struct Tally {
  uint8_t generations = 0;
  unsigned queried = 0, rejected = 0;
  std::string first_reason, rejected_forms;

  void add(const Target& target, const Instruction& instruction, std::string_view reason) {
    ++queried;
    if (reason.empty()) return;
    if (++rejected == 1) first_reason = reason;
    const std::string form = form_of(instruction) + " on " + name(target);
    if (rejected_forms.find(form) != std::string::npos || rejected_forms.size() > 60) return;
    if (!rejected_forms.empty()) rejected_forms += ", ";
    rejected_forms += form;
  }
};

}  // namespace

bool plain_instruction(const Target& chip, uint16_t row, Instruction& instruction) {
  const tables::Row& line = tables::rows()[row];
  const tables::Shape& shape = tables::shapes()[line.shape];
  if (!line.chips.intersects(chip_set(chip))) return false;
  Target target = chip;
  if (shape.encoding == Encoding::kVopd) target.wave32 = true;
  // Bits that turn source fields into VGPRs, in instructions of eight and of four bytes. Some operands
  // require them, others reject them.
  constexpr uint64_t kLong[] = {1ull << 40, 1ull << 49, 1ull << 58};
  for (unsigned choice = 0; choice != 8; ++choice) {
    uint64_t bits = line.value;
    for (unsigned i = 0; i != 3; ++i) {
      if (((choice >> i) & 1) == 0 && shape.dwords >= 2) bits |= kLong[i] & shape.live & ~shape.mask;
    }
    if ((choice & 1) == 0 && shape.encoding <= Encoding::kVopc && shape.encoding >= Encoding::kVop1)
      bits |= 0x100 & shape.live & ~shape.mask;
    // DPP has an additional dword, in VOP3 the third.
    const bool is_long = shape.dwords == 3;
    const unsigned source = is_long ? 32 : 0;
    if (shape.has(tables::flag::kDpp8))
      bits = (bits & ~(uint64_t{0x1ff} << source)) | uint64_t{233} << source;
    if (shape.has(tables::flag::kDpp) && !is_long)
      bits |= ((uint64_t{0xff} << 56) | (uint64_t{0x150} << 40)) & shape.live;
    // Valid immediates: the complete MODE register, an interrupt.
    if (shape.has(tables::flag::kHardwareRegister)) bits |= 0xf801;
    if (shape.has(tables::flag::kMessage)) bits |= 1;
    uint32_t words[kMaxInstructionDwords] = {static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32)};
    if (shape.has(tables::flag::kDpp) && is_long) words[2] = 0xff015000;
    if (decode(target, words, std::size(words), instruction) == DecodeStatus::kOk && instruction.row == row)
      return true;
    words[1] &= ~(uint32_t{0x1ff} << 8);  // row_newbcast exists on gfx90a and gfx10 only.
    if (shape.has(tables::flag::kDpp) &&
        decode(target, words, std::size(words), instruction) == DecodeStatus::kOk && instruction.row == row)
      return true;
  }
  return false;
}

Domain domain_of(Op op) {
  if (op == Op::ds_ordered_count || op == Op::s_endpgm_ordered_ps_done ||
      op == Op::v_screen_partition_4se_b32) {
    return Domain::kGraphics;
  }
  switch (op_class(op)) {
    case OpClass::kNone:
    case OpClass::kScalar:
      return Domain::kScalar;
    case OpClass::kVector:
    case OpClass::kTranscendental:
      return Domain::kVector;
    case OpClass::kMatrix:
      return Domain::kMatrix;
    case OpClass::kScalarMemory:
    case OpClass::kVectorMemory:
    case OpClass::kDataShare:
      return Domain::kMemory;
    case OpClass::kImage:
      return Domain::kImage;
    case OpClass::kInterpolation:
    case OpClass::kGlobalSync:
    case OpClass::kExport:
      break;
  }
  return Domain::kGraphics;
}

std::string_view approximation(Op op) {
  if (op_class(op) == OpClass::kTranscendental) return "within one unit in the last place";
  if (op == Op::s_setreg_b32 || op == Op::s_setreg_imm32_b32)
    return "MODE.DEBUG and MODE.EXCP_EN have no effect";
  if (op == Op::s_getreg_b32) {
    return "TRAPSTS: arithmetic exceptions are not recorded; HW_ID: arbitrary places";
  }
  if (op == Op::s_sendmsg || op == Op::s_sendmsghalt) {
    return "interrupts, save wave, get doorbell; messages of graphics and debuggers stop the queue";
  }
  if (const ImageShape* const shape = image_shape(op); shape != nullptr && shape->has_sampler()) {
    return shape->lod == LodSource::kNeighbours || shape->lod == LodSource::kGradients
               ? "levels of detail and anisotropic filters by the gradients' lengths, as in the Vulkan "
                 "specification; filters round once"
               : "filters round once";
  }
  return {};
}

std::string_view approximation(const Instruction& instruction) {
  constexpr uint32_t kDebugAndExceptions = 0x3ffu << 11;  // MODE.DEBUG_EN and MODE.EXCP_EN
  const std::string_view text = approximation(instruction.op);
  const RegisterField field = register_field(instruction);
  bool is_exact = false;
  switch (instruction.op) {
    case Op::s_setreg_b32:
    case Op::s_setreg_imm32_b32:
      is_exact = field.id == hwreg::kFlatScratchLo || field.id == hwreg::kFlatScratchHi ||
                 (field.id == hwreg::kMode && (field.mask << field.shift & kDebugAndExceptions) == 0);
      break;
    case Op::s_getreg_b32:
      is_exact = field.id == hwreg::kMode || field.id == hwreg::kGprAlloc || field.id == hwreg::kLdsAlloc ||
                 field.id == hwreg::kShMemBases;
      break;
    case Op::s_sendmsg:
    case Op::s_sendmsghalt:
      is_exact = true;  // Other messages are not executed.
      break;
    default:
      break;
  }
  return is_exact ? std::string_view() : text;
}

std::vector<OperationFidelity> operation_fidelity(std::span<const Target> targets, const Refusal& refusal) {
  std::vector<Tally> tallies(kOpCount);
  const auto rows = tables::rows();
  for (uint16_t row = 0; row != rows.size(); ++row) {
    Tally& tally = tallies[static_cast<size_t>(rows[row].op)];
    const bool is_illegal = rows[row].op == Op::s_code_end;  // By definition, executing it is rejecting it.
    uint8_t queried = 0;
    for (const Target& target : targets) {
      const auto family = static_cast<uint8_t>(1u << static_cast<unsigned>(target.family()));
      Instruction instruction;
      if ((queried & family) != 0 || !plain_instruction(target, row, instruction)) continue;
      queried |= family;
      tally.generations |= family;
      tally.add(target, instruction, is_illegal ? std::string_view{} : refusal(target, instruction));
    }
  }
  std::vector<OperationFidelity> result;
  for (size_t i = 1; i != kOpCount; ++i) {
    const auto op = static_cast<Op>(i);
    Tally& tally = tallies[i];
    if (tally.queried == 0) continue;
    OperationFidelity line{op, domain_of(op), tally.generations, Fidelity::kExact, {}};
    if (tally.rejected == tally.queried) {
      line.fidelity = Fidelity::kAbsent;
      line.note = std::move(tally.first_reason);
    } else if (tally.rejected != 0) {
      line.fidelity = Fidelity::kApproximate;
      line.note = "not supported as " + tally.rejected_forms + ": " + tally.first_reason;
    } else if (const std::string_view how = approximation(op); !how.empty()) {
      line.fidelity = Fidelity::kApproximate;
      line.note = how;
    }
    result.push_back(std::move(line));
  }
  return result;
}

}  // namespace rigel::vgpu::isa
