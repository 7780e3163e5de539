// VOP3P of gfx90a: two single-precision values of each lane, in two rows. op_sel says which of its source's
// dwords the first result is computed from, op_sel_hi the second.
#include "plugins/vgpu/exec/vector/ordered.hpp"
#include "plugins/vgpu/exec/vector/packed_values.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

using isa::Op;

class DwordsInput {
 public:
  [[gnu::always_inline]] DwordsInput(const MicroOp* op, const std::byte* registers, unsigned index)
      : first_(op, registers, index, (op->imm & packed::kSelect << index) != 0 ? 1 : 0),
        second_(op, registers, index, (op->imm & packed::kSelectHigh << index) != 0 ? 1 : 0) {
    flip_first_ = (op->imm & packed::kNeg << index) != 0 ? 0x80000000 : 0;
    flip_second_ = (op->imm & packed::kNegHigh << index) != 0 ? 0x80000000 : 0;
  }
  [[gnu::always_inline]] F32 first(size_t lane) const { return bits_as<F32>(first_.at(lane) ^ flip_first_); }
  [[gnu::always_inline]] F32 second(size_t lane) const {
    return bits_as<F32>(second_.at(lane) ^ flip_second_);
  }

 private:
  Lanes<U32, Kind::kAny> first_, second_;
  uint32_t flip_first_, flip_second_;
};

template <auto Fn>
[[gnu::flatten]] void packed_single_lanes(const MicroOp* op, Wave* wave, std::byte* registers,
                                          uint64_t exec) {
  {  // Sources have to be gone before the tail call.
    const Control control{op->aux};
    const DwordsInput a(op, registers, 0), b(op, registers, 1), c(op, registers, 2);
    std::byte* const to = registers + op->dst;
    each_chunk<kLanes>(
        op->aux, exec, [&](size_t lane, uint32_t bits) __attribute__((always_inline)) {
          const F32 first = modified_result(Fn(a.first(lane), b.first(lane), c.first(lane)), control);
          const F32 second = modified_result(Fn(a.second(lane), b.second(lane), c.second(lane)), control);
          put(to + lane * 4, first, bits);
          put(to + row_bytes(op) + lane * 4, second, bits);
        });
  }
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

// The first result is a dword of S0, the second one of S1: op_sel says which.
void move_dwords(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  {  // Sources have to be gone before the tail call.
    const Lanes<U32, Kind::kAny> a(op, registers, 0, (op->imm & packed::kSelect) != 0 ? 1 : 0);
    const Lanes<U32, Kind::kAny> b(op, registers, 1, (op->imm & packed::kSelect << 1) != 0 ? 1 : 0);
    std::byte* const to = registers + op->dst;
    each_chunk<kLanes>(
        op->aux, exec, [&](size_t lane, uint32_t bits) __attribute__((always_inline)) {
          const U32 first = a.at(lane), second = b.at(lane);
          put(to + lane * 4, first, bits);
          put(to + row_bytes(op) + lane * 4, second, bits);
        });
  }
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

constexpr Entry entry(Op op, Raises raises, uint8_t sources, Handler handler) {
  Entry made{op, Form::kPacked};
  made.raises = raises;
  made.sources = made.row_sources = sources;
  made.result_rows = 2;
  made.float_sources = made.float_result = raises != Raises::kNothing;
  made.generic = handler;
  return made;
}

constexpr Entry kTable[] = {
    entry(Op::v_pk_add_f32, Raises::kSum, 2,
          packed_single_lanes<([](F32 a, F32 b, F32) { return sum(a, b); })>),
    entry(Op::v_pk_mul_f32, Raises::kProduct, 2,
          packed_single_lanes<([](F32 a, F32 b, F32) { return product(a, b); })>),
    entry(Op::v_pk_fma_f32, Raises::kFused, 3,
          packed_single_lanes<([](F32 a, F32 b, F32 c) { return product_sum(a, b, c); })>),
    entry(Op::v_pk_mov_b32, Raises::kNothing, 2, move_dwords),
};

}  // namespace

Table packed32_operations() {
  return kTable;
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
