#include "plugins/vgpu/isa/waits.hpp"

#include "plugins/vgpu/isa/wait_counts.hpp"

namespace rigel::vgpu::isa {
namespace {

/// The immediate of s_waitcnt_vmcnt and similar instructions that does not wait.
constexpr unsigned kMostOfOne = 63;
/// The maximum values of smaller counters.
constexpr unsigned kMostScalar = 31, kMostExport = 7, kMostBvh = 7;

Waits wait_for(WaitCounter counter, unsigned limit, unsigned most = kMostOfOne) {
  Waits waits;
  if (limit < most) waits.add(counter, limit);
  return waits;
}

/// s_wait_loadcnt_dscnt and s_wait_storecnt_dscnt: DS_CNT is in the low byte.
Waits wait_for_two(WaitCounter counter, uint16_t limits) {
  Waits waits = wait_for(counter, limits >> 8 & kMostOfOne);
  const unsigned shared = limits & kMostOfOne;
  if (shared < kMostOfOne) waits.add(WaitCounter::kShared, shared);
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
    case Op::s_wait_storecnt:
      return wait_for(WaitCounter::kVectorStore, instruction.simm16);
    case Op::s_wait_loadcnt:
      return wait_for(WaitCounter::kVector, instruction.simm16);
    case Op::s_wait_dscnt:
      return wait_for(WaitCounter::kShared, instruction.simm16);
    case Op::s_wait_kmcnt:
      return wait_for(WaitCounter::kScalar, instruction.simm16, kMostScalar);
    case Op::s_wait_samplecnt:
      return wait_for(WaitCounter::kSample, instruction.simm16);
    case Op::s_wait_bvhcnt:
      return wait_for(WaitCounter::kBvh, instruction.simm16, kMostBvh);
    case Op::s_wait_expcnt:
      return wait_for(WaitCounter::kExport, instruction.simm16, kMostExport);
    case Op::s_wait_loadcnt_dscnt:
      return wait_for_two(WaitCounter::kVector, instruction.simm16);
    case Op::s_wait_storecnt_dscnt:
      return wait_for_two(WaitCounter::kVectorStore, instruction.simm16);
    case Op::s_wait_idle: {
      Waits waits;
      for (unsigned i = 0; i != kCounters; ++i) waits.add(static_cast<WaitCounter>(i), 0);
      return waits;
    }
    default:
      return {};
  }
}

}  // namespace rigel::vgpu::isa
