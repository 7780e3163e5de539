// SPDX-License-Identifier: MIT
// Compares the amd_hsa headers, images, finalizer, aqlprofile and API tables with the ABI of ROCr: at compile
// time where possible, here as C++ and in headers_misc_c.c as C; at run time for macros and inline functions.
// abi_misc/ has one file for each header, with these macros:
//
//   ABI_VALUE(name, value)                    an enumerator or a macro
//   ABI_VARIABLE(name, value)                 a constant that is a variable
//   ABI_ENUM(type, underlying)                an enumeration, and its underlying type in C++
//   ABI_TAG(tag, type)                        the tag behind a typedef
//   ABI_RECORD(type, size, alignment)         a struct
//   ABI_OFFSET(record, field, offset)         a member whose type has no name
//   ABI_FIELD(record, field, offset, type)    any other member
//   ABI_SLOT(record, function, offset)        a pointer to the function of the same name
//   ABI_ENTRY(table, function, offset)        the same in an API table, where its name ends in _fn
//   ABI_TYPEDEF(name, type)                   another name for a type
//   ABI_FUNCTION(name, result, (parameters))  a function with C linkage
//   ABI_TABLE_FUNCTION                        a function that is not exported
#include <elf.h>
#include <gtest/gtest.h>
#include <hsa/amd_hsa_common.h>
#include <hsa/amd_hsa_elf.h>
#include <hsa/amd_hsa_kernel_code.h>
#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa_api_trace.h>
#include <hsa/hsa_api_trace_version.h>
#include <hsa/hsa_ext_finalize.h>
#include <hsa/hsa_ext_image.h>
#include <hsa/hsa_ven_amd_aqlprofile.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored \
    "-Wignored-attributes"  // Types are compared without their alignment on purpose.
#endif

#define ABI_VALUE(name, value) static_assert((name) == (value))
#define ABI_VARIABLE(name, value) ABI_VALUE(name, value)
#define ABI_ENUM(type, underlying) static_assert(std::is_same_v<std::underlying_type_t<type>, underlying>)
#define ABI_TAG(tag, type) static_assert(std::is_same_v<tag, type>)
#define ABI_RECORD(type, size, alignment) \
  static_assert(std::is_standard_layout_v<type> && sizeof(type) == (size) && alignof(type) == (alignment))
#define ABI_OFFSET(record, field, offset) static_assert(offsetof(record, field) == (offset))
#define ABI_FIELD(record, field, offset, ...)          \
  static_assert(offsetof(record, field) == (offset) && \
                std::is_same_v<decltype(std::declval<record&>().field), __VA_ARGS__>)
#define ABI_SLOT(record, function, offset) ABI_FIELD(record, function, offset, decltype(&::function))
#define ABI_ENTRY(table, function, offset) ABI_FIELD(table, function##_fn, offset, decltype(&::function))
#define ABI_TYPEDEF(name, ...) static_assert(std::is_same_v<name, __VA_ARGS__>)
#define ABI_TABLE_FUNCTION(name, result, parameters) \
  static_assert(std::is_same_v<decltype(name), result parameters>)
// The redeclaration is an error unless the function has C linkage.
#define ABI_FUNCTION(name, result, parameters)  \
  ABI_TABLE_FUNCTION(name, result, parameters); \
  extern "C" decltype(name) name

#include "api/tests/abi_misc/amd_hsa_elf.inc"
#include "api/tests/abi_misc/amd_hsa_kernel_code.inc"
#include "api/tests/abi_misc/amd_hsa_queue.inc"
#include "api/tests/abi_misc/amd_hsa_signal.inc"
#include "api/tests/abi_misc/hsa_api_trace.inc"
#include "api/tests/abi_misc/hsa_api_trace_version.inc"
#include "api/tests/abi_misc/hsa_ext_finalize.inc"
#include "api/tests/abi_misc/hsa_ext_image.inc"
#include "api/tests/abi_misc/hsa_ven_amd_aqlprofile.inc"

// Unnamed enumerations.
static_assert(std::is_same_v<std::underlying_type_t<decltype(ELF::EF_AMDGPU_MACH)>, unsigned>);
static_assert(std::is_same_v<std::underlying_type_t<decltype(ELF::R_AMDGPU_ABS64)>, unsigned>);
static_assert(static_cast<hsa_status_t>(HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED) == 0x3001);
static_assert(static_cast<hsa_agent_info_t>(HSA_EXT_AGENT_INFO_MAX_SAMPLER_HANDLERS) == 0x300b);

// Present in ROCm 5's headers, but not in those of 2025.
ABI_FIELD(amd_signal_t, legacy_hardware_doorbell_ptr, 8, volatile uint32_t*);
ABI_FIELD(amd_queue_t, scratch_backing_memory_byte_size, 168, uint64_t);
ABI_VALUE(R_AMDGPU_NONE, 0);
ABI_VALUE(R_AMDGPU_32_LOW, 1);
ABI_VALUE(R_AMDGPU_32_HIGH, 2);
ABI_VALUE(R_AMDGPU_64, 3);
ABI_VALUE(R_AMDGPU_INIT_SAMPLER, 4);
ABI_VALUE(R_AMDGPU_INIT_IMAGE, 5);
ABI_VALUE(R_AMDGPU_RELATIVE64, 13);

// st_other: flags in bits 7:4, allocation in 3:2, visibility in 1:0.
static_assert(ELF64_ST_AMDGPU_OTHER(1, 2, 3) == 0x1b);
static_assert(ELF64_ST_AMDGPU_OTHER(0, 6, 7) == 0xb);
static_assert(ELF64_ST_AMDGPU_ALLOCATION(0x1b) == 2 && ELF64_ST_AMDGPU_FLAGS(0x1b) == 1);

#if !defined(AMD_HSA_COMMON_H) || !defined(AMD_HSA_ELF_H) || !defined(AMD_HSA_KERNEL_CODE_H) ||             \
    !defined(AMD_HSA_QUEUE_H) || !defined(AMD_HSA_SIGNAL_H) || !defined(HSA_RUNTIME_INC_HSA_API_TRACE_H) || \
    !defined(HSA_RUNTIME_INC_HSA_API_TRACE_VERSION_H) || !defined(HSA_RUNTIME_INC_HSA_EXT_FINALIZE_H_) ||   \
    !defined(HSA_EXT_IMAGE_H) || !defined(OPENSRC_HSA_RUNTIME_INC_HSA_VEN_AMD_AQLPROFILE_H_)
#error "an include guard is not the one that ROCr's headers have"
#endif

extern "C" uint32_t abi_misc_bits_in_c(uint32_t word, uint32_t value);

namespace {

TEST(AbiStrings, MatchRocr) {
  EXPECT_STREQ(AMD_HSA_ABI_VERSION, "AMD GPU Architecture v0.35 (June 25, 2015)");
  EXPECT_STREQ(kAqlProfileLib,
               sizeof(void*) == 8 ? "libhsa-amd-aqlprofile64.so" : "libhsa-amd-aqlprofile.so");
}

TEST(AbiBits, GetReadsOneField) {
  const uint32_t word = 0xa5a5a5a5;
  EXPECT_EQ(AMD_HSA_BITS_GET(word, AMD_COMPUTE_PGM_RSRC_TWO_USER_SGPR_COUNT), 0x12u);
  EXPECT_EQ(AMD_HSA_BITS_GET(word, AMD_COMPUTE_PGM_RSRC_TWO_GRANULATED_LDS_SIZE), 0x14bu);
  EXPECT_EQ(AMD_HSA_BITS_GET(word & 0xff00, AMD_COMPUTE_PGM_RSRC_TWO_USER_SGPR_COUNT), 0u);
}

TEST(AbiBits, SetChangesOneFieldAndTruncates) {
  uint32_t word = 0xffffffff;
  AMD_HSA_BITS_SET(word, AMD_COMPUTE_PGM_RSRC_TWO_USER_SGPR_COUNT, 4 | 1);
  EXPECT_EQ(word, 0xffffffcbu);
  word = 0;
  AMD_HSA_BITS_SET(word, AMD_COMPUTE_PGM_RSRC_TWO_USER_SGPR_COUNT, 0x7fu);
  EXPECT_EQ(word, 0x3eu);
}

TEST(AbiBits, FieldCanContainTopBit) {
  uint32_t word = 0;
  AMD_HSA_BITS_SET(word, AMD_COMPUTE_PGM_RSRC_TWO_RESERVED1, 1u);
  EXPECT_EQ(word, 0x80000000u);
  EXPECT_EQ(AMD_HSA_BITS_GET(word, AMD_COMPUTE_PGM_RSRC_TWO_RESERVED1), 1u);
  AMD_HSA_BITS_SET(word, AMD_QUEUE_PROPERTIES_RESERVED1, 0u);
  EXPECT_EQ(word, 0u);
}

TEST(AbiBits, SetIsSingleStatementInC) {
  EXPECT_EQ(abi_misc_bits_in_c(0, 3), 0xfc0c0000u);
  EXPECT_EQ(abi_misc_bits_in_c(0xffffffff, 4), 0x03f3ffffu);  // 4 does not fit: reads back as 0
}

// A distinguishable function pointer. Never called.
template <typename Function>
Function marked(uintptr_t mark) {
  return reinterpret_cast<Function>(mark);
}

// A container in which every entry is marked.
std::unique_ptr<HsaApiTableContainer> runtime_tables() {
  auto tables = std::make_unique<HsaApiTableContainer>();
  const auto mark = [](auto& table) {
    std::memset(reinterpret_cast<char*>(&table) + sizeof(ApiTableVersion), 0x5a,
                sizeof table - sizeof(ApiTableVersion));
  };
  mark(tables->core);
  mark(tables->amd_ext);
  mark(tables->finalizer_ext);
  mark(tables->image_ext);
  mark(tables->tools);
  mark(tables->pc_sampling_ext);
  return tables;
}

template <typename Table>
bool same(const Table& a, const Table& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

template <typename Table>
bool has_no_entries(const Table& table) {
  const Table empty{};
  return std::memcmp(reinterpret_cast<const char*>(&table) + sizeof(ApiTableVersion),
                     reinterpret_cast<const char*>(&empty) + sizeof(ApiTableVersion),
                     sizeof table - sizeof(ApiTableVersion)) == 0;
}

bool is_void(const ApiTableVersion& version) {
  return version.major_id == 0 && version.minor_id == 0 && version.step_id == 0;
}

// Returns the table of an older runtime: only the memory of its first bytes, so that sanitizers detect larger
// reads. Not inlined, because they would otherwise detect the type's size.
[[gnu::noinline]] std::unique_ptr<unsigned char[]> as_of_old(const void* table, uint32_t bytes,
                                                             uint32_t step) {
  auto memory = std::make_unique<unsigned char[]>(bytes);
  std::memcpy(memory.get(), table, bytes);
  std::memcpy(memory.get() + offsetof(ApiTableVersion, minor_id), &bytes, sizeof bytes);
  std::memcpy(memory.get() + offsetof(ApiTableVersion, step_id), &step, sizeof step);
  return memory;
}

TEST(ApiTables, NewContainerHasVersionsWithoutFunctions) {
  alignas(HsaApiTableContainer) unsigned char memory[sizeof(HsaApiTableContainer)];
  std::memset(memory, 0xff, sizeof memory);
  const auto& tables = *new (memory) HsaApiTableContainer;
  EXPECT_EQ(tables.root.version.major_id, 3u);
  EXPECT_EQ(tables.root.version.minor_id, sizeof(HsaApiTable));
  EXPECT_EQ(tables.root.version.step_id, 1u);
  EXPECT_EQ(tables.root.version.reserved, 0u);
  EXPECT_EQ(tables.core.version.major_id, 2u);
  EXPECT_EQ(tables.core.version.minor_id, sizeof(CoreApiTable));
  EXPECT_EQ(tables.amd_ext.version.major_id, 2u);
  EXPECT_EQ(tables.amd_ext.version.step_id, 19u);
  EXPECT_EQ(tables.finalizer_ext.version.minor_id, sizeof(FinalizerExtTable));
  EXPECT_EQ(tables.image_ext.version.step_id, 1u);
  EXPECT_EQ(tables.tools.version.major_id, 1u);
  EXPECT_EQ(tables.pc_sampling_ext.version.minor_id, sizeof(PcSamplingExtTable));
  EXPECT_EQ(tables.root.core_, &tables.core);
  EXPECT_EQ(tables.root.amd_ext_, &tables.amd_ext);
  EXPECT_EQ(tables.root.finalizer_ext_, &tables.finalizer_ext);
  EXPECT_EQ(tables.root.image_ext_, &tables.image_ext);
  EXPECT_EQ(tables.root.tools_, &tables.tools);
  EXPECT_EQ(tables.root.pc_sampling_ext_, &tables.pc_sampling_ext);
  EXPECT_TRUE(has_no_entries(tables.core) && has_no_entries(tables.amd_ext) &&
              has_no_entries(tables.finalizer_ext) && has_no_entries(tables.image_ext) &&
              has_no_entries(tables.tools) && has_no_entries(tables.pc_sampling_ext));
}

TEST(ApiTables, CopiesEverythingFromSameVersion) {
  const auto runtime = runtime_tables();
  HsaApiTableContainer tool;
  copyTables(&runtime->root, &tool.root);
  EXPECT_TRUE(same(tool.core, runtime->core));
  EXPECT_TRUE(same(tool.amd_ext, runtime->amd_ext));
  EXPECT_TRUE(same(tool.finalizer_ext, runtime->finalizer_ext));
  EXPECT_TRUE(same(tool.image_ext, runtime->image_ext));
  EXPECT_TRUE(same(tool.tools, runtime->tools));
  EXPECT_TRUE(same(tool.pc_sampling_ext, runtime->pc_sampling_ext));
  EXPECT_EQ(tool.root.core_, &tool.core) << "the copy's root must keep pointing at the copy";
}

TEST(ApiTables, CopyOntoItselfHasNoEffect) {
  const auto runtime = runtime_tables();
  const HsaApiTableContainer before = *runtime;
  copyTables(&runtime->root, &runtime->root);
  EXPECT_TRUE(same(*runtime, before));
}

TEST(ApiTables, CopyFromOlderRuntimeStopsAtItsEnd) {
  const auto runtime = runtime_tables();
  const uint32_t older = offsetof(AmdExtTable, hsa_amd_enable_logging_fn);
  const auto memory = as_of_old(&runtime->amd_ext, older, 4);
  runtime->root.amd_ext_ = reinterpret_cast<AmdExtTable*>(memory.get());

  HsaApiTableContainer tool;
  tool.amd_ext.hsa_amd_enable_logging_fn = marked<decltype(&hsa_amd_enable_logging)>(0x77);
  copyTables(&runtime->root, &tool.root);
  EXPECT_EQ(tool.amd_ext.version.major_id, 2u);
  EXPECT_EQ(tool.amd_ext.version.minor_id, older);
  EXPECT_EQ(tool.amd_ext.version.step_id, 4u);
  EXPECT_EQ(tool.amd_ext.hsa_amd_vmem_address_reserve_align_fn,
            runtime->amd_ext.hsa_amd_vmem_address_reserve_align_fn);
  EXPECT_EQ(tool.amd_ext.hsa_amd_enable_logging_fn, marked<decltype(&hsa_amd_enable_logging)>(0x77));
  EXPECT_EQ(tool.amd_ext.hsa_amd_signal_wait_all_fn, nullptr);
}

TEST(ApiTables, CopyToOlderToolStopsAtItsEnd) {
  const auto runtime = runtime_tables();
  HsaApiTableContainer tool;
  tool.image_ext.version.minor_id = offsetof(ImageExtTable, hsa_ext_sampler_create_v2_fn);
  copyTables(&runtime->root, &tool.root);
  EXPECT_EQ(tool.image_ext.version.minor_id, offsetof(ImageExtTable, hsa_ext_sampler_create_v2_fn));
  EXPECT_EQ(tool.image_ext.version.step_id, runtime->image_ext.version.step_id);
  EXPECT_EQ(tool.image_ext.hsa_ext_image_create_with_layout_fn,
            runtime->image_ext.hsa_ext_image_create_with_layout_fn);
  EXPECT_EQ(tool.image_ext.hsa_ext_sampler_create_v2_fn, nullptr);
}

TEST(ApiTables, CopyFromOlderRootIgnoresMissingTables) {
  const auto runtime = runtime_tables();
  const uint32_t older = offsetof(HsaApiTable, tools_);
  const auto memory = as_of_old(&runtime->root, older, 0);
  HsaApiTableContainer tool;
  copyTables(reinterpret_cast<const HsaApiTable*>(memory.get()), &tool.root);
  EXPECT_EQ(tool.root.version.minor_id, older);
  EXPECT_TRUE(same(tool.image_ext, runtime->image_ext));
  EXPECT_TRUE(has_no_entries(tool.tools));
  EXPECT_TRUE(has_no_entries(tool.pc_sampling_ext));
}

TEST(ApiTables, CopyRejectsOtherLayout) {
  const auto runtime = runtime_tables();
  runtime->core.version.major_id = 1;
  runtime->image_ext.version.major_id = 0;
  HsaApiTableContainer tool;
  tool.image_ext.version.major_id = 0;
  copyTables(&runtime->root, &tool.root);
  EXPECT_TRUE(is_void(tool.core.version));
  EXPECT_TRUE(has_no_entries(tool.core));
  EXPECT_TRUE(is_void(tool.image_ext.version)) << "two tables without a layout have none in common";
  EXPECT_TRUE(has_no_entries(tool.image_ext));
  EXPECT_TRUE(same(tool.amd_ext, runtime->amd_ext)) << "the other tables are copied all the same";

  HsaApiTableContainer other;
  runtime->root.version.major_id = 1;
  copyTables(&runtime->root, &other.root);
  EXPECT_TRUE(is_void(other.root.version));
  EXPECT_TRUE(has_no_entries(other.amd_ext));
  EXPECT_EQ(other.amd_ext.version.major_id, 2u);
}

TEST(ApiTables, CopyAcceptsMissingTables) {
  const auto runtime = runtime_tables();
  runtime->root.tools_ = nullptr;
  HsaApiTableContainer tool;
  tool.root.finalizer_ext_ = nullptr;
  copyTables(&runtime->root, &tool.root);
  EXPECT_TRUE(is_void(tool.tools.version));
  EXPECT_TRUE(has_no_entries(tool.tools));
  EXPECT_TRUE(has_no_entries(tool.finalizer_ext));
  EXPECT_TRUE(same(tool.pc_sampling_ext, runtime->pc_sampling_ext));
}

TEST(ApiTables, CopyRejectsTableTooSmallForVersion) {
  const auto runtime = runtime_tables();
  runtime->core.version.minor_id = sizeof(ApiTableVersion) - 1;
  runtime->amd_ext.version.minor_id = sizeof(ApiTableVersion);
  HsaApiTableContainer tool;
  copyTables(&runtime->root, &tool.root);
  EXPECT_TRUE(is_void(tool.core.version));
  EXPECT_TRUE(has_no_entries(tool.core));
  EXPECT_EQ(tool.amd_ext.version.minor_id, sizeof(ApiTableVersion));
  EXPECT_TRUE(has_no_entries(tool.amd_ext));
}

TEST(ApiTables, CopyApiKeepsVersion) {
  const auto runtime = runtime_tables();
  HsaApiTableContainer tool;
  tool.tools.version.step_id = 9;
  copyApi(&tool.tools, &runtime->tools, sizeof(ToolsApiTable));
  EXPECT_EQ(tool.tools.version.step_id, 9u);
  EXPECT_EQ(tool.tools.hsa_amd_tool_scratch_event_async_reclaim_end_fn,
            runtime->tools.hsa_amd_tool_scratch_event_async_reclaim_end_fn);
  copyApi(&tool.core, &runtime->core, 0);
  EXPECT_TRUE(has_no_entries(tool.core));
}

TEST(ApiTables, MinReturnsSmaller) {
  EXPECT_EQ(Min(1, 2), 1u);
  EXPECT_EQ(Min(0xffffffff, 2), 2u);
}

}  // namespace
