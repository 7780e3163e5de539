// What this backend reads out of the file of a code object itself: its notes. Everything else about ELF is
// the runtime's loader's.
//
// Somebody else wrote the bytes: every offset and size is checked against the bounds given. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rigel::cpu {

struct Notes {
  bool found = false;             // there is at least one of ours
  uint32_t abi_major = 0;         // of all of ours: they agree
  uint64_t features = 0;          // that any of them asks for
  const char* problem = nullptr;  // why the file cannot be believed; null if it can
};

/// Reads the notes of .note.hsa_cpu from the program headers of an ELF file.
Notes read_notes(std::span<const std::byte> file) noexcept;

}  // namespace rigel::cpu
