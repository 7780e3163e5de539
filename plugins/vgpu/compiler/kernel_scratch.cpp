// Scratch through buffer, SCRATCH and FLAT instructions. Scratch interleaves the lanes' dwords, so a dword at
// a uniform offset is a row of memory. Private arrays, spilled registers and code without optimization use
// it. For other descriptors, and for addresses of several kinds, the handler executes the instruction.
#include "plugins/vgpu/compiler/kernel_builder.hpp"

#include <llvm/IR/Constants.h>

#include <utility>

#include "plugins/vgpu/exec/memory_ops/buffer_resource.hpp"

namespace rigel::vgpu::exec::compiler {

Value* KernelBuilder::lane_scratch_bytes() {
  const size_t field =
      plan_.is_checked ? offsetof(Wave, exact_private_bytes) : offsetof(Wave, scratch_lane_bytes);
  return wide(b_.CreateLoad(i32(), wave_field(field)));
}

KernelBuilder::Scratch KernelBuilder::scratch_of(const isa::Instruction& in) {
  // Like BufferResource::byte_range(), for a descriptor with swizzle and lane numbers as indices.
  const isa::BufferRules rules = plan_.traits().buffer;
  const uint32_t resource = in.saddr.code * 4u;
  Value* const low = scalar64(resource);
  Value* const word3 = scalar(resource + 12);
  // Otherwise it is 0 (kind_of() in plan.cpp).
  Value* const soffset =
      in.soffset.is_scalar_register() ? wide(scalar(in.soffset.code * 4u)) : b_.getInt64(0);
  constexpr uint32_t kAddTid = 1 << 23, kIndexStride = 3 << 21, kElementSize = 3 << 19;
  uint32_t mask = kAddTid | kIndexStride, expected = kAddTid | (wave_size_ == 64 ? 3u : 2u) << 21;
  if (rules == isa::BufferRules::kBySwizzle) mask |= kElementSize, expected |= 1 << 19;
  Scratch scratch;
  scratch.offsets_wrap = BufferResource::offsets_wrap(rules);
  scratch.is_scratch =
      b_.CreateAnd(b_.CreateICmpSLT(low, b_.getInt64(0)),
                   b_.CreateICmpEQ(b_.CreateAnd(word3, b_.getInt32(mask)), b_.getInt32(expected)));
  scratch.base = b_.CreateAdd(b_.CreateAnd(low, b_.getInt64(0xffffffffffff)), soffset);
  scratch.bytes = wide(scalar(resource + 8));
  Value* const unlimited = b_.getInt64(uint64_t{1} << 33);
  Value* const bytes = b_.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, scratch.bytes, soffset);
  switch (rules) {
    case isa::BufferRules::kBySwizzle:
      scratch.bytes = bytes;
      break;
    case isa::BufferRules::kByIndex:
      scratch.bytes = unlimited;
      break;
    case isa::BufferRules::kSelected: {
      Value* const select = b_.CreateLShr(b_.CreateShl(word3, b_.getInt32(2)), b_.getInt32(30));
      Value* const is_any = b_.CreateICmpEQ(select, b_.getInt32(2));
      Value* const has_stride =
          b_.CreateICmpNE(b_.CreateAnd(low, b_.getInt64(uint64_t{0x3fff} << 48)), b_.getInt64(0));
      Value* const is_range = b_.CreateAnd(b_.CreateICmpEQ(select, b_.getInt32(3)), b_.CreateNot(has_stride));
      scratch.is_scratch = b_.CreateAnd(scratch.is_scratch, b_.CreateOr(is_any, is_range));
      Value* const is_empty = b_.CreateICmpEQ(scratch.bytes, b_.getInt64(0));
      scratch.bytes = b_.CreateSelect(is_any, b_.CreateSelect(is_empty, b_.getInt64(0), unlimited), bytes);
      break;
    }
  }
  // The handler reports accesses past the lane's memory.
  Value* const private_va = b_.CreateLoad(i64(), wave_field(offsetof(Wave, private_va)));
  Value* const before = b_.CreateLShr(b_.CreateSub(scratch.base, private_va), wave_size_ == 64 ? 6 : 5);
  Value* const lane_bytes = lane_scratch_bytes();
  scratch.bytes =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, scratch.bytes,
                               b_.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, lane_bytes, before));
  return scratch;
}

void KernelBuilder::build_scratch(uint32_t node) {
  const isa::Instruction& in = plan_.graph.nodes[node].instruction;
  note_place(node);
  const bool is_buffer = in.encoding == isa::Encoding::kMubuf;
  Scratch scratch = is_buffer ? scratch_of(in) : own_scratch();
  if (!is_buffer) {
    scratch.is_scratch = b_.getTrue();
    scratch.offsets_wrap = true;
    if (in.saddr.exists() && !in.saddr.is_null()) scratch.scalar = scalar(in.saddr.code * 4u);
  }
  Value* offset = scratch.scalar;
  if (is_buffer ? in.offen : in.vaddr.exists()) {
    const uint32_t row = in.vaddr.vgpr();
    const ShapePointer& shape = before_.of_active(row);
    if (shape == nullptr || !shape->is_uniform(wave_size_)) return build_scratch_anywhere(node, scratch);
    Value* const of_lanes = plus(before_common_[row].base, static_cast<int32_t>(shape->offsets[0]));
    offset = offset == nullptr ? of_lanes : b_.CreateAdd(offset, of_lanes);
  }
  Value* const all =
      offset == nullptr ? b_.getInt64(static_cast<uint32_t>(in.offset)) : offset_in(scratch, in, offset);
  build_scratch_rows(node, scratch, all, Loads::kLater);
}

Value* KernelBuilder::offset_in(const Scratch& scratch, const isa::Instruction& in, Value* register_offset) {
  const auto instruction_offset = static_cast<uint32_t>(in.offset);
  if (scratch.offsets_wrap) return wide(b_.CreateAdd(register_offset, b_.getInt32(instruction_offset)));
  return b_.CreateAdd(wide(register_offset), b_.getInt64(instruction_offset));
}

void KernelBuilder::build_private(uint32_t node, const Scratch& scratch) {
  const isa::Instruction& in = plan_.graph.nodes[node].instruction;
  const ShapePointer& shape = before_.of_active(in.vaddr.vgpr());
  if (shape == nullptr || !shape->is_uniform(wave_size_)) return build_scratch_anywhere(node, scratch);
  Value* const base = before_common_[in.vaddr.vgpr()].base;
  Value* const offset = offset_in(scratch, in, plus(base, static_cast<int32_t>(shape->offsets[0])));
  build_scratch_rows(node, scratch, offset, Loads::kNow);
}

// Offset uniform over all lanes.
void KernelBuilder::build_scratch_rows(uint32_t node, const Scratch& scratch, Value* offset, Loads when) {
  const isa::Instruction& in = plan_.graph.nodes[node].instruction;
  const isa::MemoryShape& shape = *isa::memory_shape(in.op);
  const bool stores = shape.verb == isa::Verb::kStore;
  const unsigned dwords = shape.dwords();
  const uint32_t data = stores ? in.vdata.vgpr() : in.vdst.vgpr();
  const uint32_t row_bytes = wave_size_ * 4;
  Value* reached =
      b_.CreateAnd(b_.CreateICmpEQ(b_.CreateAnd(offset, b_.getInt64(3)), b_.getInt64(0)),
                   b_.CreateICmpULE(b_.CreateAdd(offset, b_.getInt64(dwords * 4)), scratch.bytes));
  Value* const va = b_.CreateAdd(scratch.base, b_.CreateMul(offset, b_.getInt64(wave_size_)));
  Value* const begin =
      call(stores ? "place_to_store" : "place_to_load",
           {memory_, linkage_, scratch_site(), va, b_.getInt64(uint64_t{dwords} * row_bytes)});
  reached = b_.CreateAnd(b_.CreateAnd(scratch.is_scratch, reached), b_.CreateIsNotNull(begin));
  Place place;
  for (unsigned i = 0; i < wave_size_; ++i) place.offsets[i] = i * 4;
  if (!stores && when == Loads::kLater) {
    std::vector<PendingLoad> loads;
    for (unsigned d = 0; d < dwords; ++d) {
      place.begin = at(begin, uint64_t{d} * row_bytes);
      loads.push_back(pending_load(node, place, data + d, 1));
    }
    return delay_loads(node, fork_if(reached), std::move(loads));
  }
  if (!stores) {
    return with_fallback(
        reached,
        [&] {
          for (unsigned d = 0; d < dwords; ++d) {
            place.begin = at(begin, uint64_t{d} * row_bytes);
            access_affine(node, place, false, data + d, 1);
          }
        },
        [&] { build_call(node); });
  }
  with_fallback(
      reached,
      [&] {
        Value* const exec = mask_at(kExec * 4);
        for (unsigned v = 0; v < vectors_; ++v) {
          for (unsigned d = 0; d < dwords; ++d) {
            Value* const to = at(begin, uint64_t{d} * row_bytes + uint64_t{v} * lanes_ * 4);
            Value* const value = value_of(data + d, v);
            // The descriptor may be of memory that several waves share: inactive lanes are not stored.
            if (before_.all_active()) {
              b_.CreateAlignedStore(value, to, llvm::Align(4));
            } else {
              b_.CreateMaskedStore(value, to, llvm::Align(4), lanes_of(exec, v));
            }
          }
        }
      },
      [&] { build_call(node); });
}

KernelBuilder::Scratch KernelBuilder::own_scratch() {
  const isa::Traits& traits = plan_.traits();
  Scratch scratch;
  Value* const place =
      traits.flat_scratch_is_hidden ? at(registers(), kFlatScratchSlot * 4) : scalar_at(kFlatScratchSgpr * 4);
  scratch.base = b_.CreateAlignedLoad(i64(), place, llvm::Align(4));
  if (traits.flat_scratch_counts_from_base) {
    Value* const units = b_.CreateLShr(scratch.base, b_.getInt64(32));
    scratch.base = b_.CreateAdd(b_.CreateLoad(i64(), wave_field(offsetof(Wave, scratch_base))),
                                b_.CreateShl(units, b_.getInt64(8)));
  }
  scratch.bytes = lane_scratch_bytes();
  return scratch;
}

KernelBuilder::Scratch KernelBuilder::private_of(const isa::Instruction& in) {
  Value* const aperture = b_.CreateLoad(i32(), wave_field(offsetof(Wave, private_aperture_hi)));
  Value* const exec = mask_at(kExec * 4);
  Scratch scratch = own_scratch();
  const uint32_t upper = in.vaddr.vgpr() + 1u;
  const ShapePointer& shape = before_.of_active(upper);
  if (shape != nullptr && shape->is_uniform(wave_size_)) {
    const auto offset = static_cast<int32_t>(shape->offsets[0]);
    scratch.is_scratch = b_.CreateICmpEQ(plus(before_common_[upper].base, offset), aperture);
  } else {
    scratch.is_scratch = b_.getTrue();
    for (unsigned v = 0; v < vectors_; ++v) {
      Value* is_private = b_.CreateICmpEQ(value_of(upper, v), b_.CreateVectorSplat(lanes_, aperture));
      if (!before_.all_active()) is_private = b_.CreateOr(is_private, b_.CreateNot(lanes_of(exec, v)));
      scratch.is_scratch = b_.CreateAnd(scratch.is_scratch, b_.CreateAndReduce(is_private));
    }
  }
  return scratch;
}

// Different offsets. Calls a function that is not inlined: kernels with private arrays have hundreds of these
// accesses.
void KernelBuilder::build_scratch_anywhere(uint32_t node, const Scratch& scratch) {
  const isa::Instruction& in = plan_.graph.nodes[node].instruction;
  const isa::MemoryShape& shape = *isa::memory_shape(in.op);
  const bool stores = shape.verb == isa::Verb::kStore;
  const unsigned dwords = shape.dwords();
  const uint32_t data = stores ? in.vdata.vgpr() : in.vdst.vgpr();
  const auto place = [&](unsigned row, unsigned v) {
    return at(outside_rows(), uint64_t{row} * wave_size_ * 4 + uint64_t{v} * lanes_ * 4);
  };
  const auto pass = [&](unsigned row, uint32_t index, Value* further) {
    for (unsigned v = 0; v < vectors_; ++v)
      b_.CreateAlignedStore(b_.CreateAdd(value_of(index, v), b_.CreateVectorSplat(lanes_, further)),
                            place(row, v), llvm::Align(lanes_ * 4));
  };
  auto instruction_offset = static_cast<uint32_t>(in.offset);
  Value* further = b_.getInt32(scratch.offsets_wrap ? std::exchange(instruction_offset, 0) : 0);
  if (scratch.scalar != nullptr) further = b_.CreateAdd(further, scratch.scalar);
  pass(0, in.vaddr.vgpr(), further);
  for (unsigned d = 0; d < dwords && stores; ++d) pass(1 + d, data + d, b_.getInt32(0));
  Value* const exec = mask_at(kExec * 4);
  llvm::Function* const function =
      operations_.named((stores ? "store_scratch_" : "load_scratch_") + std::to_string(wave_size_));
  if (function == nullptr) return fail("missing function for scratch memory");
  Value* const bytes = b_.CreateSelect(scratch.is_scratch, scratch.bytes, b_.getInt64(0));
  Value* const done =
      b_.CreateCall(function, {wave(), linkage_, scratch_site(), scratch.base, bytes,
                               b_.getInt32(instruction_offset), exec, outside_rows(), b_.getInt32(dwords)});
  if (stores) return or_call(node, done);
  with_fallback(
      done,
      [&] {
        for (unsigned d = 0; d < dwords; ++d) {
          for (unsigned v = 0; v < vectors_; ++v)
            put(node, row_source(data + d), v,
                b_.CreateAlignedLoad(vector(), place(1 + d, v), llvm::Align(lanes_ * 4)), exec);
        }
      },
      [&] { build_call(node); });
}

Value* KernelBuilder::outside_rows() {
  constexpr unsigned kRows = 5;  // Offsets and four dwords.
  if (outside_rows_ == nullptr)
    outside_rows_ = variable(llvm::ArrayType::get(i32(), uint64_t{kRows} * wave_size_), 64, "outside");
  return outside_rows_;
}

}  // namespace rigel::vgpu::exec::compiler
