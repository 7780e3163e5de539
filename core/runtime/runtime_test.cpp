// The process's references to its runtime, with a mock gate instead of the API tables.
#include "core/runtime/runtime.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>

#include "loader/module/loaded_backend.hpp"
#include "loader/module/testing/manifests.hpp"

namespace rigel {
namespace {

struct Gate {
  static inline std::atomic<bool> throws{false};
  static inline std::atomic<int> closed{0};

  static Status open(Runtime&) {
    if (throws) throw std::system_error(EAGAIN, std::generic_category(), "no thread");
    return HSA_STATUS_SUCCESS;
  }
  static constexpr ApiGate kGate{.open = open,
                                 .leave = [] {},
                                 .close = [] { ++closed; },
                                 .abandon = [] {},
                                 .notify_scratch = [](const hsa_queue_t&, const hsabe_scratch_event_t&) {}};
};

TEST(Runtime, InitFailsIfGateThrows) {
  std::string folder = std::filesystem::temp_directory_path() / "rigel-runtime-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  std::ofstream(folder + "/own.json") << manifest_text("own", RIGEL_OWN_BACKEND, "", R"({"bus": "own"})");
  ::setenv("HSA_ADD_BACKEND_MANIFESTS", folder.c_str(), 1);
  Gate::throws = true;
  EXPECT_EQ(Runtime::acquire(Gate::kGate), HSA_STATUS_ERROR);
  EXPECT_EQ(Gate::closed, 1);
  EXPECT_EQ(Runtime::release(), HSA_STATUS_ERROR_NOT_INITIALIZED);
  Gate::throws = false;
  // Another thread waits for changes of the runtime by this one.
  std::thread([] {
    EXPECT_EQ(Runtime::acquire(Gate::kGate), HSA_STATUS_SUCCESS);
    EXPECT_EQ(Runtime::release(), HSA_STATUS_SUCCESS);
  }).join();
  EXPECT_EQ(Gate::closed, 2);
  ::unsetenv("HSA_ADD_BACKEND_MANIFESTS");
  std::filesystem::remove_all(folder);
}

TEST(ForkRegistry, ChildHasNoLockedModules) {
  static_cast<void>(Runtime::acquire(Gate::kGate));  // registers the handlers of fork()
  std::atomic<bool> is_locked{false};
  std::thread holder([&] {
    const MutexLock lock(loaded_backends_mutex());
    is_locked = true;
    ::usleep(100000);  // the fork comes while the lock is held
  });
  while (!is_locked) std::this_thread::yield();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(5);
    const MutexLock lock(loaded_backends_mutex());
    ::syscall(SYS_exit_group, 0);  // not _exit(): ThreadSanitizer would report the parent's thread
  }
  int result = -1;
  EXPECT_EQ(::waitpid(child, &result, 0), child);
  EXPECT_EQ(result, 0);
  holder.join();
  static_cast<void>(Runtime::release());
}

}  // namespace
}  // namespace rigel
