// The API tables, which determine the function that an exported function calls.
//
// There are three sets of tables; exported functions call through the *current* one.
// - The closed set is constant. Its functions return NOT_INITIALIZED or 0, except for the few that work
//   without the runtime. It is current before hsa_init and after the last hsa_shut_down. Exported functions
//   therefore need no check whether the runtime is open. (Tools of ROCr's ABI bypass the current set:
//   guard_entries().)
// - The open set contains the runtime's functions, some of which tools have replaced. It is current while
//   the runtime is open.
// - The tools' set is never current. A tool that calls it calls the runtime without calling any tool. It
//   contains the runtime's functions while the runtime is open, otherwise those of the closed set.
//
// *Memory order:* publishing is a release store, reading an acquire load. Slots are written only while the
// closed set is current. They are written and read with relaxed atomics: a thread that has loaded the
// open set may still read its slot while another thread closes and reopens the runtime.
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

/// Returns the function's number in the tool ABI (hsa_tool_calls.h). `offset` is that of its slot in
/// ApiTables.
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
/// Replaces the runtime's own entries in `tables` by versions that check whether the runtime is open. Tools
/// of ROCr's ABI keep the entries and call them after the last hsa_shut_down; rocprofiler-sdk frees memory in
/// this way when the process ends.
void guard_entries(ApiTables& tables) noexcept;
/// Returns the tools' set. Its address never changes.
const HsaApiTable& own_tables() noexcept;
void publish_open_tables() noexcept;
void publish_closed_tables() noexcept;

bool is_open() noexcept;

/// Loads a function from a slot of the current set.
template <class Function>
Function* load_slot(Function* const& slot) noexcept {
  return std::atomic_ref<Function*>(const_cast<Function*&>(slot)).load(std::memory_order_relaxed);
}

template <class Value>
void store_slot(Value& slot, Value value) noexcept {
  std::atomic_ref<Value>(slot).store(value, std::memory_order_relaxed);
}

}  // namespace rigel::api
