// Generates LLVM IR from a plan: one host function for a kernel, which runs a wave and the waves after it in
// its batch.
//
// Registers are variables of the function, which LLVM turns into values: a row of W dwords for each VGPR, the
// scalar file, SCC. A row is processed one host vector at a time. A *run* is a region of vector instructions
// that is executed vector by vector, so that intermediate values stay in host registers. A run ends at
// operations that need all lanes: memory accesses, scalars computed from lanes, branches.
//
// In a large kernel (Plan::is_large), long runs are loops over the vectors of a row. Rows then stay in the
// wave's register array, and memory accesses are calls.
//
//  kernel_frame.cpp                              entries and exits, blocks, branches, calls of handlers
//  kernel_vectors.cpp, kernel_waves.cpp          vector and scalar instructions; those across lanes
//  kernel_rules.cpp, kernel_comparisons.cpp      instructions with affine operands (shapes.hpp)
//  kernel_memory.cpp, kernel_known_memory.cpp    memory accesses, at arbitrary and affine addresses
//  kernel_scratch.cpp, kernel_scalar_loads.cpp   scratch; scalar loads
//  kernel_loads.cpp                              loads delayed until s_waitcnt
//  kernel_checks.cpp                          registers and LDS under the check `init`
//
// *Threads:* a builder is used by one thread.
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
#include "plugins/vgpu/compiler/shapes.hpp"
#include "plugins/vgpu/exec/native/plan.hpp"
#include "plugins/vgpu/exec/wave.hpp"
#include "plugins/vgpu/exec/wave_memory.hpp"

namespace rigel::vgpu::exec::compiler {

using llvm::BasicBlock;
using llvm::Value;

/// Operand codes of scalars.
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
  // The run-time part of an affine row (lane_shape.hpp); `pitch` is null if the shape has none.
  struct Common {
    Value* base = nullptr;
    Value* pitch = nullptr;
    bool is_ordered = false;  // As in Affine.
  };
  // A row's value before an instruction, captured for code that is generated when the run is flushed.
  struct RowSource {
    uint32_t index = 0;
    ShapePointer shape;
    Common common;
    bool all_active = false;   // All lanes of the wave are active.
    bool is_narrowed = false;  // Within DPP, which excludes some active lanes from writing.
  };

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
  // The key of the site's cache in WaveMemory. All accesses to scratch share one key.
  Value* site_of(uint32_t node) {
    // Scalar loads of checked code read the runtime's memory, too.
    const bool is_unbounded = plan_.is_checked && plan_.sites[node].kind == Site::Kind::kScalarLoad;
    const uint64_t flags = is_unbounded ? WaveMemory::kUnbounded : 0;
    return b_.CreateIntToPtr(b_.getInt64(site_numbers_[node] * sizeof(MicroOp) + flags), pointer());
  }
  Value* scratch_site() { return llvm::ConstantPointerNull::get(pointer()); }
  static std::vector<uint64_t> number_sites(const Plan& plan);
  Value* entry_at(int32_t entry) {
    return at(linked(offsetof(Linkage, entries)), static_cast<uint64_t>(entry) * sizeof(MicroOp));
  }
  Value* at(Value* base, uint64_t bytes) { return b_.CreateConstInBoundsGEP1_64(i8(), base, bytes); }

  llvm::AllocaInst* variable(llvm::Type* type, uint64_t alignment, const char* name);

  Value* row(uint32_t index);
  // Whether the row is used in the wave's register array, without a copy in the function's frame.
  bool is_in_place(uint32_t index) const { return plan_.is_large && index < plan_.layout.vgprs; }
  uint32_t row_index(uint32_t offset) const { return (offset - kScalarBytes) / plan_.layout.row_bytes(); }
  // A vector of a row: by constant number, or the current one of a loop over all vectors.
  struct VectorIndex {
    VectorIndex(unsigned constant_number) : number(constant_number) {}
    explicit VectorIndex(Value* in_loop) : bytes(in_loop) {}

    unsigned number = 0;
    Value* bytes = nullptr;  ///< Offset from the row's start; null: `number` is used.
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

  // Affine registers (lane_shape.hpp). Between blocks, base and pitch are in variables.
  llvm::AllocaInst* base_variable(uint32_t index);
  llvm::AllocaInst* pitch_variable(uint32_t index);
  void store_common(uint32_t index, const Common& common);
  // Returns one vector of an array with a constant for each lane.
  template <class T>
  Value* lane_numbers(const std::array<T, 64>& numbers, VectorIndex v) {
    return constant_vector(std::vector<uint32_t>(numbers.begin(), numbers.begin() + wave_size_), v);
  }
  Value* constant_vector(const std::vector<uint32_t>& numbers, VectorIndex v);
  Value* lane_values(const Common& common, const Shape& shape, VectorIndex v);
  // The value of one lane; minimum and maximum of all lanes (Shape::extreme_lanes()).
  Value* lane_value(const Common& common, const Shape& shape, unsigned lane);
  Value* minimum_of(const Common& common, const Shape& shape) {
    return lane_value(common, shape, (*shape.extreme_lanes(wave_size_))[0]);
  }
  Value* maximum_of(const Common& common, const Shape& shape) {
    return lane_value(common, shape, (*shape.extreme_lanes(wave_size_))[1]);
  }
  // Whether minimum_of() and maximum_of() are valid.
  Value* has_extremes(const Common& common) {
    return common.pitch == nullptr ? b_.getTrue()
                                   : b_.CreateICmpULT(common.pitch, b_.getInt32(Shape::kMostPitch));
  }
  // The register's value before the current instruction.
  Value* value_of(uint32_t index, VectorIndex v) {
    if (index < 256 && before_.rows[index] != nullptr)
      return lane_values(before_common_[index], *before_.rows[index], v);
    return load_part(index, v);
  }
  // Stores an affine row to its memory, for functions and handlers, and returns it.
  Value* materialized_row(uint32_t index) {
    if (index < 256 && before_.rows[index] != nullptr) {
      for (unsigned v = 0; v < vectors_; ++v) store_part(index, v, value_of(index, v));
    }
    return row(index);
  }
  // For each block: rows whose value in the wave's register array is current at its start, not written since
  // they were loaded or stored. They need not be stored again.
  std::vector<std::bitset<256>> find_stored() const;
  std::bitset<256> stored_after(uint32_t node, std::bitset<256> stored, const Shapes& shapes) const;
  static std::bitset<256> without_shape(const Shapes& shapes);

  void load_block_shapes(const Shapes& shapes);
  void next_node(uint32_t node);

  Value* scalar_at(uint32_t offset) { return at(scalars_, offset); }
  Value* scalar(uint32_t offset) { return b_.CreateAlignedLoad(i32(), scalar_at(offset), llvm::Align(4)); }
  Value* scalar64(uint32_t offset) { return b_.CreateAlignedLoad(i64(), scalar_at(offset), llvm::Align(4)); }
  void set_scalar(uint32_t offset, Value* value) {
    b_.CreateAlignedStore(value, scalar_at(offset), llvm::Align(4));
  }
  // The lane mask in a scalar, in 64 bits.
  Value* mask_at(uint32_t offset) {
    if (offset == kExec * 4 && before_.all_active()) return all_lanes();
    return wave_size_ == 64 ? scalar64(offset) : b_.CreateZExt(scalar(offset), i64());
  }
  // EXEC of the current operation; within DPP, only the lanes that may write.
  Value* active_lanes() { return narrowed_ != nullptr ? narrowed_ : mask_at(kExec * 4); }
  void set_mask(uint32_t offset, Value* value) {
    set_scalar(offset, wave_size_ == 64 ? value : b_.CreateTrunc(value, i32()));
  }
  Value* scc_place() { return at(state_, offsetof(Wave, scc)); }
  // The running wave, which changes within a batch, and its register array.
  Value* wave() { return b_.CreateLoad(pointer(), wave_); }
  Value* registers() { return b_.CreateLoad(pointer(), registers_); }
  Value* wave_field(size_t offset) { return at(wave(), offset); }

  // The bits of one vector's lanes.
  Value* bits_of(Value* mask, VectorIndex v) {
    return b_.CreateAnd(b_.CreateLShr(mask, first_lane(v)), b_.getInt64((uint64_t{1} << lanes_) - 1));
  }
  Value* first_lane(VectorIndex v) {
    return v.bytes != nullptr ? b_.CreateLShr(v.bytes, b_.getInt64(2)) : b_.getInt64(v.number * lanes_);
  }
  // The mask as an i1 for each lane. Without AVX-512, LLVM would extract bits from another block one at a
  // time. Each lane is therefore compared with its bit.
  Value* lanes_of(Value* mask, VectorIndex v);

  // Entries and exits

  void make_function();

  void copy_attributes(llvm::Function& function);

  void make_entries();

  // Compares an interpreted wave's registers with the expected shapes; on a difference, the interpreter
  // continues.
  void check_expected_shapes(uint32_t node);

  // Continues in the interpreter before the node. The live registers must have been stored.
  void hand_over(uint32_t node);
  // Hands a wave over at a barrier that some lanes or waves of the work-group may not reach. Otherwise notes
  // the barrier.
  void check_barrier(uint32_t node);
  // Hands a wave over that ends while other waves of its work-group are at a barrier.
  void check_end(uint32_t node);
  Value* is_in_batch();
  void hand_over_unless(uint32_t node, Value* holds);
  // Kernels under the check `init` (kernel_checks.cpp). Initialises the state of tracked registers.
  enum class EntryKind : uint8_t { kTrusted, kChecked, kBatchStart };
  void start_tracking(EntryKind kind);
  Value* defined_field(size_t field);
  // Leaves to the interpreter before the node if it would read undefined registers.
  void test_defined(uint32_t node);
  void note_defined(uint32_t node);
  Value* selected_lane(const isa::Instruction& in);
  void leave_unless(uint32_t node, Value* holds);
  // Stores the registers that are live before the node, and pending loads, on a path that leaves.
  void store_all(uint32_t node);
  Value* shadow_of(Value* lds_begin);

  Value* group_field(size_t field) { return b_.CreateLoad(i32(), at(group_, field)); }

  // Adds an assumption. Assumptions accumulate and are tested together before the next observable
  // instruction. If one fails, the interpreter repeats the instructions from the first guarded node on.
  void guard(uint32_t node, Value* holds);
  void check_guard();

  // Loads or stores the live registers from or to the wave's register array. `before_` has the rows' shapes;
  // loading computes bases and pitches.
  void load_live(const isa::Registers& live, const std::bitset<256>& inactive);
  void load_affine_row(uint32_t index);
  // Calls `f` with the type and the offset of each scalar; an aligned pair is one i64.
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
  enum class StoreFor : uint8_t {
    kInterpreter,
    /// load_live() with the same shapes: of affine rows, only the lanes from which it recovers base and
    /// pitch.
    kOwnReload,
  };
  void store_live(const isa::Registers& live, const std::bitset<256>& inactive,
                  StoreFor reader = StoreFor::kInterpreter);
  // Returns functions that store the present values, for use in a later block.
  std::vector<std::function<void()>> deferred_stores(const isa::Registers& live,
                                                     const std::bitset<256>& inactive, StoreFor reader);
  Value* base_of_active(uint32_t index);
  void load_initial_state(uint32_t node);

  void leave(Stop stop, Value* op);

  // Continues with the next wave of the batch (wave_row.hpp). If there is none, code after this call leaves.
  void continue_with_next_wave(const char* next, BasicBlock* to);
  void continue_in_order();
  // Ends the wave's part at a barrier, yield or sleep. The wave re-enters at the site's `entry_after`.
  void switch_wave(uint32_t node);

  // Jumps from the end of a block. A backward jump ends the wave's time slice if its budget is used up.
  void jump_to(uint32_t from, uint32_t to);
  llvm::MDNode* unlikely() { return llvm::MDBuilder(context_).createBranchWeights(1, 1000); }
  llvm::MDNode* likely() { return llvm::MDBuilder(context_).createBranchWeights(1000, 1); }

  void charge(uint32_t instructions) {
    b_.CreateStore(b_.CreateSub(b_.CreateLoad(i64(), budget_), b_.getInt64(instructions)), budget_);
  }

  bool ends_segment_before_it_runs(uint32_t node) const {
    const auto& written = plan_.graph.nodes[node].effects.writes.scalars;
    return (written[kExec] || written[kExec + 1]) && plan_.sites[node].kind != Site::Kind::kToInterpreter;
  }
  // Counts the instructions from `counted_` to `end`, if the code is counted. `end` is the end of a segment,
  // or of an instruction that writes EXEC and is about to be executed.
  void count_segment(uint32_t end);
  // Corrects the counters on a path on which the interpreter continues at `node`.
  void count_until(uint32_t node);
  Value* active_lane_count() { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, mask_at(kExec * 4)); }

  void build_block(uint32_t index);
  // A barrier, yield or sleep.
  void build_wave_switch(uint32_t node);
  void build_mode(const analysis::Block& block, uint32_t node);
  void build_end(uint32_t node);
  // A memory access, or a call of the handlers.
  void build_access(uint32_t node);

  void build_branch(uint32_t from, const analysis::Node& node);

  // Sets the wave's MODE and the host's MXCSR.
  void set_mode(uint32_t mode);
  void set_index(const isa::Instruction& in);
  void enable_index(bool enable);
  // `memory`: addresses whose accesses must not move across the instruction.
  void load_mxcsr(llvm::IRBuilder<>& b, uint32_t mxcsr, llvm::ArrayRef<Value*> memory = {});

  // Calls the interpreter's handlers.
  enum class Results : uint8_t { kTaken, kStayInWave };
  void build_call(uint32_t node, Results results = Results::kTaken);

  // Calls the handlers if `done` is false.
  void or_call(uint32_t node, Value* done) {
    with_fallback(
        done, [] {}, [&] { build_call(node); });
  }

  // The two paths of an access: its addresses were found, or they were not.
  struct Fork {
    BasicBlock* reached = nullptr;
    BasicBlock* otherwise = nullptr;
  };
  Fork make_fork() {
    return {BasicBlock::Create(context_, "reached", function_),
            BasicBlock::Create(context_, "otherwise", function_)};
  }
  // Continues at `reached` of the result.
  Fork fork_if(Value* reached) {
    const Fork fork = make_fork();
    b_.CreateCondBr(reached, fork.reached, fork.otherwise, likely());
    b_.SetInsertPoint(fork.reached);
    return fork;
  }

  void note_place(uint32_t node) { b_.CreateStore(operations_at(node), wave_field(offsetof(Wave, op))); }

  // Scalar loads (kernel_scalar_loads.cpp). load_arguments() runs before the first wave. If it does not find
  // them, which is rare, the interpreter runs the wave.
  void load_arguments();
  Value* address_from(Value* pointer, int32_t offset);
  void build_scalar_load(uint32_t node);
  void build_scalar_load_anew(uint32_t node);

  // Calls a function of the bitcode.
  Value* call(const std::string& name, std::vector<Value*> arguments,
              llvm::Attribute::AttrKind inlining = llvm::Attribute::AlwaysInline);
  // Calls a function that loads or stores; inlined in small kernels only.
  Value* call_access(const std::string& name, std::vector<Value*> arguments);

  // Arrays of pointers to rows, for access functions.
  Value* row_list(const std::vector<Value*>& rows);
  std::vector<Value*> rows_from(uint32_t first, unsigned count);
  bool keeps_any(uint32_t node, uint32_t first, unsigned count) const;
  std::string suffix(const isa::MemoryShape& shape) const;

  void build_global(uint32_t node);
  void build_global_anywhere(uint32_t node);
  // FLAT access of dwords whose address is uniform.
  bool has_one_flat_address(uint32_t node) const;
  // Handles addresses that are not found: private memory, otherwise the handler.
  void build_global_fallback(uint32_t node);

  // Scratch through buffer instructions (kernel_scratch.cpp)
  struct Scratch {
    Value* is_scratch = nullptr;  // Whether the descriptor is that of scratch.
    Value* base = nullptr;        // Address of lane 0 at offset 0.
    Value* bytes = nullptr;       // Limit of a lane's offsets.
    Value* scalar = nullptr;      // Scalar offset of a SCRATCH instruction, if it has one.
    bool offsets_wrap = false;    // Register offset and instruction offset are added in 32 bits.
  };
  // Of a buffer's descriptor.
  Scratch scratch_of(const isa::Instruction& in);
  // Of FLAT_SCRATCH; without `is_scratch`.
  Scratch own_scratch();
  // Bytes of a lane's scratch that code accesses without a call.
  Value* lane_scratch_bytes();
  Value* offset_in(const Scratch& scratch, const isa::Instruction& in, Value* register_offset);
  // For FLAT: scratch, if all active lanes address private memory.
  Scratch private_of(const isa::Instruction& in);
  void build_scratch(uint32_t node);
  void build_scratch_anywhere(uint32_t node, const Scratch& scratch);
  enum class Loads : uint8_t { kLater, kNow };
  void build_scratch_rows(uint32_t node, const Scratch& scratch, Value* offset, Loads when);
  void build_private(uint32_t node, const Scratch& scratch);
  // Rows that are passed to functions. If a kernel's rows were passed, LLVM would keep them in memory.
  Value* outside_rows();

  void build_lds(uint32_t node);
  void build_lds_anywhere(uint32_t node);
  void build_lds_atomic(uint32_t node);
  Value* lds_limit();

  // Writes a vector of a row. Inactive lanes keep their values if these are live.
  void put(uint32_t node, const RowSource& old, VectorIndex v, Value* value, Value* exec);

  // Affine instructions (lane_rules.hpp)

  Common common_of(uint32_t node, unsigned i, unsigned part = 0);
  Common common_of(const isa::Operand& operand, const Step& step, unsigned i, unsigned part);
  Value* number(uint32_t node, unsigned i, unsigned part = 0) { return common_of(node, i, part).base; }
  Shape shape_of_source(uint32_t node, unsigned i) const {
    const isa::Operand& operand = plan_.graph.nodes[node].instruction.src[i];
    return operand.is_vgpr() ? *before_.of_active(operand.vgpr()) : Shape{};
  }
  Value* wide(Value* value) { return b_.CreateZExt(value, i64()); }
  Value* plus(Value* value, int32_t by) {
    return b_.CreateAdd(value, b_.getInt32(static_cast<uint32_t>(by)));
  }
  // Whether all lanes or none wrap past 2^32.
  Value* does_not_wrap(const Common& common, const Shape& shape);

  void set_row(uint32_t node, uint32_t index, Common common);

  class CommonNumbers;
  void build_by_rule(uint32_t node);

  // Sets the lane mask `code` to all active lanes or none.
  void set_carry(uint16_t code, Value* carry);

  // Computes a uniform result once.
  Value* uniform_result(uint32_t node);

  // Memory at affine addresses: the lanes' distances are constants, the start is a run-time value.
  struct Place {
    Value* begin = nullptr;              // Host address of the lane with the minimum offset.
    std::array<uint32_t, 64> offsets{};  // From there.
    std::array<uint32_t, 64> pitches{};  // Multiples of `pitch` to be added; equal within each vector.
    Value* pitch = nullptr;
    bool is_lds = false;
  };

  bool is_contiguous(const Place& place, unsigned v, uint32_t step) const;
  // Number of bytes that loads from these places cover.
  uint32_t span_of(const Place& place, uint32_t bytes) const;
  // The place of one vector's lanes, as lanes 0 and up.
  Place place_of_vector(const Place& place, VectorIndex v);
  // Whether all vectors have the same offsets, at a constant distance from vector to vector.
  bool is_same_for_all_vectors(const Place& place) const;

  // Loads one element in pieces of four and two dwords. Pieces are single accesses: another wave may store
  // concurrently.
  std::vector<Value*> load_element(Value* from, unsigned dwords);

  // The next functions handle one vector (place_of_vector()).
  std::vector<Value*> load_affine(const Place& place, unsigned dwords);
  // Whether elements are of four dwords, accessed as a whole.
  static bool has_quads(const Place& place, unsigned dwords);
  std::vector<Value*> load_quads(const Place& place);
  void store_quads(const Place& place, const std::vector<Value*>& values);
  // Converts between four rows of a vector and the lanes' elements: [i] has the elements of lanes i, i + 4,
  // and so on.
  std::vector<Value*> transposed(const std::vector<Value*>& rows);
  // Loads contiguous elements of one, two or four dwords.
  std::vector<Value*> load_full_vectors(const Place& place, unsigned dwords);
  Value* concatenated(Value* low, Value* high, unsigned each);
  // Range of a vector's offsets: minimum, maximum, number of distinct offsets, and number of vectors that
  // cover the range; 0 if distances are not multiples of the unit.
  struct Extent {
    uint32_t first = 0, last = 0;
    uint32_t different = 0;
    uint32_t pieces = 0;
  };
  static constexpr uint32_t kMostPieces = 4;
  // Up to this many distinct elements are loaded one by one, unless two vectors cover them.
  static constexpr uint32_t kFew = 4;
  Extent extent_of(const uint32_t* offsets, uint32_t unit) const;
  // Loads dwords (unit 4) or untorn pairs of dwords (unit 8): by vector loads if the lanes are near each
  // other, else by a gather.
  Value* load_scattered(const Place& place, const uint32_t* offsets, uint32_t further, uint32_t unit);
  Value* load_pieces(const Place& place, const uint32_t* offsets, uint32_t further, uint32_t unit,
                     const Extent& extent);
  // Selects elements of up to kMostPieces vectors.
  Value* select_elements(std::vector<Value*> pieces, const std::vector<int>& picks);
  // Number of an element's dwords that are loaded and stored as pairs.
  unsigned paired_dwords(const Place& place, unsigned dwords) const;
  // `has_pairs`: the load must not be split.
  Value* load_vector(const Place& place, llvm::Type* type, uint32_t offset, bool has_pairs);
  // For pairs at multiples of 4 but not of 8 bytes, as in elements of three dwords: the starts of vectors
  // such that each pair is inside of one vector. Empty if there are none, or too many.
  std::vector<uint32_t> pieces_with_pairs(const uint32_t* offsets) const;
  // The index of a pair in these vectors.
  unsigned dword_in_pieces(const std::vector<uint32_t>& begins, uint32_t offset) const;
  // The first and the second dwords of the pairs.
  std::vector<Value*> load_pairs(const Place& place, const uint32_t* offsets, uint32_t further);
  std::vector<Value*> halves_of(Value* pairs);
  Value* pairs_of(Value* low, Value* high);

  void store_affine(const Place& place, bool are_full_vectors, const std::vector<Value*>& values,
                    Value* mask);
  void store_pairs(const Place& place, const uint32_t* offsets, uint32_t further, Value* low, Value* high,
                   Value* mask);
  void store_scattered(const Place& place, const uint32_t* offsets, uint32_t further, uint32_t unit,
                       Value* value, Value* mask);
  // Whether a store writes vectors without gaps, which requires all lanes to be active.
  bool stores_full_vectors(const Place& place, unsigned dwords) const;
  bool needs_all_lanes(const Place& place, unsigned dwords) const;
  bool can_store_affine(const Place& place, unsigned dwords) const;
  // Whether the lanes of the whole wave are contiguous.
  bool is_contiguous_in_wave(const Place& place, uint32_t step) const;

  Place place_from(const Shape& shape, Value* pitch) const;
  bool has_one_pitch_per_vector(const Place& place) const;
  Value* all_lanes() { return b_.getInt64(wave_size_ == 64 ? ~uint64_t{0} : 0xffffffff); }

  void access_affine(uint32_t node, const Place& place, bool stores, uint32_t data, unsigned dwords);

  // The extent that a site has used last, as values. Extents are valid as long as the function runs, because
  // the slice holds a translation scope (WaveMemory::Scope). The values need no loads where waves or loops
  // repeat the access.
  struct Window {
    llvm::AllocaInst *begin = nullptr, *limit = nullptr;  // Accesses at [begin, begin + limit) are in it.
    llvm::AllocaInst* host = nullptr;
  };
  static constexpr size_t kMostWindows = 8;
  bool has_window(uint32_t node);
  // `bytes`: size of the site's accesses.
  Window& window_of(uint32_t node, uint32_t bytes);
  void load_window(uint32_t node, uint32_t bytes);
  // If `holds` is true and the range is found, continues at `fork.reached` and returns the host address.
  Value* place_in_window(uint32_t node, Value* va, uint32_t bytes, Value* holds, const Fork& fork);

  // Returns false if the addresses are not affine.
  bool build_global_affine(uint32_t node);

  template <class Build>
  void if_reached(Value* reached, Build build) {
    with_fallback(reached, build, [] {});
  }
  template <class Done, class Otherwise>
  void with_fallback(Value* reached, Done done, Otherwise do_otherwise) {
    with_fallback(fork_if(reached), done, do_otherwise);
  }
  // Called where the addresses were found.
  template <class Done, class Otherwise>
  void with_fallback(const Fork& fork, Done done, Otherwise do_otherwise) {
    auto* const after = BasicBlock::Create(context_, "behind", function_);
    done();
    b_.CreateBr(after);
    b_.SetInsertPoint(fork.otherwise);
    do_otherwise();
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  }

  // Delayed loads: the address has been found, the memory not yet read (kernel_loads.cpp)
  static constexpr uint32_t kNoLanding = ~0u;
  struct PendingLoad {
    uint32_t node = 0;
    Place place;
    uint32_t data = 0;
    unsigned dwords = 0;
    Value* exec = nullptr;
    std::vector<RowSource> old;
    uint32_t landing = kNoLanding;
    // Numbers of the instruction in the counters of s_waitcnt; 0: not counted.
    uint32_t vm = 0, lgkm = 0;
  };
  // Size in bytes of a landing: a buffer in which a handler's results are laid out at the place's offsets. 64
  // lanes of 16 bytes.
  static constexpr uint32_t kMostLanding = 1024;
  bool can_be_delayed(uint32_t node, const Place& place, unsigned dwords) const;
  // Minimum distance of two lanes in bytes; `of_distinct`: of two lanes at different places. Nothing if all
  // lanes are at one place.
  std::optional<uint32_t> minimum_distance(const Place& place, bool of_distinct) const;
  // Whether elements of two lanes overlap partially. If one lane is out of range or wraps, their bytes
  // differ, and no landing can represent both.
  bool overlaps_in_part(const Place& place, unsigned dwords) const;
  PendingLoad pending_load(uint32_t node, const Place& place, uint32_t data, unsigned dwords);
  // Called where the addresses were found. If they are not, the handler is called at once and its results go
  // to landings.
  void delay_loads(uint32_t node, const Fork& fork, std::vector<PendingLoad> loads);
  void add_pending(PendingLoad load);
  Value* landing_of(uint32_t index);
  // A landing that neither a pending load nor one of `others` uses.
  uint32_t free_landing(const std::vector<PendingLoad>& others) const;
  void count_issued(uint32_t node);
  // Whether the instruction, which is not s_waitcnt, requires all pending loads to be done.
  bool needs_pending_loads(uint32_t node) const;
  void do_due_loads(uint32_t node);
  void do_load(const PendingLoad& load, VectorIndex v);
  void do_loads_in_run() { do_loads_in_run(pending_.end()); }
  void do_loads_in_run(std::vector<PendingLoad>::iterator end);
  // Does the first `count` loads on a path that leaves; they stay pending on the other path.
  void do_loads_now(size_t count);

  // The elements of an LDS access, one or two for each lane.
  struct LdsPlaces {
    Place place;  // `begin` is not set.
    unsigned dwords = 0;
    uint32_t span = 0;  // From the first lane's element to the end of the last lane's.
    std::vector<uint32_t> offsets;
    uint32_t alignment = 0;  // Required by the hardware; 0: none.
  };
  // Nothing if the addresses are not affine.
  std::optional<LdsPlaces> lds_places(uint32_t node) const;
  enum class Outside : uint8_t { kNoLane, kInactiveLanes };
  // Whether all accesses through one address register are inside LDS. kInactiveLanes: inactive lanes may be
  // up to kLdsMargin outside.
  Value* are_in_lds(const std::vector<uint32_t>& accesses, Outside outside);
  Value* lds_place(uint32_t node, uint32_t offset);
  bool build_lds_affine(uint32_t node);
  void note_lds(uint32_t node, const LdsPlaces& places, uint32_t offset, uint32_t row);
  // LDS loads that share an address register and one guard.
  bool is_delayable_lds_load(uint32_t node) const;
  std::vector<uint32_t> lds_loads_from(uint32_t node) const;
  bool is_guarded_lds_load(uint32_t node) const;
  struct GuardedLds {
    uint32_t address = 0;  // The address register's row.
    Value* base = nullptr;
    ShapePointer shape;
    uint32_t last = 0;  // The last load that the guard covers.
  };
  std::vector<GuardedLds>::const_iterator guarded_lds(uint32_t node) const;
  void build_guarded_lds_load(uint32_t node);
  // Reports the accesses to `place` to the checks, if the site's are. `begin`: the address of the lowest
  // lane, or its offset in LDS. `row`: number of the row that is stored, or kNoRow.
  static constexpr uint32_t kNoRow = ~0u;
  void note_accesses(uint32_t node, const Place& place, unsigned dwords, Value* begin, Value* pitch,
                     uint32_t row);
  // Reports accesses at any addresses: those of a row in LDS, or rows in global memory without the base.
  // `rows`: the row of addresses, that of their upper halves or kNoRow, and that which is stored or kNoRow.
  struct NotedRows {
    uint32_t low = 0, high = kNoRow, stored = kNoRow;
  };
  void note_rows(uint32_t node, const NotedRows& rows, Value* base);
  Value* constant_bytes(const void* from, size_t size);
  // Stores a row in one of outside_rows(). Null: kNoRow.
  Value* row_copy(unsigned number, uint32_t index);
  void build_lds_noted(uint32_t node);
  // Whether `reached` holds and the elements at `begins` have no undefined bits.
  Value* are_defined_in_lds(Value* reached, const std::vector<Value*>& begins, Place place, unsigned dwords);
  // After a store to `place`.
  void define_in_lds(Place place, unsigned dwords);
  // Whether elements at the two offsets share no byte.
  bool are_disjoint(const Place& place, uint32_t first_offset, uint32_t second_offset, uint32_t bytes) const;

  void build_steps(uint32_t node);

  void build_scalar(uint32_t node, const Step& step);

  // Returns the operation as a constant of the module, without fields that only the interpreter uses.
  llvm::Constant* constant(const MicroOp& source_op);

  // A lane mask computed by a run, vector by vector, or as a whole.
  struct MaskParts {
    std::array<Value*, 8> parts{};
    // As computed, inactive lanes included. Under the same EXEC, using these avoids a conversion through
    // bits.
    std::array<Value*, 8> including_inactive{};
    Value* whole = nullptr;
    bool has_only_whole = false;  // `whole` was computed from the parts, which cannot be used any more.
    uint32_t exec_version = kNarrowed;
  };
  Value* whole_of(const MaskParts& mask);
  static constexpr uint32_t kNarrowed = ~0u;
  // Number of changes of EXEC within the block.
  uint32_t exec_version() const { return narrowed_ != nullptr ? kNarrowed : exec_version_; }

  RowSource row_source(uint32_t index);
  Value* get(const RowSource& source, VectorIndex v) {
    return source.shape != nullptr ? lane_values(source.common, *source.shape, v)
                                   : load_part(source.index, v);
  }

  struct Input {
    enum class Kind : uint8_t { kRows, kUniform, kMask, kPendingMask } kind = Kind::kRows;
    std::vector<RowSource> rows;
    Value* value = nullptr;
    std::shared_ptr<MaskParts> parts;
  };

  Input mask_input(uint32_t offset);
  // Returns source `i` of a step. `kind` receives the element of Wrapper::sources.
  Input lane_input(uint32_t node, const Step& step, unsigned i, int8_t& kind);
  // Returns vector `v` of the inputs. `version`: exec_version() of the step.
  std::vector<Value*> arguments_of(const std::vector<Input>& inputs, uint32_t version, VectorIndex v);
  // Whether a pending mask overlaps the one at scalar register `code` in part.
  bool overlaps_pending_mask(uint32_t code) const;

  // `mxcsr`: 0, or the value that the operation needs instead of the one for MODE.
  void build_lanes(uint32_t node, const Step& step, uint32_t mxcsr);

  // Returns the mask of active lanes for a comparison of affine operands; null if they are not affine, or for
  // other operations.
  Value* affine_comparison(uint32_t node, const Step& step);

  // Runs an operation across lanes, by inlining the interpreter's handler.
  void build_wave(const Step& step);
  llvm::Function* wave_wrapper(const MicroOp& op, NamedOperation operation);

  struct RunStep {
    std::function<void(VectorIndex)> build;
    uint32_t instructions = 4;            // Approximate number of IR instructions.
    bool is_same_for_all_vectors = true;  // The same code for each vector.
    std::shared_ptr<MaskParts> mask{};    // The mask that it computes, or null.
  };
  // Generates the run's code.
  void flush();
  void keep_whole_masks(std::vector<RunStep>::iterator begin, std::vector<RunStep>::iterator end);
  // Whether the run is long enough for a loop, which costs some host instructions per vector.
  bool is_worth_a_loop(std::vector<RunStep>::const_iterator begin,
                       std::vector<RunStep>::const_iterator end) const;
  void loop_over(std::vector<RunStep>::iterator begin, std::vector<RunStep>::iterator end);
  // Code for all vectors: unrolled, or in large kernels a loop if the code is the same for each. For rarely
  // executed places.
  template <class F>
  void for_each_vector(bool is_same_for_all_vectors, F build) {
    if (is_same_for_all_vectors && plan_.is_large) return loop(build);
    for (unsigned v = 0; v < vectors_; ++v) build(VectorIndex(v));
  }
  template <class F>
  void loop(F build) {
    BasicBlock* const before = b_.GetInsertBlock();
    auto* const body = BasicBlock::Create(context_, "vectors", function_);
    auto* const after = BasicBlock::Create(context_, "behind", function_);
    b_.CreateBr(body);
    b_.SetInsertPoint(body);
    llvm::PHINode* const bytes = b_.CreatePHI(i64(), 2);
    bytes->addIncoming(b_.getInt64(0), before);
    build(VectorIndex(bytes));
    Value* const next = b_.CreateAdd(bytes, b_.getInt64(lanes_ * 4));
    bytes->addIncoming(next, b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateICmpEQ(next, b_.getInt64(wave_size_ * 4)), after, body);
    b_.SetInsertPoint(after);
  }
  Value* mask_part(const MaskParts& mask, bool including_inactive, VectorIndex v) {
    if (mask.has_only_whole) return bits_of(mask.whole, v);
    return (including_inactive ? mask.including_inactive : mask.parts)[v.number];
  }

  // Key of a function that executes an operation on one vector, with values as arguments.
  struct Wrapper {
    static constexpr int8_t kMaskSource = -1, kUniformSource = -2;
    Op op{};
    NamedOperation named{};
    bool clamped = false;
    uint64_t imm = 0;
    uint32_t aux = 0;
    uint32_t mxcsr = 0;  ///< 0: the mode's.
    uint32_t usual = 0;  ///< The mode's value, restored afterwards.
    KnownOperation::Kind kind{};
    bool has_test = false;
    bool is_float = false;  ///< Hidden from LLVM's constant folding.
    bool reads_old = false;
    uint8_t result_rows = 1;
    std::array<int8_t, 4> sources{};  ///< For each source: number of rows, or one of the above; 0: none.

    auto operator<=>(const Wrapper&) const = default;
  };

  // Additions, multiplications and FMAs without modifiers: named host instructions (vector/ordered.hpp).
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
  /// Switch on entry_; the entry for a batch's next wave, or null.
  BasicBlock *entry_switch_ = nullptr, *batch_start_ = nullptr;
  std::vector<BasicBlock*> blocks_;
  std::map<uint32_t, BasicBlock*> after_switch_;
  Value *linkage_ = nullptr, *group_ = nullptr, *memory_ = nullptr, *lds_ = nullptr, *lds_bytes_ = nullptr;
  // Of the batch: whether there is one, the entry point of its waves, their initial budget.
  Value *is_in_batch_ = nullptr, *batch_entry_ = nullptr, *turn_ = nullptr;
  llvm::AllocaInst *wave_ = nullptr, *registers_ = nullptr, *entry_ = nullptr, *state_ = nullptr,
                   *scalars_ = nullptr, *budget_ = nullptr;
  std::map<uint32_t, llvm::AllocaInst*> rows_;
  std::map<uint32_t, Window> windows_;  // By node.
  Arguments arguments_;
  std::map<uint32_t, std::vector<Value*>> argument_values_;  // By node: one for each dword.
  BasicBlock* arguments_missing_ = nullptr;                  // Where control goes if some are not found.

  std::vector<RunStep> run_;
  // In a loop: a row's value in the current vector, and whether it must be stored.
  struct Current {
    Value* value = nullptr;
    bool is_new = false;
  };
  std::map<uint32_t, Current> current_;
  bool is_in_loop_ = false;
  uint32_t node_ = 0;  // The current node.
  std::map<std::vector<uint32_t>, llvm::GlobalVariable*> tables_;
  struct Guarded {
    uint32_t node = 0;  // The first guarded node, where the interpreter resumes.
    Value* holds = nullptr;
    std::vector<std::function<void()>> stores;
    size_t pending = 0;  // Number of loads that were pending there.
  };
  Guarded guarded_;
  uint32_t counted_ = 0;                 // The first node of the block that is not counted yet
  Value* counters_ = nullptr;            // Of segments
  Value* lanes_of_last_ = nullptr;       // The number of lanes of the segment that was counted last
  std::vector<GuardedLds> guarded_lds_;  // Of the current block.
  std::vector<PendingLoad> pending_;
  std::bitset<256> pending_rows_;
  uint32_t issued_vm_ = 0, issued_lgkm_ = 0;
  std::vector<Value*> landings_;
  Value* outside_rows_ = nullptr;
  uint32_t exec_version_ = 0;
  Value* narrowed_ = nullptr;  // EXEC within an instruction with DPP.
  std::map<uint32_t, std::shared_ptr<MaskParts>> pending_mask_parts_;
  std::bitset<128> pending_masks_;
  std::map<Wrapper, llvm::Function*> wrappers_;

  std::vector<Shapes> shapes_at_;  // At the start of each block.
  std::vector<std::bitset<256>> stored_at_;
  std::bitset<256> stored_before_, stored_;  // As before_ and shapes_.
  Shapes before_, shapes_;                   // Before and after the current instruction.
  bool is_by_rule_ = false;                  // The current instruction is computed by a rule.
  std::array<Common, 256> before_common_{}, common_{};
  // Scalars and affine rows that the wave's register array has had since the block's last barrier. The next
  // barrier need not store them.
  std::bitset<128> kept_scalars_;
  std::bitset<256> kept_rows_;
  std::map<uint32_t, llvm::AllocaInst*> base_variables_, pitch_variables_;
  // The carry in a lane mask, the same in all lanes.
  struct Carry {
    Value* value = nullptr;
    // If it is that of a sum of two bases: these, and the row and the base of the sum.
    std::array<Value*, 2> sources{};
    uint32_t row = 0;
    Value* base = nullptr;
  };
  std::map<uint16_t, Carry> carries_;
};

}  // namespace rigel::vgpu::exec::compiler
