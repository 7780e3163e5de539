// What the parts of the lowering of vector instructions share: one instruction on its way to
// micro-operations.
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
constexpr uint32_t kScratchRow = 8;  ///< 8 … : a handler's own

/// A source on its way: a constant, the offset of a scalar or that of a row.
struct Input32 {
  Source source;
  bool is_constant = false;
  bool is_uniform = false;
};

struct Lowering {
  const isa::Instruction& instruction;
  LoweringContext& context;
  Emitter& out;
  Input32 src[3];
  uint32_t dst = 0, dst2 = 0;
  uint32_t aux = 0;
  uint64_t imm = 0;
  bool reads_mix = false;  ///< Sources are single precision or half, by op_sel_hi.

  /// Finds the first `count` sources; false if one of them cannot be read.
  bool place_sources(unsigned count);
  /// Emits an operation with these sources, destinations, aux and imm.
  MicroOp& emit(Handler handler, const KnownOperation& does);
};

/// aux of any vector operation: the modes and the width of the wave.
uint32_t base_aux(const LoweringContext& context);

/// Fetches src[0] through DPP, into a temporary row, and narrows EXEC; reload_exec() brings it back.
Refusal begin_dpp(Lowering& lowering);
/// EXEC as it is in the scalar file, after DPP or where the instruction has written it there.
void reload_exec(Lowering& lowering);
bool writes_exec(const isa::Instruction& instruction);

/// s_set_gpr_idx_on: a source comes from the row that is M0[7:0] further on; the result goes to one.
void fetch_indexed(Lowering& lowering, unsigned source);
uint32_t begin_indexed_destination(Lowering& lowering, uint32_t dst, uint32_t rows);
void end_indexed_destination(Lowering& lowering, uint32_t dst, uint32_t rows);

/// Puts a selected part of a source (0 or 1) into a temporary row.
void extract_sdwa(Lowering& lowering, unsigned source);
/// Puts the low bits of `from` into the selected part of the instruction's destination.
void insert_sdwa(Lowering& lowering, uint32_t from, uint32_t to);

/// Operations that have a name of their own, from a table of such. The compiler reads the tables.
NamedHandler find_named(std::span<const NamedHandler> table, NamedOperation operation);
KnownOperation known(NamedOperation operation);
MicroOp& emit_named(Emitter& out, std::span<const NamedHandler> table, NamedOperation operation);

/// Operations that are not a function of one lane: readlane, permlane, movrel, swap and so on. Nothing if the
/// operation is none of them.
std::optional<Refusal> lower_across_lanes(Lowering& lowering);

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
