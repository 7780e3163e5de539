// What interrupts threads that use a GPU, and what keeps it away: cancellation, handlers of signals, masks.
#include <setjmp.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>

#include <utility>

#include "driver_program.hpp"

extern "C" sighandler_t bsd_signal(int signal, sighandler_t handler) noexcept;  // headers hide it

namespace driver_program {

// Threads that are cancelled while they wait in a call: ioctl is no place where that happens, open of a pipe is one.
void check_cancel() {
  static int kfd;
  static uint32_t event;
  kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  kfd_create_event e{};
  EXPECT(call(kfd, KFD_NR_CREATE_EVENT, e) == 0);
  event = e.event_id;
  alarm(20);
  const auto cancelled = [](void* (*body)(void*), bool comes_back) {
    static std::atomic<bool> back;
    back = false;
    pthread_t thread{};
    EXPECT(pthread_create(&thread, nullptr, body, &back) == 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    pthread_cancel(thread);
    void* result = nullptr;
    EXPECT(pthread_join(thread, &result) == 0);
    EXPECT(back == comes_back);
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
  EXPECT(answers(kfd));
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
  // At once, if that was asked for before.
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

// Handlers of signals that interrupt a wait: in them everything is as in the program, and they may not come back.
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
    EXPECT(answers(other) && close(other) == 0);
    EXPECT(in_child([] { return answers(open("/dev/kfd", O_RDWR | O_CLOEXEC)) ? 0 : 1; }) == 0);
  }
  // A wait of its own, for what the other one waited for.
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

  static void after(unsigned ms, void (*handler)(int)) {
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

  I::after(50, I::use_files);
  EXPECT(I::wait(300) == KFD_WAIT_TIMEOUT);
  const int next = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  struct stat status {};
  EXPECT(next == I::other && fstat(next, &status) == 0 && S_ISREG(status.st_mode));

  I::after(50, I::use_event);
  EXPECT(I::wait(300) == KFD_WAIT_TIMEOUT);

  for (int i = 0; i < 3; ++i) {
    if (sigsetjmp(I::back, 1) == 0) {
      I::after(20, I::leave);
      I::wait(UINT32_MAX);
      EXPECT(false);
    }
    EXPECT(answers(I::kfd));
    // Nobody waits, so that it stays set for who waits next.
    I::set();
    EXPECT(I::wait(0) == KFD_WAIT_COMPLETE);
    EXPECT(I::wait(0) == KFD_WAIT_TIMEOUT);
  }
  // A thread that can be cancelled still.
  int cancelable = -1;
  EXPECT(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &cancelable) == 0);
  EXPECT(cancelable == PTHREAD_CANCEL_ENABLE);

  // The child of a handler comes back from a wait that is its parent's.
  const pid_t self = getpid();
  I::after(50, I::leave_in_child);
  kfd_event_data data{};
  data.event_id = I::event;
  kfd_wait_events w{reinterpret_cast<uint64_t>(&data), 1, 0, 300, 0};
  const int result = call(I::kfd, KFD_NR_WAIT_EVENTS, w);
  if (getpid() != self) _exit(result == -1 && errno == EBADF ? 0 : 1);
  EXPECT(result == 0 && w.wait_result == KFD_WAIT_TIMEOUT);
}

// A handler that opens and closes, whatever it interrupts.
void check_interrupts() {
  const int kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  EXPECT(answers(kfd));
  struct sigaction action {};
  action.sa_handler = [](int) {
    const int own = open("/dev/kfd", O_RDWR | O_CLOEXEC);
    EXPECT(answers(own) && close(own) == 0);
  };
  action.sa_flags = SA_RESTART;
  EXPECT(sigaction(SIGALRM, &action, nullptr) == 0);
  const itimerval time{{0, 97}, {0, 97}};
  setitimer(ITIMER_REAL, &time, nullptr);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (std::chrono::steady_clock::now() < end) {
    const int other = open("/dev/kfd", O_RDWR | O_CLOEXEC);
    const int copy = dup(other);
    EXPECT(answers(other) && answers(copy));
    EXPECT(close(copy) == 0 && close(other) == 0);
  }
  signal(SIGALRM, SIG_IGN);
}

namespace {

// The functions that POSIX has replaced.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
void check_old_masks(Gpu& gpu) {
  using Block = void (*)();
  constexpr Block kBlock[] = {[] { sighold(SIGSEGV); }, [] { sigset(SIGSEGV, SIG_HOLD); },
                              [] { sigblock(-1); }, [] { sigsetmask(-1); }};
  for (const Block block : kBlock) {
    gpu.wait_until_watched();
    std::thread([&] {
      block();
      gpu.fence(gpu.result() + 1);
    }).join();
  }
}

void check_old_handlers(Gpu& gpu) {
  static int called;
  const sighandler_t handler = [](int) { ++called; };
  const auto set = [](sighandler_t wanted) {
    struct sigaction action {
    }, old{};
    action.sa_handler = wanted;
    EXPECT(sigaction(SIGSEGV, &action, &old) == 0);
    return old.sa_handler;
  };
  using Set = sighandler_t (*)(int, sighandler_t);
  for (const Set old_set : {Set{sigset}, Set{bsd_signal}}) {
    EXPECT(old_set(SIGSEGV, handler) == SIG_DFL);
    gpu.wait_until_watched();
    gpu.fence(gpu.result() + 1);
    EXPECT(called == 0);
    raise(SIGSEGV);
    EXPECT(std::exchange(called, 0) == 1);
    EXPECT(set(SIG_DFL) == handler);
  }
  EXPECT(sigignore(SIGSEGV) == 0);
  gpu.wait_until_watched();
  gpu.fence(gpu.result() + 1);
  EXPECT(set(SIG_DFL) == SIG_IGN);
}

sigjmp_buf way_out;
volatile int* volatile nowhere = nullptr;

[[gnu::noinline]] int fault_at(int depth) {  // NOLINT(misc-no-recursion)
  volatile char room[4096];
  room[0] = 0;
  if (depth != 0) return fault_at(depth - 1) + room[0];
  *nowhere = 1;
  return room[0];
}

// A place whose use is this signal.
volatile int* place_of(int signal) {
  if (signal == SIGSEGV) return nullptr;
  const int empty = memfd_create("empty", MFD_CLOEXEC);
  return static_cast<volatile int*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, empty, 0));
}

// The status of a child that has two faults, of which the second is deeper in the stack.
int after_two_faults(int signal, sighandler_t handler, bool keeps_mask) {
  return in_child([&] {
    nowhere = place_of(signal);
    struct sigaction action {};
    action.sa_handler = handler;
    sigaction(signal, &action, nullptr);
    for (const int depth : {0, 30}) {
      if (sigsetjmp(way_out, keeps_mask ? 1 : 0) == 0) fault_at(depth);
    }
    return 0;
  });
}

// A handler that faults itself, or that is left with its signal blocked, is not called again.
void check_faults_of_handlers(int signal) {
  const int ended = 128 + signal;
  const sighandler_t faults = [](int) {
    static int calls = 0;
    if (++calls == 2) _exit(9);
    *nowhere = 1;
  };
  const sighandler_t leaves = [](int) { siglongjmp(way_out, 1); };
  EXPECT(after_two_faults(signal, faults, true) == ended);
  EXPECT(after_two_faults(signal, leaves, false) == ended);
  EXPECT(after_two_faults(signal, leaves, true) == 0);
  const sighandler_t unblock_and_leave[] = {[](int its_own) {
                                              sigset_t one;
                                              sigemptyset(&one);
                                              sigaddset(&one, its_own);
                                              sigprocmask(SIG_UNBLOCK, &one, nullptr);
                                              siglongjmp(way_out, 1);
                                            },
                                            [](int) {
                                              sigset_t none;
                                              sigemptyset(&none);
                                              sigprocmask(SIG_SETMASK, &none, nullptr);
                                              siglongjmp(way_out, 1);
                                            },
                                            [](int its_own) {
                                              sigrelse(its_own);
                                              siglongjmp(way_out, 1);
                                            },
                                            [](int) {
                                              sigsetmask(0);
                                              siglongjmp(way_out, 1);
                                            }};
  for (const sighandler_t handler : unblock_and_leave) EXPECT(after_two_faults(signal, handler, false) == 0);
  // What blocks everything else does not block faults.
  sigset_t others, before;
  sigfillset(&others);
  sigdelset(&others, signal);
  sigprocmask(SIG_SETMASK, &others, &before);
  EXPECT(after_two_faults(signal, leaves, true) == 0);
  sigprocmask(SIG_SETMASK, &before, nullptr);
}
#pragma GCC diagnostic pop

}  // namespace

// A thread that has blocked all signals before there was a GPU rings a doorbell that is watched.
void check_masks() {
  std::atomic<Gpu*> shared{nullptr};
  std::atomic<int> turn{0};
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread ringer([&] {
    for (int done = 0; done < 3; ++done) {
      while (turn.load() == done) std::this_thread::yield();
      Gpu& gpu = *shared.load();
      gpu.doorbell->store(gpu.put_fence(static_cast<uint32_t>(done + 1)));
    }
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  Gpu gpu;
  gpu.make_queue();
  shared = &gpu;
  for (uint32_t i = 1; i <= 3; ++i) {
    gpu.wait_until_watched();
    ++turn;
    gpu.await(i);
  }
  ringer.join();
  // And a handler that blocks all signals while it runs.
  static Gpu* rung;
  rung = &gpu;
  struct sigaction action {};
  action.sa_handler = [](int) { rung->doorbell->store(rung->written); };
  action.sa_mask = all;
  EXPECT(sigaction(SIGUSR1, &action, nullptr) == 0);
  gpu.wait_until_watched();
  gpu.put_fence(4);
  raise(SIGUSR1);
  gpu.await(4);
  check_old_masks(gpu);
  check_old_handlers(gpu);
  for (const int signal : {SIGSEGV, SIGBUS}) check_faults_of_handlers(signal);
}

}  // namespace driver_program
