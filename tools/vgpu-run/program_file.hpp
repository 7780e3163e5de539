// What can be known of a program before it runs: whether the dynamic linker will preload a library of glibc's into it.
#pragma once

#include <string>

namespace rigel::vgpu_run {

/// Why no library can be preloaded into the program, in a sentence about it; empty: nothing speaks against it.
/// `program` is looked for in PATH as execvp(3) does; of a script it is the interpreter that counts.
std::string cannot_be_preloaded(const std::string& program);

}  // namespace rigel::vgpu_run
