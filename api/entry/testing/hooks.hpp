// What a test has the hooked tool (hooked_tool.cpp) do at each place where the runtime calls a tool. The tool
// finds the hooks by an environment variable.
#pragma once

#include <hsa/hsa_api_trace.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>

namespace rigel::testing {

struct Hooks {
  Hooks() { ::setenv(kVariable, std::to_string(reinterpret_cast<uintptr_t>(this)).c_str(), 1); }
  ~Hooks() { ::unsetenv(kVariable); }
  Hooks(const Hooks&) = delete;
  Hooks& operator=(const Hooks&) = delete;

  static Hooks& of_process() {
    return *reinterpret_cast<Hooks*>(std::strtoull(std::getenv(kVariable), nullptr, 10));
  }

  std::function<bool()> load = [] { return true; };  ///< false: the tool refuses
  std::function<void()> call = [] {};                ///< in hsa_signal_load_relaxed
  std::function<void()> unload = [] {};
  HsaApiTable* tables = nullptr;  ///< what OnLoad was given last; null for a tool of abi rigel
  CoreApiTable found{};           ///< the entries of its core table, before the tool's

 private:
  static constexpr const char* kVariable = "RIGEL_TEST_HOOKS";
};

}  // namespace rigel::testing
