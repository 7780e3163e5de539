#include "plugins/vgpu/exec/memory_ops/span.hpp"

#include <algorithm>
#include <optional>

#include "plugins/vgpu/exec/check/access.hpp"
#include "plugins/vgpu/exec/memory_ops/atomics.hpp"
#include "plugins/vgpu/exec/memory_ops/rows.hpp"
#include "plugins/vgpu/images/halves.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

uint64_t bytes_of_lane(const Shape& shape, const Span& span) {
  return shape.bytes < 4 ? shape.bytes : (shape.dwords() - 1) * span.dword_stride + 4;
}

// Returns host address minus GPU address if one extent contains all lanes' data. Returns nothing if the
// data are in several extents, or are not accessible.
template <unsigned W>
std::optional<uint64_t> find_all(const void* site, Wave* wave, const Span& span, uint64_t bytes,
                                 Access access) {
  const uint64_t exec = span.active[0];
  const WaveMemory::Extent extent = wave->memory->find_extent(site, span.va[first_lane(exec)], bytes, access);
  if (extent.host == nullptr) return std::nullopt;
  if ((exec & ~lanes_up_to<W>(span.va, extent.begin, extent.bytes - bytes)) != 0) return std::nullopt;
  return reinterpret_cast<uintptr_t>(extent.host) - extent.begin;
}

std::byte* host_at(uint64_t va, uint64_t distance) {
  return reinterpret_cast<std::byte*>(va + distance);
}

// Whether adjacent lanes access adjacent dwords, as in swizzled memory when all lanes have the same offset.
template <unsigned W>
bool is_consecutive(const Span& span) {
  const unsigned first = first_lane(span.active[0]);
  return is_ramp<W>(span.va, span.active[0], span.va[first] - first * uint64_t{4}, 4);
}

template <unsigned W>
bool is_uniform(const Span& span) {
  return is_ramp<W>(span.va, span.active[0], span.va[first_lane(span.active[0])], 0);
}

// Returns the lanes that access an element of `dwords` dwords with one access.
uint64_t lanes_with_elements(const Span& span, unsigned dwords) {
  return dwords == 1 || span.dword_stride == 4 ? span.active[dwords - 1] : 0;
}

template <unsigned W>
void load_all(const Shape& shape, const Span& span, uint64_t distance, std::byte* registers) {
  if (span.active[0] == 0) return;
  const auto place = [&](unsigned lane) { return host_at(span.va[lane], distance); };
  if (shape.bytes < 4) return load_narrow_each<W>(shape, row(registers, 0), span.active[0], place);
  const unsigned dwords = shape.dwords();
  const unsigned first = first_lane(span.active[0]);
  if (is_consecutive<W>(span) && (dwords == 1 || span.dword_stride != 4)) {
    for (unsigned d = 0; d < dwords; ++d) {
      load_consecutive<W>(row(registers, d * W * 4), place(first) - first * size_t{4} + d * span.dword_stride,
                          span.active[d]);
    }
    return;
  }
  with_dwords(dwords, [&](auto count) {
    constexpr unsigned N = count.value;
    const uint64_t whole_elements = lanes_with_elements(span, N);
    if (whole_elements == span.active[0] && is_uniform<W>(span)) {
      uint32_t element[N];
      load_element<N>(element, place(first));
      for (unsigned d = 0; d < N; ++d) fill_row<W>(row(registers, d * W * 4), element[d], whole_elements);
      return;
    }
    load_each<W, N>(row(registers, 0), whole_elements, place);
    for (unsigned d = 0; whole_elements != span.active[0] && d < N; ++d) {
      load_each<W, 1>(row(registers, d * W * 4), span.active[d] & ~whole_elements,
                      [&](unsigned lane) { return place(lane) + d * span.dword_stride; });
    }
  });
}

template <unsigned W>
void store_all(const Shape& shape, const Span& span, uint64_t distance, std::byte* registers) {
  if (span.active[0] == 0) return;
  const auto place = [&](unsigned lane) { return host_at(span.va[lane], distance); };
  if (shape.bytes < 4) return store_narrow_each<W>(shape, row(registers, 0), span.active[0], place);
  const unsigned dwords = shape.dwords();
  if (is_consecutive<W>(span) && (dwords == 1 || span.dword_stride >= W * 4)) {
    const unsigned first = first_lane(span.active[0]);
    for (unsigned d = 0; d < dwords; ++d) {
      store_consecutive<W>(row(registers, d * W * 4),
                           place(first) - first * size_t{4} + d * span.dword_stride, span.active[d]);
    }
    return;
  }
  with_dwords(dwords, [&](auto count) {
    constexpr unsigned N = count.value;
    const uint64_t whole_elements = lanes_with_elements(span, N);
    store_each<W, N>(row(registers, 0), whole_elements, place);
    for (unsigned d = 0; whole_elements != span.active[0] && d < N; ++d) {
      store_each<W, 1>(row(registers, d * W * 4), span.active[d] & ~whole_elements,
                       [&](unsigned lane) { return place(lane) + d * span.dword_stride; });
    }
  });
}

// Moves a lane's piece between memory and `data`. The piece may cross pages.
template <Access kAccess>
bool move_piece(const void* site, Wave* wave, uint64_t va, void* data, uint64_t bytes) {
  constexpr bool kStores = kAccess == Access::kWrite;
  if (std::byte* const host = wave->memory->find(site, va, bytes, kAccess)) {
    auto* const local = static_cast<std::byte*>(data);
    std::byte* const destination = kStores ? host : local;
    const std::byte* const source = kStores ? local : host;
    bytes == 16  ? store_at_once(destination, load_at_once<Quad>(source))
    : bytes == 8 ? store_at_once(destination, load_at_once<uint64_t>(source))
    : bytes == 4 ? store_at_once(destination, load_at_once<uint32_t>(source))
    : bytes == 2 ? store_at_once(destination, load_at_once<uint16_t>(source))
                 : static_cast<void>(std::memcpy(destination, source, bytes));
    return true;
  }
  VmFault fault;
  const bool succeeded =
      kStores ? wave->memory->write(va, data, bytes, fault) : wave->memory->read(va, data, bytes, fault);
  return succeeded || stop_with(wave, fault);
}

// Return the register's new value after a load (`previous` is its previous value), and the stored value of a
// register.
uint32_t to_register(const Shape& shape, uint32_t value, uint32_t previous) {
  return shape.bytes < 4 ? narrow_to_register(shape, value, previous) : value;
}
uint32_t from_register(const Shape& shape, uint32_t value) {
  return shape.bytes < 4 ? narrow_from_register(shape, value) : value;
}

// Returns how many dwords from `d` on a lane moves with one access: all active dwords that are adjacent.
unsigned piece_dwords(const Shape& shape, const Span& span, unsigned d, unsigned lane) {
  unsigned end = d + 1;
  while (span.dword_stride == 4 && end < shape.dwords() && (span.active[end] >> lane & 1) != 0) ++end;
  return end - d;
}

// Records all lanes whose access fails, after one has failed. Returns false like the access.
bool record_faulting_lanes(Wave* wave, const Shape& shape, const Span& span, Access access) {
  WaveMemory& memory = *wave->memory;
  LaneFaults& faults = memory.lane_faults();
  faults.clear();
  faults.bytes = shape.bytes;
  for (const unsigned lane : lanes_of(span.active[0])) {
    const uint64_t piece = std::min<uint64_t>(shape.bytes, 4);
    for (unsigned d = 0; d < shape.dwords() && (span.active[d] >> lane & 1) != 0; ++d) {
      uint64_t va = span.va[lane] + d * span.dword_stride;
      if (shape.verb == Verb::kAtomic) va &= ~(piece - 1);
      // Memory that the host unmapped can still have a translation.
      const bool is_fault_va = wave->fault_va - va < piece;
      if (const auto fault = memory.first_fault(va, piece, access); fault || is_fault_va) {
        faults.add(lane, fault.value_or(wave->fault_va));
        break;
      }
    }
  }
  return false;
}

template <Access kAccess>
bool move_scattered(const void* site, Wave* wave, const Shape& shape, const Span& span, uint32_t* rows,
                    unsigned width) {
  constexpr bool kStores = kAccess == Access::kWrite;
  for (const unsigned lane : lanes_of(span.active[0])) {
    for (unsigned d = 0; d < shape.dwords() && (span.active[d] >> lane & 1) != 0;) {
      const unsigned count = piece_dwords(shape, span, d, lane);
      const uint64_t va = span.va[lane] + d * span.dword_stride;
      uint32_t* const lane_registers = rows + d * width + lane;
      uint32_t values[4] = {};
      if constexpr (kStores) {
        for (unsigned i = 0; i < count; ++i) values[i] = from_register(shape, lane_registers[i * width]);
      }
      if (!move_piece<kAccess>(site, wave, va, values, shape.bytes < 4 ? shape.bytes : count * 4))
        return false;
      if constexpr (!kStores) {
        for (unsigned i = 0; i < count; ++i)
          lane_registers[i * width] = to_register(shape, values[i], lane_registers[i * width]);
      }
      d += count;
    }
  }
  return true;
}

template <unsigned W, Access kAccess>
bool move_lanes(const void* site, Wave* wave, const Shape& shape, const Span& span, uint32_t first_row) {
  const auto distance = find_all<W>(site, wave, span, bytes_of_lane(shape, span), kAccess);
  std::byte* const rows = wave->registers + first_row;
  if (!distance) {
    return move_scattered<kAccess>(site, wave, shape, span, row(rows, 0), W) ||
           record_faulting_lanes(wave, shape, span, kAccess);
  }
  if constexpr (kAccess == Access::kWrite) {
    store_all<W>(shape, span, *distance, rows);
  } else {
    load_all<W>(shape, span, *distance, rows);
  }
  return true;
}

// Atomic on a 64-bit value in swizzled memory, which is stored in two parts. Only one lane accesses such
// memory, so two accesses are sufficient.
template <Atomic kAtomic>
bool atomic_in_pieces(const void* site, Wave* wave, uint64_t va, uint64_t stride, uint64_t source,
                      uint64_t other, uint64_t& old) {
  uint32_t halves[2];
  if (!move_piece<Access::kRead>(site, wave, va, &halves[0], 4) ||
      !move_piece<Access::kRead>(site, wave, va + stride, &halves[1], 4)) {
    return false;
  }
  old = halves[0] | uint64_t{halves[1]} << 32;
  const uint64_t next = next_value<kAtomic, uint64_t>(old, source, other);
  halves[0] = static_cast<uint32_t>(next), halves[1] = static_cast<uint32_t>(next >> 32);
  return move_piece<Access::kWrite>(site, wave, va, &halves[0], 4) &&
         move_piece<Access::kWrite>(site, wave, va + stride, &halves[1], 4);
}

// Executes atomics in lane order. Adjacent lanes with the same address are merged.
template <Atomic kAtomic, class T>
bool atomic_lanes(const void* site, Wave* wave, const Span& span, const DataRows& rows, unsigned width) {
  constexpr unsigned kDwords = sizeof(T) / 4;
  const uint32_t* const data = row(wave->registers, rows.data);
  uint32_t* const result = row(wave->registers, rows.result);
  const auto source = [&](unsigned lane) { return operand<T>(data, lane, width); };
  const auto other = [&](unsigned lane) -> T {
    return has_two_operands(kAtomic) ? operand<T>(data + kDwords * width, lane, width) : 0;
  };
  T olds[64];
  for (uint64_t remaining = span.active[0]; remaining != 0;) {
    const unsigned first = first_lane(remaining);
    uint64_t merged = remaining & (~remaining + 1);
    if (kDwords == 2 && span.dword_stride != 4) {
      uint64_t whole_elements = 0;
      if (!atomic_in_pieces<kAtomic>(site, wave, span.va[first] & ~uint64_t{3}, span.dword_stride,
                                     source(first), other(first), whole_elements)) {
        return false;
      }
      olds[first] = static_cast<T>(whole_elements);
    } else {
      const uint64_t va = span.va[first] & ~uint64_t{sizeof(T) - 1};
      std::byte* const host = wave->memory->find(site, va, sizeof(T), Access::kWrite);
      if (host == nullptr) {
        const Translation translation = wave->memory->run(va, sizeof(T), Access::kWrite);
        return stop_with(wave, {va, Access::kWrite, translation.reason, 0});
      }
      merged = atomically_in_a_row<kAtomic>(
          reinterpret_cast<T*>(host), remaining, olds,
          [&](unsigned lane) { return (span.va[lane] & ~uint64_t{sizeof(T) - 1}) == va; }, source, other);
    }
    remaining &= ~merged;
    if (!rows.returns) continue;
    for (const unsigned lane : lanes_of(merged)) put_result(result, lane, width, olds[lane]);
  }
  return true;
}

// Atomics are atomic for all threads, and in lane order. Addresses are aligned down, as in hardware.
bool atomic_span(const void* site, Wave* wave, const Shape& shape, const Span& span, const DataRows& rows) {
  std::optional<MxcsrScope> environment;
  if (is_float(shape.atomic)) {
    environment.emplace(shape.bytes == 4 && shape.atomic == Atomic::kFloatAdd ? kFlushingMxcsr
                                                                              : kDefaultMxcsr);
  }
  const unsigned width = wave->layout.wave_size;
  bool succeeded = false;
  with_atomic(shape.atomic, [&](auto atomic) {
    succeeded = shape.bytes == 8 ? atomic_lanes<atomic.value, uint64_t>(site, wave, span, rows, width)
                                 : atomic_lanes<atomic.value, uint32_t>(site, wave, span, rows, width);
  });
  return succeeded || record_faulting_lanes(wave, shape, span, Access::kWrite);
}

template <unsigned W>
bool access_lanes(const void* site, Wave* wave, const Shape& shape, const Span& span, const DataRows& rows) {
  switch (shape.verb) {
    case Verb::kLoad:
      return move_lanes<W, Access::kRead>(site, wave, shape, span, rows.result);
    case Verb::kStore:
      return move_lanes<W, Access::kWrite>(site, wave, shape, span, rows.data);
    case Verb::kAtomic:
      break;
  }
  return atomic_span(site, wave, shape, span, rows);
}

// Accesses a lane byte by byte: unaligned elements of swizzled memory are in several places.
bool access_bytes(const void* site, Wave* wave, const Shape& shape, const SwizzledSpan& span, unsigned lane,
                  const DataRows& rows) {
  const unsigned width = wave->layout.wave_size;
  const bool stores = shape.verb == Verb::kStore;
  uint32_t* const lane_registers = row(wave->registers, stores ? rows.data : rows.result) + lane;
  uint32_t values[4] = {};
  unsigned count = 0;  // leading dwords that are active
  while (count < shape.dwords() && (span.active[count] >> lane & 1) != 0) ++count;
  if (stores) {
    for (unsigned d = 0; d < count; ++d) values[d] = from_register(shape, lane_registers[d * width]);
  }
  for (unsigned i = 0; i < (shape.bytes < 4 ? shape.bytes : count * 4); ++i) {
    const uint64_t va = span.address(lane, span.offset[lane] + i);
    if constexpr (kChecked) {
      if (stores) checks::define(*wave, va, 1);
    }
    std::byte* const byte = reinterpret_cast<std::byte*>(values) + i;
    if (!(stores ? move_piece<Access::kWrite>(site, wave, va, byte, 1)
                 : move_piece<Access::kRead>(site, wave, va, byte, 1))) {
      return false;
    }
  }
  if (!stores) {
    for (unsigned d = 0; d < count; ++d)
      lane_registers[d * width] = to_register(shape, values[d], lane_registers[d * width]);
  }
  return true;
}

template <unsigned W>
bool access_elements(const void* site, Wave* wave, const Shape& shape, const SwizzledSpan& swizzled,
                     const DataRows& rows) {
  uint64_t straddling = 0;
  if (shape.verb != Verb::kAtomic) {
    const unsigned piece = shape.bytes < 4 ? shape.bytes : 4;
    alignas(64) uint64_t in_dword[W];
    for (unsigned lane = 0; lane < W; ++lane) in_dword[lane] = swizzled.offset[lane] % 4;
    const bool small = swizzled.element_bytes < 4;
    straddling = swizzled.active[0] & (small ? ~uint64_t{0} : ~lanes_up_to<W>(in_dword, 0, 4 - piece));
  }
  alignas(64) uint64_t in_element[W];
  for (unsigned lane = 0; lane < W; ++lane)
    in_element[lane] = swizzled.offset[lane] & (swizzled.element_bytes - 1);
  const bool is_within_element =
      shape.bytes <= swizzled.element_bytes &&
      (swizzled.active[0] & ~lanes_up_to<W>(in_element, 0, swizzled.element_bytes - shape.bytes)) == 0;
  // All dwords at once if their distance is constant, otherwise one at a time.
  const bool has_constant_stride =
      is_within_element || shape.dwords() == 1 || swizzled.element_bytes == 4 || shape.verb == Verb::kAtomic;
  Shape part = shape;
  if (!has_constant_stride) part.bytes = 4;
  const uint64_t whole_elements = shape.verb == Verb::kAtomic ? ~uint64_t{3} : ~uint64_t{0};
  const uint64_t stride = swizzled.element_stride;
  const int element_bits = std::countr_zero(swizzled.element_bytes);
  for (unsigned d = 0; d < (has_constant_stride ? 1 : shape.dwords()); ++d) {
    Span span;
    for (unsigned lane = 0; lane < W; ++lane) {
      const uint64_t offset = (swizzled.offset[lane] + d * 4) & whole_elements;
      span.va[lane] =
          swizzled.base[lane] + (offset >> element_bits) * stride + (offset & (swizzled.element_bytes - 1));
    }
    span.dword_stride = has_constant_stride && swizzled.element_bytes == 4 ? swizzled.element_stride : 4;
    for (unsigned i = 0; i < 4; ++i) {
      span.active[i] = swizzled.active[has_constant_stride ? i : d] & ~straddling;
    }
    const DataRows part_rows = {rows.data + d * W * 4, rows.result + d * W * 4, rows.returns};
    if (!access_span(site, wave, part, span, part_rows)) return false;
  }
  for (const unsigned lane : lanes_of(straddling)) {
    if (access_bytes(site, wave, shape, swizzled, lane, rows)) continue;
    wave->memory->lane_faults().clear();
    wave->memory->lane_faults().add(lane, wave->fault_va);
    return false;
  }
  return true;
}

}  // namespace

void load_at_distance(const Shape& shape, const Span& span, uint64_t distance, unsigned width,
                      std::byte* to) {
  width == 64 ? load_all<64>(shape, span, distance, to) : load_all<32>(shape, span, distance, to);
}
void store_at_distance(const Shape& shape, const Span& span, uint64_t distance, unsigned width,
                       std::byte* from) {
  width == 64 ? store_all<64>(shape, span, distance, from) : store_all<32>(shape, span, distance, from);
}

// Reports the lanes' accesses to the checks. Swizzled memory is the queue's scratch, whose bounds have other
// checks. Returns false if the handler must leave.
[[maybe_unused]] static bool report_to_checks(Wave& wave, const Shape& shape, const Span& span,
                                              const DataRows& rows) {
  if (!checks::move_memory(wave, {&shape, rows.data, rows.result, rows.returns}, span.va, span.active,
                           span.dword_stride))
    return false;
  if (span.dword_stride != 4) return true;
  LaneAccesses accesses;
  accesses.kind = access_kind(shape.verb);
  std::copy(std::begin(span.va), std::end(span.va), accesses.at);
  // Lanes that access fewer dwords, at the end of a buffer, are reported separately.
  for (unsigned dwords = shape.dwords(); dwords != 0; --dwords) {
    const uint64_t longer = dwords == shape.dwords() ? 0 : span.active[dwords];
    accesses.lanes = span.active[dwords - 1] & ~longer;
    accesses.bytes = shape.bytes < 4 ? shape.bytes : dwords * 4;
    if (accesses.lanes != 0) checks::access_memory(wave, accesses);
  }
  return true;
}

bool access_span(const void* site, Wave* wave, const Shape& shape, const Span& span, const DataRows& rows) {
  if (span.active[0] == 0) return true;
  if constexpr (kChecked) {
    if (!report_to_checks(*wave, shape, span, rows)) return false;
  }
  return wave->layout.wave_size == 64 ? access_lanes<64>(site, wave, shape, span, rows)
                                      : access_lanes<32>(site, wave, shape, span, rows);
}

bool access_swizzled(const void* site, Wave* wave, const Shape& shape, const SwizzledSpan& swizzled,
                     const DataRows& rows) {
  return wave->layout.wave_size == 64 ? access_elements<64>(site, wave, shape, swizzled, rows)
                                      : access_elements<32>(site, wave, shape, swizzled, rows);
}

void zero_results(const Wave* wave, const Shape& shape, uint32_t result, const uint64_t (&active)[4],
                  uint64_t exec) {
  const unsigned width = wave->layout.wave_size;
  for (unsigned d = 0; d < shape.dwords(); ++d) {
    uint32_t* const registers = row(wave->registers, result + d * width * 4);
    for (const unsigned lane : lanes_of(exec & ~active[d]))
      registers[lane] = to_register(shape, 0, registers[lane]);
  }
}

// Sums of two finite halves are exact in single precision, unless the exponents are far apart. Then the
// rounded single is on the same side of each half's midpoint as the exact sum, so the result is rounded
// once in effect.
uint32_t add_packed_halves(uint32_t a, uint32_t b) {
  const auto half = [](uint32_t x, uint32_t y) {
    for (const uint32_t bits : {x & 0xffff, y & 0xffff}) {
      if ((bits & 0x7fff) > 0x7c00) return bits | 0x200;
    }
    return static_cast<uint32_t>(
        images::half_from_float(images::float_from_half(x & 0xffff) + images::float_from_half(y & 0xffff)));
  };
  return half(a, b) | half(a >> 16, b >> 16) << 16;
}

uint32_t add_packed_bf16(uint32_t a, uint32_t b) {
  const auto half = [](uint32_t x, uint32_t y) {
    for (const uint32_t bits : {x & 0xffff, y & 0xffff}) {
      if ((bits & 0x7fff) > 0x7f80) return bits | 0x40;
    }
    const float sum = std::bit_cast<float>(x << 16) + std::bit_cast<float>(y << 16);
    const auto bits = std::bit_cast<uint32_t>(sum);
    if (sum != sum) return bits >> 16 | 0x40;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  };
  return half(a & 0xffff, b & 0xffff) | half(a >> 16, b >> 16) << 16;
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
