#include "plugins/vgpu/exec/memory_ops/buffer_resource.hpp"
#include "plugins/vgpu/exec/memory_ops/formats.hpp"
#include "plugins/vgpu/exec/memory_ops/memory_test_support.hpp"
#include "plugins/vgpu/exec/memory_ops/shape.hpp"

namespace rigel::vgpu::exec::testing {
namespace {

using isa::Encoding;
using isa::Instruction;
using isa::Op;

constexpr unsigned kAddress = 2, kData = 8, kResult = 16, kResource = 8, kScalar = 20;

class BufferMemory : public ::testing::TestWithParam<Level> {
 protected:
  uint32_t width() const { return GetParam().wave_size; }
  isa::Target target() const { return width() == 64 ? isa::Target{9, 0, 0} : isa::Target{10, 3, 0}; }
};
INSTANTIATE_TEST_SUITE_P(Levels, BufferMemory, ::testing::ValuesIn(all_levels()), level_name);

Instruction mubuf(Op op, unsigned dwords = 1) {
  Instruction i;
  i.op = op;
  i.encoding = Encoding::kMubuf;
  i.saddr = sgpr_operand(kResource, 4);
  i.soffset = {isa::code::kZero, isa::Type::kB32, 1};
  const auto shape = memory_shape(op);
  if (shape != nullptr && shape->components == 0) dwords = shape->dwords();
  const bool load = isa::name(op).find("load") != std::string_view::npos;
  if (load) i.vdst = vgpr_operand(kResult, dwords);
  if (!load) i.vdata = vgpr_operand(kData, dwords);
  return i;
}

constexpr uint32_t kIdentity = 4 | 5 << 3 | 6 << 6 | 7 << 9;
constexpr uint32_t kRawGfx10 = 3u << 28;

struct Descriptor {
  uint64_t va;
  uint32_t records;
  uint32_t stride = 0;
  uint32_t word3 = kIdentity;
  bool swizzle = false;
};
void set_resource(Machine& m, const Descriptor& d) {
  m.set_scalar64(kResource, d.va | uint64_t{d.stride} << 48 | uint64_t{d.swizzle} << 63);
  m.set_scalar(kResource + 2, d.records);
  m.set_scalar(kResource + 3, d.word3);
}

Buffer numbers(Machine& m, uint32_t pages = 2) {
  const Buffer buffer = m.bus.allocate(pages * kPage);
  for (uint32_t i = 0; i < pages * 1024; ++i) buffer.at<uint32_t>()[i] = 1000 + i;
  return buffer;
}

TEST_P(BufferMemory, LoadsAreCheckedAgainstByteRange) {
  for (const Op op : {Op::buffer_load_dword, Op::buffer_load_dwordx2, Op::buffer_load_dwordx3,
                      Op::buffer_load_dwordx4, Op::buffer_load_ushort, Op::buffer_load_sbyte}) {
    const Shape shape = *memory_shape(op);
    for (const auto& pattern : patterns(120)) {
      for (const uint64_t exec : execs()) {
        Machine m(GetParam(), target());
        const Buffer a = numbers(m);
        const uint32_t records = 100u * shape.bytes;
        set_resource(m, {a.va, records, 0, kIdentity | kRawGfx10});
        m.set_exec(exec);
        Instruction i = mubuf(op);
        i.offen = true;
        i.vaddr = vgpr_operand(kAddress);
        i.offset = 16 * shape.bytes;
        for (unsigned lane = 0; lane < width(); ++lane) {
          m.vgpr(kAddress)[lane] = pattern[lane] * shape.bytes;
          for (unsigned d = 0; d < 4; ++d) m.vgpr(kResult + d)[lane] = 7;
        }
        ASSERT_EQ(m.run(i), Stop::kEnd);
        for (unsigned lane = 0; lane < width(); ++lane) {
          uint32_t values[4] = {};
          const uint32_t at = (pattern[lane] + 16) * shape.bytes;
          if (at < records) std::memcpy(values, a.host + at, shape.bytes);
          if (op == Op::buffer_load_sbyte) values[0] = ((values[0] & 0xff) ^ 0x80) - 0x80;
          for (unsigned d = 0; d < shape.dwords(); ++d) {
            ASSERT_EQ(m.vgpr(kResult + d)[lane], m.active(lane) ? values[d] : 7)
                << isa::name(op) << " lane " << lane << " exec " << std::hex << exec;
          }
        }
      }
    }
  }
}

TEST_P(BufferMemory, StoresAreCheckedAgainstByteRange) {
  for (const Op op : {Op::buffer_store_dword, Op::buffer_store_dwordx2, Op::buffer_store_dwordx4,
                      Op::buffer_store_byte, Op::buffer_store_short}) {
    const Shape shape = *memory_shape(op);
    for (const auto& pattern : patterns(120)) {
      for (const uint64_t exec : execs()) {
        Machine m(GetParam(), target());
        const Buffer a = numbers(m);
        std::vector<std::byte> expected(a.host, a.host + a.bytes);
        const uint32_t records = 100u * shape.bytes;
        set_resource(m, {a.va, records, 0, kIdentity | kRawGfx10});
        m.set_exec(exec);
        Instruction i = mubuf(op);
        i.offen = true;
        i.vaddr = vgpr_operand(kAddress);
        for (unsigned lane = 0; lane < width(); ++lane) {
          const uint32_t at = m.vgpr(kAddress)[lane] = pattern[lane] * shape.bytes;
          uint32_t values[4];
          for (unsigned d = 0; d < 4; ++d) values[d] = m.vgpr(kData + d)[lane] = lane * 0x01010101 + d;
          if (m.active(lane) && at < records) std::memcpy(expected.data() + at, values, shape.bytes);
        }
        ASSERT_EQ(m.run(i), Stop::kEnd);
        ASSERT_EQ(std::memcmp(a.host, expected.data(), a.bytes), 0)
            << isa::name(op) << " exec " << std::hex << exec;
      }
    }
  }
}

TEST_P(BufferMemory, RangeCheckIsPerDword) {
  Machine m(GetParam(), target());
  const Buffer a = numbers(m);
  set_resource(m, {a.va, 24, 0, kIdentity | kRawGfx10});
  Instruction i = mubuf(Op::buffer_load_dwordx4);
  i.offset = 16;
  ASSERT_EQ(m.run(i), Stop::kEnd);
  EXPECT_EQ(m.vgpr(kResult)[1], 1004u);
  EXPECT_EQ(m.vgpr(kResult + 1)[1], 1005u);
  EXPECT_EQ(m.vgpr(kResult + 2)[1], 0u);
  EXPECT_EQ(m.vgpr(kResult + 3)[1], 0u);
}

TEST_P(BufferMemory, ScalarOffsetCountsInByteRange) {
  for (const uint8_t major : {8, 9, 10}) {
    if (width() == 32 && major != 10) continue;
    Machine m(GetParam(), chip_of(major));
    const Buffer a = numbers(m);
    set_resource(m, {a.va, 64, 0, kIdentity | (major == 10 ? kRawGfx10 : 0)});
    m.set_scalar(kScalar, 32);
    Instruction i = mubuf(Op::buffer_load_dword);
    i.soffset = sgpr_operand(kScalar);
    i.offset = 32;
    ASSERT_EQ(m.run(i), Stop::kEnd);
    EXPECT_EQ(m.vgpr(kResult)[0], 0u);
    i.offset = 28;
    ASSERT_EQ(m.run(i), Stop::kEnd);
    EXPECT_EQ(m.vgpr(kResult)[0], 1015u);
    m.set_scalar(kScalar, 0xfffffff0);  // The sum does not wrap.
    ASSERT_EQ(m.run(i), Stop::kEnd);
    EXPECT_EQ(m.vgpr(kResult)[0], 0u);
  }
}

// A load of rocBLAS 6.4 on gfx1030: row 107 of a tile with 104 rows. SOFFSET is the offset of row 64.
TEST_P(BufferMemory, RowsPastTheMatrixLoadAsZero) {
  if (width() != 32) return;
  Machine m(GetParam(), target());
  constexpr uint32_t kRecords = 0xc971c, kRows = 0x7d200;
  const Buffer a = numbers(m, kRecords / kPage + 1);
  set_resource(m, {a.va, kRecords, 0, 0x31004000});
  m.set_scalar(kScalar, kRows);
  Instruction i = mubuf(Op::buffer_load_dwordx4);
  i.offen = true;
  i.vaddr = vgpr_operand(kAddress);
  i.soffset = sgpr_operand(kScalar);
  for (unsigned lane = 0; lane < width(); ++lane) {
    m.vgpr(kAddress)[lane] = lane % 2 == 0 ? 0x54128 : kRecords - kRows - 4 * lane;
    for (unsigned d = 0; d < 4; ++d) m.vgpr(kResult + d)[lane] = 7;
  }
  ASSERT_EQ(m.run(i), Stop::kEnd);
  for (unsigned lane = 0; lane < width(); ++lane) {
    for (unsigned d = 0; d < 4; ++d) {
      const bool inside = lane % 2 == 1 && d < lane;
      EXPECT_EQ(m.vgpr(kResult + d)[lane], inside ? 1000 + kRecords / 4 - lane + d : 0) << lane << " " << d;
    }
  }
}

TEST_P(BufferMemory, OffsetsWrapFromGfx9On) {
  for (const uint8_t major : {8, 9, 10}) {
    if (width() == 32 && major != 10) continue;
    Machine m(GetParam(), chip_of(major));
    const Buffer a = numbers(m);
    set_resource(m, {a.va, 64, 0, kIdentity | (major == 10 ? kRawGfx10 : 0)});
    Instruction i = mubuf(Op::buffer_load_dword);
    i.offen = true;
    i.vaddr = vgpr_operand(kAddress);
    i.offset = 20;
    std::fill_n(m.vgpr(kAddress), width(), -8);
    ASSERT_EQ(m.run(i), Stop::kEnd);
    EXPECT_EQ(m.vgpr(kResult)[3], major == 8 ? 0u : 1003u);
    i.offset = 4;  // The second dword is at offset 0, but only the first dword's offset wraps.
    i.op = Op::buffer_load_dwordx2;
    i.vdst = vgpr_operand(kResult, 2);
    ASSERT_EQ(m.run(i), Stop::kEnd);
    EXPECT_EQ(m.vgpr(kResult + 1)[3], 0u);
  }
}

// gfx9 does not check buffers that the lane number indexes. Unmapped addresses fault.
TEST_P(BufferMemory, AddTidWithoutIndexIsNotCheckedOnGfx9) {
  if (width() != 64) return;
  for (const bool swizzled : {false, true}) {
    Machine m(GetParam(), target());
    const Buffer a = numbers(m);
    set_resource(m, {a.va, 4, 4, kIdentity | 3u << 21 | 1u << 23, swizzled});
    Instruction i = mubuf(Op::buffer_load_dword);
    i.offset = 8;
    ASSERT_EQ(m.run(i), Stop::kEnd);
    for (unsigned lane = 0; lane < width(); ++lane)
      EXPECT_EQ(m.vgpr(kResult)[lane], 1000 + lane + (swizzled ? 128 : 2)) << lane;
    i.soffset = sgpr_operand(kScalar);
    m.set_scalar(kScalar, 8192);
    EXPECT_EQ(m.run(i), Stop::kFault);
  }
}

TEST_P(BufferMemory, RecordsAreIndexed) {
  Machine m(GetParam(), target());
  const Buffer a = numbers(m);
  set_resource(m, {a.va, 10, 12});  // gfx10: OOB_SELECT 0
  Instruction i = mubuf(Op::buffer_load_dword);
  i.idxen = i.offen = true;
  i.vaddr = vgpr_operand(kAddress, 2);
  for (unsigned lane = 0; lane < width(); ++lane) {
    m.vgpr(kAddress)[lane] = lane;
    m.vgpr(kAddress + 1)[lane] = lane % 2 * 8;
  }
  ASSERT_EQ(m.run(i), Stop::kEnd);
  for (unsigned lane = 0; lane < width(); ++lane) {
    EXPECT_EQ(m.vgpr(kResult)[lane], lane < 10 ? 1000 + lane * 3 + lane % 2 * 2 : 0) << lane;
  }
}

TEST_P(BufferMemory, OobSelectOfGfx10) {
  for (const uint32_t select : {0u, 1u, 2u, 3u}) {
    Machine m(GetParam(), {10, 1, 0});
    const Buffer a = numbers(m);
    set_resource(m, {a.va, 4, 16, kIdentity | select << 28});
    Instruction i = mubuf(Op::buffer_load_dwordx2);
    i.idxen = true;
    i.vaddr = vgpr_operand(kAddress);
    i.offset = 12;  // the second dword is past the stride
    for (unsigned lane = 0; lane < width(); ++lane) m.vgpr(kAddress)[lane] = lane;
    ASSERT_EQ(m.run(i), Stop::kEnd);
    EXPECT_EQ(m.vgpr(kResult)[3], select == 3 ? 0u : 1015u);
    EXPECT_EQ(m.vgpr(kResult + 1)[3], select == 1 || select == 2 ? 1016u : 0u);
    EXPECT_EQ(m.vgpr(kResult)[5], select == 2 ? 1023u : 0u);
  }
}

// HSA runtimes describe scratch as a swizzled buffer, indexed by the lane number, without a stride.
TEST_P(BufferMemory, ScratchIsSwizzledByLane) {
  for (const bool divergent : {false, true}) {
    for (const Op op : {Op::buffer_store_dword, Op::buffer_store_dwordx2, Op::buffer_store_dwordx4,
                        Op::buffer_store_byte, Op::buffer_store_short}) {
      for (const uint64_t exec : execs()) {
        for (const uint8_t major : {8, 9, 10}) {
          if (width() == 32 && major != 10) continue;
          Machine m(GetParam(), chip_of(major));
          const Buffer a = m.bus.allocate(8 * kPage);
          const uint32_t interleave = width() == 64 ? 3 : 2;
          // Runtimes set a data format in bits that gfx8 interprets as a stride of 64 KiB.
          const uint32_t generation = major == 10 ? 2u << 28 : 4u << 15 | (major == 8 ? 1u << 19 : 0);
          const uint32_t word3 = interleave << 21 | 1u << 23 | generation;
          set_resource(m, {a.va, 8 * kPage, 0, word3, true});
          m.set_scalar(kScalar, 4096);
          m.set_exec(exec);
          const Shape shape = *memory_shape(op);
          Instruction i = mubuf(op);
          i.soffset = sgpr_operand(kScalar);
          i.offen = divergent;
          if (divergent) i.vaddr = vgpr_operand(kAddress);
          i.offset = 8;
          const auto offset = [&](unsigned lane) { return divergent ? lane % 5 * 4 : 0; };
          for (unsigned lane = 0; lane < width(); ++lane) {
            m.vgpr(kAddress)[lane] = offset(lane);
            for (unsigned d = 0; d < 4; ++d) m.vgpr(kData + d)[lane] = lane * 0x01010101 + d + 5;
          }
          ASSERT_EQ(m.run(i), Stop::kEnd);
          for (unsigned lane = 0; lane < width(); ++lane) {
            for (unsigned b = 0; b < shape.bytes; ++b) {
              const uint32_t at = 8 + offset(lane) + b;
              const auto* const place = a.at<uint8_t>(4096 + at / 4 * width() * 4 + lane * 4 + at % 4);
              const uint32_t value = m.vgpr(kData + b / 4)[lane] >> b % 4 * 8 & 0xff;
              ASSERT_EQ(*place, m.active(lane) ? value : 0) << isa::name(op) << " lane " << lane;
            }
          }
          Instruction load = mubuf(shape.bytes >= 4 ? static_cast<Op>(op) : Op::buffer_load_ubyte);
          if (op == Op::buffer_store_dwordx2) load.op = Op::buffer_load_dwordx2;
          if (op == Op::buffer_store_dwordx4) load.op = Op::buffer_load_dwordx4;
          if (op == Op::buffer_store_dword) load.op = Op::buffer_load_dword;
          load.vdata = {};
          load.vdst = vgpr_operand(kResult, shape.dwords());
          load.soffset = i.soffset, load.offen = i.offen, load.vaddr = i.vaddr, load.offset = i.offset;
          ASSERT_EQ(m.run(load), Stop::kEnd);
          for (unsigned lane = 0; lane < width(); ++lane) {
            if (!m.active(lane)) continue;
            const uint32_t mask = shape.bytes < 4 ? 0xff : ~0u;
            ASSERT_EQ(m.vgpr(kResult)[lane], m.vgpr(kData)[lane] & mask);
          }
        }
      }
    }
  }
}

// The queue's scratch includes other waves' memory, which is in range of the descriptor.
TEST_P(BufferMemory, AccessesPastPrivateMemoryFault) {
  for (const uint8_t major : {8, 9, 10}) {
    if (width() == 32 && major != 10) continue;
    Machine m(GetParam(), chip_of(major));
    const Buffer a = m.bus.allocate(8 * kPage);
    const uint32_t generation = major == 10 ? 2u << 28 : major == 8 ? 1u << 19 : 0;
    set_resource(m, {a.va, 8 * kPage, 0, (width() == 64 ? 3u : 2u) << 21 | 1u << 23 | generation, true});
    m.wave.private_va = a.va + 4096;
    m.wave.scratch_lane_bytes = 64;
    m.wave.private_aperture_hi = 0x20000;
    // The stack starts at the wave's own memory; 16 bytes are in use.
    m.set_scalar(kScalar, 4096 + 16 * width());
    Instruction i = mubuf(Op::buffer_store_dwordx2);
    i.soffset = sgpr_operand(kScalar);
    i.offen = true;
    i.vaddr = vgpr_operand(kAddress);
    for (unsigned lane = 0; lane < width(); ++lane) m.vgpr(kAddress)[lane] = lane == 5 ? 44 : 40;
    EXPECT_EQ(m.run(i), Stop::kFault);
    EXPECT_EQ(m.wave.fault_va, (uint64_t{0x20000} << 32) + 60);
    EXPECT_EQ(m.memory.lane_faults().lanes, uint64_t{1} << 5);
    m.set_exec(~(uint64_t{1} << 5));
    EXPECT_EQ(m.run(i), Stop::kEnd);
    m.set_exec(~uint64_t{0});
    m.wave.private_va = 0;  // Without scratch, the buffer is ordinary memory.
    EXPECT_EQ(m.run(i), Stop::kEnd);
  }
}

TEST_P(BufferMemory, AtomicsReturnOldValues) {
  Machine m(GetParam(), target());
  const Buffer a = m.bus.allocate(kPage);
  set_resource(m, {a.va, 16, 0, kIdentity | kRawGfx10});
  Instruction i = mubuf(Op::buffer_atomic_add);
  i.offen = i.glc = true;
  i.vaddr = vgpr_operand(kAddress);
  i.vdst = i.vdata;
  for (unsigned lane = 0; lane < width(); ++lane) {
    m.vgpr(kAddress)[lane] = lane % 5 * 4;
    m.vgpr(kData)[lane] = 1;
  }
  ASSERT_EQ(m.run(i), Stop::kEnd);
  for (unsigned lane = 0; lane < width(); ++lane) {
    EXPECT_EQ(m.vgpr(kData)[lane], lane % 5 == 4 ? 0 : lane / 5)
        << lane;  // the fifth element is out of range
  }
  EXPECT_EQ(a.at<uint32_t>()[4], 0u);
  EXPECT_EQ(a.at<uint32_t>()[0], (width() + 4) / 5);
}

TEST_P(BufferMemory, CompareAndSwapHasNewValueFirst) {
  Machine m(GetParam(), target());
  const Buffer a = m.bus.allocate(kPage);
  set_resource(m, {a.va, 16, 0, kIdentity | kRawGfx10});
  a.at<uint64_t>()[1] = 5;
  m.set_exec(1);
  Instruction i = mubuf(Op::buffer_atomic_cmpswap_x2);
  i.vdata = i.vdst = vgpr_operand(kData, 4);
  i.glc = true;
  i.offset = 8;
  m.vgpr(kData)[0] = 9, m.vgpr(kData + 1)[0] = 1;
  m.vgpr(kData + 2)[0] = 5, m.vgpr(kData + 3)[0] = 0;
  ASSERT_EQ(m.run(i), Stop::kEnd);
  EXPECT_EQ(a.at<uint64_t>()[1], 0x100000009u);
  EXPECT_EQ(m.vgpr(kData)[0], 5u);
  EXPECT_EQ(m.vgpr(kData + 1)[0], 0u);
}

TEST_P(BufferMemory, MovesBetweenMemoryAndLds) {
  Machine m(GetParam(), target());
  const Buffer a = numbers(m);
  set_resource(m, {a.va, 1024, 0, kIdentity | kRawGfx10});
  m.set_scalar(isa::code::kM0, 64);
  m.set_exec(0xf0f0f0f0f0f0f0f0);
  Instruction i = mubuf(Op::buffer_load_dword);
  i.lds = i.offen = true;
  i.vdst = {};
  i.vaddr = vgpr_operand(kAddress);
  i.offset = 8;
  for (unsigned lane = 0; lane < width(); ++lane) m.vgpr(kAddress)[lane] = (63 - lane) * 4;
  ASSERT_EQ(m.run(i), Stop::kEnd);
  for (unsigned lane = 0; lane < width(); ++lane) {
    EXPECT_EQ(m.lds_dwords()[18 + lane], m.active(lane) ? 1002 + 63 - lane : 0);
  }
  if (target().major != 9) return;
  Instruction store = mubuf(Op::buffer_store_lds_dword);
  store.vdata = {};
  store.offset = 8;
  store.offen = true;
  store.vaddr = vgpr_operand(kAddress);
  for (unsigned lane = 0; lane < width(); ++lane) m.vgpr(kAddress)[lane] = lane * 4;
  ASSERT_EQ(m.run(store), Stop::kEnd);
  for (unsigned lane = 0; lane < width(); ++lane) {
    EXPECT_EQ(a.at<uint32_t>(8)[lane], m.active(lane) ? 1002 + 63 - lane : 1002 + lane);
  }
}

TEST_P(BufferMemory, FaultsReportTheGpuAddress) {
  Machine m(GetParam(), target());
  const Buffer a = m.bus.allocate(kPage);
  set_resource(m, {a.va, 0xffffffff, 0, kIdentity | kRawGfx10});
  Instruction i = mubuf(Op::buffer_store_dword);
  i.offen = true;
  i.vaddr = vgpr_operand(kAddress);
  for (unsigned lane = 0; lane < width(); ++lane) m.vgpr(kAddress)[lane] = lane * 1024;
  ASSERT_EQ(m.run(i), Stop::kFault);
  EXPECT_EQ(m.wave.fault_va, a.va + 4096);
  EXPECT_EQ(m.wave.fault_access, static_cast<uint8_t>(Access::kWrite));
}

uint32_t f(float value) {
  return std::bit_cast<uint32_t>(value);
}

TEST_P(BufferMemory, LoadsUseFormatOfDescriptor) {
  Machine m(GetParam(), target());
  const Buffer a = m.bus.allocate(kPage);
  a.at<uint32_t>()[2] = 0xff804000;
  // 8_8_8_8 unorm, components in the order ZYX1
  const uint32_t format = width() == 64 ? 10u << 15 : 56u << 12 | kRawGfx10;
  set_resource(m, {a.va, 64, 0, format | 6 | 5 << 3 | 4 << 6 | 1 << 9});
  Instruction i = mubuf(Op::buffer_load_format_xyzw, 4);
  i.offset = 8;
  ASSERT_EQ(m.run(i), Stop::kEnd);
  EXPECT_EQ(m.vgpr(kResult)[5], f(128 / 255.0f));
  EXPECT_EQ(m.vgpr(kResult + 1)[5], f(64 / 255.0f));
  EXPECT_EQ(m.vgpr(kResult + 2)[5], f(0));
  EXPECT_EQ(m.vgpr(kResult + 3)[5], f(1));
  i.offset = 64;  // out of range: 0, except for the constant 1
  ASSERT_EQ(m.run(i), Stop::kEnd);
  EXPECT_EQ(m.vgpr(kResult)[5], 0u);
  EXPECT_EQ(m.vgpr(kResult + 3)[5], f(1));
}

TEST_P(BufferMemory, TypedStoresAndLoadsRoundTrip) {
  const struct {
    uint8_t data, number;
    std::vector<float> values;
  } kCases[] = {
      {1, 0, {0.2f}},
      {2, 7, {1.5f}},
      {3, 1, {-1.0f, 1.0f}},
      {4, 7, {3.25f}},
      {5, 2, {7.0f, 65535.0f}},
      {6, 7, {1.5f, 2.0f, 0.25f}},
      {9, 0, {0, 1.0f, 0, 1.0f}},
      {12, 7, {1, 2, 3, -4}},
      {14, 7, {1, 2, 3, -4}},
  };
  for (const auto& c : kCases) {
    Machine m(GetParam(), {9, 0, 0});
    if (width() == 32) continue;
    const Buffer a = m.bus.allocate(kPage);
    set_resource(m, {a.va, 4096});
    constexpr Op kStore[] = {Op::tbuffer_store_format_x, Op::tbuffer_store_format_xy,
                             Op::tbuffer_store_format_xyz, Op::tbuffer_store_format_xyzw};
    constexpr Op kLoad[] = {Op::tbuffer_load_format_x, Op::tbuffer_load_format_xy,
                            Op::tbuffer_load_format_xyz, Op::tbuffer_load_format_xyzw};
    Instruction i = mubuf(kStore[c.values.size() - 1], static_cast<unsigned>(c.values.size()));
    i.encoding = Encoding::kMtbuf;
    i.dfmt = c.data, i.nfmt = c.number;
    i.offen = true;
    i.vaddr = vgpr_operand(kAddress);
    for (unsigned lane = 0; lane < width(); ++lane) {
      m.vgpr(kAddress)[lane] = lane * 16;
      for (unsigned d = 0; d < c.values.size(); ++d) m.vgpr(kData + d)[lane] = f(c.values[d]);
    }
    ASSERT_EQ(m.run(i), Stop::kEnd);
    i.op = kLoad[c.values.size() - 1];
    i.vdata = {};
    i.vdst = vgpr_operand(kResult, static_cast<unsigned>(c.values.size()));
    ASSERT_EQ(m.run(i), Stop::kEnd);
    for (unsigned d = 0; d < c.values.size(); ++d) {
      EXPECT_EQ(std::bit_cast<float>(m.vgpr(kResult + d)[7]), c.values[d]) << int{c.data} << " " << d;
    }
  }
}

TEST_P(BufferMemory, D16FormatsArePackedExceptOnGfx80) {
  for (const isa::Target chip : {isa::Target{8, 0, 3}, isa::Target{9, 0, 0}}) {
    if (width() == 32) continue;
    Machine m(GetParam(), chip);
    const Buffer a = m.bus.allocate(kPage);
    a.at<float>()[0] = 1.0f, a.at<float>()[1] = 2.0f;
    set_resource(m, {a.va, 64, 0, kIdentity | 7u << 12 | 11u << 15});
    ASSERT_EQ(m.run(mubuf(Op::buffer_load_format_d16_xy, 2)), Stop::kEnd);
    EXPECT_EQ(m.vgpr(kResult)[1], chip.major == 8 ? 0x3c00u : 0x40003c00u);
    if (chip.major == 8) {
      EXPECT_EQ(m.vgpr(kResult + 1)[1], 0x4000u);
    }
  }
}

using isa::BufferRules;

uint64_t in_range(const BufferResource& r, BufferRules rules, uint64_t offset, uint64_t scalar = 0) {
  return r.in_range(0, offset, scalar, false, rules);
}
uint64_t in_range_of_record(const BufferResource& r, BufferRules rules, uint64_t index, uint64_t offset,
                            uint64_t scalar = 0) {
  return r.in_range(index, offset, scalar, true, rules);
}

TEST(BufferResource, ByteRangeEndsAtNumRecords) {
  for (const BufferRules rules : {BufferRules::kBySwizzle, BufferRules::kByIndex, BufferRules::kSelected}) {
    BufferResource r;
    r.out_of_bounds = 3;
    r.records = 30;
    EXPECT_EQ(in_range(r, rules, 0), 30u);
    EXPECT_EQ(in_range(r, rules, 26), 4u);
    EXPECT_EQ(in_range(r, rules, 28), 2u);  // A dword must end in range.
    EXPECT_EQ(in_range(r, rules, 30), 0u);
    EXPECT_EQ(in_range(r, rules, 10, 12), 8u);
    EXPECT_EQ(in_range(r, rules, 0, 30), 0u);
    EXPECT_EQ(in_range(r, rules, 0, 31), 0u);
    EXPECT_EQ(in_range(r, rules, 31, 0xffffffff), 0u);
    EXPECT_EQ(in_range(r, rules, 0xffffffff, 31), 0u);
    r.stride = 8;  // Ignored without index and swizzle.
    EXPECT_EQ(in_range(r, rules, 28), 2u);
    r.records = 0;
    EXPECT_EQ(in_range(r, rules, 0), 0u);
    r.records = 0xffffffff;
    EXPECT_EQ(in_range(r, rules, 0xfffffffb), 4u);
  }
}

TEST(BufferResource, RecordRangesOnGfx8) {
  constexpr BufferRules kRules = BufferRules::kBySwizzle;
  BufferResource r;
  r.stride = 12;
  r.records = 40;
  // Linear: bytes.
  EXPECT_EQ(in_range_of_record(r, kRules, 3, 0), 4u);
  EXPECT_EQ(in_range_of_record(r, kRules, 2, 14), 2u);
  EXPECT_EQ(in_range_of_record(r, kRules, 3, 0, 4), 0u);
  // Swizzled: records. SOFFSET does not count.
  r.swizzled = true;
  EXPECT_EQ(in_range_of_record(r, kRules, 39, 8, 1000), 4u);
  EXPECT_EQ(in_range_of_record(r, kRules, 39, 12), 0u);
  EXPECT_EQ(in_range_of_record(r, kRules, 40, 0), 0u);
  EXPECT_EQ(in_range(r, kRules, 10), 2u);
  // Scratch: bytes.
  r.add_tid = true;
  EXPECT_EQ(r.in_range(63, 36, 0, false, kRules), 4u);
  EXPECT_EQ(r.in_range(63, 36, 4, false, kRules), 0u);
}

TEST(BufferResource, RecordRangesOnGfx9) {
  constexpr BufferRules kRules = BufferRules::kByIndex;
  for (const bool swizzled : {false, true}) {
    BufferResource r;
    r.stride = 12;
    r.records = 40;
    r.swizzled = swizzled;
    EXPECT_GE(in_range_of_record(r, kRules, 39, 1000, 1000), 16u);
    EXPECT_EQ(in_range_of_record(r, kRules, 40, 0), 0u);
    EXPECT_EQ(in_range(r, kRules, 36), 4u);
    r.stride = 0;
    EXPECT_EQ(in_range_of_record(r, kRules, 100, 36), 4u);
    r.add_tid = true;
    EXPECT_EQ(in_range_of_record(r, kRules, 100, 40), 0u);
    EXPECT_GE(in_range(r, kRules, 1000, 1000), 16u);
  }
}

TEST(BufferResource, RangesByOobSelectOnGfx10) {
  constexpr BufferRules kRules = BufferRules::kSelected;
  for (const bool swizzled : {false, true}) {
    BufferResource r;
    r.stride = 12;
    r.records = 40;
    r.swizzled = swizzled;
    r.out_of_bounds = 0;
    EXPECT_EQ(in_range_of_record(r, kRules, 39, 8, 1000), 4u);
    EXPECT_EQ(in_range_of_record(r, kRules, 39, 10), 2u);
    EXPECT_EQ(in_range_of_record(r, kRules, 40, 0), 0u);
    EXPECT_EQ(in_range(r, kRules, 12), 0u);
    r.out_of_bounds = 1;
    EXPECT_GE(in_range_of_record(r, kRules, 39, 1000, 1000), 16u);
    EXPECT_EQ(in_range_of_record(r, kRules, 40, 0), 0u);
    r.out_of_bounds = 2;
    EXPECT_GE(in_range_of_record(r, kRules, 1000, 1000, 1000), 16u);
    r.records = 0;
    EXPECT_EQ(in_range_of_record(r, kRules, 0, 0), 0u);
    r.records = 40;
    r.out_of_bounds = 3;
    EXPECT_EQ(in_range_of_record(r, kRules, 30, 8, 9), swizzled ? 4u : 23u);
    EXPECT_EQ(in_range_of_record(r, kRules, 30, 8, 10), swizzled ? 0u : 22u);
    EXPECT_EQ(in_range_of_record(r, kRules, 100, 8), swizzled ? 0u : 32u);
    EXPECT_EQ(in_range_of_record(r, kRules, 0, 8, 41), 0u);
    r.stride = 0;
    EXPECT_EQ(in_range_of_record(r, kRules, 100, 36), 4u);
    r.add_tid = true;
    EXPECT_EQ(in_range(r, kRules, 20, 16), 4u);
    EXPECT_EQ(in_range(r, kRules, 24, 16), 0u);
  }
}

// byte_range() returns a result if offsets alone decide. The general check must agree.
TEST(BufferResource, ByteRangeMatchesGeneralCheck) {
  for (const BufferRules rules : {BufferRules::kBySwizzle, BufferRules::kByIndex, BufferRules::kSelected}) {
    for (uint32_t bits = 0; bits < 64; ++bits) {
      BufferResource r;
      r.records = 30;
      r.stride = bits & 1 ? 12 : 0;
      r.swizzled = bits & 2;
      r.add_tid = bits & 4;
      r.out_of_bounds = static_cast<uint8_t>(bits >> 3 & 3);
      const bool has_index = bits & 32;
      const auto bytes = r.byte_range(8, has_index, rules);
      if (!bytes) continue;
      for (const uint64_t index : {0, 1, 29, 30, 31, 1000}) {
        for (const uint64_t offset : {0, 11, 12, 21, 22, 30, 4000})
          EXPECT_EQ(r.in_range(index, offset, 8, has_index, rules), *bytes < offset ? 0 : *bytes - offset);
      }
    }
  }
}

TEST(BufferFormat, DecodesUnifiedFormatsOfGfx10) {
  EXPECT_EQ(bytes_of(images::unified_format(0)), 0u);
  EXPECT_EQ(bytes_of(images::unified_format(1)), 1u);
  EXPECT_EQ(images::unified_format(22).data, 4);  // 32_FLOAT
  EXPECT_EQ(images::unified_format(22).number, images::Number::kFloat);
  EXPECT_EQ(images::unified_format(56).data, 10);  // 8_8_8_8_UNORM
  EXPECT_EQ(images::unified_format(71).data, 12);  // 16_16_16_16_FLOAT
  EXPECT_EQ(images::unified_format(71).number, images::Number::kFloat);
  EXPECT_EQ(images::unified_format(77).data, 14);  // 32_32_32_32_FLOAT
  EXPECT_EQ(images::unified_format(77).number, images::Number::kFloat);
  EXPECT_EQ(bytes_of(images::unified_format(78)), 0u);
}

TEST_P(BufferMemory, CacheOperationsExecute) {
  Machine m(GetParam(), target());
  for (const Op op : {Op::buffer_wbinvl1, Op::buffer_wbinvl1_vol, Op::buffer_gl0_inv, Op::buffer_gl1_inv,
                      Op::buffer_wbl2, Op::buffer_invl2, Op::buffer_inv}) {
    Instruction i;
    i.op = op;
    i.encoding = Encoding::kMubuf;
    EXPECT_EQ(m.run(i), Stop::kEnd);
  }
}

// Every memory operation of the instruction tables must have a lowering.
TEST(MemoryInstructions, AllTableEntriesAreLowered) {
  const Level level{SimdLevel::kBaseline, 64};
  for (size_t index = 1; index < isa::kOpCount; ++index) {
    const auto op = static_cast<Op>(index);
    const std::string_view name = isa::name(op);
    const auto starts_with = [&](std::string_view prefix) { return name.starts_with(prefix); };
    Instruction i;
    i.op = op;
    i.vaddr = vgpr_operand(0, 2);
    i.saddr = sgpr_operand(8, 4);
    i.vdata = i.vdata2 = i.vdst = vgpr_operand(4, 4);
    if (starts_with("ds_")) {
      i.encoding = Encoding::kDs;
    } else if (starts_with("flat_") && !starts_with("flat_scratch")) {
      i.encoding = Encoding::kFlat;
    } else if (starts_with("global_")) {
      i.encoding = Encoding::kGlobal;
    } else if (starts_with("scratch_")) {
      i.encoding = Encoding::kScratch;
    } else if (starts_with("buffer_") || starts_with("tbuffer_")) {
      i.encoding = starts_with("t") ? Encoding::kMtbuf : Encoding::kMubuf;
    } else if (starts_with("s_load") || starts_with("s_store") || starts_with("s_buffer") ||
               starts_with("s_atomic") || starts_with("s_scratch") || starts_with("s_dcache") ||
               starts_with("s_mem") || starts_with("s_gl1") || starts_with("s_atc")) {
      i.encoding = Encoding::kSmem;
      i.vdata = {};
      i.vdst = sgpr_operand(16);
    } else {
      continue;
    }
    Machine m(level);
    const bool is_graphics =
        op == Op::ds_bvh_stack_rtn_b32 || starts_with("ds_add_gs") || starts_with("ds_sub_gs");
    if (starts_with("global_load_tr")) {
      EXPECT_EQ(m.refusal(i), "loads that transpose are not supported in waves of 64");
    } else if (name.find("_ordered_add") != name.npos) {
      EXPECT_EQ(m.refusal(i), "ordered atomics are not supported");
    } else if (is_graphics) {
      EXPECT_NE(m.refusal(i), "DS instruction is not supported") << name;
    } else {
      EXPECT_EQ(m.refusal(i), "") << name;
    }
  }
}

}  // namespace
}  // namespace rigel::vgpu::exec::testing
