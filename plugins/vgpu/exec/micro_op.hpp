// A *micro-operation* (MicroOp) is the interpreter's unit of execution: a handler with its operands. Each
// AMDGCN instruction is lowered to one or more of them. A *handler* is the C++ function that executes a
// micro-operation.
//
// Threaded code: a handler tail-calls the handler of the next micro-operation, so a block runs without a
// central loop. Argument registers hold the operation, the wave, its registers and EXEC. In unoptimised and
// sanitized builds handlers return after each operation, and run_wave() loops (see RIGEL_NEXT).
//
// Modifiers are separate micro-operations, so they do not multiply the handlers. DPP is a fetch of the
// permuted source to a temporary row, the plain operation under a narrowed EXEC, and the restoration of EXEC.
// SDWA is an extraction, the plain operation and an insertion. Sources such as SCC or VCCZ are first copied
// to a temporary scalar. Frequent combinations may have dedicated handlers.
#pragma once

#include <hsa_backend/sanitizer.h>

#include <cstddef>
#include <cstdint>

namespace rigel::vgpu::exec {

struct Wave;
struct MicroOp;

/// `exec` is the present EXEC; bits above the wave size are zero. The copy in the scalar file equals it,
/// except between the micro-operations that narrow and restore EXEC. `registers` is wave->registers.
using Handler = void (*)(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec);

/// A source: a constant, or the byte offset of a scalar or VGPR row in the wave's registers. The handler
/// determines which one. Constants have the operation's format: an inline 1.0 is 0x3c00 in half precision.
union Source {
  uint64_t constant = 0;
  uint32_t offset;
};

struct alignas(64) MicroOp {
  Handler handler = nullptr;
  Source src[3];
  uint32_t dst = 0;   ///< Byte offset in the wave's registers
  uint32_t dst2 = 0;  ///< Second destination, e.g. of a carry
  uint64_t imm = 0;   ///< Defined by the handler: an offset, a Link, a pointer into the block's arena
  uint32_t aux = 0;   ///< Defined by the handler: small fields
  /// Byte offset of the instruction in its block, for s_getpc, traces and fault reports.
  uint32_t code_offset = 0;
  const void* block = nullptr;  ///< Its Block
};
static_assert(sizeof(MicroOp) == 64);

// Each of these ends a handler.
//
// RIGEL_NEXT(op, wave, registers, exec): continues with `op`. RIGEL_NEXT_IN(op, wave, registers, exec): as
// RIGEL_NEXT, if the handler has changed EXEC. RIGEL_NEXT_BLOCK(op, wave, registers, exec): as RIGEL_NEXT, if
// `op` may be in another block. GCC does not guarantee tail calls, so some handlers may leave a stack frame.
// This macro returns to run_wave() there, which limits the stack to the frames of one block.
// RIGEL_NEXT_SLOW(handler, op, wave, registers, exec): passes the same operation to another handler.
// RIGEL_LEAVE(op, wave): returns to the scheduler (barrier, end, fault, end of the time slice). Wave::stop
// has the reason and must not be kRunning. The wave continues later with `op` and with EXEC from the scalar
// file.
#define RIGEL_GO_ON(o, w, r, e) return ((void)(r), ::rigel::vgpu::exec::go_on_with((o), (w), (e)))
#if defined(RIGEL_KERNEL_CODE)
// The kernel compiler (plugins/vgpu/compiler) inlines handlers and appends the continuation.
#define RIGEL_NEXT(o, w, r, e) return ((void)(o), (void)(w), (void)(r), (void)(e))
#define RIGEL_NEXT_IN(o, w, r, e) return ((void)(o), (void)(r), (void)((w)->travelling_exec = (e)))
#define RIGEL_NEXT_BLOCK(o, w, r, e) RIGEL_NEXT(o, w, r, e)
#define RIGEL_NEXT_SLOW(handler, o, w, r, e) return (handler)((o), (w), (r), (e))
#elif HSABE_SANITIZER != HSABE_SANITIZER_NONE || !defined(__OPTIMIZE__)
#define RIGEL_NEXT(o, w, r, e) RIGEL_GO_ON(o, w, r, e)
#define RIGEL_NEXT_BLOCK(o, w, r, e) RIGEL_GO_ON(o, w, r, e)
#define RIGEL_NEXT_SLOW(handler, o, w, r, e) return (handler)((o), (w), (r), (e))
#elif defined(__clang__)
#define RIGEL_NEXT(o, w, r, e) [[clang::musttail]] return (o)->handler((o), (w), (r), (e))
#define RIGEL_NEXT_BLOCK(o, w, r, e) RIGEL_NEXT(o, w, r, e)
#define RIGEL_NEXT_SLOW(handler, o, w, r, e) [[clang::musttail]] return (handler)((o), (w), (r), (e))
#else
#define RIGEL_NEXT(o, w, r, e) return (o)->handler((o), (w), (r), (e))
#define RIGEL_NEXT_BLOCK(o, w, r, e) RIGEL_GO_ON(o, w, r, e)
#define RIGEL_NEXT_SLOW(handler, o, w, r, e) return (handler)((o), (w), (r), (e))
#endif
#if !defined(RIGEL_KERNEL_CODE)
#define RIGEL_NEXT_IN(o, w, r, e) RIGEL_NEXT(o, w, r, e)
#endif
#define RIGEL_LEAVE(o, w) return ::rigel::vgpu::exec::leave_at((o), (w))

}  // namespace rigel::vgpu::exec
