// A backend's module, opened and checked: its tables as the core may use them.
//
// A module is built by somebody else, perhaps against an older or newer minor version of the backend ABI.
// What it returns is copied into the runtime's own structs, zero where the module's are shorter, so that the
// core needs to know neither sizes nor versions: a null function is an absent feature.
//
// LoadedBackends live to the end of the process, one for each library file however often the runtime is
// initialised: core code may keep pointers to them. They do not change; any thread.
#pragma once

#include <hsa_backend/hsa_backend.h>

#include <string>
#include <vector>

#include "loader/module/module_query.hpp"
#include "loader/text/words.hpp"

namespace rigel {

struct LoadedBackend {
  std::string path;  // real path of the library
  std::string name;
  std::string version;
  std::string build_id;
  uint32_t abi_minor = 0;

  // A group that the module does not have is all zero; one that it has, has its required functions.
  hsabe_device_ops_t device{};
  hsabe_queue_ops_t queue{};
  hsabe_code_ops_t code{};
  hsabe_memory_ops_t memory{};
  hsabe_copy_ops_t copy{};
  hsabe_image_ops_t image{};
  std::vector<hsabe_extension_t> extensions;

  bool has_queue() const { return queue.struct_size != 0; }
  bool has_code() const { return code.struct_size != 0; }
  bool has_memory() const { return memory.struct_size != 0; }
  bool has_copy() const { return copy.struct_size != 0; }
  bool has_image() const { return image.struct_size != 0; }
};

/// Copies and checks a table as a module's query returned it. `path` is only noted.
Explained<LoadedBackend> read_backend_table(const hsabe_backend_t* table, std::string path);

/// Opens the library at a real path and negotiates with it, or returns what an earlier call made of it.
tl::expected<const LoadedBackend*, LoadFailure> load_backend(const std::string& path);

}  // namespace rigel
