#include "plugins/vgpu/cp/dispatch.hpp"

namespace rigel::vgpu {

void NoShaderCores::start(const Dispatch&, Done done) {
  DispatchResult result;
  result.kind = DispatchResult::Kind::kError;
  result.error = QueueError::kIllegalInstruction;
  result.reason = "kernel dispatches are not supported: this GPU has no shader cores";
  done(std::move(result));
}

}  // namespace rigel::vgpu
