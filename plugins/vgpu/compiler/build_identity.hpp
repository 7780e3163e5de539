// Which build this is. The virtual GPU and vgpu-compiler are linked apart, and a package may be replaced while a
// program runs: compiled code writes into Wave, WorkGroup and Linkage, whose layout both have to know alike.
#pragma once

#include <string_view>

namespace rigel::vgpu::exec::compiler {

/// A hash of the sources of both and of the options they are built with, as 64 digits. The linker's build ids do not
/// serve here: the two are different files, and no tool can compare theirs.
extern const std::string_view kBuildIdentity;

}  // namespace rigel::vgpu::exec::compiler
