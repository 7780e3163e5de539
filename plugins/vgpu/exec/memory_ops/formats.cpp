#include "plugins/vgpu/exec/memory_ops/formats.hpp"

#include <bit>

#include "plugins/vgpu/images/halves.hpp"
#include "plugins/vgpu/isa/memory_shape.hpp"

namespace rigel::vgpu::exec {

std::optional<FormatAccess> format_access(const isa::Instruction& instruction, const isa::Traits& traits) {
  const isa::MemoryShape* const shape = isa::memory_shape(instruction.op);
  if (shape == nullptr || shape->components == 0) return std::nullopt;
  FormatAccess access;
  access.store = shape->verb == isa::Verb::kStore;
  access.half = shape->d16;
  access.high = shape->high;
  access.packed = traits.packs_d16;
  access.clears_half = traits.d16_loads_clear_half;
  access.components = shape->components;
  if (instruction.encoding == isa::Encoding::kMtbuf) {
    access.format = traits.buffer == isa::BufferRules::kSelected
                        ? images::unified_format(instruction.format)
                        : images::TexelFormat{instruction.dfmt, images::Number{instruction.nfmt}};
  }
  return access;
}

void unpack(const FormatAccess& access, const uint32_t (&element)[4], bool inside, uint32_t (&values)[4]) {
  uint32_t memory[4] = {}, components[4] = {};
  if (inside) images::unpack(access.format, element, memory);
  for (unsigned i = 0; i < access.components; ++i) {
    const uint8_t select = access.select[i];
    components[i] = select >= 4 ? memory[select - 4] : select == 1 ? images::one(access.format) : 0;
  }
  to_registers(access, components, values);
}

void to_registers(const FormatAccess& access, const uint32_t (&components)[4], uint32_t (&values)[4]) {
  for (unsigned i = 0; i < access.components; ++i) {
    uint32_t value = components[i];
    if (!access.half) {
      values[i] = value;
      continue;
    }
    value = images::is_integer(access.format) ? value & 0xffff
                                              : images::half_from_float(std::bit_cast<float>(value));
    if (access.high || (access.packed && i % 2 == 1)) {
      const uint32_t low = access.high && access.clears_half ? 0 : values[i / 2] & 0xffff;
      values[i / 2] = low | value << 16;
    } else if (access.packed && access.components == 1 && !access.clears_half) {
      values[0] = (values[0] & 0xffff0000) | value;
    } else {
      values[access.packed ? i / 2 : i] = value;
    }
  }
}

void pack(const FormatAccess& access, const uint32_t (&values)[4], uint32_t (&element)[4]) {
  uint32_t components[4] = {}, memory[4] = {};
  from_registers(access, values, components);
  to_memory(access.select, components, access.components, memory);
  images::pack(access.format, memory, element);
}

void to_memory(const uint8_t (&select)[4], const uint32_t (&components)[4], unsigned count,
               uint32_t (&memory)[4]) {
  for (unsigned i = count; i-- > 0;) {
    if (select[i] >= 4) memory[select[i] - 4] = components[i];
  }
}

void from_registers(const FormatAccess& access, const uint32_t (&values)[4], uint32_t (&components)[4]) {
  for (unsigned i = 0; i < access.components; ++i) {
    if (!access.half) {
      components[i] = values[i];
      continue;
    }
    const uint32_t source = values[access.packed ? i / 2 : i];
    const uint32_t half = access.high || (access.packed && i % 2 == 1) ? source >> 16 : source & 0xffff;
    const images::Number number = access.format.number;
    components[i] = number == images::Number::kSint ? static_cast<uint32_t>(static_cast<int16_t>(half))
                    : number == images::Number::kUint
                        ? half
                        : std::bit_cast<uint32_t>(images::float_from_half(half));
  }
}

}  // namespace rigel::vgpu::exec
