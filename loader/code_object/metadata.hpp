// What the compiler noted about kernels: the NT_AMDGPU_METADATA note, a MessagePack map ("Code Object V3
// Metadata" and later in the AMDGPU user guide of LLVM). Only what the kernel descriptor does not tell is
// read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace rigel {

struct KernelMetadata {
  std::string_view symbol;  ///< name of the descriptor's symbol; refers to the note
  std::optional<uint32_t> kernarg_size = {};
  std::optional<uint32_t> kernarg_alignment = {};
  std::optional<bool> dynamic_callstack = {};
};

/// The kernels of a metadata note. Never fails: the note is a help, not a need, and what it lacks or says in
/// an unknown way is left out. It is bounded in time and memory whatever the note claims.
std::vector<KernelMetadata> read_kernel_metadata(std::span<const std::byte> note);

}  // namespace rigel
