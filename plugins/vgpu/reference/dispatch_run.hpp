// A whole dispatch on the model: work-group after work-group, wave after wave from barrier to barrier, an instruction
// and a lane at a time. Slow, and shares nothing with what it judges but the decoder and the dispatch. Test code.
#pragma once

#include <string>

#include "plugins/vgpu/cp/dispatch.hpp"
#include "plugins/vgpu/isa/target.hpp"
#include "plugins/vgpu/reference/world.hpp"

namespace rigel::vgpu::exec::reference {

struct DispatchRun {
  std::string failure;  ///< Why it did not come to the end: an instruction that is not modelled, a fault.
  /// Some result is one of several that the manuals allow (which NaN, above all), and what follows may depend on it.
  bool is_open = false;
};

/// Runs it on the regions of `world`, in which the code is as well; the scratch that it needs is added as the last. What
/// nobody has written is zero: registers, LDS, scratch.
DispatchRun run_dispatch(const isa::Target& target, const Dispatch& dispatch, World& world);

}  // namespace rigel::vgpu::exec::reference
