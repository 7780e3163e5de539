#include "core/executable/legacy_code_object.hpp"

#include <algorithm>
#include <cstring>

#include "core/executable/testing/executable_fixture.hpp"

namespace rigel {
namespace {

class LegacyCodeObjectApi : public ExecutableFixture {
 public:
  hsa_code_object_t deserialize(Bytes bytes) {
    hsa_code_object_t object{};
    EXPECT_EQ(registry_.code_object_deserialize(bytes.data(), bytes.size(), nullptr, &object),
              HSA_STATUS_SUCCESS);
    std::fill(bytes.begin(), bytes.end(), '\0');  // the code object has a copy
    return object;
  }

  template <class T>
  T object_info(hsa_code_object_t object, hsa_code_object_info_t attribute) {
    T value{};
    EXPECT_EQ(registry_.code_object_get_info(object, attribute, &value), HSA_STATUS_SUCCESS) << attribute;
    return value;
  }

  template <class T>
  T symbol_info(hsa_code_symbol_t of, hsa_code_symbol_info_t attribute) {
    T value{};
    EXPECT_EQ(registry_.code_symbol_get_info(of, attribute, &value), HSA_STATUS_SUCCESS) << attribute;
    return value;
  }

  hsa_code_symbol_t find(hsa_code_object_t object, const char* name) {
    hsa_code_symbol_t found{};
    EXPECT_EQ(registry_.code_object_get_symbol(object, name, &found), HSA_STATUS_SUCCESS) << name;
    return found;
  }
};

Status allocate(size_t size, hsa_callback_data_t data, void** address) {
  auto* buffer = reinterpret_cast<std::vector<char>*>(data.handle);
  buffer->resize(size);
  *address = buffer->data();
  return HSA_STATUS_SUCCESS;
}

TEST_F(LegacyCodeObjectApi, SerializeReturnsDeserializedBytes) {
  const Bytes bytes = gpu_kernels();
  const hsa_code_object_t object = deserialize(bytes);
  Bytes buffer;
  void* serialized = nullptr;
  size_t size = 0;
  const hsa_callback_data_t data{reinterpret_cast<uint64_t>(&buffer)};
  ASSERT_EQ(registry_.code_object_serialize(object, allocate, data, nullptr, &serialized, &size),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(serialized, buffer.data());
  EXPECT_EQ(size, bytes.size());
  EXPECT_EQ(buffer, bytes);
  const auto refuse = [](size_t, hsa_callback_data_t, void**) { return HSA_STATUS_ERROR_OUT_OF_RESOURCES; };
  EXPECT_EQ(registry_.code_object_serialize(object, refuse, data, nullptr, &serialized, &size),
            HSA_STATUS_ERROR_OUT_OF_RESOURCES);
}

TEST_F(LegacyCodeObjectApi, InfoReturnsAttributes) {
  const hsa_code_object_t object = deserialize(gpu_kernels());
  char version[64];
  std::fill(std::begin(version), std::end(version), 'x');
  ASSERT_EQ(registry_.code_object_get_info(object, HSA_CODE_OBJECT_INFO_VERSION, version),
            HSA_STATUS_SUCCESS);
  EXPECT_STREQ(version, "4.0");
  EXPECT_EQ(version[63], '\0');
  EXPECT_EQ(object_info<hsa_code_object_type_t>(object, HSA_CODE_OBJECT_INFO_TYPE),
            HSA_CODE_OBJECT_TYPE_PROGRAM);
  EXPECT_EQ(object_info<hsa_isa_t>(object, HSA_CODE_OBJECT_INFO_ISA).handle, 1030u);
  EXPECT_EQ(object_info<hsa_machine_model_t>(object, HSA_CODE_OBJECT_INFO_MACHINE_MODEL),
            HSA_MACHINE_MODEL_LARGE);
  EXPECT_EQ(object_info<hsa_profile_t>(object, HSA_CODE_OBJECT_INFO_PROFILE), HSA_PROFILE_BASE);
  EXPECT_EQ(object_info<hsa_default_float_rounding_mode_t>(object,
                                                           HSA_CODE_OBJECT_INFO_DEFAULT_FLOAT_ROUNDING_MODE),
            HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT);
  EXPECT_EQ(registry_.code_object_get_info(object, static_cast<hsa_code_object_info_t>(6), version),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

TEST_F(LegacyCodeObjectApi, SymbolsAreAvailableWithoutLoading) {
  const hsa_code_object_t object = deserialize(gpu_kernels());
  const auto add = find(object, "add.kd");
  EXPECT_EQ(symbol_info<hsa_symbol_kind_t>(add, HSA_CODE_SYMBOL_INFO_TYPE), HSA_SYMBOL_KIND_KERNEL);
  EXPECT_EQ(symbol_info<uint32_t>(add, HSA_CODE_SYMBOL_INFO_NAME_LENGTH), 6u);
  EXPECT_EQ(symbol_info<uint32_t>(add, HSA_CODE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE), 20u);
  EXPECT_EQ(symbol_info<uint32_t>(add, HSA_CODE_SYMBOL_INFO_KERNEL_WAVEFRONT_SIZE), 32u);
  const auto zeros = find(object, "zeros");
  EXPECT_EQ(symbol_info<uint32_t>(zeros, HSA_CODE_SYMBOL_INFO_VARIABLE_SIZE), 400u);
  EXPECT_TRUE(symbol_info<bool>(zeros, HSA_CODE_SYMBOL_INFO_IS_DEFINITION));
  EXPECT_FALSE(symbol_info<bool>(find(object, "outside"), HSA_CODE_SYMBOL_INFO_IS_DEFINITION));
  uint64_t value = 0;
  EXPECT_EQ(registry_.code_symbol_get_info(zeros, HSA_CODE_SYMBOL_INFO_KERNEL_WAVEFRONT_SIZE, &value),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  hsa_code_symbol_t found{};
  EXPECT_EQ(registry_.code_object_get_symbol(object, "nothing", &found),
            HSA_STATUS_ERROR_INVALID_SYMBOL_NAME);
  EXPECT_EQ(registry_.code_object_get_symbol_from_name(object, nullptr, "zeros", &found), HSA_STATUS_SUCCESS);
  EXPECT_EQ(registry_.code_object_get_symbol_from_name(object, "module", "zeros", &found),
            HSA_STATUS_ERROR_INVALID_SYMBOL_NAME);
}

TEST_F(LegacyCodeObjectApi, IteratesSymbols) {
  const hsa_code_object_t object = deserialize(gpu_kernels());
  int count = 0;
  const auto visit = [](hsa_code_object_t, hsa_code_symbol_t, void* data) {
    return ++*static_cast<int*>(data) == 3 ? HSA_STATUS_INFO_BREAK : HSA_STATUS_SUCCESS;
  };
  EXPECT_EQ(registry_.code_object_iterate_symbols(object, visit, &count), HSA_STATUS_INFO_BREAK);
  EXPECT_EQ(count, 3);
}

TEST_F(LegacyCodeObjectApi, ExecutableOutlivesCodeObject) {
  const hsa_executable_t executable = make_executable();
  ASSERT_EQ(define_external(executable, targets_.cpu), HSA_STATUS_SUCCESS);
  const hsa_code_object_t object = deserialize(host_kernels());
  const hsa_agent_t agent = targets_.cpu.agent();
  EXPECT_EQ(registry_.executable_load_code_object({5}, agent, object, nullptr),
            HSA_STATUS_ERROR_INVALID_EXECUTABLE);
  EXPECT_EQ(registry_.executable_load_code_object(executable, {5}, object, nullptr),
            HSA_STATUS_ERROR_INVALID_AGENT);
  EXPECT_EQ(registry_.executable_load_code_object(executable, agent, {5}, nullptr),
            HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
  ASSERT_EQ(registry_.executable_load_code_object(executable, agent, object, nullptr), HSA_STATUS_SUCCESS);
  ASSERT_EQ(registry_.code_object_destroy(object), HSA_STATUS_SUCCESS);
  ASSERT_EQ(freeze(executable), HSA_STATUS_SUCCESS);
  EXPECT_EQ(*reinterpret_cast<int*>(address_of(executable, "counter", targets_.cpu)), 5);
  EXPECT_EQ(registry_.executable_load_code_object(executable, agent, object, nullptr),
            HSA_STATUS_ERROR_FROZEN_EXECUTABLE);
}

// As LLVM 14's OpenMP plugin does: finds a variable in the file and changes its value before loading.
TEST_F(LegacyCodeObjectApi, BytesCanBeWrittenBeforeLoading) {
  const Bytes original = host_kernels();
  const hsa_code_object_t object = deserialize(original);
  auto* const bytes = reinterpret_cast<char*>(object.handle);
  ASSERT_EQ(std::memcmp(bytes, original.data(), original.size()), 0);

  std::fill(bytes, bytes + 4, '\0');  // the magic number
  const hsa_executable_t refused = make_executable();
  EXPECT_EQ(registry_.executable_load_code_object(refused, targets_.cpu.agent(), object, nullptr),
            HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
  EXPECT_EQ(symbol_info<hsa_symbol_kind_t>(find(object, "counter"), HSA_CODE_SYMBOL_INFO_TYPE),
            HSA_SYMBOL_KIND_VARIABLE)
      << "what it was when it was made";
  std::memcpy(bytes, original.data(), 4);
  const hsa_executable_t executable = make_executable();
  ASSERT_EQ(define_external(executable, targets_.cpu), HSA_STATUS_SUCCESS);
  EXPECT_EQ(registry_.executable_load_code_object(executable, targets_.cpu.agent(), object, nullptr),
            HSA_STATUS_SUCCESS);
}

TEST_F(LegacyCodeObjectApi, InvalidHandlesAreNotDereferenced) {
  const hsa_code_object_t object = deserialize(gpu_kernels());
  uint64_t value = 0;
  for (const uint64_t handle : {uint64_t{0}, uint64_t{8}, object.handle + 1, ~uint64_t{0}}) {
    EXPECT_EQ(registry_.code_object_get_info({handle}, HSA_CODE_OBJECT_INFO_TYPE, &value),
              HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
    EXPECT_EQ(registry_.code_object_destroy({handle}), HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
  }
  EXPECT_EQ(registry_.code_object_destroy(object), HSA_STATUS_SUCCESS);
}

TEST_F(LegacyCodeObjectApi, DestroyInvalidatesSymbols) {
  const hsa_code_object_t object = deserialize(gpu_kernels());
  const auto add = find(object, "add.kd");
  ASSERT_EQ(registry_.code_object_destroy(object), HSA_STATUS_SUCCESS);
  uint64_t value = 0;
  hsa_code_symbol_t found{};
  EXPECT_EQ(registry_.code_symbol_get_info(add, HSA_CODE_SYMBOL_INFO_TYPE, &value),
            HSA_STATUS_ERROR_INVALID_CODE_SYMBOL);
  EXPECT_EQ(registry_.code_object_destroy(object), HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
  EXPECT_EQ(registry_.code_object_get_symbol(object, "add.kd", &found), HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
}

TEST_F(LegacyCodeObjectApi, QueriesOfInvalidBytesFail) {
  const hsa_code_object_t object = deserialize(Bytes(100, 'x'));
  uint64_t value = 0;
  hsa_code_symbol_t found{};
  const auto visit = [](hsa_code_object_t, hsa_code_symbol_t, void*) { return HSA_STATUS_SUCCESS; };
  constexpr auto kInvalid = HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
  EXPECT_EQ(registry_.code_object_get_info(object, HSA_CODE_OBJECT_INFO_TYPE, &value), kInvalid);
  EXPECT_EQ(registry_.code_object_get_symbol(object, "x", &found), kInvalid);
  EXPECT_EQ(registry_.code_object_iterate_symbols(object, visit, nullptr), kInvalid);
  EXPECT_EQ(registry_.executable_load_code_object(make_executable(), targets_.cpu.agent(), object, nullptr),
            kInvalid);
  EXPECT_EQ(registry_.code_object_destroy(object), HSA_STATUS_SUCCESS);
}

TEST_F(LegacyCodeObjectApi, RejectsNullPointers) {
  const hsa_code_object_t object = deserialize(gpu_kernels());
  constexpr auto kInvalid = HSA_STATUS_ERROR_INVALID_ARGUMENT;
  hsa_code_object_t made{};
  hsa_code_symbol_t found{};
  char byte = 0;
  void* serialized = nullptr;
  size_t size = 0;
  EXPECT_EQ(registry_.code_object_deserialize(nullptr, 1, nullptr, &made), kInvalid);
  EXPECT_EQ(registry_.code_object_deserialize(&byte, 0, nullptr, &made), kInvalid);
  EXPECT_EQ(registry_.code_object_deserialize(&byte, 1, nullptr, nullptr), kInvalid);
  EXPECT_EQ(registry_.code_object_serialize(object, nullptr, {}, nullptr, &serialized, &size), kInvalid);
  EXPECT_EQ(registry_.code_object_serialize(object, allocate, {}, nullptr, nullptr, &size), kInvalid);
  EXPECT_EQ(registry_.code_object_serialize(object, allocate, {}, nullptr, &serialized, nullptr), kInvalid);
  EXPECT_EQ(registry_.code_object_get_info(object, HSA_CODE_OBJECT_INFO_TYPE, nullptr), kInvalid);
  EXPECT_EQ(registry_.code_object_get_symbol(object, nullptr, &found), kInvalid);
  EXPECT_EQ(registry_.code_object_get_symbol(object, "add.kd", nullptr), kInvalid);
  EXPECT_EQ(registry_.code_symbol_get_info(found, HSA_CODE_SYMBOL_INFO_TYPE, nullptr), kInvalid);
  EXPECT_EQ(registry_.code_object_iterate_symbols(object, nullptr, nullptr), kInvalid);
}

}  // namespace
}  // namespace rigel
