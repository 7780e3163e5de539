// The `signal` part of what the runtime offers its backends (hsa_backend.h).
//
// The table is constant and works for as long as the process lives; it needs no `self`. A backend is trusted
// to pass handles of live signals, except to destroy.
#pragma once

#include <hsa_backend/hsa_backend.h>

namespace rigel {

/// `watch` and `settle` are null: they are a runtime's.
const hsabe_host_signal_t& host_signal_services() noexcept;

}  // namespace rigel
