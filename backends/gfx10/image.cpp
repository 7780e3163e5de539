#include "backends/gfx10/image.hpp"

#include "backends/common/rdna_image.hpp"

namespace rigel::gfx10 {
namespace {

using gfx::CombinedFormat;
using gfx::DataFormat;
using gfx::NumberFormat;

constexpr CombinedFormat kFormats[] = {
    // clang-format off
    {DataFormat::k2_10_10_10, NumberFormat::kUnorm, 50},
    {DataFormat::k8_8_8_8, NumberFormat::kUnorm, 56},     {DataFormat::k8_8_8_8, NumberFormat::kSnorm, 57},
    {DataFormat::k8_8_8_8, NumberFormat::kUint, 60},      {DataFormat::k8_8_8_8, NumberFormat::kSint, 61},
    {DataFormat::k32_32, NumberFormat::kUint, 62},        {DataFormat::k32_32, NumberFormat::kSint, 63},
    {DataFormat::k32_32, NumberFormat::kFloat, 64},       {DataFormat::k16_16_16_16, NumberFormat::kUnorm, 65},
    {DataFormat::k16_16_16_16, NumberFormat::kSnorm, 66}, {DataFormat::k16_16_16_16, NumberFormat::kUint, 69},
    {DataFormat::k16_16_16_16, NumberFormat::kSint, 70},  {DataFormat::k16_16_16_16, NumberFormat::kFloat, 71},
    {DataFormat::k32_32_32_32, NumberFormat::kUint, 75},  {DataFormat::k32_32_32_32, NumberFormat::kSint, 76},
    {DataFormat::k32_32_32_32, NumberFormat::kFloat, 77}, {DataFormat::k8_8_8_8, NumberFormat::kSrgb, 130},
    {DataFormat::k5_6_5, NumberFormat::kUnorm, 133},      {DataFormat::k1_5_5_5, NumberFormat::kUnorm, 134},
    // clang-format on
};

constexpr gfx::RdnaImages kRdna = {.formats = kFormats, .buffer_format_bits = 7, .has_resource_level = true};

}  // namespace

constinit const gfx::ImageGeneration kImages = gfx::RdnaImageFunctions<kRdna>::make();

}  // namespace rigel::gfx10
