#include "plugins/vgpu/cp/packet_atomics.hpp"

#include <type_traits>

namespace rigel::vgpu {
namespace {

// Codes form four blocks of 32: with and without return value, 32 and 64 bits. Bits 4:0 are the operation.
constexpr uint32_t kOperationMask = 0x1f;
constexpr uint32_t kIs64 = 0x20;

enum Operation : uint32_t {
  kSwap = 0x07,
  kCompareSwap = 0x08,
  kAdd = 0x0f,
  kSub = 0x10,
  kSmin = 0x11,
  kUmin = 0x12,
  kSmax = 0x13,
  kUmax = 0x14,
  kAnd = 0x15,
  kOr = 0x16,
  kXor = 0x17,
  kInc = 0x18,
  kDec = 0x19,
};

template <class T>
T next_value(uint32_t operation, T old, T source, T compare) {
  using Signed = std::make_signed_t<T>;
  switch (operation) {
    case kSwap:
      return source;
    case kCompareSwap:
      return old == compare ? source : old;
    case kAdd:
      return old + source;
    case kSub:
      return old - source;
    case kSmin:
      return static_cast<Signed>(old) < static_cast<Signed>(source) ? old : source;
    case kUmin:
      return old < source ? old : source;
    case kSmax:
      return static_cast<Signed>(old) > static_cast<Signed>(source) ? old : source;
    case kUmax:
      return old > source ? old : source;
    case kAnd:
      return old & source;
    case kOr:
      return old | source;
    case kXor:
      return old ^ source;
    case kInc:
      return old >= source ? 0 : old + 1;
    default:
      return old == 0 || old > source ? source : old - 1;  // kDec
  }
}

template <class T>
AtomicResult run(GpuMemory& memory, uint32_t operation, uint64_t va, T source, T compare) {
  T old = 0;
  if (!memory.modify<T>(va, old, [&](T seen) { return next_value(operation, seen, source, compare); })) {
    return {AtomicStatus::kFault, 0};
  }
  const bool failed = operation == kCompareSwap && old != compare;
  return {failed ? AtomicStatus::kCompareFailed : AtomicStatus::kDone, old};
}

}  // namespace

std::string_view atomic_name(uint32_t code) {
  if (code > 0x7f) return {};
  switch (code & kOperationMask) {
    case kSwap:
      return "swap";
    case kCompareSwap:
      return "cmpswap";
    case kAdd:
      return "add";
    case kSub:
      return "sub";
    case kSmin:
      return "smin";
    case kUmin:
      return "umin";
    case kSmax:
      return "smax";
    case kUmax:
      return "umax";
    case kAnd:
      return "and";
    case kOr:
      return "or";
    case kXor:
      return "xor";
    case kInc:
      return "inc";
    case kDec:
      return "dec";
    default:
      return {};
  }
}

AtomicResult do_atomic(GpuMemory& memory, uint32_t code, uint64_t va, uint64_t source, uint64_t compare) {
  if (atomic_name(code).empty()) return {};
  const uint32_t operation = code & kOperationMask;
  if ((code & kIs64) != 0) return run<uint64_t>(memory, operation, va, source, compare);
  return run<uint32_t>(memory, operation, va, static_cast<uint32_t>(source), static_cast<uint32_t>(compare));
}

}  // namespace rigel::vgpu
