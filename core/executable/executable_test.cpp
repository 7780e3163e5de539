#include "core/executable/executable.hpp"

#include "core/executable/testing/executable_fixture.hpp"
#include "loader/code_object/elf_builder_for_test.hpp"
#include "loader/code_object/kernel_descriptor.hpp"

namespace rigel {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

class ExecutableApi : public ExecutableFixture {
 public:
  std::string name_of(hsa_executable_symbol_t of) {
    std::string name(info<uint32_t>(of, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH), '?');
    EXPECT_EQ(registry_.executable_symbol_get_info(of, HSA_EXECUTABLE_SYMBOL_INFO_NAME, name.data()),
              HSA_STATUS_SUCCESS);
    return name;
  }

  static Bytes chars(const std::vector<std::byte>& bytes) {
    const auto* begin = reinterpret_cast<const char*>(bytes.data());
    return {begin, begin + bytes.size()};
  }
};

// --- Creation and end --------------------------------------------------------------------------------------

TEST_F(ExecutableApi, CreateStoresArguments) {
  hsa_executable_t executable{};
  ASSERT_EQ(registry_.executable_create_alt(HSA_PROFILE_BASE, HSA_DEFAULT_FLOAT_ROUNDING_MODE_ZERO,
                                            "-unknown_option", &executable),
            HSA_STATUS_SUCCESS);
  hsa_profile_t profile;
  hsa_executable_state_t state;
  hsa_default_float_rounding_mode_t mode;
  EXPECT_EQ(registry_.executable_get_info(executable, HSA_EXECUTABLE_INFO_PROFILE, &profile),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(registry_.executable_get_info(executable, HSA_EXECUTABLE_INFO_STATE, &state), HSA_STATUS_SUCCESS);
  EXPECT_EQ(registry_.executable_get_info(executable, HSA_EXECUTABLE_INFO_DEFAULT_FLOAT_ROUNDING_MODE, &mode),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(profile, HSA_PROFILE_BASE);
  EXPECT_EQ(state, HSA_EXECUTABLE_STATE_UNFROZEN);
  EXPECT_EQ(mode, HSA_DEFAULT_FLOAT_ROUNDING_MODE_ZERO);
  EXPECT_EQ(registry_.executable_get_info(executable, static_cast<hsa_executable_info_t>(9), &state),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(registry_.executable_get_info(executable, HSA_EXECUTABLE_INFO_STATE, nullptr),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

TEST_F(ExecutableApi, CreateFrozenRejectsLoads) {
  hsa_executable_t executable{};
  ASSERT_EQ(registry_.executable_create(HSA_PROFILE_FULL, HSA_EXECUTABLE_STATE_FROZEN, nullptr, &executable),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(define_external(executable, targets_.cpu), HSA_STATUS_ERROR_FROZEN_EXECUTABLE);
  EXPECT_EQ(freeze(executable), HSA_STATUS_ERROR_FROZEN_EXECUTABLE);
}

TEST_F(ExecutableApi, CreateRejectsInvalidArguments) {
  hsa_executable_t executable{};
  const auto near = HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR;
  EXPECT_EQ(registry_.executable_create_alt(static_cast<hsa_profile_t>(2), near, nullptr, &executable),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(registry_.executable_create_alt(
                HSA_PROFILE_BASE, static_cast<hsa_default_float_rounding_mode_t>(3), nullptr, &executable),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(registry_.executable_create_alt(HSA_PROFILE_BASE, near, nullptr, nullptr),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(registry_.executable_create(HSA_PROFILE_BASE, static_cast<hsa_executable_state_t>(2), nullptr,
                                        &executable),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

TEST_F(ExecutableApi, DestroyInvalidatesAllHandles) {
  const Bytes bytes = host_kernels();
  const hsa_executable_t executable = load_host_kernels(bytes);
  const auto work = symbol(executable, "work", targets_.cpu);
  hsa_loaded_code_object_t loaded{};
  registry_.ven_amd_loader_executable_iterate_loaded_code_objects(
      executable,
      [](hsa_executable_t, hsa_loaded_code_object_t object, void* data) {
        *static_cast<hsa_loaded_code_object_t*>(data) = object;
        return HSA_STATUS_SUCCESS;
      },
      &loaded);
  EXPECT_EQ(targets_.cpu.live_allocations, 1);
  EXPECT_EQ(registry_.executable_destroy(executable), HSA_STATUS_SUCCESS);
  EXPECT_EQ(targets_.cpu.live_allocations, 0);

  uint64_t value = 0;
  EXPECT_EQ(registry_.executable_destroy(executable), HSA_STATUS_ERROR_INVALID_EXECUTABLE);
  EXPECT_EQ(registry_.executable_get_info(executable, HSA_EXECUTABLE_INFO_STATE, &value),
            HSA_STATUS_ERROR_INVALID_EXECUTABLE);
  EXPECT_EQ(registry_.executable_symbol_get_info(work, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &value),
            HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL);
  EXPECT_EQ(registry_.ven_amd_loader_loaded_code_object_get_info(
                loaded, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_KIND, &value),
            HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
}

TEST_F(ExecutableApi, FunctionsRejectDestroyedHandles) {
  const hsa_executable_t stale = make_executable();
  ASSERT_EQ(registry_.executable_destroy(stale), HSA_STATUS_SUCCESS);
  const hsa_executable_t live = make_executable();
  ASSERT_NE(stale.handle, live.handle);
  const Bytes bytes = host_kernels();
  const hsa_agent_t agent = targets_.cpu.agent();
  hsa_executable_symbol_t found{};
  uint32_t result = 0;
  const auto executable_callback = [](hsa_executable_t, hsa_executable_symbol_t, void*) {
    return HSA_STATUS_SUCCESS;
  };
  const auto agent_callback = [](hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t, void*) {
    return HSA_STATUS_SUCCESS;
  };
  constexpr auto kGone = HSA_STATUS_ERROR_INVALID_EXECUTABLE;
  for (const hsa_executable_t gone : {stale, hsa_executable_t{0}, hsa_executable_t{0x1234}}) {
    EXPECT_EQ(load(gone, targets_.cpu, bytes), kGone);
    EXPECT_EQ(registry_.executable_load_program_code_object(gone, reader_for(bytes), nullptr, nullptr),
              kGone);
    EXPECT_EQ(freeze(gone), kGone);
    EXPECT_EQ(registry_.executable_global_variable_define(gone, "v", &result), kGone);
    EXPECT_EQ(registry_.executable_agent_global_variable_define(gone, agent, "v", &result), kGone);
    EXPECT_EQ(registry_.executable_readonly_variable_define(gone, agent, "v", &result), kGone);
    EXPECT_EQ(registry_.executable_validate(gone, &result), kGone);
    EXPECT_EQ(registry_.executable_validate_alt(gone, nullptr, &result), kGone);
    EXPECT_EQ(registry_.executable_get_symbol(gone, nullptr, "v", agent, 0, &found), kGone);
    EXPECT_EQ(registry_.executable_get_symbol_by_name(gone, "v", &agent, &found), kGone);
    EXPECT_EQ(registry_.executable_iterate_symbols(gone, executable_callback, nullptr), kGone);
    EXPECT_EQ(registry_.executable_iterate_agent_symbols(gone, agent, agent_callback, nullptr), kGone);
    EXPECT_EQ(registry_.executable_iterate_program_symbols(gone, executable_callback, nullptr), kGone);
  }
}

TEST_F(ExecutableApi, FunctionsRejectNullPointers) {
  const hsa_executable_t executable = make_executable();
  const hsa_agent_t agent = targets_.cpu.agent();
  hsa_executable_symbol_t found{};
  constexpr auto kInvalid = HSA_STATUS_ERROR_INVALID_ARGUMENT;
  EXPECT_EQ(registry_.executable_global_variable_define(executable, nullptr, &found), kInvalid);
  EXPECT_EQ(registry_.executable_agent_global_variable_define(executable, agent, nullptr, &found), kInvalid);
  EXPECT_EQ(registry_.executable_readonly_variable_define(executable, agent, nullptr, &found), kInvalid);
  EXPECT_EQ(registry_.executable_validate(executable, nullptr), kInvalid);
  EXPECT_EQ(registry_.executable_validate_alt(executable, nullptr, nullptr), kInvalid);
  EXPECT_EQ(registry_.executable_get_symbol(executable, nullptr, nullptr, agent, 0, &found), kInvalid);
  EXPECT_EQ(registry_.executable_get_symbol(executable, nullptr, "v", agent, 0, nullptr), kInvalid);
  EXPECT_EQ(registry_.executable_get_symbol_by_name(executable, nullptr, &agent, &found), kInvalid);
  EXPECT_EQ(registry_.executable_get_symbol_by_name(executable, "v", &agent, nullptr), kInvalid);
  EXPECT_EQ(registry_.executable_symbol_get_info(found, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, nullptr), kInvalid);
  EXPECT_EQ(registry_.executable_iterate_symbols(executable, nullptr, nullptr), kInvalid);
  EXPECT_EQ(registry_.executable_iterate_agent_symbols(executable, agent, nullptr, nullptr), kInvalid);
  EXPECT_EQ(registry_.executable_iterate_program_symbols(executable, nullptr, nullptr), kInvalid);
}

// --- Loading and running -----------------------------------------------------------------------------------

TEST_F(ExecutableApi, LoadedCodeRuns) {
  const Bytes bytes = host_kernels();
  const hsa_executable_t executable = load_host_kernels(bytes);
  ASSERT_EQ(freeze(executable), HSA_STATUS_SUCCESS);
  EXPECT_EQ(targets_.cpu.finished, 1);

  // As a packet processor does: from the kernel object to the entry.
  const auto object =
      info<uint64_t>(symbol(executable, "work.kd", targets_.cpu), HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT);
  const auto* descriptor = reinterpret_cast<const KernelDescriptor*>(object);
  const auto work = reinterpret_cast<void (*)(int*)>(
      object + static_cast<uint64_t>(descriptor->kernel_code_entry_byte_offset));
  int argument = 7;
  work(&argument);
  EXPECT_EQ(*reinterpret_cast<int*>(address_of(executable, "counter", targets_.cpu)), 6);
  EXPECT_EQ(argument, 7 + external_variable_of_test + external_function_of_test(6) + 42 + 0 + 1);
}

TEST_F(ExecutableApi, LoadsSeparatelyForEachAgent) {
  const Bytes bytes = host_kernels();
  const hsa_executable_t executable = load_host_kernels(bytes);
  ASSERT_EQ(define_external(executable, targets_.other_cpu), HSA_STATUS_SUCCESS);
  ASSERT_EQ(load(executable, targets_.other_cpu, bytes), HSA_STATUS_SUCCESS);
  ASSERT_EQ(freeze(executable), HSA_STATUS_SUCCESS);
  EXPECT_NE(address_of(executable, "counter", targets_.cpu),
            address_of(executable, "counter", targets_.other_cpu));
  EXPECT_EQ(
      info<hsa_agent_t>(symbol(executable, "counter", targets_.other_cpu), HSA_EXECUTABLE_SYMBOL_INFO_AGENT)
          .handle,
      targets_.other_cpu.agent().handle);
}

TEST_F(ExecutableApi, RelocatesGpuCodeForDeviceAddress) {
  const Bytes bytes = gpu_kernels();
  const hsa_executable_t executable = make_executable();
  int outside = 0;
  ASSERT_EQ(registry_.executable_agent_global_variable_define(executable, targets_.gpu.agent(), "outside",
                                                              &outside),
            HSA_STATUS_SUCCESS);
  hsa_loaded_code_object_t loaded{};
  ASSERT_EQ(load(executable, targets_.gpu, bytes, &loaded), HSA_STATUS_SUCCESS);
  EXPECT_TRUE(targets_.gpu.device_memory.empty()) << "nothing is copied before it is frozen";
  ASSERT_EQ(freeze(executable), HSA_STATUS_SUCCESS);
  ASSERT_EQ(targets_.gpu.device_memory.size(), 1u);
  const auto& [base, memory] = *targets_.gpu.device_memory.begin();
  const uint64_t counter = address_of(executable, "counter", targets_.gpu);
  const uint64_t pointer = address_of(executable, "pointer", targets_.gpu);
  ASSERT_GE(counter, base);
  ASSERT_LT(counter, base + memory.size());
  EXPECT_EQ(*reinterpret_cast<const int*>(memory.data() + (counter - base)), 7);
  EXPECT_EQ(*reinterpret_cast<const uint64_t*>(memory.data() + (pointer - base)), counter);
  EXPECT_EQ(targets_.gpu.exports.at("counter"), counter);
  EXPECT_TRUE(targets_.gpu.exports.count("add.kd"));
}

TEST_F(ExecutableApi, LoadFailsWithSpecificStatus) {
  const Bytes host = host_kernels();
  const Bytes gpu = gpu_kernels();
  const hsa_executable_t executable = make_executable();
  ASSERT_EQ(define_external(executable, targets_.cpu), HSA_STATUS_SUCCESS);
  EXPECT_EQ(load(executable, targets_.cpu, gpu), HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS);
  EXPECT_EQ(load(executable, targets_.gpu, host), HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS);
  EXPECT_EQ(load(executable, targets_.cpu, Bytes(100, 'x')), HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
  EXPECT_EQ(load(executable, targets_.cpu, Bytes(host.begin(), host.begin() + 1000)),
            HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
  EXPECT_EQ(registry_.executable_load_agent_code_object(executable, {0}, reader_for(host), nullptr, nullptr),
            HSA_STATUS_ERROR_INVALID_AGENT);
  EXPECT_EQ(
      registry_.executable_load_agent_code_object(executable, targets_.cpu.agent(), {77}, nullptr, nullptr),
      HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER);
  targets_.cpu.allocate_status = HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  EXPECT_EQ(load(executable, targets_.cpu, host), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  targets_.cpu.allocate_status = HSA_STATUS_SUCCESS;
  targets_.cpu.describe_status = HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
  EXPECT_EQ(load(executable, targets_.cpu, host), HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
  targets_.cpu.describe_status = HSA_STATUS_SUCCESS;
  EXPECT_EQ(targets_.cpu.live_allocations, 0) << "a load that failed left its memory behind";

  EXPECT_EQ(load(executable, targets_.cpu, host), HSA_STATUS_SUCCESS) << "and it left nothing else";
  ASSERT_EQ(freeze(executable), HSA_STATUS_SUCCESS);
  EXPECT_EQ(load(executable, targets_.cpu, host), HSA_STATUS_ERROR_FROZEN_EXECUTABLE);
  EXPECT_EQ(registry_.executable_load_program_code_object(executable, reader_for(host), nullptr, nullptr),
            HSA_STATUS_ERROR_FROZEN_EXECUTABLE);
}

TEST_F(ExecutableApi, StaysUnfrozenIfFinishFails) {
  const Bytes bytes = host_kernels();
  const hsa_executable_t executable = load_host_kernels(bytes);
  targets_.cpu.finish_status = HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  EXPECT_EQ(freeze(executable), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  hsa_executable_state_t state = HSA_EXECUTABLE_STATE_FROZEN;
  EXPECT_EQ(registry_.executable_get_info(executable, HSA_EXECUTABLE_INFO_STATE, &state), HSA_STATUS_SUCCESS);
  EXPECT_EQ(state, HSA_EXECUTABLE_STATE_UNFROZEN);
  targets_.cpu.finish_status = HSA_STATUS_SUCCESS;
  EXPECT_EQ(freeze(executable), HSA_STATUS_SUCCESS);
  EXPECT_EQ(freeze(executable), HSA_STATUS_ERROR_FROZEN_EXECUTABLE);
  EXPECT_EQ(targets_.cpu.finished, 1);
}

TEST_F(ExecutableApi, IsIndependentOfReaderAfterLoad) {
  hsa_executable_t executable{};
  {
    Bytes bytes = host_kernels();
    const hsa_code_object_reader_t reader = reader_for(bytes);
    executable = make_executable();
    ASSERT_EQ(define_external(executable, targets_.cpu), HSA_STATUS_SUCCESS);
    ASSERT_EQ(registry_.executable_load_agent_code_object(executable, targets_.cpu.agent(), reader, nullptr,
                                                          nullptr),
              HSA_STATUS_SUCCESS);
    ASSERT_EQ(registry_.code_object_reader_destroy(reader), HSA_STATUS_SUCCESS);
    std::fill(bytes.begin(), bytes.end(), '\xff');
  }
  ASSERT_EQ(freeze(executable), HSA_STATUS_SUCCESS);
  EXPECT_EQ(*reinterpret_cast<int*>(address_of(executable, "counter", targets_.cpu)), 5);
  EXPECT_EQ(name_of(symbol(executable, "counter", targets_.cpu)), "counter");
}

TEST_F(ExecutableApi, ValidatesProfileAndRoundingOfHsailCode) {
  const auto code_of = [](char profile, char model, char rounding) {
    const auto words = [](std::initializer_list<uint32_t> values) {
      return std::string(reinterpret_cast<const char*>(values.begin()), values.size() * 4);
    };
    ElfBuilder elf = ElfBuilder::amd_gpu(0, 0);
    elf.notes = {{"AMD", 1, words({2, 1})},
                 {"AMD", 2, words({1, 0}) + profile + model + rounding},
                 {"AMD", 3, words({4u | 7u << 16, 8, 0, 3}) + std::string("AMD\0AMDGPU\0", 11)}};
    return chars(elf.build());
  };
  const auto load_into = [&](hsa_default_float_rounding_mode_t mode, const Bytes& bytes) {
    hsa_executable_t executable{};
    EXPECT_EQ(registry_.executable_create_alt(HSA_PROFILE_BASE, mode, nullptr, &executable),
              HSA_STATUS_SUCCESS);
    return load(executable, targets_.gpu, bytes);
  };
  constexpr auto kNear = HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR;
  constexpr auto kRefused = HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS;
  EXPECT_EQ(load_into(kNear, code_of(0, 1, 2)), HSA_STATUS_SUCCESS);
  EXPECT_EQ(load_into(kNear, code_of(0, 1, 0)), HSA_STATUS_SUCCESS) << "default fits any";
  EXPECT_EQ(load_into(HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, code_of(0, 1, 1)), HSA_STATUS_SUCCESS);
  EXPECT_EQ(load_into(kNear, code_of(0, 1, 1)), kRefused);
  EXPECT_EQ(load_into(kNear, code_of(1, 1, 2)), kRefused);
  EXPECT_EQ(load_into(kNear, code_of(0, 0, 2)), kRefused);

  // Each part fits the executable, but not the others.
  const hsa_executable_t mixed = [&] {
    hsa_executable_t executable{};
    registry_.executable_create_alt(HSA_PROFILE_BASE, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr,
                                    &executable);
    return executable;
  }();
  uint32_t result = 9;
  ASSERT_EQ(load(mixed, targets_.gpu, code_of(0, 1, 1)), HSA_STATUS_SUCCESS);
  EXPECT_EQ(registry_.executable_validate(mixed, &result), HSA_STATUS_SUCCESS);
  EXPECT_EQ(result, 0u);
  ASSERT_EQ(load(mixed, targets_.gpu, code_of(0, 1, 2)), HSA_STATUS_SUCCESS);
  EXPECT_EQ(registry_.executable_validate_alt(mixed, nullptr, &result), HSA_STATUS_SUCCESS);
  EXPECT_NE(result, 0u);
}

// --- Variables of the application --------------------------------------------------------------------------

TEST_F(ExecutableApi, LoadRequiresDefinedExternalVariables) {
  const Bytes bytes = host_kernels();
  const hsa_executable_t executable = make_executable();
  EXPECT_EQ(load(executable, targets_.cpu, bytes), HSA_STATUS_ERROR_VARIABLE_UNDEFINED);
  EXPECT_EQ(targets_.cpu.live_allocations, 0);
  ASSERT_EQ(define_external(executable, targets_.other_cpu), HSA_STATUS_SUCCESS) << "for another agent";
  EXPECT_EQ(load(executable, targets_.cpu, bytes), HSA_STATUS_ERROR_VARIABLE_UNDEFINED);
  ASSERT_EQ(define_external(executable, targets_.cpu), HSA_STATUS_SUCCESS);
  EXPECT_EQ(load(executable, targets_.cpu, bytes), HSA_STATUS_SUCCESS);
}

TEST_F(ExecutableApi, AgentVariableOverridesProgramVariable) {
  const Bytes bytes = host_kernels();
  int of_program = 1;
  const auto external_in = [&](bool with_agents) {
    const hsa_executable_t executable = make_executable();
    EXPECT_EQ(registry_.executable_global_variable_define(executable, "external_variable", &of_program),
              HSA_STATUS_SUCCESS);
    if (with_agents) {
      EXPECT_EQ(define_external(executable, targets_.cpu), HSA_STATUS_SUCCESS);
    }
    EXPECT_EQ(load(executable, targets_.cpu, bytes), HSA_STATUS_SUCCESS);
    EXPECT_EQ(freeze(executable), HSA_STATUS_SUCCESS);
    const auto object =
        info<uint64_t>(symbol(executable, "work", targets_.cpu), HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT);
    const auto* descriptor = reinterpret_cast<const KernelDescriptor*>(object);
    int sum = 0;
    reinterpret_cast<void (*)(int*)>(object +
                                     static_cast<uint64_t>(descriptor->kernel_code_entry_byte_offset))(&sum);
    return sum - external_function_of_test(6) - 42 - 1;
  };
  EXPECT_EQ(external_in(false), of_program);
  EXPECT_EQ(external_in(true), external_variable_of_test);
}

TEST_F(ExecutableApi, VariableIsDefinedOncePerAgentAndProgram) {
  const hsa_executable_t executable = make_executable();
  int there = 0;
  const auto define_for = [&](const CodeTarget& target) {
    return registry_.executable_readonly_variable_define(executable, target.agent(), "v", &there);
  };
  EXPECT_EQ(define_for(targets_.cpu), HSA_STATUS_SUCCESS);
  EXPECT_EQ(define_for(targets_.cpu), HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED);
  EXPECT_EQ(registry_.executable_agent_global_variable_define(executable, targets_.cpu.agent(), "v", &there),
            HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED);
  EXPECT_EQ(define_for(targets_.gpu), HSA_STATUS_SUCCESS);
  EXPECT_EQ(registry_.executable_global_variable_define(executable, "v", &there), HSA_STATUS_SUCCESS);
  EXPECT_EQ(registry_.executable_global_variable_define(executable, "v", &there),
            HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED);
  EXPECT_EQ(registry_.executable_global_variable_define(executable, "", &there),
            HSA_STATUS_ERROR_INVALID_SYMBOL_NAME);
  EXPECT_EQ(registry_.executable_agent_global_variable_define(executable, {99}, "v", &there),
            HSA_STATUS_ERROR_INVALID_AGENT);
}

TEST_F(ExecutableApi, LoadRejectsDuplicateDefinitions) {
  const Bytes bytes = host_kernels();
  const hsa_executable_t executable = make_executable();
  int counter = 0;
  ASSERT_EQ(define_external(executable, targets_.cpu), HSA_STATUS_SUCCESS);
  ASSERT_EQ(registry_.executable_agent_global_variable_define(executable, targets_.cpu.agent(), "counter",
                                                              &counter),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(load(executable, targets_.cpu, bytes), HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED);
}

TEST_F(ExecutableApi, LaterWeakDefinitionYieldsToApplications) {
  const Bytes bytes = host_kernels();
  const hsa_executable_t executable = make_executable();
  int yielding = 31;
  ASSERT_EQ(define_external(executable, targets_.cpu), HSA_STATUS_SUCCESS);
  ASSERT_EQ(registry_.executable_agent_global_variable_define(executable, targets_.cpu.agent(), "yielding",
                                                              &yielding),
            HSA_STATUS_SUCCESS);
  ASSERT_EQ(load(executable, targets_.cpu, bytes), HSA_STATUS_SUCCESS);
  ASSERT_EQ(freeze(executable), HSA_STATUS_SUCCESS);
  EXPECT_EQ(address_of(executable, "yielding", targets_.cpu), reinterpret_cast<uintptr_t>(&yielding));
}

TEST_F(ExecutableApi, ApplicationsDefinitionReplacesWeakOne) {
  const Bytes bytes = host_kernels();
  const hsa_executable_t executable = make_executable();
  int strong = 31;
  const auto define = [&] {
    return registry_.executable_agent_global_variable_define(executable, targets_.cpu.agent(), "yielding",
                                                             &strong);
  };
  ASSERT_EQ(define_external(executable, targets_.cpu), HSA_STATUS_SUCCESS);
  ASSERT_EQ(load(executable, targets_.cpu, bytes), HSA_STATUS_SUCCESS);
  const hsa_executable_symbol_t weak = symbol(executable, "yielding", targets_.cpu);
  const auto weak_address = info<uint64_t>(weak, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS);
  EXPECT_EQ(define(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(define(), HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED);
  ASSERT_EQ(freeze(executable), HSA_STATUS_SUCCESS);
  EXPECT_EQ(address_of(executable, "yielding", targets_.cpu), reinterpret_cast<uintptr_t>(&strong));
  EXPECT_EQ(info<uint64_t>(weak, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS), weak_address);
}

TEST_F(ExecutableApi, StrongDefinitionReplacesWeakOne) {
  if (kHostMachine != CodeMachine::kX86_64) GTEST_SKIP() << "the objects are for x86-64";
  ElfBuilder weak, strong, user;
  weak.symbols = {{.name = "both", .value = ElfBuilder::kData, .size = 8, .binding = STB_WEAK}};
  strong.symbols = {{.name = "both", .value = ElfBuilder::kData + 8, .size = 8}};
  user.symbols = {{.name = "both", .type = STT_NOTYPE, .section = SHN_UNDEF},
                  {.name = "pointer", .value = ElfBuilder::kData + 8, .size = 8}};
  user.relocations = {{.place = ElfBuilder::kData + 8, .type = R_X86_64_64, .symbol = 1}};
  const Bytes weak_bytes = chars(weak.build()), strong_bytes = chars(strong.build()),
              user_bytes = chars(user.build());
  const hsa_executable_t executable = make_executable();
  ASSERT_EQ(load(executable, targets_.cpu, weak_bytes), HSA_STATUS_SUCCESS);
  const uint64_t weak_address = address_of(executable, "both", targets_.cpu);
  ASSERT_EQ(load(executable, targets_.cpu, strong_bytes), HSA_STATUS_SUCCESS);
  const uint64_t strong_address = address_of(executable, "both", targets_.cpu);
  EXPECT_NE(strong_address, weak_address);
  EXPECT_EQ(load(executable, targets_.cpu, weak_bytes), HSA_STATUS_SUCCESS) << "which yields";
  EXPECT_EQ(load(executable, targets_.cpu, strong_bytes), HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED);
  ASSERT_EQ(load(executable, targets_.cpu, user_bytes), HSA_STATUS_SUCCESS);
  ASSERT_EQ(freeze(executable), HSA_STATUS_SUCCESS);
  EXPECT_EQ(address_of(executable, "both", targets_.cpu), strong_address);
  EXPECT_EQ(*reinterpret_cast<uint64_t*>(address_of(executable, "pointer", targets_.cpu)), strong_address);
  size_t count = 0;
  const auto add_one = [](hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t, void* data) {
    ++*static_cast<size_t*>(data);
    return HSA_STATUS_SUCCESS;
  };
  ASSERT_EQ(registry_.executable_iterate_agent_symbols(executable, targets_.cpu.agent(), add_one, &count),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(count, 2u) << "`both` and `pointer`";
}

TEST_F(ExecutableApi, LoadsSeveralCodeObjectsForAgent) {
  ElfBuilder one;
  one.symbols = {{.name = "first", .value = ElfBuilder::kData, .size = 8}};
  ElfBuilder two;
  two.symbols = {{.name = "first", .type = STT_NOTYPE, .section = SHN_UNDEF},
                 {.name = "second", .value = ElfBuilder::kData + 8, .size = 8}};
  two.relocations = {{.place = ElfBuilder::kData + 8, .type = R_X86_64_64, .symbol = 1}};
  if (kHostMachine != CodeMachine::kX86_64) GTEST_SKIP() << "the objects are for x86-64";
  const hsa_executable_t executable = make_executable();
  const Bytes first = chars(one.build());
  const Bytes second = chars(two.build());
  EXPECT_EQ(load(executable, targets_.cpu, second), HSA_STATUS_ERROR_VARIABLE_UNDEFINED)
      << "the order matters";
  EXPECT_EQ(load(executable, targets_.cpu, first), HSA_STATUS_SUCCESS);
  EXPECT_EQ(load(executable, targets_.cpu, first), HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED);
  EXPECT_EQ(load(executable, targets_.cpu, second), HSA_STATUS_SUCCESS);
  ASSERT_EQ(freeze(executable), HSA_STATUS_SUCCESS);
  EXPECT_EQ(*reinterpret_cast<uint64_t*>(address_of(executable, "second", targets_.cpu)),
            address_of(executable, "first", targets_.cpu));
}

TEST_F(ExecutableApi, LoadsProgramVariablesForAllAgents) {
  const Bytes program = program_variables();
  const Bytes kernels = host_kernels();
  const hsa_executable_t executable = make_executable();
  hsa_loaded_code_object_t loaded{};
  ASSERT_EQ(registry_.executable_load_program_code_object(executable, reader_for(program), nullptr, &loaded),
            HSA_STATUS_SUCCESS);
  EXPECT_NE(loaded.handle, 0u);
  EXPECT_EQ(load(executable, targets_.cpu, kernels), HSA_STATUS_SUCCESS) << "it defines external_variable";
  EXPECT_EQ(load(executable, targets_.other_cpu, kernels), HSA_STATUS_SUCCESS);
  EXPECT_EQ(registry_.executable_load_program_code_object(executable, reader_for(program), nullptr, nullptr),
            HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS)
      << "at most once";
  ASSERT_EQ(freeze(executable), HSA_STATUS_SUCCESS);
  hsa_executable_symbol_t shared{};
  ASSERT_EQ(registry_.executable_get_symbol_by_name(executable, "shared_variable", nullptr, &shared),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(info<hsa_variable_allocation_t>(shared, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ALLOCATION),
            HSA_VARIABLE_ALLOCATION_PROGRAM);
  EXPECT_EQ(*reinterpret_cast<int*>(info<uint64_t>(shared, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS)),
            1000);
}

TEST_F(ExecutableApi, RejectsProgramCodeObjectWithKernels) {
  const Bytes kernels = host_kernels();
  const Bytes program = program_variables();
  const hsa_executable_t executable = make_executable();
  EXPECT_EQ(registry_.executable_load_program_code_object(executable, reader_for(kernels), nullptr, nullptr),
            HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS);
  EXPECT_EQ(registry_.executable_load_program_code_object(executable, {5}, nullptr, nullptr),
            HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER);
  targets_.has_program_target = false;
  EXPECT_EQ(registry_.executable_load_program_code_object(executable, reader_for(program), nullptr, nullptr),
            HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS);
}

// --- Symbols -----------------------------------------------------------------------------------------------

TEST_F(ExecutableApi, KernelSymbolHasAllAttributes) {
  const Bytes bytes = host_kernels();
  const hsa_executable_t executable = load_host_kernels(bytes);
  const auto work = symbol(executable, "work.kd", targets_.cpu);
  EXPECT_EQ(info<hsa_symbol_kind_t>(work, HSA_EXECUTABLE_SYMBOL_INFO_TYPE), HSA_SYMBOL_KIND_KERNEL);
  EXPECT_EQ(name_of(work), "work.kd");
  EXPECT_EQ(info<uint32_t>(work, HSA_EXECUTABLE_SYMBOL_INFO_MODULE_NAME_LENGTH), 0u);
  EXPECT_EQ(info<hsa_symbol_linkage_t>(work, HSA_EXECUTABLE_SYMBOL_INFO_LINKAGE), HSA_SYMBOL_LINKAGE_PROGRAM);
  EXPECT_TRUE(info<bool>(work, HSA_EXECUTABLE_SYMBOL_INFO_IS_DEFINITION));
  EXPECT_EQ(info<hsa_agent_t>(work, HSA_EXECUTABLE_SYMBOL_INFO_AGENT).handle, targets_.cpu.agent().handle);
  EXPECT_EQ(info<uint32_t>(work, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE), 24u);
  EXPECT_EQ(info<uint32_t>(work, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_ALIGNMENT), 16u);
  EXPECT_EQ(info<uint32_t>(work, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE), 64u);
  EXPECT_EQ(info<uint32_t>(work, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE), 16u);
  EXPECT_FALSE(info<bool>(work, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_DYNAMIC_CALLSTACK));
  EXPECT_EQ(info<uint32_t>(work, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_CALL_CONVENTION), 0u);
  EXPECT_EQ(info<uint32_t>(work, HSA_CODE_SYMBOL_INFO_KERNEL_WAVEFRONT_SIZE), 1u)
      << "as the target corrected it";
  const auto before = info<uint64_t>(work, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT);
  ASSERT_EQ(freeze(executable), HSA_STATUS_SUCCESS);
  EXPECT_EQ(info<uint64_t>(work, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT), before)
      << "known from the loading on";
  EXPECT_EQ(info<uint64_t>(work, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT) % 64, 0u);
  EXPECT_NE(info<uint64_t>(work, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT), 0u);
  uint64_t value = 0;
  for (const int attribute : {6, 7, 8, 9, 10, 16, 24, 99}) {
    EXPECT_EQ(registry_.executable_symbol_get_info(work, static_cast<hsa_executable_symbol_info_t>(attribute),
                                                   &value),
              HSA_STATUS_ERROR_INVALID_ARGUMENT)
        << attribute;
  }
}

TEST_F(ExecutableApi, VariableSymbolHasAllAttributes) {
  const Bytes bytes = host_kernels();
  const hsa_executable_t executable = load_host_kernels(bytes);
  const auto counter = symbol(executable, "counter", targets_.cpu);
  const auto constant = symbol(executable, "constant", targets_.cpu);
  const auto zeros = symbol(executable, "zeros", targets_.cpu);
  EXPECT_EQ(info<hsa_symbol_kind_t>(counter, HSA_EXECUTABLE_SYMBOL_INFO_TYPE), HSA_SYMBOL_KIND_VARIABLE);
  EXPECT_EQ(info<hsa_variable_allocation_t>(counter, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ALLOCATION),
            HSA_VARIABLE_ALLOCATION_AGENT);
  EXPECT_EQ(info<hsa_variable_segment_t>(counter, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SEGMENT),
            HSA_VARIABLE_SEGMENT_GLOBAL);
  EXPECT_EQ(info<uint32_t>(counter, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE), 4u);
  EXPECT_EQ(info<uint32_t>(zeros, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE), 400u);
  EXPECT_GE(info<uint32_t>(counter, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ALIGNMENT), 4u);
  EXPECT_FALSE(info<bool>(counter, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_IS_CONST));
  EXPECT_TRUE(info<bool>(constant, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_IS_CONST));
  EXPECT_EQ(info<hsa_variable_segment_t>(constant, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SEGMENT),
            HSA_VARIABLE_SEGMENT_READONLY);
  EXPECT_GE(info<uint32_t>(constant, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ALIGNMENT), 32u);
  const auto before = info<uint64_t>(counter, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS);
  ASSERT_EQ(freeze(executable), HSA_STATUS_SUCCESS);
  EXPECT_EQ(info<uint64_t>(counter, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS), before);
  EXPECT_EQ(*reinterpret_cast<int*>(info<uint64_t>(counter, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS)), 5);
  EXPECT_EQ(info<uint64_t>(constant, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS) % 32, 0u);
  uint64_t value = 0;
  for (const int attribute : {11, 12, 13, 14, 15, 16, 18, 19}) {
    EXPECT_EQ(registry_.executable_symbol_get_info(
                  counter, static_cast<hsa_executable_symbol_info_t>(attribute), &value),
              HSA_STATUS_ERROR_INVALID_ARGUMENT)
        << attribute;
  }
}

TEST_F(ExecutableApi, ApplicationVariableHasAttributes) {
  const hsa_executable_t executable = make_executable();
  int there = 0;
  ASSERT_EQ(registry_.executable_readonly_variable_define(executable, targets_.gpu.agent(), "table", &there),
            HSA_STATUS_SUCCESS);
  ASSERT_EQ(freeze(executable), HSA_STATUS_SUCCESS);
  const auto table = symbol(executable, "table", targets_.gpu);
  EXPECT_EQ(info<uint64_t>(table, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS),
            reinterpret_cast<uintptr_t>(&there));
  EXPECT_EQ(info<hsa_variable_segment_t>(table, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SEGMENT),
            HSA_VARIABLE_SEGMENT_READONLY);
  EXPECT_EQ(info<uint32_t>(table, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE), 0u) << "unknown";
}

TEST_F(ExecutableApi, FindsSymbolsByNameAndAgent) {
  const Bytes bytes = host_kernels();
  const hsa_executable_t executable = load_host_kernels(bytes);
  const hsa_agent_t cpu = targets_.cpu.agent();
  const hsa_agent_t other = targets_.other_cpu.agent();
  hsa_executable_symbol_t found{};
  constexpr auto kNone = HSA_STATUS_ERROR_INVALID_SYMBOL_NAME;
  EXPECT_EQ(registry_.executable_get_symbol_by_name(executable, "nothing", &cpu, &found), kNone);
  EXPECT_EQ(registry_.executable_get_symbol_by_name(executable, "counter", &other, &found), kNone);
  EXPECT_EQ(registry_.executable_get_symbol_by_name(executable, "counter", nullptr, &found), kNone);
  EXPECT_EQ(registry_.executable_get_symbol_by_name(executable, "", &cpu, &found), kNone);
  EXPECT_EQ(symbol(executable, "work", targets_.cpu).handle,
            symbol(executable, "work.kd", targets_.cpu).handle)
      << "a kernel has the name of its function, too";
  EXPECT_EQ(symbol(executable, "counter", targets_.cpu).handle,
            symbol(executable, "counter", targets_.cpu).handle)
      << "handles are equal if symbols are";
}

TEST_F(ExecutableApi, FindsSymbolsByDeprecatedFunction) {
  ElfBuilder elf = ElfBuilder::amd_gpu(3, 0x2c);
  elf.symbols = {{.name = "&module::&variable", .value = ElfBuilder::kData, .size = 4}};
  const Bytes bytes = chars(elf.build());
  const hsa_executable_t executable = make_executable();
  int there = 0;
  ASSERT_EQ(registry_.executable_global_variable_define(executable, "of_program", &there),
            HSA_STATUS_SUCCESS);
  ASSERT_EQ(load(executable, targets_.gpu, bytes), HSA_STATUS_SUCCESS);
  const hsa_agent_t gpu = targets_.gpu.agent();
  hsa_executable_symbol_t found{};
  EXPECT_EQ(registry_.executable_get_symbol(executable, nullptr, "of_program", gpu, 0, &found),
            HSA_STATUS_SUCCESS)
      << "the agent does not matter for a variable of the program";
  EXPECT_EQ(registry_.executable_get_symbol(executable, "&module", "&variable", gpu, 7, &found),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(name_of(found), "&variable");
  EXPECT_EQ(info<hsa_symbol_linkage_t>(found, HSA_EXECUTABLE_SYMBOL_INFO_LINKAGE), HSA_SYMBOL_LINKAGE_MODULE);
  EXPECT_EQ(info<uint32_t>(found, HSA_EXECUTABLE_SYMBOL_INFO_MODULE_NAME_LENGTH), 7u);
  char module[8] = "";
  EXPECT_EQ(registry_.executable_symbol_get_info(found, HSA_EXECUTABLE_SYMBOL_INFO_MODULE_NAME, module),
            HSA_STATUS_SUCCESS);
  EXPECT_STREQ(module, "&module");
  EXPECT_EQ(registry_.executable_get_symbol(executable, nullptr, "&variable", gpu, 0, &found),
            HSA_STATUS_ERROR_INVALID_SYMBOL_NAME);
  EXPECT_EQ(registry_.executable_get_symbol(executable, "", "of_program", gpu, 0, &found),
            HSA_STATUS_SUCCESS);
}

TEST_F(ExecutableApi, IteratesSymbolsOfAgentAndProgram) {
  const Bytes bytes = host_kernels();
  const hsa_executable_t executable = load_host_kernels(bytes);
  int there = 0;
  ASSERT_EQ(registry_.executable_global_variable_define(executable, "of_program", &there),
            HSA_STATUS_SUCCESS);
  ASSERT_EQ(define_external(executable, targets_.gpu), HSA_STATUS_SUCCESS);

  struct Visit {
    ExecutableApi* test;
    std::vector<std::string> names;
  } visit{this, {}};
  const auto collect = [](hsa_executable_t, hsa_executable_symbol_t found, void* data) {
    auto* to = static_cast<Visit*>(data);
    to->names.push_back(to->test->name_of(found));
    return HSA_STATUS_SUCCESS;
  };
  const auto collect_of_agent = [](hsa_executable_t, hsa_agent_t agent, hsa_executable_symbol_t found,
                                   void* data) {
    auto* to = static_cast<Visit*>(data);
    EXPECT_EQ(to->test->info<hsa_agent_t>(found, HSA_EXECUTABLE_SYMBOL_INFO_AGENT).handle, agent.handle);
    to->names.push_back(to->test->name_of(found));
    return HSA_STATUS_SUCCESS;
  };
  EXPECT_EQ(registry_.executable_iterate_program_symbols(executable, collect, &visit), HSA_STATUS_SUCCESS);
  EXPECT_THAT(visit.names, ElementsAre("of_program"));
  visit.names.clear();
  EXPECT_EQ(
      registry_.executable_iterate_agent_symbols(executable, targets_.gpu.agent(), collect_of_agent, &visit),
      HSA_STATUS_SUCCESS);
  EXPECT_THAT(visit.names, ElementsAre("external_variable"));
  visit.names.clear();
  EXPECT_EQ(
      registry_.executable_iterate_agent_symbols(executable, targets_.cpu.agent(), collect_of_agent, &visit),
      HSA_STATUS_SUCCESS);
  EXPECT_THAT(visit.names, UnorderedElementsAre("external_variable", "counter", "zeros", "pointer_to_counter",
                                                "constant", "yielding", "work.kd"));
  visit.names.clear();
  EXPECT_EQ(registry_.executable_iterate_symbols(executable, collect, &visit), HSA_STATUS_SUCCESS);
  EXPECT_EQ(visit.names.size(), 9u);
  EXPECT_EQ(registry_.executable_iterate_agent_symbols(executable, {12}, collect_of_agent, &visit),
            HSA_STATUS_ERROR_INVALID_AGENT);
}

TEST_F(ExecutableApi, IterationStopsWithStatusOfCallback) {
  const Bytes bytes = host_kernels();
  const hsa_executable_t executable = load_host_kernels(bytes);
  int calls = 0;
  const auto stop = [](hsa_executable_t, hsa_executable_symbol_t, void* data) {
    ++*static_cast<int*>(data);
    return HSA_STATUS_INFO_BREAK;
  };
  EXPECT_EQ(registry_.executable_iterate_symbols(executable, stop, &calls), HSA_STATUS_INFO_BREAK);
  EXPECT_EQ(calls, 1);
}

TEST_F(ExecutableApi, IterationSurvivesDestructionInCallback) {
  const Bytes bytes = host_kernels();
  hsa_executable_t executable = load_host_kernels(bytes);
  struct Visit {
    ExecutableRegistry* registry;
    int calls;
  } visit{&registry_, 0};
  const auto destroy = [](hsa_executable_t which, hsa_executable_symbol_t, void* data) {
    auto* to = static_cast<Visit*>(data);
    if (to->calls++ == 0) {
      EXPECT_EQ(to->registry->executable_destroy(which), HSA_STATUS_SUCCESS);
    }
    return HSA_STATUS_SUCCESS;
  };
  EXPECT_EQ(registry_.executable_iterate_symbols(executable, destroy, &visit), HSA_STATUS_SUCCESS);
  EXPECT_GT(visit.calls, 1);
}

TEST_F(ExecutableApi, ShutDownInvalidatesAllHandles) {
  const Bytes bytes = host_kernels();
  const hsa_executable_t executable = load_host_kernels(bytes);
  ASSERT_EQ(freeze(executable), HSA_STATUS_SUCCESS);
  registry_.shut_down();
  EXPECT_EQ(targets_.cpu.live_allocations, 0);
  EXPECT_EQ(registry_.executable_destroy(executable), HSA_STATUS_ERROR_INVALID_EXECUTABLE);
}

}  // namespace
}  // namespace rigel
