// Whether a sanitizer watches: it makes programs slower and remembers what they have freed.
#pragma once

#include <hsa_backend/sanitizer.h>

namespace conformance {

constexpr bool kSanitized = HSABE_SANITIZER != HSABE_SANITIZER_NONE;

}  // namespace conformance
