#include "plugins/vgpu/cp/dispatch.hpp"

namespace rigel::vgpu {

void NoShaderCores::start(const Dispatch&, Done done) {
  DispatchResult result;
  result.kind = DispatchResult::Kind::kError;
  result.error = QueueError::kIllegalInstruction;
  result.reason = "this GPU has no shader cores: it moves data and orders work, but runs no kernels";
  done(std::move(result));
}

}  // namespace rigel::vgpu
