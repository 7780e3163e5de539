// DS: the work-group's local memory (LDS), and the device's (GDS). Work-groups run on one thread, and an
// instruction has GDS for itself, so nothing here is atomic.
//
// An element that does not lie below the limit in whole loads as zero and is not stored: each of the two of a
// two-address instruction for itself. The limit is what was allocated; on gfx8 M0 lowers it. Addresses wrap
// at 2^32. Elements that are not aligned are accessed where they are on gfx9 and later, and by atomics and on
// gfx8 at the address aligned down.
#include <algorithm>
#include <optional>

#include "plugins/vgpu/exec/core.hpp"
#include "plugins/vgpu/exec/global_data_share.hpp"
#include "plugins/vgpu/exec/memory_ops/atomics.hpp"
#include "plugins/vgpu/exec/memory_ops/lds.hpp"
#include "plugins/vgpu/exec/memory_ops/memory_handlers.hpp"
#include "plugins/vgpu/exec/memory_ops/rows.hpp"
#include "plugins/vgpu/isa/op_class.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

// Details; fast handlers have in the MicroOp: src[0] the addresses, src[2] the data, dst the result, aux the
// offset.
struct LdsAccess {
  Shape shape;
  DataRows rows;
  uint32_t second_data = 0;  // second operand or, of a pair, the second element
  uint32_t address = 0;
  uint32_t offsets[2] = {};
  uint32_t alignment = 1;
  bool m0_limits = false;
  bool global = false;  // GDS
  uint32_t mxcsr = FloatEnvironment::kKeepDenormals;
};

uint32_t limit_of(const Wave* wave, bool m0_limits) {
  const uint32_t bytes = wave->group->lds_bytes;
  return m0_limits ? std::min(bytes, scalar(wave->registers, scalar_offset(isa::code::kM0))) : bytes;
}

template <unsigned W>
uint64_t lanes_in_range(const uint32_t* offsets, uint64_t exec, uint32_t bytes, uint32_t limit) {
  return limit < bytes ? 0 : exec & lanes_up_to<W>(offsets, limit - bytes);
}

template <unsigned W>
void load_elements(const Wave* wave, const Shape& shape, const uint32_t* offsets, uint64_t exec,
                   uint64_t inside, uint32_t result) {
  const std::byte* const lds = wave->group->lds;
  uint32_t* const to = row(wave->registers, result);
  const auto place = [&](unsigned lane) { return lds + offsets[lane]; };
  if (shape.bytes < 4) {
    load_narrow_each<W>(shape, to, inside, place);
    for_lanes<W>(exec & ~inside, [&](unsigned lane) { to[lane] = narrow_to_register(shape, 0u, to[lane]); });
    return;
  }
  with_dwords(shape.dwords(), [&](auto count) { load_each<W, count.value>(to, inside, place); });
  if (inside == exec) return;
  for (unsigned d = 0; d < shape.dwords(); ++d) fill_row<W>(to + d * W, 0, exec & ~inside);
}

template <unsigned W>
void store_elements(const Wave* wave, const Shape& shape, const uint32_t* offsets, uint64_t inside,
                    uint32_t data) {
  std::byte* const lds = wave->group->lds;
  const uint32_t* const from = row(wave->registers, data);
  const auto place = [&](unsigned lane) { return lds + offsets[lane]; };
  if (shape.bytes < 4) {
    store_narrow_each<W>(shape, from, inside, place);
  } else {
    with_dwords(shape.dwords(), [&](auto count) { store_each<W, count.value>(from, inside, place); });
  }
}

template <class T>
T operand(const uint32_t* data, unsigned lane, unsigned width) {
  if constexpr (sizeof(T) == 4) {
    return data[lane];
  } else {
    return data[lane] | uint64_t{data[width + lane]} << 32;
  }
}

template <class T>
void put_result(uint32_t* to, unsigned lane, unsigned width, T value) {
  to[lane] = static_cast<uint32_t>(value);
  if constexpr (sizeof(T) == 8) to[width + lane] = static_cast<uint32_t>(value >> 32);
}

struct LdsOperands {
  uint32_t first = 0;  // rows
  uint32_t second = 0;
  uint32_t result = 0;
  bool returns = false;
  bool reversed = true;  // see next_in_lds; FLAT is not
};

template <unsigned W, Atomic kAtomic, class T, bool kReturns>
void atomic_elements(const Wave* wave, const uint32_t* offsets, uint64_t inside,
                     const LdsOperands& operands) {
  std::byte* const lds = wave->group->lds;
  const uint32_t* const first = row(wave->registers, operands.first);
  const uint32_t* const second = row(wave->registers, operands.second);
  uint32_t* const result = row(wave->registers, operands.result);
  for_lanes<W>(inside, [&](unsigned lane) {
    std::byte* const place = lds + offsets[lane];
    const T a = operand<T>(first, lane, W);
    const T b = has_two_operands(kAtomic) ? operand<T>(second, lane, W) : 0;
    const T old = load_as<T>(place);
    store_as(place,
             operands.reversed ? next_in_lds<kAtomic, T>(old, a, b) : next_value<kAtomic, T>(old, a, b));
    if constexpr (kReturns) put_result(result, lane, W, old);
  });
}

template <unsigned W, Atomic kAtomic, class T>
void atomic_elements(const Wave* wave, const uint32_t* offsets, uint64_t exec, uint64_t inside,
                     const LdsOperands& operands) {
  if (!operands.returns) return atomic_elements<W, kAtomic, T, false>(wave, offsets, inside, operands);
  atomic_elements<W, kAtomic, T, true>(wave, offsets, inside, operands);
  uint32_t* const result = row(wave->registers, operands.result);
  for_lanes<W>(exec & ~inside, [&](unsigned lane) { put_result<T>(result, lane, W, 0); });
}

template <unsigned W>
void atomic_elements(const Wave* wave, const Shape& shape, const uint32_t* offsets, uint64_t exec,
                     uint64_t inside, const LdsOperands& operands, uint32_t mxcsr) {
  std::optional<FloatEnvironment> environment;
  if (is_float(shape.atomic)) environment.emplace(mxcsr);
  with_atomic(shape.atomic, [&](auto atomic) {
    if (shape.bytes == 8) {
      atomic_elements<W, atomic.value, uint64_t>(wave, offsets, exec, inside, operands);
    } else {
      atomic_elements<W, atomic.value, uint32_t>(wave, offsets, exec, inside, operands);
    }
  });
}

struct Offsets {
  alignas(64) uint32_t of[64];
};

void stop_without_gds(const MicroOp* op, Wave* wave) {
  wave->stop = Stop::kIllegal;
  wave->illegal_reason = "the GPU has no global data share";
  leave_at(op, wave);
}

template <unsigned W>
void make_offsets(const Wave* wave, const LdsAccess& access, unsigned which, Offsets& offsets) {
  const uint32_t mask = ~(access.alignment - 1);
  uint32_t base = access.offsets[which];
  if (access.shape.addtid) {
    if (!access.global) base += scalar(wave->registers, scalar_offset(isa::code::kM0)) & 0xffff;
    for (unsigned lane = 0; lane < W; ++lane) offsets.of[lane] = (base + lane * 4) & mask;
  } else {
    const uint32_t* const own = row(wave->registers, access.address);
    for (unsigned lane = 0; lane < W; ++lane) offsets.of[lane] = (base + own[lane]) & mask;
  }
  for (unsigned lane = W; lane < 64; ++lane) offsets.of[lane] = 0;
}

// How far behind the result of a src2 instruction its operand lies. If the offset does not say it, the upper
// bits of the address do.
uint32_t second_source(uint32_t address, uint32_t offset) {
  const auto relative =
      (offset & 0x8000) != 0 ? static_cast<int32_t>(address) >> 17 : static_cast<int32_t>(offset << 17) >> 17;
  return static_cast<uint32_t>(relative) * 4;
}

template <unsigned W>
void source2(Wave* wave, const LdsAccess& access, uint64_t exec, uint32_t limit) {
  const uint32_t bytes = access.shape.bytes;
  const uint32_t* const addresses = row(wave->registers, access.address);
  std::optional<FloatEnvironment> environment;
  if (is_float(access.shape.atomic)) environment.emplace(access.mxcsr);
  std::byte* const lds = wave->group->lds;
  for (uint64_t left = exec; left != 0; left &= left - 1) {
    const uint32_t address = addresses[first_lane(left)];
    const uint32_t place = (access.offsets[0] & 0x8000) != 0 ? address & 0x1ffff : address;
    const uint32_t b = (place + second_source(address, access.offsets[0])) & ~(bytes - 1);
    const uint32_t a = place & ~(bytes - 1);
    if (limit < bytes || a > limit - bytes) continue;
    uint64_t source = 0, old = 0;
    if (b <= limit - bytes) std::memcpy(&source, lds + b, bytes);
    std::memcpy(&old, lds + a, bytes);
    with_atomic(access.shape.atomic, [&](auto atomic) {
      if (bytes == 8) {
        store_as(lds + a, next_value<atomic.value, uint64_t>(old, source, 0));
      } else {
        store_as(lds + a, next_value<atomic.value, uint32_t>(static_cast<uint32_t>(old),
                                                             static_cast<uint32_t>(source), 0));
      }
    });
  }
}

template <unsigned W>
bool lds_any(Wave* wave, const LdsAccess& access, uint64_t exec) {
  const uint32_t limit = limit_of(wave, access.m0_limits);
  const Shape& shape = access.shape;
  if (shape.source2) {
    source2<W>(wave, access, exec, limit);
    return true;
  }
  const unsigned elements = shape.pair ? 2 : 1;
  Offsets offsets[2];
  for (unsigned i = 0; i < elements; ++i) make_offsets<W>(wave, access, i, offsets[i]);
  uint32_t second_data = access.second_data;
  if (shape.pair && shape.verb == Verb::kAtomic) {  // what the first exchange returns may go there
    second_data = wave->layout.temporary_offset(0);
    std::memcpy(wave->registers + second_data, wave->registers + access.second_data,
                shape.dwords() * wave->layout.row_bytes());
  }
  for (unsigned i = 0; i < elements; ++i) {
    const uint64_t inside = lanes_in_range<W>(offsets[i].of, exec, shape.bytes, limit);
    const uint32_t data = i == 0 ? access.rows.data : second_data;
    const uint32_t result = access.rows.result + i * shape.dwords() * W * 4;
    switch (shape.verb) {
      case Verb::kLoad:
        load_elements<W>(wave, shape, offsets[i].of, exec, inside, result);
        break;
      case Verb::kStore:
        store_elements<W>(wave, shape, offsets[i].of, inside, data);
        break;
      case Verb::kAtomic:
        atomic_elements<W>(wave, shape, offsets[i].of, exec, inside,
                           {data, second_data, result, shape.returns, true}, access.mxcsr);
        break;
    }
  }
  return true;
}

[[gnu::noinline]] bool lds_general(const MicroOp* op, Wave* wave, uint64_t exec) {
  const auto& access = details<LdsAccess>(op);
  return wave->layout.wave_size == 64 ? lds_any<64>(wave, access, exec) : lds_any<32>(wave, access, exec);
}

// The way of lanes that follow each other: true if that was all.
template <unsigned W, unsigned N, bool kStore>
[[gnu::always_inline]] inline bool access_consecutive(std::byte* rows, Wave* wave, const uint32_t* addresses,
                                                      uint32_t offset, uint32_t limit, uint64_t exec) {
  constexpr uint32_t kStep = N * 4;
  const unsigned first = first_lane(exec);
  const uint32_t start = addresses[first] + offset;
  const uint32_t bytes = (last_lane(exec) - first + 1) * kStep;
  if (bytes > limit || start > limit - bytes ||
      !is_ramp<W>(addresses, exec, addresses[first] - first * kStep, kStep)) {
    return false;
  }
  std::byte* const lane0 = wave->group->lds + start - first * kStep;
  kStore ? store_consecutive<W, N>(rows, lane0, exec) : load_consecutive<W, N>(rows, lane0, exec);
  return true;
}

// One element of each lane, wherever, where nothing has to be aligned down.
template <unsigned W, unsigned N>
[[gnu::always_inline]] inline void load_element(std::byte* rows, Wave* wave, const uint32_t* addresses,
                                                uint32_t offset, uint32_t limit, uint64_t exec) {
  constexpr uint32_t kStep = N * 4;
  const std::byte* const lds = wave->group->lds;
  Offsets offsets;
  for (unsigned lane = 0; lane < W; ++lane) offsets.of[lane] = addresses[lane] + offset;
  const uint64_t inside = lanes_in_range<W>(offsets.of, exec, kStep, limit);
  load_each<W, N>(row(rows, 0), inside, [&](unsigned lane) { return lds + offsets.of[lane]; });
  if (inside == exec) return;
  for (unsigned d = 0; d < N; ++d) fill_row<W>(row(rows, d * W * 4), 0, exec & ~inside);
}

template <unsigned W, unsigned N>
[[gnu::always_inline]] inline void store_element(std::byte* rows, Wave* wave, const uint32_t* addresses,
                                                 uint32_t offset, uint32_t limit, uint64_t exec) {
  constexpr uint32_t kStep = N * 4;
  std::byte* const lds = wave->group->lds;
  Offsets offsets;
  for (unsigned lane = 0; lane < W; ++lane) offsets.of[lane] = addresses[lane] + offset;
  const uint64_t inside = lanes_in_range<W>(offsets.of, exec, kStep, limit);
  store_each<W, N>(row(rows, 0), inside, [&](unsigned lane) { return lds + offsets.of[lane]; });
}

template <unsigned W, unsigned N, bool kStore>
[[gnu::noinline]] void scattered_dwords(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  const uint32_t* const addresses = row(registers, op->src[0].offset);
  std::byte* const rows = registers + (kStore ? op->src[2].offset : op->dst);
  const uint32_t limit = wave->group->lds_bytes;
  kStore ? store_element<W, N>(rows, wave, addresses, op->aux, limit, exec)
         : load_element<W, N>(rows, wave, addresses, op->aux, limit, exec);
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

// gfx9 and later.
template <unsigned W, unsigned N, bool kStore>
void dwords(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  if (exec != 0) [[likely]] {
    std::byte* const rows = registers + (kStore ? op->src[2].offset : op->dst);
    const uint32_t* const addresses = row(registers, op->src[0].offset);
    if (!access_consecutive<W, N, kStore>(rows, wave, addresses, op->aux, wave->group->lds_bytes, exec)) {
      RIGEL_INSTEAD((scattered_dwords<W, N, kStore>), op, wave, registers, exec);
    }
  }
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

// Two elements of each lane that follows the one before: true if that was all.
template <unsigned W, unsigned N, bool kStore>
[[gnu::always_inline]] inline bool pairs_follow(const MicroOp* op, Wave* wave, std::byte* registers,
                                                uint32_t limit, uint64_t exec) {
  const uint32_t* const addresses = row(registers, op->src[0].offset);
  const unsigned first = first_lane(exec);
  const uint32_t lanes = last_lane(exec) - first + 1;
  const uint32_t start = addresses[first];
  const bool joined = !kStore && op->dst2 == op->aux + N * 4;
  const uint32_t step = joined ? N * 8 : N * 4;
  const uint32_t one = start + op->aux, other = start + op->dst2;
  if (lanes * step > limit || one > limit - lanes * step || (!joined && other > limit - lanes * step) ||
      !is_ramp<W>(addresses, exec, start - first * step, step)) {
    return false;
  }
  std::byte* const lane0 = wave->group->lds - first * step;
  if constexpr (kStore) {
    store_consecutive<W, N>(registers + op->src[2].offset, lane0 + one, exec);
    store_consecutive<W, N>(registers + op->src[1].offset, lane0 + other, exec);
  } else if (joined) {
    load_consecutive<W, N * 2>(registers + op->dst, lane0 + one, exec);
  } else {
    load_consecutive<W, N>(registers + op->dst, lane0 + one, exec);
    load_consecutive<W, N>(registers + op->dst + N * W * 4, lane0 + other, exec);
  }
  return true;
}

// Two elements of each lane, one after the other.
template <unsigned W, unsigned N, bool kStore>
[[gnu::noinline]] void scattered_pairs(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  const uint32_t limit = limit_of(wave, details<LdsAccess>(op).m0_limits);
  const uint32_t* const own = row(registers, op->src[0].offset);
  alignas(64) uint32_t addresses[W];  // the result may take their place
  std::memcpy(addresses, own, sizeof addresses);
  if constexpr (kStore) {
    store_element<W, N>(registers + op->src[2].offset, wave, addresses, op->aux, limit, exec);
    store_element<W, N>(registers + op->src[1].offset, wave, addresses, op->dst2, limit, exec);
  } else {
    load_element<W, N>(registers + op->dst, wave, addresses, op->aux, limit, exec);
    load_element<W, N>(registers + op->dst + N * W * 4, wave, addresses, op->dst2, limit, exec);
  }
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

// Two elements of each lane: aux and dst2 are their offsets, src[1] and src[2] their data. Where they follow
// each other and lanes do, they are one of twice the size; where lanes alone do, two of them.
template <unsigned W, unsigned N, bool kStore, bool kAligned = false>
void pairs(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  if (exec != 0) [[likely]] {
    if constexpr (kAligned) {  // gfx8: what is not aligned is another place
      const uint32_t bits = op->aux | op->dst2 | union_of<W>(row(registers, op->src[0].offset), exec);
      if (bits % (N * 4) != 0) RIGEL_INSTEAD(general_handler<lds_general>, op, wave, registers, exec);
    }
    if (!pairs_follow<W, N, kStore>(op, wave, registers, limit_of(wave, kAligned), exec)) {
      RIGEL_INSTEAD((scattered_pairs<W, N, kStore>), op, wave, registers, exec);
    }
  }
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

// gfx8: M0 limits, and what is not aligned is another place.
template <unsigned N, bool kStore>
void aligned_dwords(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  constexpr unsigned W = 64;
  constexpr uint32_t kAlignment = N == 3 ? 16 : N * 4;
  if (exec != 0) [[likely]] {
    const uint32_t limit = limit_of(wave, true);
    const uint32_t* const addresses = row(registers, op->src[0].offset);
    std::byte* const rows = registers + (kStore ? op->src[2].offset : op->dst);
    if ((op->aux | union_of<W>(addresses, exec)) % kAlignment != 0) {
      lds_general(op, wave, exec);
    } else if (!access_consecutive<W, N, kStore>(rows, wave, addresses, op->aux, limit, exec)) {
      kStore ? store_element<W, N>(rows, wave, addresses, op->aux, limit, exec)
             : load_element<W, N>(rows, wave, addresses, op->aux, limit, exec);
    }
  }
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

template <bool kStore>
Handler aligned_handler(unsigned count) {
  static constexpr Handler kHandlers[] = {aligned_dwords<1, kStore>, aligned_dwords<2, kStore>,
                                          aligned_dwords<3, kStore>, aligned_dwords<4, kStore>};
  return kHandlers[count - 1];
}

template <unsigned W, bool kStore>
Handler dwords_handler(unsigned count) {
  static constexpr Handler kHandlers[] = {dwords<W, 1, kStore>, dwords<W, 2, kStore>, dwords<W, 3, kStore>,
                                          dwords<W, 4, kStore>};
  return kHandlers[count - 1];
}

template <unsigned W>
Handler pairs_handler(const Shape& shape) {
  const bool store = shape.verb == Verb::kStore;
  if (shape.bytes == 4) return store ? pairs<W, 1, true> : pairs<W, 1, false>;
  return store ? pairs<W, 2, true> : pairs<W, 2, false>;
}

Handler handler_for(const LdsAccess& access, uint32_t wave_size) {
  const Shape& shape = access.shape;
  if (shape.verb == Verb::kAtomic || shape.bytes < 4 || shape.addtid) return general_handler<lds_general>;
  const bool store = shape.verb == Verb::kStore;
  if (access.m0_limits) {
    if (shape.pair && shape.bytes == 4) return store ? pairs<64, 1, true, true> : pairs<64, 1, false, true>;
    if (shape.pair) return store ? pairs<64, 2, true, true> : pairs<64, 2, false, true>;
    return store ? aligned_handler<true>(shape.dwords()) : aligned_handler<false>(shape.dwords());
  }
  if (shape.pair) return wave_size == 64 ? pairs_handler<64>(shape) : pairs_handler<32>(shape);
  if (wave_size == 64) {
    return store ? dwords_handler<64, true>(shape.dwords()) : dwords_handler<64, false>(shape.dwords());
  }
  return store ? dwords_handler<32, true>(shape.dwords()) : dwords_handler<32, false>(shape.dwords());
}

// Append and consume: the number of active lanes is added to or taken from a counter, whose address M0 has;
// so it does not limit there. dst2: GDS; imm: append.
void count_lanes(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  if (exec != 0) {
    const auto count = [&](std::byte* bytes, uint32_t limit, uint32_t at) -> uint32_t {
      at &= ~uint32_t{3};
      if (limit < 4 || at > limit - 4) return 0;
      const auto lanes = static_cast<uint32_t>(std::popcount(exec));
      const auto old = load_as<uint32_t>(bytes + at);
      store_as(bytes + at, op->imm != 0 ? old + lanes : old - lanes);
      return old;
    };
    const uint32_t m0 = scalar(registers, scalar_offset(isa::code::kM0));
    uint32_t old = 0;
    if (op->dst2 == 0) {
      old = count(wave->group->lds, wave->group->lds_bytes, (m0 & 0xffff) + op->aux);
    } else {
      GlobalDataShare* const share = wave->core->global_data_share();
      if (share == nullptr) return stop_without_gds(op, wave);
      GlobalDataShare::Held held(*share);
      old = count(held.bytes(), GlobalDataShare::kBytes, (m0 >> 16) + op->aux);
    }
    for_lanes<64>(exec, [&](unsigned lane) { row(registers, op->dst)[lane] = old; });
  }
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

// GDS is a work-group's memory as far as one instruction can tell: from M0's upper half on, as long as its
// lower half says.
bool gds_general(const MicroOp* op, Wave* wave, uint64_t exec) {
  GlobalDataShare* const share = wave->core->global_data_share();
  if (share == nullptr) {
    stop_without_gds(op, wave);
    return false;
  }
  const uint32_t m0 = scalar(wave->registers, scalar_offset(isa::code::kM0));
  const uint32_t base = m0 >> 16;
  GlobalDataShare::Held held(*share);
  WorkGroup window;
  window.lds = held.bytes() + base;
  window.lds_bytes = std::min(m0 & 0xffff, GlobalDataShare::kBytes - base);
  WorkGroup* const own = wave->group;
  wave->group = &window;
  lds_general(op, wave, exec);
  wave->group = own;
  return true;
}

// Counters of GDS that work-groups reach in the order in which they were started. Offset: bits 7 … 2 the
// counter, 8 the end of the turn, 13 and 12 what is done, on gfx10 15 and 14 how many more counters, one for
// each lane from the first on. aux: the offset; src[0] the values.
void ordered_count(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  GlobalDataShare* const share = wave->core->global_data_share();
  if (share == nullptr) return stop_without_gds(op, wave);
  if (!wave->core->is_ordered_turn(*wave)) {
    wave->stop = Stop::kSleep;
    RIGEL_LEAVE(op, wave);
  }
  const uint32_t offset = op->aux;
  const uint32_t count = 1 + static_cast<uint32_t>(op->imm);
  const uint32_t base = (scalar(registers, scalar_offset(isa::code::kM0)) >> 16) + (offset & 0xfc);
  const bool exchange = (offset >> 12 & 3) == 1;
  if (exec != 0) {
    const uint32_t* const values = row(registers, op->src[0].offset);
    const unsigned first = first_lane(exec);
    uint32_t olds[4] = {};
    {
      GlobalDataShare::Held held(*share);
      for (uint32_t i = 0; i < count && i < 64 - first; ++i) {
        const uint32_t at = (base & ~3u) + i * 4;
        if ((exec >> (first + i) & 1) == 0 || at > GlobalDataShare::kBytes - 4) continue;
        olds[i] = load_as<uint32_t>(held.bytes() + at);
        store_as(held.bytes() + at, exchange ? values[first + i] : olds[i] + values[first + i]);
      }
    }
    uint32_t* const to = row(registers, op->dst);
    for_lanes<64>(exec, [&](unsigned lane) { to[lane] = olds[lane - first < count ? lane - first : 0]; });
  }
  if ((offset & 0x100) != 0) wave->core->end_ordered_turn(*wave);
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

Refusal lower_ordered_count(const isa::Instruction& instruction, const LoweringContext& context,
                            Emitter& out) {
  const RegisterLayout& layout = context.layout;
  const auto offset = static_cast<uint32_t>(instruction.offset);
  if ((offset >> 12 & 3) > 1) return "an ordered operation that does not exist";
  if (!instruction.vaddr.is_vgpr() || !instruction.vdst.is_vgpr() || !in_file(instruction.vaddr, 1, layout) ||
      !in_file(instruction.vdst, 1, layout)) {
    return kRefuseRegister;
  }
  MicroOp& op = out.emit(ordered_count);
  op.src[0].offset = layout.vgpr_offset(instruction.vaddr.vgpr());
  op.dst = layout.vgpr_offset(instruction.vdst.vgpr());
  op.aux = offset;
  op.imm = context.traits().ordered_count_has_dwords ? offset >> 14 & 3 : 0;
  return {};
}

}  // namespace

template <unsigned W>
void access_lds(Wave* wave, const Shape& shape, const uint32_t* offsets, uint64_t exec, uint32_t limit,
                const DataRows& rows) {
  Offsets aligned;
  const uint32_t mask = shape.verb == Verb::kAtomic ? ~(shape.bytes - 1u) : ~0u;
  for (unsigned lane = 0; lane < W; ++lane) aligned.of[lane] = offsets[lane] & mask;
  const uint64_t inside = lanes_in_range<W>(aligned.of, exec, shape.bytes, limit);
  switch (shape.verb) {
    case Verb::kLoad:
      return load_elements<W>(wave, shape, aligned.of, exec, inside, rows.result);
    case Verb::kStore:
      return store_elements<W>(wave, shape, aligned.of, inside, rows.data);
    case Verb::kAtomic:
      break;
  }
  atomic_elements<W>(wave, shape, aligned.of, exec, inside,
                     {rows.data, rows.data + shape.dwords() * W * 4, rows.result, rows.returns, false},
                     FloatEnvironment::kKeepDenormals);
}

void access_lds(Wave* wave, const Shape& shape, const uint32_t* offsets, uint64_t exec, uint32_t limit,
                const DataRows& rows) {
  wave->layout.wave_size == 64 ? access_lds<64>(wave, shape, offsets, exec, limit, rows)
                               : access_lds<32>(wave, shape, offsets, exec, limit, rows);
}

Refusal lower_lds(const isa::Instruction& instruction, LoweringContext& context, Emitter& out) {
  using isa::Op;
  const RegisterLayout& layout = context.layout;
  const Op name = instruction.op;
  if (name == Op::ds_nop) return {};
  if (is_lane_exchange(name)) return lower_lane_exchange(instruction, context, out);
  if (isa::op_class(name) == isa::OpClass::kGlobalSync) return lower_gws(instruction, context, out);
  if (name == Op::ds_ordered_count) return lower_ordered_count(instruction, context, out);
  const bool m0_limits = context.traits().m0_limits_lds;
  if (name == Op::ds_append || name == Op::ds_consume) {
    if (!in_file(instruction.vdst, 1, layout)) return kRefuseRegister;
    MicroOp& op = out.emit(count_lanes);
    op.dst = layout.vgpr_offset(instruction.vdst.vgpr());
    op.dst2 = instruction.gds;
    op.aux = static_cast<uint32_t>(instruction.offset);
    op.imm = name == Op::ds_append;
    return {};
  }
  const isa::MemoryShape* const shape = isa::memory_shape(name);
  if (!shape) return "DS instruction that is not executed";

  LdsAccess access;
  access.shape = *shape;
  const unsigned elements = shape->pair ? 2 : 1;
  if (!in_file(instruction.vaddr, 1, layout) || !in_file(instruction.vdata, shape->dwords(), layout) ||
      !in_file(instruction.vdata2, shape->dwords(), layout) ||
      !in_file(instruction.vdst, shape->dwords() * elements, layout)) {
    return kRefuseRegister;
  }
  const auto rows_of = [&](const isa::Operand& operand) {
    return operand.is_vgpr() ? layout.vgpr_offset(operand.vgpr()) : 0;
  };
  access.address = rows_of(instruction.vaddr);
  access.rows.data = rows_of(instruction.vdata);
  access.rows.result = rows_of(instruction.vdst);
  access.second_data = rows_of(instruction.vdata2);
  const uint32_t unit = shape->pair ? shape->bytes * (shape->far_pair ? 64u : 1u) : 1u;
  access.offsets[0] = static_cast<uint32_t>(instruction.offset) * unit;
  access.offsets[1] = instruction.offset1 * unit;
  access.global = instruction.gds;
  access.m0_limits = m0_limits && !access.global;
  if (m0_limits || shape->verb == Verb::kAtomic) access.alignment = shape->bytes == 12 ? 16 : shape->bytes;
  uint8_t denormals = shape->bytes == 8 ? context.mode.denorm64 : context.mode.denorm32;
  if (shape->bytes == 8 && shape->atomic == Atomic::kFloatAdd) denormals = 3;
  access.mxcsr = 0x1f80u | ((denormals & 1) == 0 ? 0x40u : 0u) | ((denormals & 2) == 0 ? 0x8000u : 0u);

  MicroOp& op =
      out.emit(access.global ? general_handler<gds_general> : handler_for(access, layout.wave_size));
  op.src[0].offset = access.address;
  op.src[2].offset = access.rows.data;
  op.dst = access.rows.result;
  op.src[1].offset = access.second_data;
  op.dst2 = access.offsets[1];
  op.aux = access.offsets[0];
  op.imm = reinterpret_cast<uint64_t>(&allocate(out, access));
  return {};
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
