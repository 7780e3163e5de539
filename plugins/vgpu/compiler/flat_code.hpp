// Converts an object file of LLVM into position-independent bytes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <llvm/Support/MemoryBufferRef.h>

namespace rigel::vgpu::exec::compiler {

struct FlatCode {
  std::vector<std::byte> bytes;
  size_t entry = 0;   ///< Offset of the function "kernel".
  std::string error;  ///< The relocation or external symbol that prevents it.
};

/// `object` is an x86-64 ELF file compiled as position-independent code. The bytes must be placed at a
/// multiple of 64.
FlatCode flatten(llvm::MemoryBufferRef object);

}  // namespace rigel::vgpu::exec::compiler
