// Makes a function of LLVM of a plan: one function of the host for a kernel of the GPU, which runs a wave and those that
// follow it in a row.
//
// Registers are variables of the function until LLVM makes values of them: a row of W dwords for each VGPR, the scalar file,
// SCC. A row is taken a vector of the host at a time. Runs of vector instructions go from vector to vector, each through
// the whole run, so that what lies between two of them stays in the host's registers; a run ends where all lanes are
// needed: memory, scalars that are made of lanes, branches.
//
// In a large kernel (Plan::is_large) a run of more than a few instructions is a loop over the vectors of a row, so rows stay in memory,
// which are the wave's own registers then, and functions that load and store are called in place of being inlined.
//
// kernel_frame.cpp has ways in and out, blocks, branches and calls of handlers; kernel_vectors.cpp vector and scalar
// instructions, kernel_waves.cpp those that take all lanes at once; kernel_rules.cpp and kernel_comparisons.cpp those of which
// the result is known (shapes.hpp); kernel_memory.cpp, kernel_known_memory.cpp, kernel_scratch.cpp, kernel_loads.cpp and
// kernel_scalar_loads.cpp loads and stores.
//
// Threads: one builder belongs to one thread.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>

#include <array>
#include <bitset>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plugins/vgpu/compiler/arguments.hpp"
#include "plugins/vgpu/compiler/operations.hpp"
#include "plugins/vgpu/compiler/passes.hpp"
#include "plugins/vgpu/compiler/plan.hpp"
#include "plugins/vgpu/compiler/shapes.hpp"
#include "plugins/vgpu/exec/wave.hpp"
#include "plugins/vgpu/exec/wave_memory.hpp"

namespace rigel::vgpu::exec::compiler {

using llvm::BasicBlock;
using llvm::Value;

/// Source codes of scalars.
constexpr uint32_t kExec = 126, kVcc = 106, kM0 = 124;

class KernelBuilder {
 public:
  KernelBuilder(const Plan& plan, llvm::Module& module, Passes& passes)
      : plan_(plan),
        module_(module),
        context_(module.getContext()),
        passes_(passes),
        operations_(module),
        b_(context_),
        lanes_(plan.level == SimdLevel::kAvx512 ? 16 : 8),
        wave_size_(plan.layout.wave_size),
        vectors_(wave_size_ / lanes_),
        site_numbers_(number_sites(plan)) {}

  bool build();

  const std::string& failure() const { return failure_; }
  llvm::Function* function() const { return function_; }

 private:
  // The numbers that the lanes of a row have in common; the pitch is null where the row's shape has none.
  struct Common {
    Value* base = nullptr;
    Value* pitch = nullptr;
    bool is_ordered = false;  // as in Known
  };
  // A row as it is where an instruction stands, for when its run is made.
  struct RowSource {
    uint32_t index = 0;
    ShapePointer shape;
    Common common;
    bool all_active = false;   // All lanes of the wave are.
    bool is_narrowed = false;  // DPP lets some of the active lanes not write.
  };

  // Types and small things

  llvm::Type* i1() { return b_.getInt1Ty(); }
  llvm::Type* i8() { return b_.getInt8Ty(); }
  llvm::IntegerType* i32() { return b_.getInt32Ty(); }
  llvm::IntegerType* i64() { return b_.getInt64Ty(); }
  llvm::PointerType* pointer() { return b_.getPtrTy(); }
  llvm::Type* vector() { return llvm::FixedVectorType::get(i32(), lanes_); }
  llvm::Type* mask_vector() { return llvm::FixedVectorType::get(i1(), lanes_); }

  Value* linked(size_t field) {
    llvm::LoadInst* const load = b_.CreateLoad(pointer(), at(linkage_, field));
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
    return load;
  }
  Value* operations_at(uint32_t node) {
    return at(linked(offsetof(Linkage, operations)), plan_.sites[node].first_operation * sizeof(MicroOp));
  }
  // By which Memory remembers what the instruction used last. All accesses to scratch share a number.
  Value* site_of(uint32_t node) {
    return b_.CreateIntToPtr(b_.getInt64(site_numbers_[node] * sizeof(MicroOp)), pointer());
  }
  Value* scratch_site() { return llvm::ConstantPointerNull::get(pointer()); }
  static std::vector<uint64_t> number_sites(const Plan& plan);
  Value* entry_at(int32_t entry) {
    return at(linked(offsetof(Linkage, entries)), static_cast<uint64_t>(entry) * sizeof(MicroOp));
  }
  Value* at(Value* base, uint64_t bytes) { return b_.CreateConstInBoundsGEP1_64(i8(), base, bytes); }

  llvm::AllocaInst* variable(llvm::Type* type, uint64_t alignment, const char* name);

  // Registers

  Value* row(uint32_t index);
  // In the wave's own registers: where rows stay in memory, copies of them would only be made to be copied back.
  bool is_in_place(uint32_t index) const { return plan_.is_large && index < plan_.layout.vgprs; }
  uint32_t row_index(uint32_t offset) const { return (offset - kScalarBytes) / plan_.layout.row_bytes(); }
  // Which vector of a row: a known one, or in a loop over all of them the one that the loop is at.
  struct VectorIndex {
    VectorIndex(unsigned known) : number(known) {}
    explicit VectorIndex(Value* in_loop) : bytes(in_loop) {}

    unsigned number = 0;
    Value* bytes = nullptr;  ///< From the row's beginning; null: by the number.
  };
  Value* part_at(Value* row, VectorIndex v) {
    return v.bytes != nullptr ? b_.CreateInBoundsGEP(i8(), row, v.bytes)
                              : at(row, uint64_t{v.number} * lanes_ * 4);
  }
  void copy_row(Value* to, Value* from) {
    b_.CreateMemCpy(to, llvm::Align(64), from, llvm::Align(64), uint64_t{wave_size_} * 4);
  }
  Value* part(uint32_t index, VectorIndex v) { return part_at(row(index), v); }
  Value* load_part(uint32_t index, VectorIndex v);
  void store_part(uint32_t index, VectorIndex v, Value* value);

  // Registers whose lanes' numbers are known (lane_shape.hpp): the numbers in common are variables from block to block.
  llvm::AllocaInst* base_variable(uint32_t index);
  llvm::AllocaInst* pitch_variable(uint32_t index);
  void store_common(uint32_t index, const Common& common);
  // A number for each lane, those of one vector.
  template <class T>
  Value* lane_numbers(const std::array<T, 64>& numbers, VectorIndex v) {
    return numbers_of(std::vector<uint32_t>(numbers.begin(), numbers.begin() + wave_size_), v);
  }
  Value* numbers_of(const std::vector<uint32_t>& numbers, VectorIndex v);
  Value* lanes_from(const Common& common, const Shape& shape, VectorIndex v);
  // The number of one lane, and the least and the greatest of all of them (Shape::ends()).
  Value* lane_from(const Common& common, const Shape& shape, unsigned lane);
  Value* least_of(const Common& common, const Shape& shape) {
    return lane_from(common, shape, (*shape.ends(wave_size_))[0]);
  }
  Value* greatest_of(const Common& common, const Shape& shape) {
    return lane_from(common, shape, (*shape.ends(wave_size_))[1]);
  }
  // Whether these two are that.
  Value* has_ends(const Common& common) {
    return common.pitch == nullptr ? b_.getTrue()
                                   : b_.CreateICmpULT(common.pitch, b_.getInt32(Shape::kMostPitch));
  }
  // As it is at the instruction under way, before it.
  Value* value_of(uint32_t index, VectorIndex v) {
    if (index < 256 && before_.rows[index] != nullptr)
      return lanes_from(before_common_[index], *before_.rows[index], v);
    return load_part(index, v);
  }
  // In its row, where functions and handlers find it.
  Value* made_row(uint32_t index) {
    if (index < 256 && before_.rows[index] != nullptr) {
      for (unsigned v = 0; v < vectors_; ++v) store_part(index, v, value_of(index, v));
    }
    return row(index);
  }
  // At the beginning of each block: the rows that have not been written since they were loaded from the wave's registers or
  // stored there. They need not be stored again, so that what is wanted only in the end is not copied at every barrier.
  std::vector<std::bitset<256>> find_stored() const;
  std::bitset<256> stored_behind(uint32_t node, std::bitset<256> stored, const Shapes& shapes) const;
  static std::bitset<256> without_shape(const Shapes& shapes);

  void take_shapes(const Shapes& shapes);
  void next_node(uint32_t node);

  Value* scalar_at(uint32_t offset) { return at(scalars_, offset); }
  Value* scalar(uint32_t offset) { return b_.CreateAlignedLoad(i32(), scalar_at(offset), llvm::Align(4)); }
  Value* scalar64(uint32_t offset) { return b_.CreateAlignedLoad(i64(), scalar_at(offset), llvm::Align(4)); }
  void set_scalar(uint32_t offset, Value* value) {
    b_.CreateAlignedStore(value, scalar_at(offset), llvm::Align(4));
  }
  // As many bits as there are lanes, in 64.
  Value* mask_at(uint32_t offset) {
    if (offset == kExec * 4 && before_.all_active()) return all_lanes();
    return wave_size_ == 64 ? scalar64(offset) : b_.CreateZExt(scalar(offset), i64());
  }
  // What EXEC is for the operation under way: within DPP, only the lanes that may write.
  Value* active_lanes() { return narrowed_ != nullptr ? narrowed_ : mask_at(kExec * 4); }
  void set_mask(uint32_t offset, Value* value) {
    set_scalar(offset, wave_size_ == 64 ? value : b_.CreateTrunc(value, i32()));
  }
  Value* scc_place() { return at(state_, offsetof(Wave, scc)); }
  // The wave that runs, which changes where waves are in a row, and its registers.
  Value* wave() { return b_.CreateLoad(pointer(), wave_); }
  Value* registers() { return b_.CreateLoad(pointer(), registers_); }
  Value* wave_field(size_t offset) { return at(wave(), offset); }

  // The bits of a vector's lanes.
  Value* bits_of(Value* mask, VectorIndex v) {
    return b_.CreateAnd(b_.CreateLShr(mask, first_lane(v)), b_.getInt64((uint64_t{1} << lanes_) - 1));
  }
  Value* first_lane(VectorIndex v) {
    return v.bytes != nullptr ? b_.CreateLShr(v.bytes, b_.getInt64(2)) : b_.getInt64(v.number * lanes_);
  }
  // The same as an i1 for each lane. Without AVX-512's masks, LLVM makes lanes one at a time of bits that come from another block: so
  // each lane is compared with its bit.
  Value* lanes_of(Value* mask, VectorIndex v);

  // Ways in and out

  void make_function();

  void take_attributes(llvm::Function& function);

  void make_entries();

  // Waves that are not what is known of waves at the place are the interpreter's.
  void check_known(uint32_t node);

  // To the interpreter, from before the node on; what is live is in the wave's registers.
  void hand_over(uint32_t node);

  // What a rule takes for granted, or the interpreter goes on. It is looked at once for all that comes before the next
  // instruction that somebody could notice.
  void guard(uint32_t node, Value* holds);
  void check_guard();

  // What is live, from the wave's registers and back. `before_` says what is known of rows at the place; loading finds the
  // numbers in common.
  void load_live(const isa::Registers& live, const std::bitset<256>& inactive);
  void load_shaped(uint32_t index);
  // Calls `f` with the type and the offset of each scalar, pairs in one.
  template <class F>
  void for_each_live_scalar(const isa::Registers& live, F f) {
    std::bitset<128> scalars = live.scalars;
    scalars.set(kExec).set(kExec + 1);
    for (uint32_t code = 0; code < 128; ++code) {
      if (!scalars[code]) continue;
      const bool pair = code % 2 == 0 && scalars[code + 1];
      f(pair ? i64() : i32(), code * 4);
      if (pair) ++code;
    }
  }
  enum class For : uint8_t {
    kAnybody,
    kLoading,  ///< For load_live(), where no less is known of lanes: of rows with a shape, the lanes that tell the numbers in common.
  };
  void store_live(const isa::Registers& live, const std::bitset<256>& inactive, For whom = For::kAnybody);
  // What does that with the numbers that are there now, in a block that this one leads to.
  std::vector<std::function<void()>> later_stores(const isa::Registers& live,
                                                  const std::bitset<256>& inactive, For whom);
  Value* base_of_active(uint32_t index);
  enum class Beginning : uint8_t { kNone, kOfAnyWave, kExpected };
  void load_start(uint32_t node);

  void leave(Stop stop, Value* op);

  // Where the next wave of the row goes on, if there is one (wave_row.hpp); else control leaves.
  void go_on_with_next(const char* next, BasicBlock* to);
  // Ends the wave's part of the pass at a barrier, yield or sleep. It goes on at the site's `behind`.
  void leave_to_others(uint32_t node);

  // To a block, from the end of another. Loops end a wave's turn where it is over.
  void go_to(uint32_t from, uint32_t to);
  llvm::MDNode* unlikely() { return llvm::MDBuilder(context_).createBranchWeights(1, 1000); }
  llvm::MDNode* likely() { return llvm::MDBuilder(context_).createBranchWeights(1000, 1); }

  void count(uint32_t instructions) {
    b_.CreateStore(b_.CreateSub(b_.CreateLoad(i64(), budget_), b_.getInt64(instructions)), budget_);
  }

  // Instructions

  void build_block(uint32_t index);

  void build_branch(uint32_t from, const analysis::Node& node);

  // The wave's MODE, and the host's register that goes with it.
  void set_mode(uint32_t mode);
  void set_index(const isa::Instruction& in);
  void enable_index(bool enable);
  // `more` is memory that the host is to be done with before, and not to look at earlier.
  void load_mxcsr(llvm::IRBuilder<>& b, uint32_t mxcsr, llvm::ArrayRef<Value*> more = {});

  // The interpreter's handlers, for all that is not done here.
  enum class Results : uint8_t { kTaken, kStayInWave };
  void build_call(uint32_t node, Results results = Results::kTaken);

  // A way that may not do, and the interpreter's where it does not.
  void or_call(uint32_t node, Value* done) {
    with_another_way(
        done, [] {}, [&] { build_call(node); });
  }

  void note_place(uint32_t node) { b_.CreateStore(operations_at(node), wave_field(offsetof(Wave, op))); }

  // Scalar loads (kernel_scalar_loads.cpp)
  // Before any wave: what the waves of a row have in common. Control goes on with `next`.
  void load_arguments(Value* way, BasicBlock* next);
  Value* address_from(Value* pointer, int32_t offset);
  void build_scalar_load(uint32_t node);
  void build_scalar_load_anew(uint32_t node);

  // A function of the bitcode.
  Value* call(const std::string& name, std::vector<Value*> arguments,
              llvm::Attribute::AttrKind inlining = llvm::Attribute::AlwaysInline);
  // One that loads or stores, which is inlined in small kernels alone.
  Value* call_access(const std::string& name, std::vector<Value*> arguments);

  // Pointers to rows, as functions of memory want them.
  Value* row_list(const std::vector<Value*>& rows);
  std::vector<Value*> rows_from(uint32_t first, unsigned count);
  bool keeps_any(uint32_t node, uint32_t first, unsigned count) const;
  std::string suffix(const isa::MemoryShape& shape) const;

  void build_global(uint32_t node);
  void build_global_anywhere(uint32_t node);
  // FLAT, of dwords at an address that all active lanes have in common.
  bool has_one_flat_address(uint32_t node) const;
  // What is not global memory, or not found: a lane's own memory, or the interpreter's business.
  void build_global_otherwise(uint32_t node);

  // Scratch by way of buffer instructions (kernel_scratch.cpp)
  struct Scratch {
    Value* is_scratch = nullptr;  // Whether the descriptor is one of scratch.
    Value* base = nullptr;        // where lane 0 has offset 0
    Value* bytes = nullptr;       // offsets that a lane has
    bool offsets_wrap = false;    // The sum of the register's and the instruction's has 32 bits.
  };
  Scratch scratch_of(const isa::Instruction& in);
  Value* offset_in(const Scratch& scratch, const isa::Instruction& in, Value* of_register);
  // By way of FLAT, if all active lanes name private memory.
  Scratch private_of(const isa::Instruction& in);
  void build_scratch(uint32_t node);
  void build_scratch_anywhere(uint32_t node, const Scratch& scratch);
  enum class Loads : uint8_t { kLater, kNow };
  void build_scratch_rows(uint32_t node, const Scratch& scratch, Value* offset, Loads when);
  void build_private(uint32_t node, const Scratch& scratch);
  // Rows for functions that are not inlined. A kernel's own rows would have to stay in memory if such a function saw them.
  Value* outside_rows();

  void build_lds(uint32_t node);
  void build_lds_anywhere(uint32_t node);
  void build_lds_atomic(uint32_t node);
  Value* lds_limit();

  // What an instruction writes to a row; lanes that are not active keep what they have where anybody wants it.
  void put(uint32_t node, const RowSource& old, VectorIndex v, Value* value, Value* exec);

  // By rules (lane_rules.hpp)

  Common common_of(uint32_t node, unsigned i, unsigned part = 0);
  Value* number(uint32_t node, unsigned i, unsigned part = 0) { return common_of(node, i, part).base; }
  Shape shape_of_source(uint32_t node, unsigned i) const {
    const isa::Operand& operand = plan_.graph.nodes[node].instruction.src[i];
    return operand.is_vgpr() ? *before_.known(operand.vgpr()) : Shape{};
  }
  Value* wide(Value* value) { return b_.CreateZExt(value, i64()); }
  Value* plus(Value* value, int32_t by) {
    return b_.CreateAdd(value, b_.getInt32(static_cast<uint32_t>(by)));
  }
  // Whether no lane's number goes beyond 2^32 where its neighbour's does not.
  Value* does_not_wrap(const Common& common, const Shape& shape);

  void set_row(uint32_t node, uint32_t index, Common common);

  class CommonNumbers;
  void build_by_rule(uint32_t node);

  // The lanes' carries are one: the mask is all active lanes, or none.
  void set_carry(uint16_t code, Value* carry);

  // Computed once for all lanes, which have all sources in common.
  Value* uniform_result(uint32_t node);

  // Memory at known places: what lanes have apart from each other is known, and where they begin is a scalar.
  struct Place {
    Value* begin = nullptr;              // where the lane with the least offset is
    std::array<uint32_t, 64> offsets{};  // from there
    std::array<uint32_t, 64> pitches{};  // times `pitch` more: as many for all lanes of a vector
    Value* pitch = nullptr;
    bool is_lds = false;
  };

  bool follow_each_other(const Place& place, unsigned v, uint32_t step) const;
  // How many bytes loads of such places look at.
  uint32_t span_of(const Place& place, uint32_t bytes) const;
  // The place of the lanes of one vector, which are its first ones.
  Place of_vector(const Place& place, VectorIndex v);
  // Whether the vectors differ in nothing but in how far they are from the first, by the same for each.
  bool is_same_for_all(const Place& place) const;

  // The dwords of one place, by fours and pairs that are not torn: another wave may store them meanwhile.
  std::vector<Value*> load_element(Value* from, unsigned dwords);

  // Of one vector (of_vector())
  std::vector<Value*> load_known(const Place& place, unsigned dwords);
  // Whether elements are of four dwords, which go in one piece.
  static bool has_quads(const Place& place, unsigned dwords);
  std::vector<Value*> load_quads(const Place& place);
  void store_quads(const Place& place, const std::vector<Value*>& values);
  // Between four rows of a vector and the elements of its lanes: [i] has those of lanes i, i + 4 and so on.
  std::vector<Value*> transposed(const std::vector<Value*>& rows);
  // Of one, two or four dwords, one lane's behind the other's.
  std::vector<Value*> load_full_vectors(const Place& place, unsigned dwords);
  Value* concatenated(Value* low, Value* high, unsigned each);
  // Where the lanes of a vector are: the least and the greatest offset, how many there are, and how many vectors it takes
  // to reach them all. 0: not all are whole units apart.
  struct Extent {
    uint32_t first = 0, last = 0;
    uint32_t different = 0;
    uint32_t pieces = 0;
  };
  static constexpr uint32_t kMostPieces = 4;
  // As many are loaded one by one rather than with more than two vectors.
  static constexpr uint32_t kFew = 4;
  Extent extent_of(const uint32_t* offsets, uint32_t unit) const;
  // Dwords (unit 4), or pairs of them that are not torn (8): of lanes that are near each other by loads of vectors; of
  // others by a gather.
  Value* load_apart(const Place& place, const uint32_t* offsets, uint32_t further, uint32_t unit);
  Value* load_pieces(const Place& place, const uint32_t* offsets, uint32_t further, uint32_t unit,
                     const Extent& extent);
  // Of up to kMostPieces vectors that follow each other.
  Value* picked(std::vector<Value*> pieces, const std::vector<int>& picks);
  // How many dwords of an element, from its first, are loaded and stored as pairs.
  unsigned paired_dwords(const Place& place, unsigned dwords) const;
  // `has_pairs`: what lies there is not to be torn.
  Value* load_vector(const Place& place, llvm::Type* type, uint32_t offset, bool has_pairs);
  // Pairs that are whole dwords from each other and not whole pairs, as those of elements of three dwords: where vectors begin that
  // have each pair as a whole in one of them. Empty: these are other places, or too far from each other.
  std::vector<uint32_t> pieces_with_pairs(const uint32_t* offsets) const;
  // Where a pair is in them.
  unsigned dword_in_pieces(const std::vector<uint32_t>& begins, uint32_t offset) const;
  // The first dword of each pair and the second.
  std::vector<Value*> load_pairs(const Place& place, const uint32_t* offsets, uint32_t further);
  std::vector<Value*> halves_of(Value* pairs);
  Value* pairs_of(Value* low, Value* high);

  void store_known(const Place& place, bool are_full_vectors, const std::vector<Value*>& values, Value* mask);
  void store_pairs(const Place& place, const uint32_t* offsets, uint32_t further, Value* low, Value* high,
                   Value* mask);
  void store_apart(const Place& place, const uint32_t* offsets, uint32_t further, uint32_t unit, Value* value,
                   Value* mask);
  // Whether stores of so many dwords are of vectors without gaps, for which all lanes have to be active.
  bool stores_full_vectors(const Place& place, unsigned dwords) const;
  bool needs_all_lanes(const Place& place, unsigned dwords) const;
  bool can_store_known(const Place& place, unsigned dwords) const;
  // Vectors do not overlap either.
  bool follow_each_other_all(const Place& place, uint32_t step) const;

  Place place_from(const Shape& shape, Value* pitch) const;
  bool has_pitches_of_vectors(const Place& place) const;
  Value* all_lanes() { return b_.getInt64(wave_size_ == 64 ? ~uint64_t{0} : 0xffffffff); }

  void access_known(uint32_t node, const Place& place, bool stores, uint32_t data, unsigned dwords);

  // False: nothing is known of the places.
  bool build_global_known(uint32_t node);

  template <class Done, class Otherwise>
  void with_another_way(Value* reached, Done done, Otherwise do_otherwise) {
    auto* const found = BasicBlock::Create(context_, "reached", function_);
    auto* const otherwise = BasicBlock::Create(context_, "otherwise", function_);
    auto* const behind = BasicBlock::Create(context_, "behind", function_);
    b_.CreateCondBr(reached, found, otherwise, likely());
    b_.SetInsertPoint(found);
    done();
    b_.CreateBr(behind);
    b_.SetInsertPoint(otherwise);
    do_otherwise();
    b_.CreateBr(behind);
    b_.SetInsertPoint(behind);
  }

  // Loads that have been found and not done yet (kernel_loads.cpp)
  static constexpr uint32_t kNoLanding = ~0u;
  struct PendingLoad {
    uint32_t node = 0;
    Place place;
    uint32_t data = 0;
    unsigned dwords = 0;
    Value* exec = nullptr;
    std::vector<RowSource> old;
    uint32_t landing = kNoLanding;
    // The instruction's number among those that s_waitcnt counts so; 0: it does not.
    uint32_t vm = 0, lgkm = 0;
  };
  // Where the interpreter's results are laid out. In bytes: 64 lanes of 16.
  static constexpr uint32_t kMostLanding = 1024;
  bool may_wait(uint32_t node, const Place& place, unsigned dwords) const;
  // In bytes, from one lane's place to the next greater one, or of others than the same place alone; nothing: there is none.
  std::optional<uint32_t> least_distance(const Place& place, bool of_others) const;
  // Elements of two lanes share bytes and are not the same. If one of them is out of range, or elsewhere, they differ in these
  // bytes, and load_later() cannot lay out both.
  bool overlaps_in_part(const Place& place, unsigned dwords) const;
  PendingLoad pending_load(uint32_t node, const Place& place, uint32_t data, unsigned dwords);
  // `reached`: whether the places are memory; if not, the interpreter's handler is called now.
  void load_later(uint32_t node, Value* reached, std::vector<PendingLoad> loads);
  void add_pending(PendingLoad load);
  Value* landing_of(uint32_t index);
  // One that neither a pending load nor one of these takes.
  uint32_t free_landing(const std::vector<PendingLoad>& others) const;
  void count_issued(uint32_t node);
  // Whether all loads have to be done before the instruction, which is no s_waitcnt.
  bool waits_for_loads(uint32_t node) const;
  void do_due_loads(uint32_t node);
  void do_load(const PendingLoad& load, VectorIndex v);
  void do_loads_in_run() { do_loads_in_run(pending_.end()); }
  void do_loads_in_run(std::vector<PendingLoad>::iterator end);
  // The first ones, where control leaves; they stay pending where it does not.
  void do_loads_now(size_t count);

  // Where an access of LDS finds its elements, one or two for each lane.
  struct LdsPlaces {
    Place place;  // `begin` is not known.
    unsigned dwords = 0;
    uint32_t span = 0;  // From the first lane's element to the end of the last one's.
    std::vector<uint32_t> offsets;
    uint32_t alignment = 0;  // That the hardware asks for; 0: none.
  };
  // Nothing: too little is known of the places.
  std::optional<LdsPlaces> lds_places(uint32_t node) const;
  enum class Outside : uint8_t { kNobody, kInactiveLanes };
  // Whether accesses by one address find memory; and who may be up to kLdsMargin outside, where reading harms nobody.
  Value* are_lds_places_there(const std::vector<uint32_t>& accesses, Outside outside);
  Value* lds_place(uint32_t node, uint32_t offset);
  bool build_lds_known(uint32_t node);
  // Loads from one address, of which one guard says that all their places are there.
  bool is_waiting_lds_load(uint32_t node) const;
  std::vector<uint32_t> lds_loads_from(uint32_t node) const;
  bool is_guarded_lds_load(uint32_t node) const;
  struct GuardedLds {
    uint32_t address = 0;  // The row.
    Value* base = nullptr;
    ShapePointer shape;
    uint32_t last = 0;  // The last load that the guard is for.
  };
  std::vector<GuardedLds>::const_iterator guarded_lds(uint32_t node) const;
  void build_guarded_lds_load(uint32_t node);
  // Whether the elements of the two offsets share no byte.
  bool apart(const Place& place, uint32_t one, uint32_t other, uint32_t bytes) const;

  // Vector instructions

  void build_steps(uint32_t node);

  void build_scalar(uint32_t node, const Step& step);

  // The operation as a constant of the module, without what only the interpreter wants.
  llvm::Constant* constant(const MicroOp& of);

  // Lane masks that runs of vector instructions make, vector by vector, before they are scalars; or as a whole, if that is known.
  struct MaskParts {
    std::array<Value*, 8> parts{};
    // As the operation gave them, of lanes that are not active as well: for those of the same EXEC, LLVM makes lanes of them
    // without any bits between.
    std::array<Value*, 8> of_any_lanes{};
    Value* whole = nullptr;
    bool has_whole_alone = false;  // `whole` has been made of the parts, which are gone.
    uint32_t exec_version = kNarrowed;
  };
  Value* whole_of(const MaskParts& mask);
  static constexpr uint32_t kNarrowed = ~0u;
  // Counts what EXEC has been within the block.
  uint32_t exec_version() const { return narrowed_ != nullptr ? kNarrowed : exec_version_; }

  RowSource row_source(uint32_t index);
  Value* get(const RowSource& source, VectorIndex v) {
    return source.shape != nullptr ? lanes_from(source.common, *source.shape, v) : load_part(source.index, v);
  }

  struct Input {
    enum class Kind : uint8_t { kRows, kUniform, kMask, kUnmade } kind = Kind::kRows;
    std::vector<RowSource> rows;
    Value* value = nullptr;
    std::shared_ptr<MaskParts> parts;
  };

  Input mask_input(uint32_t offset);

  // `mxcsr`: 0, or what the operation wants, other than MODE says.
  void build_lanes(uint32_t node, const Step& step, uint32_t mxcsr);

  // The mask of active lanes for which a comparison holds, from the numbers that its sources' lanes have in common. Null: these are
  // not known, or it is no comparison.
  Value* known_comparison(uint32_t node, const Step& step);

  // All lanes at once, by the interpreter's handler.
  void build_wave(const Step& step);
  llvm::Function* wave_wrapper(const MicroOp& op, NamedOperation operation);

  struct RunStep {
    std::function<void(VectorIndex)> build;
    uint32_t instructions = 4;          // Of LLVM's, about.
    bool is_same_for_all = true;        // For each vector the same code.
    std::shared_ptr<MaskParts> mask{};  // That it makes, or null.
  };
  // Makes all that is to be made, one vector of lanes after the other.
  void flush();
  // A loop costs the host some instructions for each vector, which must be few beside those of the run.
  void keep_whole_masks(std::vector<RunStep>::iterator begin, std::vector<RunStep>::iterator end);
  bool is_worth_a_loop(std::vector<RunStep>::const_iterator begin,
                       std::vector<RunStep>::const_iterator end) const;
  void loop_over(std::vector<RunStep>::iterator begin, std::vector<RunStep>::iterator end);
  // Code for all vectors of rows: once for each; in large kernels, if it is the same for all of them, in a loop. For places that control
  // rarely comes to.
  template <class F>
  void for_each_vector(bool is_same_for_all, F build) {
    if (is_same_for_all && plan_.is_large) return loop(build);
    for (unsigned v = 0; v < vectors_; ++v) build(VectorIndex(v));
  }
  template <class F>
  void loop(F build) {
    BasicBlock* const before = b_.GetInsertBlock();
    auto* const body = BasicBlock::Create(context_, "vectors", function_);
    auto* const behind = BasicBlock::Create(context_, "behind", function_);
    b_.CreateBr(body);
    b_.SetInsertPoint(body);
    llvm::PHINode* const bytes = b_.CreatePHI(i64(), 2);
    bytes->addIncoming(b_.getInt64(0), before);
    build(VectorIndex(bytes));
    Value* const next = b_.CreateAdd(bytes, b_.getInt64(lanes_ * 4));
    bytes->addIncoming(next, b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateICmpEQ(next, b_.getInt64(wave_size_ * 4)), behind, body);
    b_.SetInsertPoint(behind);
  }
  Value* mask_part(const MaskParts& mask, bool of_any_lanes, VectorIndex v) {
    if (mask.has_whole_alone) return bits_of(mask.whole, v);
    return (of_any_lanes ? mask.of_any_lanes : mask.parts)[v.number];
  }

  // An operation on one vector of lanes, by values
  struct Wrapper {
    static constexpr int8_t kMaskSource = -1, kUniformSource = -2;
    Op op{};
    NamedOperation named{};
    bool clamped = false;
    uint64_t imm = 0;
    uint32_t aux = 0;
    uint32_t mxcsr = 0;  ///< 0: what there is
    uint32_t usual = 0;  ///< … which it is afterwards again
    KnownOperation::Kind kind{};
    bool has_test = false;
    bool is_float = false;  ///< And nothing that LLVM may look into.
    bool reads_old = false;
    uint8_t result_rows = 1;
    std::array<int8_t, 4> sources{};  ///< Rows, or one of the above; 0: none

    auto operator<=>(const Wrapper&) const = default;
  };

  // Sums and products without modifiers, which are named instructions of the host (vector/ordered.hpp).
  static bool is_one_instruction(const Step& step);

  Wrapper key_of(const Step& step) const;

  llvm::Function* wrapper_of(const Wrapper& key);

  void fail(std::string why) {
    if (failure_.empty()) failure_ = std::move(why);
  }

  const Plan& plan_;
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  Passes& passes_;
  Operations operations_;
  llvm::IRBuilder<> b_;
  const unsigned lanes_;
  const unsigned wave_size_;
  const unsigned vectors_;
  const std::vector<uint64_t> site_numbers_;  // by node
  std::string failure_;

  llvm::Function* function_ = nullptr;
  BasicBlock* allocas_ = nullptr;
  BasicBlock* start_ = nullptr;
  BasicBlock *ways_ = nullptr, *beginning_ = nullptr;  ///< By way_; where waves in a row begin, or null
  std::vector<BasicBlock*> blocks_;
  std::map<uint32_t, BasicBlock*> behind_;
  Value *linkage_ = nullptr, *group_ = nullptr, *memory_ = nullptr, *lds_ = nullptr, *lds_bytes_ = nullptr;
  llvm::AllocaInst *wave_ = nullptr, *registers_ = nullptr, *way_ = nullptr, *state_ = nullptr,
                   *scalars_ = nullptr, *budget_ = nullptr;
  std::map<uint32_t, llvm::AllocaInst*> rows_;
  Arguments arguments_;
  std::map<uint32_t, std::vector<llvm::AllocaInst*>> argument_variables_;  // By node: dwords
  std::vector<llvm::AllocaInst*> arguments_known_;                         // By region

  std::vector<RunStep> run_;
  // In a loop: what rows are in the vector that it is at, and whether that is to be stored.
  struct Current {
    Value* value = nullptr;
    bool is_new = false;
  };
  std::map<uint32_t, Current> current_;
  bool is_in_loop_ = false;
  uint32_t node_ = 0;  // The one under way.
  std::map<std::vector<uint32_t>, llvm::GlobalVariable*> tables_;
  struct Guarded {
    uint32_t node = 0;  // The first one, before which the interpreter goes on.
    Value* holds = nullptr;
    std::vector<std::function<void()>> stores;
    size_t pending = 0;  // Loads that were pending there.
  };
  Guarded guarded_;
  std::vector<GuardedLds> guarded_lds_;  // In the block under way.
  std::vector<PendingLoad> pending_;
  std::bitset<256> pending_rows_;
  uint32_t issued_vm_ = 0, issued_lgkm_ = 0;
  std::vector<Value*> landings_;
  Value* outside_rows_ = nullptr;
  uint32_t exec_version_ = 0;
  Value* narrowed_ = nullptr;  // What EXEC is within an instruction with DPP.
  std::map<uint32_t, std::shared_ptr<MaskParts>> unmade_parts_;
  std::bitset<128> unmade_;
  std::map<Wrapper, llvm::Function*> wrappers_;

  std::vector<Shapes> at_;  // at the beginning of blocks
  std::vector<std::bitset<256>> stored_at_;
  std::bitset<256> stored_before_, stored_;  // as `before_` and `shapes_`
  Shapes before_, shapes_;                   // before the instruction under way, and behind it
  bool is_by_rule_ = false;                  // The instruction under way is.
  std::array<Common, 256> before_common_{}, common_{};
  // Scalars, and rows with a shape, that a wave's registers have had since the last barrier of the block: they need not be stored at
  // the next.
  std::bitset<128> kept_scalars_;
  std::bitset<256> kept_rows_;
  std::map<uint32_t, llvm::AllocaInst*> base_variables_, pitch_variables_;
  std::map<uint16_t, Value*> carries_;
};

}  // namespace rigel::vgpu::exec::compiler
