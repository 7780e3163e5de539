// Whether the program runs under a sanitizer, which makes it slower and keeps freed memory.
#pragma once

#include <hsa_backend/sanitizer.h>

namespace conformance {

constexpr bool kSanitized = HSABE_SANITIZER != HSABE_SANITIZER_NONE;

}  // namespace conformance
