// Tests of code objects, source lines and call stacks in reports.
#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include <fmt/core.h>

#include "plugins/vgpu/exec/report/call_stack.hpp"
#include "plugins/vgpu/exec/report/loaded_code_objects.hpp"
#include "plugins/vgpu/exec/report/source_lines.hpp"
#include "plugins/vgpu/exec/report/thread_name.hpp"
#include "plugins/vgpu/exec/report/work_items.hpp"

namespace rigel::vgpu::exec {
namespace {

std::string as_text(const std::vector<char>& bytes) {
  return {bytes.begin(), bytes.end()};
}

TEST(CodeObjectUri, ReadsRangesOfFilesAndMemory) {
  char path[] = "/tmp/rigel report#XXXXXX";
  const int fd = mkstemp(path);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(write(fd, "0123456789", 10), 10);
  close(fd);
  std::string escaped;
  for (const char c : std::string_view(path)) {
    escaped += c == ' ' ? "%20" : c == '#' ? "%23" : std::string(1, c);
  }
  EXPECT_EQ(as_text(read_uri("file://" + escaped)), "0123456789");
  EXPECT_EQ(as_text(read_uri("file://" + escaped + "#offset=3&size=4")), "3456");
  EXPECT_EQ(as_text(read_uri("file://" + escaped + "#offset=0x8&size=100")), "89");
  EXPECT_EQ(as_text(read_uri("file://" + escaped + "#offset=11&size=1")), "");
  unlink(path);
  EXPECT_EQ(as_text(read_uri("file://" + escaped)), "");

  const char bytes[] = "abcdef";
  const auto uri = [&](int pid, size_t size) {
    return fmt::format("memory://{}#offset={:#x}&size={}", pid, reinterpret_cast<uintptr_t>(bytes) + 1, size);
  };
  EXPECT_EQ(as_text(read_uri(uri(getpid(), 3))), "bcd");
  EXPECT_EQ(as_text(read_uri(uri(getpid() + 1, 3))), "") << "another process's";
  EXPECT_EQ(as_text(read_uri(fmt::format("memory://{}#offset=16&size=8", getpid()))), "") << "nothing there";
  for (const char* const bad : {"", "file:/", "memory://", "memory://x#offset=1", "http://a"}) {
    EXPECT_EQ(as_text(read_uri(bad)), "") << bad;
  }
}

// This program as an ELF file with debugging information, in a list such as a runtime's.
struct ListedProgram {
  link_map map{};
  r_debug list{};
  std::string uri = "file:///proc/self/exe";

  ListedProgram() {
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* base) {
          *static_cast<ElfW(Addr)*>(base) = info->dlpi_addr;
          return 1;  // the first is the program
        },
        &map.l_addr);
    map.l_name = uri.data();
    list.r_map = &map;
  }
};

[[gnu::always_inline]] inline uint64_t current_pc() {
  uint64_t pc = 0;
#if defined(__x86_64__)
  asm volatile("lea 0(%%rip), %0" : "=r"(pc));
#endif
  return pc;
}
constexpr int kLineOfCurrentPc = __LINE__ - 4;

TEST(SourceLines, IncludeInlinedFunctionAndCaller) {
  const ListedProgram listed;
  const uint64_t pc = current_pc();
  const int line_of_call = __LINE__ - 1;
  const auto frames = SourceLines(&listed.list).frames(pc);
  if (pc == 0 || frames.empty()) GTEST_SKIP() << "no libdw, or built without debugging information";
  EXPECT_NE(frames[0].file.find("report_test.cpp"), std::string::npos) << frames[0].file;
  if (frames.size() < 2) GTEST_SKIP() << "nothing of inlined functions in the debugging information";
  EXPECT_EQ(frames[0].line, kLineOfCurrentPc);
  EXPECT_NE(frames[0].function.find("current_pc"), std::string::npos) << frames[0].function;
  EXPECT_EQ(frames[1].line, line_of_call);
}

TEST(CodeObject, FindsFunctionByAddress) {
  const ListedProgram listed;
  const auto file = read_uri(listed.uri);
  const uint64_t address = reinterpret_cast<uint64_t>(&as_text) - listed.map.l_addr;
  const auto function = function_at(file, address + 1);
  ASSERT_TRUE(function);
  EXPECT_EQ(function->begin, address);
  EXPECT_NE(function->name.find("as_text"), std::string::npos) << function->name;
  EXPECT_EQ(std::memcmp(function->code.data(), reinterpret_cast<const void*>(&as_text), 16), 0);
  EXPECT_FALSE(function_at(file, 1));
  for (size_t size = 0; size < 4096; size += 8) {  // truncated files
    EXPECT_FALSE(function_at(std::span(file).first(size), address)) << size;
  }
}

// gfx900 code with a call, and the registers of a wave that stopped in the called function.
struct CalledCode {
  static constexpr uint64_t kKernel = 0x1000, kCalled = 0x2000;
  static constexpr uint32_t kCall = 0xbe9e1e10;  // s_swappc_b64 s[30:31], s[16:17]
  static constexpr uint32_t kTrap = 0xbf920002;
  std::vector<uint32_t> kernel{kCall, 0xbf810000}, called;
  StoppedWave wave;

  explicit CalledCode(std::vector<uint32_t> code) : called(std::move(code)) {
    wave.layout.vgprs = 24;
    wave.registers.resize(wave.layout.bytes());
  }
  void set(uint32_t offset, uint32_t value) { std::memcpy(wave.registers.data() + offset, &value, 4); }
  std::vector<uint64_t> calls(uint64_t pc) const {
    const auto function_at = [&](uint64_t address) -> std::optional<Function> {
      for (const auto& [begin, code] : {std::pair(kKernel, &kernel), std::pair(kCalled, &called)}) {
        if (address - begin < code->size() * 4) {
          return Function{begin, {reinterpret_cast<const char*>(code->data()), code->size() * 4}, {}};
        }
      }
      return std::nullopt;
    };
    return calls_to(pc, kKernel, wave, {function_at, [](uint64_t) { return std::nullopt; }});
  }
};

TEST(CallStack, UsesReturnAddressInRegister) {
  CalledCode leaf({CalledCode::kTrap});
  leaf.set(scalar_offset(30), CalledCode::kKernel + 4);
  EXPECT_EQ(leaf.calls(CalledCode::kCalled), std::vector<uint64_t>{CalledCode::kKernel});
  EXPECT_TRUE(leaf.calls(CalledCode::kKernel).empty()) << "nobody called the kernel";
}

TEST(CallStack, UsesReturnAddressSavedInLanes) {
  // v_writelane_b32 v23, s30, 0; v_writelane_b32 v23, s31, 1
  CalledCode calls({0xd28a0017, 0x0001001e, 0xd28a0017, 0x0001021f, CalledCode::kCall, CalledCode::kTrap});
  calls.set(calls.wave.layout.vgpr_offset(23), CalledCode::kKernel + 4);
  calls.set(scalar_offset(30), CalledCode::kCalled + 20);
  EXPECT_EQ(calls.calls(CalledCode::kCalled + 20), std::vector<uint64_t>{CalledCode::kKernel});
}

TEST(CallStack, EndsAtReturnAddressWithoutCall) {
  CalledCode leaf({CalledCode::kTrap});
  for (const uint64_t return_address :
       {uint64_t{0}, CalledCode::kKernel, CalledCode::kKernel + 8, uint64_t{0x5000}}) {
    leaf.set(scalar_offset(30), static_cast<uint32_t>(return_address));
    EXPECT_TRUE(leaf.calls(CalledCode::kCalled).empty()) << return_address;
  }
  CalledCode does_not_save(
      {CalledCode::kCall, CalledCode::kTrap});  // the code does not save its return address
  does_not_save.set(scalar_offset(30), CalledCode::kKernel + 4);
  EXPECT_TRUE(does_not_save.calls(CalledCode::kCalled + 4).empty());
}

TEST(SourceLines, AreEmptyForUnknownCode) {
  ListedProgram listed;
  EXPECT_TRUE(SourceLines(&listed.list).frames(16).empty());
  listed.uri = "file:///nowhere";
  listed.map.l_name = listed.uri.data();
  EXPECT_TRUE(SourceLines(&listed.list).frames(current_pc()).empty());
  listed.list.r_map = reinterpret_cast<link_map*>(8);  // invalid address, as in a list that is being changed
  EXPECT_TRUE(SourceLines(&listed.list).frames(current_pc()).empty());
  EXPECT_TRUE(open_debug_information({}) == nullptr);
  std::vector<char> invalid_elf(1000, 'x');
  EXPECT_TRUE(open_debug_information(invalid_elf) == nullptr);
}

TEST(SourceLines, NamesAreDemangled) {
  EXPECT_EQ(demangled("_Z6gatherIfEvPKT_PS0_i"), "void gather<float>(float const*, float*, int)");
  EXPECT_EQ(demangled("vector_copy"), "vector_copy");
  EXPECT_EQ(text_of(SourceFrame{"f()", "a.cpp", 3, 7}), "f() at a.cpp:3:7");
  EXPECT_EQ(text_of(SourceFrame{"", "a.cpp", 3, 0}), "a.cpp:3");
  EXPECT_EQ(text_of(SourceFrame{"f()", "", 0, 0}), "f()");
}

TEST(ThreadName, HasKernelAndWorkGroup) {
  EXPECT_EQ(thread_name("vector_copy", 7), "vector_copy 7");
  EXPECT_EQ(thread_name("void ns::gather<float>(float const*, float*, int)", 12), "gather 12");
  EXPECT_EQ(thread_name("(anonymous namespace)::scan(int*)", 1), "scan 1");
  EXPECT_EQ(thread_name("a_kernel_with_a_long_name(int)", 4000), "a_kernel_w 4000");
  EXPECT_EQ(thread_name("f()", 123456789012345678), "123456789012345");
  EXPECT_EQ(thread_name("", 3), " 3");
}

TEST(WorkItems, PartialWorkGroupsHaveTheirActualSize) {
  WorkItems items{{2, 1, 0}, {8, 4, 2}, {8, 4, 2}, 0, 32};
  EXPECT_EQ(items.local(9), (Triple{1, 1, 0}));
  EXPECT_EQ(items.global(9), (Triple{17, 5, 0}));
  items.wave = 1;
  EXPECT_EQ(items.local(0), (Triple{0, 0, 1}));
  items.this_group_size = {3, 4, 2};  // at the upper end of the grid
  items.wave = 0;
  EXPECT_EQ(items.local(9), (Triple{0, 3, 0}));
  EXPECT_EQ(items.global(9), (Triple{16, 7, 0}));
}

}  // namespace
}  // namespace rigel::vgpu::exec
