#include "api/entry/interception.hpp"

#include <hsa_plugin/hsa_tool_calls.h>

#include <array>
#include <deque>
#include <string>
#include <type_traits>

#include "api/entry/parameter_text.hpp"

// The arguments as changed by tools have the same names, in an inner scope.
#pragma GCC diagnostic ignored "-Wshadow"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wshadow=local"
#pragma GCC diagnostic ignored "-Wshadow=compatible-local"
#endif

namespace rigel::api {
namespace {

enum FunctionIndex : uint32_t {
#define RIGEL_API(table, result, name, parameters, arguments) k_##name,
#define RIGEL_API_TABLE_ONLY RIGEL_API
#define RIGEL_API_EXPORT_ONLY RIGEL_API
#include "api/entry/functions.inc"
  kFunctionCount
};

constinit CallChain chains[kMaxToolLayers][kFunctionCount];  // the innermost layer is first
constinit hsatool_function_t descriptions[kFunctionCount]{};
constinit std::array<const hsatool_function_t*, kFunctionCount> all_functions{};

// --- Wrappers ----------------------------------------------------------------------------------------------

template <class Result>
class Returned {
 public:
  void* address() { return &value_; }
  template <class Function, class... Args>
  void of(Function* function, Args... args) {
    value_ = function(args...);
  }
  Result get() const { return value_; }

 private:
  Result value_{};
};

template <>
class Returned<void> {
 public:
  void* address() { return nullptr; }
  template <class Function, class... Args>
  void of(Function* function, Args... args) {
    function(args...);
  }
  void get() const {}
};

// Functions that may be called while tools are unloaded.
constexpr bool works_at_any_time(FunctionIndex function) {
  return function == k_hsa_init || function == k_hsa_shut_down || function == k_hsa_status_string;
}

#define RIGEL_LIST(...) __VA_ARGS__
#define RIGEL_WRAPPER(result, name, parameters, ...) RIGEL_WRAPPER_OF(result, name, parameters, __VA_ARGS__)
#define RIGEL_WRAPPER_OF(result, name, parameters, ...)                                                      \
  static result name parameters {                                                                            \
    const CallChain& chain_ = chains[kLayer][k_##name];                                                      \
    auto* const next_ = reinterpret_cast<result(*) parameters>(chain_.next.load(std::memory_order_relaxed)); \
    if (tool_thread.in_tool) return next_(__VA_ARGS__);                                                      \
    hsatool_##name##_args_t arguments_{__VA_ARGS__};                                                         \
    Returned<result> returned_;                                                                              \
    CallFrame frame_(descriptions[k_##name], kLayer, &arguments_, returned_.address());                      \
    if (frame_.enter(chain_, works_at_any_time(k_##name))) {                                                 \
      __VA_OPT__(auto& [__VA_ARGS__] = arguments_;)                                                          \
      returned_.of(next_ __VA_OPT__(, ) __VA_ARGS__);                                                        \
    }                                                                                                        \
    frame_.exit(works_at_any_time(k_##name));                                                                \
    return returned_.get();                                                                                  \
  }

template <uint32_t kLayer>
struct Wrappers {
#define RIGEL_API(table, result, name, parameters, arguments) \
  RIGEL_WRAPPER(result, name, parameters, RIGEL_LIST arguments)
#define RIGEL_API_TABLE_ONLY RIGEL_API
#define RIGEL_API_EXPORT_ONLY RIGEL_API
#include "api/entry/functions.inc"
};

// Records which tools intercept the function. `slot` is the function to wrap. Returns whether a wrapper is
// needed. Not inline, because it is called for each function of each layer.
[[gnu::noinline]] bool prepare(uint32_t layer, FunctionIndex index, void (*slot)(),
                               std::span<Tool* const> tools) {
  CallChain& chain = chains[layer][index];
  uint32_t count = 0;
  for (Tool* const tool : tools) {
    if (tool->wants(descriptions[index])) chain.tools[count++].store(tool, std::memory_order_relaxed);
  }
  chain.next.store(slot, std::memory_order_relaxed);
  chain.count.store(count, std::memory_order_relaxed);
  return count != 0;
}

template <uint32_t kLayer>
uint32_t put(ApiTables& tables, std::span<Tool* const> tools) {
  uint32_t wrapped = 0;
#define RIGEL_API(table, result, name, parameters, arguments)                                              \
  if (prepare(kLayer, k_##name, reinterpret_cast<void (*)()>(load_slot(tables.table.name##_fn)), tools)) { \
    std::atomic_ref(tables.table.name##_fn).store(&Wrappers<kLayer>::name, std::memory_order_release);     \
    ++wrapped;                                                                                             \
  }
#define RIGEL_API_TABLE_ONLY RIGEL_API
#define RIGEL_API_EXPORT_ONLY(group, result, name, parameters, arguments) \
  RIGEL_API(unlisted, result, name, parameters, arguments)
#include "api/entry/functions.inc"
  return wrapped;
}

template <uint32_t... kLayers>
constexpr auto make_layers(std::integer_sequence<uint32_t, kLayers...>) {
  return std::array{&put<kLayers>...};
}

// --- Descriptions ------------------------------------------------------------------------------------------

template <class T>
concept Handle = std::is_class_v<T> && sizeof(T) == 8 && requires(T value) {
  { value.handle } -> std::convertible_to<uint64_t>;
};

template <class T>
constexpr uint32_t kind_of() {
  if constexpr (std::is_void_v<T>) return HSATOOL_KIND_NOTHING;
  if constexpr (std::is_same_v<T, bool>) return HSATOOL_KIND_BOOLEAN;
  if constexpr (std::is_same_v<T, hsa_status_t>) return HSATOOL_KIND_STATUS;
  if constexpr (std::is_enum_v<T>) return HSATOOL_KIND_ENUM;
  if constexpr (std::is_integral_v<T>)
    return std::is_signed_v<T> ? HSATOOL_KIND_SIGNED : HSATOOL_KIND_UNSIGNED;
  if constexpr (std::is_same_v<T, const char*>) return HSATOOL_KIND_TEXT;
  if constexpr (std::is_pointer_v<T>) {
    return std::is_function_v<std::remove_pointer_t<T>> ? HSATOOL_KIND_FUNCTION : HSATOOL_KIND_POINTER;
  }
  if constexpr (Handle<T>) return HSATOOL_KIND_HANDLE;
  return HSATOOL_KIND_STRUCT;
}

template <class T>
constexpr uint32_t size_of() {
  if constexpr (std::is_void_v<T>) {
    return 0;
  } else {
    return sizeof(T);
  }
}

template <class Function>
struct Signature;

template <class Result, class... Args>
struct Signature<Result (*)(Args...)> {
  // From the types of the parameters; names and type texts come from the list.
  static void describe([[maybe_unused]] hsatool_value_t* values) {
    uint32_t at = 0;
    [[maybe_unused]] const auto place = [&](uint32_t kind, uint32_t size, uint32_t alignment) {
      at = (at + alignment - 1) / alignment * alignment;
      values->kind = kind;
      values->offset = at;
      values->size = size;
      ++values;
      at += size;
    };
    (place(kind_of<Args>(), sizeof(Args), alignof(Args)), ...);
  }
  static constexpr uint32_t kResultKind = kind_of<Result>();
  static constexpr uint32_t kResultSize = size_of<Result>();
};

hsatool_str_t str(std::string_view text) {
  return {text.data(), text.size()};
}

struct SignatureFacts {
  void (*describe)(hsatool_value_t* values);
  uint32_t result_kind, result_size;
};

template <class Function>
constexpr SignatureFacts kFacts{Signature<Function>::describe, Signature<Function>::kResultKind,
                                Signature<Function>::kResultSize};

void describe(const SignatureFacts& signature, FunctionIndex index, uint32_t id, const char* name,
              const char* result, const char* parameters) {
  // Never freed, because descriptions refer to them until the process ends.
  static auto* const texts = new std::deque<ParameterText>;
  static auto* const values = new std::deque<std::vector<hsatool_value_t>>;
  if (all_functions[index] != nullptr) return;  // described before an earlier call ran out of memory
  hsatool_function_t& description = descriptions[index];
  auto& own = values->emplace_back();
  for (ParameterText& text : parse_parameters(parameters)) {
    const auto& kept = texts->emplace_back(std::move(text));
    own.push_back({str(kept.name), str(kept.type), 0, 0, 0, 0});
  }
  signature.describe(own.data());
  description = {sizeof description,
                 id,
                 index,
                 str(name),
                 {str(""), str(result), signature.result_kind, 0, signature.result_size, 0},
                 own.data(),
                 own.size()};
  all_functions[index] = &description;
}

}  // namespace

std::span<const hsatool_function_t* const> tool_functions() {
  static constinit bool complete = false;
  if (!complete) {
#define RIGEL_API(table, result, name, parameters, arguments)                                              \
  describe(kFacts<result(*) parameters>, k_##name, tool_function_id(offsetof(ApiTables, table.name##_fn)), \
           #name, #result, #parameters);
#define RIGEL_API_TABLE_ONLY RIGEL_API
#define RIGEL_API_EXPORT_ONLY(group, result, name, parameters, arguments) \
  RIGEL_API(unlisted, result, name, parameters, arguments)
#include "api/entry/functions.inc"
    complete = true;
  }
  return all_functions;
}

uint32_t put_layer(ApiTables& tables, uint32_t layer, std::span<Tool* const> tools) {
  static constexpr auto kLayers = make_layers(std::make_integer_sequence<uint32_t, kMaxToolLayers>());
  tool_functions();
  return kLayers[layer](tables, tools);
}

std::vector<const char*> differing_functions(const ApiTables& a, const ApiTables& b) {
  std::vector<const char*> names;
#define RIGEL_API(table, result, name, parameters, arguments) \
  if (load_slot(a.table.name##_fn) != load_slot(b.table.name##_fn)) names.push_back(#name);
#define RIGEL_API_TABLE_ONLY RIGEL_API
#define RIGEL_API_EXPORT_ONLY(group, result, name, parameters, arguments) \
  RIGEL_API(unlisted, result, name, parameters, arguments)
#include "api/entry/functions.inc"
  return names;
}

bool is_seen(uint32_t layer, uint32_t function, const Tool& tool) {
  const CallChain& chain = chains[layer][function];
  for (uint32_t i = 0; i < chain.count.load(std::memory_order_relaxed); ++i) {
    if (chain.tools[i].load(std::memory_order_relaxed) == &tool) return true;
  }
  return false;
}

}  // namespace rigel::api
