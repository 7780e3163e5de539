// Packets of the copy engines (SDMA), in four dialects.
//
// An encoder is a value: dialect, limits and quirks of one device. Its functions append packets to a
// sufficiently large buffer (the …_dwords functions return the size) and return the end. Only SdmaRing
// concerns rings, by index arithmetic. Pure; any thread.
//
// Sources of layouts: Linux (amdgpu/vega10_sdma_pkt_open.h, navi10_sdma_pkt_open.h, iceland_sdma_pkt_open.h);
// rectangles of v7: ROCr (sdma_registers.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "backends/common/chip.hpp"

namespace rigel::gfx {

/// A box in linear memory, for rectangular copies. All sizes are in bytes, except height and depth.
struct SdmaRect {
  uint64_t source = 0;
  uint64_t source_pitch = 0;  ///< from row to row
  uint64_t source_slice = 0;  ///< from layer to layer; used if depth > 1
  uint64_t destination = 0;
  uint64_t destination_pitch = 0;
  uint64_t destination_slice = 0;
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t depth = 0;
};

/// Announcement of an engine that all earlier packets are complete.
struct SdmaCompletion {
  uint64_t value_va = 0;  ///< 64 bits, decremented by one; 0: none
  bool atomics = true;    ///< the link carries atomics; otherwise `plain_value` is stored
  int64_t plain_value = 0;
  uint64_t position_va = 0;  ///< receives `position` before that; 0: none
  uint32_t position = 0;
  uint64_t mailbox_va = 0;  ///< receives `event_id`, followed by an interrupt; 0: none
  uint32_t event_id = 0;
};

/// Whether a device uses copy engines. `wanted` is "auto", "on" or "off". "auto" excludes unstable engines,
/// and APUs, where kernels copy as fast.
///
/// Engines are never used if user mode has none, or if they cannot announce completion. An engine decrements
/// signals by PCIe atomics, which not every root complex supports. The firmware of compute queues needs none.
bool sdma_serves(const NodeFacts& facts, Quirks quirks, std::string_view wanted);

class SdmaEncoder {
 public:
  static constexpr size_t kCopyDwords = 7;
  static constexpr size_t kBroadcastDwords = 9;
  static constexpr size_t kRectDwords = 13;
  static constexpr size_t kFillDwords = 5;
  static constexpr size_t kFenceDwords = 4;
  static constexpr size_t kTrapDwords = 2;
  static constexpr size_t kPollDwords = 6;
  static constexpr size_t kAtomicDwords = 8;
  static constexpr size_t kTimestampDwords = 3;
  static constexpr size_t kCacheDwords = 5;
  static constexpr uint32_t kFillMax = 0x3fffe0;     ///< bytes of one packet
  static constexpr size_t kSmallestSubmission = 64;  ///< dwords, with kQuirkSdmaSmallSubmission
  static constexpr uint32_t kTimestampAlignment = 32;

  SdmaEncoder(SdmaVersion version, uint32_t copy_max, Quirks quirks)
      : version_(version), copy_max_(copy_max), quirks_(quirks) {}

  SdmaVersion version() const { return version_; }
  uint32_t copy_max() const { return copy_max_; }

  // Copies and fills
  // -----------------------------------------------------------------------------------------

  /// For any addresses and number of bytes except 0.
  size_t copy_dwords(uint64_t bytes) const {
    return bytes <= copy_max_ ? kCopyDwords : copy_packets(bytes) * kCopyDwords;
  }
  uint32_t* copy(uint32_t* to, uint64_t destination, uint64_t source, uint64_t bytes) const;

  /// Copies to two destinations, with one read. Dialects v3 and v4; others need two copies.
  bool can_broadcast() const { return !has_cache_requests(); }
  size_t broadcast_dwords(uint64_t bytes) const;
  uint32_t* broadcast(uint32_t* to, uint64_t first, uint64_t second, uint64_t source, uint64_t bytes) const;

  /// Repeats `value`; the address and the size (not 0) are multiples of 4.
  size_t fill_dwords(uint64_t bytes) const;
  uint32_t* fill(uint32_t* to, uint64_t destination, uint32_t value, uint64_t bytes) const;

  /// Dwords of a rectangular copy, or 0 if not supported. Requires v4 or later; addresses, pitches and slices
  /// must be multiples of 4, rows at most as long as pitches, and pitches and slices in range.
  size_t rect_dwords(const SdmaRect& rect) const;
  uint32_t* rect(uint32_t* to, const SdmaRect& rect) const;

  // Order and announcement
  // -----------------------------------------------------------------------------------

  /// Waits until the dword is `reference` in `mask`. Twice if one poll is unsafe.
  size_t poll_dwords() const { return kPollDwords * polls(); }
  uint32_t* poll_equal(uint32_t* to, uint64_t va, uint32_t reference, uint32_t mask = UINT32_MAX) const;

  /// Waits until a signal's 64-bit value is zero. The upper half comes first, because it becomes zero first.
  /// `current` is the current value: 0 needs no packet, and below 2^32 the upper half is not polled.
  size_t wait_zero_dwords(int64_t current) const;
  uint32_t* wait_zero(uint32_t* to, uint64_t va, int64_t current) const;

  uint32_t* fence(uint32_t* to, uint64_t va, uint32_t value) const;
  uint32_t* atomic_add64(uint32_t* to, uint64_t va, int64_t addend) const;
  uint32_t* trap(uint32_t* to, uint32_t context) const;
  static uint32_t trap_context(uint32_t context) { return context & 0x0fffffff; }
  /// Writes the 64-bit reference clock; `va` is a multiple of kTimestampAlignment.
  uint32_t* timestamp(uint32_t* to, uint64_t va) const;

  size_t completion_dwords(const SdmaCompletion& completion) const {
    const size_t value = completion.atomics ? kAtomicDwords : 2 * kFenceDwords;
    return (completion.position_va != 0 ? kFenceDwords : 0) + (completion.value_va != 0 ? value : 0) +
           (completion.mailbox_va != 0 ? kFenceDwords + kTrapDwords : 0);
  }
  uint32_t* completion(uint32_t* to, const SdmaCompletion& completion) const;

  // Caches
  // ---------------------------------------------------------------------------------------------------

  /// Packets before the first copy (begin) and after the last (end), which make writes visible between the
  /// engine and others. From v5 on, both request cache actions. If the chip can flush the host data path,
  /// `begin` flushes it: the program's writes to device memory may still be in that path.
  size_t begin_dwords() const { return (flushes() ? kPollDwords : 0) + end_dwords(); }
  uint32_t* begin(uint32_t* to) const;
  size_t end_dwords() const { return has_cache_requests() ? kCacheDwords : 0; }
  uint32_t* end(uint32_t* to) const;

  // Submissions
  // ----------------------------------------------------------------------------------------------

  /// NOPs of `dwords` dwords: one packet if the dialect supports a count.
  uint32_t* nop(uint32_t* to, size_t dwords) const;
  /// Whether NOPs have a count: the skipped dwords are not read.
  bool nop_skips() const { return version_ != SdmaVersion::kV3; }
  /// Additional dwords of NOPs that a submission of `dwords` needs.
  size_t padding_dwords(size_t dwords) const {
    return (quirks_ & kQuirkSdmaSmallSubmission) != 0 && dwords < kSmallestSubmission
               ? kSmallestSubmission - dwords
               : 0;
  }

 private:
  /// Splits longer copies into whole pages, so that every packet is as aligned as the first: gfx8's limit is
  /// not a multiple of a page.
  uint32_t copy_part(uint64_t bytes) const {
    return bytes <= copy_max_ ? static_cast<uint32_t>(bytes) : copy_max_ & ~uint32_t{kPageBytes - 1};
  }
  size_t copy_packets(uint64_t bytes) const;
  bool has_cache_requests() const { return version_ >= SdmaVersion::kV5; }
  size_t polls() const { return (quirks_ & kQuirkSdmaPollTwice) != 0 ? 2 : 1; }
  bool flushes() const { return version_ != SdmaVersion::kV3 && (quirks_ & kQuirkNoSdmaHdpFlush) == 0; }
  uint32_t count(uint32_t bytes) const { return version_ == SdmaVersion::kV3 ? bytes : bytes - 1; }

  static constexpr uint32_t kPageBytes = 4096;

  SdmaVersion version_;
  uint32_t copy_max_;
  Quirks quirks_;
};

/// Most submissions, encoded once: a copy of at most copy_max() bytes with the packets before and after it, a
/// completion, and padding. Only the variable fields are written.
class SdmaPlainCopy {
 public:
  /// `interrupts`: completions have a mailbox.
  SdmaPlainCopy(const SdmaEncoder& encoder, bool interrupts);

  size_t dwords() const { return dwords_; }
  /// Number of written dwords: those that a NOP skips stay unchanged. Untouched lines of the ring need not be
  /// fetched from the engine.
  size_t written_dwords() const { return written_; }
  /// `bytes` is not 0. `completion` has a position, a value, which is decremented, and a mailbox if
  /// `interrupts` was set.
  void write(uint32_t* to, uint64_t destination, uint64_t source, uint32_t bytes,
             const SdmaCompletion& completion) const {
    std::memcpy(to, words_.data(), size_t{written_} * 4);
    const auto put = [to](size_t at, uint64_t value) { std::memcpy(to + at, &value, sizeof value); };
    to[copy_ + 1] = bytes - bias_;
    put(copy_ + 3, source);
    put(copy_ + 5, destination);
    put(position_ + 1, completion.position_va);
    to[position_ + 3] = completion.position;
    put(completion_ + 1, completion.value_va);
    if (!interrupts_) return;
    put(mailbox_ + 1, completion.mailbox_va);
    to[mailbox_ + 3] = completion.event_id;
    to[mailbox_ + SdmaEncoder::kFenceDwords + 1] = SdmaEncoder::trap_context(completion.event_id);
  }

 private:
  std::array<uint32_t, SdmaEncoder::kSmallestSubmission> words_{};
  uint32_t dwords_, written_;
  uint32_t bias_;  ///< difference between the size field and the number of bytes
  uint32_t copy_, position_, completion_, mailbox_;
  bool interrupts_;
};

/// Indices of a ring of packets: bytes, which software counts up without wrapping.
struct SdmaRing {
  SdmaVersion version;
  uint64_t bytes;  ///< a power of two

  uint64_t offset(uint64_t index) const { return index & (bytes - 1); }
  /// Returns the bytes from `index` to the end of the ring, if a packet of `packet_bytes` would cross it;
  /// otherwise 0. Packets are contiguous: NOPs fill these bytes.
  uint64_t gap(uint64_t index, uint64_t packet_bytes) const {
    const uint64_t room = bytes - offset(index);
    return packet_bytes > room ? room : 0;
  }
  /// Value for the write pointer and the doorbell: v3 wraps, others do not.
  uint64_t published(uint64_t index) const { return version == SdmaVersion::kV3 ? offset(index) : index; }
  /// Returns the engine's read index in software's count, from the reported and the last known value. At most
  /// a ring's length has been read since.
  uint64_t read_index(uint64_t reported, uint64_t last) const {
    return version == SdmaVersion::kV3 ? last + ((reported - last) & (bytes - 1)) : reported;
  }
  /// Whether the ring has room up to `index`: a full ring would appear empty, so a dword stays free.
  bool has_room(uint64_t index, uint64_t read) const { return index - read < bytes; }
};

}  // namespace rigel::gfx
