// A tool like those of ROCm 5: it supports one layout of AmdExtTable, with RIGEL_TEST_AMD_SLOTS entries, and
// does not check its version. It reports through the environment.
#include <hsa/hsa_api_trace.h>

#include <cstdlib>
#include <string>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

struct AmdExtTable5 {
  ApiTableVersion version;
  void (*slots[RIGEL_TEST_AMD_SLOTS])();
};
constexpr size_t kPoolInfo = 16;
constexpr size_t kQueueMask = RIGEL_TEST_AMD_SLOTS - 1;

decltype(hsa_amd_agent_memory_pool_get_info)* next_pool_info = nullptr;
decltype(hsa_amd_queue_cu_get_mask)* next_queue_mask = nullptr;

void note(const std::string& what) {
  const char* const before = std::getenv("RIGEL_TEST_NOTES");
  ::setenv("RIGEL_TEST_NOTES", ((before == nullptr ? "" : before) + what + ";").c_str(), 1);
}

hsa_status_t pool_info_and_note(hsa_agent_t agent, hsa_amd_memory_pool_t pool,
                                hsa_amd_agent_memory_pool_info_t attribute, void* value) {
  note("pool info");
  return next_pool_info(agent, pool, attribute, value);
}

hsa_status_t queue_mask_and_note(const hsa_queue_t* queue, uint32_t count, uint32_t* mask) {
  note("queue mask");
  return next_queue_mask(queue, count, mask);
}

template <class Function>
void replace(void (*&slot)(), Function*& next, Function* function) {
  next = reinterpret_cast<Function*>(slot);
  slot = reinterpret_cast<void (*)()>(function);
}

}  // namespace

EXPORT bool OnLoad(HsaApiTable* table, uint64_t, uint64_t, const char* const*) {
  auto& amd = *reinterpret_cast<AmdExtTable5*>(table->amd_ext_);
  replace(amd.slots[kPoolInfo], next_pool_info, &pool_info_and_note);
  replace(amd.slots[kQueueMask], next_queue_mask, &queue_mask_and_note);
  note("OnLoad");
  return true;
}

EXPORT void OnUnload() {}
