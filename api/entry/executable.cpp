// Code object readers, executables and their symbols. Implemented in core/executable.
#include "api/entry/functions.hpp"
#include "core/runtime/runtime.hpp"

namespace rigel::api {

hsa_status_t hsa_executable_create(hsa_profile_t profile, hsa_executable_state_t executable_state,
                                   const char* options, hsa_executable_t* executable) {
  return Runtime::current().executables().executable_create(profile, executable_state, options, executable);
}

hsa_status_t hsa_executable_destroy(hsa_executable_t executable) {
  return Runtime::current().executables().executable_destroy(executable);
}

hsa_status_t hsa_executable_freeze(hsa_executable_t executable, const char* options) {
  return Runtime::current().executables().executable_freeze(executable, options);
}

hsa_status_t hsa_executable_get_info(hsa_executable_t executable, hsa_executable_info_t attribute,
                                     void* value) {
  return Runtime::current().executables().executable_get_info(executable, attribute, value);
}

hsa_status_t hsa_executable_global_variable_define(hsa_executable_t executable, const char* variable_name,
                                                   void* address) {
  return Runtime::current().executables().executable_global_variable_define(executable, variable_name,
                                                                            address);
}

hsa_status_t hsa_executable_agent_global_variable_define(hsa_executable_t executable, hsa_agent_t agent,
                                                         const char* variable_name, void* address) {
  return Runtime::current().executables().executable_agent_global_variable_define(executable, agent,
                                                                                  variable_name, address);
}

hsa_status_t hsa_executable_readonly_variable_define(hsa_executable_t executable, hsa_agent_t agent,
                                                     const char* variable_name, void* address) {
  return Runtime::current().executables().executable_readonly_variable_define(executable, agent,
                                                                              variable_name, address);
}

hsa_status_t hsa_executable_validate(hsa_executable_t executable, uint32_t* result) {
  return Runtime::current().executables().executable_validate(executable, result);
}

hsa_status_t hsa_executable_get_symbol(hsa_executable_t executable, const char* module_name,
                                       const char* symbol_name, hsa_agent_t agent, int32_t call_convention,
                                       hsa_executable_symbol_t* symbol) {
  return Runtime::current().executables().executable_get_symbol(executable, module_name, symbol_name, agent,
                                                                call_convention, symbol);
}

hsa_status_t hsa_executable_symbol_get_info(hsa_executable_symbol_t executable_symbol,
                                            hsa_executable_symbol_info_t attribute, void* value) {
  return Runtime::current().executables().executable_symbol_get_info(executable_symbol, attribute, value);
}

hsa_status_t hsa_executable_iterate_symbols(hsa_executable_t executable,
                                            hsa_status_t (*callback)(hsa_executable_t,
                                                                     hsa_executable_symbol_t, void*),
                                            void* data) {
  return Runtime::current().executables().executable_iterate_symbols(executable, callback, data);
}

hsa_status_t hsa_code_object_reader_create_from_file(hsa_file_t file,
                                                     hsa_code_object_reader_t* code_object_reader) {
  return Runtime::current().executables().code_object_reader_create_from_file(file, code_object_reader);
}

hsa_status_t hsa_code_object_reader_create_from_memory(const void* code_object, size_t size,
                                                       hsa_code_object_reader_t* code_object_reader) {
  return Runtime::current().executables().code_object_reader_create_from_memory(code_object, size,
                                                                                code_object_reader);
}

hsa_status_t hsa_code_object_reader_destroy(hsa_code_object_reader_t code_object_reader) {
  return Runtime::current().executables().code_object_reader_destroy(code_object_reader);
}

hsa_status_t hsa_executable_create_alt(hsa_profile_t profile,
                                       hsa_default_float_rounding_mode_t default_float_rounding_mode,
                                       const char* options, hsa_executable_t* executable) {
  return Runtime::current().executables().executable_create_alt(profile, default_float_rounding_mode, options,
                                                                executable);
}

hsa_status_t hsa_executable_load_program_code_object(hsa_executable_t executable,
                                                     hsa_code_object_reader_t code_object_reader,
                                                     const char* options,
                                                     hsa_loaded_code_object_t* loaded_code_object) {
  return Runtime::current().executables().executable_load_program_code_object(executable, code_object_reader,
                                                                              options, loaded_code_object);
}

hsa_status_t hsa_executable_load_agent_code_object(hsa_executable_t executable, hsa_agent_t agent,
                                                   hsa_code_object_reader_t code_object_reader,
                                                   const char* options,
                                                   hsa_loaded_code_object_t* loaded_code_object) {
  return Runtime::current().executables().executable_load_agent_code_object(
      executable, agent, code_object_reader, options, loaded_code_object);
}

hsa_status_t hsa_executable_validate_alt(hsa_executable_t executable, const char* options, uint32_t* result) {
  return Runtime::current().executables().executable_validate_alt(executable, options, result);
}

hsa_status_t hsa_executable_get_symbol_by_name(hsa_executable_t executable, const char* symbol_name,
                                               const hsa_agent_t* agent, hsa_executable_symbol_t* symbol) {
  return Runtime::current().executables().executable_get_symbol_by_name(executable, symbol_name, agent,
                                                                        symbol);
}

hsa_status_t hsa_executable_iterate_agent_symbols(hsa_executable_t executable, hsa_agent_t agent,
                                                  hsa_status_t (*callback)(hsa_executable_t, hsa_agent_t,
                                                                           hsa_executable_symbol_t, void*),
                                                  void* data) {
  return Runtime::current().executables().executable_iterate_agent_symbols(executable, agent, callback, data);
}

hsa_status_t hsa_executable_iterate_program_symbols(hsa_executable_t executable,
                                                    hsa_status_t (*callback)(hsa_executable_t,
                                                                             hsa_executable_symbol_t, void*),
                                                    void* data) {
  return Runtime::current().executables().executable_iterate_program_symbols(executable, callback, data);
}

}  // namespace rigel::api
