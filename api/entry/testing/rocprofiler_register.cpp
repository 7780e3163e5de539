// Replaces rocprofiler-register, according to its public header: accepts the tables if RIGEL_TEST_REGISTER is
// set accordingly, or changes them and fails.
#include <hsa/hsa_api_trace.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace {

decltype(hsa_signal_load_relaxed)* next_load = nullptr;

}  // namespace

extern "C" __attribute__((visibility("default"))) int rocprofiler_register_library_api_table(
    const char* name, uint32_t (*import)(), uint32_t version, void** tables, uint64_t count, uint64_t* id) {
  const char* const wanted = std::getenv("RIGEL_TEST_REGISTER");
  if (wanted == nullptr) return 1;  // ROCP_REG_NO_TOOLS
  if (std::strcmp(name, "hsa") != 0 || count != 1 || import() != version || version < 10000) return 4;
  auto* const table = static_cast<HsaApiTable*>(tables[0]);
  next_load = table->core_->hsa_signal_load_relaxed_fn;
  table->core_->hsa_signal_load_relaxed_fn = [](hsa_signal_t signal) { return next_load(signal) + 100; };
  if (std::strcmp(wanted, "fails") == 0) return 3;    // ROCP_REG_BAD_API_TABLE_LENGTH
  if (std::strcmp(wanted, "is full") == 0) return 7;  // ROCP_REG_EXCESS_API_INSTANCES
  if (std::strcmp(wanted, "throws") == 0) throw std::runtime_error("no");
  *id = 1;
  return 0;
}
