// Functions that compiled code calls rarely. They preserve all registers, vectors included; otherwise LLVM
// would keep values in memory on the frequent path, too.
//
// preserve_all_registers() in build.cpp makes this effective. With AVX-512 only the lower halves of registers
// are preserved; LLVM stores live upper halves before the call, on the rare path.
#pragma once

#include "plugins/vgpu/exec/native/linkage.hpp"

namespace rigel::vgpu::exec::compiler {

/// Calls Linkage::find or Linkage::call.
extern "C" [[clang::preserve_all]] std::byte* unlikely_find(const Linkage* linkage, WaveMemory* memory,
                                                            const MicroOp* site, uint64_t va, uint64_t bytes,
                                                            Access access);
extern "C" [[clang::preserve_all]] bool unlikely_call(const Linkage* linkage, const MicroOp* first,
                                                      Wave* wave, std::byte* registers);

}  // namespace rigel::vgpu::exec::compiler
