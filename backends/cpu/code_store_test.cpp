#include "backends/cpu/code_store.hpp"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <string>

#include "api/support/testing/failing_requests.hpp"
#include "backends/cpu/capabilities.hpp"
#include "backends/cpu/features.hpp"
#include "backends/cpu/testing/rig.hpp"

namespace rigel::cpu {
namespace {

using namespace testing;
using ::testing::HasSubstr;

class CpuCode : public ::testing::Test {
 protected:
  uint32_t accepts(const std::vector<std::byte>& file) {
    hsabe_code_target_t target{};
    target.struct_size = sizeof target;
    const auto* const header = reinterpret_cast<const Elf64_Ehdr*>(file.data());
    target.elf_machine = header->e_machine;
    target.elf_os_abi = header->e_ident[EI_OSABI];
    target.elf_abi_version = header->e_ident[EI_ABIVERSION];
    target.image = file.data();
    target.image_size = file.size();
    return rig.backend().code->accepts(rig.device(), &target);
  }

  // Returns the note of a compiled code object.
  static hsa_cpu_note_t* note_of(std::vector<std::byte>& file) {
    const std::string name(HSA_CPU_NOTE_NAME, sizeof HSA_CPU_NOTE_NAME);
    const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
    const size_t at = text.find(name);
    EXPECT_NE(at, std::string_view::npos);
    return reinterpret_cast<hsa_cpu_note_t*>(file.data() + at + name.size());
  }

  // A loaded page with descriptors, as from a loader.
  struct Page {
    Page()
        : memory(static_cast<char*>(
              mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
      segment = {sizeof segment, reinterpret_cast<uint64_t>(memory), memory, 4096, nullptr, 0};
      good = {};
      good.magic = HSA_CPU_DESCRIPTOR_MAGIC;
      good.abi_major = HSA_CPU_ABI_MAJOR;
      good.kernel_code_entry_byte_offset = 64;
    }
    ~Page() { munmap(memory, 4096); }

    hsabe_status_t load(Rig& device, const hsa_cpu_descriptor_t& descriptor, uint64_t offset = 0) {
      mprotect(memory, 4096, PROT_READ | PROT_WRITE);
      if (offset <= 4096 - sizeof descriptor) std::memcpy(memory + offset, &descriptor, sizeof descriptor);
      const hsabe_code_symbol_t symbol{hsabe::str("k.kd"), segment.device_address + offset, 64};
      return device.backend().code->load(device.device(), &segment, &symbol, 1, &image);
    }

    char* memory;
    hsabe_segment_t segment{};
    hsa_cpu_descriptor_t good{};
    void* image = nullptr;
  };

  Rig rig{{"threads", 1}};
};

TEST_F(CpuCode, AcceptsCodeForThisCpu) {
  EXPECT_GT(accepts(read_file(TEST_KERNELS)), 0u);
  EXPECT_GT(accepts(read_file(TEST_C_KERNELS)), 0u);
}

TEST_F(CpuCode, PrefersCodeWithMoreFeatures) {
  auto file = read_file(TEST_KERNELS);
  const uint32_t fit = accepts(file);
  note_of(file)->features = 0;
  EXPECT_LT(accepts(file), fit);
  EXPECT_GT(accepts(file), 0u);
}

TEST_F(CpuCode, RejectsMissingFeatures) {
  auto file = read_file(TEST_KERNELS);
  note_of(file)->features |= uint64_t{1} << 63;
  EXPECT_EQ(accepts(file), 0u);
  EXPECT_THAT(rig.host.take_report(), HasSubstr("features unknown to this runtime"));
}

TEST_F(CpuCode, RejectsOtherKernelAbi) {
  auto file = read_file(TEST_KERNELS);
  note_of(file)->abi_major = 2;
  EXPECT_EQ(accepts(file), 0u);
  EXPECT_THAT(rig.host.take_report(), HasSubstr("version 2"));
}

TEST_F(CpuCode, RejectsOtherArchitectureOrSystem) {
  auto file = read_file(TEST_KERNELS);
  auto* const header = reinterpret_cast<Elf64_Ehdr*>(file.data());
  header->e_machine = 224;
  EXPECT_EQ(accepts(file), 0u);
  EXPECT_THAT(rig.host.take_report(), HasSubstr("another CPU architecture"));
  header->e_machine = host_elf_machine();
  header->e_ident[EI_OSABI] = ELFOSABI_FREEBSD;
  EXPECT_EQ(accepts(file), 0u);
  EXPECT_THAT(rig.host.take_report(), HasSubstr("another operating system"));
}

TEST_F(CpuCode, RejectsOtherSharedObjects) {
  auto file = read_file(TEST_KERNELS);
  std::memcpy(reinterpret_cast<char*>(note_of(file)) - sizeof HSA_CPU_NOTE_NAME, "NOT-CPU", 8);
  EXPECT_EQ(accepts(file), 0u);
  EXPECT_THAT(rig.host.take_report(), HasSubstr("the note .note.hsa_cpu is missing"));
}

TEST_F(CpuCode, ResolvesLibraryFunctionsOnly) {
  const auto resolve = [this](const char* name, uint64_t* address) {
    return rig.backend().code->resolve(rig.device(), hsabe::str(name), address);
  };
  uint64_t address = 0;
  ASSERT_EQ(resolve("cosh", &address), HSA_STATUS_SUCCESS);
  EXPECT_EQ(reinterpret_cast<double (*)(double)>(address)(0), 1.0);
  ASSERT_EQ(resolve("memcpy", &address), HSA_STATUS_SUCCESS);
  char to[4] = "";
  reinterpret_cast<void* (*)(void*, const void*, size_t)>(address)(to, "abc", 4);
  EXPECT_STREQ(to, "abc");
  EXPECT_EQ(resolve("_ZSt9terminatev", &address), HSA_STATUS_ERROR_VARIABLE_UNDEFINED);
  EXPECT_THAT(rig.host.take_report(), HasSubstr("_ZSt9terminatev"));
}

TEST_F(CpuCode, DescribesKernels) {
  rig.load(TEST_KERNELS);
  rig.load(TEST_C_KERNELS);
  hsabe_kernel_info_t info{};
  info.struct_size = sizeof info;
  const auto describe = [&](const char* kernel) {
    return rig.backend().code->describe_kernel(rig.device(),
                                               reinterpret_cast<const void*>(rig.kernel(kernel)), &info);
  };
  ASSERT_EQ(describe("record_dispatch"), HSA_STATUS_SUCCESS);
  EXPECT_EQ(info.kernarg_size, 8u);
  EXPECT_EQ(info.kernarg_alignment, 16u);
  EXPECT_EQ(info.group_size, 32u);
  EXPECT_EQ(info.private_size, 48u);
  EXPECT_EQ(info.wavefront_size, kWavefrontSize);
  ASSERT_EQ(describe("empty"), HSA_STATUS_SUCCESS);
  EXPECT_EQ(info.kernarg_size, 0u);
}

TEST_F(CpuCode, RejectsInvalidDescriptors) {
  const std::byte zeros[64]{};
  hsabe_kernel_info_t info{};
  EXPECT_EQ(rig.backend().code->describe_kernel(rig.device(), zeros, &info),
            HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
  EXPECT_THAT(rig.host.take_report(), HasSubstr("magic number"));
}

TEST_F(CpuCode, ProtectsPagesUntilUnload) {
  Page page;
  ASSERT_EQ(page.load(rig, page.good), HSA_STATUS_SUCCESS) << rig.host.take_report();
  const auto protection = [&page] {
    std::ifstream maps("/proc/self/maps");
    char start[32];
    snprintf(start, sizeof start, "%lx", static_cast<unsigned long>(page.segment.device_address));
    for (std::string line; std::getline(maps, line);) {
      // Adjoining mappings of the same kind are merged.
      unsigned long begin, end;
      char rights[8];
      if (sscanf(line.c_str(), "%lx-%lx %7s", &begin, &end, rights) == 3 &&
          begin <= page.segment.device_address && page.segment.device_address < end) {
        return std::string(rights);
      }
    }
    return std::string();
  };
  EXPECT_EQ(protection(), "r-xp");
  rig.backend().code->unload(rig.device(), page.image);
  EXPECT_EQ(protection(), "rw-p");
}

#if HSABE_SANITIZER == HSABE_SANITIZER_NONE
TEST_F(CpuCode, FailedLoadWithoutMemoryHasNoEffect) {
  Page page;
  const hsabe_code_symbol_t symbols[] = {
      {hsabe::str("k.kd"), page.segment.device_address, 64},
      {hsabe::str("hsa_cpu_agent_function_0x9000"), page.segment.device_address + 64, 1}};
  std::memcpy(page.memory, &page.good, sizeof page.good);
  int request = 0;
  for (hsabe_status_t status = HSA_STATUS_ERROR; status != HSA_STATUS_SUCCESS; ++request) {
    ASSERT_LT(request, 100);
    request_that_fails = request;
    status = rig.backend().code->load(rig.device(), &page.segment, symbols, 2, &page.image);
    request_that_fails = -1;
    if (status == HSA_STATUS_SUCCESS) continue;
    ASSERT_EQ(status, HSA_STATUS_ERROR_OUT_OF_RESOURCES) << rig.host.take_report();
    page.memory[4095] = 1;  // it is still writable
  }
  EXPECT_GT(request, 3);
  rig.backend().code->unload(rig.device(), page.image);
}
#endif

TEST_F(CpuCode, LoadRejectsInconsistentDescriptors) {
  const auto expect_refused = [this](auto change, const char* why) {
    Page page;
    hsa_cpu_descriptor_t descriptor = page.good;
    change(descriptor);
    EXPECT_EQ(page.load(rig, descriptor), HSA_STATUS_ERROR_INVALID_CODE_OBJECT) << why;
    EXPECT_THAT(rig.host.take_report(), HasSubstr(why));
    memset(page.memory, 1, 4096);  // it is still writable
  };
  expect_refused([](auto& of) { of.magic = 0; }, "magic number");
  expect_refused([](auto& of) { of.abi_major = 9; }, "the version of the CPU kernel ABI");
  expect_refused([](auto& of) { of.kernel_code_entry_byte_offset = 4096; }, "the entry point is outside");
  expect_refused([](auto& of) { of.kernel_code_entry_byte_offset = -1; }, "the entry point is outside");
  expect_refused([](auto& of) { of.kernel_code_entry_byte_offset = INT64_MIN; },
                 "the entry point is outside");
  expect_refused([](auto& of) { of.group_segment_fixed_size = kGroupSegmentSize + 1; }, "group memory");
  expect_refused([](auto& of) { of.private_segment_fixed_size = kPrivateSegmentMax + 1; }, "private memory");
  expect_refused([](auto& of) { of.required_workgroup_size[1] = 4; }, "not possible");
  expect_refused(
      [](auto& of) {
        for (uint16_t& size : of.required_workgroup_size) size = 65535;
      },
      "not possible");
}

TEST_F(CpuCode, LoadRejectsDescriptorsOutsideImage) {
  Page page;
  EXPECT_EQ(page.load(rig, page.good, 4096 - 32), HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
  EXPECT_EQ(page.load(rig, page.good, 1 << 20), HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
  EXPECT_EQ(page.load(rig, page.good, uint64_t(0) - 64), HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
  EXPECT_EQ(page.load(rig, page.good, 4), HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
}

TEST_F(CpuCode, LoadRejectsUnalignedSegments) {
  Page page;
  page.segment.device_address += 64;
  page.segment.host_address = page.memory + 64;
  EXPECT_EQ(page.load(rig, page.good), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  page.segment.device_address -= 64;
  EXPECT_EQ(page.load(rig, page.good), HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

TEST_F(CpuCode, LoadRejectsDuplicateAgentFunction) {
  rig.load(TEST_KERNELS);
  Page page;
  const hsabe_code_symbol_t symbol{hsabe::str("hsa_cpu_agent_function_0x8001"), page.segment.device_address,
                                   1};
  const auto load = [&] {
    return rig.backend().code->load(rig.device(), &page.segment, &symbol, 1, &page.image);
  };
  EXPECT_EQ(load(), HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
  EXPECT_THAT(rig.host.take_report(), HasSubstr("0x8001"));
  rig.unload(0);
  ASSERT_EQ(load(), HSA_STATUS_SUCCESS);
  rig.backend().code->unload(rig.device(), page.image);
}

TEST_F(CpuCode, LoadRejectsReservedAgentFunctionTypes) {
  for (const char* const name : {"hsa_cpu_agent_function_0x7fff", "hsa_cpu_agent_function_0x10000",
                                 "hsa_cpu_agent_function_0x", "hsa_cpu_agent_function_0x80zz"}) {
    Page page;
    const hsabe_code_symbol_t symbol{hsabe::str(name), page.segment.device_address, 1};
    EXPECT_EQ(rig.backend().code->load(rig.device(), &page.segment, &symbol, 1, &page.image),
              HSA_STATUS_ERROR_INVALID_CODE_OBJECT)
        << name;
  }
}

}  // namespace
}  // namespace rigel::cpu
