// A tool of ROCr's ABI that declares itself by its priority.
#include <hsa/hsa_api_trace.h>

#include <cstdlib>
#include <cstring>
#include <string>

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT const uint32_t HSA_AMD_TOOL_PRIORITY = RIGEL_TEST_PRIORITY;

namespace {

void note(const char* what) {
  const char* const before = std::getenv("RIGEL_TEST_NOTES");
  const std::string more = std::string(what) + " " + std::to_string(RIGEL_TEST_PRIORITY) + ";";
  ::setenv("RIGEL_TEST_NOTES", ((before == nullptr ? "" : before) + more).c_str(), 1);
}

}  // namespace

EXPORT bool OnLoad(HsaApiTable*, uint64_t, uint64_t, const char* const*) {
  note("OnLoad");
  const char* const behaviour = std::getenv("RIGEL_TEST_TOOL");
  return behaviour == nullptr ||
         (std::strcmp(behaviour, "refuses") != 0 && std::strcmp(behaviour, "another refuses") != 0);
}

EXPORT void OnUnload() {
  note("OnUnload");
}
