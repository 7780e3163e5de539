// vgpu-compiler: compiles kernels for the virtual GPU of the process that started it (compiler_process.hpp).
// Its standard input is a socket to that process. `vgpu-compiler --warm` fills the kernel cache (warm.hpp);
// `vgpu-compiler --version` prints LLVM's version.
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <llvm/Config/llvm-config.h>

#include "plugins/vgpu/compiler/llvm_compiler.hpp"
#include "plugins/vgpu/compiler/warm.hpp"
#include "plugins/vgpu/exec/native/messages.hpp"

namespace {

using namespace rigel::vgpu::exec::compiler;

// Transfers all bytes by read() or write(); false: the other end is closed.
template <class Move, class Byte>
bool move_all(Move move, Byte* at, size_t size) {
  while (size != 0) {
    const ssize_t count = move(STDIN_FILENO, at, size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    at += count;
    size -= static_cast<size_t>(count);
  }
  return true;
}
bool receive(void* to, size_t size) {
  return move_all(read, static_cast<char*>(to), size);
}
bool send(const void* from, size_t size) {
  return move_all(write, static_cast<const char*>(from), size);
}

// CPU time per kernel.
constexpr time_t kMostSeconds = 60;

bool send_message(const std::vector<std::byte>& message) {
  const uint64_t length = message.size();
  return send(&length, sizeof length) && send(message.data(), message.size());
}

std::vector<std::byte> too_long;

// Runs on SIGPROF, since LLVM cannot be interrupted.
void give_up(int) {
  send_message(too_long);
  _exit(0);
}

void give_up_after(time_t seconds) {
  const itimerval left{{}, {seconds, 0}};
  setitimer(ITIMER_PROF, &left, nullptr);
}

Answer answer_to(std::span<const std::byte> message) {
  Answer answer;
  const auto received = request_from(message);
  if (!received) {
    answer.error = received.error();
    return answer;
  }
  const auto plan = make_plan(received->request);
  if (!plan) {
    answer.error = plan.error();
    return answer;
  }
  FlatCode code = generate_code(**plan);
  answer.digest = (*plan)->digest();
  answer.entry = code.entry;
  answer.code = std::move(code.bytes);
  answer.error = std::move(code.error);
  return answer;
}

// Limits address space, mapped files included, and forbids new privileges. Compiling takes up to 300 MiB; a
// pathological kernel must not exhaust the program's memory. Kernels are untrusted input.
void give_up_rights() {
  constexpr rlim_t kMostMemory = rlim_t{8} << 30;
  for (const auto& [resource, most] :
       {std::pair{RLIMIT_AS, kMostMemory}, std::pair{RLIMIT_CORE, rlim_t{0}}}) {
    rlimit limit{};
    if (getrlimit(resource, &limit) != 0) continue;
    limit.rlim_cur = std::min(limit.rlim_max, std::min(limit.rlim_cur, most));
    limit.rlim_max = limit.rlim_cur;
    setrlimit(resource, &limit);
  }
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view command = count >= 2 ? arguments[1] : "";
  if (command == "--version") {
    std::puts("LLVM " LLVM_VERSION_STRING);
    return std::fflush(stdout) == 0 ? 0 : 1;
  }
  if (command == "--warm") return warm({arguments + 2, arguments + count});
  if (command == "--help" || command == "-h") return warm(std::array{"--help"});
  give_up_rights();
  signal(SIGPIPE, SIG_IGN);
  if (isatty(STDIN_FILENO) != 0) {
    std::fputs(
        "vgpu-compiler: error: standard input is a terminal; the virtual GPU starts this program, and users "
        "call vgpu-compiler --warm\n",
        stderr);
    return 1;
  }
  // Exits as soon as the program closes its end, also during compilation.
  std::thread([] {
    pollfd other_end{STDIN_FILENO, 0, 0};
    while (poll(&other_end, 1, -1) < 0 && errno == EINTR) continue;
    _exit(0);
  }).detach();
  Answer late;
  late.error = "the compiler timed out";
  too_long = to_message(late);
  signal(SIGPROF, give_up);
  sigset_t timers;  // Blocked if the starting thread blocks all signals, as the virtual GPU's threads do.
  sigemptyset(&timers);
  sigaddset(&timers, SIGPROF);
  sigprocmask(SIG_UNBLOCK, &timers, nullptr);
  uint64_t size = 0;
  while (receive(&size, sizeof size)) {
    if (size > kMostMessageBytes) return 1;
    std::vector<std::byte> message(size);
    if (!receive(message.data(), message.size())) return 1;
    give_up_after(kMostSeconds);
    const std::vector<std::byte> answer = to_message(answer_to(message));
    give_up_after(0);
    if (!send_message(answer)) return 1;
  }
  return 0;
}
