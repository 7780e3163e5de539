// Notes of a code object's file. The runtime's loader reads everything else of the ELF file.
//
// The bytes are untrusted: every offset and size is checked. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rigel::cpu {

struct Notes {
  bool found = false;             // whether there is a note of this backend
  uint32_t abi_major = 0;         // the same in all notes
  uint64_t features = 0;          // required by any of them
  const char* problem = nullptr;  // the reason to reject the file; null if valid
};

/// Reads the notes of .note.hsa_cpu from the program headers of an ELF file.
Notes read_notes(std::span<const std::byte> file) noexcept;

}  // namespace rigel::cpu
