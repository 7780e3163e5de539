// Decodes a store that faulted on a write-protected page, and performs it at another address.
//
// Supported are stores of whole registers and constants of 4 and 8 bytes: MOV (89, C7), MOVNTI (0F C3) and
// XCHG (87). Compilers use them for plain, non-temporal and sequentially consistent stores. The fault gives
// the address, so address operands are only skipped. Source: AMD64 Architecture Programmer's Manual, volume
// 3, the instructions' pages and sections 1.2 to 1.4.
//
// For signal handlers: allocates nothing, takes no lock, and may fault in guarded accesses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace rigel::vgpu {

/// The operands of a store instruction.
struct StoreInstruction {
  uint32_t length = 0;     ///< Length of the instruction, in bytes.
  uint32_t bytes = 0;      ///< 4 or 8
  bool constant = false;   ///< Stores `value` rather than register `source` (hardware numbering).
  bool exchanges = false;  ///< The register receives the previous value.
  uint32_t source = 0;
  uint64_t value = 0;
};

/// Decodes the store at the start of `code`. Returns nothing if it is not supported or incomplete.
std::optional<StoreInstruction> decode_store(std::span<const uint8_t> code) noexcept;

class StoppedStore {
 public:
  /// `context` is a signal handler's third argument.
  explicit StoppedStore(void* context) noexcept : context_(context) {}

  /// Performs the store at `at`, single-copy atomic, within `room` bytes, and moves the thread past the
  /// instruction. Returns false, without an effect, if the store is not supported, does not fit, is not
  /// aligned, or faults at `at` (a program may map over memory of the device).
  bool make_at(std::byte* at, uint64_t room) noexcept;

 private:
  void* context_;
};

}  // namespace rigel::vgpu
