// Lowering of single instructions without a block, for tests and benchmarks of handlers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "plugins/vgpu/exec/lowering.hpp"
#include "plugins/vgpu/exec/micro_op.hpp"
#include "plugins/vgpu/exec/wave.hpp"

namespace rigel::vgpu::exec {

class CollectingEmitter final : public Emitter {
 public:
  MicroOp& emit(Handler handler) override {
    ops.emplace_back();
    ops.back().handler = handler;
    return ops.back();
  }
  void* allocate(uint64_t bytes, uint64_t alignment) override {
    memory_.emplace_back(new std::byte[bytes + alignment]);
    const auto at = reinterpret_cast<uintptr_t>(memory_.back().get());
    return reinterpret_cast<void*>((at + alignment - 1) / alignment * alignment);
  }
  Link* link(uint64_t) override { return nullptr; }

  std::vector<MicroOp> ops;

 private:
  std::vector<std::unique_ptr<std::byte[]>> memory_;
};

/// Handler: ends the wave after the last micro-operation.
inline void stop_wave(const MicroOp* op, Wave* wave, std::byte*, uint64_t) {
  wave->stop = Stop::kEnd;
  RIGEL_LEAVE(op, wave);
}

}  // namespace rigel::vgpu::exec
