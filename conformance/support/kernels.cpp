#include "support/kernels.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include "support/agents.hpp"

namespace conformance {
namespace {

// The part of a code object's file name for an ISA: "cpu_<architecture>" or the target without features.
std::string family_of(std::string_view isa) {
  if (isa.find("-linux-gnu--") != std::string_view::npos) {
    return isa.substr(0, isa.find('-')) == "x86_64" ? "cpu_x86_64" : "cpu_aarch64";
  }
  const size_t target = isa.find("--");
  if (target == std::string_view::npos) return std::string(isa);
  const std::string_view name = isa.substr(target + 2);
  return std::string(name.substr(0, name.find(':')));
}

std::vector<std::string> isa_names(hsa_agent_t agent) {
  std::vector<std::string> names;
  hsa_agent_iterate_isas(
      agent,
      [](hsa_isa_t isa, void* data) {
        uint32_t length = 0;
        if (hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME_LENGTH, &length) != HSA_STATUS_SUCCESS)
          return HSA_STATUS_ERROR;
        std::string name(length + 1, '\0');
        hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME, name.data());
        static_cast<std::vector<std::string>*>(data)->emplace_back(name.c_str());
        return HSA_STATUS_SUCCESS;
      },
      &names);
  return names;
}

std::vector<std::filesystem::path> directories() {
  std::vector<std::filesystem::path> result;
  if (const char* directory = std::getenv("HSA_CONFORMANCE_KERNELS")) result.emplace_back(directory);
  std::error_code ignored;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  if (!program.empty()) result.push_back(program.parent_path());
  return result;
}

}  // namespace

std::vector<char> find_code_object(hsa_agent_t agent, std::string& reason, const char* variant) {
  const std::vector<std::string> names = isa_names(agent);
  if (names.empty()) reason = "the agent has no ISA";
  for (const std::string& name : names) {
    const std::string file = "conformance_" + family_of(name) + variant + ".hsaco";
    for (const auto& directory : directories()) {
      std::ifstream in(directory / file, std::ios::binary);
      if (in) return {std::istreambuf_iterator<char>(in), {}};
    }
    reason = "there is no file with the tests' kernels for ";
    reason += name;
    reason += ": " + file;
  }
  return {};
}

KernelSet::~KernelSet() {
  if (executable_.handle != 0) {
    EXPECT_HSA(hsa_executable_destroy(executable_));
  }
  if (reader_.handle != 0) {
    EXPECT_HSA(hsa_code_object_reader_destroy(reader_));
  }
}

void KernelSet::load(hsa_agent_t agent, std::vector<char> code_object,
                     const std::function<void(hsa_executable_t)>& prepare) {
  agent_ = agent;
  code_object_ = std::move(code_object);
  ASSERT_HSA(hsa_code_object_reader_create_from_memory(code_object_.data(), code_object_.size(), &reader_));
  ASSERT_HSA(hsa_executable_create_alt(agent_info<hsa_profile_t>(agent, HSA_AGENT_INFO_PROFILE),
                                       HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable_));
  if (prepare) prepare(executable_);
  ASSERT_HSA(hsa_executable_load_agent_code_object(executable_, agent, reader_, nullptr, nullptr));
  ASSERT_HSA(hsa_executable_freeze(executable_, nullptr));
}

Kernel KernelSet::kernel(const std::string& name, const char* suffix) const {
  Kernel kernel;
  hsa_executable_symbol_t symbol{};
  const hsa_status_t status =
      hsa_executable_get_symbol_by_name(executable_, (name + suffix).c_str(), &agent_, &symbol);
  EXPECT_EQ(status, HSA_STATUS_SUCCESS) << name << ": " << status_name(status);
  if (status != HSA_STATUS_SUCCESS) return kernel;
  const auto get = [symbol](hsa_executable_symbol_info_t attribute, void* value) {
    EXPECT_HSA(hsa_executable_symbol_get_info(symbol, attribute, value));
  };
  get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &kernel.object);
  get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, &kernel.kernarg_size);
  get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_ALIGNMENT, &kernel.kernarg_alignment);
  get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &kernel.group_size);
  get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &kernel.private_size);
  return kernel;
}

}  // namespace conformance
