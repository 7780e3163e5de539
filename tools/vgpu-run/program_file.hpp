// Checks before its start whether the dynamic linker will preload a glibc library into a program.
#pragma once

#include <string>

namespace rigel::vgpu_run {

/// Returns why no library can be preloaded into the program, or an empty string. `program` is searched in
/// PATH as by execvp(3). For a script, the interpreter is checked.
std::string cannot_be_preloaded(const std::string& program);

}  // namespace rigel::vgpu_run
