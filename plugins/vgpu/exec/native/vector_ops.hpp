// For the files of vector operations: one emitter each, the same arithmetic as the handlers' (exec/vector),
// in the same order; and the lists of which find_vector_op() is made.
#pragma once

#include <vector>

#include "plugins/vgpu/exec/native/lanes.hpp"

namespace rigel::vgpu::exec::native {

std::vector<VectorOp> bit_ops();         // vector_bits.cpp
std::vector<VectorOp> integer_ops();     // vector_integer.cpp
std::vector<VectorOp> float_ops();       // vector_float.cpp
std::vector<VectorOp> comparison_ops();  // vector_compare.cpp

/// How the host compares.
enum IntegerOrder : uint8_t { kEq = 0, kLt = 1, kLe = 2, kNe = 4, kGe = 5, kGt = 6 };
enum FloatOrder : uint8_t {
  kEqOrdered = 0x00,
  kUnordered = 0x03,
  kNeUnordered = 0x04,
  kOrdered = 0x07,
  kEqUnordered = 0x08,
  kNeOrdered = 0x0c,
  kLtOrdered = 0x11,
  kLeOrdered = 0x12,
  kNotLt = 0x15,
  kNotLe = 0x16,
  kNotGe = 0x19,
  kNotGt = 0x1a,
  kGeOrdered = 0x1d,
  kGtOrdered = 0x1e
};

/// Sources of an operation that has them in either order.
struct Pair {
  Xbyak::Zmm first;
  const Xbyak::Operand& second;
};
inline Pair commuted(Lanes& l) {
  if (!l.is_row(0) && l.is_row(1)) {
    const Xbyak::Zmm first = l.reg(1);
    return {first, l.any(0)};
  }
  const Xbyak::Zmm first = l.reg(0);
  return {first, l.any(1)};
}

// Operations that are one instruction of the host.
template <auto Fn>
void either_order(Lanes& l) {
  const Pair sources = commuted(l);
  (l.a.*Fn)(l.result(), sources.first, sources.second);
}
template <auto Fn>
void in_order(Lanes& l) {
  const Xbyak::Zmm first = l.reg(0);
  const Xbyak::Operand& second = l.any(1);
  (l.a.*Fn)(l.result(), first, second);
}
template <auto Fn>
void reversed(Lanes& l) {
  const Xbyak::Zmm first = l.reg(1);
  const Xbyak::Operand& second = l.any(0);
  (l.a.*Fn)(l.result(), first, second);
}

// Lines of the lists
// ---------------------------------------------------------------------------------------------------

using G = Assembler;
using Condition = bool (*)(const Request&, const isa::Instruction&);
using Emit = void (*)(Lanes&);

inline VectorOp integer(isa::Op op, uint8_t sources, Emit emit, Condition condition = nullptr) {
  VectorOp entry{op};
  entry.sources = sources;
  entry.emit = emit;
  entry.condition = condition;
  return entry;
}
inline VectorOp single(isa::Op op, uint8_t sources, Emit emit, Condition condition = nullptr) {
  VectorOp entry = integer(op, sources, emit, condition);
  entry.float_sources = entry.float_result = true;
  return entry;
}
inline VectorOp to_single(isa::Op op, Emit emit) {
  VectorOp entry = integer(op, 1, emit);
  entry.float_result = true;
  return entry;
}
inline VectorOp of_single(isa::Op op, Emit emit) {
  VectorOp entry = integer(op, 1, emit);
  entry.float_sources = true;
  return entry;
}
inline VectorOp wide(isa::Op op, uint8_t sources, uint8_t which, Emit emit, Condition condition = nullptr) {
  VectorOp entry = integer(op, sources, emit, condition);
  entry.wide = which;
  return entry;
}
inline VectorOp carrying(VectorOp entry) {
  entry.carries = true;
  return entry;
}
inline VectorOp selecting(VectorOp entry) {
  entry.selects = true;
  return entry;
}
inline VectorOp comparing(VectorOp entry) {
  entry.compares = true;
  return entry;
}
inline VectorOp to_exec(VectorOp entry) {
  entry.writes_exec = true;
  return entry;
}
inline VectorOp of_doubles(isa::Op op, uint8_t sources, Emit emit) {
  VectorOp entry = single(op, sources, emit);
  entry.wide = static_cast<uint8_t>(0x80 | ((1 << sources) - 1));
  entry.doubles = true;
  return entry;
}

}  // namespace rigel::vgpu::exec::native
