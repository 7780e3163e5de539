#include "plugins/vgpu/isa/decoder.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

#include "plugins/vgpu/isa/disassembler.hpp"
#include "plugins/vgpu/isa/instruction_tables.hpp"

namespace rigel::vgpu::isa {
namespace {

constexpr Target kFiji{8, 0, 3}, kVega10{9, 0, 0}, kVega20{9, 0, 6}, kNavi10{10, 1, 0}, kNavi21{10, 3, 0};
constexpr Target kNavi21Wave32{10, 3, 0, true};

Instruction decoded(const Target& target, std::initializer_list<uint32_t> words) {
  Instruction instruction;
  EXPECT_EQ(decode(target, words.begin(), words.size(), instruction), DecodeStatus::kOk);
  return instruction;
}

DecodeStatus status(const Target& target, std::initializer_list<uint32_t> words) {
  Instruction instruction;
  return decode(target, words.begin(), words.size(), instruction);
}

TEST(IsaDecoder, EncodingsOfAnOperationHaveTheSameForm) {
  const uint32_t vop2 = 0x02060501;  // v_add_f32 v3, v1, v2
  std::vector<Instruction> forms{decoded(kVega10, {vop2}), decoded(kVega10, {0xd1010003, 0x00020501}),
                                 decoded(kVega10, {0x020604f9, 0x06060601}),
                                 decoded(kVega10, {0x020604fa, 0xff00e401})};
  for (const Instruction& form : forms) {
    EXPECT_EQ(form.op, Op::v_add_f32);
    EXPECT_EQ(form.dst[0].vgpr(), 3);
    EXPECT_EQ(form.src[0].vgpr(), 1);
    EXPECT_EQ(form.src[1].vgpr(), 2);
    EXPECT_EQ(form.src[0].type, Type::kF32);
    EXPECT_FALSE(form.src[2].exists());
    EXPECT_FALSE(form.dst[1].exists());
  }
  EXPECT_EQ(forms[0].encoding, Encoding::kVop2);
  EXPECT_EQ(forms[0].bytes, 4);
  EXPECT_EQ(forms[1].encoding, Encoding::kVop3);
  EXPECT_EQ(forms[1].bytes, 8);
  EXPECT_EQ(forms[2].lanes, LaneMode::kSdwa);
  EXPECT_EQ(forms[3].lanes, LaneMode::kDpp);
  EXPECT_EQ(forms[3].dpp_ctrl, 0xe4);
  EXPECT_EQ(forms[3].row_mask, 0xf);
}

TEST(IsaDecoder, UsesOneOpForRenamedInstructions) {
  EXPECT_EQ(decoded(kFiji, {0x32060501}).op, Op::v_add_co_u32);
  EXPECT_EQ(decoded(kVega10, {0x32060501}).op, Op::v_add_co_u32);
  EXPECT_EQ(disassemble(kFiji, decoded(kFiji, {0x32060501})), "v_add_u32_e32 v3, vcc, v1, v2");
  EXPECT_EQ(disassemble(kVega10, decoded(kVega10, {0x32060501})), "v_add_co_u32_e32 v3, vcc, v1, v2");
  EXPECT_EQ(decoded(kVega10, {0x68060501}).op, Op::v_add_u32);
  EXPECT_EQ(decoded(kNavi10, {0x4a060501}).op, Op::v_add_u32);
  EXPECT_EQ(disassemble(kNavi10, decoded(kNavi10, {0x4a060501})), "v_add_nc_u32_e32 v3, v1, v2");
}

TEST(IsaDecoder, ListsImpliedRegistersAsOperands) {
  const Instruction addc = decoded(kVega10, {0x38060501});
  EXPECT_EQ(addc.op, Op::v_addc_u32);
  EXPECT_EQ(addc.dst[1].code, code::kVccLo);
  EXPECT_EQ(addc.src[2].code, code::kVccLo);
  EXPECT_EQ(addc.src[2].type, Type::kMask);
  EXPECT_EQ(addc.src[2].dwords, 2);

  const Instruction mac = decoded(kVega10, {0x2c060501});
  EXPECT_EQ(mac.op, Op::v_mac_f32);
  EXPECT_EQ(mac.src[2].vgpr(), 3);

  const Instruction compare = decoded(kVega10, {0x7d940501});
  EXPECT_EQ(compare.op, Op::v_cmp_eq_u32);
  EXPECT_EQ(compare.dst[0].code, code::kVccLo);
  EXPECT_FALSE(compare.dst[1].exists());
}

TEST(IsaDecoder, DestinationsOfCmpxDependOnGeneration) {
  const Instruction gcn = decoded(kVega10, {0x7db40501});
  EXPECT_EQ(gcn.op, Op::v_cmpx_eq_u32);
  EXPECT_EQ(gcn.dst[0].code, code::kVccLo);
  EXPECT_EQ(gcn.dst[1].code, code::kExecLo);
  const Instruction rdna = decoded(kNavi10, {0x7da40501});
  EXPECT_EQ(rdna.op, Op::v_cmpx_eq_u32);
  EXPECT_EQ(rdna.dst[0].code, code::kExecLo);
  EXPECT_FALSE(rdna.dst[1].exists());
}

TEST(IsaDecoder, MaskWidthEqualsWaveSize) {
  EXPECT_EQ(decoded(kNavi21, {0xd4c2000a, 0x00020501}).dst[0].dwords, 2);
  EXPECT_EQ(decoded(kNavi21Wave32, {0xd4c2000a, 0x00020501}).dst[0].dwords, 1);
  EXPECT_EQ(decoded(kNavi21Wave32, {0xd4c2000b, 0x00020501}).dst[0].code, 11);
}

TEST(IsaDecoder, ReadsLiterals) {
  const Instruction add = decoded(kVega10, {0x020604ff, 0x12345678});
  EXPECT_EQ(add.bytes, 8);
  EXPECT_TRUE(add.src[0].is_literal());
  EXPECT_EQ(add.literal, 0x12345678u);
  const Instruction madmk = decoded(kVega10, {0x2e060501, 0x3f8ccccd});
  EXPECT_EQ(madmk.op, Op::v_madmk_f32);
  EXPECT_TRUE(madmk.src[1].is_literal());
  EXPECT_EQ(madmk.src[2].vgpr(), 2);
  EXPECT_EQ(madmk.literal, 0x3f8ccccdu);
}

TEST(IsaDecoder, ReadsMemoryInstructions) {
  const Instruction load = decoded(kVega10, {0xc0060200, 0x00000010});  // s_load_dwordx2 s[8:9], s[0:1], 0x10
  EXPECT_EQ(load.op, Op::s_load_dwordx2);
  EXPECT_EQ(load.vdst.code, 8);
  EXPECT_EQ(load.vdst.dwords, 2);
  EXPECT_EQ(load.saddr.code, 0);
  EXPECT_EQ(load.offset, 0x10);
  EXPECT_FALSE(load.soffset.exists());

  // global_atomic_add v1, v[2:3], v4, off offset:-8 glc
  const Instruction atomic = decoded(kVega10, {0xdd099ff8, 0x017f0402});
  EXPECT_EQ(atomic.op, Op::global_atomic_add);
  EXPECT_TRUE(atomic.glc);
  EXPECT_EQ(atomic.offset, -8);
  EXPECT_EQ(atomic.vdst.vgpr(), 1);
  EXPECT_EQ(atomic.vaddr.dwords, 2);
  EXPECT_EQ(atomic.vdata.vgpr(), 4);
  EXPECT_FALSE(atomic.saddr.exists());

  // buffer_store_dwordx2 v[1:2], v5, s[4:7], s3 offen offset:4
  const Instruction store = decoded(kVega10, {0xe0741004, 0x03010105});
  EXPECT_EQ(store.op, Op::buffer_store_dwordx2);
  EXPECT_TRUE(store.offen);
  EXPECT_FALSE(store.idxen);
  EXPECT_EQ(store.vdata.dwords, 2);
  EXPECT_FALSE(store.vdst.exists());
  EXPECT_EQ(store.saddr.code, 4);
  EXPECT_EQ(store.saddr.dwords, 4);
  EXPECT_EQ(store.soffset.code, 3);
}

TEST(IsaDecoder, Dpp8HasOperandTypesOfDpp) {
  unsigned compared = 0;
  const auto of_row = [](const tables::Row& row) { return tables::shapes()[row.shape]; };
  for (const tables::Row& row : tables::rows()) {
    if (!of_row(row).has(tables::flag::kDpp8)) continue;
    for (const tables::Row& other : tables::rows()) {
      if (other.op != row.op || other.chips != row.chips || !of_row(other).has(tables::flag::kDpp)) continue;
      ++compared;
      for (size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(of_row(row).src[i].type, of_row(other).src[i].type) << name(row.op);
      }
      for (size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(of_row(row).dst[i].type, of_row(other).dst[i].type) << name(row.op);
      }
    }
  }
  EXPECT_GT(compared, 100u);
}

TEST(IsaDecoder, DistinguishesChipsOfAFamily) {
  EXPECT_EQ(decoded(kVega10, {0xd3a00005, 0x1c0e0501}).op, Op::v_mad_mix_f32);
  EXPECT_EQ(decoded(kVega20, {0xd3a00005, 0x1c0e0501}).op, Op::v_fma_mix_f32);
  EXPECT_EQ(status(kFiji, {0xdc508000, 0x017f0002}), DecodeStatus::kIllegal);  // global_load_dword
}

TEST(IsaDecoder, ReportsKindOfError) {
  EXPECT_EQ(status(kVega10, {}), DecodeStatus::kTruncated);
  EXPECT_EQ(status(kVega10, {0xd1010003}), DecodeStatus::kTruncated);
  EXPECT_EQ(status(kVega10, {0x020604ff}), DecodeStatus::kTruncated);
  EXPECT_EQ(status(kVega10, {0xffffffff, 0xffffffff}), DecodeStatus::kIllegal);
  EXPECT_EQ(status(kNavi21, {0, 0}), DecodeStatus::kIllegal);
  EXPECT_EQ(status(kVega10, {0x020604d2}), DecodeStatus::kBadOperand);
  EXPECT_EQ(status({13, 0, 0}, {0xbf810000}), DecodeStatus::kUnknownTarget);
  EXPECT_FALSE(reason(DecodeStatus::kIllegal).empty());
}

TEST(IsaDecoder, ReadsEndOfProgram) {
  for (const Target& target : {kFiji, kVega10, kNavi10, kNavi21}) {
    EXPECT_EQ(decoded(target, {0xbf810000}).op, Op::s_endpgm);
    EXPECT_EQ(decoded(target, {0xbf810000}).bytes, 4);
  }
}

}  // namespace
}  // namespace rigel::vgpu::isa
