#include "plugins/vgpu/exec/whole_kernels/random_access.hpp"

#include <algorithm>
#include <string_view>

#include "plugins/vgpu/isa/decoder.hpp"
#include "plugins/vgpu/isa/instruction_tables.hpp"
#include "plugins/vgpu/isa/memory_shape.hpp"

namespace rigel::vgpu::exec::whole {

using isa::Encoding;
using isa::Family;
using isa::Op;
using isa::Space;
using isa::Verb;
using reference::Draw;

namespace {

// Excludes instructions that wait for other waves, that move data between memory and LDS directly, or that
// do not access the item's place.
bool is_excluded(const isa::tables::Row& row) {
  const isa::tables::Shape& shape = isa::tables::shapes()[row.shape];
  const uint32_t to_lds = shape.encoding == Encoding::kMubuf ? 1 << 16 : 1 << 13;
  const bool moves = shape.encoding == Encoding::kMubuf || shape.encoding == Encoding::kGlobal ||
                     shape.encoding == Encoding::kScratch;
  if (moves && (row.value & shape.mask & to_lds) != 0) return true;
  if (shape.has(isa::tables::flag::kNamesLds)) return true;
  const std::string_view name = isa::name(row.op);
  for (const char* part : {"gws", "ordered", "lds_dword", "probe", "time", "bvh_stack", "gs_reg"}) {
    if (name.find(part) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

RandomAccess::RandomAccess(const isa::Target& target) : target_(target), encoder_(target) {
  const auto rows = isa::tables::rows();
  for (uint16_t row = 0; size_t{row} < rows.size(); ++row) {
    if (!rows[row].chips.intersects(isa::chip_set(target)) || is_excluded(rows[row])) continue;
    switch (isa::tables::shapes()[rows[row].shape].encoding) {
      case Encoding::kDs:
        rows_.push_back(row);
        break;
      case Encoding::kFlat:
      case Encoding::kGlobal:
      case Encoding::kScratch:
      case Encoding::kMubuf:
      case Encoding::kMtbuf:
      case Encoding::kSmem:
        if (isa::memory_shape(rows[row].op) != nullptr) rows_.push_back(row);
        break;
      default:
        break;
    }
  }
}

Words RandomAccess::of_row(uint16_t row, Draw& draw, const AccessRegisters& registers) const {
  for (int i = 0; i < 200; ++i) {
    if (Words words = attempt(row, draw, registers); !words.empty()) return words;
  }
  return {};
}

// Draws random fields, except those that determine the address. The result is decoded and checked.
Words RandomAccess::attempt(uint16_t row, Draw& draw, const AccessRegisters& registers) const {
  const isa::tables::Row& entry = isa::tables::rows()[row];
  const isa::tables::Shape& shape = isa::tables::shapes()[entry.shape];
  const isa::MemoryShape* const memory = isa::memory_shape(entry.op);
  if (shape.encoding == Encoding::kSmem) return scalar(entry.op, draw, registers);
  uint64_t fields = draw.bits();
  const auto set = [&](unsigned low, unsigned width, uint64_t value) {
    const uint64_t mask = ((uint64_t{1} << width) - 1) << low;
    fields = (fields & ~mask) | (value << low & mask);
  };
  auto third = static_cast<uint32_t>(draw.bits());  // the third dword
  const auto set_field = [&](isa::tables::Field field, uint64_t value) {
    if (field.low < 64) return set(field.low, field.width, value);
    const uint32_t low = field.low - 64u, mask = ((1u << field.width) - 1) << low;
    third = (third & ~mask) | (static_cast<uint32_t>(value) << low & mask);
  };
  constexpr uint32_t kMaxDwords = 4;
  const auto data = [&] {
    return registers.first_data + draw.below(registers.vgprs - registers.first_data - kMaxDwords + 1);
  };
  // 16 bytes if the format determines the size. Atomics are aligned.
  const uint32_t bytes = memory == nullptr || memory->bytes == 0 ? 16
                         : memory->is_block                      ? 4 * AccessRegisters::kBlockRegisters
                                                                 : memory->bytes;
  const bool is_atomic = memory != nullptr && memory->verb == Verb::kAtomic;
  const auto offset_in_place = [&](uint32_t room) {
    const uint32_t unit = is_atomic ? bytes : !draw.one_in(8) ? std::min(bytes, 4u) : 1;
    return draw.below((room - bytes) / unit + 1) * unit;
  };
  const isa::tables::FieldPositions& positions =
      isa::tables::field_positions(target_.family(), shape.encoding);
  if (shape.encoding == Encoding::kDs) {
    set(40, 8, data());
    set(48, 8, data());
    set(56, 8, data());
  } else {
    set_field(positions.vaddr, registers.place);
    set_field(positions.vdata, data());
    set_field(positions.vdst, data());
  }
  const bool is_gfx8 = target_.family() == Family::kGfx8, is_gfx10 = target_.family() == Family::kGfx10,
             is_rdna3 = target_.family() >= Family::kGfx11;
  switch (shape.encoding) {
    case Encoding::kDs: {
      set(32, 8, registers.slot);
      set_field(positions.gds, 0);
      if (memory != nullptr && memory->pair) {
        const uint32_t slot_bytes = AccessRegisters::kBytes * registers.items;
        const uint32_t far_stride = memory->far_pair ? slot_bytes / (64 * bytes) : 1;
        const uint32_t count = memory->far_pair ? 3 : AccessRegisters::kBytes / bytes;
        set(0, 8, draw.below(count) * far_stride);
        set(8, 8, draw.below(count) * far_stride);
      } else {
        const uint32_t unit = std::min(bytes, 4u);
        set(0, 16, draw.below((AccessRegisters::kBytes - bytes) / unit + 1) * unit);
      }
      break;
    }
    case Encoding::kFlat:
    case Encoding::kGlobal:
    case Encoding::kScratch: {
      // FLAT has no offset on gfx8; gfx10.1 ignores it.
      const auto has_no_offset = [&](Encoding encoding) {
        return is_gfx8 || (is_gfx10 && encoding == Encoding::kFlat);
      };
      if (!is_gfx8 && !is_rdna3) set(13, 1, 0);  // not to LDS
      const uint32_t no_saddr =
          target_.family() >= Family::kGfx10 ? encoder_.field_of(isa::code::kNull) : 0x7fu;
      if (!is_gfx8) set_field(positions.saddr, no_saddr);
      set_field(positions.offset,
                has_no_offset(shape.encoding) ? 0 : offset_in_place(AccessRegisters::kBytes));
      if (shape.encoding == Encoding::kGlobal && memory->addtid) {
        set_field(positions.saddr, registers.wave_place);
      } else if (shape.encoding == Encoding::kGlobal && draw.one_in(2)) {
        set_field(positions.vaddr, registers.offset);
        set_field(positions.saddr, registers.base);
      } else if (shape.encoding == Encoding::kScratch) {
        const bool by_scalar = draw.one_in(2);
        set_field(positions.vaddr, registers.scratch_offset);
        if (by_scalar) set_field(positions.saddr, registers.scratch_scalar);
        // Whether the address has the VGPR.
        if (is_rdna3) set(target_.family() == Family::kGfx11 ? 55 : 49, 1, !by_scalar);
      }
      break;
    }
    case Encoding::kMubuf:
    case Encoding::kMtbuf: {
      const bool is_scratch = !is_rdna3 && shape.encoding == Encoding::kMubuf && draw.one_in(3);
      const uint32_t resource = is_scratch ? registers.scratch_resource : registers.resource;
      const bool takes_registers = positions.soffset.width == 7;  // not constants
      set_field(positions.offset, offset_in_place(AccessRegisters::kBytes));
      set_field(positions.offen, 1);
      set_field(positions.idxen, 0);
      if (shape.encoding == Encoding::kMubuf && !is_rdna3) set(16, 1, 0);  // not to LDS
      set_field(positions.vaddr, is_scratch ? registers.scratch_offset : registers.offset);
      set_field(positions.srsrc, positions.srsrc.width < 7 ? resource / 4 : resource);
      set_field(positions.tfe, 0);
      set_field(positions.soffset, is_scratch        ? registers.scratch_wave
                                   : takes_registers ? encoder_.field_of(isa::code::kNull)
                                                     : isa::code::kZero);
      break;
    }
    default:
      return {};
  }
  const uint64_t bits = entry.value | (fields & shape.live & ~shape.mask);
  Words words{static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32)};
  if (shape.dwords == 3) words.push_back(third);
  isa::Instruction in;
  if (isa::decode(target_, words.data(), words.size(), in) != isa::DecodeStatus::kOk || in.row != row ||
      in.bytes != words.size() * 4 || !is_allowed(in, registers))
    return {};
  return words;
}

Words RandomAccess::scalar(Op op, Draw& draw, const AccessRegisters& registers) const {
  const isa::MemoryShape& memory = *isa::memory_shape(op);
  const uint32_t dwords = std::max(memory.dwords(), 1u) * (memory.verb == Verb::kAtomic ? 2 : 1);
  const uint32_t unit = dwords == 1 ? 1 : dwords == 2 ? 2 : 4;
  const uint32_t to = registers.first_scalar +
                      draw.below((registers.end_scalar - registers.first_scalar - dwords) / unit + 1) * unit;
  const bool is_buffer = memory.space == Space::kBuffer;
  if (memory.verb == Verb::kLoad && memory.space != Space::kScratch) {
    return encoder_.smem(op, to, is_buffer ? registers.constant_resource : registers.constant_base,
                         static_cast<int32_t>(draw.below(AccessRegisters::kBytes / 4) * 4));
  }
  Words words = is_buffer ? encoder_.smem(op, to, registers.resource, 0, registers.wave_offset)
                          : encoder_.smem(op, to, registers.wave_place, 0);
  if (memory.verb == Verb::kAtomic && !words.empty() && draw.one_in(2))
    encoder_.make_return(Encoding::kSmem, to, words);
  return words;
}

bool RandomAccess::is_allowed(const isa::Instruction& in, const AccessRegisters& registers) const {
  if (in.tfe || in.lds || in.gds) return false;
  const bool is_block = isa::accesses_block(in.op);
  for (const isa::Operand* const operand : {&in.vdata, &in.vdata2, &in.vdst}) {
    if (!operand->exists()) continue;
    const uint32_t dwords = is_block ? AccessRegisters::kBlockRegisters : operand->dwords;
    if (!operand->is_vgpr() || operand->vgpr() < registers.first_data ||
        operand->vgpr() + dwords > registers.vgprs)
      return false;
  }
  return true;
}

}  // namespace rigel::vgpu::exec::whole
