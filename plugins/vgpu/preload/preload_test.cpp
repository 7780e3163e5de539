// Programs with unusual uses of the driver's files, and system programs that read them.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugins/vgpu/preload/run_program.hpp"

namespace rigel::vgpu {
namespace {

using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

std::string vgpu_run() {
  const char* const path = std::getenv("VGPU_RUN");
  return path == nullptr ? "vgpu-run" : path;
}

class DriverProgram : public ::testing::TestWithParam<const char*> {
 protected:
  static void run_check(const std::vector<std::string>& setting) {
    std::vector<std::string> command = {"env"};
    command.insert(command.end(), setting.begin(), setting.end());
    command.insert(command.end(), {vgpu_run(), "--gpu", "gfx900:vram=256M", DRIVER_PROGRAM, GetParam()});
    const ProgramResult result = run_program(command);
    EXPECT_EQ(result.status, 0) << result.out;
  }
};

TEST_P(DriverProgram, CheckPasses) {
  run_check({});
}

TEST_P(DriverProgram, CheckPassesWithoutSignals) {
  if (GetParam() == std::string("mappings")) GTEST_SKIP() << "looks at how stores are watched by signals";
  run_check({"VGPU_SIGNALS=0"});
}

INSTANTIATE_TEST_SUITE_P(, DriverProgram,
                         ::testing::Values("names", "fork", "vfork", "first", "early", "handlers", "cancel",
                                           "signals", "interrupts", "exec", "masks", "mappings", "races",
                                           "limits", "queues", "handles", "stale"),
                         [](const auto& row) { return std::string(row.param); });

TEST(ResourceLimit, DescriptorLimitIsExplainedOnce) {
  const ProgramResult result =
      run_program({vgpu_run(), "--gpu", "gfx900:vram=256M", DRIVER_PROGRAM, "limits"});
  EXPECT_EQ(result.status, 0) << result.out;
  EXPECT_THAT(result.out,
              MatchesRegex("vgpu\\[[0-9]+\\]: warning: buffer allocation: EMFILE: .*; raise ulimit -n\n"));
}

TEST(ResourceLimit, FileSizeLimitIsExplained) {
  const ProgramResult result =
      run_program({vgpu_run(), "--gpu", "gfx900:vram=256M", DRIVER_PROGRAM, "file_limit"});
  EXPECT_EQ(result.status, 0) << result.out;
  EXPECT_THAT(result.out,
              MatchesRegex("vgpu\\[[0-9]+\\]: warning: buffer allocation: EFBIG: .*; raise ulimit -f\n"));
}

TEST(ResourceLimit, ForbiddenMemfdIsExplainedOnce) {
  const ProgramResult result =
      run_program({vgpu_run(), "--gpu", "gfx900:vram=256M", DRIVER_PROGRAM, "no_memfds"});
  EXPECT_EQ(result.status, 0) << result.out;
  EXPECT_THAT(result.out, MatchesRegex("vgpu\\[[0-9]+\\]: warning: memfd_create: EPERM: .*\n"));
}

#if defined(__x86_64__)  // faults can be handled only there
TEST(DirectCalls, MmapIsExplainedOnBusError) {
  const ProgramResult result =
      run_program({vgpu_run(), "--gpu", "gfx900:vram=256M", DRIVER_PROGRAM, "bypassed_mmap"});
  EXPECT_EQ(result.status, 128 + SIGBUS);
  EXPECT_THAT(result.out, MatchesRegex("vgpu: error: /dev/kfd: SIGBUS: the program mapped the file by .*\n"));
}

#endif

// ctypes looks up each function with libc's handle.
TEST(DirectCalls, PythonCtypesUsesHooks) {
  if (!has_program("python3")) GTEST_SKIP() << "no python3";
  constexpr const char* kScript = R"(
import ctypes, os
libc = ctypes.CDLL('libc.so.6', use_errno=True)
kfd = libc.open(b'/dev/kfd', os.O_RDWR)
version = (ctypes.c_uint32 * 2)()
assert libc.ioctl(kfd, ctypes.c_ulong(0x80084b01), version) == 0, ctypes.get_errno()
assert version[0] == 1
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
gpu = int(open('/sys/class/kfd/kfd/topology/nodes/1/gpu_id').read())
render = libc.open(b'/dev/dri/renderD128', os.O_RDWR)
acquire = (ctypes.c_uint32 * 2)(render, gpu)
assert libc.ioctl(kfd, ctypes.c_ulong(0x40084b15), acquire) == 0, ctypes.get_errno()
offset = (3 << 62 | (gpu & 0xffff) << 46) - (1 << 64)
page = libc.mmap(None, 8192, 3, 1, kfd, offset)
assert page != 2 ** 64 - 1, ctypes.get_errno()
ctypes.c_uint64.from_address(page + 4096).value = 0
print('served')
)";
  const ProgramResult result =
      run_program({vgpu_run(), "--gpu", "gfx900:vram=256M", "python3", "-c", kScript});
  EXPECT_EQ(result.status, 0) << result.out;
  EXPECT_EQ(result.out, "served\n");
}

// Frees of the device's threads must not wait for locks that an ioctl holds while it waits for them.
TEST(MappingAllocator, CausesNoDeadlock) {
  for (const char* check : {"queues", "races"}) {
    const ProgramResult result =
        run_program({vgpu_run(), "--gpu", "gfx900:vram=256M", ALLOCATOR_PROGRAM, check});
    EXPECT_EQ(result.status, 0) << check << ": " << result.out;
  }
}

// packet_program.cpp imitates tinygrad. It causes two warnings, for things that hardware and older kernels
// accept.
TEST(PacketProgram, RunsWithoutRuntime) {
  const ProgramResult result = run_program({vgpu_run(), "--gpu", "gfx1030:vram=1G", PACKET_PROGRAM});
  EXPECT_EQ(result.status, 0) << result.out;
  EXPECT_THAT(
      result.out,
      MatchesRegex(
          "vgpu\\[[0-9]+\\]: warning: CREATE_QUEUE: ctl_stack_size: .*\n"
          "vgpu\\[[0-9]+\\]: warning: gpu .*, queue .*: PM4 SET_SH_REG: register 0x32db .* is ignored\n"
          "right\n"));
}

TEST(Libdrm, DistinguishesBoards) {
  std::string boards_option = "gfx900:vram=64M";
  int board_count = 1;
  for (const char* added : {"", ",gfx900:vram=64M",
                            ",gfx803:vram=64M,gfx1030:vram=64M,gfx906:vram=64M,gfx900:vram=64M,"
                            "gfx1010:vram=64M,gfx803:vram=128M"}) {
    boards_option += added;
    board_count = 1 + static_cast<int>(std::count(boards_option.begin(), boards_option.end(), ','));
    const ProgramResult result =
        run_program({vgpu_run(), "--gpu", boards_option, LIBDRM_PROGRAM, std::to_string(board_count)});
    EXPECT_EQ(result.status, 0) << boards_option << ": " << result.out;
  }
  EXPECT_EQ(board_count, 8);
}

class VgpuLog : public ::testing::Test {
 protected:
  VgpuLog() {
    char name[] = "/tmp/vgpu_log_XXXXXX";
    const int fd = mkstemp(name);
    EXPECT_GE(fd, 0);
    ::close(fd);
    path_ = name;
  }
  ~VgpuLog() override { ::unlink(path_.c_str()); }
  std::vector<std::string> lines() const {
    std::ifstream file(path_);
    std::vector<std::string> all;
    for (std::string line; std::getline(file, line);) all.push_back(line);
    return all;
  }
  std::string path_;
};

TEST_F(VgpuLog, WritesSelectedCategoriesToProtectedFile) {
  const ProgramResult result = run_program({vgpu_run(), "--gpu", "gfx900:vram=256M", "--log", "ioctl,sdma",
                                            "--log-file", path_, DRIVER_PROGRAM, "log"});
  EXPECT_EQ(result.status, 0) << result.out;
  EXPECT_EQ(result.out, "");
  const auto all = lines();
  for (const std::string& line : all) {
    EXPECT_THAT(line, MatchesRegex("vgpu\\[[0-9]+\\]: (ioctl|sdma): .*"));
  }
  EXPECT_THAT(all, Contains(HasSubstr("ACQUIRE_VM(gpu=0x")));
  EXPECT_THAT(all, Contains(ContainsRegex("CREATE_QUEUE\\(.* type=1 .*-> queue=0 doorbell=0x.*\\) = 0")));
  EXPECT_THAT(all, Contains(ContainsRegex("sdma: gpu 0: queue 0: FENCE 0x[0-9a-f]+ = 0x123")));
}

TEST_F(VgpuLog, FallsBackToStderr) {
  const ProgramResult result = run_program({vgpu_run(), "--gpu", "gfx900:vram=256M", "--log", "sdma",
                                            "--log-file", path_ + "/none", DRIVER_PROGRAM, "log"});
  EXPECT_EQ(result.status, 0) << result.out;
  EXPECT_THAT(result.out,
              HasSubstr("warning: VGPU_LOG_FILE: cannot open '" + path_ + "/none': Not a directory"));
  EXPECT_THAT(result.out, HasSubstr("FENCE"));
}

TEST_F(VgpuLog, UnknownCategoryIsRejected) {
  const ProgramResult result = run_program({vgpu_run(), "--gpu", "gfx900:vram=256M", "--log", "sdma,packets",
                                            "--log-file", path_, DRIVER_PROGRAM, "log"});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.out, HasSubstr("--log: unknown category 'packets'; use all, none, error"));
  EXPECT_THAT(lines(), ::testing::IsEmpty());
}

// Invalid settings end programs that open a GPU, and no others.
TEST(InvalidSettings, EndOnlyProgramsThatOpenGpu) {
  const auto run = [](std::vector<std::string> program) {
    std::vector<std::string> command = {vgpu_run(), "env", "VGPU_GPUS=gfx90O,gfx906,vega21", "VGPU_LINK=wire",
                                        "VGPU_WATCHDOG=soon"};
    command.insert(command.end(), program.begin(), program.end());
    return run_program(command);
  };
  for (const char* file : {"/dev/kfd", "/sys/class/kfd/kfd/topology/nodes/1/name", "/dev/dri/renderD128"}) {
    const ProgramResult result = run({"cat", file});
    EXPECT_EQ(result.status, 2) << file;
    EXPECT_THAT(
        result.out,
        MatchesRegex("vgpu: error: VGPU_LINK: unknown link 'wire'.*\n"
                     "vgpu: error: VGPU_GPUS: unknown board 'gfx90O'; did you mean 'gfx900'\\?\n"
                     "vgpu: error: VGPU_GPUS: unknown board 'vega21'; did you mean 'vega20'\\?\n"
                     "vgpu: error: VGPU_WATCHDOG: invalid value 'soon'; use a number of seconds above 0\n"));
  }
  const ProgramResult other = run({"sh", "-c", "cat /dev/null && test -d /sys/class && echo done"});
  EXPECT_EQ(other.status, 0);
  EXPECT_EQ(other.out, "done\n");
}

// System programs
// --------------------------------------------------------------------------------------------

std::string output_of(const std::string& program, const std::string& script) {
  const std::string option = program == "python3" ? "-c" : "-ec";
  const ProgramResult result = run_program({vgpu_run(), "--gpu", "gfx900,gfx1030", program, option, script});
  EXPECT_EQ(result.status, 0) << script << ": " << result.out;
  return result.out;
}

TEST(SystemPrograms, ListAndReadTopology) {
  EXPECT_EQ(output_of("sh", "ls /sys/class/kfd/kfd/topology/nodes"), "0\n1\n2\n");
  EXPECT_EQ(output_of("sh", "cd / && cat /sys/class/kfd/kfd/topology/nodes/2/name"), "navi21\n");
  EXPECT_EQ(output_of("sh", "cat </sys/class/kfd/kfd/topology/nodes/1/name"), "vega10\n");
  EXPECT_EQ(output_of("sh", "echo /sys/class/kfd/kfd/topology/nodes/[12]"),
            "/sys/class/kfd/kfd/topology/nodes/1 /sys/class/kfd/kfd/topology/nodes/2\n");
  EXPECT_EQ(
      output_of("sh", "test -c /dev/kfd && test -d /sys/module/amdgpu && test ! -e /dev/dri/renderD130"), "");
  EXPECT_EQ(output_of("sh", "readlink /sys/class/kfd/kfd; realpath /sys/class/drm/renderD128"),
            "/sys/devices/virtual/kfd/kfd\n/sys/devices/pci0000:00/0000:03:00.0/drm/renderD128\n");
}

// They compare inodes, attributes, and paths with descriptors.
TEST(SystemPrograms, WalkAndCopyTopology) {
  EXPECT_THAT(output_of("sh", "ls -lR /dev/kfd /dev/dri /sys/class/kfd /sys/class/kfd/kfd/topology/nodes/1"),
              Not(HasSubstr("No such file")));
  EXPECT_THAT(output_of("sh", "ls -la /dev/dri /sys/class/drm/card0/ /sys/class/drm"), Not(HasSubstr("?")));
  EXPECT_THAT(output_of("sh", "ls -l /dev/kfd"), StartsWith("crw-rw-rw-"));
  EXPECT_EQ(output_of("sh", "find /sys/class/kfd/kfd/topology/nodes -name gpu_id | wc -l"), "3\n");
  EXPECT_EQ(output_of("sh", "grep -rl 'gfx_target_version 100300' /sys/class/kfd/kfd/topology"),
            "/sys/class/kfd/kfd/topology/nodes/2/properties\n");
  EXPECT_EQ(output_of("sh", "t=$(mktemp); cp /sys/class/kfd/kfd/topology/nodes/2/name $t; cat $t; rm $t"),
            "navi21\n");
}

TEST(SystemPrograms, BashReadsTopology) {
  if (!has_program("bash")) GTEST_SKIP() << "bash is not installed";
  EXPECT_EQ(output_of("bash", "for n in /sys/class/kfd/kfd/topology/nodes/*; do echo \"$(<$n/name)\"; done"),
            "\nvega10\nnavi21\n");
  EXPECT_EQ(output_of("bash", "[[ -r /dev/kfd && -w /dev/dri/renderD129 ]] && echo yes"), "yes\n");
}

TEST(SystemPrograms, ReadModuleParameters) {
  EXPECT_EQ(output_of("sh",
                      "for p in cwsr_enable noretry pcie_p2p hws_gws_support; do "
                      "cat /sys/module/amdgpu/parameters/$p; done"),
            "1\n-1\nY\nN\n");
  EXPECT_THAT(output_of("sh", "ls /sys/module/amdgpu/parameters"), HasSubstr("sched_policy\n"));
}

// rocm-smi and amdsmi count processes in the directory and memory in the files.
TEST(SystemPrograms, FindFilesOfManagementTools) {
  EXPECT_EQ(output_of("sh", "ls /sys/class/kfd/kfd/proc | wc -l"), "0\n");
  EXPECT_EQ(
      output_of("sh",
                "for f in mem_info_vram_total mem_info_vis_vram_total "
                "mem_info_gtt_total unique_id; do test -s /sys/class/drm/card1/device/$f || echo $f; done"),
      "");
}

TEST(SystemPrograms, RocmSmiShowsEveryBoard) {
  if (!has_program("rocm-smi")) GTEST_SKIP() << "rocm-smi is not installed";
  const ProgramResult result =
      run_program({vgpu_run(), "--gpu", "gfx900,gfx1030:vram=2G", "rocm-smi", "--showid", "--showbus",
                   "--showmeminfo", "vram", "--showuniqueid"});
  EXPECT_EQ(result.status, 0) << result.out;
  // Since ROCm 6 it is called device ID.
  EXPECT_THAT(result.out, ContainsRegex("GPU\\[0\\]\t\t: (GPU|Device) ID: +\t*0x6860"));
  EXPECT_THAT(result.out, ContainsRegex("GPU\\[1\\]\t\t: (GPU|Device) ID: +\t*0x73bf"));
  for (const char* line :
       {"GPU[0]\t\t: Unique ID: 0x5247000068600001", "GPU[1]\t\t: Unique ID: 0x5247000073bf0002",
        "GPU[0]\t\t: PCI Bus: 0000:03:00.0", "GPU[1]\t\t: PCI Bus: 0000:06:00.0",
        "GPU[1]\t\t: VRAM Total Memory (B): 2147483648", "GPU[1]\t\t: VRAM Total Used Memory (B): 0"}) {
    EXPECT_THAT(result.out, HasSubstr(line));
  }
  EXPECT_THAT(result.out, Not(HasSubstr("ERROR")));
  const ProgramResult overview = run_program({vgpu_run(), "--gpu", "gfx900,gfx1030", "rocm-smi"});
  EXPECT_THAT(overview.out, HasSubstr("End of ROCm SMI Log")) << "what is not supported ends nothing";
}

TEST(SystemPrograms, LsmodListsAmdgpu) {
  if (!has_program("lsmod")) GTEST_SKIP() << "lsmod is not installed";
  EXPECT_THAT(output_of("sh", "lsmod"), HasSubstr("amdgpu"));
}

TEST(SystemPrograms, PythonUsesDriver) {
  if (!has_program("python3")) GTEST_SKIP() << "Python is not installed";
  EXPECT_EQ(output_of("python3", R"(
import array, fcntl, glob, os, shutil, subprocess, tempfile
nodes = '/sys/class/kfd/kfd/topology/nodes'
print(sorted(os.listdir(nodes)), len(glob.glob(nodes + '/*/gpu_id')), sum(len(f) for _, _, f in os.walk(nodes)) > 20)
kfd = os.open('/dev/kfd', os.O_RDWR)
version = array.array('I', [0, 0])
fcntl.ioctl(kfd, 0x80084b01, version, True)
print(version[0], os.path.realpath('/sys/class/kfd/kfd'))
with tempfile.NamedTemporaryFile() as file:
  shutil.copyfile(nodes + '/2/name', file.name)
  print(subprocess.run(['cat', file.name, nodes + '/1/name'], capture_output=True, text=True).stdout)
if os.fork() == 0:
  os.close(kfd)
  again = os.open('/dev/kfd', os.O_RDWR)
  fcntl.ioctl(again, 0x80084b01, version, True)
  os._exit(0 if again == kfd else 1)
print(os.wait()[1])
)"),
            "['0', '1', '2'] 3 True\n1 /sys/devices/virtual/kfd/kfd\nnavi21\nvega10\n\n0\n");
}

}  // namespace
}  // namespace rigel::vgpu
