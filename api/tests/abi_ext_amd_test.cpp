// SPDX-License-Identifier: MIT
// Compares hsa_ext_amd.h, hsa_amd_tool.h and hsa_ven_amd_pc_sampling.h with the ABI of ROCr: at compile time
// where possible, here as C++ and in headers_amd_c.c as C; at run time for bit-fields and the two inline
// functions.
#include <gtest/gtest.h>
#include <hsa/hsa_amd_tool.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ven_amd_pc_sampling.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#define ABI_VALUE(name, value) static_assert((name) == (value))
#define ABI_ENUM(type, underlying) static_assert(std::is_same_v<std::underlying_type_t<type>, underlying>)
#define ABI_TAG(tag, type) static_assert(std::is_same_v<tag, type>)
#define ABI_RECORD(type, size, alignment) \
  static_assert(std::is_standard_layout_v<type> && sizeof(type) == (size) && alignof(type) == (alignment))
#define ABI_FIELD(record, field, offset, type) \
  static_assert(offsetof(record, field) == (offset) && std::is_same_v<decltype(record::field), type>)
#define ABI_FLEXIBLE(record, field, offset, type) \
  static_assert(offsetof(record, field) == (offset) && std::is_same_v<decltype(record::field), type[]>)
#define ABI_SLOT(record, function, offset)                \
  static_assert(offsetof(record, function) == (offset) && \
                std::is_same_v<decltype(record::function), decltype(&::function)>)
// The redeclaration is an error unless the function has C linkage.
#define ABI_FUNCTION(name, result, parameters)                      \
  static_assert(std::is_same_v<decltype(name), result parameters>); \
  extern "C" decltype(name) name
#include "api/tests/abi_ext_amd.inc"

// Names for other types.
#define ABI_TYPEDEF(name, ...) static_assert(std::is_same_v<name, __VA_ARGS__>)
ABI_TYPEDEF(hsa_signal_condition32_t, uint32_t);
ABI_TYPEDEF(hsa_amd_packet_type8_t, uint8_t);
ABI_TYPEDEF(hsa_amd_ipc_signal_t, hsa_amd_ipc_memory_t);
ABI_TYPEDEF(hsa_amd_signal_handler, bool (*)(hsa_signal_value_t, void*));
ABI_TYPEDEF(hsa_amd_system_event_callback_t, hsa_status_t (*)(const hsa_amd_event_t*, void*));
ABI_TYPEDEF(hsa_amd_deallocation_callback_t, void (*)(void*, void*));
ABI_TYPEDEF(hsa_amd_tool_event, hsa_status_t (*)(hsa_amd_tool_event_t));
ABI_TYPEDEF(hsa_ven_amd_pcs_data_copy_callback_t, hsa_status_t (*)(void*, size_t, void*));
ABI_TYPEDEF(hsa_ven_amd_pcs_data_ready_callback_t,
            void (*)(void*, size_t, size_t, hsa_ven_amd_pcs_data_copy_callback_t, void*));
ABI_TYPEDEF(hsa_ven_amd_pcs_iterate_configuration_callback_t,
            hsa_status_t (*)(const hsa_ven_amd_pcs_configuration_t*, void*));

// The statuses are in an unnamed enumeration; callers cast them, as here.
static_assert(static_cast<hsa_status_t>(HSA_STATUS_ERROR_NOT_SUPPORTED) == 47);

#if !defined(HSA_RUNTIME_EXT_AMD_H_) || !defined(HSA_RUNTIME_AMD_TOOL_EVENTS_H_) || \
    !defined(HSA_VEN_AMD_PC_SAMPLING_H)
#error "an include guard is not the one that ROCr's headers have"
#endif
#ifndef hsa_ven_amd_pc_sampling_1_00
#error "clients test this macro to learn that the table is declared"
#endif

namespace {

// Returns the 32-bit word at `offset` of a zeroed `Record` after `set`.
template <typename Record, typename Set>
uint32_t word_after(size_t offset, Set set) {
  Record record;
  std::memset(&record, 0, sizeof record);
  set(record);
  uint32_t word;
  std::memcpy(&word, reinterpret_cast<const char*>(&record) + offset, sizeof word);
  return word;
}

template <typename Sample>
void expect_published_wave_word() {
  constexpr size_t kWord = offsetof(Sample, workgroup_id_z) + 4;
  EXPECT_EQ(word_after<Sample>(kWord, [](Sample& s) { s.wave_in_wg = 0x3f; }), 0x0000003fu);
  EXPECT_EQ(word_after<Sample>(kWord, [](Sample& s) { s.reserved_wg = 0x3; }), 0x000000c0u);
  EXPECT_EQ(word_after<Sample>(kWord, [](Sample& s) { s.chiplet = 0x7; }), 0x00000700u);
  EXPECT_EQ(word_after<Sample>(kWord, [](Sample& s) { s.reserved = 0x1fffff; }), 0xfffff800u);
  static_assert(kWord + 4 == offsetof(Sample, hw_id));
}

}  // namespace

TEST(AieErtPacket, CommandWordFollowsVendorHeader) {
  using Packet = hsa_amd_aie_ert_packet_t;
  constexpr size_t kWord = sizeof(hsa_amd_vendor_packet_header_t);
  EXPECT_EQ(word_after<Packet>(kWord, [](Packet& p) { p.state = 0xf; }), 0x0000000fu);
  EXPECT_EQ(word_after<Packet>(kWord, [](Packet& p) { p.custom = 0xff; }), 0x00000ff0u);
  EXPECT_EQ(word_after<Packet>(kWord, [](Packet& p) { p.count = 0x7ff; }), 0x007ff000u);
  EXPECT_EQ(word_after<Packet>(kWord, [](Packet& p) { p.opcode = 0x1f; }), 0x0f800000u);
  EXPECT_EQ(word_after<Packet>(kWord, [](Packet& p) { p.type = 0xf; }), 0xf0000000u);
}

TEST(PcSample, WaveWordIsSameForBothMethods) {
  expect_published_wave_word<perf_sample_hosttrap_v1_t>();
  expect_published_wave_word<perf_sample_snapshot_v1_t>();
}

TEST(LaunchDescriptor, WordsHavePublishedBits) {
  using Prefetch = amd_data_prefetch_t;
  EXPECT_EQ(word_after<Prefetch>(0, [](Prefetch& p) { p.cooperative = 1; }), 0x00000001u);
  EXPECT_EQ(word_after<Prefetch>(0, [](Prefetch& p) { p.temporal = 3; }), 0x00000006u);
  EXPECT_EQ(word_after<Prefetch>(0, [](Prefetch& p) { p.scope = 3; }), 0x00000018u);
  EXPECT_EQ(word_after<Prefetch>(0, [](Prefetch& p) { p.burst_size = 0x7ff; }), 0x0000ffe0u);
  EXPECT_EQ(word_after<Prefetch>(0, [](Prefetch& p) { p.num_burst = 0xffff; }), 0xffff0000u);
  EXPECT_EQ(word_after<Prefetch>(4, [](Prefetch& p) { p.chunk_size = 0xf; }), 0x0000000fu);
  EXPECT_EQ(word_after<Prefetch>(4, [](Prefetch& p) { p.translation_permissions = 3; }), 0x00000030u);
  EXPECT_EQ(word_after<Prefetch>(4, [](Prefetch& p) { p.addr_lo = 0xffffff; }), 0xffffff00u);
  EXPECT_EQ(word_after<Prefetch>(8, [](Prefetch& p) { p.addr_hi = 0x1ffffff; }), 0x01ffffffu);
  EXPECT_EQ(word_after<Prefetch>(12, [](Prefetch& p) { p.stride = 0xffffff; }), 0x00ffffffu);
  EXPECT_EQ(word_after<Prefetch>(12, [](Prefetch& p) { p.mode = 3; }), 0xc0000000u);
  using Launch = amd_launch_descriptor_t;
  EXPECT_EQ(word_after<Launch>(4, [](Launch& l) { l.cu_start = 0xf; }), 0x0000000fu);
  EXPECT_EQ(word_after<Launch>(4, [](Launch& l) { l.cu_count = 0xf; }), 0x000000f0u);
  EXPECT_EQ(word_after<Launch>(4, [](Launch& l) { l.se_en = 3; }), 0x00000300u);
  using Kernel = hsa_amd_metadata_kernel_descriptor_t;
  EXPECT_EQ(word_after<Kernel>(40, [](Kernel& k) { k.kernarg_preload.length = 0x7f; }), 0x007f0000u);
  EXPECT_EQ(word_after<Kernel>(40, [](Kernel& k) { k.kernarg_preload.offset = 0x1ff; }), 0xff800000u);
}

static_assert(offsetof(hsa_amd_memory_copy_op_t, wait) == 64);
static_assert(offsetof(hsa_amd_memory_copy_op_t, wait.mask) == 88);
static_assert(offsetof(hsa_amd_memory_copy_op_t, signal) == 96);
static_assert(offsetof(hsa_amd_memory_copy_op_t, signal.data) == 112);

TEST(VendorPackets, HaveSizeOfAqlPacket) {
  EXPECT_EQ(sizeof(hsa_amd_barrier_value_packet_t), sizeof(hsa_kernel_dispatch_packet_t));
  EXPECT_EQ(sizeof(hsa_amd_aie_ert_packet_t), sizeof(hsa_kernel_dispatch_packet_t));
}

TEST(Flag64, SettingBitSetsOnlyThatBit) {
  for (uint32_t bit = 0; bit < 64; ++bit) {
    uint8_t flags[8] = {};
    hsa_flag_set64(flags, bit);
    for (uint32_t other = 0; other < 64; ++other) {
      EXPECT_EQ(hsa_flag_isset64(flags, other), other == bit) << bit << ", " << other;
    }
    uint64_t whole;
    std::memcpy(&whole, flags, sizeof whole);
    EXPECT_EQ(whole, uint64_t{1} << bit);
  }
}

TEST(Flag64, SettingBitKeepsOthers) {
  uint8_t flags[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f};
  hsa_flag_set64(flags, 0);
  EXPECT_FALSE(hsa_flag_isset64(flags, 63));
  hsa_flag_set64(flags, 63);
  for (uint8_t byte : flags) EXPECT_EQ(byte, 0xff);
}

TEST(MemoryProperties, AreBitNumbers) {
  uint8_t flags[8] = {};
  hsa_flag_set64(flags, HSA_AMD_MEMORY_PROPERTY_AGENT_IS_APU);
  EXPECT_EQ(flags[0], 2);
}
