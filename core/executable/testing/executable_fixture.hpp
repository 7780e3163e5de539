// A registry over mock agents, and code objects for tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/executable/executable_registry.hpp"
#include "core/executable/testing/fake_targets.hpp"

namespace rigel {

inline int external_variable_of_test = 100;
inline int external_function_of_test(int value) {
  return value * 1000;
}

class ExecutableFixture : public ::testing::Test {
 public:  // for callbacks, which are plain functions
  using Bytes = std::vector<char>;

  ExecutableFixture() {
    for (HostTarget* target : {&targets_.cpu, &targets_.other_cpu}) {
      target->known_symbols["external_function"] = reinterpret_cast<uintptr_t>(&external_function_of_test);
    }
  }

  static Bytes read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    EXPECT_TRUE(file) << path;
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static Bytes host_kernels() { return read_file(RIGEL_TEST_HOST_KERNELS); }
  static Bytes program_variables() { return read_file(RIGEL_TEST_PROGRAM_VARIABLES); }
  static Bytes gpu_kernels() { return read_file(RIGEL_CODE_OBJECTS "/gfx1030_v4"); }

  /// The bytes must outlive the reader.
  hsa_code_object_reader_t reader_for(const Bytes& bytes) {
    hsa_code_object_reader_t reader{};
    EXPECT_EQ(registry_.code_object_reader_create_from_memory(bytes.data(), bytes.size(), &reader),
              HSA_STATUS_SUCCESS);
    return reader;
  }

  hsa_executable_t make_executable() {
    hsa_executable_t executable{};
    EXPECT_EQ(registry_.executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
                                              nullptr, &executable),
              HSA_STATUS_SUCCESS);
    return executable;
  }

  Status load(hsa_executable_t executable, const CodeTarget& target, const Bytes& bytes,
              hsa_loaded_code_object_t* loaded = nullptr) {
    return registry_.executable_load_agent_code_object(executable, target.agent(), reader_for(bytes), nullptr,
                                                       loaded);
  }

  Status define_external(hsa_executable_t executable, const CodeTarget& target) {
    return registry_.executable_agent_global_variable_define(executable, target.agent(), "external_variable",
                                                             &external_variable_of_test);
  }

  /// Loads the host kernels for `cpu`.
  hsa_executable_t load_host_kernels(const Bytes& bytes) {
    const hsa_executable_t executable = make_executable();
    EXPECT_EQ(define_external(executable, targets_.cpu), HSA_STATUS_SUCCESS);
    EXPECT_EQ(load(executable, targets_.cpu, bytes), HSA_STATUS_SUCCESS);
    return executable;
  }

  Status freeze(hsa_executable_t executable) { return registry_.executable_freeze(executable, nullptr); }

  hsa_executable_symbol_t symbol(hsa_executable_t executable, const char* name, const CodeTarget& target) {
    hsa_executable_symbol_t found{};
    const hsa_agent_t agent = target.agent();
    EXPECT_EQ(registry_.executable_get_symbol_by_name(executable, name, &agent, &found), HSA_STATUS_SUCCESS)
        << name;
    return found;
  }

  template <class T>
  T info(hsa_executable_symbol_t of, int attribute) {
    T value{};
    EXPECT_EQ(registry_.executable_symbol_get_info(of, static_cast<hsa_executable_symbol_info_t>(attribute),
                                                   &value),
              HSA_STATUS_SUCCESS)
        << attribute;
    return value;
  }

  uint64_t address_of(hsa_executable_t executable, const char* name, const CodeTarget& target) {
    return info<uint64_t>(symbol(executable, name, target), HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS);
  }

  FakeTargets targets_;
  ExecutableRegistry registry_{targets_};
};

}  // namespace rigel
