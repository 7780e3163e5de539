#include "plugins/vgpu/compiler/build.hpp"

#include "plugins/vgpu/compiler/kernel_builder.hpp"
#include "plugins/vgpu/compiler/passes.hpp"

namespace rigel::vgpu::exec::compiler {
namespace {

// LLVM (seen with 15 and 19) inserts VZEROUPPER at a function's end, which clears upper halves that it has
// just restored.
void preserve_all_registers(llvm::Function& function) {
  const llvm::StringRef features = function.getFnAttribute("target-features").getValueAsString();
  function.addFnAttr("target-features", (features + ",-vzeroupper").str());
}

}  // namespace

std::string build(const Plan& plan, llvm::Module& module, llvm::TargetMachine* machine) {
  Passes passes(machine);
  KernelBuilder builder(plan, module, passes);
  if (!builder.build()) return builder.failure();
  for (llvm::Function& function : module) {
    if (function.getCallingConv() == llvm::CallingConv::PreserveAll) preserve_all_registers(function);
  }
  // Only the kernel and what it uses is kept.
  for (const char* const kept : {"llvm.used", "llvm.compiler.used"}) {
    if (llvm::GlobalVariable* const list = module.getGlobalVariable(kept, true)) list->eraseFromParent();
  }
  for (llvm::GlobalValue& value : module.global_values()) {
    if (&value == builder.function() || value.isDeclaration() || value.hasAppendingLinkage()) continue;
    value.setLinkage(llvm::GlobalValue::InternalLinkage);
    if (auto* const object = llvm::dyn_cast<llvm::GlobalObject>(&value)) object->setComdat(nullptr);
  }
  passes.finish(module);
  return {};
}

}  // namespace rigel::vgpu::exec::compiler
