// An object file of LLVM's as bytes that run wherever they lie.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <llvm/Support/MemoryBufferRef.h>

namespace rigel::vgpu::exec::compiler {

struct FlatCode {
  std::vector<std::byte> bytes;
  size_t entry = 0;   ///< Where the function "kernel" begins.
  std::string error;  ///< What the object has that depends on where it lies, or on anything outside of it.
};

/// x86-64 ELF, made position-independent. The bytes are to lie at a multiple of 64.
FlatCode flatten(llvm::MemoryBufferRef object);

}  // namespace rigel::vgpu::exec::compiler
