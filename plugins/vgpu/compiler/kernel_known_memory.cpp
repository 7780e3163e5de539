// Loads and stores of lanes whose places relative to each other are known: vectors, shuffles, and gathers where nothing
// better is possible.
#include "plugins/vgpu/compiler/kernel_builder.hpp"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <cstddef>
#include <set>

namespace rigel::vgpu::exec::compiler {

bool KernelBuilder::follow_each_other(const Place& place, unsigned v, uint32_t step) const {
  for (unsigned i = 1; i < lanes_; ++i) {
    if (place.offsets[v * lanes_ + i] != place.offsets[v * lanes_] + i * step) return false;
  }
  return true;
}

uint32_t KernelBuilder::span_of(const Place& place, uint32_t bytes) const {
  uint32_t most = 0;
  for (unsigned i = 0; i < wave_size_; ++i) most = std::max(most, place.offsets[i]);
  return most + bytes;
}

std::vector<Value*> KernelBuilder::load_known(const Place& place, unsigned v, unsigned dwords) {
  const uint32_t* const offsets = place.offsets.data() + v * lanes_;
  const auto load = [&](llvm::Type* type, uint32_t offset) {
    return b_.CreateAlignedLoad(type, at(place.begin, offset), llvm::Align(4));
  };
  std::vector<Value*> values;
  const bool same = std::all_of(offsets, offsets + lanes_, [&](uint32_t o) { return o == offsets[0]; });
  if (same) {
    // Pairs in one piece, so that they are not torn.
    std::vector<Value*> parts;
    for (unsigned d = 0; d + 1 < dwords; d += 2) {
      Value* const pair = b_.CreateAlignedLoad(i64(), at(place.begin, offsets[0] + d * 4), llvm::Align(4));
      parts.push_back(b_.CreateTrunc(pair, i32()));
      parts.push_back(b_.CreateTrunc(b_.CreateLShr(pair, b_.getInt64(32)), i32()));
    }
    if (dwords % 2 != 0) parts.push_back(load(i32(), offsets[0] + (dwords - 1) * 4));
    for (Value* const part : parts) values.push_back(b_.CreateVectorSplat(lanes_, part));
    return values;
  }
  if (follow_each_other(place, v, dwords * 4)) {
    std::vector<Value*> loaded;
    for (unsigned d = 0; d < dwords; ++d) loaded.push_back(load(vector(), offsets[0] + d * lanes_ * 4));
    if (dwords == 1) return loaded;
    Value* all = loaded[0];
    if (dwords == 2) all = concatenated(loaded[0], loaded[1], lanes_);
    if (dwords == 4) {
      all = concatenated(concatenated(loaded[0], loaded[1], lanes_),
                         concatenated(loaded[2], loaded[3], lanes_), 2 * lanes_);
    }
    if (dwords != 3) {
      for (unsigned d = 0; d < dwords; ++d) {
        std::vector<int> picks;
        for (unsigned i = 0; i < lanes_; ++i) picks.push_back(static_cast<int>(i * dwords + d));
        values.push_back(b_.CreateShuffleVector(all, picks));
      }
      return values;
    }
  }
  for (unsigned d = 0; d < dwords; ++d) values.push_back(load_apart(place, offsets, d * 4));
  return values;
}

Value* KernelBuilder::concatenated(Value* low, Value* high, unsigned each) {
  std::vector<int> picks;
  for (unsigned i = 0; i < 2 * each; ++i) picks.push_back(static_cast<int>(i));
  return b_.CreateShuffleVector(low, high, picks);
}

Value* KernelBuilder::load_apart(const Place& place, const uint32_t* offsets, uint32_t further) {
  const uint32_t first = *std::min_element(offsets, offsets + lanes_),
                 last = *std::max_element(offsets, offsets + lanes_);
  const bool whole = std::all_of(offsets, offsets + lanes_, [&](uint32_t o) { return (o - first) % 4 == 0; });
  const uint32_t bytes = last - first + 4;
  const uint32_t vector_bytes = lanes_ * 4;
  if (whole && bytes <= 2 * vector_bytes && bytes >= vector_bytes) {
    // The second one ends where the last lane does.
    const uint32_t second = last + 4 - vector_bytes;
    Value* const low = b_.CreateAlignedLoad(vector(), at(place.begin, first + further), llvm::Align(4));
    Value* const high = b_.CreateAlignedLoad(vector(), at(place.begin, second + further), llvm::Align(4));
    std::vector<int> picks;
    for (unsigned i = 0; i < lanes_; ++i) {
      const uint32_t from = offsets[i] - first;
      picks.push_back(from < vector_bytes ? static_cast<int>(from / 4)
                                          : static_cast<int>(lanes_ + (offsets[i] - second) / 4));
    }
    return b_.CreateShuffleVector(low, high, picks);
  }
  std::map<uint32_t, Value*> loaded;
  std::set<uint32_t> different(offsets, offsets + lanes_);
  if (different.size() <= 4) {
    Value* result = llvm::PoisonValue::get(vector());
    for (unsigned i = 0; i < lanes_; ++i) {
      Value*& one = loaded[offsets[i]];
      if (one == nullptr)
        one = b_.CreateAlignedLoad(i32(), at(place.begin, offsets[i] + further), llvm::Align(4));
      result = b_.CreateInsertElement(result, one, b_.getInt64(i));
    }
    return result;
  }
  std::vector<uint32_t> places(offsets, offsets + lanes_);
  for (uint32_t& offset : places) offset += further;
  Value* const pointers = b_.CreateGEP(i8(), place.begin, llvm::ConstantDataVector::get(context_, places));
  return b_.CreateMaskedGather(vector(), pointers, llvm::Align(4));
}

void KernelBuilder::store_known(const Place& place, unsigned v, const std::vector<Value*>& values,
                                Value* bits) {
  const uint32_t* const offsets = place.offsets.data() + v * lanes_;
  Value* const mask = lanes_of(bits);
  if (values.size() == 1) {
    if (follow_each_other(place, v, 4)) {
      b_.CreateMaskedStore(values[0], at(place.begin, offsets[0]), llvm::Align(4), mask);
      return;
    }
    store_apart(place, offsets, values[0], mask);
    return;
  }
  const auto dwords = static_cast<unsigned>(values.size());
  Value* all = concatenated(values[0], values[1], lanes_);
  if (dwords == 4) all = concatenated(all, concatenated(values[2], values[3], lanes_), 2 * lanes_);
  for (unsigned part = 0; part < dwords; ++part) {
    std::vector<int> picks;
    for (unsigned i = 0; i < lanes_; ++i) {
      const unsigned dword = part * lanes_ + i;
      picks.push_back(static_cast<int>(dword % dwords * lanes_ + dword / dwords));
    }
    b_.CreateAlignedStore(b_.CreateShuffleVector(all, picks), at(place.begin, offsets[0] + part * lanes_ * 4),
                          llvm::Align(4));
  }
}

// Scatters are slow on many a host; vectors with some of their lanes are not, where those are registers of masks.
void KernelBuilder::store_apart(const Place& place, const uint32_t* offsets, Value* value, Value* mask) {
  constexpr uint32_t kMostPieces = 4;
  const uint32_t first = *std::min_element(offsets, offsets + lanes_),
                 last = *std::max_element(offsets, offsets + lanes_);
  const bool whole = std::all_of(offsets, offsets + lanes_, [&](uint32_t o) { return (o - first) % 4 == 0; });
  const bool differ = std::set<uint32_t>(offsets, offsets + lanes_).size() == lanes_;
  const uint32_t pieces = (last - first) / (lanes_ * 4) + 1;
  if (plan_.level != SimdLevel::kAvx512 || !whole || !differ || pieces > kMostPieces) {
    const std::vector<uint32_t> places(offsets, offsets + lanes_);
    Value* const pointers = b_.CreateGEP(i8(), place.begin, llvm::ConstantDataVector::get(context_, places));
    b_.CreateMaskedScatter(value, pointers, llvm::Align(4), mask);
    return;
  }
  for (uint32_t piece = 0; piece < pieces; ++piece) {
    std::vector<int> picks(lanes_, static_cast<int>(lanes_)), value_picks(lanes_, llvm::PoisonMaskElem);
    for (unsigned i = 0; i < lanes_; ++i) {
      const uint32_t dword = (offsets[i] - first) / 4;
      if (dword / lanes_ == piece) picks[dword % lanes_] = value_picks[dword % lanes_] = static_cast<int>(i);
    }
    Value* const lanes = b_.CreateShuffleVector(mask, llvm::Constant::getNullValue(mask->getType()), picks);
    b_.CreateMaskedStore(b_.CreateShuffleVector(value, value_picks), at(place.begin, first + piece * lanes_ * 4),
                         llvm::Align(4), lanes);
  }
}

bool KernelBuilder::loads_whole_elements(const Place& place, unsigned dwords) const {
  if (dwords == 1) return true;
  for (unsigned v = 0; v < vectors_; ++v) {
    const uint32_t* const offsets = place.offsets.data() + v * lanes_;
    const bool same = std::all_of(offsets, offsets + lanes_, [&](uint32_t o) { return o == offsets[0]; });
    if (!same && !follow_each_other(place, v, dwords * 4)) return false;
  }
  return true;
}

bool KernelBuilder::can_store_known(const Place& place, unsigned dwords) const {
  if (dwords == 1) return true;
  if (dwords == 3) return false;
  for (unsigned v = 0; v < vectors_; ++v) {
    if (!follow_each_other(place, v, dwords * 4)) return false;
  }
  return follow_each_other_all(place, dwords * 4);
}

bool KernelBuilder::follow_each_other_all(const Place& place, uint32_t step) const {
  for (unsigned i = 1; i < wave_size_; ++i) {
    if (place.offsets[i] != place.offsets[0] + i * step) return false;
  }
  return true;
}

KernelBuilder::Place KernelBuilder::place_from(const Shape& shape) const {
  Place place;
  const int32_t least = shape.least(wave_size_);
  for (unsigned i = 0; i < wave_size_; ++i)
    place.offsets[i] = shape.offsets[i] - static_cast<uint32_t>(least);
  return place;
}

void KernelBuilder::access_known(uint32_t node, const Place& place, bool stores, uint32_t data,
                                 unsigned dwords) {
  Value* const exec = mask_at(kExec * 4);
  for (unsigned v = 0; v < vectors_; ++v) {
    if (stores) {
      std::vector<Value*> values;
      for (unsigned d = 0; d < dwords; ++d) values.push_back(value_of(data + d, v));
      store_known(place, v, values, bits_of(exec, v));
    } else {
      const std::vector<Value*> values = load_known(place, v, dwords);
      for (unsigned d = 0; d < dwords; ++d) put(node, row_source(data + d), v, values[d], exec);
    }
  }
}

bool KernelBuilder::build_global_known(uint32_t node) {
  const isa::Instruction& in = plan_.graph.nodes[node].instruction;
  const isa::MemoryShape& memory = *isa::memory_shape(in.op);
  const bool stores = memory.verb == isa::Verb::kStore;
  const unsigned dwords = memory.dwords();
  const bool has_base = in.saddr.exists() && in.saddr.code != isa::code::kNull;
  const uint32_t address_row = in.vaddr.vgpr();
  const ShapePointer& low = before_.rows[address_row];
  if (low == nullptr || !is_near(*low, wave_size_)) return false;
  const ShapePointer& high = before_.rows[address_row + 1];
  if (!has_base && (high == nullptr || !high->is_uniform(wave_size_))) return false;
  Place place = place_from(*low);
  if (stores ? !can_store_known(place, dwords) : !loads_whole_elements(place, dwords)) return false;
  note_place(node);
  Value* const base = before_bases_[address_row];
  Value* const start = plus(base, low->least(wave_size_));
  Value* va = b_.CreateAdd(wide(start), b_.getInt64(static_cast<uint64_t>(int64_t{in.offset})));
  Value* reached = does_not_wrap(base, *low);
  if (has_base) {
    va = b_.CreateAdd(va, scalar64(in.saddr.code * 4u));
  } else {
    Value* const upper = plus(before_bases_[address_row + 1], static_cast<int32_t>(high->offsets[0]));
    va = b_.CreateAdd(va, b_.CreateShl(wide(upper), b_.getInt64(32)));
    if (in.encoding == isa::Encoding::kFlat) {
      for (const size_t aperture :
           {offsetof(Wave, shared_aperture_hi), offsetof(Wave, private_aperture_hi)}) {
        reached = b_.CreateAnd(reached, b_.CreateICmpNE(upper, b_.CreateLoad(i32(), wave_field(aperture))));
      }
    }
  }
  place.begin = call(stores ? "place_to_store" : "place_to_load",
                     {wave_, address(memory_operation(node)), va, b_.getInt64(span_of(place, dwords * 4))});
  reached = b_.CreateAnd(reached, b_.CreateIsNotNull(place.begin));
  if (stores && dwords > 1) reached = b_.CreateAnd(reached, b_.CreateICmpEQ(mask_at(kExec * 4), all_lanes()));
  const uint32_t data = stores ? in.vdata.vgpr() : in.vdst.vgpr();
  with_call(node, reached, [&] { access_known(node, place, stores, data, dwords); });
  return true;
}

bool KernelBuilder::build_lds_known(uint32_t node) {
  const isa::Instruction& in = plan_.graph.nodes[node].instruction;
  const isa::MemoryShape& memory = *isa::memory_shape(in.op);
  const bool stores = memory.verb == isa::Verb::kStore;
  const unsigned dwords = memory.dwords();
  const ShapePointer& low = before_.rows[in.vaddr.vgpr()];
  if (low == nullptr || !is_near(*low, wave_size_)) return false;
  Place place = place_from(*low);
  if (stores && !can_store_known(place, dwords)) return false;
  const uint32_t unit = memory.pair ? memory.bytes * (memory.far_pair ? 64u : 1u) : 1u;
  const uint32_t offsets[2] = {static_cast<uint32_t>(in.offset) * unit, in.offset1 * unit};
  const unsigned elements = memory.pair ? 2 : 1;
  const uint32_t span = span_of(place, dwords * 4);
  if (memory.pair && stores && !apart(place, offsets[0], offsets[1], dwords * 4)) return false;
  note_place(node);
  Value* limit = lds_bytes_;
  if (plan_.m0_limits_lds) limit = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, limit, scalar(kM0 * 4));
  Value* const start = plus(before_bases_[in.vaddr.vgpr()], low->least(wave_size_));
  Value* reached = does_not_wrap(before_bases_[in.vaddr.vgpr()], *low);
  std::array<Value*, 2> begins{};
  for (unsigned e = 0; e < elements; ++e) {
    begins[e] = wide(b_.CreateAdd(start, b_.getInt32(offsets[e])));
    reached =
        b_.CreateAnd(reached, b_.CreateICmpULE(b_.CreateAdd(begins[e], b_.getInt64(span)), wide(limit)));
    if (plan_.m0_limits_lds) {
      const uint32_t alignment = (dwords == 3 ? 16u : dwords * 4) - 1;
      for (const uint32_t offset : place.offsets) {
        if ((offset & alignment) != 0) return false;
      }
      reached = b_.CreateAnd(
          reached, b_.CreateICmpEQ(b_.CreateAnd(begins[e], b_.getInt64(alignment)), b_.getInt64(0)));
    }
  }
  if (stores && dwords > 1) reached = b_.CreateAnd(reached, b_.CreateICmpEQ(mask_at(kExec * 4), all_lanes()));
  with_call(node, reached, [&] {
    for (unsigned e = 0; e < elements; ++e) {
      place.begin = b_.CreateGEP(i8(), lds_, begins[e]);
      const uint32_t data = stores ? (e == 0 ? in.vdata : in.vdata2).vgpr() : in.vdst.vgpr() + e * dwords;
      access_known(node, place, stores, data, dwords);
    }
  });
  return true;
}

bool KernelBuilder::apart(const Place& place, uint32_t one, uint32_t other, uint32_t bytes) const {
  std::set<uint32_t> taken;
  for (unsigned i = 0; i < wave_size_; ++i) {
    for (uint32_t byte = 0; byte < bytes; ++byte) taken.insert(place.offsets[i] + one + byte);
  }
  for (unsigned i = 0; i < wave_size_; ++i) {
    for (uint32_t byte = 0; byte < bytes; ++byte) {
      if (taken.contains(place.offsets[i] + other + byte)) return false;
    }
  }
  return true;
}

}  // namespace rigel::vgpu::exec::compiler
