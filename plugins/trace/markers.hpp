// Markers that a program sets with rocTX. Its library calls one listener (roctracer's src/roctx/roctx.cpp,
// roctxRegisterTracerCallback).
#pragma once

#include "plugins/trace/recorder.hpp"

namespace trace {

/// Starts recording markers, or stops if `recorder` is null. Replaces another listener. Does nothing if the
/// process has not loaded rocTX. *Threads:* one at a time.
void record_markers_to(Recorder* recorder) noexcept;

}  // namespace trace
