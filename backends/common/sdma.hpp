// Packets of the copy engines (SDMA), for the three dialects.
//
// An encoder is a value: dialect, limits and quirks of one device. Its functions append packets to a buffer
// that the caller has made large enough (the …_dwords functions say how large) and return where the next one
// goes. Nothing here knows of rings but SdmaRing, which is index arithmetic. Pure; any thread.
//
// Sources of layouts: Linux (amdgpu/vega10_sdma_pkt_open.h, navi10_sdma_pkt_open.h, iceland_sdma_pkt_open.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "backends/common/chip.hpp"

namespace rigel::gfx {

/// A box in linear memory, for rectangular copies. All sizes in bytes but height and depth.
struct SdmaRect {
  uint64_t source = 0;
  uint64_t source_pitch = 0;  ///< from row to row
  uint64_t source_slice = 0;  ///< from layer to layer; looked at if depth > 1
  uint64_t destination = 0;
  uint64_t destination_pitch = 0;
  uint64_t destination_slice = 0;
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t depth = 0;
};

/// How an engine tells that it has done everything before.
struct SdmaCompletion {
  uint64_t value_va = 0;  ///< 64 bits, decremented by one; 0: nothing is told
  bool atomics = true;    ///< the link carries atomics; else `plain_value` is stored
  int64_t plain_value = 0;
  uint64_t position_va = 0;  ///< gets `position` before that; 0: nowhere
  uint32_t position = 0;
  uint64_t mailbox_va = 0;  ///< gets `event_id`, and an interrupt follows; 0: none
  uint32_t event_id = 0;
};

/// Whether a device's copies go to copy engines: `wanted` is "auto", "on" or "off". Never where it has none
/// for user mode, or where they cannot tell that they are done (an engine decrements signals by atomics,
/// which not every PCIe root carries; the firmware of compute queues makes do without). Of itself not on
/// APUs, where kernels copy as fast, nor where engines are unstable.
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
  static constexpr size_t kSmallestSubmission = 64;  ///< dwords, where kQuirkSdmaSmallSubmission holds
  static constexpr uint32_t kTimestampAlignment = 32;

  SdmaEncoder(SdmaVersion version, uint32_t copy_max, Quirks quirks)
      : version_(version), copy_max_(copy_max), quirks_(quirks) {}

  SdmaVersion version() const { return version_; }
  uint32_t copy_max() const { return copy_max_; }

  // Copies and fills
  // -----------------------------------------------------------------------------------------

  /// Any addresses and number of bytes but 0.
  size_t copy_dwords(uint64_t bytes) const {
    return bytes <= copy_max_ ? kCopyDwords : copy_packets(bytes) * kCopyDwords;
  }
  uint32_t* copy(uint32_t* to, uint64_t destination, uint64_t source, uint64_t bytes) const;

  /// The same bytes to two places, read once. Dialects v3 and v4; v5 wants two copies.
  bool can_broadcast() const { return version_ != SdmaVersion::kV5; }
  size_t broadcast_dwords(uint64_t bytes) const;
  uint32_t* broadcast(uint32_t* to, uint64_t first, uint64_t second, uint64_t source, uint64_t bytes) const;

  /// Repeats `value`; the address and the bytes (not 0) are multiples of 4.
  size_t fill_dwords(uint64_t bytes) const;
  uint32_t* fill(uint32_t* to, uint64_t destination, uint32_t value, uint64_t bytes) const;

  /// Dwords of a rectangular copy, or 0 if the engine can't: from v4 on; addresses, pitches and slices
  /// multiples of 4, rows no longer than pitches, and pitches and slices that fit.
  size_t rect_dwords(const SdmaRect& rect) const;
  uint32_t* rect(uint32_t* to, const SdmaRect& rect) const;

  // Order and announcement
  // -----------------------------------------------------------------------------------

  /// Waits until the dword is `reference`, on all of `mask`. Twice where once is not safe.
  size_t poll_dwords() const { return kPollDwords * polls(); }
  uint32_t* poll_equal(uint32_t* to, uint64_t va, uint32_t reference, uint32_t mask = UINT32_MAX) const;

  /// Waits until a signal's 64-bit value is zero. The upper half comes first: a value that goes down to zero
  /// leaves it first. `current` is a look at the value now: 0 needs no packet, and below 2^32 the upper half
  /// is not asked for.
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

  /// What goes before the first copy and after the last, to see what others wrote and to be seen by them:
  /// cache requests on v5, flushes of the host data path where the chip has them. What the program has
  /// written to the device's memory may still be on that path.
  size_t begin_dwords() const { return (flushes() ? kPollDwords : 0) + end_dwords(); }
  uint32_t* begin(uint32_t* to) const;
  size_t end_dwords() const { return version_ == SdmaVersion::kV5 ? kCacheDwords : 0; }
  uint32_t* end(uint32_t* to) const;

  // Submissions
  // ----------------------------------------------------------------------------------------------

  /// NOPs for `dwords` dwords: one packet where the dialect has a counted one.
  uint32_t* nop(uint32_t* to, size_t dwords) const;
  /// Whether it has: what such a packet counts is never looked at.
  bool nop_skips() const { return version_ != SdmaVersion::kV3; }
  /// Dwords of NOP that a submission of `dwords` needs besides.
  size_t padding_dwords(size_t dwords) const {
    return (quirks_ & kQuirkSdmaSmallSubmission) != 0 && dwords < kSmallestSubmission
               ? kSmallestSubmission - dwords
               : 0;
  }

 private:
  /// What is more than a packet's limit is cut into whole pages, so that every packet begins as aligned as
  /// the first: the limit of gfx8 is not.
  uint32_t copy_part(uint64_t bytes) const {
    return bytes <= copy_max_ ? static_cast<uint32_t>(bytes) : copy_max_ & ~uint32_t{kPageBytes - 1};
  }
  size_t copy_packets(uint64_t bytes) const;
  size_t polls() const { return (quirks_ & kQuirkSdmaPollTwice) != 0 ? 2 : 1; }
  bool flushes() const { return version_ != SdmaVersion::kV3 && (quirks_ & kQuirkNoSdmaHdpFlush) == 0; }
  uint32_t count(uint32_t bytes) const { return version_ == SdmaVersion::kV3 ? bytes : bytes - 1; }

  static constexpr uint32_t kPageBytes = 4096;

  SdmaVersion version_;
  uint32_t copy_max_;
  Quirks quirks_;
};

/// What most submissions are, encoded once: a copy of copy_max() bytes at most with what goes before and
/// after it, a completion, and the NOPs that it needs besides. What differs from one to the next is filled
/// in.
class SdmaPlainCopy {
 public:
  /// `interrupts`: completions have a mailbox.
  SdmaPlainCopy(const SdmaEncoder& encoder, bool interrupts);

  size_t dwords() const { return dwords_; }
  /// How many of them are written: what a NOP skips is left as it is. A line of the ring that is not touched
  /// does not have to come from the engine, either.
  size_t written_dwords() const { return written_; }
  /// `bytes` is not 0, and `completion` has a position, a value, which is decremented, and a mailbox if it was
  /// said so.
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
  uint32_t bias_;  ///< of the number of bytes
  uint32_t copy_, position_, completion_, mailbox_;
  bool interrupts_;
};

/// Indices of a ring of packets: bytes, counted up for ever by software.
struct SdmaRing {
  SdmaVersion version;
  uint64_t bytes;  ///< a power of two

  uint64_t offset(uint64_t index) const { return index & (bytes - 1); }
  /// Bytes from `index` to the end of the ring, if packets of that many bytes would run past it; else 0.
  /// Packets are written in one piece: these bytes are filled with NOPs.
  uint64_t gap(uint64_t index, uint64_t packet_bytes) const {
    const uint64_t room = bytes - offset(index);
    return packet_bytes > room ? room : 0;
  }
  /// What the write pointer and the doorbell are given: v3 wraps, others count on.
  uint64_t published(uint64_t index) const { return version == SdmaVersion::kV3 ? offset(index) : index; }
  /// The engine's read index as software counts, from what the engine reports and the last known value. At
  /// most a ring's length has been read since.
  uint64_t read_index(uint64_t reported, uint64_t last) const {
    return version == SdmaVersion::kV3 ? last + ((reported - last) & (bytes - 1)) : reported;
  }
  /// Whether the ring can take everything up to `index`: a full ring would look empty, so a dword stays free.
  bool has_room(uint64_t index, uint64_t read) const { return index - read < bytes; }
};

}  // namespace rigel::gfx
