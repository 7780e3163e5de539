// What compiled code calls where it seldom comes by. These functions leave all registers as they are, vectors among them: for a call
// that may change them LLVM would have them lie in memory on the way that is taken nearly always.
//
// preserve_all_registers() in build.cpp sees to it that they do. Of AVX-512's registers they keep the lower halves: there LLVM
// stores what is wanted before the call, on the way that is seldom taken.
#pragma once

#include "plugins/vgpu/compiler/linkage.hpp"

namespace rigel::vgpu::exec::compiler {

/// Linkage::find, Linkage::call.
extern "C" [[clang::preserve_all]] std::byte* unlikely_find(const Linkage* linkage, WaveMemory* memory,
                                                            const MicroOp* site, uint64_t va, uint64_t bytes,
                                                            Access access);
extern "C" [[clang::preserve_all]] bool unlikely_call(const Linkage* linkage, const MicroOp* first,
                                                      Wave* wave, std::byte* registers);

}  // namespace rigel::vgpu::exec::compiler
