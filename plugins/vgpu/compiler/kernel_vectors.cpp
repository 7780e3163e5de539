// Vector and scalar instructions, from the bitcode of their operations.
#include "plugins/vgpu/compiler/kernel_builder.hpp"

#include <llvm/IR/Constants.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "plugins/vgpu/exec/float_environment.hpp"
#include "plugins/vgpu/exec/native/modes.hpp"
#include "plugins/vgpu/exec/vector/operand_fields.hpp"

namespace rigel::vgpu::exec::compiler {

namespace {

// IR instructions. Larger operations, such as the steps of divisions, cost more than a call and would appear
// up to eight times for each GPU instruction.
constexpr unsigned kMostInlined = 100;

}  // namespace

Value* KernelBuilder::lanes_of(Value* mask, VectorIndex v) {
  if (lanes_ != 8) {
    return b_.CreateBitCast(b_.CreateTrunc(bits_of(mask, v), b_.getIntNTy(lanes_)), mask_vector());
  }
  // Broadcasts the half of the mask with these lanes and tests one bit in each lane.
  const unsigned first = v.bytes != nullptr ? 0 : v.number * lanes_ % 32;
  Value* const half = v.bytes != nullptr ? bits_of(mask, v) : b_.CreateLShr(mask, v.number * lanes_ - first);
  std::array<uint32_t, 8> lane_bits{};
  for (unsigned lane = 0; lane < 8; ++lane) lane_bits[lane] = uint32_t{1} << (first + lane);
  Value* const bits = llvm::ConstantDataVector::get(context_, lane_bits);
  Value* const all = b_.CreateVectorSplat(lanes_, b_.CreateTrunc(half, i32()));
  return b_.CreateICmpEQ(b_.CreateAnd(all, bits), bits);
}

void KernelBuilder::put(uint32_t node, const RowSource& old, VectorIndex v, Value* value, Value* exec) {
  const bool keeps = old.index < 256 && !old.all_active && plan_.live.inactive_behind[node][old.index];
  if (keeps || old.is_narrowed) {
    value = b_.CreateSelect(lanes_of(exec, v), value, get(old, v));
  }
  store_part(old.index, v, value);
}

void KernelBuilder::build_steps(uint32_t node) {
  const Site& site = plan_.sites[node];
  const uint32_t usual = mxcsr_of(plan_.modes[node]);
  uint32_t mxcsr = 0;
  for (uint32_t i = 0; i < site.step_count; ++i) {
    const Step& step = plan_.steps[site.first_step + i];
    switch (step.kind) {
      case KnownOperation::Kind::kOther:
      case KnownOperation::Kind::kTakeExec:  // EXEC is always in its scalar.
        break;
      case KnownOperation::Kind::kLoadsMode:
        mxcsr = step.micro->aux == usual ? 0 : step.micro->aux;
        break;
      case KnownOperation::Kind::kAlu:
      case KnownOperation::Kind::kSaveExec:
        build_scalar(node, step);
        break;
      case KnownOperation::Kind::kComputes:
      case KnownOperation::Kind::kCompare:
      case KnownOperation::Kind::kCompareToExec:
        build_lanes(node, step, mxcsr);
        break;
      case KnownOperation::Kind::kWave:
        build_wave(step);
        break;
    }
    if (!failure_.empty()) return;
  }
}

void KernelBuilder::build_scalar(uint32_t node, const Step& step) {
  const isa::Effects& effects = plan_.graph.nodes[node].effects;
  if (((effects.reads.scalars | effects.writes.scalars) & pending_masks_).any()) flush();
  llvm::Function* const function = step.kind == KnownOperation::Kind::kAlu
                                       ? operations_.alu(step.op, step.slot)
                                       : operations_.save_exec(step.op, step.slot);
  if (function == nullptr) return fail("missing bitcode of " + std::string(isa::name(step.op)));
  function->addFnAttr(llvm::Attribute::AlwaysInline);
  function->removeFnAttr(llvm::Attribute::NoInline);
  b_.CreateCall(function, {constant(*step.micro), state_, scalars_, mask_at(kExec * 4)});
}

llvm::Constant* KernelBuilder::constant(const MicroOp& source_op) {
  MicroOp op = source_op;
  op.handler = nullptr;
  op.block = nullptr;
  op.code_offset = 0;
  const auto global = [&](llvm::Constant* value, const char* name) {
    auto* const variable = new llvm::GlobalVariable(module_, value->getType(), true,
                                                    llvm::GlobalValue::PrivateLinkage, value, name);
    variable->setAlignment(llvm::Align(64));
    return variable;
  };
  const auto bytes_of = [&](const void* from, size_t size) {
    return llvm::ConstantDataArray::get(context_, llvm::ArrayRef(static_cast<const uint8_t*>(from), size));
  };
  const std::span<const std::byte> details = plan_.details(source_op);
  if (details.empty()) return global(bytes_of(&op, sizeof op), "op");
  llvm::Constant* const beside = global(bytes_of(details.data(), details.size()), "details");
  constexpr size_t kAt = offsetof(MicroOp, imm), kBehind = kAt + sizeof op.imm;
  const auto* const from = reinterpret_cast<const std::byte*>(&op);
  return global(llvm::ConstantStruct::getAnon(
                    {bytes_of(from, kAt), beside, bytes_of(from + kBehind, sizeof op - kBehind)}, true),
                "op");
}

KernelBuilder::RowSource KernelBuilder::row_source(uint32_t index) {
  RowSource source;
  source.index = index;
  source.all_active = before_.all_active();
  source.is_narrowed = narrowed_ != nullptr;
  if (index < 256 && before_.rows[index] != nullptr) {
    source.shape = before_.rows[index];
    source.common = before_common_[index];
  }
  return source;
}

KernelBuilder::Input KernelBuilder::mask_input(uint32_t offset) {
  Input input;
  const auto unmade = pending_mask_parts_.find(offset);
  if (unmade != pending_mask_parts_.end()) {
    input.kind = Input::Kind::kPendingMask;
    input.parts = unmade->second;
    return input;
  }
  if (pending_masks_[offset / 4] || (wave_size_ == 64 && pending_masks_[offset / 4 + 1])) flush();
  input.kind = Input::Kind::kMask;
  input.value = mask_at(offset);
  return input;
}

KernelBuilder::Input KernelBuilder::lane_input(uint32_t node, const Step& step, unsigned i, int8_t& kind) {
  constexpr unsigned kVccSource = 3;
  const MicroOp& op = *step.micro;
  const bool is_constant = (op.aux & aux::kConstant << i) != 0;
  Input input;
  if (i >= step.row_sources) {
    kind = Wrapper::kMaskSource;
    if (i == kVccSource) return mask_input(op.dst2);
    if (!is_constant) return mask_input(op.src[i].offset);
    input.kind = Input::Kind::kMask;
    input.value = b_.getInt64(op.src[i].constant);
    return input;
  }
  const isa::Instruction& instruction = plan_.graph.nodes[node].instruction;
  const uint8_t dwords = instruction.second_op != isa::Op::none ? 1 : instruction.src[i].dwords;
  if ((op.aux & aux::kUniform << i) == 0) {
    const uint32_t first = row_index(op.src[i].offset);
    const unsigned count = std::max<unsigned>(dwords, 1);
    for (unsigned r = 0; r < count; ++r) input.rows.push_back(row_source(first + r));
    kind = static_cast<int8_t>(count);
    return input;
  }
  kind = Wrapper::kUniformSource;
  input.kind = Input::Kind::kUniform;
  if (is_constant) {
    input.value = b_.getInt64(op.src[i].constant);
    return input;
  }
  const uint32_t code = op.src[i].offset / 4;
  const bool pair = dwords > 1;
  if (code < 128 && (pending_masks_[code] || (pair && pending_masks_[code + 1]))) flush();
  input.value = pair ? scalar64(op.src[i].offset) : b_.CreateZExt(scalar(op.src[i].offset), i64());
  return input;
}

std::vector<Value*> KernelBuilder::arguments_of(const std::vector<Input>& inputs, uint32_t version,
                                                VectorIndex v) {
  std::vector<Value*> arguments;
  for (const Input& input : inputs) {
    switch (input.kind) {
      case Input::Kind::kRows:
        for (const RowSource& source : input.rows) arguments.push_back(get(source, v));
        break;
      case Input::Kind::kUniform:
        arguments.push_back(input.value);
        break;
      case Input::Kind::kMask:
        arguments.push_back(bits_of(input.value, v));
        break;
      case Input::Kind::kPendingMask: {
        const bool same = input.parts->exec_version == version && version != kNarrowed;
        arguments.push_back(mask_part(*input.parts, same, v));
        break;
      }
    }
  }
  return arguments;
}

bool KernelBuilder::overlaps_pending_mask(uint32_t code) const {
  const uint32_t dwords = wave_size_ / 32;
  return std::any_of(pending_mask_parts_.begin(), pending_mask_parts_.end(), [&](const auto& pending) {
    const uint32_t other = pending.first / 4;
    return other != code && other < code + dwords && code < other + dwords;
  });
}

void KernelBuilder::build_lanes(uint32_t node, const Step& step, uint32_t mxcsr) {
  const MicroOp& op = *step.micro;
  Value* const affine_mask = affine_comparison(node, step);
  std::vector<Input> inputs;
  Wrapper key = key_of(step);
  if (mxcsr != 0) {
    key.mxcsr = mxcsr;
    key.usual = mxcsr_of(plan_.modes[node]);
  }
  for (unsigned i = 0; i < step.sources; ++i) inputs.push_back(lane_input(node, step, i, key.sources[i]));
  const bool makes_rows = step.kind == KnownOperation::Kind::kComputes;
  const bool reads_old = makes_rows && step.reads_destination;
  key.reads_old = reads_old;
  llvm::Function* const wrapper = wrapper_of(key);
  if (wrapper == nullptr) return;
  const uint32_t dst = makes_rows ? row_index(op.dst) : 0;
  const unsigned result_rows = step.result_rows;
  const uint32_t mask_offset = makes_rows ? op.dst2 : op.dst;
  const bool makes_mask = !makes_rows || step.has_test;
  const uint32_t code = mask_offset / 4;
  if (makes_mask && code < 128 && overlaps_pending_mask(code)) flush();
  Value* const exec = active_lanes();
  std::vector<RowSource> old;
  if (makes_rows) {
    for (unsigned r = 0; r < result_rows; ++r) old.push_back(row_source(dst + r));
  }
  const uint32_t version = exec_version();
  std::shared_ptr<MaskParts> parts;
  if (makes_mask) {
    parts = std::make_shared<MaskParts>();
    parts->whole = affine_mask;
    parts->exec_version = version;
  }
  auto build = [=, this, inputs = std::move(inputs)](VectorIndex v) {
    std::vector<Value*> arguments = arguments_of(inputs, version, v);
    if (reads_old) arguments.push_back(get(old[0], v));
    Value* const results = b_.CreateCall(wrapper, arguments);
    unsigned field = 0;
    if (makes_rows) {
      for (unsigned r = 0; r < result_rows; ++r)
        put(node, old[r], v, b_.CreateExtractValue(results, field++), exec);
    }
    if (!makes_mask) return;
    Value* const any = parts->including_inactive[v.number] = b_.CreateExtractValue(results, field);
    parts->parts[v.number] = b_.CreateAnd(any, bits_of(exec, v));
  };
  run_.push_back({std::move(build), wrapper->getInstructionCount(), true, parts});
  if (!makes_mask) return;
  if (code < 128) {
    pending_mask_parts_[mask_offset] = parts;
    pending_masks_.set(code);
    if (wave_size_ == 64) pending_masks_.set(code + 1);
  }
  if (step.kind == KnownOperation::Kind::kCompareToExec) {
    pending_mask_parts_[kExec * 4] = parts;
    flush();
  }
}

Value* KernelBuilder::load_part(uint32_t index, VectorIndex v) {
  const auto load = [&] { return b_.CreateAlignedLoad(vector(), part(index, v), llvm::Align(lanes_ * 4)); };
  if (!is_in_loop_) return load();
  Current& current = current_[index];
  if (current.value == nullptr) current.value = load();
  return current.value;
}

void KernelBuilder::store_part(uint32_t index, VectorIndex v, Value* value) {
  if (is_in_loop_) {
    current_[index] = {value, true};
  } else {
    b_.CreateAlignedStore(value, part(index, v), llvm::Align(lanes_ * 4));
  }
}

void KernelBuilder::loop_over(std::vector<RunStep>::iterator begin, std::vector<RunStep>::iterator end) {
  // After the run's last loop, only live rows are stored; within the run, later steps may read any.
  const bool is_last = end == run_.end();
  const isa::Effects& effects = plan_.graph.nodes[node_].effects;
  const std::bitset<256> wanted = plan_.live.before[node_].vgprs | plan_.live.inactive_before[node_] |
                                  effects.reads.vgprs | effects.writes.vgprs | pending_rows_;
  BasicBlock* const before = b_.GetInsertBlock();
  loop([&](VectorIndex v) {
    std::vector<std::pair<MaskParts*, llvm::PHINode*>> masks;
    for (auto step = begin; step != end; ++step) {
      if (step->mask == nullptr) continue;
      masks.emplace_back(step->mask.get(), b_.CreatePHI(i64(), 2));
      masks.back().second->addIncoming(b_.getInt64(0), before);
    }
    is_in_loop_ = true;
    for (auto step = begin; step != end; ++step) step->build(v);
    is_in_loop_ = false;
    for (const auto& [index, current] : current_) {
      const bool is_wanted = !is_last || index >= plan_.layout.vgprs || wanted[index];
      if (current.is_new && is_wanted) store_part(index, v, current.value);
    }
    current_.clear();
    for (const auto& [mask, sum] : masks) {
      Value* const whole = b_.CreateOr(sum, b_.CreateShl(mask->parts[0], first_lane(v)));
      sum->addIncoming(whole, b_.GetInsertBlock());
      if (mask->whole == nullptr) mask->whole = whole;
      mask->has_only_whole = true;
    }
  });
}

bool KernelBuilder::is_worth_a_loop(std::vector<RunStep>::const_iterator begin,
                                    std::vector<RunStep>::const_iterator end) const {
  constexpr uint32_t kFewInstructions = 50;
  uint32_t instructions = 0;
  for (auto step = begin; step != end; ++step) instructions += step->instructions;
  return plan_.is_large && begin->is_same_for_all_vectors && instructions > kFewInstructions;
}

Value* KernelBuilder::whole_of(const MaskParts& mask) {
  if (mask.whole != nullptr) return mask.whole;
  Value* whole = mask.parts[0];
  for (unsigned v = 1; v < vectors_; ++v)
    whole = b_.CreateOr(whole, b_.CreateShl(mask.parts[v], b_.getInt64(v * lanes_)));
  return whole;
}

void KernelBuilder::keep_whole_masks(std::vector<RunStep>::iterator begin,
                                     std::vector<RunStep>::iterator end) {
  for (auto step = begin; step != end; ++step) {
    if (step->mask == nullptr) continue;
    step->mask->whole = whole_of(*step->mask);
    step->mask->has_only_whole = true;
  }
}

void KernelBuilder::flush() {
  // The guard's values must be in the rows if it fails.
  if (plan_.is_large) check_guard();
  if (run_.empty()) return;
  for (auto begin = run_.begin(); begin != run_.end();) {
    const auto end = std::find_if(begin, run_.end(), [&](const RunStep& step) {
      return step.is_same_for_all_vectors != begin->is_same_for_all_vectors;
    });
    if (is_worth_a_loop(begin, end)) {
      loop_over(begin, end);
    } else {
      for (unsigned v = 0; v < vectors_; ++v) {
        for (auto step = begin; step != end; ++step) step->build(v);
      }
      // A following loop cannot use a mask's parts: its code is the same for each vector.
      if (plan_.is_large && end != run_.end()) keep_whole_masks(begin, end);
    }
    begin = end;
  }
  for (const auto& [offset, unmade] : pending_mask_parts_) set_mask(offset, whole_of(*unmade));
  run_.clear();
  pending_mask_parts_.clear();
  pending_masks_.reset();
}

bool KernelBuilder::is_one_instruction(const Step& step) {
  if ((step.micro->aux & aux::kPost) != 0) return false;
  switch (step.op) {
    case Op::v_add_f32:
    case Op::v_sub_f32:
    case Op::v_subrev_f32:
    case Op::v_mul_f32:
    case Op::v_fma_f32:
    case Op::v_fmac_f32:
    case Op::v_fmaak_f32:
    case Op::v_fmamk_f32:
    case Op::v_add_f64:
    case Op::v_mul_f64:
    case Op::v_fma_f64:
      return true;
    default:
      return false;
  }
}

void KernelBuilder::set_mode(uint32_t mode) {
  Value* const place = wave_field(offsetof(Wave, mode));
  Value* const others = b_.CreateAnd(b_.CreateLoad(i32(), place), b_.getInt32(~kModeOfCode));
  b_.CreateStore(b_.CreateOr(others, b_.getInt32(mode & kModeOfCode)), place);
  load_mxcsr(b_, mxcsr_of(mode));
}

// Like gpr_index_on() (exec/scalar_mask.cpp): handlers of indexed instructions read M0.
void KernelBuilder::set_index(const isa::Instruction& in) {
  const auto with = [&](Value* value, uint32_t without, Value* bits) {
    return b_.CreateOr(b_.CreateAnd(value, b_.getInt32(~without)), bits);
  };
  if (in.op != Op::s_set_gpr_idx_off) {
    constexpr uint32_t kIndex = 0xff, kIndexed = 0xf000;
    Value* m0 = with(scalar(kM0 * 4), kIndexed, b_.getInt32((in.simm16 & 0xfu) << 12));
    if (in.op == Op::s_set_gpr_idx_on) {
      m0 = with(m0, kIndex, b_.CreateAnd(scalar(in.src[0].code * 4u), b_.getInt32(kIndex)));
    }
    set_scalar(kM0 * 4, m0);
  }
  if (in.op != Op::s_set_gpr_idx_mode) enable_index(in.op == Op::s_set_gpr_idx_on);
}

void KernelBuilder::enable_index(bool enable) {
  Value* const place = wave_field(offsetof(Wave, mode));
  Value* const others = b_.CreateAnd(b_.CreateLoad(i32(), place), b_.getInt32(~kGprIndexEnable));
  b_.CreateStore(b_.CreateOr(others, b_.getInt32(enable ? kGprIndexEnable : 0)), place);
}

void KernelBuilder::load_mxcsr(llvm::IRBuilder<>& b, uint32_t mxcsr, llvm::ArrayRef<Value*> memory) {
  std::vector<Value*> arguments{new llvm::GlobalVariable(
      module_, i32(), true, llvm::GlobalValue::PrivateLinkage, b.getInt32(mxcsr), "mxcsr")};
  arguments.insert(arguments.end(), memory.begin(), memory.end());
  std::string constraints = "r";
  for (size_t i = 1; i < arguments.size(); ++i) constraints += ",r";
  const std::vector<llvm::Type*> types(arguments.size(), pointer());
  auto* const type = llvm::FunctionType::get(b.getVoidTy(), types, false);
  b.CreateCall(llvm::InlineAsm::get(type, "ldmxcsr ($0)", constraints + ",~{memory}", true), arguments);
}

KernelBuilder::Wrapper KernelBuilder::key_of(const Step& step) const {
  Wrapper key;
  key.op = step.op;
  key.named = step.named;
  key.clamped = step.clamped;
  key.imm = step.micro->imm;
  key.aux = step.micro->aux & ~(7 * aux::kConstant);
  key.kind = step.kind;
  key.has_test = step.has_test;
  key.is_float = step.is_float && (plan_.changes_mode || !is_one_instruction(step));
  key.result_rows = step.result_rows;
  return key;
}

llvm::Function* KernelBuilder::wrapper_of(const Wrapper& key) {
  const auto found = wrappers_.find(key);
  if (found != wrappers_.end()) return found->second;
  llvm::Function* const operation = key.named != NamedOperation::kNone
                                        ? operations_.named(key.named)
                                        : operations_.lanes(key.op, key.clamped);
  if (operation == nullptr) {
    fail("missing bitcode of " + std::string(isa::name(key.op)));
    return nullptr;
  }
  constexpr uint32_t kSlot = 1024, kResult = 4 * kSlot, kTest = 5 * kSlot, kFile = 6 * kSlot;
  const uint32_t row_bytes = plan_.layout.row_bytes();
  std::vector<llvm::Type*> parameters;
  for (const int8_t source : key.sources) {
    if (source > 0) parameters.insert(parameters.end(), static_cast<size_t>(source), vector());
    if (source < 0) parameters.push_back(i64());
  }
  if (key.reads_old) parameters.push_back(vector());
  const bool makes_rows = key.kind == KnownOperation::Kind::kComputes;
  std::vector<llvm::Type*> results;
  if (makes_rows) results.insert(results.end(), key.result_rows, vector());
  if (!makes_rows || key.has_test) results.push_back(i64());
  auto* const type = llvm::FunctionType::get(llvm::StructType::get(context_, results), parameters, false);
  llvm::Function* const wrapper =
      llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, "on_lanes", module_);
  copy_attributes(*wrapper);
  wrapper->addFnAttr(llvm::Attribute::NoUnwind);
  wrapper->addFnAttr(key.mxcsr == 0 ? llvm::Attribute::AlwaysInline : llvm::Attribute::NoInline);

  llvm::IRBuilder<> b(BasicBlock::Create(context_, "", wrapper));
  llvm::AllocaInst* const file = b.CreateAlloca(llvm::ArrayType::get(i8(), kFile));
  file->setAlignment(llvm::Align(64));
  const auto place = [&](uint32_t offset) { return b.CreateConstInBoundsGEP1_64(i8(), file, offset); };
  MicroOp op;
  op.aux = key.aux;
  op.imm = key.imm;
  op.dst = kResult;
  op.dst2 = kTest;
  // Hides operands from LLVM, which folds constants without MODE and does not know that results depend on
  // MXCSR. If the kernel changes MODE, the assembly has side effects, so that nothing moves across the
  // change.
  const auto hidden = [&](Value* value) -> Value* {
    if (!key.is_float) return value;
    auto* const identity = llvm::FunctionType::get(value->getType(), {value->getType()}, false);
    const char* const constraints = value->getType()->isVectorTy() ? "=v,0" : "=r,0";
    return b.CreateCall(llvm::InlineAsm::get(identity, "", constraints, plan_.changes_mode), {value});
  };
  const auto ordered = [&](Value* value) { return plan_.changes_mode ? hidden(value) : value; };
  unsigned argument = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const uint32_t slot = i * kSlot;
    if (i < 3) op.src[i].offset = slot;
    if (key.sources[i] > 0) {
      for (int8_t r = 0; r < key.sources[i]; ++r) {
        b.CreateAlignedStore(hidden(wrapper->getArg(argument++)),
                             place(slot + static_cast<uint32_t>(r) * row_bytes), llvm::Align(lanes_ * 4));
      }
    } else if (key.sources[i] < 0) {
      Value* const argument_value = wrapper->getArg(argument++);
      if (key.sources[i] == Wrapper::kUniformSource) {
        b.CreateAlignedStore(hidden(argument_value), place(slot), llvm::Align(8));
      } else {
        b.CreateAlignedStore(argument_value, place(i == 3 ? kTest : slot), llvm::Align(8));
      }
    }
  }
  if (!makes_rows) op.dst = kTest;
  if (key.reads_old)
    b.CreateAlignedStore(wrapper->getArg(argument++), place(kResult), llvm::Align(lanes_ * 4));
  if (key.mxcsr != 0) load_mxcsr(b, key.mxcsr, file);
  llvm::CallInst* const call =
      b.CreateCall(operation, {constant(op), llvm::ConstantPointerNull::get(pointer()), file,
                               b.getInt64((uint64_t{1} << lanes_) - 1)});
  if (key.mxcsr != 0) load_mxcsr(b, key.usual, file);
  Value* result = llvm::UndefValue::get(type->getReturnType());
  unsigned field = 0;
  if (makes_rows) {
    for (uint32_t r = 0; r < key.result_rows; ++r) {
      Value* const row =
          b.CreateAlignedLoad(vector(), place(kResult + r * row_bytes), llvm::Align(lanes_ * 4));
      result = b.CreateInsertValue(result, ordered(row), field++);
    }
  }
  if (!makes_rows || key.has_test) {
    Value* const bits = wave_size_ == 64
                            ? b.CreateAlignedLoad(i64(), place(kTest), llvm::Align(8))
                            : b.CreateZExt(b.CreateAlignedLoad(i32(), place(kTest), llvm::Align(8)), i64());
    result = b.CreateInsertValue(result, ordered(bits), field++);
  }
  b.CreateRet(result);
  llvm::InlineFunctionInfo info;
  llvm::InlineFunction(*call, info);
  passes_.simplify(*wrapper);
  if (wrapper->getInstructionCount() > kMostInlined) {
    wrapper->removeFnAttr(llvm::Attribute::AlwaysInline);
    wrapper->addFnAttr(llvm::Attribute::NoInline);
  }
  wrappers_[key] = wrapper;
  return wrapper;
}

}  // namespace rigel::vgpu::exec::compiler
