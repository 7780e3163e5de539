#include "core/sharing/descriptor_server.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <memory>
#include <thread>
#include <vector>

namespace rigel {
namespace {

int file_of(char byte) {
  const int fd = memfd_create("test", MFD_CLOEXEC);
  EXPECT_EQ(write(fd, &byte, 1), 1);
  return fd;
}

char byte_of(int fd) {
  char byte = 0;
  EXPECT_EQ(pread(fd, &byte, 1, 0), 1);
  return byte;
}

size_t open_descriptors() {
  const std::filesystem::directory_iterator folder("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(folder), end(folder)));
}

TEST(DescriptorServer, FetchReturnsDescriptorAndFacts) {
  DescriptorServer server;
  const auto one = server.offer(file_of('a'), {1, 2, 3, 4});
  const auto two = server.offer(file_of('b'), {5});
  ASSERT_TRUE(one && two);
  const auto first = DescriptorServer::fetch(*one);
  const auto second = DescriptorServer::fetch(*two);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(byte_of(first->descriptor), 'a');
  EXPECT_EQ(byte_of(second->descriptor), 'b');
  EXPECT_EQ(first->facts, (DescriptorServer::Facts{1, 2, 3, 4}));
  EXPECT_EQ(fcntl(first->descriptor, F_GETFD), FD_CLOEXEC);
  close(first->descriptor);
  close(second->descriptor);
}

TEST(DescriptorServer, FetchWorksAcrossProcesses) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    Ticket ticket;
    if (read(pipe_ends[0], &ticket, sizeof ticket) != sizeof ticket) _exit(1);
    const auto parcel = DescriptorServer::fetch(ticket);
    _exit(parcel && byte_of(parcel->descriptor) == 'x' ? 0 : 2);
  }
  DescriptorServer server;
  const auto ticket = server.offer(file_of('x'), {});
  ASSERT_TRUE(ticket);
  ASSERT_EQ(write(pipe_ends[1], &*ticket, sizeof *ticket), static_cast<ssize_t>(sizeof *ticket));
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

TEST(DescriptorServer, ForkedChildHasNoOffers) {
  const size_t before = open_descriptors();
  auto server = std::make_unique<DescriptorServer>();
  const auto ticket = server->offer(file_of('x'), {});
  ASSERT_TRUE(ticket);
  int asks[2], answers[2];
  ASSERT_EQ(pipe(asks), 0);
  ASSERT_EQ(pipe(answers), 0);
  server->before_fork();
  const pid_t child = fork();
  if (child == 0) {
    server->reset_after_fork();
    server->after_fork();
    if (open_descriptors() != before + 4) _exit(2);  // of the pipes
    if (server->offers(*ticket)) _exit(3);
    char byte = 0;
    const bool told = write(answers[1], &byte, 1) == 1;
    _exit(told && read(asks[0], &byte, 1) == 1 ? 0 : 1);
  }
  server->after_fork();
  close(answers[1]);
  char byte = 0;
  EXPECT_EQ(read(answers[0], &byte, 1), 1);
  server.reset();
  EXPECT_EQ(DescriptorServer::fetch(*ticket).error(), HSA_STATUS_ERROR_INVALID_ARGUMENT)
      << "the child listens";
  EXPECT_EQ(write(asks[1], &byte, 1), 1);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  for (const int end : {asks[0], asks[1], answers[0]}) close(end);
}

TEST(DescriptorServer, RejectsInvalidAndWithdrawnKeys) {
  DescriptorServer server;
  auto ticket = server.offer(file_of('a'), {});
  ASSERT_TRUE(ticket);
  Ticket guessed = *ticket;
  guessed.key ^= 1;
  EXPECT_EQ(DescriptorServer::fetch(guessed).error(), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_FALSE(server.withdraw(guessed));
  EXPECT_TRUE(server.withdraw(*ticket));
  EXPECT_FALSE(server.withdraw(*ticket));
  EXPECT_EQ(DescriptorServer::fetch(*ticket).error(), HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

TEST(DescriptorServer, ClosesAllDescriptors) {
  const size_t before = open_descriptors();
  Ticket ticket;
  {
    DescriptorServer server;
    ticket = *server.offer(file_of('a'), {});
    const auto parcel = DescriptorServer::fetch(ticket);
    ASSERT_TRUE(parcel);
    close(parcel->descriptor);
  }
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(DescriptorServer::fetch(ticket).error(), HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

TEST(DescriptorServer, ServesConcurrentClients) {
  DescriptorServer server;
  const auto ticket = server.offer(file_of('k'), {7});
  ASSERT_TRUE(ticket);
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        const auto own = server.offer(file_of('o'), {});
        const auto parcel = DescriptorServer::fetch(*ticket);
        if (parcel && byte_of(parcel->descriptor) == 'k') ++good;
        if (parcel) close(parcel->descriptor);
        server.withdraw(*own);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 200);
}

TEST(IpcName, RejectsOtherKinds) {
  const auto name = ipc_name::encode(ipc_name::Kind::kSignalTicket, ipc_name::ByTicket{0, 0, {1, 2}, 3});
  EXPECT_FALSE(ipc_name::decode<ipc_name::ByTicket>(ipc_name::Kind::kMemoryTicket, name));
  const auto back = ipc_name::decode<ipc_name::ByTicket>(ipc_name::Kind::kSignalTicket, name);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->ticket.key, 2u);
  EXPECT_FALSE(ipc_name::decode<ipc_name::OfDriver>(ipc_name::Kind::kMemoryOfDriver, hsa_amd_ipc_memory_t{}));
}

TEST(IpcName, StoresPlaceOrReportsOverflow) {
  ipc_name::OfDriver name;
  ASSERT_TRUE(name.set_place(12345, 511 * 4096, true));
  EXPECT_EQ(name.length(), 12345u);
  EXPECT_EQ(name.offset(), 511u * 4096);
  EXPECT_TRUE(name.in_slab());
  EXPECT_FALSE(name.set_place(uint64_t{1} << 40, 0, false));
  EXPECT_FALSE(name.set_place(1, 100, true));
}

// Makes every later accept4() of this process fail.
bool forbid_accept(int problem) {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_accept4, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(problem)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{std::size(program), program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST(DescriptorServer, PausesIfAcceptFails) {
  constexpr int kNoFilter = 2, kNoServer = 3;
  for (const int problem : {EPERM, ENOMEM, EMFILE}) {
    const pid_t child = fork();
    if (child == 0) {
      if (!forbid_accept(problem)) _exit(kNoFilter);
      DescriptorServer server;  // its thread inherits the filter
      const auto ticket = server.offer(file_of('x'), {});
      if (!ticket) _exit(kNoServer);
      std::thread([&ticket] { static_cast<void>(DescriptorServer::fetch(*ticket)); }).detach();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      const std::clock_t before = std::clock();  // CPU time
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      _exit(std::clock() - before < CLOCKS_PER_SEC / 200 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == kNoFilter) GTEST_SKIP() << "no filter for system calls";
    EXPECT_EQ(status, 0) << problem;
  }
}

}  // namespace
}  // namespace rigel
