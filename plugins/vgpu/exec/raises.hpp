// Which arithmetic exceptions an operation can raise: a column of the operation tables (exceptions.hpp).
#pragma once

#include <cstdint>

namespace rigel::vgpu::exec {

/// Class of operations with the same exceptions.
enum class Raises : uint8_t {
  kNothing,
  kSum,
  kDifference,
  kReverseDifference,
  kProduct,
  kLegacyProduct,  ///< Zero times anything is zero.
  kFused,
  kLegacyFused,
  kMultiplyAdd,  ///< Rounded twice, denormals flushed
  kLegacyMultiplyAdd,
  kScaled,   ///< v_ldexp
  kChoice,   ///< Signaling NaNs are invalid.
  kExtreme,  ///< As kChoice; the result is one of the sources.
  kReciprocal,
  kIntegerReciprocal,
  kReciprocalRoot,
  kRoot,
  kLogarithm,
  kAngle,
  kDivFmas,
  kDivFixup,
  kConversion,        ///< Between floating-point formats
  kConversionToZero,  ///< Of two sources to halves, rounding toward zero
  kTruncation,        ///< To an integer, toward zero
  kFloor,             ///< To an integer, downwards
  kNearestUp,         ///< To the nearest integer, halves upwards
  kFromInteger,
};

}  // namespace rigel::vgpu::exec
