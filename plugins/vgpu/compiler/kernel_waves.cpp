// Operations across the lanes of a wave: the interpreter's handlers, inlined, on rows that are values.
#include "plugins/vgpu/compiler/kernel_builder.hpp"

#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <cstddef>

#include "plugins/vgpu/exec/vector/operand_fields.hpp"

namespace rigel::vgpu::exec::compiler {
namespace {

// The handler's number of sources, and whether it writes a row or a scalar.
struct Frame {
  unsigned sources;
  bool makes_row = true;
  bool has_kinds = true;  // `aux` marks sources that are not rows.
};

Frame frame_of(NamedOperation operation) {
  switch (operation) {
    case NamedOperation::kReadFirstLane:
      return {1, false};
    case NamedOperation::kReadLane:
      return {2, false};
    case NamedOperation::kWriteLane:
    case NamedOperation::kCountBelow:
      return {2};
    case NamedOperation::kPermuteRows:
      return {3};
    case NamedOperation::kFetchDpp:
      return {1, true, false};
    default:
      return {2, true, false};
  }
}

bool is_row(const Frame& frame, const MicroOp& op, unsigned i) {
  return !frame.has_kinds || (op.aux & aux::kUniform << i) == 0;
}

}  // namespace

void KernelBuilder::build_wave(const Step& step) {
  if (step.named == NamedOperation::kRestoreExec) {
    narrowed_ = nullptr;
    return;
  }
  flush();
  const MicroOp& op = *step.micro;
  const Frame frame = frame_of(step.named);
  const uint32_t source_row = is_row(frame, op, 0) ? row_index(op.src[0].offset) : 256;
  if (step.named == NamedOperation::kReadFirstLane && source_row < 256 &&
      before_.rows[source_row] != nullptr && before_.rows[source_row]->is_uniform(wave_size_)) {
    const auto offset = static_cast<int32_t>(before_.rows[source_row]->offsets[0]);
    return set_scalar(op.dst, plus(before_common_[source_row].base, offset));
  }
  std::vector<Value*> arguments{active_lanes()};
  for (unsigned i = 0; i < frame.sources; ++i) {
    if (is_row(frame, op, i)) {
      for (unsigned v = 0; v < vectors_; ++v) arguments.push_back(value_of(row_index(op.src[i].offset), v));
    } else if ((op.aux & aux::kConstant << i) != 0) {
      arguments.push_back(b_.getInt64(op.src[i].constant));
    } else {
      arguments.push_back(wide(scalar(op.src[i].offset)));
    }
  }
  if (frame.makes_row) {
    // The old value of a row that the instruction does not name is dead.
    const uint32_t index = row_index(op.dst);
    for (unsigned v = 0; v < vectors_; ++v) {
      arguments.push_back(index < plan_.layout.vgprs ? value_of(index, v)
                                                     : llvm::Constant::getNullValue(vector()));
    }
  }
  llvm::Function* const wrapper = wave_wrapper(op, step.named);
  if (wrapper == nullptr) return;
  Value* const results = b_.CreateCall(wrapper, arguments);
  if (!frame.makes_row) return set_scalar(op.dst, b_.CreateExtractValue(results, 0));
  for (unsigned v = 0; v < vectors_; ++v) store_part(row_index(op.dst), v, b_.CreateExtractValue(results, v));
  if (step.named == NamedOperation::kFetchDpp) narrowed_ = b_.CreateExtractValue(results, vectors_);
}

// (EXEC, sources, old row) -> (row or scalar; EXEC after DPP)
llvm::Function* KernelBuilder::wave_wrapper(const MicroOp& source_op, NamedOperation operation) {
  llvm::Function* const handler = operations_.named(operation);
  if (handler == nullptr) {
    fail("missing bitcode of a wave operation");
    return nullptr;
  }
  const Frame frame = frame_of(operation);
  const uint32_t row_bytes = plan_.layout.row_bytes();
  std::vector<llvm::Type*> parameters{i64()}, results;
  for (unsigned i = 0; i < frame.sources; ++i) {
    if (is_row(frame, source_op, i)) {
      parameters.insert(parameters.end(), vectors_, vector());
    } else {
      parameters.push_back(i64());
    }
  }
  if (frame.makes_row) {
    parameters.insert(parameters.end(), vectors_, vector());
    results.insert(results.end(), vectors_, vector());
    results.push_back(i64());
  } else {
    results.push_back(i32());
  }
  auto* const type = llvm::FunctionType::get(llvm::StructType::get(context_, results), parameters, false);
  llvm::Function* const wrapper =
      llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, "on_wave", module_);
  copy_attributes(*wrapper);
  wrapper->addFnAttr(llvm::Attribute::NoUnwind);
  wrapper->addFnAttr(llvm::Attribute::AlwaysInline);

  llvm::IRBuilder<> b(BasicBlock::Create(context_, "", wrapper));
  constexpr uint32_t kFileRows = 4;
  llvm::AllocaInst* const file = b.CreateAlloca(llvm::ArrayType::get(i8(), kFileRows * row_bytes));
  file->setAlignment(llvm::Align(64));
  llvm::AllocaInst* const wave = b.CreateAlloca(llvm::ArrayType::get(i8(), sizeof(Wave)));
  wave->setAlignment(llvm::Align(64));
  const auto place = [&](uint32_t offset) { return b.CreateConstInBoundsGEP1_64(i8(), file, offset); };
  const auto part_place = [&](uint32_t row, unsigned v) { return place(row * row_bytes + v * lanes_ * 4); };
  MicroOp op = source_op;
  op.dst = 3 * row_bytes;
  unsigned argument = 1;
  const auto store_row = [&](uint32_t row) {
    for (unsigned v = 0; v < vectors_; ++v)
      b.CreateAlignedStore(wrapper->getArg(argument++), part_place(row, v), llvm::Align(lanes_ * 4));
  };
  for (unsigned i = 0; i < frame.sources; ++i) {
    op.src[i].constant = 0;
    op.src[i].offset = i * row_bytes;
    if (is_row(frame, source_op, i)) {
      store_row(i);
    } else {
      b.CreateAlignedStore(wrapper->getArg(argument++), place(i * row_bytes), llvm::Align(8));
    }
  }
  if (frame.has_kinds) op.aux &= ~(7 * aux::kConstant);
  if (frame.makes_row) store_row(3);
  llvm::CallInst* const call = b.CreateCall(handler, {constant(op), wave, file, wrapper->getArg(0)});
  Value* result = llvm::UndefValue::get(type->getReturnType());
  if (frame.makes_row) {
    for (unsigned v = 0; v < vectors_; ++v) {
      result = b.CreateInsertValue(
          result, b.CreateAlignedLoad(vector(), part_place(3, v), llvm::Align(lanes_ * 4)), v);
    }
    if (operation == NamedOperation::kFetchDpp) {
      Value* const exec = b.CreateConstInBoundsGEP1_64(i8(), wave, offsetof(Wave, travelling_exec));
      result = b.CreateInsertValue(result, b.CreateLoad(i64(), exec), vectors_);
    }
  } else {
    result = b.CreateInsertValue(result, b.CreateAlignedLoad(i32(), place(3 * row_bytes), llvm::Align(4)), 0);
  }
  b.CreateRet(result);
  llvm::InlineFunctionInfo info;
  llvm::InlineFunction(*call, info);
  passes_.simplify(*wrapper);
  return wrapper;
}

}  // namespace rigel::vgpu::exec::compiler
