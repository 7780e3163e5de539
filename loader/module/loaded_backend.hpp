// An opened and checked module of a backend, with its tables for the core.
//
// A module may have been built with an older or newer minor version of the backend ABI. Its structs are
// copied into the runtime's, zero-filled if the module's are shorter, so that the core needs neither sizes
// nor versions: a null function is an unsupported feature.
//
// *Lifetime:* LoadedBackends stay until the process ends, one for each library file across all runtimes, so
// the core may keep pointers to them. Immutable; any thread.
#pragma once

#include <hsa_backend/hsa_backend.h>

#include <string>
#include <vector>

#include "api/support/mutex.hpp"
#include "loader/module/module_query.hpp"
#include "loader/text/words.hpp"

namespace rigel {

struct LoadedBackend {
  std::string path;  // real path of the library
  std::string name;
  std::string version;
  std::string build_id;
  uint32_t abi_minor = 0;

  // A missing group is all zero; an existing one has its required functions.
  hsabe_device_ops_t device{};
  hsabe_queue_ops_t queue{};
  hsabe_code_ops_t code{};
  hsabe_memory_ops_t memory{};
  hsabe_copy_ops_t copy{};
  hsabe_image_ops_t image{};
  hsabe_counter_ops_t counters{};
  std::vector<hsabe_extension_t> extensions;

  bool has_queue() const { return queue.struct_size != 0; }
  bool has_code() const { return code.struct_size != 0; }
  bool has_memory() const { return memory.struct_size != 0; }
  bool has_copy() const { return copy.struct_size != 0; }
  bool has_image() const { return image.struct_size != 0; }
  bool has_counters() const { return counters.struct_size != 0; }
};

/// Copies and checks a table from a module's query. `path` is stored only.
Explained<LoadedBackend> read_backend_table(const hsabe_backend_t* table, std::string path);

/// Opens the library at a real path and negotiates with it, or returns the result of an earlier call.
tl::expected<const LoadedBackend*, LoadFailure> load_backend(const std::string& path);

/// Guards the modules that were loaded; never held while a module is loaded. fork() must hold it, so that a
/// child does not inherit it locked.
Mutex& loaded_backends_mutex() noexcept;

}  // namespace rigel
