#include "backends/common/sdma.hpp"

#include <algorithm>
#include <bit>

namespace rigel::gfx {
namespace {

// Op in bits 7:0, sub-op in 15:8.
constexpr uint32_t kCopyLinear = 0x0001;
constexpr uint32_t kCopyRect = 0x0401;
constexpr uint32_t kFence = 0x0005;
constexpr uint32_t kTrap = 0x0006;
constexpr uint32_t kPollRegmem = 0x0008;
constexpr uint32_t kAtomic = 0x000a;
constexpr uint32_t kConstFill = 0x000b;
constexpr uint32_t kTimestampGetGlobal = 0x020d;
constexpr uint32_t kUserGcr = 0x0111;

constexpr uint32_t kBroadcast = 1u << 27;
constexpr uint32_t kFillDword = 2u << 30;
constexpr uint32_t kMemoryUncached = 3u << 16;  // MTYPE of a fence
constexpr uint32_t kPollMemory = 1u << 31;
constexpr uint32_t kPollEqual = 3u << 28;
constexpr uint32_t kPollInterval = 10, kPollRetryForever = 0xfff << 16;
constexpr uint32_t kAdd64 = 47u << 25;

// Word 2 of a cache request, whose control starts at bit 16.
constexpr uint32_t kGcrWriteBackScalar = 1u << 22;
constexpr uint32_t kGcrInvalidateScalar = 1u << 23;
constexpr uint32_t kGcrInvalidateVector = 1u << 24;
constexpr uint32_t kGcrInvalidateL1 = 1u << 25;
constexpr uint32_t kGcrInvalidateL2 = 1u << 30;
constexpr uint32_t kGcrWriteBackL2 = 1u << 31;

/// Limits of a rectangular copy, in elements, and the first bit of a pitch.
struct RectLimits {
  uint64_t pitch_max, slice_max;
  uint32_t width_max, height_max, depth_max;
  uint32_t pitch_shift;
};
constexpr RectLimits kRectLimits = {1u << 19, 1u << 28, 1u << 14, 1u << 14, 1u << 11, 13};
constexpr RectLimits kRectLimitsV7 = {1u << 16, uint64_t{1} << 32, 1u << 16, 1u << 16, 1u << 14, 16};
constexpr uint32_t kElementMax = 4;  // log2 of bytes

const RectLimits& rect_limits(SdmaVersion version) {
  return version == SdmaVersion::kV7 ? kRectLimitsV7 : kRectLimits;
}

constexpr uint32_t low(uint64_t value) {
  return static_cast<uint32_t>(value);
}
constexpr uint32_t high(uint64_t value) {
  return static_cast<uint32_t>(value >> 32);
}
constexpr uint64_t packets(uint64_t bytes, uint64_t most) {
  return (bytes + most - 1) / most;
}

/// log2 of the largest element that divides `bytes`.
uint32_t element_of(uint64_t bytes) {
  return static_cast<uint32_t>(std::countr_zero(bytes | 1u << kElementMax));
}

/// Calls tile(x, y, z, element, columns, rows, layers) for every tile of a rectangle. Splits rows into runs
/// of the largest elements that addresses, pitches and the rest of the row allow.
template <class Tile>
void for_each_tile(const SdmaRect& rect, const RectLimits& limits, Tile&& tile) {
  uint32_t largest = element_of(rect.source_pitch | rect.destination_pitch);
  if (rect.depth > 1) largest = std::min(largest, element_of(rect.source_slice | rect.destination_slice));
  for (uint32_t z = 0; z < rect.depth; z += limits.depth_max) {
    for (uint32_t y = 0; y < rect.height; y += limits.height_max) {
      for (uint32_t x = 0; x < rect.width;) {
        // Tiles start at a dword; the remaining offset is in elements.
        const uint32_t left = rect.width - x;
        const uint32_t begin =
            std::min(largest, element_of(((rect.source + x) | (rect.destination + x)) & 3));
        uint32_t element = std::min(begin, element_of(left));
        // A row longer than one tile uses larger elements, and its rest smaller ones.
        if (left >> element > limits.width_max) element = begin;
        const uint32_t columns = std::min(left >> element, limits.width_max);
        tile(x, y, z, element, columns, std::min(rect.height - y, limits.height_max),
             std::min(rect.depth - z, limits.depth_max));
        x += columns << element;
      }
    }
  }
}

/// Returns the smallest element of any tile: pitches and slices must fit in its units.
uint32_t smallest_element(const SdmaRect& rect, const RectLimits& limits) {
  uint32_t smallest = kElementMax;
  for_each_tile(rect, limits,
                [&](uint32_t, uint32_t, uint32_t, uint32_t element, uint32_t, uint32_t, uint32_t) {
                  smallest = std::min(smallest, element);
                });
  return smallest;
}

}  // namespace

bool sdma_serves(const NodeFacts& facts, Quirks quirks, std::string_view wanted) {
  if (wanted == "off" || (quirks & kQuirkNoSdma) != 0 || facts.sdma_engines == 0) return false;
  if (!facts.host_atomics) return false;
  return wanted == "on" || ((quirks & kQuirkSdmaUnstable) == 0 && !facts.on_host_node);
}

size_t SdmaEncoder::copy_packets(uint64_t bytes) const {
  return bytes <= copy_max_ ? 1 : 1 + packets(bytes - copy_max_, copy_part(bytes));
}

uint32_t* SdmaEncoder::copy(uint32_t* to, uint64_t destination, uint64_t source, uint64_t bytes) const {
  while (bytes != 0) {
    const uint32_t part = copy_part(bytes);
    *to++ = kCopyLinear;
    *to++ = count(part);
    *to++ = 0;
    *to++ = low(source);
    *to++ = high(source);
    *to++ = low(destination);
    *to++ = high(destination);
    source += part, destination += part, bytes -= part;
  }
  return to;
}

size_t SdmaEncoder::broadcast_dwords(uint64_t bytes) const {
  return copy_packets(bytes) * kBroadcastDwords;
}

uint32_t* SdmaEncoder::broadcast(uint32_t* to, uint64_t first, uint64_t second, uint64_t source,
                                 uint64_t bytes) const {
  while (bytes != 0) {
    const uint32_t part = copy_part(bytes);
    *to++ = kCopyLinear | kBroadcast;
    *to++ = count(part);
    *to++ = 0;
    *to++ = low(source);
    *to++ = high(source);
    *to++ = low(first);
    *to++ = high(first);
    *to++ = low(second);
    *to++ = high(second);
    source += part, first += part, second += part, bytes -= part;
  }
  return to;
}

size_t SdmaEncoder::fill_dwords(uint64_t bytes) const {
  return packets(bytes, kFillMax) * kFillDwords;
}

uint32_t* SdmaEncoder::fill(uint32_t* to, uint64_t destination, uint32_t value, uint64_t bytes) const {
  while (bytes != 0) {
    const auto part = static_cast<uint32_t>(std::min<uint64_t>(bytes, kFillMax));
    *to++ = kConstFill | kFillDword;
    *to++ = low(destination);
    *to++ = high(destination);
    *to++ = value;
    *to++ = version_ == SdmaVersion::kV3 ? part : part - 4;
    destination += part, bytes -= part;
  }
  return to;
}

size_t SdmaEncoder::rect_dwords(const SdmaRect& rect) const {
  if (version_ == SdmaVersion::kV3) return 0;
  if (rect.width == 0 || rect.height == 0 || rect.depth == 0) return 0;
  if (((rect.source_pitch | rect.destination_pitch) & 3) != 0) return 0;
  if (rect.width > rect.source_pitch || rect.width > rect.destination_pitch) return 0;
  const bool layers = rect.depth > 1;
  if (layers && ((rect.source_slice | rect.destination_slice) & 3) != 0) return 0;
  const RectLimits& limits = rect_limits(version_);
  const uint32_t element = smallest_element(rect, limits);
  if (std::max(rect.source_pitch, rect.destination_pitch) >> element > limits.pitch_max) return 0;
  if (layers) {
    if (std::max(rect.source_slice, rect.destination_slice) >> element > limits.slice_max) return 0;
    if (rect.source_slice == 0 || rect.destination_slice == 0) return 0;
  }
  size_t tiles = 0;
  for_each_tile(rect, limits,
                [&](uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t) { ++tiles; });
  return tiles * kRectDwords;
}

uint32_t* SdmaEncoder::rect(uint32_t* to, const SdmaRect& rect) const {
  const bool layers = rect.depth > 1;
  const RectLimits& limits = rect_limits(version_);
  for_each_tile(rect, limits,
                [&](uint32_t x, uint32_t y, uint32_t z, uint32_t element, uint32_t columns, uint32_t rows,
                    uint32_t depth) {
                  const auto side = [&](uint64_t base, uint64_t pitch, uint64_t slice) {
                    const uint64_t va = base + x + y * pitch + z * slice;
                    *to++ = low(va & ~uint64_t{3});
                    *to++ = high(va);
                    *to++ = low(va & 3) >> element;
                    *to++ = low((pitch >> element) - 1) << limits.pitch_shift;
                    *to++ = layers ? low((slice >> element) - 1) : 0;
                  };
                  *to++ = kCopyRect | element << 29;
                  side(rect.source, rect.source_pitch, rect.source_slice);
                  side(rect.destination, rect.destination_pitch, rect.destination_slice);
                  *to++ = (columns - 1) | (rows - 1) << 16;
                  *to++ = depth - 1;
                });
  return to;
}

uint32_t* SdmaEncoder::poll_equal(uint32_t* to, uint64_t va, uint32_t reference, uint32_t mask) const {
  for (size_t i = 0; i < polls(); ++i) {
    *to++ = kPollRegmem | kPollEqual | kPollMemory;
    *to++ = low(va);
    *to++ = high(va);
    *to++ = reference;
    *to++ = mask;
    *to++ = kPollInterval | kPollRetryForever;
  }
  return to;
}

size_t SdmaEncoder::wait_zero_dwords(int64_t current) const {
  if (current == 0) return 0;
  return high(static_cast<uint64_t>(current)) != 0 ? 2 * poll_dwords() : poll_dwords();
}

uint32_t* SdmaEncoder::wait_zero(uint32_t* to, uint64_t va, int64_t current) const {
  if (current == 0) return to;
  if (high(static_cast<uint64_t>(current)) != 0) to = poll_equal(to, va + 4, 0);
  return poll_equal(to, va, 0);
}

uint32_t* SdmaEncoder::fence(uint32_t* to, uint64_t va, uint32_t value) const {
  *to++ = kFence | (has_cache_requests() ? kMemoryUncached : 0);
  *to++ = low(va);
  *to++ = high(va);
  *to++ = value;
  return to;
}

uint32_t* SdmaEncoder::atomic_add64(uint32_t* to, uint64_t va, int64_t addend) const {
  *to++ = kAtomic | kAdd64;
  *to++ = low(va);
  *to++ = high(va);
  *to++ = low(static_cast<uint64_t>(addend));
  *to++ = high(static_cast<uint64_t>(addend));
  *to++ = 0;
  *to++ = 0;
  *to++ = 0;
  return to;
}

uint32_t* SdmaEncoder::trap(uint32_t* to, uint32_t context) const {
  *to++ = kTrap;
  *to++ = trap_context(context);
  return to;
}

uint32_t* SdmaEncoder::timestamp(uint32_t* to, uint64_t va) const {
  *to++ = kTimestampGetGlobal;
  *to++ = low(va);
  *to++ = high(va);
  return to;
}

uint32_t* SdmaEncoder::completion(uint32_t* to, const SdmaCompletion& completion) const {
  if (completion.position_va != 0) to = fence(to, completion.position_va, completion.position);
  if (completion.value_va != 0) {
    if (completion.atomics) {
      to = atomic_add64(to, completion.value_va, -1);
    } else {
      // The upper half first: a reader that sees the lower half sees both.
      const auto value = static_cast<uint64_t>(completion.plain_value);
      to = fence(to, completion.value_va + 4, high(value));
      to = fence(to, completion.value_va, low(value));
    }
  }
  if (completion.mailbox_va != 0) {
    to = fence(to, completion.mailbox_va, completion.event_id);
    to = trap(to, completion.event_id);
  }
  return to;
}

uint32_t* SdmaEncoder::begin(uint32_t* to) const {
  if (flushes()) {  // a register poll that the engine treats as a flush
    *to++ = kPollRegmem;
    *to++ = 0;
    *to++ = 0x80000000;
    *to++ = 0;
    *to++ = 0;
    *to++ = 0;
  }
  if (has_cache_requests()) {
    *to++ = kUserGcr;
    *to++ = 0;
    // Dirty data is written to memory before it is invalidated.
    *to++ = kGcrInvalidateScalar | kGcrInvalidateVector | kGcrInvalidateL1 | kGcrInvalidateL2 |
            kGcrWriteBackScalar | kGcrWriteBackL2;
    *to++ = 0;
    *to++ = 0;
  }
  return to;
}

uint32_t* SdmaEncoder::end(uint32_t* to) const {
  if (!has_cache_requests()) return to;
  *to++ = kUserGcr;
  *to++ = 0;
  *to++ = kGcrWriteBackScalar | kGcrWriteBackL2;
  *to++ = 0;
  *to++ = 0;
  return to;
}

uint32_t* SdmaEncoder::nop(uint32_t* to, size_t dwords) const {
  constexpr size_t kCountMax = 0x3fff;
  while (dwords != 0) {
    const size_t part = version_ == SdmaVersion::kV3 ? 1 : std::min(dwords, kCountMax + 1);
    *to++ = static_cast<uint32_t>(part - 1) << 16;
    to = std::fill_n(to, part - 1, 0u);
    dwords -= part;
  }
  return to;
}

SdmaPlainCopy::SdmaPlainCopy(const SdmaEncoder& encoder, bool interrupts) : interrupts_(interrupts) {
  static_assert(SdmaEncoder::kPollDwords + 2 * SdmaEncoder::kCacheDwords + SdmaEncoder::kCopyDwords +
                    SdmaEncoder::kAtomicDwords + 2 * SdmaEncoder::kFenceDwords + SdmaEncoder::kTrapDwords <=
                SdmaEncoder::kSmallestSubmission);
  uint32_t* const words = words_.data();
  const auto position = [words](const uint32_t* at) { return static_cast<uint32_t>(at - words); };
  uint32_t* to = encoder.begin(words);
  copy_ = position(to);
  to = encoder.copy(to, 0, 0, 1);
  bias_ = 1 - words[copy_ + 1];
  to = encoder.end(to);
  position_ = position(to);
  completion_ = position_ + SdmaEncoder::kFenceDwords;
  mailbox_ = completion_ + SdmaEncoder::kAtomicDwords;
  to = encoder.completion(to, {.value_va = 1, .position_va = 1, .mailbox_va = interrupts ? 1u : 0u});
  const uint32_t body = position(to);
  dwords_ = position(encoder.nop(to, encoder.padding_dwords(body)));
  written_ = dwords_ != body && encoder.nop_skips() ? body + 1 : dwords_;
}

}  // namespace rigel::gfx
