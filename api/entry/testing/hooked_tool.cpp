// A tool of both ABIs that adds 10 to the result of hsa_signal_load_relaxed and calls the test's hooks
// (hooks.hpp).
#include <hsa_plugin/hsa_tool.h>
#include <hsa_plugin/hsa_tool_calls.h>

#include <cstdlib>

#include "api/entry/testing/hooks.hpp"

namespace {

using rigel::testing::Hooks;

// --- rigel -------------------------------------------------------------------------------------------------

hsatool_status_t load(const hsatool_host_t*, void** out) {
  Hooks& hooks = Hooks::of_process();
  *out = &hooks;
  return hooks.load() ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR;
}

void unload(void*) {
  Hooks::of_process().unload();
}

int32_t wants(void*, const hsatool_function_t* function) {
  return function->id == HSATOOL_ID_hsa_signal_load_relaxed;
}

int32_t enter(void* hooks, hsatool_call_t*) {
  static_cast<Hooks*>(hooks)->call();
  return HSATOOL_GO_ON;
}

void exit(void*, hsatool_call_t* call) {
  *static_cast<hsa_signal_value_t*>(call->result) += 10;
}

const hsatool_call_ops_t kCalls{sizeof kCalls, wants, enter, exit};

// A tool of ABI 1.1: the runtime must ignore data past its table.
constexpr uint64_t kSizeOf11 = HSATOOL_END(hsatool_plugin_t, activities);
void beyond_the_end(hsatool_str_t, const hsatool_mistakes_t*) {
  std::abort();
}

// --- hsa_tools ---------------------------------------------------------------------------------------------

decltype(hsa_signal_load_relaxed)* next_load = nullptr;

hsa_signal_value_t HSA_API load_relaxed(hsa_signal_t signal) {
  Hooks::of_process().call();
  return next_load(signal) + 10;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT const hsatool_plugin_t* hsa_tool_query_v1(uint32_t, uint32_t) {
  static const hsatool_plugin_t plugin{
      kSizeOf11, HSATOOL_ABI_MAJOR, 1,       {"hooked", 6}, {"1", 1},      HSABE_SANITIZER, 0, load,
      unload,    &kCalls,           nullptr, nullptr,       beyond_the_end};
  return &plugin;
}

EXPORT bool OnLoad(HsaApiTable* table, uint64_t, uint64_t, const char* const*) {
  Hooks& hooks = Hooks::of_process();
  hooks.tables = table;
  hooks.found = *table->core_;
  next_load = table->core_->hsa_signal_load_relaxed_fn;
  table->core_->hsa_signal_load_relaxed_fn = load_relaxed;
  return hooks.load();
}

EXPORT void OnUnload() {
  Hooks::of_process().unload();
}
