// The vgpu-compiler processes, which keep LLVM out of the program's memory and its crashes out of the
// program. The first is started for the first kernel, others for kernels that become hot meanwhile. Each
// serves one request at a time and ends with the program. They are not children of the program, so wait()
// does not return them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "plugins/vgpu/exec/native/messages.hpp"
#include "plugins/vgpu/exec/native/plan.hpp"

namespace rigel::vgpu::exec::compiler {

/// What the cache on disk had to do with compiled code.
enum class CacheUse : uint8_t {
  kNone,    ///< Nothing: there is no cache, or it could not be written.
  kStored,  ///< The code was compiled and is in the cache now.
  kLoaded,  ///< The code comes from the cache.
};

struct Compiled {
  Run run = nullptr;
  std::shared_ptr<std::byte> memory;  ///< Holds the code.
  size_t bytes = 0;
  CacheUse cache_use = CacheUse::kNone;
  std::string error;  ///< The reason if there is no code.
};

/// Returns the number of kernels that are compiled at a time: half of the CPUs, from 1 to 4.
unsigned compilers_at_a_time();

/// Returns the plan's code from disk or from a compiler, which may take minutes. If all compilers are busy,
/// waits for one. Any thread.
Compiled compile(const Plan& plan, const Request& request, std::span<const Image> images);

/// Returns the cache file's name (code_cache.hpp); empty: the code is not kept on disk. Reads the kernel's
/// code.
std::string cache_name(const Request& request);
/// Whether the cache has an entry with this name.
bool is_cached(const std::string& name);
/// Like compile(), from disk only.
Compiled find_cached(const Plan& plan, const Request& request, std::span<const Image> images);

/// Returns when kernels are compiled: as VGPU_COMPILER specifies ("beforehand" or "off"), else when they are
/// hot. Never in elevated processes or without a compiler program.
Compilation asked_for();

/// Returns why there is no compiler; empty if there is one, as far as is known before the first kernel.
std::string why_no_compiler();

/// Location of vgpu-compiler.
struct CompilerProgram {
  std::string path;
  std::string why_none;  ///< Not empty: the program was not found, and `path` is empty.
};
/// Searches the directory of the library file, and directories `bin` up to four levels above it.
CompilerProgram find_compiler(const char* library);

/// Returns the message for the user, with the packages that are missing.
std::string kernels_are_interpreted(std::string_view why);

}  // namespace rigel::vgpu::exec::compiler
