// Loads and stores at affine addresses: vectors and shuffles, otherwise gathers and scatters.
#include "plugins/vgpu/compiler/kernel_builder.hpp"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>

namespace rigel::vgpu::exec::compiler {

bool KernelBuilder::is_contiguous(const Place& place, unsigned v, uint32_t step) const {
  for (unsigned i = 1; i < lanes_; ++i) {
    if (place.offsets[v * lanes_ + i] != place.offsets[v * lanes_] + i * step) return false;
  }
  return true;
}

KernelBuilder::Place KernelBuilder::place_of_vector(const Place& place, VectorIndex v) {
  Place part = place;
  if (v.bytes != nullptr) {
    const uint32_t stride = place.offsets[lanes_] - place.offsets[0];
    Value* const vectors = b_.CreateUDiv(v.bytes, b_.getInt64(lanes_ * 4));
    part.begin = b_.CreateInBoundsGEP(i8(), place.begin, b_.CreateMul(vectors, b_.getInt64(stride)));
    return part;
  }
  std::copy_n(place.offsets.begin() + v.number * lanes_, lanes_, part.offsets.begin());
  if (place.pitch == nullptr) return part;
  Value* const rows = b_.CreateMul(place.pitch, b_.getInt32(place.pitches[v.number * lanes_]));
  part.begin = b_.CreateGEP(i8(), place.begin, wide(rows));
  return part;
}

bool KernelBuilder::is_same_for_all_vectors(const Place& place) const {
  if (place.pitch != nullptr) return false;
  for (unsigned i = lanes_; i < wave_size_; ++i) {
    const uint32_t before = place.offsets[i - lanes_], stride = place.offsets[lanes_] - place.offsets[0];
    if (place.offsets[i] < before || place.offsets[i] - before != stride) return false;
  }
  return true;
}

uint32_t KernelBuilder::span_of(const Place& place, uint32_t bytes) const {
  uint32_t most = 0;
  for (unsigned i = 0; i < wave_size_; ++i) most = std::max(most, place.offsets[i]);
  return most + bytes;
}

std::vector<Value*> KernelBuilder::load_affine(const Place& place, unsigned dwords) {
  const uint32_t* const offsets = place.offsets.data();
  std::vector<Value*> values;
  const bool same = std::all_of(offsets, offsets + lanes_, [&](uint32_t o) { return o == offsets[0]; });
  if (same) {
    for (Value* const dword : load_element(at(place.begin, offsets[0]), dwords))
      values.push_back(b_.CreateVectorSplat(lanes_, dword));
    return values;
  }
  if (dwords != 3 && is_contiguous(place, 0, dwords * 4)) return load_full_vectors(place, dwords);
  if (has_quads(place, dwords)) return load_quads(place);
  const unsigned paired = paired_dwords(place, dwords);
  for (unsigned d = 0; d < paired; d += 2) {
    for (Value* const half : load_pairs(place, offsets, d * 4)) values.push_back(half);
  }
  for (unsigned d = paired; d < dwords; ++d) values.push_back(load_scattered(place, offsets, d * 4, 4));
  return values;
}

std::vector<Value*> KernelBuilder::load_full_vectors(const Place& place, unsigned dwords) {
  std::vector<Value*> loaded, values;
  for (unsigned d = 0; d < dwords; ++d)
    loaded.push_back(load_vector(place, vector(), place.offsets[0] + d * lanes_ * 4, dwords != 1));
  if (dwords == 1) return loaded;
  for (unsigned d = 0; d < dwords; ++d) {
    std::vector<int> picks;
    for (unsigned i = 0; i < lanes_; ++i) picks.push_back(static_cast<int>(i * dwords + d));
    values.push_back(select_elements(loaded, picks));
  }
  return values;
}

bool KernelBuilder::has_quads(const Place& place, unsigned dwords) {
  return dwords == 4 && !place.is_lds;
}

std::vector<Value*> KernelBuilder::load_quads(const Place& place) {
  std::map<uint32_t, Value*> loaded;
  std::vector<Value*> groups;
  for (unsigned row = 0; row < 4; ++row) {
    std::vector<Value*> quads;
    for (unsigned lane = row; lane < lanes_; lane += 4) {
      Value*& quad = loaded[place.offsets[lane]];
      if (quad == nullptr)
        quad = load_vector(place, llvm::FixedVectorType::get(i32(), 4U), place.offsets[lane], true);
      quads.push_back(quad);
    }
    for (unsigned each = 4; quads.size() > 1; each *= 2) {
      for (size_t i = 0; i < quads.size() / 2; ++i)
        quads[i] = concatenated(quads[2 * i], quads[2 * i + 1], each);
      quads.resize(quads.size() / 2);
    }
    groups.push_back(quads[0]);
  }
  return transposed(groups);
}

void KernelBuilder::store_quads(const Place& place, const std::vector<Value*>& values) {
  const std::vector<Value*> groups = transposed(values);
  for (unsigned lane = 0; lane < lanes_; ++lane) {
    std::vector<int> picks;
    for (unsigned d = 0; d < 4; ++d) picks.push_back(static_cast<int>(lane / 4 * 4 + d));
    Value* const quad = b_.CreateShuffleVector(groups[lane % 4], picks);
    b_.CreateAlignedStore(quad, at(place.begin, place.offsets[lane]), llvm::Align(4), true);
  }
}

std::vector<Value*> KernelBuilder::transposed(const std::vector<Value*>& rows) {
  // Within each group of four dwords, like the host's unpack instructions.
  const auto interleave = [&](Value* a, Value* b, std::array<int, 4> from) {
    std::vector<int> picks;
    for (int i = 0; i < static_cast<int>(lanes_); ++i) {
      const int pick = from[static_cast<size_t>(i % 4)];
      picks.push_back(i / 4 * 4 + pick % 4 + (pick < 4 ? 0 : static_cast<int>(lanes_)));
    }
    return b_.CreateShuffleVector(a, b, picks);
  };
  Value* const low01 = interleave(rows[0], rows[1], {0, 4, 1, 5});
  Value* const low23 = interleave(rows[2], rows[3], {0, 4, 1, 5});
  Value* const high01 = interleave(rows[0], rows[1], {2, 6, 3, 7});
  Value* const high23 = interleave(rows[2], rows[3], {2, 6, 3, 7});
  return {interleave(low01, low23, {0, 1, 4, 5}), interleave(low01, low23, {2, 3, 6, 7}),
          interleave(high01, high23, {0, 1, 4, 5}), interleave(high01, high23, {2, 3, 6, 7})};
}

unsigned KernelBuilder::paired_dwords(const Place& place, unsigned dwords) const {
  // One thread uses LDS, so torn pairs cannot be observed there; the fastest form is used.
  return place.is_lds && dwords != 2 ? 0 : dwords / 2 * 2;
}

Value* KernelBuilder::load_vector(const Place& place, llvm::Type* type, uint32_t offset, bool has_pairs) {
  llvm::LoadInst* const load = b_.CreateAlignedLoad(type, at(place.begin, offset), llvm::Align(4));
  // Volatile: LLVM would load only the part that a shuffle uses, or load a part twice.
  load->setVolatile(has_pairs && !place.is_lds);
  return load;
}

std::vector<Value*> KernelBuilder::load_pairs(const Place& place, const uint32_t* offsets, uint32_t further) {
  const std::vector<uint32_t> begins = pieces_with_pairs(offsets);
  if (begins.empty()) return halves_of(load_scattered(place, offsets, further, 8));
  std::vector<Value*> pieces;
  for (const uint32_t begin : begins) pieces.push_back(load_vector(place, vector(), begin + further, true));
  std::vector<Value*> halves;
  for (unsigned half = 0; half < 2; ++half) {
    std::vector<int> picks;
    for (unsigned i = 0; i < lanes_; ++i)
      picks.push_back(static_cast<int>(dword_in_pieces(begins, offsets[i]) + half));
    halves.push_back(select_elements(pieces, picks));
  }
  return halves;
}

std::vector<uint32_t> KernelBuilder::pieces_with_pairs(const uint32_t* offsets) const {
  const Extent extent = extent_of(offsets, 8);
  const uint32_t piece_bytes = lanes_ * 4, end = extent.last + 8;
  if (extent.pieces != 0 || end - extent.first < piece_bytes) return {};
  std::vector<uint32_t> begins;
  for (const uint32_t place : std::set<uint32_t>(offsets, offsets + lanes_)) {
    if ((place - extent.first) % 4 != 0) return {};
    if (!begins.empty() && place + 8 <= begins.back() + piece_bytes) continue;
    // The last vector ends with the last lane's pair, to stay inside of the accessed range.
    begins.push_back(std::min(place, end - piece_bytes));
  }
  if (begins.size() > (extent.different <= kFew ? 2 : kMostPieces)) return {};
  return begins;
}

unsigned KernelBuilder::dword_in_pieces(const std::vector<uint32_t>& begins, uint32_t offset) const {
  unsigned piece = 0;
  while (offset + 8 > begins[piece] + lanes_ * 4) ++piece;
  return piece * lanes_ + (offset - begins[piece]) / 4;
}

std::vector<Value*> KernelBuilder::load_element(Value* from, unsigned dwords) {
  std::vector<Value*> values;
  const auto push_pair = [&](Value* pair) {
    values.push_back(b_.CreateTrunc(pair, i32()));
    values.push_back(b_.CreateTrunc(b_.CreateLShr(pair, b_.getInt64(32)), i32()));
  };
  unsigned d = 0;
  for (; d + 4 <= dwords; d += 4) {
    // Volatile: LLVM would load only the used part, or load a part twice.
    Value* const quad = b_.CreateAlignedLoad(llvm::FixedVectorType::get(i64(), 2U), at(from, uint64_t{d} * 4),
                                             llvm::Align(4), true);
    for (unsigned half = 0; half < 2; ++half) push_pair(b_.CreateExtractElement(quad, half));
  }
  for (; d + 2 <= dwords; d += 2)
    push_pair(b_.CreateAlignedLoad(i64(), at(from, uint64_t{d} * 4), llvm::Align(4)));
  if (d < dwords) values.push_back(b_.CreateAlignedLoad(i32(), at(from, uint64_t{d} * 4), llvm::Align(4)));
  return values;
}

std::vector<Value*> KernelBuilder::halves_of(Value* pairs) {
  Value* const dwords =
      b_.CreateBitCast(pairs, llvm::FixedVectorType::get(i32(), static_cast<unsigned>(2 * lanes_)));
  std::vector<Value*> halves;
  for (unsigned half = 0; half < 2; ++half) {
    std::vector<int> picks;
    for (unsigned i = 0; i < lanes_; ++i) picks.push_back(static_cast<int>(2 * i + half));
    halves.push_back(b_.CreateShuffleVector(dwords, picks));
  }
  return halves;
}

Value* KernelBuilder::concatenated(Value* low, Value* high, unsigned each) {
  std::vector<int> picks;
  for (unsigned i = 0; i < 2 * each; ++i) picks.push_back(static_cast<int>(i));
  return b_.CreateShuffleVector(low, high, picks);
}

KernelBuilder::Extent KernelBuilder::extent_of(const uint32_t* offsets, uint32_t unit) const {
  Extent extent;
  extent.first = *std::min_element(offsets, offsets + lanes_);
  extent.last = *std::max_element(offsets, offsets + lanes_);
  const std::set<uint32_t> places(offsets, offsets + lanes_);
  extent.different = static_cast<uint32_t>(places.size());
  const bool whole = std::all_of(offsets, offsets + lanes_,
                                 [&](uint32_t offset) { return (offset - extent.first) % unit == 0; });
  if (whole) extent.pieces = (extent.last - extent.first) / (lanes_ * unit) + 1;
  return extent;
}

Value* KernelBuilder::load_scattered(const Place& place, const uint32_t* offsets, uint32_t further,
                                     uint32_t unit) {
  const Extent extent = extent_of(offsets, unit);
  llvm::Type* const element = unit == 8 ? i64() : i32();
  auto* const elements = llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes_));
  if (extent.pieces != 0 && extent.pieces <= (extent.different <= kFew ? 2 : kMostPieces)) {
    return load_pieces(place, offsets, further, unit, extent);
  }
  if (extent.different <= kFew) {
    std::map<uint32_t, Value*> loaded;
    Value* result = llvm::PoisonValue::get(elements);
    for (unsigned i = 0; i < lanes_; ++i) {
      Value*& value = loaded[offsets[i]];
      if (value == nullptr) {
        value = b_.CreateAlignedLoad(element, at(place.begin, offsets[i] + further), llvm::Align(4));
      }
      result = b_.CreateInsertElement(result, value, b_.getInt64(i));
    }
    return result;
  }
  std::vector<uint32_t> places(offsets, offsets + lanes_);
  for (uint32_t& offset : places) offset += further;
  Value* const pointers = b_.CreateGEP(i8(), place.begin, llvm::ConstantDataVector::get(context_, places));
  return b_.CreateMaskedGather(elements, pointers, llvm::Align(4));
}

Value* KernelBuilder::load_pieces(const Place& place, const uint32_t* offsets, uint32_t further,
                                  uint32_t unit, const Extent& extent) {
  llvm::Type* const element = unit == 8 ? i64() : i32();
  auto* const elements = llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes_));
  const uint32_t piece_bytes = lanes_ * unit, bytes = extent.last - extent.first + unit;
  std::vector<uint32_t> begins;
  std::vector<Value*> pieces;
  for (uint32_t piece = 0; piece < extent.pieces; ++piece) {
    // The last vector ends with the last lane, to stay inside of the accessed range.
    const uint32_t begin = piece == 0 ? 0 : std::min(piece * piece_bytes, bytes - piece_bytes);
    if (bytes >= piece_bytes) {
      pieces.push_back(load_vector(place, elements, extent.first + begin + further, unit == 8));
    } else {
      std::vector<llvm::Constant*> mask;
      for (uint32_t i = 0; i < lanes_; ++i) mask.push_back(b_.getInt1(i * unit < bytes));
      Value* const from = at(place.begin, extent.first + begin + further);
      pieces.push_back(b_.CreateMaskedLoad(elements, from, llvm::Align(4), llvm::ConstantVector::get(mask)));
    }
    begins.push_back(begin);
  }
  std::vector<int> picks;
  for (unsigned i = 0; i < lanes_; ++i) {
    const uint32_t from = offsets[i] - extent.first;
    const uint32_t piece = from / piece_bytes;
    picks.push_back(static_cast<int>(piece * lanes_ + (from - begins[piece]) / unit));
  }
  return select_elements(std::move(pieces), picks);
}

Value* KernelBuilder::select_elements(std::vector<Value*> pieces, const std::vector<int>& picks) {
  if (pieces.size() == 3) pieces.push_back(llvm::PoisonValue::get(pieces[0]->getType()));
  if (pieces.size() == 1) return b_.CreateShuffleVector(pieces[0], picks);
  if (pieces.size() == 2) return b_.CreateShuffleVector(pieces[0], pieces[1], picks);
  return b_.CreateShuffleVector(concatenated(pieces[0], pieces[1], lanes_),
                                concatenated(pieces[2], pieces[3], lanes_), picks);
}

void KernelBuilder::store_affine(const Place& place, bool are_full_vectors, const std::vector<Value*>& values,
                                 Value* mask) {
  const uint32_t* const offsets = place.offsets.data();
  const auto dwords = static_cast<unsigned>(values.size());
  if (dwords == 1 && is_contiguous(place, 0, 4)) {
    b_.CreateMaskedStore(values[0], at(place.begin, offsets[0]), llvm::Align(4), mask);
    return;
  }
  if (!are_full_vectors && has_quads(place, dwords)) return store_quads(place, values);
  if (!are_full_vectors) {
    const unsigned paired = paired_dwords(place, dwords);
    for (unsigned d = 0; d < paired; d += 2)
      store_pairs(place, offsets, d * 4, values[d], values[d + 1], mask);
    for (unsigned d = paired; d < dwords; ++d) store_scattered(place, offsets, d * 4, 4, values[d], mask);
    return;
  }
  Value* all = concatenated(values[0], values[1], lanes_);
  if (dwords == 4) all = concatenated(all, concatenated(values[2], values[3], lanes_), 2 * lanes_);
  for (unsigned part = 0; part < dwords; ++part) {
    std::vector<int> picks;
    for (unsigned i = 0; i < lanes_; ++i) {
      const unsigned dword = part * lanes_ + i;
      picks.push_back(static_cast<int>(dword % dwords * lanes_ + dword / dwords));
    }
    b_.CreateAlignedStore(b_.CreateShuffleVector(all, picks), at(place.begin, offsets[0] + part * lanes_ * 4),
                          llvm::Align(4), !place.is_lds);
  }
}

Value* KernelBuilder::pairs_of(Value* low, Value* high) {
  std::vector<int> picks;
  for (unsigned i = 0; i < lanes_; ++i) {
    picks.push_back(static_cast<int>(i));
    picks.push_back(static_cast<int>(lanes_ + i));
  }
  return b_.CreateBitCast(b_.CreateShuffleVector(low, high, picks),
                          llvm::FixedVectorType::get(i64(), static_cast<unsigned>(lanes_)));
}

void KernelBuilder::store_pairs(const Place& place, const uint32_t* offsets, uint32_t further, Value* low,
                                Value* high, Value* mask) {
  const std::vector<uint32_t> begins = pieces_with_pairs(offsets);
  if (begins.empty() || plan_.level != SimdLevel::kAvx512 || extent_of(offsets, 8).different != lanes_)
    return store_scattered(place, offsets, further, 8, pairs_of(low, high), mask);
  for (unsigned piece = 0; piece < begins.size(); ++piece) {
    std::vector<int> lanes_stored(lanes_, static_cast<int>(lanes_)), picks(lanes_, llvm::PoisonMaskElem);
    for (unsigned i = 0; i < lanes_; ++i) {
      const unsigned dword = dword_in_pieces(begins, offsets[i]);
      if (dword / lanes_ != piece) continue;
      lanes_stored[dword % lanes_] = lanes_stored[dword % lanes_ + 1] = static_cast<int>(i);
      picks[dword % lanes_] = static_cast<int>(i);
      picks[dword % lanes_ + 1] = static_cast<int>(lanes_ + i);
    }
    b_.CreateMaskedStore(
        b_.CreateShuffleVector(low, high, picks), at(place.begin, begins[piece] + further), llvm::Align(4),
        b_.CreateShuffleVector(mask, llvm::Constant::getNullValue(mask->getType()), lanes_stored));
  }
}

// Masked vector stores are faster than scatters on many hosts, with AVX-512's mask registers.
void KernelBuilder::store_scattered(const Place& place, const uint32_t* offsets, uint32_t further,
                                    uint32_t unit, Value* value, Value* mask) {
  const Extent extent = extent_of(offsets, unit);
  const bool masks = plan_.level == SimdLevel::kAvx512;
  if (extent.pieces == 0 || extent.pieces > kMostPieces || extent.different != lanes_ ||
      (!masks && !place.is_lds)) {
    std::vector<uint32_t> places(offsets, offsets + lanes_);
    for (uint32_t& offset : places) offset += further;
    Value* const pointers = b_.CreateGEP(i8(), place.begin, llvm::ConstantDataVector::get(context_, places));
    b_.CreateMaskedScatter(value, pointers, llvm::Align(4), mask);
    return;
  }
  const uint32_t piece_bytes = lanes_ * unit;
  for (uint32_t piece = 0; piece < extent.pieces; ++piece) {
    const int none = static_cast<int>(lanes_);
    std::vector<int> lanes_stored(lanes_, none), picks(lanes_, llvm::PoisonMaskElem);
    for (unsigned i = 0; i < lanes_; ++i) {
      const uint32_t from = offsets[i] - extent.first;
      if (from / piece_bytes != piece) continue;
      lanes_stored[from % piece_bytes / unit] = picks[from % piece_bytes / unit] = static_cast<int>(i);
    }
    Value* const to = at(place.begin, extent.first + piece * piece_bytes + further);
    if (!masks) {
      // Stores the gaps with their present values. One thread uses LDS, and some bytes past its end are
      // accessible.
      Value* const old_values = b_.CreateAlignedLoad(value->getType(), to, llvm::Align(4));
      for (unsigned i = 0; i < lanes_; ++i) {
        if (picks[i] < 0) picks[i] = static_cast<int>(lanes_ + i);
      }
      b_.CreateAlignedStore(b_.CreateShuffleVector(value, old_values, picks), to, llvm::Align(4));
      continue;
    }
    b_.CreateMaskedStore(
        b_.CreateShuffleVector(value, picks), to, llvm::Align(4),
        b_.CreateShuffleVector(mask, llvm::Constant::getNullValue(mask->getType()), lanes_stored));
  }
}

bool KernelBuilder::stores_full_vectors(const Place& place, unsigned dwords) const {
  if (dwords == 1 || dwords == 3 || place.pitch != nullptr) return false;
  for (unsigned v = 0; v < vectors_; ++v) {
    if (!is_contiguous(place, v, dwords * 4)) return false;
  }
  return is_contiguous_in_wave(place, dwords * 4);
}

// Without mask registers, stores of some lanes are slow or branch for each lane.
bool KernelBuilder::needs_all_lanes(const Place& place, unsigned dwords) const {
  return plan_.level != SimdLevel::kAvx512 || stores_full_vectors(place, dwords) || has_quads(place, dwords);
}

bool KernelBuilder::can_store_affine(const Place& place, unsigned dwords) const {
  if (dwords == 1) return true;
  // The first dwords of all lanes are stored before the second ones, which is observable only if elements
  // overlap.
  for (unsigned v = 0; v < vectors_; ++v) {
    std::vector<uint32_t> offsets(place.offsets.data() + v * lanes_, place.offsets.data() + (v + 1) * lanes_);
    std::sort(offsets.begin(), offsets.end());
    for (unsigned i = 1; i < lanes_; ++i) {
      if (offsets[i] - offsets[i - 1] < dwords * 4) return false;
    }
  }
  return true;
}

bool KernelBuilder::is_contiguous_in_wave(const Place& place, uint32_t step) const {
  for (unsigned i = 1; i < wave_size_; ++i) {
    if (place.offsets[i] != place.offsets[0] + i * step) return false;
  }
  return true;
}

// Whether the lanes of each vector have the same number of pitches.
bool KernelBuilder::has_one_pitch_per_vector(const Place& place) const {
  for (unsigned i = 0; i < wave_size_; ++i) {
    if (place.pitches[i] != place.pitches[i / lanes_ * lanes_]) return false;
  }
  return true;
}

KernelBuilder::Place KernelBuilder::place_from(const Shape& shape, Value* pitch) const {
  Place place;
  place.pitch = pitch;
  const unsigned least = (*shape.extreme_lanes(wave_size_))[0];
  for (unsigned i = 0; i < wave_size_; ++i) {
    place.offsets[i] = shape.offsets[i] - shape.offsets[least];
    place.pitches[i] = uint32_t{shape.pitches[i]} - shape.pitches[least];
  }
  return place;
}

void KernelBuilder::access_affine(uint32_t node, const Place& place, bool stores, uint32_t data,
                                  unsigned dwords) {
  Value* const exec = stores && needs_all_lanes(place, dwords) ? all_lanes() : mask_at(kExec * 4);
  const bool are_full_vectors = stores && stores_full_vectors(place, dwords);
  for (unsigned v = 0; v < vectors_; ++v) {
    const Place part = place_of_vector(place, v);
    if (stores) {
      std::vector<Value*> values;
      for (unsigned d = 0; d < dwords; ++d) values.push_back(value_of(data + d, v));
      store_affine(part, are_full_vectors, values, lanes_of(exec, v));
    } else {
      const std::vector<Value*> values = load_affine(part, dwords);
      for (unsigned d = 0; d < dwords; ++d) put(node, row_source(data + d), v, values[d], exec);
    }
  }
}

// Checked code calls the functions that limit accesses. More windows would cost more registers than they
// save.
bool KernelBuilder::has_window(uint32_t node) {
  if (plan_.is_checked || plan_.is_large) return false;
  return windows_.contains(node) || windows_.size() < kMostWindows;
}

KernelBuilder::Window& KernelBuilder::window_of(uint32_t node, uint32_t bytes) {
  const auto [found, is_new] = windows_.try_emplace(node);
  Window& window = found->second;
  if (!is_new) return window;
  window = {variable(i64(), 8, "begin"), variable(i64(), 8, "limit"), variable(pointer(), 8, "host")};
  const llvm::IRBuilderBase::InsertPointGuard guard(b_);
  b_.SetInsertPoint(llvm::cast<llvm::Instruction>(memory_)->getNextNode());
  load_window(node, bytes);
  return window;
}

void KernelBuilder::load_window(uint32_t node, uint32_t bytes) {
  const Window& window = windows_.at(node);
  const bool stores = isa::memory_shape(plan_.graph.nodes[node].instruction.op)->verb == isa::Verb::kStore;
  Value* const extent = call(
      "last_extent",
      {memory_, site_of(node), b_.getInt8(static_cast<uint8_t>(stores ? Access::kWrite : Access::kRead))});
  Value* const extent_bytes = b_.CreateLoad(i64(), at(extent, offsetof(WaveMemory::Extent, bytes)));
  b_.CreateStore(b_.CreateLoad(i64(), at(extent, offsetof(WaveMemory::Extent, begin))), window.begin);
  b_.CreateStore(b_.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, extent_bytes, b_.getInt64(bytes - 1)),
                 window.limit);
  b_.CreateStore(b_.CreateLoad(pointer(), at(extent, offsetof(WaveMemory::Extent, host))), window.host);
}

Value* KernelBuilder::place_in_window(uint32_t node, Value* va, uint32_t bytes, Value* holds,
                                      const Fork& fork) {
  const bool stores = isa::memory_shape(plan_.graph.nodes[node].instruction.op)->verb == isa::Verb::kStore;
  const Window& window = window_of(node, bytes);
  auto* const check = BasicBlock::Create(context_, "window", function_);
  auto* const miss = BasicBlock::Create(context_, "miss", function_);
  b_.CreateCondBr(holds, check, fork.otherwise, likely());
  b_.SetInsertPoint(check);
  Value* const offset = b_.CreateSub(va, b_.CreateLoad(i64(), window.begin));
  b_.CreateCondBr(b_.CreateICmpULT(offset, b_.CreateLoad(i64(), window.limit)), fork.reached, miss, likely());
  b_.SetInsertPoint(miss);
  Value* const found = call(stores ? "place_to_store" : "place_to_load",
                            {memory_, linkage_, site_of(node), va, b_.getInt64(bytes)});
  load_window(node, bytes);
  b_.CreateCondBr(b_.CreateIsNotNull(found), check, fork.otherwise);
  b_.SetInsertPoint(fork.reached);
  return b_.CreateGEP(i8(), b_.CreateLoad(pointer(), window.host), offset);
}

bool KernelBuilder::build_global_affine(uint32_t node) {
  const isa::Instruction& in = plan_.graph.nodes[node].instruction;
  const isa::MemoryShape& memory = *isa::memory_shape(in.op);
  if (memory.bytes < 4 || memory.verb == isa::Verb::kAtomic) return false;
  const bool stores = memory.verb == isa::Verb::kStore;
  const unsigned dwords = memory.dwords();
  const bool has_base = in.saddr.exists() && in.saddr.code != isa::code::kNull;
  const uint32_t address_row = in.vaddr.vgpr();
  const ShapePointer& low = before_.of_active(address_row);
  if (low == nullptr || !low->is_near(wave_size_)) return false;
  const ShapePointer& high = before_.of_active(address_row + 1);
  if (!has_base && (high == nullptr || !high->is_uniform(wave_size_))) return false;
  const Common& common = before_common_[address_row];
  Place place = place_from(*low, common.pitch);
  if (!has_one_pitch_per_vector(place)) return false;
  if (stores && !can_store_affine(place, dwords)) return false;
  note_place(node);
  // If lanes' elements overlap and one wraps, it is 4 GiB away from the others, and a landing cannot
  // represent them.
  if (!stores && can_be_delayed(node, place, dwords) && overlaps_in_part(place, dwords)) {
    guard(node, does_not_wrap(common, *low));
    check_guard();
  }
  Value* const start = minimum_of(common, *low);
  Value* va = wide(start);
  Value* reached = does_not_wrap(common, *low);
  if (has_base) {
    va = b_.CreateAdd(va, scalar64(in.saddr.code * 4u));
  } else {
    Value* const upper = plus(before_common_[address_row + 1].base, static_cast<int32_t>(high->offsets[0]));
    va = b_.CreateOr(va, b_.CreateShl(wide(upper), b_.getInt64(32)));
    if (in.encoding == isa::Encoding::kFlat) {
      for (const size_t aperture :
           {offsetof(Wave, shared_aperture_hi), offsetof(Wave, private_aperture_hi)}) {
        reached = b_.CreateAnd(reached, b_.CreateICmpNE(upper, b_.CreateLoad(i32(), wave_field(aperture))));
      }
    }
  }
  va = b_.CreateAdd(va, b_.getInt64(static_cast<uint64_t>(int64_t{in.offset})));
  if (stores && needs_all_lanes(place, dwords)) {
    reached = b_.CreateAnd(reached, b_.CreateICmpEQ(mask_at(kExec * 4), all_lanes()));
  }
  const uint32_t data = stores ? in.vdata.vgpr() : in.vdst.vgpr();
  std::vector<PendingLoad> loads;
  if (!stores && can_be_delayed(node, place, dwords)) loads = {pending_load(node, place, data, dwords)};
  const Fork fork = make_fork();
  if (common.pitch == nullptr && has_window(node)) {
    place.begin = place_in_window(node, va, span_of(place, dwords * 4), reached, fork);
  } else {
    Value* span = b_.getInt64(span_of(place, dwords * 4));
    if (common.pitch != nullptr)
      span = b_.CreateAdd(wide(b_.CreateSub(maximum_of(common, *low), start)), b_.getInt64(dwords * 4));
    place.begin =
        call(stores ? "place_to_store" : "place_to_load", {memory_, linkage_, site_of(node), va, span});
    reached = b_.CreateAnd(reached, b_.CreateIsNotNull(place.begin));
    b_.CreateCondBr(reached, fork.reached, fork.otherwise, likely());
    b_.SetInsertPoint(fork.reached);
  }
  const auto note = [&] { note_accesses(node, place, dwords, va, common.pitch, kNoRow); };
  if (!loads.empty()) {
    note();
    loads.front().place.begin = place.begin;
    delay_loads(node, fork, std::move(loads));
    return true;
  }
  with_fallback(
      fork,
      [&] {
        note();
        access_affine(node, place, stores, data, dwords);
      },
      [&] {
        const bool goes_anywhere = stores && needs_all_lanes(place, dwords) && !plan_.sites[node].is_noted;
        goes_anywhere ? build_global_anywhere(node) : build_global_fallback(node);
      });
  return true;
}

std::optional<KernelBuilder::LdsPlaces> KernelBuilder::lds_places(uint32_t node) const {
  const isa::Instruction& in = plan_.graph.nodes[node].instruction;
  const isa::MemoryShape& memory = *isa::memory_shape(in.op);
  if (memory.bytes < 4 || memory.verb == isa::Verb::kAtomic) return std::nullopt;
  const bool stores = memory.verb == isa::Verb::kStore;
  const ShapePointer& low = before_.of_active(in.vaddr.vgpr());
  if (low == nullptr || !low->is_near(wave_size_) || low->has_pitch()) return std::nullopt;
  LdsPlaces places;
  places.place = place_from(*low, nullptr);
  places.place.is_lds = true;
  places.dwords = memory.dwords();
  places.span = span_of(places.place, places.dwords * 4);
  const uint32_t unit = memory.pair ? memory.bytes * (memory.far_pair ? 64u : 1u) : 1u;
  places.offsets.push_back(static_cast<uint32_t>(in.offset) * unit);
  if (memory.pair) places.offsets.push_back(in.offset1 * unit);
  if (stores) {
    if (!can_store_affine(places.place, places.dwords)) return std::nullopt;
    if (memory.pair && !are_disjoint(places.place, places.offsets[0], places.offsets[1], places.dwords * 4))
      return std::nullopt;
  }
  if (plan_.m0_limits_lds) {
    places.alignment = places.dwords == 3 ? 16 : places.dwords * 4;
    for (const uint32_t offset : places.place.offsets) {
      if (offset % places.alignment != 0) return std::nullopt;
    }
  }
  return places;
}

bool KernelBuilder::is_delayable_lds_load(uint32_t node) const {
  const isa::Instruction& in = plan_.graph.nodes[node].instruction;
  if (plan_.sites[node].kind != Site::Kind::kLds || isa::memory_shape(in.op)->verb != isa::Verb::kLoad)
    return false;
  const auto places = lds_places(node);
  return places && can_be_delayed(node, places->place, places->dwords);
}

// Loads later in the block, while the address, EXEC and the LDS limit stay the same.
std::vector<uint32_t> KernelBuilder::lds_loads_from(uint32_t node) const {
  const uint32_t address = plan_.graph.nodes[node].instruction.vaddr.vgpr();
  const analysis::Block& block = plan_.graph.blocks[plan_.graph.block_of(node)];
  std::vector<uint32_t> loads;
  for (uint32_t next = node; next < block.end; ++next) {
    const Site::Kind kind = plan_.sites[next].kind;
    if (plan_.sites[next].is_wave_switch() || kind == Site::Kind::kToInterpreter) break;
    const analysis::Node& other = plan_.graph.nodes[next];
    if (kind == Site::Kind::kLds && other.instruction.vaddr.vgpr() == address && is_delayable_lds_load(next))
      loads.push_back(next);
    const isa::Registers& written = other.effects.writes;
    if (written.vgprs[address] || written.scalars[kExec] || written.scalars[kExec + 1]) break;
    if (plan_.m0_limits_lds && written.scalars[kM0]) break;
  }
  return loads;
}

// A single load has its own check: a failing guard stores all registers, which is more code. Large kernels
// have no guards.
bool KernelBuilder::is_guarded_lds_load(uint32_t node) const {
  if (plan_.is_large || plan_.tracks_undefined || plan_.sites[node].is_noted || !is_delayable_lds_load(node))
    return false;
  return guarded_lds(node) != guarded_lds_.end() || lds_loads_from(node).size() > 1;
}

std::vector<KernelBuilder::GuardedLds>::const_iterator KernelBuilder::guarded_lds(uint32_t node) const {
  const uint32_t address = plan_.graph.nodes[node].instruction.vaddr.vgpr();
  return std::find_if(guarded_lds_.begin(), guarded_lds_.end(), [&](const GuardedLds& guarded) {
    return guarded.address == address && guarded.base == before_common_[address].base &&
           guarded.shape == before_.of_active(address) && node <= guarded.last;
  });
}

// At the edges of a tile, inactive lanes are often slightly outside. In that case each active lane is
// checked.
Value* KernelBuilder::are_in_lds(const std::vector<uint32_t>& accesses, Outside outside) {
  const uint32_t address = plan_.graph.nodes[accesses.front()].instruction.vaddr.vgpr();
  const ShapePointer& low = before_.of_active(address);
  const Common& common = before_common_[address];
  Value* const start = minimum_of(common, *low);
  Value* const limit = lds_limit();
  Value* aligned = b_.getTrue();
  uint32_t end = 0, end_of_one = 0;
  for (const uint32_t access : accesses) {
    const LdsPlaces places = *lds_places(access);
    for (const uint32_t offset : places.offsets) {
      end = std::max(end, offset + places.span);
      end_of_one = std::max(end_of_one, offset + places.dwords * 4);
      if (places.alignment == 0) continue;
      Value* const misaligned = b_.CreateAnd(plus(start, static_cast<int32_t>(offset)), places.alignment - 1);
      aligned = b_.CreateAnd(aligned, b_.CreateICmpEQ(misaligned, b_.getInt32(0)));
    }
  }
  Value* const is_inside = b_.CreateICmpULE(b_.CreateAdd(wide(start), b_.getInt64(end)), wide(limit));
  Value* const all = b_.CreateAnd(does_not_wrap(common, *low), is_inside);
  if (outside == Outside::kNoLane || before_.all_active()) return b_.CreateAnd(all, aligned);
  BasicBlock* const before = b_.GetInsertBlock();
  auto* const some = BasicBlock::Create(context_, "outside", function_);
  auto* const after = BasicBlock::Create(context_, "inside", function_);
  b_.CreateCondBr(all, after, some, likely());
  b_.SetInsertPoint(some);
  Value* const first = b_.CreateSExt(start, i64());
  Value* const last = b_.CreateAdd(first, b_.getInt64(end));
  Value* near = b_.CreateAnd(b_.CreateICmpSGE(first, b_.getInt64(-int64_t{kLdsMargin})),
                             b_.CreateICmpSLE(last, b_.CreateAdd(wide(limit), b_.getInt64(kLdsMargin))));
  near = b_.CreateAnd(near, b_.CreateICmpUGE(limit, b_.getInt32(end_of_one)));
  Value* const most = b_.CreateVectorSplat(lanes_, b_.CreateSub(limit, b_.getInt32(end_of_one)));
  Value* beyond = llvm::Constant::getNullValue(mask_vector());
  for (unsigned v = 0; v < vectors_; ++v) {
    Value* const is_beyond = b_.CreateICmpUGT(lane_values(common, *low, v), most);
    beyond = b_.CreateOr(beyond, b_.CreateAnd(is_beyond, lanes_of(mask_at(kExec * 4), v)));
  }
  near = b_.CreateAnd(near, b_.CreateNot(b_.CreateOrReduce(beyond)));
  BasicBlock* const from = b_.GetInsertBlock();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  llvm::PHINode* const is_inside_lds = b_.CreatePHI(i1(), 2);
  is_inside_lds->addIncoming(b_.getTrue(), before);
  is_inside_lds->addIncoming(near, from);
  return b_.CreateAnd(is_inside_lds, aligned);
}

Value* KernelBuilder::lds_place(uint32_t node, uint32_t offset) {
  const uint32_t address = plan_.graph.nodes[node].instruction.vaddr.vgpr();
  Value* const start = b_.CreateSExt(minimum_of(before_common_[address], *before_.of_active(address)), i64());
  return b_.CreateGEP(i8(), lds_, b_.CreateAdd(start, b_.getInt64(offset)));
}

void KernelBuilder::build_guarded_lds_load(uint32_t node) {
  flush();
  const isa::Instruction& in = plan_.graph.nodes[node].instruction;
  const uint32_t address = in.vaddr.vgpr();
  if (guarded_lds(node) == guarded_lds_.end()) {
    const std::vector<uint32_t> loads = lds_loads_from(node);
    guard(node, are_in_lds(loads, Outside::kInactiveLanes));
    guarded_lds_.push_back({address, before_common_[address].base, before_.of_active(address), loads.back()});
  }
  LdsPlaces places = *lds_places(node);
  for (uint32_t e = 0; e < places.offsets.size(); ++e) {
    places.place.begin = lds_place(node, places.offsets[e]);
    add_pending(pending_load(node, places.place, in.vdst.vgpr() + e * places.dwords, places.dwords));
  }
}

void KernelBuilder::note_lds(uint32_t node, const LdsPlaces& places, uint32_t offset, uint32_t row) {
  if (!plan_.sites[node].is_noted) return;
  const uint32_t address = plan_.graph.nodes[node].instruction.vaddr.vgpr();
  Value* const start = b_.CreateSExt(minimum_of(before_common_[address], *before_.of_active(address)), i64());
  note_accesses(node, places.place, places.dwords, b_.CreateAdd(start, b_.getInt64(offset)), nullptr, row);
}

bool KernelBuilder::build_lds_affine(uint32_t node) {
  const auto places = lds_places(node);
  if (!places) return false;
  note_place(node);
  const isa::Instruction& in = plan_.graph.nodes[node].instruction;
  const bool stores = isa::memory_shape(in.op)->verb == isa::Verb::kStore;
  const unsigned dwords = places->dwords;
  Place place = places->place;
  Value* reached = are_in_lds({node}, stores || plan_.is_large ? Outside::kNoLane : Outside::kInactiveLanes);
  std::vector<Value*> begins;
  for (const uint32_t offset : places->offsets) begins.push_back(lds_place(node, offset));
  if (stores && needs_all_lanes(place, dwords)) {
    reached = b_.CreateAnd(reached, b_.CreateICmpEQ(mask_at(kExec * 4), all_lanes()));
  }
  if (!stores && plan_.tracks_undefined) reached = are_defined_in_lds(reached, begins, place, dwords);
  if (!stores && can_be_delayed(node, place, dwords) && !overlaps_in_part(place, dwords)) {
    std::vector<PendingLoad> loads;
    if (plan_.sites[node].is_noted) {
      if_reached(reached, [&] {
        for (const uint32_t offset : places->offsets) note_lds(node, *places, offset, kNoRow);
      });
    }
    for (uint32_t e = 0; e < begins.size(); ++e) {
      place.begin = begins[e];
      loads.push_back(pending_load(node, place, in.vdst.vgpr() + e * dwords, dwords));
    }
    delay_loads(node, fork_if(reached), std::move(loads));
    return true;
  }
  with_fallback(
      reached,
      [&] {
        for (uint32_t e = 0; e < begins.size(); ++e) {
          place.begin = begins[e];
          const uint32_t data = stores ? (e == 0 ? in.vdata : in.vdata2).vgpr() : in.vdst.vgpr() + e * dwords;
          note_lds(node, *places, places->offsets[e], stores && dwords == 1 ? data : kNoRow);
          access_affine(node, place, stores, data, dwords);
          if (stores && plan_.tracks_undefined) define_in_lds(place, dwords);
        }
      },
      [&] {
        const bool is_unlikely =
            !stores || !needs_all_lanes(place, dwords) || plan_.tracks_undefined || plan_.reports_accesses;
        is_unlikely ? build_call(node) : build_lds_anywhere(node);
      });
  return true;
}

bool KernelBuilder::are_disjoint(const Place& place, uint32_t first_offset, uint32_t second_offset,
                                 uint32_t bytes) const {
  std::set<uint32_t> taken;
  for (unsigned i = 0; i < wave_size_; ++i) {
    for (uint32_t byte = 0; byte < bytes; ++byte) taken.insert(place.offsets[i] + first_offset + byte);
  }
  for (unsigned i = 0; i < wave_size_; ++i) {
    for (uint32_t byte = 0; byte < bytes; ++byte) {
      if (taken.contains(place.offsets[i] + second_offset + byte)) return false;
    }
  }
  return true;
}

}  // namespace rigel::vgpu::exec::compiler
