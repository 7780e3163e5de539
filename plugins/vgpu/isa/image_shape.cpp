#include "plugins/vgpu/isa/image_shape.hpp"

#include <array>

namespace rigel::vgpu::isa {
namespace {

struct Row {
  Op op;
  ImageShape shape;
};

constexpr ImageShape access(ImageVerb verb, LodSource lod) {
  return {.verb = verb, .lod = lod};
}
constexpr ImageShape atomic(Atomic which) {
  return {.verb = ImageVerb::kAtomic, .atomic = which};
}
constexpr ImageShape with_offset(ImageShape shape) {
  shape.offset = true;
  return shape;
}
constexpr ImageShape with_compare(ImageShape shape) {
  shape.compare = true;
  return shape;
}
constexpr ImageShape with_clamp(ImageShape shape) {
  shape.clamp = true;
  return shape;
}
constexpr ImageShape with_bias(ImageShape shape) {
  shape.bias = true;
  return shape;
}
constexpr ImageShape with_half_gradients(ImageShape shape) {
  shape.half_gradients = true;
  return shape;
}

constexpr ImageShape kSample = access(ImageVerb::kSample, LodSource::kNeighbours);
constexpr ImageShape kSampleOfLod = access(ImageVerb::kSample, LodSource::kAddress);
constexpr ImageShape kSampleOfZero = access(ImageVerb::kSample, LodSource::kZero);
constexpr ImageShape kSampleOfGradients = access(ImageVerb::kSample, LodSource::kGradients);
constexpr ImageShape kGather = access(ImageVerb::kGather, LodSource::kNeighbours);
constexpr ImageShape kGatherOfLod = access(ImageVerb::kGather, LodSource::kAddress);
constexpr ImageShape kGatherOfZero = access(ImageVerb::kGather, LodSource::kZero);

// The four forms of an operation: with and without comparison and offset.
#define RIGEL_FORMS(verb, suffix, shape)                                 \
  {Op::verb##suffix, shape}, {Op::verb##suffix##_o, with_offset(shape)}, \
      {Op::verb##_c##suffix, with_compare(shape)}, {                     \
    Op::verb##_c##suffix##_o, with_offset(with_compare(shape))           \
  }
#define RIGEL_HALF_FORMS(verb, suffix, shape)                                           \
  {Op::verb##suffix##_g16, with_half_gradients(shape)},                                 \
      {Op::verb##suffix##_o_g16, with_half_gradients(with_offset(shape))},              \
      {Op::verb##_c##suffix##_g16, with_half_gradients(with_compare(shape))}, {         \
    Op::verb##_c##suffix##_o_g16, with_half_gradients(with_offset(with_compare(shape))) \
  }

constexpr Row kRows[] = {
    {Op::image_load, access(ImageVerb::kLoad, LodSource::kZero)},
    {Op::image_load_mip, access(ImageVerb::kLoad, LodSource::kAddress)},
    {Op::image_store, access(ImageVerb::kStore, LodSource::kZero)},
    {Op::image_store_mip, access(ImageVerb::kStore, LodSource::kAddress)},
    {Op::image_get_resinfo, access(ImageVerb::kSizes, LodSource::kAddress)},
    {Op::image_get_lod, access(ImageVerb::kLod, LodSource::kNeighbours)},
    {Op::image_atomic_swap, atomic(Atomic::kSwap)},
    {Op::image_atomic_cmpswap, atomic(Atomic::kCmpSwap)},
    {Op::image_atomic_add, atomic(Atomic::kAdd)},
    {Op::image_atomic_sub, atomic(Atomic::kSub)},
    {Op::image_atomic_smin, atomic(Atomic::kSmin)},
    {Op::image_atomic_umin, atomic(Atomic::kUmin)},
    {Op::image_atomic_smax, atomic(Atomic::kSmax)},
    {Op::image_atomic_umax, atomic(Atomic::kUmax)},
    {Op::image_atomic_and, atomic(Atomic::kAnd)},
    {Op::image_atomic_or, atomic(Atomic::kOr)},
    {Op::image_atomic_xor, atomic(Atomic::kXor)},
    {Op::image_atomic_inc, atomic(Atomic::kInc)},
    {Op::image_atomic_dec, atomic(Atomic::kDec)},
    {Op::image_atomic_fcmpswap, atomic(Atomic::kFloatCmpSwap)},
    {Op::image_atomic_fmin, atomic(Atomic::kFloatMin)},
    {Op::image_atomic_fmax, atomic(Atomic::kFloatMax)},
    {Op::image_atomic_add_flt, atomic(Atomic::kFloatAdd)},
    {Op::image_atomic_pk_add_f16, atomic(Atomic::kPackedAddF16)},
    {Op::image_atomic_pk_add_bf16, atomic(Atomic::kPackedAddBf16)},
    RIGEL_FORMS(image_sample, , kSample),
    RIGEL_FORMS(image_sample, _cl, with_clamp(kSample)),
    RIGEL_FORMS(image_sample, _b, with_bias(kSample)),
    RIGEL_FORMS(image_sample, _b_cl, with_bias(with_clamp(kSample))),
    RIGEL_FORMS(image_sample, _l, kSampleOfLod),
    RIGEL_FORMS(image_sample, _lz, kSampleOfZero),
    RIGEL_FORMS(image_sample, _d, kSampleOfGradients),
    RIGEL_FORMS(image_sample, _d_cl, with_clamp(kSampleOfGradients)),
    RIGEL_FORMS(image_sample, _cd, kSampleOfGradients),
    RIGEL_FORMS(image_sample, _cd_cl, with_clamp(kSampleOfGradients)),
    RIGEL_HALF_FORMS(image_sample, _d, kSampleOfGradients),
    RIGEL_HALF_FORMS(image_sample, _d_cl, with_clamp(kSampleOfGradients)),
    RIGEL_HALF_FORMS(image_sample, _cd, kSampleOfGradients),
    RIGEL_HALF_FORMS(image_sample, _cd_cl, with_clamp(kSampleOfGradients)),
    RIGEL_FORMS(image_gather4, , kGather),
    RIGEL_FORMS(image_gather4, _cl, with_clamp(kGather)),
    RIGEL_FORMS(image_gather4, _b, with_bias(kGather)),
    RIGEL_FORMS(image_gather4, _b_cl, with_bias(with_clamp(kGather))),
    RIGEL_FORMS(image_gather4, _l, kGatherOfLod),
    RIGEL_FORMS(image_gather4, _lz, kGatherOfZero),
};
#undef RIGEL_FORMS
#undef RIGEL_HALF_FORMS

}  // namespace

const ImageShape* image_shape(Op op) {
  // Indexed by operation, since lowering calls this for every image instruction.
  static const std::array<const ImageShape*, kOpCount> by_op = [] {
    std::array<const ImageShape*, kOpCount> table{};
    for (const Row& row : kRows) table[static_cast<size_t>(row.op)] = &row.shape;
    return table;
  }();
  const auto index = static_cast<size_t>(op);
  return index < kOpCount ? by_op[index] : nullptr;
}

}  // namespace rigel::vgpu::isa
