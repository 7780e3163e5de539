// Compares the rows of image operations with LLVM's tables: which addresses they have.
#include "plugins/vgpu/isa/image_shape.hpp"

#include <gtest/gtest.h>

#include <string_view>

#include "plugins/vgpu/isa/instruction_tables.hpp"
#include "plugins/vgpu/isa/op_class.hpp"

namespace rigel::vgpu::isa {
namespace {

TEST(ImageShape, AddressesMatchLlvm) {
  unsigned count = 0;
  for (size_t i = 1; i != kOpCount; ++i) {
    const auto op = static_cast<Op>(i);
    const ImageShape* const shape = image_shape(op);
    if (shape == nullptr) continue;
    ++count;
    const tables::Image* const listed = tables::image(op);
    ASSERT_NE(listed, nullptr) << name(op);
    EXPECT_EQ(op_class(op), OpClass::kImage) << name(op);
    EXPECT_EQ(shape->further(), listed->further) << name(op);
    EXPECT_EQ(shape->has_last(), listed->level) << name(op);
    EXPECT_EQ(shape->lod == LodSource::kGradients, listed->gradients) << name(op);
    EXPECT_EQ(shape->half_gradients, listed->half_gradients) << name(op);
    EXPECT_EQ(shape->verb != ImageVerb::kSizes, listed->coordinates) << name(op);
  }
  EXPECT_EQ(count, 25u + 56u + 24u);
}

TEST(ImageShape, CoversAllSupportedOperations) {
  for (size_t i = 1; i != kOpCount; ++i) {
    const auto op = static_cast<Op>(i);
    if (op_class(op) != OpClass::kImage || image_shape(op) != nullptr) continue;
    const std::string_view mnemonic = name(op);
    EXPECT_TRUE(mnemonic.find("_pck") != mnemonic.npos || mnemonic.find("4h") != mnemonic.npos ||
                mnemonic.find("8h") != mnemonic.npos || mnemonic.find("_ray") != mnemonic.npos ||
                mnemonic.find("msaa") != mnemonic.npos)
        << mnemonic;
  }
}

}  // namespace
}  // namespace rigel::vgpu::isa
