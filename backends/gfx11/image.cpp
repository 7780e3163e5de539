#include "backends/gfx11/image.hpp"

#include "backends/common/rdna_image.hpp"

namespace rigel::gfx11 {
namespace {

constexpr gfx::RdnaImages kRdna = {
    .formats = gfx::kCompactFormats, .buffer_format_bits = 6, .has_resource_level = false};

}  // namespace

constinit const gfx::ImageGeneration kImages = gfx::RdnaImageFunctions<kRdna>::make();

}  // namespace rigel::gfx11
