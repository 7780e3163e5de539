// The backend's entry for the runtime.
#pragma once

#include <hsa_backend/hsa_backend.hpp>

namespace rigel::cpu {

extern const hsabe_backend_t kBackend;

}  // namespace rigel::cpu
