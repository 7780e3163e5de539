#include "plugins/vgpu/compiler/build.hpp"

#include "plugins/vgpu/compiler/kernel_builder.hpp"
#include "plugins/vgpu/compiler/passes.hpp"

namespace rigel::vgpu::exec::compiler {

std::string build(const Plan& plan, llvm::Module& module, llvm::TargetMachine* machine) {
  Passes passes(machine);
  KernelBuilder builder(plan, module, passes);
  if (!builder.build()) return builder.failure();
  // Only the kernel is wanted, and what it uses.
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
