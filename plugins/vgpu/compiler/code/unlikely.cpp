#include "plugins/vgpu/compiler/code/unlikely.hpp"

namespace rigel::vgpu::exec::compiler {

extern "C" [[gnu::used, gnu::noinline, clang::preserve_all]] std::byte* unlikely_find(
    const Linkage* linkage, WaveMemory* memory, const MicroOp* site, uint64_t va, uint64_t bytes,
    Access access) {
  return linkage->find(memory, site, va, bytes, access);
}
extern "C" [[gnu::used, gnu::noinline, clang::preserve_all]] bool unlikely_call(const Linkage* linkage,
                                                                                const MicroOp* first,
                                                                                Wave* wave,
                                                                                std::byte* registers) {
  return linkage->call(first, wave, registers);
}

}  // namespace rigel::vgpu::exec::compiler
