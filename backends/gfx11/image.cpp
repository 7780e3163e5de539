#include "backends/gfx11/image.hpp"

#include "backends/common/rdna_image.hpp"

namespace rigel::gfx11 {
namespace {

using gfx::CombinedFormat;
using gfx::DataFormat;
using gfx::NumberFormat;

constexpr CombinedFormat kFormats[] = {
    // clang-format off
    {DataFormat::k8, NumberFormat::kUnorm, 1},            {DataFormat::k8, NumberFormat::kSnorm, 2},
    {DataFormat::k8, NumberFormat::kUint, 5},             {DataFormat::k8, NumberFormat::kSint, 6},
    {DataFormat::k16, NumberFormat::kUnorm, 7},           {DataFormat::k16, NumberFormat::kSnorm, 8},
    {DataFormat::k16, NumberFormat::kUint, 11},           {DataFormat::k16, NumberFormat::kSint, 12},
    {DataFormat::k16, NumberFormat::kFloat, 13},          {DataFormat::k8_8, NumberFormat::kUnorm, 14},
    {DataFormat::k8_8, NumberFormat::kSnorm, 15},         {DataFormat::k8_8, NumberFormat::kUint, 18},
    {DataFormat::k8_8, NumberFormat::kSint, 19},          {DataFormat::k32, NumberFormat::kUint, 20},
    {DataFormat::k32, NumberFormat::kSint, 21},           {DataFormat::k32, NumberFormat::kFloat, 22},
    {DataFormat::k16_16, NumberFormat::kUnorm, 23},       {DataFormat::k16_16, NumberFormat::kSnorm, 24},
    {DataFormat::k16_16, NumberFormat::kUint, 27},        {DataFormat::k16_16, NumberFormat::kSint, 28},
    {DataFormat::k16_16, NumberFormat::kFloat, 29},       {DataFormat::k2_10_10_10, NumberFormat::kUnorm, 36},
    {DataFormat::k8_8_8_8, NumberFormat::kUnorm, 42},     {DataFormat::k8_8_8_8, NumberFormat::kSnorm, 43},
    {DataFormat::k8_8_8_8, NumberFormat::kUint, 46},      {DataFormat::k8_8_8_8, NumberFormat::kSint, 47},
    {DataFormat::k32_32, NumberFormat::kUint, 48},        {DataFormat::k32_32, NumberFormat::kSint, 49},
    {DataFormat::k32_32, NumberFormat::kFloat, 50},       {DataFormat::k16_16_16_16, NumberFormat::kUnorm, 51},
    {DataFormat::k16_16_16_16, NumberFormat::kSnorm, 52}, {DataFormat::k16_16_16_16, NumberFormat::kUint, 55},
    {DataFormat::k16_16_16_16, NumberFormat::kSint, 56},  {DataFormat::k16_16_16_16, NumberFormat::kFloat, 57},
    {DataFormat::k32_32_32_32, NumberFormat::kUint, 61},  {DataFormat::k32_32_32_32, NumberFormat::kSint, 62},
    {DataFormat::k32_32_32_32, NumberFormat::kFloat, 63}, {DataFormat::k8_8_8_8, NumberFormat::kSrgb, 66},
    {DataFormat::k5_6_5, NumberFormat::kUnorm, 68},      {DataFormat::k1_5_5_5, NumberFormat::kUnorm, 69},
    // clang-format on
};

constexpr gfx::RdnaImages kRdna = {.formats = kFormats, .buffer_format_bits = 6, .has_resource_level = false};

}  // namespace

constinit const gfx::ImageGeneration kImages = gfx::RdnaImageFunctions<kRdna>::make();

}  // namespace rigel::gfx11
