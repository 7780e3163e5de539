#include "plugins/vgpu/exec/operation_fidelity.hpp"

#include <deque>
#include <memory>

#include "plugins/vgpu/exec/block.hpp"
#include "plugins/vgpu/exec/lowering.hpp"

namespace rigel::vgpu::exec {

namespace {

class Discard final : public Emitter {
 public:
  MicroOp& emit(Handler) override { return operations_.emplace_back(); }
  void* allocate(uint64_t bytes, uint64_t alignment) override {
    memory_.push_back(std::make_unique<std::byte[]>(bytes + alignment));
    const auto address = reinterpret_cast<uintptr_t>(memory_.back().get());
    return memory_.back().get() + (alignment - address % alignment) % alignment;
  }
  Link* link(uint64_t) override { return &links_.emplace_back(); }

 private:
  std::deque<MicroOp> operations_;
  std::deque<std::unique_ptr<std::byte[]>> memory_;
  std::deque<Link> links_;
};

}  // namespace

std::vector<isa::OperationFidelity> instruction_fidelity(std::span<const isa::Target> targets) {
  return isa::operation_fidelity(targets, [](const isa::Target& target, const isa::Instruction& instruction) {
    Discard discard;
    LoweringContext context;
    context.target = target;
    context.layout = {target.wave32 ? 32u : 64u, 256};
    context.level = best_simd_level();
    return lower(instruction, context, discard);
  });
}

}  // namespace rigel::vgpu::exec
