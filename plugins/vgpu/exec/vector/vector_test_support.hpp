// Test support: a wave that has only registers, and runs single vector instructions at every SIMD level.
#pragma once

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <random>
#include <vector>

#include "plugins/vgpu/exec/lowering.hpp"
#include "plugins/vgpu/exec/test_emitter.hpp"
#include "plugins/vgpu/exec/wave.hpp"

namespace rigel::vgpu::exec {

struct Machine {
  explicit Machine(SimdLevel simd_level, uint32_t wave_size = 64, isa::Target chip = {9, 0, 6},
                   uint32_t vgprs = 32) {
    context.target = chip;
    context.target.wave32 = wave_size == 32;
    context.layout = {wave_size, vgprs};
    context.level = simd_level;
    memory.resize(context.layout.bytes() / 64 + 1);
    wave.registers = reinterpret_cast<std::byte*>(memory.data());
    wave.layout = context.layout;
    set_exec(~uint64_t{0});
  }

  struct alignas(64) Line {
    std::byte bytes[64];
  };

  uint32_t& scalar(uint32_t code) { return wave.scalars()[code]; }
  uint64_t scalar64(uint32_t code) { return scalar(code) | uint64_t{scalar(code + 1)} << 32; }
  uint32_t& vgpr(uint32_t index, uint32_t lane) {
    return reinterpret_cast<uint32_t*>(wave.registers + context.layout.vgpr_offset(index))[lane];
  }
  uint64_t vgpr64(uint32_t index, uint32_t lane) {
    return vgpr(index, lane) | uint64_t{vgpr(index + 1, lane)} << 32;
  }
  void set_exec(uint64_t exec) {
    scalar(126) = static_cast<uint32_t>(exec);
    scalar(127) = static_cast<uint32_t>(context.layout.wave_size == 64 ? exec >> 32 : 0);
  }
  uint32_t lanes() const { return context.layout.wave_size; }

  Refusal run(const isa::Instruction& instruction) {
    CollectingEmitter out;
    const Refusal refusal = lower(instruction, context, out);
    if (!refusal.empty()) return refusal;
    out.emit(stop_wave);
    wave.op = out.ops.data();
    run_wave(&wave);
    return {};
  }

  std::vector<Line> memory;
  LoweringContext context;
  Wave wave;
};

inline isa::Operand v(uint32_t index, isa::Type type = isa::Type::kB32, uint8_t dwords = 1) {
  return {static_cast<uint16_t>(isa::code::kVgpr + index), type, dwords};
}
inline isa::Operand s(uint32_t code, isa::Type type = isa::Type::kB32, uint8_t dwords = 1) {
  return {static_cast<uint16_t>(code), type, dwords};
}
inline isa::Operand literal(isa::Type type = isa::Type::kB32) {
  return {isa::code::kLiteral, type, 1};
}

inline isa::Instruction instruction(isa::Op op, isa::Encoding encoding,
                                    std::initializer_list<isa::Operand> dst,
                                    std::initializer_list<isa::Operand> src) {
  isa::Instruction result;
  result.op = op;
  result.encoding = encoding;
  result.bytes = 8;
  std::copy(dst.begin(), dst.end(), result.dst);
  std::copy(src.begin(), src.end(), result.src);
  return result;
}

/// Random numbers, with many boundary values.
class Numbers {
 public:
  explicit Numbers(uint32_t seed) : random_(seed) {}
  uint32_t next() {
    static constexpr uint32_t kEdges[] = {
        0,          1,          2,          31,         32,         0x7f,       0x80,       0xff,
        0x7fff,     0x8000,     0xffff,     0x10000,    0x7fffff,   0x800000,   0xffffff,   0x1000000,
        0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffe, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000,
        0x7fc00000, 0x7f800001, 0x00800000, 0x007fffff, 0x80000001, 0x3c003c00, 0x7c007c00, 0x7e01fc00,
        0x04000001, 0x4b000000, 0x4f000000, 0x3effffff};
    const uint32_t kind = random_() % 4;
    const uint32_t value = random_();
    if (kind == 0) return kEdges[value % (sizeof kEdges / sizeof *kEdges)];
    if (kind == 1) return (value & 0x807fffff) | (120 + value % 16) << 23;  // floats around one
    return value;
  }
  uint64_t next64() { return next() | uint64_t{next()} << 32; }

 private:
  std::mt19937 random_;
};

}  // namespace rigel::vgpu::exec
