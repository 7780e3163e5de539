// SPDX-License-Identifier: MIT
// hsa.h and hsa_ven_amd_loader.h against the ABI of ROCr: types at compile time, numbers at run time.
#include <gtest/gtest.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ven_amd_loader.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <span>
#include <string_view>
#include <type_traits>

#include "api/tests/abi_facts.h"

// Functions: type, and C linkage (a redeclaration with another linkage is an error).
#define ABI_FUNCTION(name, ...)                               \
  static_assert(std::is_same_v<decltype(name), __VA_ARGS__>); \
  extern "C" decltype(name) name;
#include "api/tests/abi_hsa_functions.inc"
#undef ABI_FUNCTION

// Enumerations convert and overload by their underlying type. One of them has a fixed one.
template <typename Enum>
constexpr bool kUnderlyingIsUnsigned = std::is_same_v<std::underlying_type_t<Enum>, unsigned>;
static_assert(std::is_same_v<std::underlying_type_t<hsa_region_info_t>, int>);
static_assert(kUnderlyingIsUnsigned<hsa_status_t> && kUnderlyingIsUnsigned<hsa_system_info_t> &&
              kUnderlyingIsUnsigned<hsa_agent_info_t> && kUnderlyingIsUnsigned<hsa_signal_condition_t> &&
              kUnderlyingIsUnsigned<hsa_queue_type_t> && kUnderlyingIsUnsigned<hsa_executable_symbol_info_t>);

// Names for other types.
static_assert(std::is_same_v<hsa_signal_value_t, int64_t>);
static_assert(std::is_same_v<hsa_queue_type32_t, uint32_t>);
static_assert(std::is_same_v<hsa_file_t, int>);

// Struct tags, which C programs and forward declarations use.
#define ABI_TAG(name) static_assert(std::is_same_v<struct name##_s, name##_t>)
ABI_TAG(hsa_dim3);
ABI_TAG(hsa_agent);
ABI_TAG(hsa_cache);
ABI_TAG(hsa_signal);
ABI_TAG(hsa_signal_group);
ABI_TAG(hsa_region);
ABI_TAG(hsa_queue);
ABI_TAG(hsa_kernel_dispatch_packet);
ABI_TAG(hsa_agent_dispatch_packet);
ABI_TAG(hsa_barrier_and_packet);
ABI_TAG(hsa_barrier_or_packet);
ABI_TAG(hsa_isa);
ABI_TAG(hsa_wavefront);
ABI_TAG(hsa_code_object_reader);
ABI_TAG(hsa_executable);
ABI_TAG(hsa_loaded_code_object);
ABI_TAG(hsa_executable_symbol);
ABI_TAG(hsa_code_object);
ABI_TAG(hsa_callback_data);
ABI_TAG(hsa_code_symbol);
ABI_TAG(hsa_ven_amd_loader_segment_descriptor);
ABI_TAG(hsa_ven_amd_loader_1_00_pfn);
ABI_TAG(hsa_ven_amd_loader_1_01_pfn);
ABI_TAG(hsa_ven_amd_loader_1_02_pfn);
ABI_TAG(hsa_ven_amd_loader_1_03_pfn);
#undef ABI_TAG
static_assert(std::is_same_v<enum hsa_ven_amd_loader_loaded_code_object_info_e,
                             hsa_ven_amd_loader_loaded_code_object_info_t>);

// Fields whose type their size does not settle.
#define ABI_FIELD_TYPE(type, field, ...) static_assert(std::is_same_v<decltype(type::field), __VA_ARGS__>)
ABI_FIELD_TYPE(hsa_queue_t, type, hsa_queue_type32_t);
ABI_FIELD_TYPE(hsa_queue_t, base_address, void*);
ABI_FIELD_TYPE(hsa_queue_t, doorbell_signal, hsa_signal_t);
ABI_FIELD_TYPE(hsa_kernel_dispatch_packet_t, kernel_object, uint64_t);
ABI_FIELD_TYPE(hsa_kernel_dispatch_packet_t, kernarg_address, void*);
ABI_FIELD_TYPE(hsa_kernel_dispatch_packet_t, completion_signal, hsa_signal_t);
ABI_FIELD_TYPE(hsa_agent_dispatch_packet_t, return_address, void*);
ABI_FIELD_TYPE(hsa_agent_dispatch_packet_t, arg, uint64_t[4]);
ABI_FIELD_TYPE(hsa_barrier_and_packet_t, dep_signal, hsa_signal_t[5]);
ABI_FIELD_TYPE(hsa_barrier_or_packet_t, dep_signal, hsa_signal_t[5]);
ABI_FIELD_TYPE(hsa_ven_amd_loader_segment_descriptor_t, agent, hsa_agent_t);
ABI_FIELD_TYPE(hsa_ven_amd_loader_segment_descriptor_t, executable, hsa_executable_t);
ABI_FIELD_TYPE(hsa_ven_amd_loader_segment_descriptor_t, code_object_storage_type,
               hsa_ven_amd_loader_code_object_storage_type_t);
ABI_FIELD_TYPE(hsa_ven_amd_loader_segment_descriptor_t, code_object_storage_base, const void*);
ABI_FIELD_TYPE(hsa_ven_amd_loader_segment_descriptor_t, segment_base, const void*);
#undef ABI_FIELD_TYPE

// The entries of the loader's tables are pointers to the functions of the same names.
#define ABI_ENTRY(table, function) \
  static_assert(std::is_same_v<decltype(table::function), decltype(&::function)>)
#define ABI_ENTRIES_1_00(table)                                   \
  ABI_ENTRY(table, hsa_ven_amd_loader_query_host_address);        \
  ABI_ENTRY(table, hsa_ven_amd_loader_query_segment_descriptors); \
  ABI_ENTRY(table, hsa_ven_amd_loader_query_executable)
#define ABI_ENTRIES_1_01(table)                                                \
  ABI_ENTRIES_1_00(table);                                                     \
  ABI_ENTRY(table, hsa_ven_amd_loader_executable_iterate_loaded_code_objects); \
  ABI_ENTRY(table, hsa_ven_amd_loader_loaded_code_object_get_info)
#define ABI_ENTRIES_1_02(table) \
  ABI_ENTRIES_1_01(table);      \
  ABI_ENTRY(table, hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size)
ABI_ENTRIES_1_00(hsa_ven_amd_loader_1_00_pfn_t);
ABI_ENTRIES_1_01(hsa_ven_amd_loader_1_01_pfn_t);
ABI_ENTRIES_1_02(hsa_ven_amd_loader_1_02_pfn_t);
ABI_ENTRIES_1_02(hsa_ven_amd_loader_1_03_pfn_t);
ABI_ENTRY(hsa_ven_amd_loader_1_03_pfn_t, hsa_ven_amd_loader_iterate_executables);

// Macros that clients test.
#if !defined(HSA_LARGE_MODEL) || !defined(HSA_LITTLE_ENDIAN) || !defined(LITTLEENDIAN_CPU)
#error "x86-64 is a little-endian machine of the large model"
#endif
#if !defined(HSA_API) || !defined(HSA_CALL) || !defined(HSA_DEPRECATED) || !defined(HSA_API_EXPORT) || \
    !defined(HSA_API_IMPORT) || !defined(HSA_EXPORT_DECORATOR)
#error "hsa.h lacks a linkage macro"
#endif
#if !defined(HSA_RUNTIME_INC_HSA_H_) || !defined(HSA_VEN_AMD_LOADER_H)
#error "an include guard is not the one that ROCr's headers have"
#endif
static_assert(HSA_VERSION_1_0 == 1);
static_assert(hsa_ven_amd_loader == 001003);

#define ABI_ALIGNOF(type) alignof(type)
#define ABI_NEW_VALUE ABI_VALUE
#define ABI_NEW_FIELD ABI_FIELD

namespace {

constexpr AbiFact kFacts[] = {
#include "api/tests/abi_hsa_facts.inc"
};

std::span<const AbiFact> rows(AbiFacts table) {
  return {table.first, table.count};
}

void expect_published_numbers(AbiFacts table) {
  for (const AbiFact& fact : rows(table)) EXPECT_EQ(fact.actual, fact.expected) << fact.name;
}

}  // namespace

AbiFacts abi_hsa_facts_in_cpp() {
  return {kFacts, std::size(kFacts)};
}

TEST(HsaAbi, CppSeesThePublishedNumbers) {
  expect_published_numbers(abi_hsa_facts_in_cpp());
}

TEST(HsaAbi, CSeesThePublishedNumbers) {
  EXPECT_EQ(abi_hsa_facts_in_c().count, abi_hsa_facts_in_cpp().count);
  expect_published_numbers(abi_hsa_facts_in_c());
}

TEST(HsaAbi, ProgramsBuiltOnTheInstalledHeadersSeeTheSameNumbers) {
  const AbiFacts installed = abi_hsa_facts_as_installed();
  if (installed.count == 0) GTEST_SKIP() << "no <hsa/hsa.h> was installed when this was built";
  std::map<std::string_view, long long> ours;
  for (const AbiFact& fact : rows(abi_hsa_facts_in_cpp())) ours[fact.name] = fact.actual;
  for (const AbiFact& fact : rows(installed)) {
    const auto found = ours.find(fact.name);
    ASSERT_NE(found, ours.end()) << fact.name;
    EXPECT_EQ(found->second, fact.actual) << fact.name;
  }
}

TEST(HsaAbi, EveryFactHasItsOwnName) {
  std::map<std::string_view, int> seen;
  for (const AbiFact& fact : rows(abi_hsa_facts_in_cpp())) EXPECT_EQ(++seen[fact.name], 1) << fact.name;
}

TEST(KernelDispatchPacket, FullHeaderIsHeaderBelowSetup) {
  hsa_kernel_dispatch_packet_t packet{};
  packet.full_header = 0;
  packet.header = 0x1502;
  packet.setup = 3;
  uint32_t word;
  static_assert(offsetof(hsa_kernel_dispatch_packet_t, full_header) == 0);
  std::memcpy(&word, &packet, sizeof word);
  EXPECT_EQ(word, 0x00031502u);
}
