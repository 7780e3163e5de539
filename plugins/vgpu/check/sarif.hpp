// Findings as SARIF 2.1.0 (OASIS), which code hosts and editors show next to the source.
//
// Each process is a run of the log. Processes with the same file add their runs to its document, under a
// lock of the file. Each finding updates the file, so that it is complete if the process crashes.
#pragma once

#include <memory>
#include <string>

#include "plugins/vgpu/check/output.hpp"

namespace rigel::vgpu::check {

/// Writes to the options' log file; without one, the document goes to stderr at the end.
std::unique_ptr<Output> make_sarif_output(const Options& options);

/// Returns a document without runs.
std::string empty_sarif_log();

}  // namespace rigel::vgpu::check
