// A program that loads the library with dlopen and closes it while the runtime is active, as interpreters and
// plugins do. This program is not linked with it.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <atomic>
#include <thread>

namespace {

template <class Function>
Function* find(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

TEST(Unload, LeavesTheRuntimeAtWork) {
  std::atomic<bool> begun{false}, go{false}, ended{false};
  struct Handler {
    std::atomic<bool>&begun, &go, &ended;
  } handler{begun, go, ended};

  void* library = dlopen(RIGEL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  ASSERT_EQ(find<decltype(hsa_init)>(library, "hsa_init")(), HSA_STATUS_SUCCESS);
  const auto work = [](void* data) {
    auto& self = *static_cast<Handler*>(data);
    self.begun = true;
    self.go.wait(false);
    self.ended = true;
  };
  ASSERT_EQ(find<decltype(hsa_amd_async_function)>(library, "hsa_amd_async_function")(work, &handler),
            HSA_STATUS_SUCCESS);
  // A thread that has freed a signal runs code of the library at its end.
  std::thread other([library, &go] {
    hsa_signal_t signal{};
    find<decltype(hsa_signal_create)>(library, "hsa_signal_create")(0, 0, nullptr, &signal);
    find<decltype(hsa_signal_destroy)>(library, "hsa_signal_destroy")(signal);
    go.wait(false);
  });
  while (!begun) std::this_thread::yield();
  EXPECT_EQ(dlclose(library), 0);
  go = true;
  go.notify_all();
  other.join();
  while (!ended) std::this_thread::yield();

  library = dlopen(RIGEL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  EXPECT_EQ(find<decltype(hsa_shut_down)>(library, "hsa_shut_down")(), HSA_STATUS_SUCCESS)
      << "the same runtime";
  EXPECT_EQ(dlclose(library), 0);
}

}  // namespace
