#include "plugins/vgpu/isa/waits.hpp"

#include "plugins/vgpu/isa/wait_counts.hpp"

namespace rigel::vgpu::isa {
namespace {

/// The immediate of s_waitcnt_vmcnt and similar instructions that does not wait.
constexpr unsigned kMostOfOne = 63;

Waits wait_for(WaitCounter counter, unsigned limit) {
  Waits waits;
  if (limit < kMostOfOne) waits.add(counter, limit);
  return waits;
}

}  // namespace

Waits waits_of(const Instruction& instruction, const Target& target) {
  switch (instruction.op) {
    case Op::s_waitcnt: {
      const WaitCounts counts = wait_counts(target.family(), instruction.simm16);
      Waits waits;
      if (counts.vm < counts.most_vm) waits.add(WaitCounter::kVector, counts.vm);
      if (counts.exp < counts.most_exp) waits.add(WaitCounter::kExport, counts.exp);
      if (counts.lgkm < counts.most_lgkm) waits.add(WaitCounter::kShared, counts.lgkm);
      return waits;
    }
    case Op::s_waitcnt_vmcnt:
      return wait_for(WaitCounter::kVector, instruction.simm16);
    case Op::s_waitcnt_expcnt:
      return wait_for(WaitCounter::kExport, instruction.simm16);
    case Op::s_waitcnt_lgkmcnt:
      return wait_for(WaitCounter::kShared, instruction.simm16);
    case Op::s_waitcnt_vscnt:
      return wait_for(WaitCounter::kVectorStore, instruction.simm16);
    default:
      return {};
  }
}

}  // namespace rigel::vgpu::isa
