// Dispatches that fail, trap or raise exceptions, and what is reported of them.
#include <elf.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <vector>

#include "plugins/vgpu/cp/host_fault.hpp"
#include "plugins/vgpu/exec/test_scheduler.hpp"

namespace rigel::vgpu::exec {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::SchedulerTest;
using Words = SchedulerTest::Words;

const SchedulerTest::Words kReadUnmapped = {0xbf800000, 0xbe8401ff, 0x00001000, 0xc0020182, 0, 0xbf810000};
const SchedulerTest::Words kReadFirst = {0xc0020180, 0, 0xbf8cc07f, 0xbf810000};
const SchedulerTest::Words kHalt = {0xbf8d0001, 0xbf810000};

class FailingDispatchTest : public SchedulerTest {};

TEST_P(FailingDispatchTest, ReportsAccessPastPrivateMemory) {
  // buffer_store_dword v0, off, s[4:7], s9 offset:28; buffer_load_dword v1, off, s[4:7], s9 offset:32
  const Words program = {0xe070001c, 0x09010000, 0xe0500020, 0x09010100, 0xbf8c0f70, 0xbf810000};
  const vgpu::testing::Buffer scratch = bus_.allocate(65536);
  for (const Compilation compilation : {Compilation::kNone, Compilation::kBeforehand}) {
    if (compilation != Compilation::kNone && !compiler::why_no_compiler().empty()) continue;
    scheduler_.reset();
    device_.compilation = compilation;
    make();
    Dispatch d = dispatch(program, 3);
    d.pgm_rsrc2 |= 1;
    d.scratch_va = scratch.va;
    d.private_bytes = 32;
    d.scratch_wave_bytes = 2048;
    d.scratch_waves = 8;
    d.flat_private_base = uint64_t{0x20000} << 32;
    const uint32_t words[] = {static_cast<uint32_t>(scratch.va),
                              static_cast<uint32_t>(scratch.va >> 32) | 1u << 31, 65536, 3u << 21 | 1u << 23};
    std::copy_n(words, 4, d.user_sgprs.begin() + 4);
    d.user_sgpr_count = 8;
    const DispatchResult result = run(d);
    EXPECT_EQ(result.kind, Kind::kFault);
    EXPECT_EQ(result.fault.va, (uint64_t{0x20000} << 32) + 32);
    EXPECT_THAT(result.reason, HasSubstr("byte 32 of a work-item's private memory (stack) of 32"));
    EXPECT_THAT(result.reason, HasSubstr("buffer_load_dword"));
  }
}

TEST_P(FailingDispatchTest, FaultReportsAddressAccessAndQueue) {
  const Dispatch d = dispatch(kReadUnmapped, 20);
  const DispatchResult result = run(d);
  EXPECT_EQ(result.kind, Kind::kFault);
  EXPECT_EQ(result.fault.va, 0x1000u);
  EXPECT_EQ(result.fault.access, Access::kRead);
  EXPECT_EQ(result.fault.reason, FaultReason::kNotPresent);
  EXPECT_EQ(result.fault.queue_id, 1u);
  EXPECT_NE(result.reason.find("entry + 0xc"), std::string::npos) << result.reason;
}

// The kernel's name comes from the symbols of the code object that contains its descriptor.
TEST_P(FailingDispatchTest, ReportsShowKernelCodeAndRegisters) {
  struct Image {
    Elf64_Ehdr header{};
    Elf64_Phdr segment{};
    Elf64_Dyn dynamic[4]{};
    uint32_t hash[2] = {1, 3};  // buckets, symbols
    Elf64_Sym symbols[3]{};
    char names[32] = "\0other.kd\0reads_nothing.kd";
  } image;
  std::memcpy(image.header.e_ident, ELFMAG, SELFMAG);
  image.header.e_ident[EI_CLASS] = ELFCLASS64;
  image.header.e_phoff = offsetof(Image, segment);
  image.header.e_phentsize = sizeof(Elf64_Phdr);
  image.header.e_phnum = 1;
  image.segment.p_type = PT_DYNAMIC;
  image.segment.p_vaddr = offsetof(Image, dynamic);
  image.segment.p_memsz = sizeof image.dynamic;
  image.dynamic[0] = {DT_SYMTAB, {offsetof(Image, symbols)}};
  image.dynamic[1] = {DT_STRTAB, {offsetof(Image, names)}};
  image.dynamic[2] = {DT_HASH, {offsetof(Image, hash)}};
  for (uint32_t i = 1; i < 3; ++i) image.symbols[i].st_shndx = 1;
  image.symbols[1].st_name = 1;
  image.symbols[1].st_value = 0x1000;
  image.symbols[2].st_name = 10;
  image.symbols[2].st_value = 0x1040;
  const vgpu::testing::Buffer object = bus_.allocate(8192);
  std::memcpy(object.host, &image, sizeof image);

  Dispatch d = dispatch(kReadUnmapped, 1);
  d.kernel_object_va = object.va + 0x1040;
  const uint64_t faulting = d.entry_va + 0xc;
  const std::string fault = run(d).reason;
  d = dispatch({0xbe940085, 0xffffffff}, 1);  // s_mov_b32 s20, 5; invalid
  d.kernel_object_va = object.va + 0x1000;
  const std::string illegal = run(d).reason;
  const auto has = [](const std::string& report, std::string_view what) {
    EXPECT_NE(report.find(what), std::string::npos) << what << " is not in\n" << report;
  };
  has(fault, "memory fault reading 0x1000 (not mapped)");
  has(fault, "\n  kernel       reads_nothing\n");
  has(fault, "\n  work-group   (0, 0, 0), wave 0, pc 0x");
  has(fault, fmt::format("=> {:#x}  s_load_dword s6, s[4:5], 0x0", faulting));
  has(fault, "\n  exec         ffffffffffffffff");
  has(fault, "\n  s[4:5]       0000000000001000");
  EXPECT_EQ(fault.find("\n  s[0:1]"), std::string::npos) << "a register that is not read";
  has(illegal, "\n  kernel       other\n");
  has(illegal, fmt::format("   {:#x}  s_mov_b32 s20, 5", d.entry_va));
  has(illegal, fmt::format("=> {:#x}  .long 0xffffffff", d.entry_va + 4));
}

TEST_P(FailingDispatchTest, UnmappedHostMemoryFaults) {
  if (!catch_host_faults()) GTEST_SKIP() << "faults cannot be caught here";
  void* const page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  bus_.map_host(0x70000, static_cast<std::byte*>(page), 4096);
  for (const Words& program : {kStoreId, kReadFirst}) {
    Dispatch d = dispatch(program, 20);
    d.user_sgprs[0] = 0x70000;
    d.user_sgprs[1] = 0;
    const DispatchResult result = run(d);
    EXPECT_EQ(result.kind, Kind::kFault);
    EXPECT_EQ(result.fault.va / 4096, 0x70u);
    EXPECT_EQ(result.fault.reason, FaultReason::kNotPresent);
  }
  EXPECT_EQ(run(dispatch(kStoreId, 20)).kind, Kind::kDone) << "others go on";
  bus_.unmap({0x70000, nullptr, 4096});
  munmap(page, 4096);
}

TEST_P(FailingDispatchTest, IllegalInstructionIsQueueError) {
  const DispatchResult result = run(dispatch({0xbf800000, 0xffffffff}, 20));
  EXPECT_EQ(result.kind, Kind::kError);
  EXPECT_EQ(result.error, QueueError::kIllegalInstruction);
  EXPECT_NE(result.reason.find("entry + 0x4"), std::string::npos) << result.reason;
}

TEST_P(FailingDispatchTest, CancelEndsSpinningSleepingAndHaltedWaves) {
  for (const Words& program : {kSpin, kSpinAsleep, kHalt}) {
    for (const uint32_t groups : {1u, 300u}) {
      auto result = start(dispatch(program, groups));
      EXPECT_EQ(result.wait_for(std::chrono::milliseconds(2)), std::future_status::timeout);
      scheduler_->cancel(2);
      EXPECT_EQ(result.wait_for(std::chrono::milliseconds(2)), std::future_status::timeout)
          << "another queue";
      scheduler_->cancel(1);
      EXPECT_EQ(result.get().kind, Kind::kCancelled);
    }
  }
}

// The handler notifies the program, which may then exit.
TEST_P(FailingDispatchTest, ReportsTrapBeforeHandlerRuns) {
  // The handler sets the flag and returns to the instruction after the trap.
  const Words handler = {0xbe840081, 0xc0420100, 0x00000000, 0x866dff6d,
                         0x0000ffff, 0x806c846c, 0x826d806d, 0xbe801f6c};
  const vgpu::testing::Buffer code = bus_.allocate(handler.size() * 4);
  std::memcpy(code.host, handler.data(), handler.size() * 4);
  bus_.trap.code_va = code.va;
  std::atomic<uint32_t> flag_when_reported{77};
  bus_.on_warning = [&] { flag_when_reported = word(0); };
  make();
  EXPECT_EQ(run(dispatch({0xbf920002, 0xbf810000}, 50)).kind, DispatchResult::Kind::kDone);
  EXPECT_EQ(flag_when_reported, 0u);
  EXPECT_EQ(word(0), 1u) << "the handler has run";
  const auto warnings = bus_.warnings();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("trap 2"), std::string::npos) << warnings[0];
}

TEST_P(FailingDispatchTest, WarnsOnceOfExceptionsThatModeEnables) {
  constexpr uint32_t kSetModeEnables = 0xba003301, kDivisionByZero = 4, kReciprocalOfZero = 0x7e024480;
  constexpr uint32_t kClearModeEnables = 0xba003301, kGetTrapStatus = 0xb884f803, kStoreS4 = 0xc0420100;
  EXPECT_EQ(run(dispatch({kSetModeEnables, kDivisionByZero, kReciprocalOfZero, kGetTrapStatus, kStoreS4, 0,
                          kClearModeEnables, 0, 0xbf810000},
                         50))
                .kind,
            Kind::kDone);
  EXPECT_EQ(word(0), 0u) << "TRAPSTS";
  EXPECT_THAT(bus_.warnings(), ElementsAre(HasSubstr("arithmetic exceptions (EXCP_EN)")));
}

TEST_P(FailingDispatchTest, WarnsOnceOfExceptionsThatKernelDescriptorEnables) {
  Dispatch with_exceptions = dispatch({0xbf810000}, 2);
  with_exceptions.pgm_rsrc2 |= 1u << 26;  // division by zero
  for (int i = 0; i < 2; ++i) EXPECT_EQ(run(with_exceptions).kind, Kind::kDone);
  EXPECT_THAT(bus_.warnings(), ElementsAre(HasSubstr("arithmetic exceptions (EXCP_EN)")));
}

INSTANTIATE_TEST_SUITE_P(Workers, FailingDispatchTest, ::testing::ValuesIn(testing::scheduler_parameters()),
                         testing::scheduler_parameter_name);

}  // namespace
}  // namespace rigel::vgpu::exec
