// The module that is loaded when a kernel is worth compiling: LLVM, and the operations' bitcode.
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>

#include <cstdio>
#include <cstdlib>

#include "plugins/vgpu/compiler/build.hpp"
#include "plugins/vgpu/compiler/module.hpp"

extern "C" const unsigned char rigel_kernel_code_1[], rigel_kernel_code_1_end[];
extern "C" const unsigned char rigel_kernel_code_2[], rigel_kernel_code_2_end[];

namespace rigel::vgpu::exec::compiler {
namespace {

std::string text_of(llvm::Error error) {
  return llvm::toString(std::move(error));
}

llvm::StringRef bitcode_for(SimdLevel level) {
  const bool widest = level == SimdLevel::kAvx512;
  const unsigned char* const begin = widest ? rigel_kernel_code_2 : rigel_kernel_code_1;
  const unsigned char* const end = widest ? rigel_kernel_code_2_end : rigel_kernel_code_1_end;
  return {reinterpret_cast<const char*>(begin), static_cast<size_t>(end - begin)};
}

Compiled compile(const Plan& plan) {
  static const bool ready = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
    return true;
  }();
  (void)ready;
  Compiled result;
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module =
      llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(bitcode_for(plan.level), "operations"), *context);
  if (!module) {
    result.error = text_of(module.takeError());
    return result;
  }
  auto host = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!host) {
    result.error = text_of(host.takeError());
    return result;
  }
  host->setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  auto machine = host->createTargetMachine();
  if (!machine) {
    result.error = text_of(machine.takeError());
    return result;
  }
  (*module)->setDataLayout((*machine)->createDataLayout());
  result.error = build(plan, **module, machine->get());
  if (!result.error.empty()) return result;
  if (const char* const file = std::getenv("VGPU_COMPILER_DUMP")) {
    std::error_code failed;
    llvm::raw_fd_ostream out(file, failed);
    if (!failed) (*module)->print(out, nullptr);
  }
  auto jit = llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(*host)).create();
  if (!jit) {
    result.error = text_of(jit.takeError());
    return result;
  }
  if (auto failed =
          (*jit)->addIRModule(llvm::orc::ThreadSafeModule(std::move(*module), std::move(context)))) {
    result.error = text_of(std::move(failed));
    return result;
  }
  auto kernel = (*jit)->lookup("kernel");
  if (!kernel) {
    result.error = text_of(kernel.takeError());
    return result;
  }
  result.run = kernel->toPtr<Run>();
  if (std::getenv("VGPU_COMPILER_DUMP")) fprintf(stderr, "KERNEL AT %p\n", reinterpret_cast<void*>(result.run));
  result.memory = std::shared_ptr<llvm::orc::LLJIT>(std::move(*jit));
  return result;
}

}  // namespace
}  // namespace rigel::vgpu::exec::compiler

extern "C" [[gnu::visibility("default")]] rigel::vgpu::exec::compiler::Compiled rigel_vgpu_compile(
    const rigel::vgpu::exec::compiler::Plan& plan) {
  return rigel::vgpu::exec::compiler::compile(plan);
}
