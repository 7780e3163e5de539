// Buffers shared between processes, and descriptors that imitate buffers.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "plugins/vgpu/kfd/test_system.hpp"

namespace rigel::vgpu {
namespace {

constexpr uint64_t kVa = 0x10000000;
constexpr uint32_t kRw = KFD_MEM_WRITABLE;
constexpr uint32_t kExporterFlags = 0x2001;  // opaque to the driver
// Changes a pid to one that cannot exist. A neighbouring pid could be this child's, which has the buffer with
// the same descriptor number.
constexpr uint32_t kInvalidBit = 1u << 30;

struct FdMessage {
  char byte = 0;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  iovec part{&byte, 1};
  msghdr header{};
  FdMessage() {
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
  }
};

int send_fd(int socket, int fd) {
  FdMessage message;
  cmsghdr* const c = CMSG_FIRSTHDR(&message.header);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(c), &fd, sizeof fd);
  return static_cast<int>(sendmsg(socket, &message.header, 0));
}

int receive_fd(int socket) {
  FdMessage message;
  if (recvmsg(socket, &message.header, 0) != 1) return -1;
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message.header)), sizeof fd);
  return fd;
}

// The child maps the parent's buffer, imported by descriptor and by IPC handle, and writes its answer into
// it.
int run_importer(int socket) {
  TestSystem t;
  t.acquire();
  const int fd = receive_fd(socket);
  kfd_get_dmabuf_info info{};
  info.dmabuf_fd = static_cast<uint32_t>(fd);
  if (t.call(KFD_NR_GET_DMABUF_INFO, info) != 0 || info.size != 8192) return 10;
  kfd_import_dmabuf import{kVa, 0, t.gpu_id(), static_cast<uint32_t>(fd)};
  if (t.call(KFD_NR_IMPORT_DMABUF, import) != 0 || t.map(import.handle) != 0) return 11;
  const Translation mapped = t.translate(kVa, 8, Access::kWrite);
  if (mapped.host == nullptr || std::memcmp(mapped.host, "parent", 7) != 0) return 12;
  std::memcpy(mapped.host, "child", 6);
  kfd_ipc_import_handle ipc{};
  if (read(socket, ipc.share_handle, 16) != 16) return 13;
  ipc.gpu_id = t.gpu_id();
  ipc.va_addr = kVa + 0x100000;
  if (t.call(KFD_NR_IPC_IMPORT_HANDLE, ipc) != 0 || t.map(ipc.handle) != 0) return 14;
  if (ipc.flags != kExporterFlags) return 17;
  if (std::memcmp(t.translate(kVa + 0x100000, 6, Access::kRead).host, "child", 6) != 0) return 15;
  for (uint32_t& word : ipc.share_handle) {
    word ^= kInvalidBit;
    if (t.call(KFD_NR_IPC_IMPORT_HANDLE, ipc) != -EINVAL) return 16;
    word ^= kInvalidBit;
  }
  return 0;
}

TEST(KfdShare, BufferIsSharedBetweenProcesses) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    ::close(ends[0]);
    _exit(run_importer(ends[1]));
  }
  ::close(ends[1]);
  TestSystem t;
  t.acquire();
  const auto a = t.allocate(KFD_MEM_VRAM | KFD_MEM_PUBLIC | kRw, 8192, kVa);
  ASSERT_EQ(t.map(a.handle), 0);
  std::memcpy(t.translate(kVa, 8, Access::kWrite).host, "parent", 7);
  kfd_export_dmabuf exported{a.handle, O_CLOEXEC | O_RDWR, 0};
  ASSERT_EQ(t.call(KFD_NR_EXPORT_DMABUF, exported), 0);
  EXPECT_EQ(lseek(static_cast<int>(exported.dmabuf_fd), 0, SEEK_END), 8192) << "libdrm asks so for the size";
  ASSERT_EQ(send_fd(ends[0], static_cast<int>(exported.dmabuf_fd)), 1);
  ::close(static_cast<int>(exported.dmabuf_fd));
  kfd_ipc_export_handle ipc{a.handle, {}, t.gpu_id(), kExporterFlags};
  ASSERT_EQ(t.call(KFD_NR_IPC_EXPORT_HANDLE, ipc), 0);
  ASSERT_EQ(write(ends[0], ipc.share_handle, 16), 16);
  int status = -1;
  waitpid(pid, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_STREQ(reinterpret_cast<const char*>(t.translate(kVa, 8, Access::kRead).host), "child");
  ::close(ends[0]);
}

// A killed exporter or importer does not affect the other.
TEST(KfdShare, BufferSurvivesKillOfOtherProcess) {
  for (const bool exporter_dies : {true, false}) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const pid_t pid = fork();
    if (pid == 0) {
      ::close(ends[0]);
      TestSystem t;
      t.acquire();
      if (exporter_dies) {
        const auto a = t.allocate(KFD_MEM_VRAM | KFD_MEM_PUBLIC | kRw, 8192, kVa);
        t.map(a.handle);
        std::memcpy(t.translate(kVa, 8, Access::kWrite).host, "exports", 8);
        kfd_export_dmabuf exported{a.handle, O_CLOEXEC | O_RDWR, 0};
        kfd_ipc_export_handle ipc{a.handle, {}, t.gpu_id(), 0};
        if (t.call(KFD_NR_EXPORT_DMABUF, exported) != 0 || t.call(KFD_NR_IPC_EXPORT_HANDLE, ipc) != 0)
          _exit(1);
        send_fd(ends[1], static_cast<int>(exported.dmabuf_fd));
        if (write(ends[1], ipc.share_handle, 16) != 16) _exit(2);
      } else {
        const int fd = receive_fd(ends[1]);
        kfd_import_dmabuf import{kVa, 0, t.gpu_id(), static_cast<uint32_t>(fd)};
        if (t.call(KFD_NR_IMPORT_DMABUF, import) != 0 || t.map(import.handle) != 0) _exit(3);
        std::memcpy(t.translate(kVa, 8, Access::kWrite).host, "imports", 8);
        if (write(ends[1], "ready", 6) != 6) _exit(4);
      }
      char byte;
      while (read(ends[1], &byte, 1) > 0) {
      }
      _exit(5);
    }
    ::close(ends[1]);
    const auto killed = [&] {
      kill(pid, SIGKILL);
      int status = 0;
      waitpid(pid, &status, 0);
      return WIFSIGNALED(status);
    };
    TestSystem t;
    t.acquire();
    uint64_t handle = 0;
    kfd_ipc_import_handle ipc{};
    if (exporter_dies) {
      const int fd = receive_fd(ends[0]);
      ASSERT_EQ(read(ends[0], ipc.share_handle, 16), 16);
      kfd_import_dmabuf import{kVa, 0, t.gpu_id(), static_cast<uint32_t>(fd)};
      ASSERT_EQ(t.call(KFD_NR_IMPORT_DMABUF, import), 0);
      ::close(fd);
      handle = import.handle;
    } else {
      const auto a = t.allocate(KFD_MEM_VRAM | KFD_MEM_PUBLIC | kRw, 8192, kVa);
      kfd_export_dmabuf exported{a.handle, O_CLOEXEC | O_RDWR, 0};
      ASSERT_EQ(t.call(KFD_NR_EXPORT_DMABUF, exported), 0);
      ASSERT_EQ(send_fd(ends[0], static_cast<int>(exported.dmabuf_fd)), 1);
      ::close(static_cast<int>(exported.dmabuf_fd));
      handle = a.handle;
      char ready[6];
      ASSERT_EQ(read(ends[0], ready, 6), 6);
    }
    ASSERT_EQ(t.map(handle), 0);
    EXPECT_TRUE(killed());
    auto* const text = reinterpret_cast<char*>(t.translate(kVa, 8, Access::kWrite).host);
    EXPECT_STREQ(text, exporter_dies ? "exports" : "imports");
    text[0] = 'X';
    EXPECT_EQ(t.translate(kVa, 8, Access::kRead).host[0], std::byte{'X'});
    if (exporter_dies) {
      ipc.gpu_id = t.gpu_id();
      ipc.va_addr = kVa + 8192;
      EXPECT_EQ(t.call(KFD_NR_IPC_IMPORT_HANDLE, ipc), -EINVAL) << "nobody has it to give";
    }
    EXPECT_EQ(t.map(handle, 0, false), 0);
    EXPECT_EQ(t.free(handle), 0);
    ::close(ends[0]);
  }
}

TEST(KfdShare, ImportRejectsOtherDescriptors) {
  TestSystem t;
  t.acquire();
  kfd_import_dmabuf import{kVa, 0, t.gpu_id(), static_cast<uint32_t>(t.kfd)};
  EXPECT_EQ(t.call(KFD_NR_IMPORT_DMABUF, import), -EINVAL);
  import.dmabuf_fd = 9999;
  EXPECT_EQ(t.call(KFD_NR_IMPORT_DMABUF, import), -EBADF);
}

// Imports an IPC handle that names `fd` of this process.
int import_fd(TestSystem& t, int fd, uint64_t nonce = 0) {
  kfd_ipc_import_handle ipc{};
  ipc.share_handle[0] = static_cast<uint32_t>(getpid());
  ipc.share_handle[1] = static_cast<uint32_t>(fd);
  std::memcpy(&ipc.share_handle[2], &nonce, 8);
  ipc.gpu_id = t.gpu_id();
  ipc.va_addr = kVa;
  return t.call(KFD_NR_IPC_IMPORT_HANDLE, ipc);
}

TEST(KfdShare, IpcHandleOfOtherFileIsNotOpened) {
  TestSystem t;
  t.acquire();
  // The other end of the pipe is closed. End of file proves that the driver has not opened the pipe for
  // writing.
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  ::close(ends[1]);
  EXPECT_EQ(import_fd(t, ends[0]), -EINVAL);
  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 0);
  ::close(ends[0]);
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (terminal >= 0) {
    EXPECT_EQ(import_fd(t, terminal), -EINVAL);
    ::close(terminal);
  }
  EXPECT_EQ(import_fd(t, t.kfd), -EINVAL);
  EXPECT_EQ(import_fd(t, 9999), -EINVAL);
}

TEST(KfdShare, ImportRejectsUnsealedFileWithBufferName) {
  TestSystem t;
  t.acquire();
  // The file is not sealed: it could be truncated while it is mapped.
  const int fd = memfd_create("vgpu-buffer.2000.80000001.0.1.5", MFD_CLOEXEC);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(ftruncate(fd, 8192), 0);
  EXPECT_EQ(import_fd(t, fd, 5), -EINVAL);
  kfd_import_dmabuf import{kVa, 0, t.gpu_id(), static_cast<uint32_t>(fd)};
  EXPECT_EQ(t.call(KFD_NR_IMPORT_DMABUF, import), -EINVAL);
  ::close(fd);
}

TEST(KfdShare, ExportedBufferCannotBeResized) {
  TestSystem t;
  t.acquire();
  const auto a = t.allocate(KFD_MEM_VRAM | KFD_MEM_PUBLIC | kRw, 8192, kVa);
  kfd_export_dmabuf exported{a.handle, O_CLOEXEC | O_RDWR, 0};
  ASSERT_EQ(t.call(KFD_NR_EXPORT_DMABUF, exported), 0);
  EXPECT_EQ(ftruncate(static_cast<int>(exported.dmabuf_fd), 0), -1);
  EXPECT_EQ(ftruncate(static_cast<int>(exported.dmabuf_fd), 1 << 20), -1);
  ::close(static_cast<int>(exported.dmabuf_fd));
}

}  // namespace
}  // namespace rigel::vgpu
