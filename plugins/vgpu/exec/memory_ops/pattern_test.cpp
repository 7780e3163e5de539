// Accesses that come again and again: what the first ones have taught is right for those after them, or not
// used. One instruction is executed many times; before each, lanes go somewhere else or the same way again.
#include "plugins/vgpu/exec/memory_ops/pattern.hpp"

#include <bit>

#include "plugins/vgpu/exec/memory_ops/memory_test_support.hpp"
#include "plugins/vgpu/exec/memory_ops/shape.hpp"

namespace rigel::vgpu::exec::testing {
namespace {

using isa::Encoding;
using isa::Instruction;
using isa::Op;

constexpr unsigned kAddress = 2, kData = 8, kData2 = 13, kResult = 20;
constexpr uint32_t kBytes = Machine::kLdsBytes;

/// An instruction that stays where it is from one execution to the next, as those of kernels do.
class Program {
 public:
  Program(Machine& machine, const Instruction& instruction) : m_(machine) {
    LoweringContext context;
    context.target = m_.target;
    context.layout = m_.wave.layout;
    context.level = m_.simd;
    EXPECT_EQ(lower(instruction, context, out_), "");
    out_.emit([](const MicroOp* op, Wave* stopped, std::byte*, uint64_t) {
      stopped->stop = Stop::kEnd;
      leave_at(op, stopped);
    });
  }
  Stop run() {
    const Memory::Scope scope(m_.memory);
    m_.wave.op = out_.ops.data();
    run_wave(&m_.wave);
    return m_.wave.stop;
  }

 private:
  Machine& m_;
  TestEmitter out_;
};

// Ways in which lanes jump about, in units of an element.
std::vector<std::vector<uint32_t>> ways() {
  std::vector<std::vector<uint32_t>> all = patterns(100);
  const auto add = [&](auto of_lane) {
    std::vector<uint32_t> lanes(64);
    for (uint32_t lane = 0; lane < 64; ++lane) lanes[lane] = of_lane(lane);
    all.push_back(lanes);
  };
  for (uint32_t stride = 1; stride <= 16; stride *= 2) {
    add([&](uint32_t lane) { return 2 * lane - (lane & (stride - 1)); });
  }
  add([](uint32_t lane) { return lane / 16 * 16 + lane * 7 % 16; });
  add([](uint32_t lane) { return lane % 2 * 40 + lane / 2; });  // lanes of a vector far apart
  add([](uint32_t lane) { return lane % 3; });                  // many at one place
  add([](uint32_t lane) { return 99 - lane; });
  return all;
}

// Where the first lane's element lies: more often than not with all of them inside of the memory.
std::vector<uint32_t> starts(uint32_t bytes) {
  return {0, 0, 0, 4, 64, 256, 0, 2, 1, 16, kBytes - 100 * bytes, kBytes - 100 * bytes + 4, kBytes - 64, 0};
}

struct Elements {
  uint32_t offsets[2] = {};
  unsigned count = 1;
};

Elements elements_of(const Instruction& i) {
  const Shape shape = *memory_shape(i.op);
  if (!shape.pair) return {{static_cast<uint32_t>(i.offset), 0}, 1};
  const uint32_t unit = shape.bytes * (shape.far_pair ? 64 : 1);
  return {{static_cast<uint32_t>(i.offset) * unit, i.offset1 * unit}, 2};
}

class PatternsOf : public ::testing::TestWithParam<Level> {
 protected:
  uint32_t width() const { return GetParam().wave_size; }
  isa::Target target() const { return width() == 64 ? isa::Target{9, 0, 0} : isa::Target{10, 3, 0}; }

  // Executes the instruction with each way, start and EXEC, several times each, against the plainest model.
  void check_lds(Instruction i, isa::Target target);
  void check_global(Instruction i);
};
INSTANTIATE_TEST_SUITE_P(Levels, PatternsOf, ::testing::ValuesIn(all_levels()), level_name);

void fill(std::byte* bytes, uint64_t count, uint32_t seed) {
  for (uint64_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 256 + seed);
}

void PatternsOf::check_lds(Instruction i, isa::Target target) {
  const Shape shape = *memory_shape(i.op);
  const Elements elements = elements_of(i);
  const bool aligned = target.major == 8;
  Machine m(GetParam(), target);
  Program program(m, i);
  uint32_t seed = 0;
  for (const uint64_t exec : {~uint64_t{0}, uint64_t{0x123456789abcdef0}, uint64_t{0xffff0000}}) {
    for (const auto& way : ways()) {
      for (const uint32_t start : starts(shape.bytes)) {
        m.set_exec(exec);
        fill(m.group.lds, kBytes, ++seed);
        std::vector<std::byte> expected(m.group.lds, m.group.lds + kBytes);
        uint32_t loaded[8][64] = {};
        for (unsigned r = 0; r < 5; ++r) {
          for (unsigned lane = 0; lane < width(); ++lane) {
            m.vgpr(kData + r)[lane] = seed * 0x01010101 + r * 64 + lane;
            m.vgpr(kData2 + r)[lane] = seed * 0x01010101 + 0x8000 + r * 64 + lane;
          }
        }
        for (unsigned r = 0; r < 8; ++r) {
          for (unsigned lane = 0; lane < width(); ++lane) {
            loaded[r][lane] = m.vgpr(kResult + r)[lane] = 0x11111111 * (r + 1);
          }
        }
        for (unsigned lane = 0; lane < width(); ++lane)
          m.vgpr(kAddress)[lane] = start + way[lane] * shape.bytes;
        for (unsigned e = 0; e < elements.count; ++e) {
          for (unsigned lane = 0; lane < width(); ++lane) {
            if (!m.active(lane)) continue;
            uint32_t at = m.vgpr(kAddress)[lane] + elements.offsets[e];
            if (aligned) at &= ~(shape.bytes - 1u);
            const bool inside = at + shape.bytes <= kBytes;
            for (unsigned d = 0; d < shape.dwords(); ++d) {
              uint32_t& to = loaded[e * shape.dwords() + d][lane];
              if (shape.verb == Verb::kStore) {
                if (inside)
                  std::memcpy(&expected[at + d * 4], &m.vgpr((e == 0 ? kData : kData2) + d)[lane], 4);
              } else {
                to = 0;
                if (inside) std::memcpy(&to, m.group.lds + at + d * 4, 4);
              }
            }
          }
        }
        ASSERT_EQ(program.run(), Stop::kEnd);
        ASSERT_EQ(std::memcmp(expected.data(), m.group.lds, kBytes), 0)
            << isa::name(i.op) << " at " << start << " exec " << std::hex << exec;
        for (unsigned r = 0; r < shape.dwords() * elements.count; ++r) {
          for (unsigned lane = 0; lane < width(); ++lane) {
            ASSERT_EQ(m.vgpr(kResult + r)[lane], loaded[r][lane])
                << isa::name(i.op) << " dword " << r << " lane " << lane << " at " << start;
          }
        }
      }
    }
  }
}

Instruction ds(Op op) {
  Instruction i;
  i.op = op;
  i.encoding = Encoding::kDs;
  i.vaddr = vgpr_operand(kAddress);
  const Shape shape = *memory_shape(op);
  if (shape.verb == Verb::kLoad) {
    i.vdst = vgpr_operand(kResult, shape.dwords() * (shape.pair ? 2 : 1));
  } else {
    i.vdata = vgpr_operand(kData, shape.dwords());
    if (shape.pair) i.vdata2 = vgpr_operand(kData2, shape.dwords());
  }
  return i;
}

constexpr Op kSingles[] = {Op::ds_read_b32,  Op::ds_read_b64,  Op::ds_read_b96,  Op::ds_read_b128,
                           Op::ds_write_b32, Op::ds_write_b64, Op::ds_write_b96, Op::ds_write_b128};
constexpr Op kPairs[] = {Op::ds_read2_b32,  Op::ds_read2_b64,     Op::ds_write2_b32,
                         Op::ds_write2_b64, Op::ds_read2st64_b32, Op::ds_write2st64_b32};

TEST_P(PatternsOf, LdsAreFollowedAndLeft) {
  for (const Op op : kSingles) {
    Instruction i = ds(op);
    i.offset = 8;
    check_lds(i, target());
  }
}

TEST_P(PatternsOf, PairsWhereverTheSecondElementLies) {
  for (const Op op : kPairs) {
    for (const uint8_t other : {1, 2, 5, 0}) {  // next to the first, apart, before it or in its place
      Instruction i = ds(op);
      i.offset = other == 0 ? 1 : 0;
      i.offset1 = other == 0 ? (op == Op::ds_write2_b32 ? 1 : 0) : other;
      check_lds(i, target());
    }
  }
}

TEST_P(PatternsOf, Gfx8AlignsWhatIsNotAligned) {
  if (width() != 64) return;
  for (const Op op : {Op::ds_read_b32, Op::ds_write_b64, Op::ds_read2_b32, Op::ds_write2_b32}) {
    Instruction i = ds(op);
    if (memory_shape(op)->pair) i.offset1 = 2;
    check_lds(i, {8, 0, 3});
  }
}

TEST_P(PatternsOf, TheResultMayTakeThePlaceOfTheAddresses) {
  Instruction i = ds(Op::ds_read2_b32);
  i.offset1 = 8;
  i.vdst = vgpr_operand(kAddress, 2);
  Machine m(GetParam(), target());
  Program program(m, i);
  fill(m.group.lds, kBytes, 1);
  for (int time = 0; time < 5; ++time) {
    for (uint32_t lane = 0; lane < width(); ++lane) m.vgpr(kAddress)[lane] = (lane ^ 5) * 4;
    ASSERT_EQ(program.run(), Stop::kEnd);
    for (uint32_t lane = 0; lane < width(); ++lane) {
      ASSERT_EQ(m.vgpr(kAddress)[lane], m.lds_dwords()[lane ^ 5]);
      ASSERT_EQ(m.vgpr(kAddress + 1)[lane], m.lds_dwords()[(lane ^ 5) + 8]);
    }
  }
}

void PatternsOf::check_global(Instruction i) {
  const Shape shape = *memory_shape(i.op);
  Machine m(GetParam(), target());
  const Buffer buffer = m.bus.allocate(kBytes);
  const Buffer next = m.bus.map_at(buffer.va + buffer.bytes, kPage);  // behind it for the GPU alone
  Program program(m, i);
  uint32_t seed = 0;
  for (const uint64_t exec : {~uint64_t{0}, uint64_t{0x7fffffff7ffffffe}}) {
    for (const auto& way : ways()) {
      for (const uint32_t start : starts(shape.bytes)) {
        m.set_exec(exec);
        fill(buffer.host, kBytes, ++seed), fill(next.host, kPage, seed + 99);
        std::vector<std::byte> expected(buffer.host, buffer.host + kBytes);
        expected.insert(expected.end(), next.host, next.host + kPage);
        uint32_t loaded[4][64] = {};
        for (unsigned lane = 0; lane < width(); ++lane) {
          const uint32_t at = start + way[lane] * shape.bytes;
          m.set_address(kAddress, lane, buffer.va + at);
          for (unsigned d = 0; d < shape.dwords(); ++d) {
            m.vgpr(kData + d)[lane] = seed * 0x01010101 + d * 64 + lane;
            loaded[d][lane] = m.vgpr(kResult + d)[lane] = 0x11111111 * (d + 1);
            if (!m.active(lane)) continue;
            shape.verb == Verb::kStore ? std::memcpy(&expected[at + d * 4], &m.vgpr(kData + d)[lane], 4)
                                       : std::memcpy(&loaded[d][lane], &expected[at + d * 4], 4);
          }
        }
        ASSERT_EQ(program.run(), Stop::kEnd);
        ASSERT_EQ(std::memcmp(expected.data(), buffer.host, kBytes), 0) << isa::name(i.op) << " at " << start;
        ASSERT_EQ(std::memcmp(expected.data() + kBytes, next.host, kPage), 0);
        for (unsigned d = 0; d < shape.dwords(); ++d) {
          for (unsigned lane = 0; lane < width(); ++lane) {
            ASSERT_EQ(m.vgpr(kResult + d)[lane], loaded[d][lane])
                << isa::name(i.op) << " dword " << d << " lane " << lane << " at " << start;
          }
        }
      }
    }
  }
}

Instruction global(Op op) {
  Instruction i;
  i.op = op;
  i.encoding = Encoding::kGlobal;
  i.vaddr = vgpr_operand(kAddress, 2);
  const Shape shape = *memory_shape(op);
  (shape.verb == Verb::kLoad ? i.vdst : i.vdata) =
      vgpr_operand(shape.verb == Verb::kLoad ? kResult : kData, shape.dwords());
  return i;
}

TEST_P(PatternsOf, GlobalMemoryAreFollowedAndLeft) {
  for (const Op op : {Op::global_load_dword, Op::global_load_dwordx2, Op::global_load_dwordx3,
                      Op::global_load_dwordx4, Op::global_store_dword, Op::global_store_dwordx2,
                      Op::global_store_dwordx3, Op::global_store_dwordx4}) {
    check_global(global(op));
  }
}

// The lowest lane that faults is the one that is told, however well the way there is known.
TEST_P(PatternsOf, WhatIsNotMappedFaults) {
  for (const Op op : {Op::global_load_dword, Op::global_store_dword}) {
    Machine m(GetParam(), target());
    const Buffer buffer = m.bus.allocate(kPage);
    Program program(m, global(op));
    const auto go = [&](uint64_t va) {
      for (uint32_t lane = 0; lane < width(); ++lane) m.set_address(kAddress, lane, va + (lane ^ 1) * 4);
      return program.run();
    };
    for (int time = 0; time < 5; ++time) ASSERT_EQ(go(buffer.va + 16), Stop::kEnd);
    const uint64_t end = buffer.va + buffer.bytes;
    ASSERT_EQ(go(end - width() * 4), Stop::kEnd);
    ASSERT_EQ(go(end - width() * 4 + 8), Stop::kFault);
    EXPECT_EQ(m.wave.fault_va, end + 4);  // of lane width - 2: its neighbour comes first
    ASSERT_EQ(go(buffer.va - 4), Stop::kFault);
    EXPECT_EQ(m.wave.fault_va, buffer.va - 4);
    ASSERT_EQ(go(buffer.va), Stop::kEnd);
    m.bus.unmap(buffer);
    ASSERT_EQ(go(buffer.va), Stop::kFault);
    EXPECT_EQ(m.wave.fault_va, buffer.va + 4);
  }
}

// Lanes on both sides of a multiple of 4 GiB: the low halves of their addresses alone say nothing.
TEST_P(PatternsOf, AddressesCarryIntoTheirHighHalves) {
  Machine m(GetParam(), target());
  const Buffer buffer = m.bus.map_at(0x2'ffff'f000, 2 * kPage);
  fill(buffer.host, buffer.bytes, 3);
  Program program(m, global(Op::global_load_dword));
  for (const uint64_t start : {0x800, 0x800, 0x800, 0xf80, 0xfc0, 0xf80, 0x800, 0x1000, 0x800}) {
    for (uint32_t lane = 0; lane < width(); ++lane) {
      m.set_address(kAddress, lane, buffer.va + start + (lane ^ 3) * 4);
    }
    ASSERT_EQ(program.run(), Stop::kEnd);
    for (uint32_t lane = 0; lane < width(); ++lane) {
      uint32_t expected;
      std::memcpy(&expected, buffer.host + start + (lane ^ 3) * 4, 4);
      ASSERT_EQ(m.vgpr(kResult)[lane], expected);
    }
  }
}

// What moves do, one lane after the other; they may read as far as the pattern says, and store nothing else.
void follow(const Pattern& pattern, bool store, std::vector<uint32_t>& memory, std::vector<uint32_t>& rows) {
  const auto middle = static_cast<int32_t>(memory.size() * 2);  // in bytes: where the first lane is
  constexpr int32_t kSecondRows = 4 * 64 * 4;
  const int32_t end =
      pattern.least + static_cast<int32_t>(store ? pattern.bytes : std::max(pattern.bytes, 64u));
  const auto row_of = [](int32_t from) {
    return from >= Pattern::kSecond ? from - Pattern::kSecond + kSecondRows : from;
  };
  for (unsigned m = 0; m < pattern.count; ++m) {
    const Pattern::Move& move = pattern.moves[m];
    uint32_t out[16] = {};
    for (unsigned source = 0; source < pattern.sources && !store; ++source) {
      ASSERT_GE(move.from[source], pattern.least);
      ASSERT_LE(move.from[source] + 64, end);
    }
    for (unsigned i = 0; i < 16; ++i) {
      const unsigned source = (move.high >> i & 1) * 2 + move.index[i] / 16u;
      ASSERT_LT(source, pattern.sources);
      const int32_t at =
          (store ? row_of(move.from[source]) : middle + move.from[source]) / 4 + move.index[i] % 16;
      out[i] = (store ? rows : memory).at(static_cast<size_t>(at));
    }
    for (unsigned i = 0; i < 16; ++i) {
      if ((move.mask >> i & 1) == 0) {
        ASSERT_TRUE(pattern.masked);
        continue;
      }
      const int32_t to = move.to + static_cast<int32_t>(i) * 4;
      if (store) {
        ASSERT_GE(to, pattern.least);
        ASSERT_LE(to + 4, end);
      }
      (store ? memory : rows).at(static_cast<size_t>((store ? middle + to : to) / 4)) = out[i];
    }
  }
}

TEST(Pattern, MovesDoWhatLanesWouldDo) {
  const auto patterns = std::make_unique<Patterns>();
  std::mt19937 random(7);
  int known = 0;
  for (int time = 0; time < 3000; ++time) {
    PatternKind kind;
    kind.store = random() % 2 != 0;
    kind.pair = random() % 2 != 0;
    kind.wave_size = random() % 2 != 0 ? 64 : 32;
    kind.dwords = static_cast<uint8_t>(1 + random() % (kind.pair ? 2 : 4));
    kind.second = kind.pair ? static_cast<int32_t>(random() % 40) * 4 - 40 : 0;
    uint64_t exec = random() % 3 != 0 ? ~uint64_t{0} : uint64_t{random()} << 32 | random() | 1u << 31;
    if (kind.wave_size == 32) exec &= 0xffffffff;
    const auto ways_of_lanes = ways();
    const auto& way = ways_of_lanes[random() % ways_of_lanes.size()];
    const unsigned first = static_cast<unsigned>(std::countr_zero(exec));
    uint32_t relative[64] = {};
    for (unsigned lane = 0; lane < 64; ++lane) {
      if ((exec >> lane & 1) != 0) relative[lane] = (way[lane] - way[first]) * kind.dwords * 4;
    }
    const auto* const site = reinterpret_cast<const void*>(uintptr_t{random() % 100'000} * 64);
    patterns->find(site, kind, exec, relative);
    const Pattern* const pattern = patterns->find(site, kind, exec, relative);
    if (pattern == nullptr) continue;
    ++known;
    std::vector<uint32_t> memory(8192), rows(2 * 4 * 64);
    for (uint32_t& dword : memory) dword = static_cast<uint32_t>(random());
    for (uint32_t& dword : rows) dword = static_cast<uint32_t>(random());
    std::vector<uint32_t> expected_memory = memory, expected_rows = rows;
    for (unsigned e = 0; e < (kind.pair ? 2u : 1u); ++e) {
      for (unsigned lane = 0; lane < kind.wave_size; ++lane) {
        if ((exec >> lane & 1) == 0) continue;
        for (unsigned d = 0; d < kind.dwords; ++d) {
          const int32_t at = static_cast<int32_t>(relative[lane]) + (e != 0 ? kind.second : 0);
          uint32_t& dword = expected_memory.at(4096 + static_cast<size_t>(int64_t{at} / 4 + d));
          if (kind.store) {
            dword = rows[e * 256 + d * kind.wave_size + lane];
          } else {
            expected_rows[(e * kind.dwords + d) * kind.wave_size + lane] = dword;
          }
        }
      }
    }
    follow(*pattern, kind.store, memory, rows);
    ASSERT_EQ(memory, expected_memory);
    ASSERT_EQ(rows, expected_rows);
  }
  EXPECT_GT(known, 1500);
}

TEST(Pattern, IsLearnedTheSecondTime) {
  const auto patterns = std::make_unique<Patterns>();
  const int site = 0;
  uint32_t relative[64];
  for (uint32_t lane = 0; lane < 64; ++lane) relative[lane] = (lane ^ 1) * 4 - 4;
  const PatternKind kind{false, 1, false, 64, 0};
  EXPECT_EQ(patterns->find(&site, kind, ~uint64_t{0}, relative), nullptr);
  EXPECT_EQ(patterns->last(&site), nullptr);
  const Pattern* const known = patterns->find(&site, kind, ~uint64_t{0}, relative);
  ASSERT_NE(known, nullptr);
  EXPECT_TRUE(known->near);
  EXPECT_EQ(known->count, 4);
  EXPECT_EQ(known->sources, 1);
  EXPECT_EQ(known->least, -4);
  EXPECT_EQ(known->bytes, 256u);
  EXPECT_EQ(patterns->last(&site), known);
  // Another kind is another pattern.
  EXPECT_EQ(patterns->find(&site, {true, 1, false, 64, 0}, ~uint64_t{0}, relative), nullptr);
  EXPECT_EQ(patterns->find(&site, kind, ~uint64_t{0}, relative), known);
}

TEST(Pattern, WhatNeverComesAgainIsSoonLeftAlone) {
  const auto patterns = std::make_unique<Patterns>();
  const int site = 0;
  std::mt19937 random(1);
  int tries = 0;
  for (int time = 0; time < 1000; ++time) {
    if (!patterns->hopeful(&site)) continue;
    ++tries;
    uint32_t relative[64] = {};
    for (uint32_t& lane : relative) lane = random() % 1024 * 4;
    patterns->find(&site, {false, 1, false, 64, 0}, ~uint64_t{0}, relative);
  }
  EXPECT_LT(tries, 50);
}

TEST(Pattern, WhatIsFarApartIsSoonLeftAlone) {
  const auto patterns = std::make_unique<Patterns>();
  const int site = 0;
  uint32_t relative[64];
  for (uint32_t lane = 0; lane < 64; ++lane) relative[lane] = lane * 256;
  int tries = 0;
  for (int time = 0; time < 1000; ++time) {
    if (!patterns->hopeful(&site)) continue;
    ++tries;
    EXPECT_EQ(patterns->find(&site, {false, 1, false, 64, 0}, ~uint64_t{0}, relative), nullptr);
  }
  EXPECT_LT(tries, 50);
}

}  // namespace
}  // namespace rigel::vgpu::exec::testing
