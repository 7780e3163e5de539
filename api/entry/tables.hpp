// The API tables, which determine the function that an exported function calls.
//
// There are three sets. The closed set is constant and returns NOT_INITIALIZED (or 0) from all functions
// except the few that always work; it is current before hsa_init and after the last hsa_shut_down. Calls
// before hsa_init are therefore safe, and later calls do not pay for a check (unless a tool of ROCr's ABI has
// the tables: guard_entries()). The open set contains the runtime's functions and those of tools. The third
// set is never current: it contains the runtime's functions while the runtime is open, for calls by tools
// that bypass tools.
//
// *Memory order:* publishing is a release store, reading an acquire load. Slots are written only while the
// closed set is current. They are written and read with relaxed atomics, because a thread that entered
// through the open set may still read its slot while another thread closes and reopens the runtime.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "api/entry/functions.hpp"

namespace rigel::api {

/// Exported functions that are not in ROCr's tables.
struct UnlistedTable {
  ApiTableVersion version;
  decltype(::hsa_amd_image_get_info_max_dim)* hsa_amd_image_get_info_max_dim_fn;
  decltype(::hsa_ext_image_data_get_info_v2)* hsa_ext_image_data_get_info_v2_fn;
  decltype(::hsa_ext_image_create_v2)* hsa_ext_image_create_v2_fn;
  decltype(::hsa_ext_image_destroy_v2)* hsa_ext_image_destroy_v2_fn;
  decltype(::hsa_ext_image_mipmap_array_get_level)* hsa_ext_image_mipmap_array_get_level_fn;
};

/// All tables, in the layout of HsaApiTable: `root` points to the others.
struct ApiTables {
  HsaApiTable root;
  CoreApiTable core;
  AmdExtTable amd_ext;
  FinalizerExtTable finalizer_ext;
  ImageExtTable image_ext;
  ToolsApiTable tools;
  PcSamplingExtTable pc_sampling_ext;
  UnlistedTable unlisted;
};

/// Returns tools' number of the function whose slot is at that offset of ApiTables (hsa_tool_calls.h).
constexpr uint32_t tool_function_id(size_t offset) {
  constexpr size_t kTables[] = {offsetof(ApiTables, core),          offsetof(ApiTables, amd_ext),
                                offsetof(ApiTables, finalizer_ext), offsetof(ApiTables, image_ext),
                                offsetof(ApiTables, tools),         offsetof(ApiTables, pc_sampling_ext),
                                offsetof(ApiTables, unlisted)};
  uint32_t table = 0;
  size_t begin = 0;
  for (const size_t one : kTables) {
    if (offset < one) break;
    begin = one;
    ++table;
  }
  return table << 16 | static_cast<uint32_t>((offset - begin - sizeof(ApiTableVersion)) / sizeof(void*));
}

// Declared hidden here, because -fvisibility does not apply to declarations; otherwise every exported
// function would look its address up.
[[gnu::visibility("hidden")]] extern std::atomic<const ApiTables*> current_tables;

/// Returns the open set, filled with the runtime's functions, for changes by tools before it is published.
ApiTables& prepare_open_tables() noexcept;
/// Replaces the runtime's own entries in `tables` by versions that check whether the runtime is open, because
/// ROCr-ABI tools keep and call them after the last hsa_shut_down. (rocprofiler-sdk frees memory in this way
/// when the process ends.)
void guard_entries(ApiTables& tables) noexcept;
/// The runtime's functions, for tools: at a constant address, NOT_INITIALIZED while the runtime is closed.
const HsaApiTable& own_tables() noexcept;
void publish_open_tables() noexcept;
void publish_closed_tables() noexcept;

bool is_open() noexcept;

/// Loads a function from a slot of the current table.
template <class Function>
Function* load_slot(Function* const& slot) noexcept {
  return std::atomic_ref<Function*>(const_cast<Function*&>(slot)).load(std::memory_order_relaxed);
}

template <class Value>
void store_slot(Value& slot, Value value) noexcept {
  std::atomic_ref<Value>(slot).store(value, std::memory_order_relaxed);
}

}  // namespace rigel::api
