// The identity of this build. The virtual GPU and vgpu-compiler are separate files, and a package may be
// replaced while a program runs. Compiled code writes into Wave, WorkGroup and Linkage, so both must use the
// same layouts.
#pragma once

#include <string_view>

namespace rigel::vgpu::exec::compiler {

/// A hash, of 64 digits, of the sources and build options of both. Linker build ids do not serve: they differ
/// between the two files.
extern const std::string_view kBuildIdentity;

}  // namespace rigel::vgpu::exec::compiler
