#include "plugins/vgpu/compiler/llvm_compiler.hpp"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/ExecutionEngine/Orc/CompileUtils.h>
#include <llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>

#include <cstdlib>
#include <iterator>

#include "plugins/vgpu/compiler/build.hpp"

extern "C" const unsigned char rigel_kernel_code_1[], rigel_kernel_code_1_end[];
extern "C" const unsigned char rigel_kernel_code_2[], rigel_kernel_code_2_end[];

namespace rigel::vgpu::exec::compiler {
namespace {

FlatCode failed(llvm::Error error) {
  return {{}, 0, llvm::toString(std::move(error))};
}

llvm::StringRef bitcode_for(SimdLevel level) {
  const bool widest = level == SimdLevel::kAvx512;
  const unsigned char* const begin = widest ? rigel_kernel_code_2 : rigel_kernel_code_1;
  const unsigned char* const end = widest ? rigel_kernel_code_2_end : rigel_kernel_code_1_end;
  return {reinterpret_cast<const char*>(begin), static_cast<size_t>(end - begin)};
}

// Disables slow parts of LLVM without measurable benefit. The scheduler compares each memory access with up
// to a thousand others, which takes most of the time where all registers are stored. With AVX-512, a pass
// searches for values that could be masks; it takes two thirds of the time for a kernel of 3,000
// instructions.
void disable_slow_passes() {
  static const char* const arguments[] = {"", "-dag-maps-huge-region=64", "-dag-maps-reduction-size=32",
                                          "-disable-x86-domain-reassignment"};
  [[maybe_unused]] static const bool is_done =
      llvm::cl::ParseCommandLineOptions(std::size(arguments), arguments);
}

}  // namespace

FlatCode generate_code(const Plan& plan) {
  disable_slow_passes();
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::InitializeNativeTargetAsmParser();
  llvm::LLVMContext context;
  auto module =
      llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(bitcode_for(plan.level), "operations"), context);
  if (!module) return failed(module.takeError());
  auto host = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!host) return failed(host.takeError());
  host->setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  host->setRelocationModel(llvm::Reloc::PIC_);
  host->setCodeModel(llvm::CodeModel::Small);
  auto machine = host->createTargetMachine();
  if (!machine) return failed(machine.takeError());
  (*module)->setDataLayout((*machine)->createDataLayout());
  if (std::string why = build(plan, **module, machine->get()); !why.empty()) return {{}, 0, std::move(why)};
  if (const char* const file = std::getenv("VGPU_COMPILER_DUMP")) {
    std::error_code failed;
    llvm::raw_fd_ostream out(file, failed);
    if (!failed) (*module)->print(out, nullptr);
  }
  auto object = llvm::orc::SimpleCompiler(**machine)(**module);
  if (!object) return failed(object.takeError());
  return flatten((*object)->getMemBufferRef());
}

}  // namespace rigel::vgpu::exec::compiler
