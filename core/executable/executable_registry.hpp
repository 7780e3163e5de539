// Executables, code object readers and legacy code objects of the API. Each member implements the API
// function with its name and the prefix `hsa_`, with the parameters, statuses and ordering in hsa.h and
// hsa_ven_amd_loader.h. The caller checks NOT_INITIALIZED. Destroyed, foreign and invalid handles are
// rejected. Members may throw std::bad_alloc.
//
// *Threads:* any thread, between construction and shut_down; executable.hpp describes the locks.
// *Lifetime:* owned by a runtime.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ven_amd_loader.h>

#include <memory>
#include <mutex>

#include "api/support/handle_table.hpp"
#include "core/executable/code_object_reader.hpp"
#include "core/executable/code_target.hpp"
#include "core/executable/executable.hpp"
#include "core/executable/legacy_code_object.hpp"

namespace rigel {

class ExecutableRegistry {
 public:
  /// `targets` outlives the registry.
  explicit ExecutableRegistry(CodeTargets& targets) : targets_(targets) {}
  ~ExecutableRegistry() { shut_down(); }
  ExecutableRegistry(const ExecutableRegistry&) = delete;
  ExecutableRegistry& operator=(const ExecutableRegistry&) = delete;

  /// Destroys everything at the last hsa_shut_down: no code is running, and the targets still exist.
  void shut_down() noexcept;

  // hsa.h: readers
  Status code_object_reader_create_from_file(hsa_file_t file, hsa_code_object_reader_t* reader);
  Status code_object_reader_create_from_memory(const void* code_object, size_t size,
                                               hsa_code_object_reader_t* reader);
  Status code_object_reader_destroy(hsa_code_object_reader_t reader);

  // hsa.h: executables
  Status executable_create(hsa_profile_t profile, hsa_executable_state_t state, const char* options,
                           hsa_executable_t* executable);
  Status executable_create_alt(hsa_profile_t profile, hsa_default_float_rounding_mode_t rounding_mode,
                               const char* options, hsa_executable_t* executable);
  Status executable_destroy(hsa_executable_t executable);
  Status executable_load_program_code_object(hsa_executable_t executable, hsa_code_object_reader_t reader,
                                             const char* options, hsa_loaded_code_object_t* loaded);
  Status executable_load_agent_code_object(hsa_executable_t executable, hsa_agent_t agent,
                                           hsa_code_object_reader_t reader, const char* options,
                                           hsa_loaded_code_object_t* loaded);
  Status executable_freeze(hsa_executable_t executable, const char* options);
  Status executable_get_info(hsa_executable_t executable, hsa_executable_info_t attribute, void* value);
  Status executable_global_variable_define(hsa_executable_t executable, const char* name, void* address);
  Status executable_agent_global_variable_define(hsa_executable_t executable, hsa_agent_t agent,
                                                 const char* name, void* address);
  Status executable_readonly_variable_define(hsa_executable_t executable, hsa_agent_t agent, const char* name,
                                             void* address);
  Status executable_validate(hsa_executable_t executable, uint32_t* result);
  Status executable_validate_alt(hsa_executable_t executable, const char* options, uint32_t* result);
  Status executable_get_symbol(hsa_executable_t executable, const char* module_name, const char* symbol_name,
                               hsa_agent_t agent, int32_t call_convention, hsa_executable_symbol_t* symbol);
  Status executable_get_symbol_by_name(hsa_executable_t executable, const char* symbol_name,
                                       const hsa_agent_t* agent, hsa_executable_symbol_t* symbol);
  Status executable_symbol_get_info(hsa_executable_symbol_t symbol, hsa_executable_symbol_info_t attribute,
                                    void* value);
  Status executable_iterate_symbols(hsa_executable_t executable,
                                    hsa_status_t (*callback)(hsa_executable_t, hsa_executable_symbol_t,
                                                             void*),
                                    void* data);
  Status executable_iterate_agent_symbols(hsa_executable_t executable, hsa_agent_t agent,
                                          hsa_status_t (*callback)(hsa_executable_t, hsa_agent_t,
                                                                   hsa_executable_symbol_t, void*),
                                          void* data);
  Status executable_iterate_program_symbols(hsa_executable_t executable,
                                            hsa_status_t (*callback)(hsa_executable_t,
                                                                     hsa_executable_symbol_t, void*),
                                            void* data);

  // hsa.h: code objects of version 1.0
  Status code_object_serialize(hsa_code_object_t code_object,
                               hsa_status_t (*alloc_callback)(size_t, hsa_callback_data_t, void**),
                               hsa_callback_data_t callback_data, const char* options, void** serialized,
                               size_t* serialized_size);
  Status code_object_deserialize(void* serialized, size_t serialized_size, const char* options,
                                 hsa_code_object_t* code_object);
  Status code_object_destroy(hsa_code_object_t code_object);
  Status code_object_get_info(hsa_code_object_t code_object, hsa_code_object_info_t attribute, void* value);
  Status executable_load_code_object(hsa_executable_t executable, hsa_agent_t agent,
                                     hsa_code_object_t code_object, const char* options);
  Status code_object_get_symbol(hsa_code_object_t code_object, const char* symbol_name,
                                hsa_code_symbol_t* symbol);
  Status code_object_get_symbol_from_name(hsa_code_object_t code_object, const char* module_name,
                                          const char* symbol_name, hsa_code_symbol_t* symbol);
  Status code_symbol_get_info(hsa_code_symbol_t symbol, hsa_code_symbol_info_t attribute, void* value);
  Status code_object_iterate_symbols(hsa_code_object_t code_object,
                                     hsa_status_t (*callback)(hsa_code_object_t, hsa_code_symbol_t, void*),
                                     void* data);

  // hsa_ven_amd_loader.h
  Status ven_amd_loader_query_host_address(const void* device_address, const void** host_address);
  Status ven_amd_loader_query_segment_descriptors(hsa_ven_amd_loader_segment_descriptor_t* descriptors,
                                                  size_t* count);
  Status ven_amd_loader_query_executable(const void* device_address, hsa_executable_t* executable);
  Status ven_amd_loader_executable_iterate_loaded_code_objects(
      hsa_executable_t executable,
      hsa_status_t (*callback)(hsa_executable_t, hsa_loaded_code_object_t, void*), void* data);
  Status ven_amd_loader_loaded_code_object_get_info(hsa_loaded_code_object_t loaded,
                                                    hsa_ven_amd_loader_loaded_code_object_info_t attribute,
                                                    void* value);
  Status ven_amd_loader_code_object_reader_create_from_file_with_offset_size(
      hsa_file_t file, size_t offset, size_t size, hsa_code_object_reader_t* reader);
  Status ven_amd_loader_iterate_executables(hsa_status_t (*callback)(hsa_executable_t, void*), void* data);

 private:
  Status add_reader(Result<std::shared_ptr<CodeObjectReader>> made, hsa_code_object_reader_t* reader);
  Status create(hsa_profile_t profile, hsa_default_float_rounding_mode_t rounding_mode, bool frozen,
                hsa_executable_t* executable);
  Result<std::shared_ptr<Executable>> find_unfrozen(hsa_executable_t executable);
  Status define_agent_variable(hsa_executable_t executable, hsa_agent_t agent, hsa_variable_segment_t segment,
                               const char* name, void* address);
  Result<std::shared_ptr<LegacyCodeObject>> find_code_object(hsa_code_object_t code_object);

  CodeTargets& targets_;
  ExecutableTables tables_;
  HandleTable<CodeObjectReader> readers_{HandleKind::kCodeObjectReader};
  LegacyCodeObjects code_objects_;
  HandleTable<LegacyCodeSymbol> code_symbols_{HandleKind::kCodeSymbol};

  // Held while executables are created, destroyed or iterated over. Recursive, because a callback may do any
  // of these: nested iteration and destruction both work.
  std::recursive_mutex lifecycle_mutex_;
};

}  // namespace rigel
