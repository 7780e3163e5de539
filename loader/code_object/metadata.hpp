// Compiler metadata of kernels: the NT_AMDGPU_METADATA note, a MessagePack map ("Code Object V3 Metadata" and
// later in the AMDGPU user guide of LLVM). Only values that are missing in the kernel descriptor are read.
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

/// Returns the kernels of a metadata note. Never fails: missing or unknown values are omitted. Time and
/// memory are bounded for any contents.
std::vector<KernelMetadata> read_kernel_metadata(std::span<const std::byte> note);

}  // namespace rigel
