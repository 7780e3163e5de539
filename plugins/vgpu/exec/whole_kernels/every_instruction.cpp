// Generates straight-line kernels that contain every arithmetic and memory instruction of a chip.
#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "plugins/vgpu/exec/whole_kernels/contents.hpp"
#include "plugins/vgpu/exec/whole_kernels/generate.hpp"
#include "plugins/vgpu/exec/whole_kernels/instruction_writer.hpp"
#include "plugins/vgpu/exec/whole_kernels/random_access.hpp"
#include "plugins/vgpu/exec/whole_kernels/random_alu.hpp"
#include "plugins/vgpu/isa/decoder.hpp"
#include "plugins/vgpu/isa/instruction_tables.hpp"
#include "plugins/vgpu/isa/memory_shape.hpp"

namespace rigel::vgpu::exec::whole {
namespace {

using isa::code::kExecLo;
using isa::code::kLiteral;
using isa::code::kVccLo;

// A table row, and the generator for it.
struct TableRow {
  uint16_t row = 0;
  bool is_access = false;
};

class EveryInstruction : InstructionWriter {
 public:
  EveryInstruction(Kernel& kernel, Draw& draw)
      : InstructionWriter(kernel, draw), alu_(kernel.target), access_(kernel.target) {
    first_data_ = 12;
  }

  void run(std::span<const TableRow> rows) {
    begin();
    kernel_.prefix_items = static_cast<uint32_t>(kernel_.items.size());
    for (const TableRow& row : rows) {
      const Words words =
          row.is_access ? access_.of_row(row.row, draw_, places()) : alu_.of_row(row.row, draw_, registers());
      if (words.empty()) continue;
      const bool is_block = isa::accesses_block(isa::tables::rows()[row.row].op);
      if (is_block) s_mov(isa::code::kM0, draw_.below(1u << AccessRegisters::kBlockRegisters));
      add(words);
      if (is_block) s_mov(isa::code::kM0, ~0u);
    }
    const size_t items_before_finish = kernel_.items.size();
    finish();
    kernel_.suffix_items = static_cast<uint32_t>(kernel_.items.size() - items_before_finish);
  }

 private:
  static constexpr uint32_t kGroups = 2;
  static constexpr uint32_t kVgprs = 40;
  // VGPRs before those for data. kAddress is a pair: the item's place, or other memory before and after the
  // instructions.
  static constexpr uint32_t kIndex = 3, kSums = 4, kSlot = 5, kAddress = 6, kOffset = 8, kScratch = 9;
  // Layout of an item's output: its place, the checksums, and the VGPRs for data. The waves' places follow
  // all items.
  static constexpr uint32_t kSumsOffset = AccessRegisters::kBytes, kDataOffset = kSumsOffset + 16;
  static constexpr uint32_t kItemBytes = 192, kWaveBytes = 1024;
  static constexpr uint32_t kSlotsOffset = 256;  // in LDS
  // SGPRs in addition to InstructionWriter's.
  static constexpr uint32_t kWavePlace = 66, kWaveOffset = 68, kScratchScalar = 69;

  Registers registers() const {
    return {kVgprs, first_data_, sgpr::kData, sgpr::kDataEnd, true, true, layout_of(kernel_).sgprs};
  }
  AccessRegisters places() const {
    AccessRegisters access;
    access.first_data = first_data_;
    access.vgprs = kVgprs;
    access.slot = kSlot;
    access.items = kernel_.group[0];
    access.place = kAddress;
    access.offset = kOffset;
    access.base = sgpr::kOut;
    access.resource = sgpr::kOutResource;
    access.scratch_offset = kScratch;
    access.scratch_scalar = kScratchScalar;
    access.scratch_resource = kScratchResource;
    access.scratch_wave = sgpr::kScratchOffset;
    access.first_scalar = sgpr::kData;
    access.end_scalar = sgpr::kDataEnd;
    access.constant_base = sgpr::kIn;
    access.constant_resource = sgpr::kInResource;
    access.wave_place = kWavePlace;
    access.wave_offset = kWaveOffset;
    return access;
  }

  // Initialises each lane's data registers from the input, and scalars from the arguments.
  void begin() {
    Kernel& k = kernel_;
    k.vgprs = kVgprs;
    k.sgprs = sgpr::kEnd;
    k.group[0] = k.wave_size();
    k.grid[0] = kGroups * k.group[0];
    k.limit = k.grid[0];
    k.in_bytes = kMaxInBytes / 2;
    const uint32_t waves_at = k.grid[0] * kItemBytes;
    k.out_bytes = waves_at + kGroups * kWaveBytes;
    k.lds_bytes = kSlotsOffset + 4 * AccessRegisters::kBytes * k.group[0];
    k.private_bytes = 2 * AccessRegisters::kBytes;
    k.mode = draw_.one_in(2) ? 0x3f0 : any_mode();
    k.data_seed = draw_.bits() >> 24;
    const auto s_load = [&](const char* name, uint32_t to, uint32_t at) {
      put(encoder_.smem(op(name), to, kKernarg, static_cast<int32_t>(at)));
    };
    s_load("s_load_dwordx4", sgpr::kIn, argument::kIn);
    s_load("s_load_dwordx8", sgpr::kInResource, argument::kInResource);
    s_load("s_load_dwordx16", sgpr::kData, argument::kNumbers);
    s_load("s_load_dwordx16", sgpr::kData + 16, argument::kNumbers + 64);
    wait_for_all();
    flat_scratch(1);
    copy_group_ids(1);
    put(encoder_.sop1(op("s_mov_b32"), isa::code::kM0, inline_integer(-1)));
    put(encoder_.sop2(op("s_mul_i32"), kWaveOffset, kFirstGroupId, kLiteral, kWaveBytes));
    put(encoder_.sop2(op("s_add_u32"), kWaveOffset, kWaveOffset, kLiteral, waves_at));
    put(encoder_.sop2(op("s_add_u32"), kWavePlace, sgpr::kOut, kWaveOffset));
    put(encoder_.sop2(op("s_addc_u32"), kWavePlace + 1, sgpr::kOut + 1, inline_integer(0)));
    s_mov(kScratchScalar, draw_.below(AccessRegisters::kBytes / 4) * 4);
    put(encoder_.sop2(op("s_mul_i32"), sgpr::kTemporary, kFirstGroupId, kLiteral, k.group[0]));
    v_add(kIndex, sgpr::kTemporary, 0);
    each_quad([&](uint32_t vgpr, uint32_t at) {
      address(sgpr::kIn, at);
      put(encoder_.flat(op("flat_load_dwordx4"), kAddress, vgpr, 0));
    });
    address(sgpr::kOut, 0);
    multiply(kOffset, kIndex, kItemBytes);
    multiply(kSlot, 0, AccessRegisters::kBytes);
    v_add_const(kSlot, kSlotsOffset, kSlot);
    if (draw_.one_in(2)) {
      v_const(kScratch, draw_.below(AccessRegisters::kBytes / 4) * 4);
    } else {
      put(encoder_.vop2(op("v_and_b32"), kScratch, inline_integer(60), 0));
    }
    v_const(kSums, 0);
    wait_for_all();
    for (uint32_t vgpr = first_data_; vgpr < kVgprs; ++vgpr) {
      if (draw_.one_in(2)) make_regular(vgpr);
    }
    put(encoder_.sop1(mask_op("s_mov"), kVccLo, sgpr::kData));
  }

  // Adds LDS and scratch to the checksums, and stores them and the data registers.
  void finish() {
    for (uint32_t at = 0; at < AccessRegisters::kBytes; at += 4) {
      put(encoder_.ds(op("ds_read_b32"), kSlot, kIndex, 0, at));
      wait_for_all();
      add_to_sum(v(kIndex));
    }
    for (uint32_t at = 0; at < kernel_.private_bytes; at += 4) {
      if (is_rdna3()) {
        v_const(kIndex, at);
        put(encoder_.flat(op("scratch_load_dword"), kIndex, kIndex, 0));
      } else {
        put(encoder_.buffer(op("buffer_load_dword"), 0, kIndex, kScratchResource, at, sgpr::kScratchOffset,
                            {}));
      }
      wait_for_all();
      add_to_sum(v(kIndex));
    }
    put(encoder_.sop2(op("s_mul_i32"), sgpr::kTemporary, kFirstGroupId, kLiteral, kernel_.group[0]));
    v_add(kIndex, sgpr::kTemporary, 0);
    each_quad([&](uint32_t vgpr, uint32_t at) {
      address(sgpr::kOut, kDataOffset + at);
      put(encoder_.flat(op("flat_store_dwordx4"), kAddress, vgpr, 0));
    });
    address(sgpr::kOut, kSumsOffset);
    put(encoder_.flat(op("flat_store_dword"), kAddress, kSums, 0));
    put(encoder_.sopp(op("s_endpgm"), 0));
  }

  // Makes a register uniform or affine, because compiled code handles these separately.
  void make_regular(uint32_t vgpr) {
    switch (draw_.below(4)) {
      case 0:
        return v_mov(vgpr, data_sgpr());
      case 1:
        return v_const(vgpr, draw_.value());
      case 2:
        return v_scale(vgpr, one_of({1, 2, 4, -4, 12, 64}), kIndex);
      default: {
        v_scale(vgpr, one_of({1, 3, 8, -1, 4}), 0);
        const uint32_t scalar = data_sgpr();
        put(encoder_.vop2(op(one_of({"v_xor_b32", "v_or_b32", "v_min_u32"})), vgpr, scalar, vgpr));
        return;
      }
    }
  }

  template <class F>
  void each_quad(F visit) {
    for (uint32_t vgpr = first_data_; vgpr < kVgprs; vgpr += 4) visit(vgpr, (vgpr - first_data_) * 4);
  }

  void multiply(uint32_t destination, uint32_t vgpr, uint32_t factor) {
    s_mov(sgpr::kTemporary, factor);
    put(encoder_.vop3(op("v_mul_lo_u32"), destination, v(vgpr), sgpr::kTemporary));
  }

  void address(uint32_t base, uint32_t offset) {
    multiply(kAddress, kIndex, kItemBytes);
    v_add_const(kAddress, static_cast<int32_t>(offset), kAddress);
    v_mov(kAddress + 1, base + 1);
    v_add_co(kAddress, base, kAddress);
    v_addc(kAddress + 1, inline_integer(0), kAddress + 1);
  }

  // Executes an instruction in all or some lanes, and adds its results to the checksums.
  void add(const Words& words) {
    isa::Instruction in;
    isa::decode(kernel_.target, words.data(), words.size(), in);
    for (const isa::Operand& operand :
         {in.src[0], in.src[1], in.src[2], in.second_src[0], in.second_src[1], in.vdata, in.vdata2}) {
      const uint32_t vgpr = operand.is_vgpr() ? operand.vgpr() : 0;
      if (vgpr >= first_data_ && vgpr < kVgprs && draw_.one_in(6)) make_regular(vgpr);
    }
    const isa::MemoryShape* const memory = isa::memory_shape(in.op);
    const bool needs_all_lanes = memory != nullptr && memory->transposes;  // otherwise it is not defined
    if (!needs_all_lanes && draw_.one_in(4)) put(encoder_.sop1(mask_op("s_mov"), kExecLo, data_sgpr(2)));
    put(words);
    const bool narrows = isa::name(in.op).find("cmpx") != std::string_view::npos;
    const uint32_t dwords_of_mask = kernel_.wave_size() / 32;
    if (narrows) put(encoder_.sop1(mask_op("s_mov"), sgpr::kSavedExec, kExecLo));
    put(encoder_.sop1(mask_op("s_mov"), kExecLo, inline_integer(-1)));
    for (uint32_t i = 0; narrows && i < dwords_of_mask; ++i) add_to_sum(sgpr::kSavedExec + i);
    if (changes_scc(in.encoding)) {
      put(encoder_.sop2(op("s_cselect_b32"), sgpr::kTemporary, inline_integer(1), inline_integer(0)));
      add_to_sum(sgpr::kTemporary);
    }
    if (in.vdst.exists()) wait_for_all();
    for (const isa::Operand& operand : {in.dst[0], in.dst[1], in.second_dst, in.vdst}) {
      if (!operand.exists() || operand.code == kExecLo || operand.code == isa::code::kNull) continue;
      const bool is_mask = operand.type == isa::Type::kMask;
      const uint32_t dwords = is_mask ? dwords_of_mask : std::max<uint32_t>(operand.dwords, 1);
      const uint32_t end = operand.is_vgpr() ? v(kVgprs) : 128;  // the register may not exist
      for (uint32_t code = operand.code; code < std::min(operand.code + dwords, end); ++code)
        add_to_sum(code);
    }
  }

  static bool changes_scc(isa::Encoding encoding) {
    return encoding == isa::Encoding::kSop1 || encoding == isa::Encoding::kSop2 ||
           encoding == isa::Encoding::kSopk || encoding == isa::Encoding::kSopc;
  }

  void add_to_sum(uint32_t source) {
    put(encoder_.vop3(op("v_alignbit_b32"), kSums, v(kSums), v(kSums), inline_integer(27)));
    put(encoder_.vop2(op("v_xor_b32"), kSums, source, kSums));
  }

  RandomAlu alu_;
  RandomAccess access_;
};

// Whether waves of 64 do not have the instruction, or do not support it.
bool needs_wave32(const TableRow& table_row) {
  const isa::tables::Row& row = isa::tables::rows()[table_row.row];
  const isa::MemoryShape* const memory = isa::memory_shape(row.op);
  return isa::tables::shapes()[row.shape].encoding == isa::Encoding::kVopd ||
         (memory != nullptr && memory->transposes);
}

}  // namespace

std::vector<uint16_t> rows_of_every_instruction(const isa::Target& chip) {
  std::vector<uint16_t> rows = RandomAlu(chip).all();
  const RandomAccess access(chip);
  rows.insert(rows.end(), access.all().begin(), access.all().end());
  return rows;
}

std::vector<Kernel> generate_every_instruction(const isa::Target& chip, uint64_t seed) {
  constexpr size_t kInstructions = 32;
  Draw draw(seed * 0x9e3779b97f4a7c15u + 2);
  std::vector<TableRow> table_rows;
  const RandomAccess access(chip);
  for (const uint16_t row : RandomAlu(chip).all()) table_rows.push_back({row, false});
  for (const uint16_t row : access.all()) table_rows.push_back({row, true});
  for (size_t i = table_rows.size(); i > 1; --i)
    std::swap(table_rows[i - 1], table_rows[draw.below(static_cast<uint32_t>(i))]);
  std::vector<Kernel> kernels;
  for (std::span<const TableRow> remaining = table_rows; !remaining.empty();) {
    const size_t count = std::min(kInstructions, remaining.size());
    Kernel kernel;
    kernel.target = chip;
    kernel.target.wave32 = chip.family() >= isa::Family::kGfx10 && draw.one_in(2);
    const auto rows = remaining.first(count);
    kernel.target.wave32 |= std::any_of(rows.begin(), rows.end(), needs_wave32);
    EveryInstruction(kernel, draw).run(rows);
    kernels.push_back(std::move(kernel));
    remaining = remaining.subspan(count);
  }
  return kernels;
}

}  // namespace rigel::vgpu::exec::whole
