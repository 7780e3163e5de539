// PM4 packets for compute queues, and their execution in an AQL queue.
//
// Each function returns a packet's dwords. Sources of layouts and encodings: Linux (amdgpu/vid.h, soc15d.h,
// nvd.h), Mesa (sid.h). Pure; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace rigel::gfx::pm4 {

template <size_t kDwords>
using Packet = std::array<uint32_t, kDwords>;

constexpr uint32_t kNop = 0x10;
constexpr uint32_t kPredExec = 0x23;
constexpr uint32_t kWriteData = 0x37;
constexpr uint32_t kWaitRegMem = 0x3c;
constexpr uint32_t kIndirectBuffer = 0x3f;
constexpr uint32_t kCopyData = 0x40;
constexpr uint32_t kEventWrite = 0x46;
constexpr uint32_t kReleaseMem = 0x49;
constexpr uint32_t kAcquireMem = 0x58;
constexpr uint32_t kSetShReg = 0x76;
constexpr uint32_t kSetUconfigReg = 0x79;

/// Header of a packet of `dwords` dwords with the header, at least 2.
constexpr uint32_t header(uint32_t opcode, size_t dwords) {
  return 3u << 30 | static_cast<uint32_t>(dwords - 2) << 16 | opcode << 8;
}
constexpr uint32_t low(uint64_t value) {
  return static_cast<uint32_t>(value);
}
constexpr uint32_t high(uint64_t value) {
  return static_cast<uint32_t>(value >> 32);
}

/// Runs `dwords` dwords at `va`, which is a multiple of 4.
constexpr Packet<4> indirect_buffer(uint64_t va, uint32_t dwords) {
  constexpr uint32_t kValid = 1u << 23;
  return {header(kIndirectBuffer, 4), low(va), high(va) & 0xffff, (dwords & 0xfffff) | kValid};
}

/// Lets only compute die `die` execute the next `dwords` dwords. gfx9 with several dies.
constexpr Packet<2> pred_exec(uint32_t die, uint32_t dwords) {
  return {header(kPredExec, 2), 1u << die << 24 | (dwords & 0x3fff)};
}

// Registers, by dword address
// -------------------------------------------------------------------------------------

/// Writes a register of the queue's compute state, at 0x2c00 to 0x2fff.
constexpr Packet<3> set_sh_reg(uint32_t address, uint32_t value) {
  return {header(kSetShReg, 3), address - 0x2c00, value};
}

/// Writes a register that user mode may configure, at 0xc000 to 0xffff.
constexpr Packet<3> set_uconfig_reg(uint32_t address, uint32_t value) {
  return {header(kSetUconfigReg, 3), address - 0xc000, value};
}

/// Stores a register at `va`, a multiple of 4.
constexpr Packet<6> store_register(uint32_t address, uint64_t va) {
  constexpr uint32_t kToMemory = 5u << 8, kConfirm = 1u << 20;
  return {header(kCopyData, 6), kToMemory | kConfirm, address, 0, low(va), high(va)};
}

/// Waits until the queue's earlier dispatches have ended.
constexpr Packet<2> wait_for_dispatches() {
  constexpr uint32_t kCsPartialFlush = 7, kEventIndex = 4u << 8;
  return {header(kEventWrite, 2), kCsPartialFlush | kEventIndex};
}

/// Skips `dwords` (2 … 16385) dwords of a stream.
constexpr uint32_t nop_header(size_t dwords) {
  return header(kNop, dwords);
}

// Acquire
// ----------------------------------------------------------------------------------------------------

/// COHER_CNTL of gfx8 and gfx9: selects caches.
enum Coher : uint32_t {
  kCoherWriteBackL2 = 1u << 18,
  kCoherInvalidateL1 = 1u << 22,
  kCoherInvalidateL2 = 1u << 23,
  kCoherInvalidateScalar = 1u << 27,
  kCoherInvalidateCode = 1u << 29,
};

/// GCR_CNTL of gfx10.
enum Gcr : uint32_t {
  kGcrInvalidateCode = 1u << 0,
  kGcrWriteBackScalar = 1u << 6,
  kGcrInvalidateScalar = 1u << 7,
  kGcrInvalidateVector = 1u << 8,
  kGcrInvalidateL1 = 1u << 9,
  kGcrInvalidateL2 = 1u << 14,
  kGcrWriteBackL2 = 1u << 15,
};

/// Applies cache actions to the whole address space. gfx8 and gfx9.
constexpr Packet<7> acquire_mem(uint32_t coher) {
  return {header(kAcquireMem, 7), coher, 0xffffffff, 0xff, 0, 0, 0x0a};
}

/// Applies cache requests (kGcr) to the whole address space. gfx10 and gfx11, which have a dword for them.
constexpr Packet<8> acquire_mem_gcr(uint32_t gcr) {
  return {header(kAcquireMem, 8), 0, 0xffffffff, 0xff, 0, 0, 0x0a, gcr};
}

/// Invalidates all caches of code after new code was written.
constexpr Packet<7> invalidate_code() {
  return acquire_mem(kCoherInvalidateCode | kCoherInvalidateScalar | kCoherInvalidateL1 | kCoherInvalidateL2 |
                     kCoherWriteBackL2);
}
constexpr Packet<8> invalidate_code_gcr() {
  return acquire_mem_gcr(kGcrInvalidateCode | kGcrInvalidateScalar | kGcrInvalidateVector | kGcrInvalidateL1 |
                         kGcrInvalidateL2 | kGcrWriteBackL2 | kGcrWriteBackScalar);
}

// Write and wait
// ---------------------------------------------------------------------------------------------

/// Stores one dword through L2, and waits for the end. `va` is a multiple of 4.
constexpr Packet<5> write_data(uint64_t va, uint32_t value) {
  constexpr uint32_t kToL2 = 2u << 8, kConfirm = 1u << 20;
  return {header(kWriteData, 5), kToL2 | kConfirm, low(va), high(va), value};
}

enum class Compare : uint32_t {
  kAlways = 0,
  kLess = 1,
  kLessOrEqual = 2,
  kEqual = 3,
  kNotEqual = 4,
  kGreaterOrEqual = 5,
  kGreater = 6,
};

/// Waits until (*va & mask) compares with `reference`, unsigned.
constexpr Packet<7> wait_mem(uint64_t va, Compare compare, uint32_t reference, uint32_t mask) {
  constexpr uint32_t kMemory = 1u << 4, kInterval = 4;
  return {header(kWaitRegMem, 7),
          static_cast<uint32_t>(compare) | kMemory,
          low(va),
          high(va),
          reference,
          mask,
          kInterval};
}

// Release
// ----------------------------------------------------------------------------------------------------

constexpr uint32_t kEventCacheFlushAndInvTs = 0x14;
constexpr uint32_t kEventIndexEndOfPipe = 5;
constexpr uint32_t kEventIndexAql = 7;

/// Data that a release stores when all earlier work has ended and its writes are in memory.
enum class ReleaseData : uint32_t { kNothing = 0, kDword = 1, kQuad = 2, kClock = 3 };

struct Release {
  uint64_t va = 0;  ///< a multiple of the data's size
  uint64_t value = 0;
  ReleaseData data = ReleaseData::kNothing;
  uint32_t interrupt_context = 0;  ///< raised after the store; 0: no interrupt
};

namespace detail {
constexpr uint32_t release_selects(const Release& release) {
  constexpr uint32_t kInterruptAfterWrite = 2u << 24;
  return static_cast<uint32_t>(release.data) << 29 |
         (release.interrupt_context != 0 ? kInterruptAfterWrite : 0);
}
}  // namespace detail

/// gfx8: the interrupt's context is the low half of the data.
constexpr Packet<7> release_mem_gfx8(const Release& release) {
  constexpr uint32_t kL2 = 1u << 17, kL2WriteBack = 1u << 15, kL1 = 1u << 16;
  const uint64_t value = release.interrupt_context != 0 ? release.interrupt_context : release.value;
  return {header(kReleaseMem, 7),
          kEventCacheFlushAndInvTs | kEventIndexEndOfPipe << 8 | kL2 | kL2WriteBack | kL1,
          detail::release_selects(release),
          low(release.va),
          high(release.va),
          low(value),
          high(value)};
}

constexpr Packet<8> release_mem_gfx9(const Release& release) {
  constexpr uint32_t kL2 = 1u << 17, kL2WriteBack = 1u << 15, kL1 = 1u << 16;
  return {header(kReleaseMem, 8),
          kEventCacheFlushAndInvTs | kEventIndexEndOfPipe << 8 | kL2 | kL2WriteBack | kL1,
          detail::release_selects(release),
          low(release.va),
          high(release.va),
          low(release.value),
          high(release.value),
          release.interrupt_context};
}

constexpr Packet<8> release_mem_gfx10(const Release& release) {
  // The cache request is in the event's dword, from bit 12 on.
  constexpr uint32_t kGl2WriteBack = 1u << 21, kGl2Invalidate = 1u << 20, kGl1Invalidate = 1u << 15,
                     kGlvInvalidate = 1u << 14;
  return {header(kReleaseMem, 8),
          kEventCacheFlushAndInvTs | kEventIndexEndOfPipe << 8 | kGl2WriteBack | kGl2Invalidate |
              kGl1Invalidate | kGlvInvalidate,
          detail::release_selects(release),
          low(release.va),
          high(release.va),
          low(release.value),
          high(release.value),
          release.interrupt_context};
}

// In an AQL queue
// --------------------------------------------------------------------------------------------

/// The 16 dwords of a slot. The first is stored last, with release semantics, which submits the slot.
using Slot = Packet<16>;

/// gfx8: a slot that contains PM4. A NOP fills it, the buffer runs, and a release of the AQL type frees the
/// slot by advancing the read index, which is the only sign of the end.
constexpr Slot aql_slot_gfx8(uint64_t buffer_va, uint32_t dwords) {
  constexpr size_t kRelease = 7, kJump = 4, kFill = 16 - kRelease - kJump;
  Slot slot{};
  slot[0] = nop_header(kFill);
  const auto jump = indirect_buffer(buffer_va, dwords);
  for (size_t i = 0; i < kJump; ++i) slot[kFill + i] = jump[i];
  slot[kFill + kJump] = header(kReleaseMem, kRelease);
  slot[kFill + kJump + 1] = kEventIndexAql << 8;
  return slot;
}

/// gfx9 and later: AMD's vendor packet, which runs a buffer and then decrements `completion_signal` (a
/// handle; 0: none). `fences` are the packet header's barrier bit and fence scopes, in place: bits 8 to 12.
constexpr Slot aql_slot_vendor(uint64_t buffer_va, uint32_t dwords, uint64_t completion_signal,
                               uint32_t fences) {
  constexpr uint32_t kVendorSpecific = 0, kFormatPm4 = 1, kRest = 10;
  Slot slot{};
  slot[0] = kVendorSpecific | (fences & 0x1f00) | kFormatPm4 << 16;
  const auto jump = indirect_buffer(buffer_va, dwords);
  for (size_t i = 0; i < jump.size(); ++i) slot[1 + i] = jump[i];
  slot[5] = kRest;
  slot[14] = low(completion_signal);
  slot[15] = high(completion_signal);
  return slot;
}

}  // namespace rigel::gfx::pm4
