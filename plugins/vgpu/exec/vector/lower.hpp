// Shared parts of the lowering of vector instructions: the state of one instruction's lowering.
#pragma once

#include <optional>
#include <span>

#include "plugins/vgpu/exec/lowering.hpp"
#include "plugins/vgpu/exec/operands.hpp"
#include "plugins/vgpu/exec/vector/handlers.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {

// Temporary rows of an instruction (of RegisterLayout::temporary_offset).
constexpr uint32_t kSourceRow = 0;   ///< 0 … 5: sources that were fetched or extracted, two rows each
constexpr uint32_t kResultRow = 6;   ///< 6 … 7: a result before its insertion
constexpr uint32_t kScratchRow = 8;  ///< 8 … : scratch rows of a handler

/// A source: a constant, or the offset of a scalar or row.
struct Input32 {
  Source source;
  bool is_constant = false;
  bool is_uniform = false;
};

/// The bits of MicroOp::aux that do not depend on the instruction.
uint32_t base_aux(const LoweringContext& context);

struct Lowering {
  Lowering(const isa::Instruction& its_instruction, LoweringContext& its_context, Emitter& its_out)
      : instruction(its_instruction), context(its_context), out(its_out), aux(base_aux(its_context)) {}

  const isa::Instruction& instruction;
  LoweringContext& context;
  Emitter& out;
  Input32 src[3]{};
  uint32_t dst = 0, dst2 = 0;
  uint32_t aux;
  uint64_t imm = 0;
  /// VOPD: a row and the temporary row with its value before the first operation. 0: none.
  uint32_t saved_row = 0, saved_copy = 0;
  uint32_t forced_dst = 0;  ///< Offset in place of dst[0]; 0: none
  bool reads_mix = false;   ///< Sources are single precision or half, selected by op_sel_hi.

  /// Locates the first `count` sources. Returns false if one of them cannot be read.
  bool place_sources(unsigned count);
  MicroOp& emit(Handler handler, const KnownOperation& operation);
};

/// Fetches src[0] through DPP into a temporary row, and restricts EXEC. reload_exec() restores it.
Refusal begin_dpp(Lowering& lowering);
/// Reloads EXEC from the scalar file, after DPP or an instruction that wrote it.
void reload_exec(Lowering& lowering);
bool writes_exec(const isa::Instruction& instruction);

/// s_set_gpr_idx_on: sources and destination are M0[7:0] rows after the named row.
void fetch_indexed(Lowering& lowering, unsigned source);
uint32_t begin_indexed_destination(Lowering& lowering, uint32_t dst, uint32_t rows);
void end_indexed_destination(Lowering& lowering, uint32_t dst, uint32_t rows);

/// Copies a selected part of source 0 or 1 to a temporary row.
void extract_sdwa(Lowering& lowering, unsigned source);
/// Inserts the low bits of `from` into the selected part of the instruction's destination.
void insert_sdwa(Lowering& lowering, uint32_t from, uint32_t to);

/// Named operations of a table of handlers. The compiler reads the tables.
NamedHandler find_named(std::span<const NamedHandler> table, NamedOperation operation);
KnownOperation known_operation(NamedOperation name);
MicroOp& emit_named(Emitter& out, std::span<const NamedHandler> table, NamedOperation operation);

/// Lowers operations across lanes: readlane, permlane, movrel, swap and so on. Returns nothing for other
/// operations.
std::optional<Refusal> lower_across_lanes(Lowering& lowering);

/// Lowers matrix instructions and moves of accumulation registers. Returns nothing for other operations.
std::optional<Refusal> lower_matrix(Lowering& lowering);
/// Returns the vector operation with the meaning of a scalar floating-point operation; Op::none for others.
isa::Op vector_operation_of(isa::Op op);
/// Lowers a scalar floating-point instruction. `lower_operation` lowers the vector operation.
Refusal lower_scalar_float(const isa::Instruction& instruction, LoweringContext& context, Emitter& out,
                           Refusal (*lower_operation)(Lowering&));
/// As lower_matrix(), for matrix instructions of RDNA 3.
std::optional<Refusal> lower_wave_matrix(Lowering& lowering);

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
