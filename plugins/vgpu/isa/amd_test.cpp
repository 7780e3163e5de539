// Compares the tables with AMD's machine-readable instruction sets as Dyninst has them (amd_isa.tar.xz, made
// by reduce_amd_isa.py), which are independent of LLVM: opcodes, names, places of fields, sizes of operands,
// which operands are read and written, and implied registers.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "plugins/vgpu/isa/decoder.hpp"
#include "plugins/vgpu/isa/effects.hpp"
#include "plugins/vgpu/isa/instruction_tables.hpp"

namespace rigel::vgpu::isa {
namespace {

struct Place {
  unsigned low = 0, width = 0, shift = 0;
};
using Fields = std::map<std::string, Place>;

struct AmdOperand {
  std::string field;
  char registers = 0;     ///< v, a, s; = for implied registers.
  std::string direction;  ///< r, w or rw
  unsigned dwords = 0;
};

struct AmdInstruction {
  uint64_t fixed_bits = 0;
  std::string name, encoding;
  std::vector<AmdOperand> operands;
};

struct InstructionSet {
  std::map<std::string, Fields> encodings;
  std::vector<AmdInstruction> instructions;
};

std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

unsigned number_of(const std::string& text) {
  return static_cast<unsigned>(std::stoul(text));
}

InstructionSet read_instruction_set(const std::string& chip) {
  InstructionSet set;
  std::ifstream file(std::string(RIGEL_AMD_ISA) + "/" + chip + ".txt");
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> words = parts_of(line, ' ');
    if (words[0] == "encoding") {
      for (size_t i = 2; i != words.size(); ++i) {
        const std::vector<std::string> parts = parts_of(words[i], ':');
        set.encodings[words[1]][parts[0]] = {number_of(parts[1]), number_of(parts[2]), number_of(parts[3])};
      }
      continue;
    }
    AmdInstruction instruction{std::stoul(words[0], nullptr, 16), words[1], words[2], {}};
    for (size_t i = 3; i != words.size(); ++i) {
      const std::vector<std::string> parts = parts_of(words[i], ':');
      instruction.operands.push_back({parts[0], parts[1][0], parts[2], number_of(parts[3])});
    }
    set.instructions.push_back(std::move(instruction));
  }
  return set;
}

/// Machine code of an instruction.
class Code {
 public:
  Code(uint64_t fixed_bits, const Fields& fields)
      : words_{static_cast<uint32_t>(fixed_bits)}, fields_(fields) {}

  /// Sets a field; does nothing if the encoding lacks it.
  void set(const std::string& field, uint32_t value) {
    const auto found = fields_.find(field);
    if (found == fields_.end()) return;
    const Place place = found->second;
    const uint64_t bits = (value >> place.shift & ((uint64_t{1} << place.width) - 1)) << place.low % 32;
    words_[place.low / 32] |= static_cast<uint32_t>(bits);
    if (bits >> 32 != 0) words_[place.low / 32 + 1] |= static_cast<uint32_t>(bits >> 32);
  }
  bool has(const std::string& field) const { return fields_.contains(field); }
  unsigned width(const std::string& field) const { return fields_.at(field).width; }
  DecodeStatus decode(const Target& target, Instruction& instruction) const {
    return isa::decode(target, words_.data(), words_.size(), instruction);
  }

 private:
  std::array<uint32_t, kMaxInstructionDwords> words_;
  const Fields& fields_;
};

bool is_in(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

constexpr uint16_t kFlatScratch = 102;

void add_implied(const std::string& name, const Target& target, Registers& registers) {
  if (name == "SCC") registers.scc = true;
  if (name == "M0") registers.scalars.set(code::kM0);
  if (name == "EXEC") registers.scalars.set(code::kExecLo).set(code::kExecHi);
  if (name == "VCC") registers.scalars.set(code::kVccLo).set(code::kVccHi);
  if (name == "FLAT_SCRATCH" && !traits_of(target).flat_scratch_is_hidden)
    registers.scalars.set(kFlatScratch).set(kFlatScratch + 1);
}

/// An instruction whose operands are different registers, with AMD's description of them.
struct AmdSample {
  Code code;
  Registers reads, writes;
};

AmdSample sample_of(const AmdInstruction& instruction, const Fields& fields, const Target& target) {
  AmdSample sample{Code(instruction.fixed_bits, fields), {}, {}};
  const bool is_apart = instruction.encoding == "FLAT_GLBL" || instruction.encoding == "FLAT_SCRATCH";
  unsigned next_row = 2, next_scalar = 4;
  for (const AmdOperand& operand : instruction.operands) {
    Registers registers;
    if (operand.registers == '=') {
      add_implied(operand.field, target, registers);
    } else if (operand.registers == 's') {
      if (is_apart && operand.field == "SADDR") continue;
      const unsigned alignment = operand.dwords > 2 ? 4 : operand.dwords;
      const unsigned first = (next_scalar + alignment - 1) / alignment * alignment;
      next_scalar = first + operand.dwords + 2;
      for (unsigned i = 0; i != operand.dwords; ++i) registers.scalars.set(first + i);
      sample.code.set(operand.field, first);
    } else {
      const unsigned first = next_row;
      next_row = (first + operand.dwords + 3) / 2 * 2;
      for (unsigned i = 0; i != operand.dwords; ++i)
        (operand.registers == 'a' ? registers.agprs : registers.vgprs).set(first + i);
      sample.code.set(operand.field, fields.at(operand.field).width >= 9 ? code::kVgpr + first : first);
    }
    if (is_in(operand.direction, "r")) sample.reads |= registers;
    if (is_in(operand.direction, "w")) sample.writes |= registers;
  }
  const auto has_operand = [&](const char* field) {
    return std::any_of(instruction.operands.begin(), instruction.operands.end(),
                       [&](const AmdOperand& operand) { return operand.field == field; });
  };
  if (is_apart) {
    constexpr uint32_t kNoAddress = 127;
    sample.code.set("SADDR", kNoAddress);
    if (instruction.encoding == "FLAT_SCRATCH") sample.code.set("SVE", 1);
  }
  if (has_operand("VADDR") && sample.code.has("IDXEN")) {
    sample.code.set("OFFEN", 1);
    sample.code.set("IDXEN", 1);
  }
  if (has_operand("SBASE")) sample.code.set("IMM", 1);
  if (is_in(instruction.name, "ATOMIC")) {
    sample.code.set("GLC", 1);
    sample.code.set("SC0", 1);
  }
  if (is_in(instruction.name, "_GWS_") || is_in(instruction.name, "ORDERED")) sample.code.set("GDS", 1);
  if (instruction.encoding == "MUBUF" && is_in(instruction.name, "_LDS_")) sample.code.set("LDS", 1);
  return sample;
}

std::string list_of(const Registers& registers) {
  std::string text;
  const auto add = [&](const auto& set, const char* prefix) {
    for (size_t i = 0; i != set.size(); ++i) {
      if (set[i]) text += prefix + std::to_string(i) + ' ';
    }
  };
  add(registers.vgprs, "v");
  add(registers.agprs, "a");
  add(registers.scalars, "s");
  return text + (registers.scc ? "scc" : "");
}

/// A difference that is not an error of our tables.
struct Known {
  const char* chips;  ///< Separated by spaces.
  const char* names;  ///< Separated by spaces; a final * stands for any end.
  const char* aspect;
  const char* reason;
};

const Known kKnown[] = {
    {"gfx908", "DS_GWS_INIT DS_GWS_SEMA_BR DS_GWS_BARRIER", "decoded",
     "AMD has DATA0 as the operand, LLVM and AMD's later sets ADDR."},
    {"gfx908", "ds_gws_init ds_gws_sema_br ds_gws_barrier", "described", "See above."},
    {"gfx908",
     "GLOBAL_ATOMIC_ADD_F32 GLOBAL_ATOMIC_PK_ADD_F16 BUFFER_ATOMIC_ADD_F32 BUFFER_ATOMIC_PK_ADD_F16",
     "decoded", "The manual and LLVM have no form that returns a value."},
    {"gfx908",
     "global_atomic_add_f32 global_atomic_pk_add_f16 buffer_atomic_add_f32 buffer_atomic_pk_add_f16",
     "described", "See above."},
    {"gfx908", "IMAGE_GATHER4H_PCK IMAGE_GATHER8H_PCK", "decoded", "LLVM lacks them."},
    {"gfx908", "V_INTERP_P1LL_F16 V_INTERP_P1LV_F16 V_INTERP_P2_LEGACY_F16", "reads",
     "AMD lists M0, which has the parameters' address, for the other forms."},
    {"gfx90a gfx942", "DS_GWS_*", "reads", "AMD lists M0, which has the resource's offset, for gfx908."},
    {"gfx90a gfx942", "DS_APPEND DS_CONSUME", "reads", "AMD lists M0, which has the address, for gfx908."},
    {"gfx908 gfx90a", "BUFFER_STORE_LDS_DWORD", "reads", "M0 has the address in LDS, as for loads."},
    {"gfx908 gfx90a", "FLAT_ATOMIC_CMPSWAP* GLOBAL_ATOMIC_CMPSWAP*", "writes",
     "AMD has the size of the operand for the result. gfx942's set is right."},
    {"gfx908 gfx90a gfx942", "BUFFER_ATOMIC_CMPSWAP* S_ATOMIC_CMPSWAP* S_BUFFER_ATOMIC_CMPSWAP*", "writes",
     "The result is the first half of the operand's registers."},
    {"gfx908 gfx90a gfx942", "S_SENDMSG S_SENDMSGHALT", "writes",
     "LLVM lists EXEC, which these operations keep."},
    {"gfx908 gfx90a gfx942", "V_READFIRSTLANE_B32 V_SWAP_B32 V_PK_FMAC_F16", "decoded",
     "LLVM has no VOP3 forms."},
    {"gfx90a gfx942", "V_ACCVGPR_MOV_B32", "decoded", "LLVM has no VOP3 form."},
    {"gfx942", "S_SET_VALU_COEXEC_MODE", "decoded", "LLVM lacks it."},
    {"gfx908 gfx90a gfx942", "V_MAD_MIX*", "name",
     "gfx906's manual has V_FMA_MIX for these opcodes, as LLVM."},
    {"gfx908 gfx90a gfx942", "V_ACCVGPR_READ V_ACCVGPR_WRITE", "name", "LLVM adds the type."},
    {"gfx90a", "V_PK_FMA_F32 V_PK_MUL_F32 V_PK_ADD_F32", "reads",
     "AMD has one dword. gfx942's set is right."},
    {"gfx90a", "V_PK_FMA_F32 V_PK_MUL_F32 V_PK_ADD_F32", "writes", "See above."},
    {"gfx942",
     "V_SMFMAC_F32_32X32X16_F16 V_SMFMAC_F32_16X16X32_BF16 V_SMFMAC_F32_32X32X16_BF16 "
     "V_SMFMAC_I32_32X32X32_I8",
     "reads", "AMD has the sizes of dense forms; the other sparse forms are right."},
    {"gfx942", "V_SMFMAC_F32_16X16X32_BF16 V_SMFMAC_F32_32X32X16_BF16", "writes", "See above."},
    {"gfx90a gfx942", "v_exp_legacy_f32 v_log_legacy_f32", "described", "LLVM has them, as gfx908."},
    {"gfx908", "MTBUF", "TFE", "LLVM has it for untyped buffers only."},
    {"gfx908 gfx90a", "FLAT", "LDS", "The manual has loads to LDS of buffers only."},
    {"gfx90a gfx942", "DS", "GDS", "The chips lack a GDS: the bit is fixed, set for GWS."},
    {"gfx908 gfx90a gfx942", "SMEM", "NV", "Decoded for FLAT only; it is reserved."},
    {"gfx942", "FLAT FLAT_GLBL", "SVE", "Only scratch instructions may have no VGPR."},
    {"gfx90a gfx942", "s_setreg_imm32_b32", "described", "Dyninst lacks the name."},
    {"gfx942", "buffer_store_lds_dword buffer_wbinvl1 buffer_wbinvl1_vol", "described",
     "LLVM has them, as gfx90a."},
};

class IsaAgainstAmd : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    target_ = *target_of(GetParam());
    set_ = read_instruction_set(GetParam());
    ASSERT_GT(set_.instructions.size(), 1'400u) << "no instruction set in " RIGEL_AMD_ISA;
  }

  /// Reports a difference unless it is known.
  void differ(const std::string& name, const std::string& aspect, const std::string& text) {
    for (const Known& known : kKnown) {
      if (known.aspect != aspect || !is_listed(known.chips, GetParam()) || !is_listed(known.names, name))
        continue;
      found_.insert(&known);
      return;
    }
    ADD_FAILURE() << GetParam() << ' ' << name << ' ' << aspect << ": " << text;
  }

  /// Fails for known differences of an aspect that do not exist.
  void expect_known(const std::set<std::string>& aspects) {
    for (const Known& known : kKnown) {
      if (!aspects.contains(known.aspect) || !is_listed(known.chips, GetParam())) continue;
      EXPECT_TRUE(found_.contains(&known))
          << GetParam() << " does not differ: " << known.names << ' ' << known.aspect;
    }
  }

  void compare_registers(const AmdInstruction& amd, const AmdSample& sample, const Instruction& instruction);

  Target target_;
  InstructionSet set_;

 private:
  static bool is_listed(const char* list, const std::string& name) {
    for (const std::string& listed : parts_of(list, ' ')) {
      if (listed == name || (listed.back() == '*' && name.starts_with(listed.substr(0, listed.size() - 1))))
        return true;
    }
    return false;
  }

  std::set<const Known*> found_;
};

void IsaAgainstAmd::compare_registers(const AmdInstruction& amd, const AmdSample& sample,
                                      const Instruction& instruction) {
  Effects ours = effects_of(instruction, target_, 64);
  // The registers depend on modifiers, as IsaImageShape tests.
  if (instruction.encoding == Encoding::kMimg) return;
  // Indexed registers, and code of which nothing is known.
  if (ours.reads.vgprs.count() > 250 || ours.writes.vgprs.count() > 250) return;
  Registers reads = sample.reads, writes = sample.writes;
  const bool is_apart = instruction.encoding == Encoding::kFlat ||
                        instruction.encoding == Encoding::kGlobal ||
                        instruction.encoding == Encoding::kScratch;
  // AMD lists no EXEC for vector instructions, and M0 for all accesses that may reach LDS.
  if (!is_scalar_alu(instruction.encoding)) ours.reads.scalars.reset(code::kExecLo).reset(code::kExecHi);
  if (is_apart) {
    reads.scalars.reset(code::kM0);
    ours.reads.scalars.reset(code::kM0);
  }
  // The source of the CDNA sets reads an address of two registers.
  if (instruction.encoding == Encoding::kScratch) {
    if (instruction.vaddr.is_vgpr()) reads.vgprs.reset(instruction.vaddr.vgpr() + 1u);
  }
  // Loads to LDS have no destination.
  if (is_apart && is_in(amd.name, "_LDS_")) writes = {};
  // A destination that keeps a part of its value.
  const Registers kept = ours.writes - ours.replaces;
  const Registers not_read = reads - ours.reads, also_read = ours.reads - reads - kept;
  if (!not_read.empty() || !also_read.empty())
    differ(amd.name, "reads", "AMD " + list_of(not_read) + ", ours " + list_of(also_read));
  if (!(ours.writes == writes))
    differ(amd.name, "writes",
           "AMD " + list_of(writes - ours.writes) + ", ours " + list_of(ours.writes - writes));
}

TEST_P(IsaAgainstAmd, InstructionsHaveTheSameNamesAndOperands) {
  std::set<std::pair<Op, Encoding>> decoded;
  for (const AmdInstruction& amd : set_.instructions) {
    const AmdSample sample = sample_of(amd, set_.encodings[amd.encoding], target_);
    Instruction instruction;
    const DecodeStatus status = sample.code.decode(target_, instruction);
    if (status != DecodeStatus::kOk) {
      differ(amd.name, "decoded", amd.encoding + ": " + std::string(reason(status)));
      continue;
    }
    decoded.emplace(instruction.op, instruction.encoding);
    std::string name = amd.name;
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return static_cast<char>(std::tolower(c)); });
    if (const std::string_view ours = tables::mnemonic(instruction.row); ours != name)
      differ(amd.name, "name", std::string(ours));
    compare_registers(amd, sample, instruction);
  }
  for (size_t i = 0; i != tables::rows().size(); ++i) {
    const tables::Row& row = tables::rows()[i];
    const tables::Shape& shape = tables::shapes()[row.shape];
    if (!row.chips.intersects(chip_set(target_)) || shape.encoding == Encoding::kExp ||
        shape.encoding == Encoding::kVopd)
      continue;
    // Forms for other lanes are not in the reduced sets.
    if ((shape.flags & (tables::flag::kSdwa | tables::flag::kDpp | tables::flag::kDpp8)) != 0) continue;
    if (!decoded.emplace(row.op, shape.encoding).second) continue;
    differ(std::string(tables::mnemonic(static_cast<uint16_t>(i))), "described",
           "AMD has no such instruction");
  }
  expect_known({"decoded", "name", "reads", "writes", "described"});
}

struct FieldOfInstruction {
  const char* name;
  uint64_t (*value)(const Instruction&);
};

bool is_agpr(const Operand& operand) {
  return operand.exists() && operand.is_agpr();
}

const FieldOfInstruction kFields[] = {
    {"ABID", [](const Instruction& in) -> uint64_t { return in.abid; }},
    {"ABS", [](const Instruction& in) -> uint64_t { return in.abs; }},
    {"ACC",
     [](const Instruction& in) -> uint64_t {
       return is_agpr(in.src[0]) | is_agpr(in.src[1]) << 1 | is_agpr(in.vdst) | is_agpr(in.vdata);
     }},
    {"ACC_CD", [](const Instruction& in) -> uint64_t { return is_agpr(in.dst[0]); }},
    {"BLGP", [](const Instruction& in) -> uint64_t { return in.blgp; }},
    {"CBSZ", [](const Instruction& in) -> uint64_t { return in.cbsz; }},
    {"CLAMP", [](const Instruction& in) -> uint64_t { return in.clamp; }},
    {"DA", [](const Instruction& in) -> uint64_t { return in.da; }},
    {"DFMT", [](const Instruction& in) -> uint64_t { return in.dfmt; }},
    {"DMASK", [](const Instruction& in) -> uint64_t { return in.dmask; }},
    {"GDS", [](const Instruction& in) -> uint64_t { return in.gds; }},
    {"GLC", [](const Instruction& in) -> uint64_t { return in.glc; }},
    {"IDXEN", [](const Instruction& in) -> uint64_t { return in.idxen; }},
    {"IMM", [](const Instruction& in) -> uint64_t { return in.offen; }},
    {"LDS", [](const Instruction& in) -> uint64_t { return in.lds; }},
    {"LWE", [](const Instruction& in) -> uint64_t { return in.lwe; }},
    {"NEG", [](const Instruction& in) -> uint64_t { return in.neg; }},
    {"NEG_HI", [](const Instruction& in) -> uint64_t { return in.neg_hi; }},
    {"NFMT", [](const Instruction& in) -> uint64_t { return in.nfmt; }},
    {"NT", [](const Instruction& in) -> uint64_t { return in.slc; }},
    {"NV", [](const Instruction& in) -> uint64_t { return in.nv; }},
    {"OFFEN", [](const Instruction& in) -> uint64_t { return in.offen; }},
    {"OFFSET", [](const Instruction& in) -> uint64_t { return static_cast<uint64_t>(in.offset); }},
    {"OFFSET0", [](const Instruction& in) -> uint64_t { return static_cast<uint64_t>(in.offset); }},
    {"OFFSET1", [](const Instruction& in) -> uint64_t { return in.offset1; }},
    {"OMOD", [](const Instruction& in) -> uint64_t { return in.omod; }},
    {"OP_SEL", [](const Instruction& in) -> uint64_t { return in.op_sel; }},
    {"OP_SEL_HI", [](const Instruction& in) -> uint64_t { return in.op_sel_hi; }},
    {"OP_SEL_HI_2", [](const Instruction& in) -> uint64_t { return in.op_sel_hi >> 2; }},
    {"SC0", [](const Instruction& in) -> uint64_t { return in.glc; }},
    {"SC1", [](const Instruction& in) -> uint64_t { return in.scc; }},
    {"SCC", [](const Instruction& in) -> uint64_t { return in.scc; }},
    {"SIMM16", [](const Instruction& in) -> uint64_t { return in.simm16; }},
    {"SIMM32", [](const Instruction& in) -> uint64_t { return in.literal; }},
    {"SLC", [](const Instruction& in) -> uint64_t { return in.slc; }},
    {"SOFFSET_EN", [](const Instruction& in) -> uint64_t { return in.soffset.exists(); }},
    {"SVE", [](const Instruction& in) -> uint64_t { return in.vaddr.exists(); }},
    {"TFE", [](const Instruction& in) -> uint64_t { return in.tfe; }},
    {"UNORM", [](const Instruction& in) -> uint64_t { return in.unorm; }},
};

// The highest bit of an offset is its sign.
TEST_P(IsaAgainstAmd, ModifiersHaveTheSamePlaces) {
  for (const auto& [encoding, fields] : set_.encodings) {
    for (const FieldOfInstruction& field : kFields) {
      const auto place = fields.find(field.name);
      if (place == fields.end()) continue;
      const unsigned width = place->second.width;
      const uint32_t value = width > 2 ? 1u << (width - 2) | 1 : 1;
      bool is_found = false;
      for (const AmdInstruction& amd : set_.instructions) {
        if (amd.encoding != encoding) continue;
        for (const Code& plain : {Code(amd.fixed_bits, fields), sample_of(amd, fields, target_).code}) {
          Code changed = plain;
          changed.set(field.name, value);
          Instruction before, after;
          is_found = is_found ||
                     (plain.decode(target_, before) == DecodeStatus::kOk && field.value(before) == 0 &&
                      changed.decode(target_, after) == DecodeStatus::kOk && field.value(after) == value);
        }
      }
      if (!is_found) differ(encoding, field.name, "no instruction has the value");
    }
  }
  std::set<std::string> names;
  for (const FieldOfInstruction& field : kFields) names.insert(field.name);
  expect_known(names);
}

INSTANTIATE_TEST_SUITE_P(Chips, IsaAgainstAmd, ::testing::Values("gfx908", "gfx90a", "gfx942"),
                         [](const auto& chip) { return chip.param; });

}  // namespace
}  // namespace rigel::vgpu::isa
