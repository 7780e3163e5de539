// Functions of the registry for hsa_code_object_t, which version 1.0 of the API had instead of readers.
#include <cstring>
#include <string>

#include "core/executable/executable_registry.hpp"
#include "core/executable/failures.hpp"

namespace rigel {
Result<std::shared_ptr<LegacyCodeObject>> ExecutableRegistry::find_code_object(
    hsa_code_object_t code_object) {
  auto found = code_objects_.find(code_object.handle);
  if (!found) return no_code_object(code_object);
  return found;
}

Status ExecutableRegistry::code_object_serialize(
    hsa_code_object_t code_object, hsa_status_t (*alloc_callback)(size_t, hsa_callback_data_t, void**),
    hsa_callback_data_t callback_data, const char*, void** serialized, size_t* serialized_size) {
  if (alloc_callback == nullptr || serialized == nullptr || serialized_size == nullptr)
    return null_argument(__func__);
  const auto found = find_code_object(code_object);
  if (!found) return found.error();
  const auto bytes = (*found)->bytes();
  void* buffer = nullptr;
  if (const Status status = alloc_callback(bytes.size(), callback_data, &buffer);
      status != HSA_STATUS_SUCCESS) {
    return status;
  }
  if (buffer == nullptr) return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "allocation callback: returned NULL");
  std::memcpy(buffer, bytes.data(), bytes.size());
  *serialized = buffer;
  *serialized_size = bytes.size();
  return HSA_STATUS_SUCCESS;
}

Status ExecutableRegistry::code_object_deserialize(void* serialized, size_t serialized_size, const char*,
                                                   hsa_code_object_t* code_object) {
  if (serialized == nullptr || code_object == nullptr) return null_argument(__func__);
  if (serialized_size == 0 || serialized_size > PTRDIFF_MAX)
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "code object: invalid size of {} bytes", serialized_size);
  const auto object = std::make_shared<LegacyCodeObject>(
      std::span(static_cast<const std::byte*>(serialized), serialized_size));
  LegacyCodeObject::publish_symbols(object, code_symbols_);
  code_objects_.insert(object);
  code_object->handle = object->handle();
  return HSA_STATUS_SUCCESS;
}

Status ExecutableRegistry::code_object_destroy(hsa_code_object_t code_object) {
  const auto removed = code_objects_.remove(code_object.handle);
  if (!removed) return no_code_object(code_object);
  removed->retire_symbols(code_symbols_);
  return HSA_STATUS_SUCCESS;
}

Status ExecutableRegistry::code_object_get_info(hsa_code_object_t code_object,
                                                hsa_code_object_info_t attribute, void* value) {
  if (value == nullptr) return null_argument(__func__);
  const auto found = find_code_object(code_object);
  if (!found) return found.error();
  if (!(*found)->is_valid()) return HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
  return (*found)->get_info(attribute, targets_, value);
}

Status ExecutableRegistry::executable_load_code_object(hsa_executable_t executable, hsa_agent_t agent,
                                                       hsa_code_object_t code_object, const char*) {
  const auto into = find_unfrozen(executable);
  if (!into) return into.error();
  CodeTarget* target = targets_.target_of(agent);
  if (target == nullptr) return no_agent(agent);
  const auto found = find_code_object(code_object);
  if (!found) return found.error();
  const auto loaded = (*into)->load(*target, CodeObjectReader::from_memory((*found)->bytes(), *found));
  return loaded ? HSA_STATUS_SUCCESS : loaded.error();
}

Status ExecutableRegistry::code_object_get_symbol(hsa_code_object_t code_object, const char* symbol_name,
                                                  hsa_code_symbol_t* symbol) {
  return code_object_get_symbol_from_name(code_object, nullptr, symbol_name, symbol);
}

Status ExecutableRegistry::code_object_get_symbol_from_name(hsa_code_object_t code_object,
                                                            const char* module_name, const char* symbol_name,
                                                            hsa_code_symbol_t* symbol) {
  if (symbol_name == nullptr || symbol == nullptr) return null_argument(__func__);
  const auto found = find_code_object(code_object);
  if (!found) return found.error();
  if (!(*found)->is_valid()) return HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
  std::string name(symbol_name);
  if (module_name != nullptr && *module_name != '\0') name = std::string(module_name) + "::" + name;
  const LegacyCodeSymbol* result = (*found)->find_symbol(name);
  if (result == nullptr)
    return fail(HSA_STATUS_ERROR_INVALID_SYMBOL_NAME, "symbol {}: not in the code object", name);
  symbol->handle = result->handle;
  return HSA_STATUS_SUCCESS;
}

Status ExecutableRegistry::code_symbol_get_info(hsa_code_symbol_t symbol, hsa_code_symbol_info_t attribute,
                                                void* value) {
  if (value == nullptr) return null_argument(__func__);
  const auto found = code_symbols_.find(symbol.handle);
  if (!found) return no_such(HSA_STATUS_ERROR_INVALID_CODE_SYMBOL, "code symbol", symbol.handle);
  return found->facts.get_info(attribute, value);
}

Status ExecutableRegistry::code_object_iterate_symbols(hsa_code_object_t code_object,
                                                       hsa_status_t (*callback)(hsa_code_object_t,
                                                                                hsa_code_symbol_t, void*),
                                                       void* data) {
  if (callback == nullptr) return null_argument(__func__);
  const auto found = find_code_object(code_object);
  if (!found) return found.error();
  if (!(*found)->is_valid()) return HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
  for (const LegacyCodeSymbol& symbol : (*found)->symbols()) {
    if (const Status status = callback(code_object, {symbol.handle}, data); status != HSA_STATUS_SUCCESS)
      return status;
  }
  return HSA_STATUS_SUCCESS;
}

}  // namespace rigel
