// Functions of a test that the hooked tool (hooked_tool.cpp) calls wherever the runtime calls it. The tool
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

  std::function<bool()> load = [] { return true; };  ///< false: the tool fails
  std::function<void()> call = [] {};                ///< runs in hsa_signal_load_relaxed
  std::function<void()> unload = [] {};
  HsaApiTable* tables = nullptr;  ///< the last argument of OnLoad; null for a tool of abi rigel
  CoreApiTable found{};           ///< the original entries of its core table

 private:
  static constexpr const char* kVariable = "RIGEL_TEST_HOOKS";
};

}  // namespace rigel::testing
