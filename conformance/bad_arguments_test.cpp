// Calls every function of the API with one invalid argument at a time: null pointers, handles that are
// invalid, destroyed or of another kind, sizes of 0 and 2^63, unmapped addresses. No call may crash or hang,
// and each must return an error if the manual defines one. functions.inc lists all exports.
//
// The other arguments are valid as far as their types allow. Calls happen in a child process, so that a crash
// is reported with the function's name. The next child continues after the function that crashed.
#include <gtest/gtest.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ext_finalize.h>
#include <hsa/hsa_ext_image.h>
#include <hsa/hsa_ven_amd_pc_sampling.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/agents.hpp"
#include "support/memory.hpp"
#include "support/optional_function.hpp"

namespace conformance {
namespace {

// --- Exceptions that the manual allows ---------------------------------------------------------------------

// Operations on signals and queue indices return no status. The manual leaves invalid handles undefined.
bool takes_its_handle_unchecked(std::string_view function) {
  for (const char* family :
       {"load", "store", "silent", "add", "subtract", "and", "or", "xor", "exchange", "cas"}) {
    for (const char* object : {"hsa_signal_", "hsa_queue_"}) {
      if (function.starts_with(std::string(object) + family + "_")) return true;
    }
  }
  return false;
}

// Arguments for which null, a handle of 0 or a huge number is valid.
struct Allowed {
  const char* function;
  int argument;
  const char* reason;
};
constexpr Allowed kAllowed[] = {
    {"hsa_code_object_deserialize", 2, "options"},
    {"hsa_executable_create", 2, "options"},
    {"hsa_executable_create_alt", 2, "options"},
    {"hsa_executable_freeze", 1, "options"},
    {"hsa_executable_validate_alt", 1, "options"},
    {"hsa_signal_create", 2, "no consumers"},
    {"hsa_amd_signal_create", 2, "no consumers"},
    {"hsa_amd_memory_async_copy", 1, "whoever has the memory"},
    {"hsa_amd_memory_async_copy", 3, "whoever has the memory"},
    {"hsa_amd_memory_async_copy", 6, "no dependencies"},
    {"hsa_amd_memory_async_copy_rect", 8, "no dependencies"},
    {"hsa_amd_svm_prefetch_async", 4, "no dependencies"},
    {"hsa_amd_svm_prefetch_async", 5, "nobody waits"},
    {"hsa_amd_queue_cu_set_mask", 2, "all units"},
    {"hsa_memory_deregister", 1, "what is not registered need not be taken back"},
    {"hsa_amd_profiling_convert_tick_to_system_domain", 1, "any time is one"},
    {"hsa_amd_agent_preload", 1, "flags that nobody knows yet"},
    {"hsa_amd_counted_queue_acquire", 3, "nobody to tell about errors"},
    {"hsa_amd_counted_queue_acquire", 5, "flags that nobody knows yet"},
    {"hsa_amd_ais_file_write", 4, "not wanted"},
    {"hsa_amd_ais_file_write", 5, "not wanted"},
    {"hsa_amd_ais_file_read", 4, "not wanted"},
    {"hsa_amd_ais_file_read", 5, "not wanted"},
};

bool is_allowed(std::string_view function, int argument) {
  return std::ranges::any_of(kAllowed, [&](const Allowed& allowed) {
    return allowed.function == function && allowed.argument == argument;
  });
}

// Functions with an array and its number of elements. The runtime cannot detect a number that is too large.
bool counts_elements(std::string_view function) {
  for (const char* name :
       {"hsa_signal_create", "hsa_amd_signal_create", "hsa_signal_group_create", "hsa_amd_signal_wait_any",
        "hsa_amd_signal_wait_all", "hsa_amd_agents_allow_access", "hsa_amd_memory_async_copy",
        "hsa_amd_memory_async_copy_on_engine", "hsa_amd_memory_async_copy_rect", "hsa_amd_interop_map_buffer",
        "hsa_amd_ipc_memory_attach", "hsa_amd_svm_prefetch_async", "hsa_amd_queue_cu_set_mask",
        "hsa_amd_queue_cu_get_mask", "hsa_amd_memory_async_batch_copy", "hsa_amd_queue_create",
        "hsa_amd_interop_map_buffer_with_size", "hsa_amd_svm_discard_batch_async",
        "hsa_amd_svm_discard_and_prefetch_batch_async"}) {
    if (function == name) return true;
  }
  return false;
}

// Functions that look up their `void*` arguments and never dereference them.
bool only_looks_up_addresses(std::string_view function) {
  for (const char* name : {"hsa_memory_free",
                           "hsa_amd_memory_pool_free",
                           "hsa_amd_memory_unlock",
                           "hsa_amd_interop_unmap_buffer",
                           "hsa_amd_pointer_info",
                           "hsa_amd_pointer_info_set_userdata",
                           "hsa_amd_ipc_memory_create",
                           "hsa_amd_ipc_memory_detach",
                           "hsa_amd_agents_allow_access",
                           "hsa_amd_register_deallocation_callback",
                           "hsa_amd_deregister_deallocation_callback",
                           "hsa_amd_portable_export_dmabuf",
                           "hsa_amd_portable_export_dmabuf_v2",
                           "hsa_amd_vmem_address_free",
                           "hsa_amd_vmem_map",
                           "hsa_amd_vmem_unmap",
                           "hsa_amd_vmem_set_access",
                           "hsa_amd_vmem_get_access",
                           "hsa_amd_vmem_retain_alloc_handle",
                           "hsa_memory_assign_agent",
                           "hsa_amd_memory_migrate"}) {
    if (function == name) return true;
  }
  return false;
}

// --- Arguments ---------------------------------------------------------------------------------------------

template <class T>
concept Handle = std::is_class_v<T> && sizeof(T) == sizeof(uint64_t) && requires(T t) {
  requires std::is_same_v<decltype(t.handle), uint64_t>;
}
&&!std::is_same_v<T, hsa_callback_data_t>;

template <class T>
constexpr bool kIsQueue =
    std::is_pointer_v<T>&& std::is_same_v<std::remove_cv_t<std::remove_pointer_t<T>>, hsa_queue_t>;
template <class T>
constexpr bool kIsText = std::is_same_v<T, const char*>;
template <class T>
constexpr bool kIsAddress = std::is_pointer_v<T>&& std::is_void_v<std::remove_pointer_t<T>>;
template <class T>
constexpr bool kIsFunction = std::is_pointer_v<T>&& std::is_function_v<std::remove_pointer_t<T>>;

template <class Result, class... Args>
Result does_nothing(Args...) {
  return Result();
}
template <class Result, class... Args>
auto callback_like(Result (*)(Args...)) -> Result (*)(Args...) {
  return &does_nothing<Result, Args...>;
}

template <class T>
struct InvalidValue {
  T value;
  const char* description;
  bool must_fail;
};

constexpr size_t kRoom = 1 << 13;  // bytes that one pointer argument refers to
alignas(4096) std::array<std::array<char, kRoom>, 16> program_memory;

// Live objects of every kind, and handles of destroyed ones.
class TestObjects {
 public:
  explicit TestObjects(hsa_agent_t agent) : agent_(agent) {
    if (const auto pools = pools_of(agent); !pools.empty()) pool_ = pools[0];
    if (const auto regions = regions_of(agent); !regions.empty()) region_ = regions[0];
    if (const auto shared = find_pool(agent, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED)) {
      memory_ = allocate(*shared, sizeof program_memory, agent);
    }
    hsa_agent_get_info(agent, HSA_AGENT_INFO_ISA, &isa_);
    hsa_agent_iterate_caches(agent, keep_first<hsa_cache_t>, &cache_);
    if (isa_.handle != 0) hsa_isa_iterate_wavefronts(isa_, keep_first<hsa_wavefront_t>, &wavefront_);
    hsa_signal_create(0, 0, nullptr, &signal_);
    hsa_signal_create(0, 0, nullptr, &dead_signal_);
    hsa_signal_destroy(dead_signal_);
    hsa_signal_group_create(1, &signal_, 1, &agent_, &group_);
    hsa_signal_group_create(1, &signal_, 1, &agent_, &dead_group_);
    hsa_signal_group_destroy(dead_group_);
    executable_ = make_executable();
    dead_executable_ = make_executable();
    hsa_executable_destroy(dead_executable_);
    static char code[64] = "no code";
    hsa_code_object_reader_create_from_memory(code, sizeof code, &reader_);
    hsa_code_object_reader_create_from_memory(code, sizeof code, &dead_reader_);
    hsa_code_object_reader_destroy(dead_reader_);
  }

  ~TestObjects() {
    if (queue_ != nullptr) hsa_queue_destroy(queue_);
    hsa_code_object_reader_destroy(reader_);
    hsa_executable_destroy(executable_);
    hsa_signal_group_destroy(group_);
    hsa_signal_destroy(signal_);
  }
  TestObjects(const TestObjects&) = delete;
  TestObjects& operator=(const TestObjects&) = delete;

  /// Zeroes the memory that pointer arguments refer to.
  void clear_memory() {
    std::memset(program_memory.data(), 0, sizeof program_memory);
    if (memory_ != nullptr) std::memset(memory_.get(), 0, sizeof program_memory);
  }

  template <class T>
  T good(std::string_view function, size_t argument) {
    // Memory that the function may access has to be accessible to the agent: a GPU faults otherwise.
    void* const memory = memory_ != nullptr && !only_looks_up_addresses(function)
                             ? static_cast<char*>(memory_.get()) + argument * kRoom
                             : program_memory[argument].data();
    if constexpr (kIsQueue<T>) {
      return queue();
    } else if constexpr (kIsFunction<T>) {
      return callback_like(T());
    } else if constexpr (kIsText<T>) {
      return "nonsense";
    } else if constexpr (std::is_pointer_v<T>) {
      return static_cast<T>(memory);
    } else if constexpr (Handle<T>) {
      return alive<T>();
    } else if constexpr (std::is_same_v<T, size_t>) {
      return 4096;
    } else if constexpr (std::is_same_v<T, uint32_t>) {
      return function.ends_with("queue_create") ? 64 : 0;
    } else if constexpr (std::is_same_v<T, int>) {
      return function == "hsa_amd_profiling_set_profiler_enabled" ? 1 : -1;
    } else {
      return T();
    }
  }

  template <class T>
  std::vector<InvalidValue<T>> bad(std::string_view function, size_t argument) {
    const bool allowed = is_allowed(function, static_cast<int>(argument));
    const bool unchecked = takes_its_handle_unchecked(function);
    std::vector<InvalidValue<T>> values;
    if constexpr (kIsQueue<T>) {
      if (unchecked) return values;
      values.push_back({nullptr, "null", !allowed});
      values.push_back(
          {reinterpret_cast<hsa_queue_t*>(program_memory[argument].data()), "memory that is no queue", true});
      values.push_back({dead_queue(), "a destroyed queue", true});
    } else if constexpr (kIsAddress<T>) {
      values.push_back({nullptr, "null", false});
      if (!only_looks_up_addresses(function)) return values;
      values.push_back({reinterpret_cast<T>(uintptr_t{1}), "the address 1", false});
      values.push_back({reinterpret_cast<T>(uintptr_t{1} << 63), "the address 2^63", false});
      values.push_back({reinterpret_cast<T>(~uintptr_t{0}), "the last address", false});
    } else if constexpr (std::is_pointer_v<T>) {
      values.push_back({nullptr, "null", !allowed});
      if constexpr (kIsText<T>) values.push_back({"", "an empty text", false});
    } else if constexpr (Handle<T>) {
      if (unchecked) return values;
      values.push_back({{0}, "0", !allowed});
      values.push_back({{1}, "1", true});
      values.push_back(
          {{reinterpret_cast<uint64_t>(program_memory[argument].data())}, "memory of the program", true});
      values.push_back({{~uint64_t{0}}, "2^64 - 1", true});
      values.push_back({{uint64_t{1} << 63}, "2^63", true});
      if constexpr (std::is_same_v<T, hsa_signal_t>) {
        values.push_back({{agent_.handle}, "an agent", true});
      } else {
        values.push_back({{signal_.handle}, "a signal", true});
      }
      if (const T gone = dead<T>(); gone.handle != 0) values.push_back({gone, "a destroyed one", true});
    } else if constexpr (std::is_enum_v<T>) {
      // Sanitizers accept values that fit into the enumeration's bits.
      values.push_back({static_cast<T>(0), "0", false});
      values.push_back({static_cast<T>(3), "3", false});
    } else if constexpr (std::is_same_v<T, uint64_t>) {  // size_t is the same type
      values.push_back({0, "0", false});
      values.push_back({uint64_t{1} << 63, "2^63", !allowed});
      values.push_back({~uint64_t{0}, "2^64 - 1", !allowed});
    } else if constexpr (std::is_same_v<T, uint32_t>) {
      values.push_back({0, "0", false});
      values.push_back({3, "3", false});
      if (!counts_elements(function)) values.push_back({~0u, "2^32 - 1", false});
      if (counts_elements(function)) values.pop_back();
    } else if constexpr (std::is_same_v<T, int64_t>) {
      values.push_back({INT64_MIN, "-2^63", false});
      values.push_back({INT64_MAX, "2^63 - 1", false});
    } else if constexpr (std::is_same_v<T, int>) {
      values.push_back({-1, "-1", false});
      values.push_back({1 << 20, "2^20", false});
    } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      values.push_back({static_cast<T>(~T{}), "the largest number", false});
    }
    return values;
  }

 private:
  template <class T>
  static hsa_status_t keep_first(T handle, void* kept) {
    if (static_cast<T*>(kept)->handle == 0) *static_cast<T*>(kept) = handle;
    return HSA_STATUS_SUCCESS;
  }

  static hsa_executable_t make_executable() {
    hsa_executable_t created{};
    hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &created);
    return created;
  }

  hsa_queue_t* make_queue() const {
    hsa_queue_t* created = nullptr;
    hsa_queue_create(agent_, 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &created);
    return created;
  }
  hsa_queue_t* queue() {
    if (queue_ == nullptr) queue_ = make_queue();
    return queue_;
  }
  hsa_queue_t* dead_queue() {
    if (dead_queue_ == nullptr) {
      queue();  // created first, so that it cannot get the address of the destroyed queue
      dead_queue_ = make_queue();
      hsa_queue_destroy(dead_queue_);
    }
    return dead_queue_;
  }

  template <class T>
  T alive() const {
    if constexpr (std::is_same_v<T, hsa_agent_t>)
      return agent_;
    else if constexpr (std::is_same_v<T, hsa_signal_t>)
      return signal_;
    else if constexpr (std::is_same_v<T, hsa_signal_group_t>)
      return group_;
    else if constexpr (std::is_same_v<T, hsa_region_t>)
      return region_;
    else if constexpr (std::is_same_v<T, hsa_amd_memory_pool_t>)
      return pool_;
    else if constexpr (std::is_same_v<T, hsa_isa_t>)
      return isa_;
    else if constexpr (std::is_same_v<T, hsa_cache_t>)
      return cache_;
    else if constexpr (std::is_same_v<T, hsa_wavefront_t>)
      return wavefront_;
    else if constexpr (std::is_same_v<T, hsa_executable_t>)
      return executable_;
    else if constexpr (std::is_same_v<T, hsa_code_object_reader_t>)
      return reader_;
    else
      return T();
  }
  template <class T>
  T dead() const {
    if constexpr (std::is_same_v<T, hsa_signal_t>)
      return dead_signal_;
    else if constexpr (std::is_same_v<T, hsa_signal_group_t>)
      return dead_group_;
    else if constexpr (std::is_same_v<T, hsa_executable_t>)
      return dead_executable_;
    else if constexpr (std::is_same_v<T, hsa_code_object_reader_t>)
      return dead_reader_;
    else
      return T();
  }

  hsa_agent_t agent_;
  PoolMemory memory_;
  hsa_amd_memory_pool_t pool_{};
  hsa_region_t region_{};
  hsa_isa_t isa_{};
  hsa_cache_t cache_{};
  hsa_wavefront_t wavefront_{};
  hsa_signal_t signal_{}, dead_signal_{};
  hsa_signal_group_t group_{}, dead_group_{};
  hsa_executable_t executable_{}, dead_executable_{};
  hsa_code_object_reader_t reader_{}, dead_reader_{};
  hsa_queue_t* queue_ = nullptr;
  hsa_queue_t* dead_queue_ = nullptr;
};

// --- Calls -------------------------------------------------------------------------------------------------

// The child's report, in shared memory: survives a crash of the child.
struct Report {
  size_t function = 0;  // index of the function that is being called
  size_t calls = 0;
  char call[256] = "";
  char accepted[1 << 15] = "";  // a line for each call that should have failed
};

// The arguments of a call. One object type for all functions: the compiler then instantiates the loops below
// once for each type of argument, not for each argument of 300 functions.
class Arguments {
 public:
  template <class T>
  void set(size_t index, T value) {
    static_assert(sizeof value <= kBytes);
    std::memcpy(values_[index], &value, sizeof value);
  }
  template <class T>
  T get(size_t index) const {
    T value;
    std::memcpy(&value, values_[index], sizeof value);
    return value;
  }

 private:
  static constexpr size_t kBytes = 256;  // hsa_ext_control_directives_t has 144
  alignas(16) char values_[16][kBytes];
};

struct Function;

// The functions for one type of argument.
struct ArgumentType {
  void (*set_good)(TestObjects& objects, std::string_view function, size_t index, Arguments& arguments);
  void (*call_with_each_bad)(const Function& function, size_t index, hsa_agent_t agent, Report& report);
};

struct Function {
  const char* name;
  void (*address)();  // null: an older runtime does not have it
  const ArgumentType* types;
  size_t count;
  bool returns_status;
  hsa_status_t (*call)(void (*address)(), const Arguments& arguments);  // success without status

  void set_good(TestObjects& objects, Arguments& arguments) const {
    for (size_t i = 0; i < count; ++i) types[i].set_good(objects, name, i, arguments);
  }
  void run(const Arguments& arguments, const std::string& description, bool must_fail, Report& report) const {
    ++report.calls;
    std::snprintf(report.call, sizeof report.call, "%s, %s", name, description.c_str());
    if (call(address, arguments) == HSA_STATUS_SUCCESS && must_fail && returns_status) {
      const size_t used = std::strlen(report.accepted);
      std::snprintf(report.accepted + used, sizeof report.accepted - used, "  %s\n", report.call);
    }
  }
};

template <class T>
void set_good(TestObjects& objects, std::string_view function, size_t index, Arguments& arguments) {
  arguments.set(index, objects.good<T>(function, index));
}

template <class T>
void call_with_each_bad(const Function& function, size_t index, hsa_agent_t agent, Report& report) {
  TestObjects fresh(agent);
  for (const InvalidValue<T>& bad : fresh.bad<T>(function.name, index)) {
    fresh.clear_memory();
    Arguments arguments;
    function.set_good(fresh, arguments);
    arguments.set(index, bad.value);
    function.run(arguments, "argument " + std::to_string(index) + " is " + bad.description, bad.must_fail,
                 report);
  }
}

template <class Pointer>
struct Signature;
template <class Result, class... Args>
struct Signature<Result (*)(Args...)> {
  static constexpr std::array<ArgumentType, sizeof...(Args)> kTypes{
      ArgumentType{set_good<Args>, call_with_each_bad<Args>}...};

  static hsa_status_t call(void (*address)(), [[maybe_unused]] const Arguments& arguments) {
    const auto function = reinterpret_cast<Result (*)(Args...)>(address);
    return [&]<size_t... I>(std::index_sequence<I...>) {
      if constexpr (std::is_same_v<Result, hsa_status_t>) {
        return function(arguments.get<Args>(I)...);
      } else {
        function(arguments.get<Args>(I)...);
        return HSA_STATUS_SUCCESS;
      }
    }
    (std::index_sequence_for<Args...>());
  }
  static Function describe(const char* name, Result (*function)(Args...)) {
    return {name,
            reinterpret_cast<void (*)()>(function),
            kTypes.data(),
            sizeof...(Args),
            std::is_same_v<Result, hsa_status_t>,
            call};
  }
};

template <class Pointer>
Function describe(const char* name, Pointer function) {
  return Signature<Pointer>::describe(name, function);
}

const Function kFunctions[] = {
#define FUNCTION(name) describe(#name, OPTIONAL_HSA(name)),
#include "functions.inc"
};

void call_with_invalid_arguments(const Function& function, hsa_agent_t agent, Report& report) {
  if (function.address == nullptr) return;
  TestObjects objects(agent);
  objects.clear_memory();
  Arguments good;
  function.set_good(objects, good);
  function.run(good, "with arguments that make sense", false, report);
  for (size_t i = 0; i < function.count; ++i)
    function.types[i].call_with_each_bad(function, i, agent, report);
}

// lifecycle_test.cpp tests these two.
bool is_left_out(std::string_view name) {
  return name == "hsa_init" || name == "hsa_shut_down";
}

class EveryFunction : public AgentTest {};

TEST_P(EveryFunction, RejectsInvalidArguments) {
  auto* const report = static_cast<Report*>(
      mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(static_cast<void*>(report), MAP_FAILED);
  new (report) Report;
  for (size_t first = 0; first < std::size(kFunctions); first = report->function + 1) {
    const pid_t child = fork();
    ASSERT_NE(child, -1);
    if (child == 0) {
      setenv("HSA_LOADER_DEBUG", "none", 1);  // each rejected call would be logged
      alarm(240);
      report->function = std::size(kFunctions);
      if (hsa_init() != HSA_STATUS_SUCCESS) _exit(1);
      const hsa_agent_t agent = all_agents().at(GetParam().index);
      for (size_t i = first; i < std::size(kFunctions); ++i) {
        report->function = i;
        if (!is_left_out(kFunctions[i].name)) call_with_invalid_arguments(kFunctions[i], agent, *report);
      }
      report->function = std::size(kFunctions);
      _exit(hsa_shut_down() == HSA_STATUS_SUCCESS && !HasFailure() ? 0 : 1);
    }
    int state = 0;
    ASSERT_EQ(waitpid(child, &state, 0), child);
    EXPECT_TRUE(WIFEXITED(state) && WEXITSTATUS(state) == 0)
        << report->call << (WIFSIGNALED(state) ? ": signal " : ": exit ")
        << (WIFSIGNALED(state) ? WTERMSIG(state) : WEXITSTATUS(state));
  }
  EXPECT_STREQ(report->accepted, "");
  EXPECT_GT(report->calls, 1000u);
  RecordProperty("calls", static_cast<int>(report->calls));
  munmap(report, sizeof(Report));
}

INSTANTIATE_FOR_AGENTS(EveryFunction);

}  // namespace
}  // namespace conformance
