// A tool of ROCr's ABI, built with today's headers or those of the system's ROCr. It counts calls, behaves as
// RIGEL_TEST_TOOL specifies, and reports through the environment, because it is not linked with the test.
#include <hsa/hsa_api_trace.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

namespace {

decltype(hsa_signal_load_relaxed)* next_load = nullptr;
decltype(hsa_amd_agent_memory_pool_get_info)* next_pool_info = nullptr;
decltype(hsa_amd_memory_pool_free)* kept_free = nullptr;

bool is(const char* behaviour) {
  const char* const wanted = std::getenv("RIGEL_TEST_TOOL");
  return wanted != nullptr && std::strcmp(wanted, behaviour) == 0;
}

void note(const std::string& what) {
  const char* const before = std::getenv("RIGEL_TEST_NOTES");
  ::setenv("RIGEL_TEST_NOTES", ((before == nullptr ? "" : before) + what + ";").c_str(), 1);
}

hsa_signal_value_t HSA_API load_and_note(hsa_signal_t signal) {
  note("load");
  return next_load(signal) + 1;
}

hsa_status_t HSA_API pool_info_and_note(hsa_agent_t agent, hsa_amd_memory_pool_t pool,
                                        hsa_amd_agent_memory_pool_info_t attribute, void* value) {
  note("pool info");
  return next_pool_info(agent, pool, attribute, value);
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT bool OnLoad(HsaApiTable* table, uint64_t version, uint64_t failed, const char* const* names) {
  // Checks versions as tools do: their own layouts, which grow since ROCm 6, or none.
  const auto has = [](const ApiTableVersion& of, uint32_t major, size_t size) {
    return of.major_id == major && (major == 1 ? of.minor_id == size : of.minor_id >= size);
  };
  const bool fits = version == HSA_API_TABLE_MAJOR_VERSION &&
                    has(table->version, HSA_API_TABLE_MAJOR_VERSION, sizeof(HsaApiTable)) &&
                    has(table->core_->version, HSA_CORE_API_TABLE_MAJOR_VERSION, sizeof(CoreApiTable)) &&
                    has(table->amd_ext_->version, HSA_AMD_EXT_API_TABLE_MAJOR_VERSION, sizeof(AmdExtTable)) &&
                    has(table->image_ext_->version, HSA_IMAGE_API_TABLE_MAJOR_VERSION, sizeof(ImageExtTable));
  if (!fits) return false;
#ifndef RIGEL_TEST_INSTALLED_ROCR
  if (is("of 2025")) {
    // As tools of 2025: a separate container, whose table ends before ROCm 7's additions.
    static HsaApiTableContainer own;
    constexpr uint32_t kEnd = offsetof(AmdExtTable, hsa_amd_ais_file_write_fn);
    own.amd_ext.version.minor_id = kEnd;
    own.amd_ext.hsa_amd_ais_file_write_fn = nullptr;
    copyTables(table, &own.root);
    if (own.amd_ext.version.minor_id != kEnd || own.amd_ext.hsa_amd_ais_file_write_fn != nullptr)
      return false;
    if (own.amd_ext.hsa_amd_portable_export_dmabuf_v2_fn !=
        table->amd_ext_->hsa_amd_portable_export_dmabuf_v2_fn)
      return false;
    note("of 2025");
  }
#endif
  for (uint64_t i = 0; i < failed; ++i) note(std::string("failed ") + names[i]);
  next_load = table->core_->hsa_signal_load_relaxed_fn;
  next_pool_info = table->amd_ext_->hsa_amd_agent_memory_pool_get_info_fn;
  kept_free = table->amd_ext_->hsa_amd_memory_pool_free_fn;
  table->core_->hsa_signal_load_relaxed_fn = load_and_note;
  table->amd_ext_->hsa_amd_agent_memory_pool_get_info_fn = pool_info_and_note;
  if (is("throws")) throw std::runtime_error("no");
  if (is("refuses")) return false;
  note("OnLoad");
  // Tools iterate agents as soon as they are loaded.
  uint32_t agents = 0;
  table->core_->hsa_iterate_agents_fn(
      [](hsa_agent_t, void* count) {
        ++*static_cast<uint32_t*>(count);
        return HSA_STATUS_SUCCESS;
      },
      &agents);
  return agents != 0;
}

// As tools do at process exit: calls a kept entry.
EXPORT hsa_status_t free_as_kept(void* memory) {
  return kept_free(memory);
}
EXPORT hsa_signal_value_t load_as_kept(hsa_signal_t signal) {
  return next_load(signal);
}

EXPORT void OnUnload() {
  note("OnUnload");
}
