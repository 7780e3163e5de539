// Runs a whole dispatch on the model: one work-group after the other, waves alternately from barrier to
// barrier, lane by lane. Shares only the decoder and the dispatch with the executor. Test code, slow.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "plugins/vgpu/cp/dispatch.hpp"
#include "plugins/vgpu/isa/target.hpp"
#include "plugins/vgpu/reference/world.hpp"

namespace rigel::vgpu::exec::reference {

struct DispatchRun {
  std::string failure;  ///< Why it did not complete: an instruction that is not modelled, a fault.
  /// A result is one of several that the manuals allow, such as a NaN, and later results may depend on it.
  bool is_open = false;
  /// Executions of each instruction: by address, the waves and the sum of their active lanes.
  struct Count {
    uint64_t waves = 0;
    uint64_t lanes = 0;

    friend bool operator==(const Count&, const Count&) = default;
  };
  std::map<uint64_t, Count> counts;
};

/// Runs on the regions of `world`, which include the code; adds scratch as the last region. Registers, LDS
/// and scratch start with zeros.
DispatchRun run_dispatch(const isa::Target& target, const Dispatch& dispatch, World& world);

}  // namespace rigel::vgpu::exec::reference
