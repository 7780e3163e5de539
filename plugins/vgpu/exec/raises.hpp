// What an operation can raise: a column of the tables of vector operations. exceptions.hpp says what comes of it.
#pragma once

#include <cstdint>

namespace rigel::vgpu::exec {

/// Of which an operation is an instance, as far as exceptions go.
enum class Raises : uint8_t {
  kNothing,
  kSum,
  kDifference,
  kReverseDifference,
  kProduct,
  kLegacyProduct,  ///< Zero times anything is zero.
  kFused,
  kLegacyFused,
  kMultiplyAdd,  ///< Rounded twice, without denormals.
  kLegacyMultiplyAdd,
  kScaled,   ///< v_ldexp
  kChoice,   ///< Signaling NaNs are invalid; that is all.
  kExtreme,  ///< The same, and the result is one of the sources.
  kReciprocal,
  kIntegerReciprocal,
  kReciprocalRoot,
  kRoot,
  kLogarithm,
  kAngle,
  kDivFmas,
  kDivFixup,
  kConversion,        ///< From one format to another.
  kConversionToZero,  ///< Of two sources to halves.
  kTruncation,        ///< To integers:
  kFloor,
  kNearestUp,
  kFromInteger,
};

}  // namespace rigel::vgpu::exec
