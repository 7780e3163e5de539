// A micro-operation: what the interpreter executes. The translator lowers each AMDGCN instruction to one or
// more of them, and a basic block to a run of them that ends in one which chooses the next block.
//
// Threaded code. A handler does its work and calls the next one's handler as a tail call, so that a block
// runs without a central loop. What every handler needs travels in argument registers: the operation, the
// wave, the wave's registers and its EXEC mask. Where tail calls are not to be had (unoptimised builds,
// sanitizers) the same handlers return after each operation and run_wave() goes round: see RIGEL_NEXT.
//
// Why micro-operations. Modifiers compose instead of multiplying handlers: a DPP instruction is a fetch of
// the permuted source to a temporary row, the plain operation under a narrowed EXEC, and the restoration of
// EXEC; SDWA is extraction, the plain operation and an insertion; sources such as SCC or VCCZ are copied to a
// temporary scalar first. Forms that compilers emit often may have handlers of their own.
#pragma once

#include <hsa_backend/sanitizer.h>

#include <cstddef>
#include <cstdint>

namespace rigel::vgpu::exec {

struct Wave;
struct MicroOp;

/// `exec` is EXEC at this point (bits above the wave size are zero); the copy in the scalar file equals it,
/// except between the halves of a narrowed operation. `registers` is wave->registers.
using Handler = void (*)(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec);

/// A source: the byte offset of a scalar or of a vector row in the wave's registers, or a constant. Which of
/// the two is decided when lowering: by the handler that is chosen, not by a flag here. Constants are
/// complete: an inline 1.0 in a half-precision operation is 0x3c00, in a double-precision one the double.
union Source {
  uint64_t constant = 0;
  uint32_t offset;
};

struct alignas(64) MicroOp {
  Handler handler = nullptr;
  Source src[3];
  uint32_t dst = 0;   ///< Byte offset in the wave's registers.
  uint32_t dst2 = 0;  ///< The second destination, e.g. of the carry.
  uint64_t imm =
      0;  ///< The handler's own: an offset, a target block, a pointer to modifiers in the block's arena.
  uint32_t aux = 0;  ///< The handler's own: small fields.
  /// Position of the instruction in its block, in bytes: s_getpc, traces and fault reports.
  uint32_t code_offset = 0;
  const void* block = nullptr;  ///< The Block it belongs to.
};
static_assert(sizeof(MicroOp) == 64);

// RIGEL_NEXT(op, wave, registers, exec): end of a handler; goes on with `op`.
// RIGEL_NEXT_IN(op, wave, registers, exec): the same where EXEC is another one from here on.
// RIGEL_NEXT_BLOCK(op, wave, registers, exec): the same at the end of a block, where `op` is another block's
// first operation. Compilers that cannot be made to do a tail call may have left a frame on the stack for
// some handlers; here it goes, so that the stack is never deeper than a block is long.
// RIGEL_NEXT_SLOW(handler, op, wave, registers, exec): hands the same operation over to another handler.
// RIGEL_LEAVE(op, wave): end of a handler that gives control back to the scheduler (barrier, end, fault,
// budget spent); the wave will go on with `op`, with EXEC as it is in the scalar file. Why it left is in
// Wave::stop, which is not kRunning.
#define RIGEL_GO_ON(o, w, r, e) return ((void)(r), ::rigel::vgpu::exec::go_on_with((o), (w), (e)))
#if defined(RIGEL_KERNEL_CODE)
// The compiler of kernels puts what comes next behind it (plugins/vgpu/compiler).
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
