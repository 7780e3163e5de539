#include "plugins/vgpu/exec/memory_ops/span.hpp"

#include <algorithm>
#include <optional>

#include "plugins/vgpu/exec/memory_ops/atomics.hpp"
#include "plugins/vgpu/exec/memory_ops/halves.hpp"
#include "plugins/vgpu/exec/memory_ops/rows.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

// The active lanes' data in one piece of host memory: at host + offsets[lane].
struct Window {
  std::byte* host = nullptr;  // null: they lie in several, or cannot all be accessed
  alignas(64) uint32_t offsets[64];
  uint32_t first = 0;  // offset of the first active lane
};

template <unsigned W>
Window find_window(const void* site, Wave* wave, const Span& span, uint64_t bytes_of_lane, Access access) {
  Window window;
  const uint64_t exec = span.active[0];
  uint64_t low = ~uint64_t{0}, high = 0;
  for_lanes<W>(exec, [&](unsigned lane) {
    low = std::min(low, span.va[lane]);
    high = std::max(high, span.va[lane]);
  });
  if (high - low > 0xffffffff - bytes_of_lane) return window;
  window.host = wave->memory->find(site, low, high - low + bytes_of_lane, access);
  if (window.host == nullptr) return window;
  for (unsigned lane = 0; lane < W; ++lane) window.offsets[lane] = static_cast<uint32_t>(span.va[lane] - low);
  window.first = window.offsets[first_lane(exec)];
  return window;
}

uint64_t bytes_of_lane(const Shape& shape, const Span& span) {
  return shape.bytes < 4 ? shape.bytes : (shape.dwords() - 1) * span.dword_stride + 4;
}

template <unsigned W>
void load_dwords(const Shape& shape, const Span& span, const Window& window, std::byte* to) {
  const unsigned dwords = shape.dwords();
  const uint64_t exec = span.active[0];
  if (is_ramp<W>(window.offsets, exec, window.first - first_lane(exec) * 4, 4)) {  // swizzled, or one dword
    const std::byte* const lane0 = window.host + window.first - first_lane(exec) * size_t{4};
    for (unsigned d = 0; d < dwords; ++d) {
      load_consecutive<W, 1>(to + d * W * 4, lane0 + d * span.dword_stride, span.active[d]);
    }
    return;
  }
  const bool broadcast = is_uniform<W>(window.offsets, exec, window.first);
  for (unsigned d = 0; d < dwords; ++d) {
    const std::byte* const host = window.host + d * span.dword_stride;
    uint32_t* const low = row(to, d * W * 4);
    const bool both = d + 1 < dwords && span.dword_stride == 4 && span.active[d + 1] == span.active[d];
    if (broadcast && both) {
      const auto value = load_as<uint64_t>(host + window.first);
      fill_row<W>(low, static_cast<uint32_t>(value), span.active[d]);
      fill_row<W>(low + W, static_cast<uint32_t>(value >> 32), span.active[d]);
    } else if (broadcast) {
      if (span.active[d] != 0) fill_row<W>(low, load_as<uint32_t>(host + window.first), span.active[d]);
    } else if (both) {
      gather2<W>(low, low + W, host, window.offsets, span.active[d]);
    } else {
      gather<W>(low, host, window.offsets, span.active[d]);
    }
    if (both) ++d;
  }
}

template <unsigned W>
void store_dwords(const Shape& shape, const Span& span, const Window& window, std::byte* from) {
  const unsigned dwords = shape.dwords();
  const uint64_t exec = span.active[0];
  if (is_ramp<W>(window.offsets, exec, window.first - first_lane(exec) * 4, 4) &&
      (dwords == 1 || span.dword_stride >= W * 4)) {
    std::byte* const lane0 = window.host + window.first - first_lane(exec) * size_t{4};
    for (unsigned d = 0; d < dwords; ++d) {
      store_consecutive<W, 1>(from + d * W * 4, lane0 + d * span.dword_stride, span.active[d]);
    }
    return;
  }
  // Lanes may overlap in odd ways; each dword in the order of lanes is what hardware promises at most.
  for (unsigned d = 0; d < dwords; ++d) {
    std::byte* const host = window.host + d * span.dword_stride;
    const uint32_t* const low = row(from, d * W * 4);
    if (d + 1 < dwords && span.dword_stride == 4 && span.active[d + 1] == span.active[d]) {
      scatter2<W>(low, low + W, host, window.offsets, span.active[d]);
      ++d;
    } else {
      scatter<W>(low, host, window.offsets, span.active[d]);
    }
  }
}

template <unsigned W, class T>
void load_narrow(const Shape& shape, uint64_t exec, const Window& window, uint32_t* to) {
  for_lanes<W>(exec, [&](unsigned lane) {
    to[lane] = narrow_to_register(shape, load_as<T>(window.host + window.offsets[lane]), to[lane]);
  });
}

template <unsigned W, class T>
void store_narrow(const Shape& shape, uint64_t exec, const Window& window, const uint32_t* from) {
  for_lanes<W>(exec, [&](unsigned lane) {
    store_as(window.host + window.offsets[lane], static_cast<T>(narrow_from_register(shape, from[lane])));
  });
}

// One lane's piece of memory that may cross pages.
bool read_piece(const void* site, Wave* wave, uint64_t va, void* to, uint64_t bytes) {
  if (const std::byte* host = wave->memory->find(site, va, bytes, Access::kRead)) {
    bytes == 8   ? store_as(static_cast<std::byte*>(to), load_as<uint64_t>(host))
    : bytes == 4 ? store_as(static_cast<std::byte*>(to), load_as<uint32_t>(host))
                 : static_cast<void>(std::memcpy(to, host, bytes));
    return true;
  }
  VmFault fault;
  return wave->memory->read(va, to, bytes, fault) || stop_with(wave, fault);
}

bool write_piece(const void* site, Wave* wave, uint64_t va, const void* from, uint64_t bytes) {
  if (std::byte* host = wave->memory->find(site, va, bytes, Access::kWrite)) {
    bytes == 8   ? store_as(host, load_as<uint64_t>(static_cast<const std::byte*>(from)))
    : bytes == 4 ? store_as(host, load_as<uint32_t>(static_cast<const std::byte*>(from)))
                 : static_cast<void>(std::memcpy(host, from, bytes));
    return true;
  }
  VmFault fault;
  return wave->memory->write(va, from, bytes, fault) || stop_with(wave, fault);
}

// How many dwords from `d` on one lane moves at once: two where they are neighbours.
unsigned piece_dwords(const Shape& shape, const Span& span, unsigned d, unsigned lane) {
  return d + 1 < shape.dwords() && span.dword_stride == 4 && (span.active[d + 1] >> lane & 1) != 0 ? 2 : 1;
}

// Lane by lane, each where it is.
bool load_scattered(const void* site, Wave* wave, const Shape& shape, const Span& span, uint32_t* to,
                    unsigned width) {
  for (uint64_t left = span.active[0]; left != 0; left &= left - 1) {
    const unsigned lane = first_lane(left);
    if (shape.bytes < 4) {
      uint32_t value = 0;
      if (!read_piece(site, wave, span.va[lane], &value, shape.bytes)) return false;
      to[lane] = narrow_to_register(shape, value, to[lane]);
      continue;
    }
    for (unsigned d = 0; d < shape.dwords() && (span.active[d] >> lane & 1) != 0;) {
      const unsigned count = piece_dwords(shape, span, d, lane);
      uint32_t values[2];
      if (!read_piece(site, wave, span.va[lane] + d * span.dword_stride, values, count * 4)) return false;
      for (unsigned i = 0; i < count; ++i, ++d) to[d * width + lane] = values[i];
    }
  }
  return true;
}

bool store_scattered(const void* site, Wave* wave, const Shape& shape, const Span& span, const uint32_t* from,
                     unsigned width) {
  for (uint64_t left = span.active[0]; left != 0; left &= left - 1) {
    const unsigned lane = first_lane(left);
    if (shape.bytes < 4) {
      const uint32_t value = narrow_from_register(shape, from[lane]);
      if (!write_piece(site, wave, span.va[lane], &value, shape.bytes)) return false;
      continue;
    }
    for (unsigned d = 0; d < shape.dwords() && (span.active[d] >> lane & 1) != 0;) {
      const unsigned count = piece_dwords(shape, span, d, lane);
      const uint32_t values[2] = {from[d * width + lane], count == 2 ? from[(d + 1) * width + lane] : 0};
      if (!write_piece(site, wave, span.va[lane] + d * span.dword_stride, values, count * 4)) return false;
      d += count;
    }
  }
  return true;
}

template <unsigned W>
bool load_lanes(const void* site, Wave* wave, const Shape& shape, const Span& span, const DataRows& rows) {
  const Window window = find_window<W>(site, wave, span, bytes_of_lane(shape, span), Access::kRead);
  std::byte* const to = wave->registers + rows.result;
  if (window.host == nullptr) return load_scattered(site, wave, shape, span, row(to, 0), W);
  switch (shape.bytes) {
    case 1:
      load_narrow<W, uint8_t>(shape, span.active[0], window, row(to, 0));
      break;
    case 2:
      load_narrow<W, uint16_t>(shape, span.active[0], window, row(to, 0));
      break;
    default:
      load_dwords<W>(shape, span, window, to);
      break;
  }
  return true;
}

template <unsigned W>
bool store_lanes(const void* site, Wave* wave, const Shape& shape, const Span& span, const DataRows& rows) {
  const Window window = find_window<W>(site, wave, span, bytes_of_lane(shape, span), Access::kWrite);
  std::byte* const from = wave->registers + rows.data;
  if (window.host == nullptr) return store_scattered(site, wave, shape, span, row(from, 0), W);
  switch (shape.bytes) {
    case 1:
      store_narrow<W, uint8_t>(shape, span.active[0], window, row(from, 0));
      break;
    case 2:
      store_narrow<W, uint16_t>(shape, span.active[0], window, row(from, 0));
      break;
    default:
      store_dwords<W>(shape, span, window, from);
      break;
  }
  return true;
}

// A 64-bit value of swizzled memory lies in two pieces. Such memory is a lane's own, so nothing can come
// between them.
template <Atomic kAtomic>
bool atomic_in_pieces(const void* site, Wave* wave, uint64_t va, uint64_t stride, uint64_t source,
                      uint64_t other, uint64_t& old) {
  uint32_t halves[2];
  if (!read_piece(site, wave, va, &halves[0], 4) || !read_piece(site, wave, va + stride, &halves[1], 4)) {
    return false;
  }
  old = halves[0] | uint64_t{halves[1]} << 32;
  const uint64_t next = next_value<kAtomic, uint64_t>(old, source, other);
  halves[0] = static_cast<uint32_t>(next), halves[1] = static_cast<uint32_t>(next >> 32);
  return write_piece(site, wave, va, &halves[0], 4) && write_piece(site, wave, va + stride, &halves[1], 4);
}

template <Atomic kAtomic, class T>
bool atomic_lanes(const void* site, Wave* wave, const Span& span, const DataRows& rows, unsigned width) {
  constexpr unsigned kDwords = sizeof(T) / 4;
  const uint32_t* const data = row(wave->registers, rows.data);
  uint32_t* const result = row(wave->registers, rows.result);
  const auto operand = [&](unsigned index, unsigned lane) {
    const uint32_t* const from = data + index * kDwords * width + lane;
    if constexpr (kDwords == 1) {
      return *from;
    } else {
      return from[0] | uint64_t{from[width]} << 32;
    }
  };
  for (uint64_t left = span.active[0]; left != 0; left &= left - 1) {
    const unsigned lane = first_lane(left);
    const T source = operand(0, lane);
    const T other = has_two_operands(kAtomic) ? operand(1, lane) : 0;
    T old = 0;
    if (kDwords == 2 && span.dword_stride != 4) {
      uint64_t whole = 0;
      if (!atomic_in_pieces<kAtomic>(site, wave, span.va[lane] & ~uint64_t{3}, span.dword_stride, source,
                                     other, whole)) {
        return false;
      }
      old = static_cast<T>(whole);
    } else {
      const uint64_t va = span.va[lane] & ~uint64_t{sizeof(T) - 1};
      std::byte* const host = wave->memory->find(site, va, sizeof(T), Access::kWrite);
      if (host == nullptr) {
        const Translation found = wave->memory->run(va, sizeof(T), Access::kWrite);
        return stop_with(wave, {va, Access::kWrite, found.reason, 0});
      }
      old = atomically<kAtomic>(reinterpret_cast<T*>(host), source, other);
    }
    if (!rows.returns) continue;
    result[lane] = static_cast<uint32_t>(old);
    if constexpr (kDwords == 2) result[width + lane] = static_cast<uint32_t>(old >> 32);
  }
  return true;
}

}  // namespace

bool load_span(const void* site, Wave* wave, const Shape& shape, const Span& span, const DataRows& rows) {
  return wave->layout.wave_size == 64 ? load_lanes<64>(site, wave, shape, span, rows)
                                      : load_lanes<32>(site, wave, shape, span, rows);
}

bool store_span(const void* site, Wave* wave, const Shape& shape, const Span& span, const DataRows& rows) {
  return wave->layout.wave_size == 64 ? store_lanes<64>(site, wave, shape, span, rows)
                                      : store_lanes<32>(site, wave, shape, span, rows);
}

bool atomic_span(const void* site, Wave* wave, const Shape& shape, const Span& span, const DataRows& rows) {
  std::optional<FloatEnvironment> environment;
  if (is_float(shape.atomic)) {
    environment.emplace(shape.bytes == 4 && shape.atomic == Atomic::kFloatAdd
                            ? FloatEnvironment::kFlushDenormals
                            : FloatEnvironment::kKeepDenormals);
  }
  const unsigned width = wave->layout.wave_size;
  bool done = false;
  with_atomic(shape.atomic, [&](auto atomic) {
    done = shape.bytes == 8 ? atomic_lanes<atomic.value, uint64_t>(site, wave, span, rows, width)
                            : atomic_lanes<atomic.value, uint32_t>(site, wave, span, rows, width);
  });
  return done;
}

namespace {

// A lane's bytes one by one: elements of swizzled memory that are not aligned lie in several places.
bool access_bytes(const void* site, Wave* wave, const Shape& shape, const SwizzledSpan& span, unsigned lane,
                  const DataRows& rows) {
  const unsigned width = wave->layout.wave_size;
  uint8_t bytes[16] = {};
  unsigned count = 0;  // dwords may be left out from some on
  while (count < shape.dwords() && (span.active[count] >> lane & 1) != 0) ++count;
  const unsigned size = shape.bytes < 4 ? shape.bytes : count * 4;
  const auto address = [&](unsigned i) { return span.address(lane, span.offset[lane] + i); };
  if (shape.verb == Verb::kStore) {
    const uint32_t* const from = row(wave->registers, rows.data);
    for (unsigned d = 0; d < count; ++d) {
      const uint32_t value =
          shape.bytes < 4 ? narrow_from_register(shape, from[lane]) : from[d * width + lane];
      std::memcpy(bytes + d * 4, &value, 4);
    }
    for (unsigned i = 0; i < size; ++i) {
      if (!write_piece(site, wave, address(i), bytes + i, 1)) return false;
    }
    return true;
  }
  for (unsigned i = 0; i < size; ++i) {
    if (!read_piece(site, wave, address(i), bytes + i, 1)) return false;
  }
  uint32_t* const to = row(wave->registers, rows.result);
  for (unsigned d = 0; d < count; ++d) {
    uint32_t value;
    std::memcpy(&value, bytes + d * 4, 4);
    to[d * width + lane] = shape.bytes < 4 ? narrow_to_register(shape, value, to[lane]) : value;
  }
  return true;
}

}  // namespace

bool access_swizzled(const void* site, Wave* wave, const Shape& shape, const SwizzledSpan& swizzled,
                     const DataRows& rows) {
  const unsigned width = wave->layout.wave_size;
  uint64_t straddling = 0;
  if (shape.verb != Verb::kAtomic) {
    const unsigned piece = shape.bytes < 4 ? shape.bytes : 4;
    for (uint64_t left = swizzled.active[0]; left != 0; left &= left - 1) {
      const unsigned lane = first_lane(left);
      if (swizzled.element_bytes < 4 || swizzled.offset[lane] % 4 + piece > 4) {
        straddling |= uint64_t{1} << lane;
      }
    }
  }
  // All dwords at once if they are equally far apart, else one after the other.
  const bool even = shape.dwords() == 1 || swizzled.element_bytes == 4 || shape.verb == Verb::kAtomic;
  Shape part = shape;
  if (!even) part.bytes = 4;
  for (unsigned d = 0; d < (even ? 1 : shape.dwords()); ++d) {
    Span span;
    for (uint64_t left = swizzled.active[d]; left != 0; left &= left - 1) {
      const unsigned lane = first_lane(left);
      const uint64_t offset = swizzled.offset[lane] + d * 4;
      span.va[lane] = swizzled.address(lane, shape.verb == Verb::kAtomic ? offset & ~uint64_t{3} : offset);
    }
    span.dword_stride = even && swizzled.element_bytes == 4 ? swizzled.element_stride : 4;
    for (unsigned i = 0; i < 4; ++i) {
      span.active[i] = swizzled.active[even ? i : d] & ~straddling;
    }
    const DataRows moved = {rows.data + d * width * 4, rows.result + d * width * 4, rows.returns};
    if (!access_span(site, wave, part, span, moved)) return false;
  }
  for (; straddling != 0; straddling &= straddling - 1) {
    if (!access_bytes(site, wave, shape, swizzled, first_lane(straddling), rows)) return false;
  }
  return true;
}

// Finite sums of two halves fit a single without rounding, but for exponents far apart, where the rounded
// single lies on the same side of every half's midpoint as the exact sum: one rounding in effect.
uint32_t add_packed_halves(uint32_t a, uint32_t b) {
  const auto half = [](uint32_t x, uint32_t y) {
    return static_cast<uint32_t>(half_from_float(float_from_half(x & 0xffff) + float_from_half(y & 0xffff)));
  };
  return half(a, b) | half(a >> 16, b >> 16) << 16;
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
