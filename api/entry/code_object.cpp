// Code objects of HSA 1.0. Implemented in core/executable.
#include "api/entry/functions.hpp"
#include "core/runtime/runtime.hpp"

namespace rigel::api {

hsa_status_t hsa_code_object_serialize(hsa_code_object_t code_object,
                                       hsa_status_t (*alloc_callback)(size_t, hsa_callback_data_t, void**),
                                       hsa_callback_data_t callback_data, const char* options,
                                       void** serialized_code_object, size_t* serialized_code_object_size) {
  return Runtime::current().executables().code_object_serialize(code_object, alloc_callback, callback_data,
                                                                options, serialized_code_object,
                                                                serialized_code_object_size);
}

hsa_status_t hsa_code_object_deserialize(void* serialized_code_object, size_t serialized_code_object_size,
                                         const char* options, hsa_code_object_t* code_object) {
  return Runtime::current().executables().code_object_deserialize(
      serialized_code_object, serialized_code_object_size, options, code_object);
}

hsa_status_t hsa_code_object_destroy(hsa_code_object_t code_object) {
  return Runtime::current().executables().code_object_destroy(code_object);
}

hsa_status_t hsa_code_object_get_info(hsa_code_object_t code_object, hsa_code_object_info_t attribute,
                                      void* value) {
  return Runtime::current().executables().code_object_get_info(code_object, attribute, value);
}

hsa_status_t hsa_code_object_get_symbol(hsa_code_object_t code_object, const char* symbol_name,
                                        hsa_code_symbol_t* symbol) {
  return Runtime::current().executables().code_object_get_symbol(code_object, symbol_name, symbol);
}

hsa_status_t hsa_code_symbol_get_info(hsa_code_symbol_t code_symbol, hsa_code_symbol_info_t attribute,
                                      void* value) {
  return Runtime::current().executables().code_symbol_get_info(code_symbol, attribute, value);
}

hsa_status_t hsa_code_object_iterate_symbols(hsa_code_object_t code_object,
                                             hsa_status_t (*callback)(hsa_code_object_t, hsa_code_symbol_t,
                                                                      void*),
                                             void* data) {
  return Runtime::current().executables().code_object_iterate_symbols(code_object, callback, data);
}

hsa_status_t hsa_executable_load_code_object(hsa_executable_t executable, hsa_agent_t agent,
                                             hsa_code_object_t code_object, const char* options) {
  return Runtime::current().executables().executable_load_code_object(executable, agent, code_object,
                                                                      options);
}

hsa_status_t hsa_code_object_get_symbol_from_name(hsa_code_object_t code_object, const char* module_name,
                                                  const char* symbol_name, hsa_code_symbol_t* symbol) {
  return Runtime::current().executables().code_object_get_symbol_from_name(code_object, module_name,
                                                                           symbol_name, symbol);
}

}  // namespace rigel::api
