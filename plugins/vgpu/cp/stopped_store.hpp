// A store that a page has stopped, as the handler of its fault finds it: made elsewhere, in its place.
//
// Known are the stores of whole registers and constants of 4 and 8 bytes: MOV (89, C7), MOVNTI (0F C3) and
// XCHG (87), which compilers make of plain, non-temporal and sequentially consistent stores. (AMD64
// Architecture Programmer's Manual, volume 3: the instructions' pages, and 1.2 to 1.4 for prefixes and
// operands. Where the store goes is not decoded: the fault tells.)
//
// For the handler: allocates nothing, takes no lock, and may fault in guarded accesses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace rigel::vgpu {

/// What an instruction stores.
struct StoreInstruction {
  uint32_t length = 0;     ///< Of the instruction, bytes.
  uint32_t bytes = 0;      ///< 4 or 8
  bool constant = false;   ///< `value`, or the register `source`, by the processor's numbers.
  bool exchanges = false;  ///< The register gets what was there.
  uint32_t source = 0;
  uint64_t value = 0;
};

/// The store that `code` begins with. Nothing: none that is known, or not all of it is here.
std::optional<StoreInstruction> decode_store(std::span<const uint8_t> code) noexcept;

class StoppedStore {
 public:
  /// `context`: a signal handler's third argument, on whose return the thread goes on.
  explicit StoppedStore(void* context) noexcept : context_(context) {}

  /// Makes the store at `at`, where there are `room` bytes, single-copy atomic; the thread goes on behind it.
  /// False: nothing was done, as it is none that is known, does not fit or is not aligned, or as nothing can
  /// be stored there (a program may map what it likes over memory of the device).
  bool make_at(std::byte* at, uint64_t room) noexcept;

 private:
  void* context_;
};

}  // namespace rigel::vgpu
