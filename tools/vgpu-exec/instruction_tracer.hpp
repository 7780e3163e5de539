// Logs each instruction that a wave executes, with the registers that it changed.
#pragma once

#include <cstdio>
#include <map>
#include <vector>

#include "plugins/vgpu/exec/core.hpp"
#include "plugins/vgpu/exec/wave.hpp"
#include "plugins/vgpu/isa/target.hpp"
#include "plugins/vgpu/runner/memory_bus.hpp"

namespace rigel::vgpu::runner {

/// Not thread-safe: the scheduler has one worker.
class InstructionTracer final : public exec::Tracer {
 public:
  InstructionTracer(std::FILE* out, isa::Target target, MemoryBus& memory)
      : out_(out), target_(target), memory_(memory) {}

  void before(exec::Wave& wave, uint64_t pc) override;
  /// Logs the last instruction of every wave.
  void finish();

 private:
  struct Snapshot {
    uint64_t pc = 0;
    uint32_t scc = 0;
    uint32_t group[3] = {};
    uint32_t id = 0;
    std::vector<uint32_t> registers;
    exec::RegisterLayout layout;
  };
  void write(const Snapshot& snapshot, const exec::Wave* current);

  std::FILE* const out_;
  const isa::Target target_;
  MemoryBus& memory_;
  std::map<const exec::Wave*, Snapshot> waves_;
};

}  // namespace rigel::vgpu::runner
