// A process that runs out of memory at each of its requests, once or permanently. Every call returns,
// accepted work is completed, nothing crashes or hangs, and hsa_init works when there is memory again.
//
// The requests are those for memory of the C library, for mappings of the kernel, and for threads: this
// program replaces malloc, mmap and pthread_create. Each run repeats the program with one more successful
// request before the failure, until no request fails.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
}

namespace {

std::atomic<bool> counting{false};
std::atomic<long> requests{0};
std::atomic<long> first_failure{LONG_MAX}, behind_failures{LONG_MAX};

bool refused() {
  if (!counting.load(std::memory_order_relaxed)) return false;
  const long number = requests.fetch_add(1);
  return number >= first_failure && number < behind_failures;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {
void* malloc(size_t size) {
  return refused() ? (errno = ENOMEM, nullptr) : __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  return refused() ? (errno = ENOMEM, nullptr) : __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) {
  return refused() ? (errno = ENOMEM, nullptr) : __libc_realloc(memory, size);
}
void* memalign(size_t alignment, size_t size) {
  return refused() ? (errno = ENOMEM, nullptr) : __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  return memalign(alignment, size);
}
int posix_memalign(void** out, size_t alignment, size_t size) {
  void* const memory = memalign(alignment, size);
  if (memory == nullptr) return ENOMEM;
  *out = memory;
  return 0;
}
void* mmap(void* address, size_t size, int protection, int flags, int file, off_t offset) {
  if (refused()) return errno = ENOMEM, MAP_FAILED;
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, size, protection, flags, file, offset));
}
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*main)(void*),
                   void* argument) {
  static const auto real = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  return refused() ? EAGAIN : real(thread, attributes, main, argument);
}
}
#pragma GCC visibility pop

namespace {

// Results of a child, which survive its crash.
struct Account {
  std::atomic<const char*> call{""};
  std::atomic<bool> met{false};    // the request that should fail was made
  std::atomic<bool> ended{false};  // the program ran to its end
};

Account& account() {
  static auto& shared = *new (
      mmap(nullptr, sizeof(Account), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Account;
  return shared;
}

#define CALL(call) answers(#call, call)

// One call of each kind that allocates, in a program's order. Calls that depend on a rejected call are
// omitted.
class Program {
 public:
  explicit Program(const std::vector<char>& code) : code_(code) {}

  void run() {
    if (!CALL(hsa_init())) return;
    hsa_iterate_agents(keep_first<hsa_agent_t>, &agent_);
    hsa_amd_agent_iterate_memory_pools(agent_, keep_first<hsa_amd_memory_pool_t>, &pool_);
    if (agent_.handle != 0) {
      handlers();
      dispatch();
      memory();
      others();
    }
    CALL(hsa_shut_down());
  }

 private:
  static bool answers(const char* call, hsa_status_t status) {
    account().call = call;
    return status == HSA_STATUS_SUCCESS;
  }

  template <class T>
  static hsa_status_t keep_first(T thing, void* kept) {
    *static_cast<T*>(kept) = thing;
    return HSA_STATUS_INFO_BREAK;
  }

  // Waits for an accepted operation; an alarm ends the child.
  static void wait_below(hsa_signal_t signal, hsa_signal_value_t value, const char* what) {
    account().call = what;
    while (hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, value, UINT64_MAX,
                                     HSA_WAIT_STATE_BLOCKED) >= value) {
    }
  }

  void handlers() {
    hsa_signal_t signal{};
    if (!CALL(hsa_signal_create(1, 0, nullptr, &signal))) return;
    const auto count = [](hsa_signal_value_t, void* called) {
      hsa_signal_subtract_screlease({reinterpret_cast<uint64_t>(called)}, 1);
      return false;
    };
    hsa_signal_t called{};
    if (CALL(hsa_signal_create(1, 0, nullptr, &called))) {
      void* const argument = reinterpret_cast<void*>(called.handle);
      if (CALL(hsa_amd_signal_async_handler(signal, HSA_SIGNAL_CONDITION_EQ, 0, count, argument))) {
        hsa_signal_store_screlease(signal, 0);
        wait_below(called, 1, "a handler");
      }
      CALL(hsa_signal_destroy(called));
    }
    hsa_signal_group_t group{};
    if (CALL(hsa_signal_group_create(1, &signal, 1, &agent_, &group))) CALL(hsa_signal_group_destroy(group));
    CALL(hsa_signal_destroy(signal));
  }

  void dispatch() {
    hsa_code_object_reader_t reader{};
    hsa_executable_t executable{};
    const bool has_reader =
        CALL(hsa_code_object_reader_create_from_memory(code_.data(), code_.size(), &reader));
    const bool has_executable = CALL(hsa_executable_create_alt(
        HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable));
    hsa_executable_symbol_t symbol{};
    uint64_t kernel = 0;
    if (has_reader && has_executable &&
        CALL(hsa_executable_load_agent_code_object(executable, agent_, reader, nullptr, nullptr)) &&
        CALL(hsa_executable_freeze(executable, nullptr)) &&
        CALL(hsa_executable_get_symbol_by_name(executable, "vector_copy.kd", &agent_, &symbol))) {
      CALL(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &kernel));
    }
    hsa_queue_t* queue = nullptr;
    const auto ignore = [](hsa_status_t, hsa_queue_t*, void*) {};
    if (CALL(hsa_queue_create(agent_, 64, HSA_QUEUE_TYPE_MULTI, ignore, nullptr, UINT32_MAX, UINT32_MAX,
                              &queue))) {
      hsa_signal_t done{};
      if (kernel != 0 && CALL(hsa_signal_create(1, 0, nullptr, &done))) {
        submit(*queue, kernel, done);
        wait_below(done, 1, "a kernel");
        CALL(hsa_signal_destroy(done));
      }
      CALL(hsa_queue_destroy(queue));
    }
    if (has_executable) CALL(hsa_executable_destroy(executable));
    if (has_reader) CALL(hsa_code_object_reader_destroy(reader));
  }

  static void submit(const hsa_queue_t& queue, uint64_t kernel, hsa_signal_t done) {
    alignas(16) static uint64_t nothing_to_copy[16] = {};
    hsa_kernel_dispatch_packet_t packet{};
    packet.setup = 1;
    packet.workgroup_size_x = packet.workgroup_size_y = packet.workgroup_size_z = 1;
    packet.grid_size_x = packet.grid_size_y = packet.grid_size_z = 1;
    packet.kernel_object = kernel;
    packet.kernarg_address = nothing_to_copy;
    packet.completion_signal = done;
    const uint64_t index = hsa_queue_add_write_index_relaxed(&queue, 1);
    auto* const slot = static_cast<hsa_kernel_dispatch_packet_t*>(queue.base_address) + index;
    packet.header = slot->header;
    *slot = packet;
    std::atomic_ref(slot->header).store(HSA_PACKET_TYPE_KERNEL_DISPATCH, std::memory_order_release);
    hsa_signal_store_screlease(queue.doorbell_signal, static_cast<hsa_signal_value_t>(index));
  }

  void memory() {
    constexpr size_t kBytes = 100'000;
    void *from = nullptr, *to = nullptr;
    if (!CALL(hsa_amd_memory_pool_allocate(pool_, kBytes, 0, &from))) return;
    if (CALL(hsa_amd_memory_pool_allocate(pool_, kBytes, 0, &to))) {
      hsa_signal_t done{};
      if (CALL(hsa_signal_create(1, 0, nullptr, &done))) {
        if (CALL(hsa_amd_memory_async_copy(to, agent_, from, agent_, kBytes, 0, nullptr, done)))
          wait_below(done, 1, "a copy");
        CALL(hsa_signal_destroy(done));
      }
      CALL(hsa_amd_memory_pool_free(to));
    }
    hsa_amd_pointer_info_t info{};
    info.size = sizeof info;
    uint32_t accessible_count = 0;
    hsa_agent_t* accessible = nullptr;
    if (CALL(hsa_amd_pointer_info(from, &info, malloc, &accessible_count, &accessible))) free(accessible);
    CALL(hsa_amd_register_deallocation_callback(
        from, [](void*, void*) {}, nullptr));
    CALL(hsa_amd_agents_allow_access(1, &agent_, nullptr, from));
    CALL(hsa_amd_memory_fill(from, 7, kBytes / 4));
    CALL(hsa_amd_memory_pool_free(from));
    alignas(4096) static char host[4096];
    void* locked = nullptr;
    if (CALL(hsa_amd_memory_lock(host, sizeof host, &agent_, 1, &locked))) CALL(hsa_amd_memory_unlock(host));
    void* address = nullptr;
    if (CALL(hsa_amd_vmem_address_reserve(&address, 1 << 21, 0, 0)))
      CALL(hsa_amd_vmem_address_free(address, 1 << 21));
  }

  void others() {
    CALL(hsa_amd_register_system_event_handler(
        [](const hsa_amd_event_t*, void*) { return HSA_STATUS_SUCCESS; }, nullptr));
    CALL(hsa_amd_async_function([](void*) {}, nullptr));
    hsa_region_t region{};
    hsa_agent_iterate_regions(agent_, keep_first<hsa_region_t>, &region);
    hsa_signal_t doorbell{};
    hsa_queue_t* queue = nullptr;
    if (!CALL(hsa_signal_create(0, 0, nullptr, &doorbell))) return;
    if (CALL(hsa_soft_queue_create(region, 64, HSA_QUEUE_TYPE_MULTI, HSA_QUEUE_FEATURE_AGENT_DISPATCH,
                                   doorbell, &queue)))
      CALL(hsa_queue_destroy(queue));
    // The runtime must free the remaining objects: a signal, a queue, memory.
    void* left = nullptr;
    CALL(hsa_amd_memory_pool_allocate(pool_, 64, 0, &left));
    CALL(
        hsa_queue_create(agent_, 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &queue));
    hsa_executable_t executable{};
    CALL(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr,
                                   &executable));
  }

  const std::vector<char>& code_;
  hsa_agent_t agent_{};
  hsa_amd_memory_pool_t pool_{};
};

[[noreturn]] void run_without(long first, long count, const std::vector<char>& code) {
  alarm(30);
  if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(1);
  first_failure = first;
  behind_failures = count == LONG_MAX ? LONG_MAX : first + count;
  counting = true;
  Program(code).run();
  counting = false;
  account().met = requests.load() > first;
  // With memory, the runtime that could not shut down does so, and the next one starts and ends.
  while (hsa_shut_down() == HSA_STATUS_SUCCESS) {
  }
  account().call = "hsa_init() with memory";
  if (hsa_init() != HSA_STATUS_SUCCESS || hsa_shut_down() != HSA_STATUS_SUCCESS) _exit(1);
  account().ended = true;
  _exit(0);
}

// Returns the number of requests that can fail.
long fail_each_request(long count) {
  std::ifstream file(RIGEL_TEST_KERNELS, std::ios::binary);
  const std::vector<char> code{std::istreambuf_iterator<char>(file), {}};
  EXPECT_FALSE(code.empty()) << RIGEL_TEST_KERNELS;
  int failures = 0;
  long request = 0;
  for (; failures < 5; ++request) {
    account().call = "";
    account().met = account().ended = false;
    const pid_t child = fork();
    if (child == 0) run_without(request, count, code);
    int state = 0;
    if (waitpid(child, &state, 0) != child) {
      ADD_FAILURE() << "no child: " << std::strerror(errno);
      break;
    }
    if (!account().ended) {
      ++failures;
      ADD_FAILURE() << "request " << request << ", after " << account().call.load() << ": "
                    << (WIFSIGNALED(state) ? "ended by signal " : "ended with ")
                    << (WIFSIGNALED(state) ? WTERMSIG(state) : WEXITSTATUS(state));
    } else if (!account().met) {
      break;
    }
  }
  return request;
}

TEST(NoMemory, SingleFailureIsReportedOrHandled) {
  EXPECT_GT(fail_each_request(1), 300);
}

TEST(NoMemory, PermanentFailureIsReported) {
  EXPECT_GT(fail_each_request(LONG_MAX), 300);
}

TEST(NoMemory, SingleFailureIsReportedWithCopyTool) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("rigel-no-memory-" + std::to_string(::getpid()) + ".json");
  std::ofstream(file) << R"({"config_version": "1.0", "plugins": [{"name": "watcher", "library": ")"
                      << RIGEL_COPY_WATCHER << R"("}]})";
  ::setenv("HSA_PLUGIN_CONFIG", file.c_str(), 1);
  EXPECT_GT(fail_each_request(1), 300);
  ::setenv("HSA_PLUGIN_CONFIG", "none", 1);
  std::filesystem::remove(file);
}

}  // namespace
