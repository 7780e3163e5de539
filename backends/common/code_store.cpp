#include "backends/common/code_store.hpp"

#include "backends/common/copy_engines.hpp"

namespace rigel::gfx {

uint32_t code_fit(const Device& device, const hsabe_code_target_t& target) {
  std::string why;
  const Fit fit = fit_of(device.chip, device.facts, target, &why);
  if (fit == kFitNone) hsabe::fail(device.host, HSA_STATUS_ERROR_INVALID_ISA, why);
  return fit;
}

hsabe_status_t load_code(Device& device, const hsabe_segment_t&, void** image) {
  *image = nullptr;
  // Its addresses may have contained other code before.
  return device.copies().invalidate_code();
}

}  // namespace rigel::gfx
