// The `signal` part of the services that the runtime offers its backends (hsa_backend.h).
//
// The table is constant, works until the process ends, and needs no `self`. A backend must pass handles of
// live signals, except to destroy.
#pragma once

#include <hsa_backend/hsa_backend.h>

namespace rigel {

/// `watch` and `settle` are null: each runtime provides them.
const hsabe_host_signal_t& host_signal_services() noexcept;

}  // namespace rigel
