// Interruptions of threads that use a GPU: cancellation, signal handlers, signal masks.
#include <setjmp.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>

#include <utility>

#include "driver_program.hpp"

extern "C" sighandler_t bsd_signal(int signal, sighandler_t handler) noexcept;  // hidden by the headers

namespace driver_program {

// Threads are cancelled while they wait in a call: ioctl is not a cancellation point, open of a pipe is one.
void check_cancel() {
  static int kfd;
  static uint32_t event;
  kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  kfd_create_event e{};
  EXPECT(call(kfd, KFD_NR_CREATE_EVENT, e) == 0);
  event = e.event_id;
  alarm(20);
  const auto cancelled = [](void* (*body)(void*), bool returns) {
    static std::atomic<bool> back;
    back = false;
    pthread_t thread{};
    EXPECT(pthread_create(&thread, nullptr, body, &back) == 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    pthread_cancel(thread);
    void* result = nullptr;
    EXPECT(pthread_join(thread, &result) == 0);
    EXPECT(back == returns);
    return result == PTHREAD_CANCELED;
  };
  EXPECT(cancelled(
      [](void* back) -> void* {
        kfd_event_data data{};
        data.event_id = event;
        kfd_wait_events w{reinterpret_cast<uint64_t>(&data), 1, 0, 200, 0};
        EXPECT(call(kfd, KFD_NR_WAIT_EVENTS, w) == 0 && w.wait_result == KFD_WAIT_TIMEOUT);
        *static_cast<std::atomic<bool>*>(back) = true;
        pthread_testcancel();
        return nullptr;
      },
      true));
  EXPECT(is_working(kfd));
  static std::string pipe;
  pipe = "/tmp/vgpu_driver_program_" + std::to_string(getpid());
  EXPECT(mkfifo(pipe.c_str(), 0600) == 0);
  EXPECT(cancelled(
      [](void*) -> void* {
        open(pipe.c_str(), O_RDONLY | O_CLOEXEC);
        return nullptr;
      },
      false));
  EXPECT(unlink(pipe.c_str()) == 0);
  // Immediately, if the cancellation was requested earlier.
  for (void* (*body)(void*) : {+[](void* back) -> void* {
                                 pthread_cancel(pthread_self());
                                 close(1000);
                                 *static_cast<std::atomic<bool>*>(back) = true;
                                 return nullptr;
                               },
                               +[](void* back) -> void* {
                                 pthread_cancel(pthread_self());
                                 struct flock all {};
                                 fcntl(1000, F_SETLKW, &all);
                                 *static_cast<std::atomic<bool>*>(back) = true;
                                 return nullptr;
                               }}) {
    EXPECT(cancelled(body, false));
  }
}

namespace {

// Signal handlers that interrupt a wait: they can use everything, and may leave by siglongjmp.
struct Interrupted {
  static inline int kfd, other;
  static inline uint32_t event;
  static inline sigjmp_buf back;

  static uint32_t wait(uint32_t timeout_ms) {
    kfd_event_data data{};
    data.event_id = event;
    kfd_wait_events w{reinterpret_cast<uint64_t>(&data), 1, 0, timeout_ms, 0};
    EXPECT(call(kfd, KFD_NR_WAIT_EVENTS, w) == 0);
    return w.wait_result;
  }
  static void set() {
    kfd_event_ref ref{event, 0};
    EXPECT(call(kfd, KFD_NR_SET_EVENT, ref) == 0);
  }
  static void use_files(int) {
    const int file = open(kProperties, O_RDONLY | O_CLOEXEC);
    struct stat status {};
    EXPECT(file >= 0 && close(file) == 0 && stat("/dev/kfd", &status) == 0);
    EXPECT(is_working(other) && close(other) == 0);
    EXPECT(in_child([] { return is_working(open("/dev/kfd", O_RDWR | O_CLOEXEC)) ? 0 : 1; }) == 0);
  }
  // A separate wait for the event of the interrupted wait.
  static void use_event(int) {
    set();
    EXPECT(wait(0) == KFD_WAIT_COMPLETE);
    EXPECT(wait(0) == KFD_WAIT_TIMEOUT);
  }
  static void leave(int) { siglongjmp(back, 1); }
  static void leave_in_child(int) {
    if (const pid_t pid = fork(); pid != 0) {
      int status = 0;
      EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
    } else {
      signal(SIGALRM, SIG_DFL);
      alarm(20);
    }
  }

  static void raise_after(unsigned ms, void (*handler)(int)) {
    signal(SIGALRM, handler);
    const itimerval time{{0, 0}, {0, static_cast<suseconds_t>(ms) * 1000}};
    setitimer(ITIMER_REAL, &time, nullptr);
  }
};

}  // namespace

void check_signals() {
  using I = Interrupted;
  I::kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  I::other = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  kfd_create_event e{};
  e.auto_reset = 1;
  EXPECT(call(I::kfd, KFD_NR_CREATE_EVENT, e) == 0);
  I::event = e.event_id;

  I::raise_after(50, I::use_files);
  EXPECT(I::wait(300) == KFD_WAIT_TIMEOUT);
  const int next = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  struct stat status {};
  EXPECT(next == I::other && fstat(next, &status) == 0 && S_ISREG(status.st_mode));

  I::raise_after(50, I::use_event);
  EXPECT(I::wait(300) == KFD_WAIT_TIMEOUT);

  for (int i = 0; i < 3; ++i) {
    if (sigsetjmp(I::back, 1) == 0) {
      I::raise_after(20, I::leave);
      I::wait(UINT32_MAX);
      EXPECT(false);
    }
    EXPECT(is_working(I::kfd));
    // There is no waiter, so the event stays set for the next one.
    I::set();
    EXPECT(I::wait(0) == KFD_WAIT_COMPLETE);
    EXPECT(I::wait(0) == KFD_WAIT_TIMEOUT);
  }
  // The thread can still be cancelled.
  int cancelable = -1;
  EXPECT(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &cancelable) == 0);
  EXPECT(cancelable == PTHREAD_CANCEL_ENABLE);

  // The child that a handler forks returns from a wait that belongs to its parent.
  const pid_t self = getpid();
  I::raise_after(50, I::leave_in_child);
  kfd_event_data data{};
  data.event_id = I::event;
  kfd_wait_events w{reinterpret_cast<uint64_t>(&data), 1, 0, 300, 0};
  const int result = call(I::kfd, KFD_NR_WAIT_EVENTS, w);
  if (getpid() != self) _exit(result == -1 && errno == EBADF ? 0 : 1);
  EXPECT(result == 0 && w.wait_result == KFD_WAIT_TIMEOUT);
}

// A handler that opens and closes files, whatever it interrupts.
void check_interrupts() {
  const int kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  EXPECT(is_working(kfd));
  struct sigaction action {};
  action.sa_handler = [](int) {
    const int handler_kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
    EXPECT(is_working(handler_kfd) && close(handler_kfd) == 0);
  };
  action.sa_flags = SA_RESTART;
  EXPECT(sigaction(SIGALRM, &action, nullptr) == 0);
  const itimerval time{{0, 97}, {0, 97}};
  setitimer(ITIMER_REAL, &time, nullptr);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (std::chrono::steady_clock::now() < end) {
    const int other = open("/dev/kfd", O_RDWR | O_CLOEXEC);
    const int copy = dup(other);
    EXPECT(is_working(other) && is_working(copy));
    EXPECT(close(copy) == 0 && close(other) == 0);
  }
  signal(SIGALRM, SIG_IGN);
}

namespace {

// Functions that POSIX has replaced.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
void check_old_masks(Gpu& gpu) {
  using Block = void (*)();
  constexpr Block kBlock[] = {[] { sighold(SIGSEGV); }, [] { sigset(SIGSEGV, SIG_HOLD); },
                              [] { sigblock(-1); }, [] { sigsetmask(-1); }};
  for (const Block block : kBlock) {
    gpu.wait_until_protected();
    std::thread([&] {
      block();
      gpu.fence(gpu.result() + 1);
    }).join();
  }
}

void check_old_handlers(Gpu& gpu) {
  static int called;
  const sighandler_t handler = [](int) { ++called; };
  const auto set = [](sighandler_t handler_to_set) {
    struct sigaction action {
    }, old{};
    action.sa_handler = handler_to_set;
    EXPECT(sigaction(SIGSEGV, &action, &old) == 0);
    return old.sa_handler;
  };
  using Set = sighandler_t (*)(int, sighandler_t);
  for (const Set old_set : {Set{sigset}, Set{bsd_signal}}) {
    EXPECT(old_set(SIGSEGV, handler) == SIG_DFL);
    gpu.wait_until_protected();
    gpu.fence(gpu.result() + 1);
    EXPECT(called == 0);
    raise(SIGSEGV);
    EXPECT(std::exchange(called, 0) == 1);
    EXPECT(set(SIG_DFL) == handler);
  }
  EXPECT(sigignore(SIGSEGV) == 0);
  gpu.wait_until_protected();
  gpu.fence(gpu.result() + 1);
  EXPECT(set(SIG_DFL) == SIG_IGN);
}

sigjmp_buf jump_target;
volatile int* volatile fault_address = nullptr;

[[gnu::noinline]] int fault_at(int depth) {  // NOLINT(misc-no-recursion)
  volatile char frame[4096];
  frame[0] = 0;
  if (depth != 0) return fault_at(depth - 1) + frame[0];
  *fault_address = 1;
  return frame[0];
}

// Returns an address whose use raises `signal`.
volatile int* address_that_raises(int signal) {
  if (signal == SIGSEGV) return nullptr;
  const int empty = memfd_create("empty", MFD_CLOEXEC);
  return static_cast<volatile int*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, empty, 0));
}

// Runs a child with two faults, the second deeper in the stack, and returns its status.
int after_two_faults(int signal, sighandler_t handler, bool keeps_mask) {
  return in_child([&] {
    fault_address = address_that_raises(signal);
    struct sigaction action {};
    action.sa_handler = handler;
    sigaction(signal, &action, nullptr);
    for (const int depth : {0, 30}) {
      if (sigsetjmp(jump_target, keeps_mask ? 1 : 0) == 0) fault_at(depth);
    }
    return 0;
  });
}

// A handler that faults, or that leaves with its signal blocked, is not called again.
void check_faults_of_handlers(int signal) {
  const int ended = 128 + signal;
  const sighandler_t faults = [](int) {
    static int calls = 0;
    if (++calls == 2) _exit(9);
    *fault_address = 1;
  };
  const sighandler_t leaves = [](int) { siglongjmp(jump_target, 1); };
  EXPECT(after_two_faults(signal, faults, true) == ended);
  EXPECT(after_two_faults(signal, leaves, false) == ended);
  EXPECT(after_two_faults(signal, leaves, true) == 0);
  const sighandler_t unblock_and_leave[] = {[](int signal_number) {
                                              sigset_t set;
                                              sigemptyset(&set);
                                              sigaddset(&set, signal_number);
                                              sigprocmask(SIG_UNBLOCK, &set, nullptr);
                                              siglongjmp(jump_target, 1);
                                            },
                                            [](int) {
                                              sigset_t empty;
                                              sigemptyset(&empty);
                                              sigprocmask(SIG_SETMASK, &empty, nullptr);
                                              siglongjmp(jump_target, 1);
                                            },
                                            [](int signal_number) {
                                              sigrelse(signal_number);
                                              siglongjmp(jump_target, 1);
                                            },
                                            [](int) {
                                              sigsetmask(0);
                                              siglongjmp(jump_target, 1);
                                            }};
  for (const sighandler_t handler : unblock_and_leave) EXPECT(after_two_faults(signal, handler, false) == 0);
  // Blocking all other signals does not block faults.
  sigset_t others, before;
  sigfillset(&others);
  sigdelset(&others, signal);
  sigprocmask(SIG_SETMASK, &others, &before);
  EXPECT(after_two_faults(signal, leaves, true) == 0);
  sigprocmask(SIG_SETMASK, &before, nullptr);
}
#pragma GCC diagnostic pop

}  // namespace

// A thread that blocked all signals before a GPU was opened rings a protected doorbell.
void check_masks() {
  std::atomic<Gpu*> shared{nullptr};
  std::atomic<int> round{0};
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread ringer([&] {
    for (int done = 0; done < 3; ++done) {
      while (round.load() == done) std::this_thread::yield();
      Gpu& gpu = *shared.load();
      gpu.doorbell->store(gpu.write_fence(static_cast<uint32_t>(done + 1)));
    }
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  Gpu gpu;
  gpu.make_queue();
  shared = &gpu;
  for (uint32_t i = 1; i <= 3; ++i) {
    gpu.wait_until_protected();
    ++round;
    gpu.wait_for_result(i);
  }
  ringer.join();
  // A handler that blocks all signals while it runs.
  static Gpu* handler_gpu;
  handler_gpu = &gpu;
  struct sigaction action {};
  action.sa_handler = [](int) { handler_gpu->doorbell->store(handler_gpu->write_index); };
  action.sa_mask = all;
  EXPECT(sigaction(SIGUSR1, &action, nullptr) == 0);
  gpu.wait_until_protected();
  gpu.write_fence(4);
  raise(SIGUSR1);
  gpu.wait_for_result(4);
  check_old_masks(gpu);
  check_old_handlers(gpu);
  for (const int signal : {SIGSEGV, SIGBUS}) check_faults_of_handlers(signal);
}

}  // namespace driver_program
