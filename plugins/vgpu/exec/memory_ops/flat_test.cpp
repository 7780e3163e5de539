// Tests of FLAT, GLOBAL and SCRATCH instructions against a simple model.
#include <atomic>
#include <bit>
#include <thread>
#include <utility>

#include "plugins/vgpu/exec/memory_ops/memory_test_support.hpp"
#include "plugins/vgpu/exec/memory_ops/shape.hpp"

namespace rigel::vgpu::exec::testing {
namespace {

using isa::Encoding;
using isa::Instruction;
using isa::Op;

constexpr unsigned kAddress = 2, kData = 8, kResult = 16;

Instruction global(Op op) {
  Instruction i;
  i.op = op;
  i.encoding = Encoding::kGlobal;
  i.vaddr = vgpr_operand(kAddress, 2);
  const Shape shape = *memory_shape(op);
  if (shape.verb == Verb::kLoad) {
    i.vdst = vgpr_operand(kResult, shape.dwords());
  } else {
    i.vdata = vgpr_operand(kData, shape.dwords());
  }
  return i;
}

class Flat : public ::testing::TestWithParam<Level> {};
INSTANTIATE_TEST_SUITE_P(Levels, Flat, ::testing::ValuesIn(all_levels()), level_name);

constexpr Op kLoads[] = {
    Op::global_load_ubyte,        Op::global_load_sbyte,        Op::global_load_ushort,
    Op::global_load_sshort,       Op::global_load_dword,        Op::global_load_dwordx2,
    Op::global_load_dwordx3,      Op::global_load_dwordx4,      Op::global_load_ubyte_d16,
    Op::global_load_sbyte_d16,    Op::global_load_ubyte_d16_hi, Op::global_load_short_d16,
    Op::global_load_sbyte_d16_hi, Op::global_load_short_d16_hi};
constexpr Op kStores[] = {Op::global_store_byte,        Op::global_store_short,
                          Op::global_store_dword,       Op::global_store_dwordx2,
                          Op::global_store_dwordx3,     Op::global_store_dwordx4,
                          Op::global_store_byte_d16_hi, Op::global_store_short_d16_hi};

// Returns the registers of a lane after a load from `source`; `previous` is the previous value.
std::vector<uint32_t> loaded(Op op, const std::byte* source, uint32_t previous) {
  const Shape shape = *memory_shape(op);
  std::vector<uint32_t> values(shape.dwords());
  std::memcpy(values.data(), source, shape.bytes);
  const std::string_view name = isa::name(op);
  if (name.find("sbyte") != name.npos) values[0] = ((values[0] & 0xff) ^ 0x80) - 0x80;
  if (name.find("sshort") != name.npos) values[0] = static_cast<uint32_t>(static_cast<int16_t>(values[0]));
  if (name.ends_with("_d16")) values[0] = (previous & 0xffff0000) | (values[0] & 0xffff);
  if (name.ends_with("_d16_hi")) values[0] = (previous & 0xffff) | values[0] << 16;
  return values;
}

enum class Base { kVector, kScalar };

void check_loads(Level level, Base base, uint32_t unit, uint32_t skew) {
  for (const Op op : kLoads) {
    for (const auto& pattern : patterns(200)) {
      for (const uint64_t exec : execs()) {
        Machine m(level);
        const Buffer buffer = m.bus.allocate(2 * kPage);
        for (uint64_t i = 0; i < buffer.bytes; ++i) buffer.host[i] = static_cast<std::byte>(i * 7 + i / 256);
        m.set_exec(exec);
        const uint32_t element_step = unit == 0 ? std::max<uint32_t>(memory_shape(op)->bytes, 1) : unit;
        Instruction i = global(op);
        i.offset = -16;
        for (unsigned lane = 0; lane < level.wave_size; ++lane) {
          const uint64_t offset = 16 + skew + pattern[lane] * element_step;
          base == Base::kVector ? m.set_address(kAddress, lane, buffer.va + offset)
                                : m.set_address(kAddress, lane, 0xdead00000000 | offset);
          for (unsigned d = 0; d < 4; ++d) m.vgpr(kResult + d)[lane] = 0x11111111 * (d + 1);
        }
        if (base == Base::kScalar) {
          i.saddr = sgpr_operand(4, 2);
          i.vaddr.dwords = 1;
          m.set_scalar64(4, buffer.va);
        }
        ASSERT_EQ(m.run(i), Stop::kEnd);
        for (unsigned lane = 0; lane < level.wave_size; ++lane) {
          const auto expected = loaded(op, buffer.host + skew + pattern[lane] * element_step, 0x11111111);
          for (unsigned d = 0; d < expected.size(); ++d) {
            ASSERT_EQ(m.vgpr(kResult + d)[lane], m.active(lane) ? expected[d] : 0x11111111 * (d + 1))
                << isa::name(op) << " lane " << lane << " dword " << d << " exec " << std::hex << exec;
          }
        }
      }
    }
  }
}

TEST_P(Flat, LoadsOfEveryWidthAndPattern) {
  check_loads(GetParam(), Base::kVector, 0, 0);
}
TEST_P(Flat, UnalignedLoadsAcrossPages) {
  check_loads(GetParam(), Base::kVector, 17, 1);
}
TEST_P(Flat, D16LoadClearsOtherHalfIfRegistersHaveEcc) {
  constexpr struct {
    isa::Target chip;
    bool clears;
  } kChips[] = {{{9, 0, 0}, false},  {{9, 0, 6}, true},   {{9, 0, 8}, true}, {{9, 0, 10}, true},
                {{9, 0, 12}, false}, {{10, 3, 0}, false}, {{9, 4, 2}, true}};
  const unsigned lanes = GetParam().wave_size;
  for (const auto& [chip, clears] : kChips) {
    if (lanes == 32 && chip.major == 9) continue;
    Machine m(GetParam(), chip);
    const Buffer buffer = m.bus.allocate(kPage);
    buffer.at<uint16_t>()[0] = 0x3c00;
    for (unsigned lane = 0; lane < lanes; ++lane) {
      m.set_address(kAddress, lane, buffer.va);
      m.vgpr(kResult)[lane] = m.vgpr(kResult + 1)[lane] = 0x12345678;
    }
    Instruction high = global(Op::global_load_short_d16_hi);
    high.vdst.code = static_cast<uint16_t>(high.vdst.code + 1);
    ASSERT_EQ(m.run(global(Op::global_load_short_d16)), Stop::kEnd);
    ASSERT_EQ(m.run(high), Stop::kEnd);
    EXPECT_EQ(m.vgpr(kResult)[1], clears ? 0x3c00u : 0x12343c00u) << isa::name(chip);
    EXPECT_EQ(m.vgpr(kResult + 1)[1], clears ? 0x3c000000u : 0x3c005678u) << isa::name(chip);
  }
}

// Elements of equal dwords, which this thread accesses with wave instructions and another thread with the
// host's vectors. A torn element has different dwords.
struct RacedElements {
  using Quad [[gnu::vector_size(16)]] = uint32_t;

  RacedElements(Level level, uint32_t element_dwords, uint32_t element_stride, uint64_t exec)
      : m(level), lanes(level.wave_size), dwords(element_dwords), stride(element_stride) {
    m.set_exec(exec);
    for (unsigned lane = 0; lane < lanes; ++lane) m.set_address(kAddress, lane, buffer.va + lane * stride);
  }
  // Repeats `ours` and `theirs` concurrently until both have run often enough.
  template <class Ours, class Theirs>
  void race(Ours ours, Theirs theirs) {
    std::atomic<bool> stop = false;
    std::atomic<uint32_t> rounds = 0;
    std::thread other([&] {
      for (; !stop; ++rounds) {
        for (unsigned lane = 0; lane < lanes; ++lane) theirs(buffer.host + lane * stride, rounds);
      }
    });
    for (uint32_t time = 0; time < 2000 || rounds < 5000; ++time) ours(time);
    stop = true;
    other.join();
  }
  void store(std::byte* to, uint32_t value) const {
    if (dwords == 2) {
      *reinterpret_cast<volatile uint64_t*>(to) = value | uint64_t{value} << 32;
    } else {
      *reinterpret_cast<volatile Quad*>(to) = Quad{value, value, value, value};
    }
  }
  bool is_torn(const std::byte* from) const {
    uint32_t parts[4];
    if (dwords == 2) {
      const uint64_t pair = *reinterpret_cast<const volatile uint64_t*>(from);
      std::memcpy(parts, &pair, sizeof pair);
    } else {
      const Quad quad = *reinterpret_cast<const volatile Quad*>(from);
      std::memcpy(parts, &quad, sizeof quad);
    }
    return std::any_of(parts, parts + dwords, [&](uint32_t part) { return part != parts[0]; });
  }

  Machine m;
  const unsigned lanes;
  const uint32_t dwords, stride;
  const Buffer buffer = m.bus.allocate(kPage);
};

template <class Check>
void with_shared_elements(Level level, Check check) {
  for (const uint32_t dwords : {2u, 4u}) {
    for (const uint32_t stride : {0u, dwords * 4, dwords * 12}) {
      for (const uint64_t exec : {~uint64_t{0}, uint64_t{0x5555'5555'aaaa'aaaa}}) {
        SCOPED_TRACE(::testing::Message() << dwords << " dwords, " << stride << " bytes apart, " << exec);
        RacedElements shared(level, dwords, stride, exec);
        check(shared);
      }
    }
  }
}

TEST_P(Flat, ElementLoadsAreOneAccess) {
  with_shared_elements(GetParam(), [](RacedElements& shared) {
    Machine& m = shared.m;
    const Instruction load = global(shared.dwords == 2 ? Op::global_load_dwordx2 : Op::global_load_dwordx4);
    unsigned torn = 0;
    shared.race(
        [&](uint32_t) {
          ASSERT_EQ(m.run(load), Stop::kEnd);
          for (unsigned lane = 0; lane < shared.lanes; ++lane) {
            for (unsigned d = 1; d < shared.dwords && m.active(lane); ++d)
              torn += m.vgpr(kResult + d)[lane] != m.vgpr(kResult)[lane] ? 1 : 0;
          }
        },
        [&](std::byte* element, uint32_t round) { shared.store(element, round); });
    EXPECT_EQ(torn, 0u);
  });
}
TEST_P(Flat, ElementStoresAreOneAccess) {
  with_shared_elements(GetParam(), [](RacedElements& shared) {
    Machine& m = shared.m;
    const Instruction store =
        global(shared.dwords == 2 ? Op::global_store_dwordx2 : Op::global_store_dwordx4);
    unsigned torn = 0;
    shared.race(
        [&](uint32_t time) {
          for (unsigned d = 0; d < shared.dwords; ++d) std::fill_n(m.vgpr(kData + d), shared.lanes, time);
          ASSERT_EQ(m.run(store), Stop::kEnd);
        },
        [&](const std::byte* element, uint32_t) { torn += shared.is_torn(element) ? 1 : 0; });
    EXPECT_EQ(torn, 0u);
  });
}
TEST_P(Flat, LoadsWithScalarBase) {
  check_loads(GetParam(), Base::kScalar, 0, 0);
}

void check_stores(Level level, Base base, uint32_t unit, uint32_t skew) {
  for (const Op op : kStores) {
    for (const auto& pattern : patterns(200)) {
      for (const uint64_t exec : execs()) {
        Machine m(level);
        const Shape shape = *memory_shape(op);
        const Buffer buffer = m.bus.allocate(2 * kPage);
        std::vector<std::byte> expected(buffer.bytes);
        for (uint64_t i = 0; i < buffer.bytes; ++i) buffer.host[i] = expected[i] = static_cast<std::byte>(i);
        m.set_exec(exec);
        const uint32_t element_step = unit == 0 ? shape.bytes : unit;
        Instruction i = global(op);
        i.offset = 16;
        for (unsigned lane = 0; lane < level.wave_size; ++lane) {
          const uint64_t offset = skew + pattern[lane] * element_step;
          base == Base::kVector ? m.set_address(kAddress, lane, buffer.va + offset - 16)
                                : m.set_address(kAddress, lane, offset);
          std::vector<uint32_t> values;
          for (unsigned d = 0; d < 4; ++d) {
            m.vgpr(kData + d)[lane] = 0x01020304 * (lane + 1) + d;
            values.push_back(m.vgpr(kData + d)[lane]);
          }
          if (!m.active(lane)) continue;
          if (shape.high) values[0] >>= 16;
          std::memcpy(expected.data() + offset, values.data(), shape.bytes);
        }
        if (base == Base::kScalar) {
          i.saddr = sgpr_operand(4, 2);
          i.vaddr.dwords = 1;
          m.set_scalar64(4, buffer.va - 16);
        }
        ASSERT_EQ(m.run(i), Stop::kEnd);
        const bool overlaps = unit != 0 && unit < shape.bytes;
        if (overlaps) continue;
        ASSERT_EQ(std::memcmp(buffer.host, expected.data(), buffer.bytes), 0)
            << isa::name(op) << " exec " << std::hex << exec;
      }
    }
  }
}

TEST_P(Flat, StoresOfEveryWidthAndPattern) {
  check_stores(GetParam(), Base::kVector, 0, 0);
}
TEST_P(Flat, UnalignedStoresAcrossPages) {
  check_stores(GetParam(), Base::kVector, 17, 3);
}
TEST_P(Flat, StoresWithScalarBase) {
  check_stores(GetParam(), Base::kScalar, 0, 0);
}

TEST_P(Flat, LanesMayAccessSeveralBuffers) {
  Machine m(GetParam());
  const Buffer a = m.bus.allocate(kPage), b = m.bus.allocate(kPage);
  for (uint32_t i = 0; i < 1024; ++i) a.at<uint32_t>()[i] = i, b.at<uint32_t>()[i] = 10000 + i;
  for (unsigned lane = 0; lane < GetParam().wave_size; ++lane) {
    m.set_address(kAddress, lane, (lane % 2 == 0 ? a.va : b.va) + lane * 8);
  }
  ASSERT_EQ(m.run(global(Op::global_load_dwordx2)), Stop::kEnd);
  for (unsigned lane = 0; lane < GetParam().wave_size; ++lane) {
    EXPECT_EQ(m.vgpr(kResult + 1)[lane], (lane % 2 == 0 ? 0 : 10000) + lane * 2 + 1);
  }
}

TEST_P(Flat, LoadMayOverwriteItsAddress) {
  Machine m(GetParam());
  const Buffer a = m.bus.allocate(kPage);
  for (uint32_t i = 0; i < 1024; ++i) a.at<uint32_t>()[i] = i;
  for (unsigned lane = 0; lane < GetParam().wave_size; ++lane) {
    m.set_address(kAddress, lane, a.va + lane * 24);
  }
  Instruction i = global(Op::global_load_dwordx2);
  i.vdst = i.vaddr;
  ASSERT_EQ(m.run(i), Stop::kEnd);
  for (unsigned lane = 0; lane < GetParam().wave_size; ++lane) {
    EXPECT_EQ(m.vgpr(kAddress)[lane], lane * 6);
    EXPECT_EQ(m.vgpr(kAddress + 1)[lane], lane * 6 + 1);
  }
}

TEST_P(Flat, LowestFaultingLaneStopsTheWave) {
  Machine m(GetParam());
  const Buffer a = m.bus.allocate(kPage);
  for (unsigned lane = 0; lane < GetParam().wave_size; ++lane) {
    m.set_address(kAddress, lane, a.va + kPage - 80 + lane * 4);
  }
  ASSERT_EQ(m.run(global(Op::global_load_dword)), Stop::kFault);
  EXPECT_EQ(m.wave.fault_va, a.va + kPage);
  EXPECT_EQ(m.wave.fault_access, static_cast<uint8_t>(Access::kRead));
  EXPECT_EQ(m.wave.fault_reason, static_cast<uint8_t>(FaultReason::kNotPresent));
  m.set_exec(0xfffff);  // the lanes in the mapped page
  EXPECT_EQ(m.run(global(Op::global_load_dword)), Stop::kEnd);
}

// All faulting lanes are reported with their first inaccessible byte, for each kind of access.
TEST_P(Flat, ReportsAllFaultingLanes) {
  for (const Op op :
       {Op::global_load_ubyte, Op::global_load_dword, Op::global_load_dwordx4, Op::global_store_short,
        Op::global_store_dwordx3, Op::global_atomic_add, Op::global_atomic_swap_x2}) {
    Machine m(GetParam());
    const Buffer a = m.bus.allocate(kPage);
    const uint32_t bytes = memory_shape(op)->bytes;
    for (unsigned lane = 0; lane < GetParam().wave_size; ++lane)
      m.set_address(kAddress, lane, a.va + lane * 16);
    m.set_address(kAddress, 5, a.va + kPage);          // first element past the page
    m.set_address(kAddress, 9, a.va + kPage - bytes);  // last element in the page
    const bool splits = bytes > 4 && memory_shape(op)->verb != Verb::kAtomic;
    m.set_address(kAddress, 17, a.va + kPage - (splits ? 4 : 0));
    m.set_address(kAddress, 20, 8);  // unmapped, but inactive
    m.set_exec(~(uint64_t{1} << 20));
    ASSERT_EQ(m.run(global(op)), Stop::kFault);
    const LaneFaults& faults = m.memory.lane_faults();
    EXPECT_EQ(faults.lanes, uint64_t{1} << 5 | uint64_t{1} << 17) << isa::name(op);
    EXPECT_EQ(faults.va[5], a.va + kPage) << isa::name(op);
    EXPECT_EQ(faults.va[17], a.va + kPage) << isa::name(op);
    EXPECT_EQ(faults.bytes, bytes) << isa::name(op);
  }
}

TEST_P(Flat, StoresToReadOnlyMemoryFault) {
  Machine m(GetParam());
  const Buffer a = m.bus.allocate(kPage, false);
  for (unsigned lane = 0; lane < GetParam().wave_size; ++lane) m.set_address(kAddress, lane, a.va + lane * 4);
  ASSERT_EQ(m.run(global(Op::global_store_dword)), Stop::kFault);
  EXPECT_EQ(m.wave.fault_va, a.va);
  EXPECT_EQ(m.wave.fault_access, static_cast<uint8_t>(Access::kWrite));
  EXPECT_EQ(m.wave.fault_reason, static_cast<uint8_t>(FaultReason::kReadOnly));
  EXPECT_EQ(m.run(global(Op::global_load_dword)), Stop::kEnd);
}

TEST_P(Flat, UnmappingInvalidatesTranslations) {
  Machine m(GetParam());
  const Buffer a = m.bus.allocate(kPage);
  for (unsigned lane = 0; lane < GetParam().wave_size; ++lane) m.set_address(kAddress, lane, a.va + lane * 4);
  ASSERT_EQ(m.run(global(Op::global_load_dword)), Stop::kEnd);
  m.bus.unmap(a);
  EXPECT_EQ(m.run(global(Op::global_load_dword)), Stop::kFault);
}

TEST_P(Flat, UnmappedAddressesFault) {
  Machine m(GetParam());
  for (const uint64_t va : {uint64_t{0}, ~uint64_t{0}, ~uint64_t{0} - 100, uint64_t{1} << 63}) {
    for (unsigned lane = 0; lane < GetParam().wave_size; ++lane) m.set_address(kAddress, lane, va + lane * 4);
    EXPECT_EQ(m.run(global(Op::global_load_dwordx4)), Stop::kFault);
    EXPECT_EQ(m.run(global(Op::global_store_byte)), Stop::kFault);
    EXPECT_EQ(m.wave.fault_va, va);
  }
}

TEST_P(Flat, AperturesMapToLdsAndScratch) {
  for (const Op op : {Op::flat_load_dword, Op::flat_load_dwordx2, Op::flat_load_ushort}) {
    Machine m(GetParam());
    const uint32_t width = GetParam().wave_size;
    const Buffer a = m.bus.allocate(kPage), scratch = m.bus.allocate(8 * kPage);
    m.set_scalar64(kFlatScratchSgpr, scratch.va);
    m.wave.scratch_lane_bytes = 128;
    for (uint32_t i = 0; i < 1024; ++i) a.at<uint32_t>()[i] = i, m.lds_dwords()[i] = 20000 + i;
    for (uint32_t i = 0; i < 8192; ++i) scratch.at<uint32_t>()[i] = 40000 + i;
    for (uint32_t lane = 0; lane < width; ++lane) {
      constexpr uint64_t kShared = uint64_t{0x10000} << 32, kPrivate = uint64_t{0x20000} << 32;
      const uint64_t base = lane % 3 == 0 ? a.va : lane % 3 == 1 ? kShared : kPrivate;
      m.set_address(kAddress, lane, base + (lane % 3 == 2 ? 16 : lane * 8));
    }
    Instruction i = global(op);
    i.encoding = Encoding::kFlat;
    ASSERT_EQ(m.run(i), Stop::kEnd);
    for (uint32_t lane = 0; lane < width; ++lane) {
      const uint32_t first = lane % 3 == 0   ? lane * 2
                             : lane % 3 == 1 ? 20000 + lane * 2
                                             : 40000 + 4 * width + lane;
      EXPECT_EQ(m.vgpr(kResult)[lane], first) << lane;
      if (op == Op::flat_load_dwordx2) {
        EXPECT_EQ(m.vgpr(kResult + 1)[lane], lane % 3 == 2 ? first + width : first + 1) << lane;
      }
    }
  }
}

TEST_P(Flat, ScratchIsSwizzled) {
  Machine m(GetParam());
  const uint32_t width = GetParam().wave_size;
  const Buffer scratch = m.bus.allocate(8 * kPage);
  m.set_scalar64(kFlatScratchSgpr, scratch.va);
  m.wave.scratch_lane_bytes = 64;
  for (unsigned lane = 0; lane < width; ++lane) {
    m.vgpr(kAddress)[lane] = lane % 2 == 0 ? 8 : 9;  // dwords of odd lanes are in two elements
    for (unsigned d = 0; d < 2; ++d) m.vgpr(kData + d)[lane] = 0x01020304 * (lane + 1) + d;
  }
  Instruction store = global(Op::scratch_store_dwordx2);
  store.encoding = Encoding::kScratch;
  store.vaddr = vgpr_operand(kAddress);
  store.offset = 4;
  ASSERT_EQ(m.run(store), Stop::kEnd);
  for (uint32_t lane = 0; lane < width; ++lane) {
    uint8_t bytes[64];
    for (uint32_t i = 0; i < 64; ++i) {
      bytes[i] = static_cast<uint8_t>(scratch.host[i / 4 * width * 4 + lane * 4 + i % 4]);
    }
    uint32_t values[2];
    std::memcpy(values, bytes + (lane % 2 == 0 ? 12 : 13), 8);
    EXPECT_EQ(values[0], 0x01020304 * (lane + 1));
    EXPECT_EQ(values[1], 0x01020304 * (lane + 1) + 1);
  }
  Instruction load = global(Op::scratch_load_dwordx2);
  load.encoding = Encoding::kScratch;
  load.vaddr = vgpr_operand(kAddress);
  load.offset = 4;
  ASSERT_EQ(m.run(load), Stop::kEnd);
  for (uint32_t lane = 0; lane < width; ++lane) {
    EXPECT_EQ(m.vgpr(kResult + 1)[lane], 0x01020304 * (lane + 1) + 1);
  }
}

// FLAT_SCRATCH is an address in SGPRs on gfx9, an address in hardware registers on gfx10, and relative to a
// base on gfx8.
TEST_P(Flat, FlatScratchIsTheScratchBase) {
  for (const isa::Target target : {isa::Target{8, 0, 3}, isa::Target{9, 0, 0}, isa::Target{10, 3, 0}}) {
    if (target.major < 10 && GetParam().wave_size == 32) continue;
    Machine m(GetParam(), target);
    const uint32_t width = GetParam().wave_size;
    const Buffer scratch = m.bus.allocate(8 * kPage);
    m.wave.scratch_base = scratch.va - 0x1000;
    m.wave.scratch_lane_bytes = 64;
    for (uint32_t i = 0; i < 4096; ++i) scratch.at<uint32_t>()[i] = i;
    for (unsigned lane = 0; lane < width; ++lane)
      m.set_address(kAddress, lane, (uint64_t{0x20000} << 32) + 8);
    Instruction load = global(Op::flat_load_dword);
    load.encoding = Encoding::kFlat;
    for (const uint32_t offset : {0u, 0x700u}) {
      m.set_scalar64(kFlatScratchSgpr, target.major == 9 ? scratch.va + offset : ~uint64_t{0});
      m.set_scalar64(kFlatScratchSlot, target.major == 10 ? scratch.va + offset : ~uint64_t{0});
      if (target.major == 8) m.set_scalar(kFlatScratchSgpr + 1, (0x1000 + offset) / 256);
      ASSERT_EQ(m.run(load), Stop::kEnd) << target.major;
      for (unsigned lane = 0; lane < width; ++lane) {
        EXPECT_EQ(m.vgpr(kResult)[lane], offset / 4 + 2 * width + lane) << target.major;
      }
    }
  }
}

TEST_P(Flat, ScratchWithScalarOffset) {
  Machine m(GetParam());
  const uint32_t width = GetParam().wave_size;
  const Buffer scratch = m.bus.allocate(8 * kPage);
  m.set_scalar64(kFlatScratchSgpr, scratch.va);
  m.wave.scratch_lane_bytes = 64;
  m.set_scalar(7, 20);
  for (unsigned lane = 0; lane < width; ++lane) m.vgpr(kData)[lane] = lane + 5;
  Instruction store = global(Op::scratch_store_dword);
  store.encoding = Encoding::kScratch;
  store.vaddr = {};
  store.saddr = sgpr_operand(7);
  store.offset = -4;
  ASSERT_EQ(m.run(store), Stop::kEnd);
  for (unsigned lane = 0; lane < width; ++lane) EXPECT_EQ(scratch.at<uint32_t>()[4 * width + lane], lane + 5);
  m.set_scalar(7, 65);
  EXPECT_EQ(m.run(store), Stop::kFault);
  EXPECT_EQ(m.wave.fault_va, (uint64_t{0x20000} << 32) + 61);
  const LaneFaults& faults = m.memory.lane_faults();
  EXPECT_NE(faults.lanes, 0u);
  EXPECT_EQ(faults.va[std::countr_zero(faults.lanes)], m.wave.fault_va);
}

TEST_P(Flat, FlatOffsetsAreIgnoredOnGfx101) {
  for (const uint8_t minor : {1, 3}) {
    Machine m(GetParam(), {10, minor, 0});
    const Buffer a = m.bus.allocate(kPage);
    for (uint32_t i = 0; i < 1024; ++i) a.at<uint32_t>()[i] = i;
    for (unsigned lane = 0; lane < GetParam().wave_size; ++lane)
      m.set_address(kAddress, lane, a.va + lane * 8);
    Instruction i = global(Op::flat_load_dword);
    i.encoding = Encoding::kFlat;
    i.offset = 40;
    ASSERT_EQ(m.run(i), Stop::kEnd);
    EXPECT_EQ(m.vgpr(kResult)[3], minor == 1 ? 6u : 16u);
  }
}

TEST_P(Flat, AddTidLoadsAreConsecutive) {
  Machine m(GetParam(), {10, 3, 0});
  const Buffer a = m.bus.allocate(kPage);
  for (uint32_t i = 0; i < 1024; ++i) a.at<uint32_t>()[i] = i;
  m.set_scalar64(4, a.va);
  Instruction i = global(Op::global_load_dword_addtid);
  i.vaddr = {};
  i.saddr = sgpr_operand(4, 2);
  i.offset = 8;
  ASSERT_EQ(m.run(i), Stop::kEnd);
  for (unsigned lane = 0; lane < GetParam().wave_size; ++lane) EXPECT_EQ(m.vgpr(kResult)[lane], lane + 2);
}

TEST_P(Flat, BlocksHaveTheRegistersThatM0Selects) {
  constexpr uint32_t kSelected = 0x80000105;
  const unsigned lanes = GetParam().wave_size;
  constexpr unsigned kBlock = 4, kFirstAddress = 36, kBytesPerLane = 256;
  Machine m(GetParam(), {12, 0, 1});
  const Buffer memory = m.bus.allocate(8 * kPage), scratch = m.bus.allocate(8 * kPage);
  m.wave.scratch_lane_bytes = 256;
  m.set_scalar64(kFlatScratchSlot, scratch.va);
  m.set_scalar(isa::code::kM0, kSelected);
  m.set_exec(~uint64_t{2});
  const auto dword = [&](unsigned lane, unsigned n) -> uint32_t& {
    return memory.at<uint32_t>()[(lane * kBytesPerLane + 8) / 4 + n];
  };
  const auto run = [&](Op op, Encoding encoding) {
    Instruction i;
    i.op = op;
    i.encoding = encoding;
    i.offset = 8;
    i.vaddr = vgpr_operand(kFirstAddress, encoding == Encoding::kGlobal ? 2 : 1);
    const bool stores = isa::name(op).find("store") != std::string_view::npos;
    (stores ? i.vdata : i.vdst) = vgpr_operand(kBlock, 32);
    for (unsigned lane = 0; lane < lanes; ++lane) {
      m.set_address(kFirstAddress, lane,
                    encoding == Encoding::kGlobal ? memory.va + lane * kBytesPerLane : 16);
      for (unsigned n = 0; n < 32; ++n) m.vgpr(kBlock + n)[lane] = lane * 100 + n;
    }
    return m.run(i);
  };
  ASSERT_EQ(run(Op::global_store_block, Encoding::kGlobal), Stop::kEnd);
  ASSERT_EQ(run(Op::scratch_store_block, Encoding::kScratch), Stop::kEnd);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    for (unsigned n = 0; n < 32; ++n) {
      const bool is_stored = lane != 1 && (kSelected >> n & 1) != 0;
      const uint32_t expected = is_stored ? lane * 100 + n : 0;
      ASSERT_EQ(dword(lane, n), expected) << "lane " << lane << ", dword " << n;
      ASSERT_EQ(scratch.at<uint32_t>()[(6 + n) * lanes + lane], expected)
          << "lane " << lane << ", dword " << n;
      dword(lane, n) = lane * 1000 + n;
      scratch.at<uint32_t>()[(6 + n) * lanes + lane] = lane * 1000 + n;
    }
  }
  for (const auto& [op, encoding] : {std::pair(Op::global_load_block, Encoding::kGlobal),
                                     std::pair(Op::scratch_load_block, Encoding::kScratch)}) {
    ASSERT_EQ(run(op, encoding), Stop::kEnd);
    for (unsigned lane = 0; lane < lanes; ++lane) {
      for (unsigned n = 0; n < 32; ++n) {
        const bool is_loaded = lane != 1 && (kSelected >> n & 1) != 0;
        ASSERT_EQ(m.vgpr(kBlock + n)[lane], lane * (is_loaded ? 1000 : 100) + n)
            << isa::name(op) << " lane " << lane << ", dword " << n;
      }
    }
  }
}

// gfx1201: a public measurement (Tessera), in which lane l read halves 8 × l and following.
TEST_P(Flat, TransposingLoadExchangesHalvesOfEightLanes) {
  if (GetParam().wave_size != 32) return;
  Machine m(GetParam(), {12, 0, 1});
  const Buffer memory = m.bus.allocate(kPage);
  for (unsigned n = 0; n < 256; ++n) memory.at<uint16_t>()[n] = static_cast<uint16_t>(n);
  for (unsigned lane = 0; lane < 32; ++lane) m.set_address(kAddress, lane, memory.va + lane * 16);
  Instruction i;
  i.op = Op::global_load_tr_b128;
  i.encoding = Encoding::kGlobal;
  i.vaddr = vgpr_operand(kAddress, 2);
  i.vdst = vgpr_operand(kAddress, 4);  // over the address
  ASSERT_EQ(m.run(i), Stop::kEnd);
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned j = 0; j < 8; ++j) {
      const uint32_t row = lane / 8 * 4 + j / 2, column = lane % 8 + 8 * (j % 2);
      EXPECT_EQ(m.vgpr(kAddress + j / 2)[lane] >> 16 * (j % 2) & 0xffff, row * 16 + column);
    }
  }
}

TEST_P(Flat, RejectsRegistersOutOfRange) {
  Machine m(GetParam());
  Instruction i = global(Op::global_load_dwordx4);
  i.vdst = vgpr_operand(Machine::kVgprs - 3, 4);
  EXPECT_NE(m.refusal(i), "");
  i.vdst = vgpr_operand(Machine::kVgprs - 4, 4);
  EXPECT_EQ(m.refusal(i), "");
}

}  // namespace
}  // namespace rigel::vgpu::exec::testing
