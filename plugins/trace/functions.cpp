#include "plugins/trace/functions.hpp"

#include <hsa_plugin/hsa_tool_calls.h>

#include <algorithm>

namespace trace {
namespace {

struct KnownFunction {
  uint32_t id;
  FunctionRole role;
  size_t output;
};

#define MAKES(role, name, member) \
  { HSATOOL_ID_##name, FunctionRole::role, offsetof(hsatool_##name##_args_t, member) }
#define DOES(role, name) \
  { HSATOOL_ID_##name, FunctionRole::role, 0 }
constexpr KnownFunction kKnownFunctions[] = {
    MAKES(kAllocates, hsa_memory_allocate, ptr),
    MAKES(kAllocates, hsa_amd_memory_pool_allocate, ptr),
    DOES(kFrees, hsa_memory_free),
    DOES(kFrees, hsa_amd_memory_pool_free),
    MAKES(kCreates, hsa_queue_create, queue),
    MAKES(kCreates, hsa_soft_queue_create, queue),
    MAKES(kCreates, hsa_signal_create, signal),
    MAKES(kCreates, hsa_amd_signal_create, signal),
    MAKES(kCreates, hsa_signal_group_create, signal_group),
    MAKES(kCreates, hsa_executable_create, executable),
    MAKES(kCreates, hsa_executable_create_alt, executable),
    MAKES(kCreates, hsa_executable_get_symbol, symbol),
    MAKES(kCreates, hsa_executable_get_symbol_by_name, symbol),
    MAKES(kCreates, hsa_executable_load_agent_code_object, loaded_code_object),
    MAKES(kCreates, hsa_executable_load_program_code_object, loaded_code_object),
    MAKES(kCreates, hsa_code_object_reader_create_from_file, code_object_reader),
    MAKES(kCreates, hsa_code_object_reader_create_from_memory, code_object_reader),
    MAKES(kCreates, hsa_amd_memory_lock, agent_ptr),
    MAKES(kCreates, hsa_amd_memory_lock_to_pool, agent_ptr),
    MAKES(kCreates, hsa_amd_ipc_memory_attach, mapped_ptr),
    MAKES(kCreates, hsa_amd_ipc_signal_attach, signal),
    MAKES(kCreates, hsa_amd_vmem_address_reserve, va),
    MAKES(kCreates, hsa_amd_vmem_address_reserve_align, va),
    MAKES(kCreates, hsa_amd_vmem_handle_create, memory_handle),
    DOES(kFreezes, hsa_executable_freeze),
    DOES(kCopies, hsa_amd_memory_async_copy),
    DOES(kCopies, hsa_amd_memory_async_copy_on_engine),
    DOES(kCopies, hsa_amd_memory_async_copy_rect),
    DOES(kCopies, hsa_amd_memory_async_batch_copy),
    DOES(kWaits, hsa_signal_wait_relaxed),
    DOES(kWaits, hsa_signal_wait_scacquire),
    MAKES(kWaitsForAny, hsa_amd_signal_wait_any, signals),
    MAKES(kWaitsForAll, hsa_amd_signal_wait_all, signals),
    DOES(kDestroysSignal, hsa_signal_destroy),
};
#undef MAKES
#undef DOES

}  // namespace

std::vector<FunctionInfo> describe_functions(std::span<const hsatool_function_t* const> functions) {
  std::vector<FunctionInfo> out(functions.size());
  for (const hsatool_function_t* const function : functions) {
    FunctionInfo& info = out[function->index];
    info.function = function;
    size_t bytes = 0;
    for (uint64_t i = 0; i < function->parameter_count; ++i) {
      const hsatool_value_t& value = function->parameters[i];
      bytes = std::max(bytes, size_t{value.offset} + value.size);
      if (value.kind == HSATOOL_KIND_TEXT && info.texts < FunctionInfo::kMaxTexts)
        info.text_offsets[info.texts++] = static_cast<uint16_t>(value.offset);
    }
    // Arguments past this limit are omitted from the trace.
    info.argument_bytes = static_cast<uint8_t>(std::min(bytes, kMaxArgumentWords * 8));
    for (const KnownFunction& known : kKnownFunctions) {
      if (known.id != function->id) continue;
      info.role = known.role;
      info.output = static_cast<uint16_t>(known.output);
    }
  }
  return out;
}

}  // namespace trace
