// Reads and writes memory at addresses that the program passed. A bad address returns EFAULT, as in the
// kernel.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/vgpu/kfd/memory_object.hpp"

namespace rigel::vgpu {

/// First address above the memory of programs.
constexpr uint64_t kProgramLimit = uint64_t{1} << 47;

Errno copy_from_program(void* to, uint64_t from, size_t bytes) noexcept;
Errno copy_to_program(uint64_t to, const void* from, size_t bytes) noexcept;

/// Whether all pages of [address, address + bytes) are mapped.
bool program_has(uint64_t address, uint64_t bytes) noexcept;
/// Whether the program may read the byte at `address`; true if a sandbox forbids the system call for it.
bool program_reads(uint64_t address) noexcept;

template <class T>
ErrnoOr<std::vector<T>> array_from_program(uint64_t from, size_t count) {
  std::vector<T> array(count);
  if (const Errno error = copy_from_program(array.data(), from, count * sizeof(T)); error != 0) {
    return tl::unexpected(error);
  }
  return array;
}

}  // namespace rigel::vgpu
