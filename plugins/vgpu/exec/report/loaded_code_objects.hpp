// Code objects that this process's runtime has loaded, from the list that it keeps for debuggers
// (_amdgpu_r_debug): their load addresses and files. Reports need the files, because the GPU's memory does
// not contain debugging information.
//
// The list is read only after a failure. It belongs to another library and may change at any time.
// Therefore it is copied as a debugger would, with reads that fail for invalid addresses.
//
// Threads: any, outside translation scopes. No locks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rigel::vgpu::exec {

struct LoadedCodeObject {
  uint64_t base = 0;           ///< Load address minus the address in the file.
  std::vector<char> contents;  ///< The ELF file.
};

/// Returns the code object that contains `pc`. `list` is the runtime's r_debug; null: the one that the
/// process's libraries export. Returns nothing if there is no such list or entry, or if its file cannot be
/// read.
std::optional<LoadedCodeObject> find_code_object(const void* list, uint64_t pc);

struct Function {
  uint64_t begin = 0;
  std::span<const char> code;  ///< Inside the file.
  std::string name;            ///< Name of the file's symbol.
};

/// Returns the function of the ELF file `file` that contains `address`, or nothing if it has no symbol.
/// Kernels always have symbols; other functions have them unless the file was stripped.
std::optional<Function> function_at(std::span<const char> file, uint64_t address);

/// Reads the bytes that a URI of the list names: `file://PATH[#offset=N&size=N]`, or
/// `memory://PID#offset=N&size=N` of this process. Returns an empty vector if they cannot be read.
std::vector<char> read_uri(const std::string& uri);

}  // namespace rigel::vgpu::exec
