// The API tables: which function runs when an exported one is called.
//
// There are three sets. The closed one is constant and answers NOT_INITIALIZED (or 0) to everything but the
// few functions that work at any time; it is current before hsa_init and after the last hsa_shut_down. So no
// call before hsa_init can crash, and no call after it pays for the check (unless a tool of ROCr's ABI has the
// tables: guard_entries()). The open one holds the runtime's own functions, and whatever tools put in their
// place. The tools' own is not current at any time: it holds the runtime's functions while the runtime is open,
// and is what tools call in order not to be called themselves.
//
// Publishing is a release store, reading an acquire load. Slots are written only while the closed set is
// current; they are written and read with relaxed atomics, because a thread that entered through the open set
// may still be about to read its slot when another thread closes the runtime and opens it again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "api/entry/functions.hpp"

namespace rigel::api {

/// Exported functions without a slot in ROCr's tables.
struct UnlistedTable {
  ApiTableVersion version;
  decltype(::hsa_amd_image_get_info_max_dim)* hsa_amd_image_get_info_max_dim_fn;
  decltype(::hsa_ext_image_data_get_info_v2)* hsa_ext_image_data_get_info_v2_fn;
  decltype(::hsa_ext_image_create_v2)* hsa_ext_image_create_v2_fn;
  decltype(::hsa_ext_image_destroy_v2)* hsa_ext_image_destroy_v2_fn;
  decltype(::hsa_ext_image_mipmap_array_get_level)* hsa_ext_image_mipmap_array_get_level_fn;
};

/// All tables, in the shape of HsaApiTable: `root` points to the others.
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

/// The number by which tools know the function whose slot is at that offset of ApiTables (hsa_tool_calls.h).
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

// Said to be hidden here too: a declaration does not follow from -fvisibility, and every exported function
// would look up where this is first.
[[gnu::visibility("hidden")]] extern std::atomic<const ApiTables*> current_tables;

/// The open set, freshly filled with the runtime's own functions, for tools to change before it is published.
ApiTables& prepare_open_tables() noexcept;
/// Has those of the runtime's own functions that stand in `tables` look whether the runtime is open: tools of ROCr's ABI keep them, and
/// call them behind the last hsa_shut_down as well. (rocprofiler-sdk frees memory so when the process ends.)
void guard_entries(ApiTables& tables) noexcept;
/// The runtime's own functions, for tools: the same address for ever, NOT_INITIALIZED while the runtime is
/// closed.
const HsaApiTable& own_tables() noexcept;
/// Makes the open set current.
void publish_open_tables() noexcept;
/// Makes the closed set current.
void publish_closed_tables() noexcept;

/// Whether the open set is current.
bool is_open() noexcept;

/// The slot of the current table, as a function to call.
template <class Function>
Function* load_slot(Function* const& slot) noexcept {
  return std::atomic_ref<Function*>(const_cast<Function*&>(slot)).load(std::memory_order_relaxed);
}

template <class Value>
void store_slot(Value& slot, Value value) noexcept {
  std::atomic_ref<Value>(slot).store(value, std::memory_order_relaxed);
}

}  // namespace rigel::api
