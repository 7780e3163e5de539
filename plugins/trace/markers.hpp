// Markers that a program sets with rocTX: its library, where the program uses it, tells one listener of them
// (roctracer's src/roctx/roctx.cpp, roctxRegisterTracerCallback).
#pragma once

#include "plugins/trace/recorder.hpp"

namespace trace {

/// Has markers recorded from now on, or with null not any more. Whoever listened before does no longer.
/// Nothing if the process has not loaded rocTX. One thread at a time.
void take_markers(Recorder* recorder) noexcept;

}  // namespace trace
