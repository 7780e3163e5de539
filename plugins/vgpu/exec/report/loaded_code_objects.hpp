// The code objects that a runtime of this process has loaded, by the list that it keeps for debuggers
// (_amdgpu_r_debug): where each was loaded and where its file is to be read. For reports: what a GPU has in
// its memory is without the sections that say which line made what.
//
// Nothing here is asked before something has gone wrong. The list is another library's and may change at any
// moment, so it is copied as a debugger would, by addresses that may be none.
//
// Threads: any, outside of translation scopes; nothing is locked.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rigel::vgpu::exec {

struct LoadedCodeObject {
  uint64_t base = 0;           ///< What was added to the addresses of its file.
  std::vector<char> contents;  ///< The ELF file.
};

/// The code object that has `pc`. `list` is the runtime's r_debug; null: the one that the process's libraries
/// show. Nothing if there is no such list or entry, or its file cannot be read.
std::optional<LoadedCodeObject> find_code_object(const void* list, uint64_t pc);

/// A function of a code object.
struct Function {
  uint64_t begin = 0;
  std::span<const char> code;  ///< Inside the file.
  std::string name;            ///< As the file's symbols have it.
};

/// The function that has `address`, one of `file`, an ELF file. Nothing if no symbol says so: kernels have them always,
/// others unless the file was stripped.
std::optional<Function> function_at(std::span<const char> file, uint64_t address);

/// The bytes that a URI of such a list names: `file://PATH[#offset=N&size=N]`, `memory://PID#offset=N&size=N`
/// of this process. Empty: it names none that can be read.
std::vector<char> read_uri(const std::string& uri);

}  // namespace rigel::vgpu::exec
