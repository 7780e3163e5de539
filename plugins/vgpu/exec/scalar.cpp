#include "plugins/vgpu/exec/scalar.hpp"

namespace rigel::vgpu::exec::scalar {

void put_constant(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  at<uint64_t>(registers, op->dst) = op->src[0].constant;
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

PlaceOf register_place(PlaceOf source, Emitter& out, uint32_t temporary) {
  if (!source.ok || !source.place.is_constant) return source;
  MicroOp& op = out.emit(put_constant);
  op.src[0] = source.place.source;
  op.dst = scalar_offset(kScalarTemporary + temporary);
  PlaceOf result;
  result.place.source.offset = op.dst;
  return result;
}

}  // namespace rigel::vgpu::exec::scalar
