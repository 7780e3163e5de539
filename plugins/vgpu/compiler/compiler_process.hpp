// The process that compiles kernels: a program of its own, so that LLVM neither lies in the memory of the program that uses the
// GPU nor can end it. It is started with the first kernel, serves one after the other, and ends with the program. The program's
// wait() does not see it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "plugins/vgpu/compiler/messages.hpp"
#include "plugins/vgpu/compiler/plan.hpp"

namespace rigel::vgpu::exec::compiler {

struct Compiled {
  Run run = nullptr;
  std::shared_ptr<std::byte> memory;  ///< What the code lies in.
  size_t bytes = 0;
  std::string error;  ///< Why there is none.
};

/// Compiles what `plan` was made of, and waits for it, a minute at most; or finds it on disk. Any thread; several take turns.
Compiled compile(const Plan& plan, const Request& request, std::span<const Image> images);

/// What the code of a request would be named on disk (code_cache.hpp); empty: it is not kept there. Reads the kernel's code.
std::string cache_name(const Request& request);
/// Whether there is some of that name.
bool is_cached(const std::string& name);
/// compile() without a compiler: what is on disk, or nothing.
Compiled find_cached(const Plan& plan, const Request& request, std::span<const Image> images);

/// When kernels are compiled, if there is a compiler: what VGPU_COMPILER says, "beforehand" or "off"; else when they are hot.
/// In elevated processes never.
Compilation asked_for();

/// Why there is no compiler; empty if there is one, as far as is known before the first kernel.
std::string why_no_compiler();

/// The program that compiles kernels.
struct CompilerProgram {
  std::string path;
  std::string why_none;  ///< Not empty: there is no such program, and `path` is empty.
};
/// The program for the virtual GPU whose library is the file `library`: it is in the same folder, or in a folder `bin` above.
CompilerProgram find_compiler(const char* library);

/// The message for a user whose kernels are interpreted for the reason `why`, with the packages that are missing.
std::string kernels_are_interpreted(std::string_view why);

}  // namespace rigel::vgpu::exec::compiler
