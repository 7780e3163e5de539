// Memory operations in native code: what a handler does in the cases that kernels are written for. Scalar
// loads; loads and stores of dwords of lanes that follow each other, or loads that are all from one place, or
// of single dwords from anywhere, where the instruction found memory the last time; the work-group's LDS
// (lds_access.cpp). On hosts with AVX2 only, loads and stores of any dwords anywhere (memory_of_eight.cpp,
// lds_of_eight.cpp). What is different in any way is left to the handler, before anything has changed: so
// faults are its business alone.
#pragma once

#include <optional>

#include "plugins/vgpu/cp/device_bus.hpp"
#include "plugins/vgpu/exec/native/native.hpp"

namespace Xbyak {
class Label;
}

namespace rigel::vgpu::exec::native {

class Assembler;

/// What native code knows of a memory instruction; the rest is in its micro-operation.
struct MemoryStep {
  enum class Kind : uint8_t { kScalarLoad, kLoad, kStore, kLdsLoad, kLdsStore, kLdsAdd };
  Kind kind = Kind::kLoad;
  uint8_t dwords = 1;  ///< Of one lane; scalar loads: of the wave.
  bool flat = false;   ///< The address may mean LDS or scratch.
  bool scalar_base = false;
  bool register_offset = false;  ///< Scalar loads: SOFFSET is a register.
  // DS:
  bool pair = false;       ///< Two elements of each lane; `dwords` is of one.
  bool returns = false;    ///< A sum gives the old value.
  bool m0_limits = false;  ///< What M0 says lies beyond cannot be accessed.
  bool aligned = false;    ///< What is not aligned is the handler's.
};

/// Nothing: its handler does it, always.
std::optional<MemoryStep> memory_step(const Request& request, const Site& site);

/// The same for DS instructions (lds_access.cpp).
std::optional<MemoryStep> lds_step(const Request& request, const Site& site);
void emit_lds(Assembler& a, const Request& request, const MemoryStep& step, const MicroOp& op,
              Xbyak::Label& otherwise);

/// The LDS to r9, and to r8d the highest address that all elements fit at. Uses rax.
void emit_find_lds(Assembler& a, const MemoryStep& step, const MicroOp& op, Xbyak::Label& otherwise);

/// For vectors of 8 lanes.
void emit_memory_of_eight(Assembler& a, const Request& request, const MemoryStep& step, const MicroOp& op,
                          Xbyak::Label& otherwise);
void emit_lds_of_eight(Assembler& a, const Request& request, const MemoryStep& step, const MicroOp& op,
                       Xbyak::Label& otherwise);

/// Code of one. Jumps to `otherwise` with nothing done if it is not the case for native code. Uses rax, rdi,
/// r8 … r11 and all vector and mask registers.
void emit_memory(Assembler& a, const Request& request, const MemoryStep& step, const MicroOp& op,
                 Xbyak::Label& otherwise);

/// The address of a lane to r8, with the instruction's offset. Its halves are in r8d and eax; with a scalar
/// base eax is what is added to that. Goes on at `otherwise` if it means LDS or scratch.
void emit_address(Assembler& a, const MemoryStep& step, const MicroOp& op, Xbyak::Label& otherwise);

/// The extent that the instruction used last, by low halves of addresses: from r9d to r9d + r11d are those at
/// which `bytes` lie in it. r8 is the address with a low half of 0, and becomes what is to be added to a low
/// half for the host's address. Uses rax and rdi.
void emit_reach(Assembler& a, const MicroOp& op, Access access, uint32_t bytes, Xbyak::Label& otherwise);

/// Memory::find_again(): the host's address of the r11 bytes at r8, to r9. Uses rax and rdi.
void emit_find(Assembler& a, const MicroOp& op, Access access, Xbyak::Label& otherwise);

}  // namespace rigel::vgpu::exec::native
