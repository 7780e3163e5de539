// The API tables: which function runs when an exported one is called.
//
// There are two sets. The closed one is constant and answers NOT_INITIALIZED (or 0) to everything but the few
// functions that work at any time; it is current before hsa_init and after the last hsa_shut_down. So no call
// before hsa_init can crash, and no call after it pays for the check. The open one holds the runtime's own
// functions, and whatever tools put in their place.
//
// Publishing is a release store, reading an acquire load. Slots are written only while the closed set is
// current; they are written and read with relaxed atomics, because a thread that entered through the open set
// may still be about to read its slot when another thread closes the runtime and opens it again.
#pragma once

#include <atomic>

#include "api/entry/functions.hpp"

namespace rigel::api {

/// All tables, in the shape of HsaApiTable: `root` points to the others.
struct ApiTables {
  HsaApiTable root;
  CoreApiTable core;
  AmdExtTable amd_ext;
  FinalizerExtTable finalizer_ext;
  ImageExtTable image_ext;
  ToolsApiTable tools;
  PcSamplingExtTable pc_sampling_ext;
};

// Said to be hidden here too: a declaration does not follow from -fvisibility, and every exported function
// would look up where this is first.
[[gnu::visibility("hidden")]] extern std::atomic<const ApiTables*> current_tables;

/// The open set, freshly filled with the runtime's own functions, for tools to change before it is published.
HsaApiTable* prepare_open_tables() noexcept;
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

}  // namespace rigel::api
