#include "core/executable/executable_registry.hpp"

#include <string>

#include "core/executable/failures.hpp"

namespace rigel {
void ExecutableRegistry::shut_down() noexcept {
  const std::lock_guard lock(lifecycle_mutex_);
  tables_.executables.clear([](Executable& executable) { executable.retire(); });
  while (const auto object = code_objects_.remove_any()) object->retire_symbols(code_symbols_);
  readers_.clear([](CodeObjectReader&) {});
}

// --- Readers -----------------------------------------------------------------------------------------------

Status ExecutableRegistry::add_reader(Result<std::shared_ptr<CodeObjectReader>> made,
                                      hsa_code_object_reader_t* reader) {
  if (!made) return made.error();
  reader->handle = readers_.insert(std::move(*made));
  return HSA_STATUS_SUCCESS;
}

Status ExecutableRegistry::code_object_reader_create_from_file(hsa_file_t file,
                                                               hsa_code_object_reader_t* reader) {
  if (reader == nullptr) return null_argument(__func__);
  return add_reader(CodeObjectReader::from_file(file), reader);
}

Status ExecutableRegistry::ven_amd_loader_code_object_reader_create_from_file_with_offset_size(
    hsa_file_t file, size_t offset, size_t size, hsa_code_object_reader_t* reader) {
  if (reader == nullptr) return null_argument(__func__);
  return add_reader(CodeObjectReader::from_file(file, offset, size), reader);
}

Status ExecutableRegistry::code_object_reader_create_from_memory(const void* code_object, size_t size,
                                                                 hsa_code_object_reader_t* reader) {
  if (code_object == nullptr || reader == nullptr) return null_argument(__func__);
  if (size == 0 || size > PTRDIFF_MAX)
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "code object: invalid size of {} bytes", size);
  return add_reader(CodeObjectReader::from_memory({static_cast<const std::byte*>(code_object), size}),
                    reader);
}

Status ExecutableRegistry::code_object_reader_destroy(hsa_code_object_reader_t reader) {
  if (readers_.remove(reader.handle)) return HSA_STATUS_SUCCESS;
  return no_reader(reader);
}

// --- Executables -------------------------------------------------------------------------------------------

Status ExecutableRegistry::create(hsa_profile_t profile, hsa_default_float_rounding_mode_t rounding_mode,
                                  bool frozen, hsa_executable_t* executable) {
  if (profile != HSA_PROFILE_BASE && profile != HSA_PROFILE_FULL) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "invalid profile {}", static_cast<int>(profile));
  }
  // The manual does not list the default mode here, but language runtimes request it and ROCr accepts it.
  if (rounding_mode != HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT &&
      rounding_mode != HSA_DEFAULT_FLOAT_ROUNDING_MODE_ZERO &&
      rounding_mode != HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "invalid rounding mode {}",
                static_cast<int>(rounding_mode));
  }
  const auto created = std::make_shared<Executable>(tables_, profile, rounding_mode);
  if (frozen) {
    if (const Status status = created->freeze(); status != HSA_STATUS_SUCCESS) return status;
  }
  const std::lock_guard lock(lifecycle_mutex_);
  *executable = created->publish();
  return HSA_STATUS_SUCCESS;
}

Status ExecutableRegistry::executable_create(hsa_profile_t profile, hsa_executable_state_t state, const char*,
                                             hsa_executable_t* executable) {
  if (executable == nullptr) return null_argument(__func__);
  if (state != HSA_EXECUTABLE_STATE_UNFROZEN && state != HSA_EXECUTABLE_STATE_FROZEN) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "invalid executable state {}", static_cast<int>(state));
  }
  return create(profile, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, state == HSA_EXECUTABLE_STATE_FROZEN,
                executable);
}

Status ExecutableRegistry::executable_create_alt(hsa_profile_t profile,
                                                 hsa_default_float_rounding_mode_t rounding_mode, const char*,
                                                 hsa_executable_t* executable) {
  if (executable == nullptr) return null_argument(__func__);
  return create(profile, rounding_mode, false, executable);
}

Status ExecutableRegistry::executable_destroy(hsa_executable_t executable) {
  std::shared_ptr<Executable> removed;
  {
    const std::lock_guard lock(lifecycle_mutex_);
    removed = tables_.executables.remove(executable.handle);
  }
  if (!removed) return no_executable(executable);
  removed->retire();
  return HSA_STATUS_SUCCESS;
}

Result<std::shared_ptr<Executable>> ExecutableRegistry::find_unfrozen(hsa_executable_t executable) {
  auto found = tables_.executables.find(executable.handle);
  if (!found) return no_executable(executable);
  // Only to report statuses in the manual's order: the lock guards the decisive checks.
  if (found->is_frozen()) return frozen_executable();
  return found;
}

Status ExecutableRegistry::executable_load_program_code_object(hsa_executable_t executable,
                                                               hsa_code_object_reader_t reader, const char*,
                                                               hsa_loaded_code_object_t* loaded) {
  const auto into = find_unfrozen(executable);
  if (!into) return into.error();
  auto from = readers_.find(reader.handle);
  if (!from) return no_reader(reader);
  CodeTarget* target = targets_.program_target();
  if (target == nullptr) {
    return fail(HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS,
                "program code object: there is no memory pool to load it into");
  }
  const auto result = (*into)->load(*target, std::move(from));
  if (!result) return result.error();
  if (loaded != nullptr) *loaded = *result;
  return HSA_STATUS_SUCCESS;
}

Status ExecutableRegistry::executable_load_agent_code_object(hsa_executable_t executable, hsa_agent_t agent,
                                                             hsa_code_object_reader_t reader, const char*,
                                                             hsa_loaded_code_object_t* loaded) {
  const auto into = find_unfrozen(executable);
  if (!into) return into.error();
  CodeTarget* target = targets_.target_of(agent);
  if (target == nullptr) return no_agent(agent);
  auto from = readers_.find(reader.handle);
  if (!from) return no_reader(reader);
  const auto result = (*into)->load(*target, std::move(from));
  if (!result) return result.error();
  if (loaded != nullptr) *loaded = *result;
  return HSA_STATUS_SUCCESS;
}

Status ExecutableRegistry::executable_freeze(hsa_executable_t executable, const char*) {
  const auto found = tables_.executables.find(executable.handle);
  return found ? found->freeze() : no_executable(executable);
}

Status ExecutableRegistry::executable_get_info(hsa_executable_t executable, hsa_executable_info_t attribute,
                                               void* value) {
  if (value == nullptr) return null_argument(__func__);
  const auto found = tables_.executables.find(executable.handle);
  return found ? found->get_info(attribute, value) : no_executable(executable);
}

Status ExecutableRegistry::executable_global_variable_define(hsa_executable_t executable, const char* name,
                                                             void* address) {
  if (name == nullptr) return null_argument(__func__);
  const auto found = tables_.executables.find(executable.handle);
  return found ? found->define_variable({}, HSA_VARIABLE_SEGMENT_GLOBAL, name, address)
               : no_executable(executable);
}

Status ExecutableRegistry::define_agent_variable(hsa_executable_t executable, hsa_agent_t agent,
                                                 hsa_variable_segment_t segment, const char* name,
                                                 void* address) {
  if (name == nullptr) return null_argument(__func__);
  const auto found = tables_.executables.find(executable.handle);
  if (!found) return no_executable(executable);
  if (targets_.target_of(agent) == nullptr) return no_agent(agent);
  return found->define_variable(agent, segment, name, address);
}

Status ExecutableRegistry::executable_agent_global_variable_define(hsa_executable_t executable,
                                                                   hsa_agent_t agent, const char* name,
                                                                   void* address) {
  return define_agent_variable(executable, agent, HSA_VARIABLE_SEGMENT_GLOBAL, name, address);
}

Status ExecutableRegistry::executable_readonly_variable_define(hsa_executable_t executable, hsa_agent_t agent,
                                                               const char* name, void* address) {
  return define_agent_variable(executable, agent, HSA_VARIABLE_SEGMENT_READONLY, name, address);
}

Status ExecutableRegistry::executable_validate(hsa_executable_t executable, uint32_t* result) {
  if (result == nullptr) return null_argument(__func__);
  const auto found = tables_.executables.find(executable.handle);
  return found ? found->validate(result) : no_executable(executable);
}

Status ExecutableRegistry::executable_validate_alt(hsa_executable_t executable, const char*,
                                                   uint32_t* result) {
  return executable_validate(executable, result);
}

Status ExecutableRegistry::executable_get_symbol(hsa_executable_t executable, const char* module_name,
                                                 const char* symbol_name, hsa_agent_t agent, int32_t,
                                                 hsa_executable_symbol_t* symbol) {
  if (symbol_name == nullptr || symbol == nullptr) return null_argument(__func__);
  const auto found = tables_.executables.find(executable.handle);
  if (!found) return no_executable(executable);
  std::string name(symbol_name);
  if (module_name != nullptr && *module_name != '\0') name = std::string(module_name) + "::" + name;
  const auto result = found->find_symbol(name, found->has_program_symbol(name) ? hsa_agent_t{} : agent);
  if (!result) return result.error();
  *symbol = *result;
  return HSA_STATUS_SUCCESS;
}

Status ExecutableRegistry::executable_get_symbol_by_name(hsa_executable_t executable, const char* symbol_name,
                                                         const hsa_agent_t* agent,
                                                         hsa_executable_symbol_t* symbol) {
  if (symbol_name == nullptr || symbol == nullptr) return null_argument(__func__);
  const auto found = tables_.executables.find(executable.handle);
  if (!found) return no_executable(executable);
  const auto result = found->find_symbol(symbol_name, agent == nullptr ? hsa_agent_t{} : *agent);
  if (!result) return result.error();
  *symbol = *result;
  return HSA_STATUS_SUCCESS;
}

Status ExecutableRegistry::executable_symbol_get_info(hsa_executable_symbol_t symbol,
                                                      hsa_executable_symbol_info_t attribute, void* value) {
  if (value == nullptr) return null_argument(__func__);
  const auto found = tables_.symbols.find(symbol.handle);
  if (!found) return no_such(HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL, "executable symbol", symbol.handle);
  return found->get_info(attribute, value);
}

Status ExecutableRegistry::executable_iterate_symbols(
    hsa_executable_t executable, hsa_status_t (*callback)(hsa_executable_t, hsa_executable_symbol_t, void*),
    void* data) {
  if (callback == nullptr) return null_argument(__func__);
  const auto found = tables_.executables.find(executable.handle);
  if (!found) return no_executable(executable);
  const auto symbols = found->symbols(Executable::Which::kAll);
  if (!symbols) return symbols.error();
  for (const hsa_executable_symbol_t symbol : *symbols) {
    if (const Status status = callback(executable, symbol, data); status != HSA_STATUS_SUCCESS) return status;
  }
  return HSA_STATUS_SUCCESS;
}

Status ExecutableRegistry::executable_iterate_agent_symbols(
    hsa_executable_t executable, hsa_agent_t agent,
    hsa_status_t (*callback)(hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t, void*), void* data) {
  if (callback == nullptr) return null_argument(__func__);
  const auto found = tables_.executables.find(executable.handle);
  if (!found) return no_executable(executable);
  if (targets_.target_of(agent) == nullptr) return no_agent(agent);
  const auto symbols = found->symbols(Executable::Which::kOfAgent, agent);
  if (!symbols) return symbols.error();
  for (const hsa_executable_symbol_t symbol : *symbols) {
    if (const Status status = callback(executable, agent, symbol, data); status != HSA_STATUS_SUCCESS)
      return status;
  }
  return HSA_STATUS_SUCCESS;
}

Status ExecutableRegistry::executable_iterate_program_symbols(
    hsa_executable_t executable, hsa_status_t (*callback)(hsa_executable_t, hsa_executable_symbol_t, void*),
    void* data) {
  if (callback == nullptr) return null_argument(__func__);
  const auto found = tables_.executables.find(executable.handle);
  if (!found) return no_executable(executable);
  const auto symbols = found->symbols(Executable::Which::kOfProgram);
  if (!symbols) return symbols.error();
  for (const hsa_executable_symbol_t symbol : *symbols) {
    if (const Status status = callback(executable, symbol, data); status != HSA_STATUS_SUCCESS) return status;
  }
  return HSA_STATUS_SUCCESS;
}

}  // namespace rigel
