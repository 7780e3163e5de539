// C++ helpers for the tool ABI: a tool is a class, whose members implement the functions of the tool. All
// members are optional.
//
//   struct Counter {
//     explicit Counter(hsatool::Host its_host) : host(its_host) { calls = 0; }
//     ~Counter() { host.log(HSATOOL_LOG_WARN, std::to_string(calls) + " calls"); }
//     static void enter(hsatool_call_t&) { ++calls; }
//     hsatool::Host host;
//     static inline std::atomic<uint64_t> calls;
//   };
//   HSATOOL_PLUGIN(Counter, "counter", "1.0")
//
// Recognized members, each with the meaning of its counterpart in hsa_tool.h:
//   - bool wants(const hsatool_function_t& function)
//   - void or bool enter(hsatool_call_t& call); true means HSATOOL_ANSWERED
//   - void exit(hsatool_call_t& call)
//   - bool wants_queue(const hsatool_queue_t& queue)
//   - void submit(const hsatool_queue_t& queue, std::span<const hsatool::Packet> packets, uint64_t index,
//     hsatool::Writer writer)
//   - uint32_t activities()
//   - void done(const hsatool_activity_t& activity)
//   - static void check(std::string_view config, hsatool::Mistakes mistakes)
//
// The constructor is `load`: if it throws, the tool is not loaded, and the exception's text is the reason.
// The destructor is `unload`. A callback on another thread may run during and after the destructor, so
// callbacks must not use members of the object then: use static members, or an object that is never freed. If
// a callback throws, the runtime logs one error and calls only the destructor afterwards, which may throw if
// it is noexcept(false).
#pragma once

#include <hsa/hsa_api_trace.h>
#include <hsa_plugin/hsa_tool.h>
#include <hsa_plugin/hsa_tool_calls.h>

#include <exception>
#include <span>
#include <string_view>
#include <type_traits>

namespace hsatool {

constexpr hsatool_str_t str(std::string_view text) {
  return {text.data(), text.size()};
}
constexpr std::string_view view(hsatool_str_t text) {
  return {text.data, static_cast<size_t>(text.size)};
}

/// Services of the runtime for a tool. Cheap to copy; valid until the tool's destructor has returned.
class Host {
 public:
  explicit Host(const hsatool_host_t* host) : host_(host) {}

  const hsatool_host_t& raw() const { return *host_; }
  std::string_view name() const { return view(host_->name); }
  /// Returns the options of the tool: the text of a JSON object.
  std::string_view config() const { return view(host_->config); }
  /// Returns the runtime's functions; calls through them bypass all tools.
  const HsaApiTable& tables() const { return *static_cast<const HsaApiTable*>(host_->tables); }
  std::span<const hsatool_function_t* const> functions() const {
    return {host_->functions, static_cast<size_t>(host_->function_count)};
  }
  uint64_t now() const { return host_->services->now(); }
  uint64_t current_call() const { return host_->services->current_call(); }
  bool log_enabled(uint32_t level) const { return host_->services->log_enabled(host_->self, level) != 0; }
  void log(uint32_t level, std::string_view text) const {
    host_->services->log(host_->self, level, str(text));
  }
  void report(std::string_view text) const { host_->services->report(host_->self, str(text)); }

 private:
  const hsatool_host_t* host_;
};

/// Receives errors in options: mistakes("/file: is empty").
class Mistakes {
 public:
  explicit Mistakes(const hsatool_mistakes_t* mistakes) : mistakes_(mistakes) {}
  void operator()(std::string_view text) const { mistakes_->add(mistakes_->self, str(text)); }

 private:
  const hsatool_mistakes_t* mistakes_;
};

/// One packet of a queue, of any type.
struct alignas(64) Packet {
  uint16_t header;
  uint8_t body[62];
  uint32_t type() const {
    return header >> HSA_PACKET_HEADER_TYPE & ((1u << HSA_PACKET_HEADER_WIDTH_TYPE) - 1);
  }
  template <class T>  // hsa_kernel_dispatch_packet_t, for example
  const T& as() const {
    static_assert(sizeof(T) == 64);
    return *reinterpret_cast<const T*>(this);
  }
};

/// Forwards packets.
class Writer {
 public:
  explicit Writer(const hsatool_writer_t* writer) : writer_(writer) {}
  void operator()(std::span<const Packet> packets) const {
    writer_->write(writer_->self, packets.data(), packets.size());
  }
  template <class T>
  void operator()(const T& packet) const {
    static_assert(sizeof(T) == 64);
    writer_->write(writer_->self, &packet, 1);
  }

 private:
  const hsatool_writer_t* writer_;
};

/// Returns the arguments of a call of a known function: `arguments<hsatool_hsa_queue_create_args_t>(call)`.
template <class Arguments>
Arguments& arguments(const hsatool_call_t& call) {
  return *static_cast<Arguments*>(call.arguments);
}
template <class Result>
Result& result(const hsatool_call_t& call) {
  return *static_cast<Result*>(call.result);
}

namespace detail {

template <class T>
struct Adapter {
  static T& of(void* tool) { return *static_cast<T*>(tool); }

  static hsatool_status_t load(const hsatool_host_t* host, void** tool) noexcept {
    try {
      *tool = new T(Host(host));
      return HSA_STATUS_SUCCESS;
    } catch (const std::exception& problem) {
      Host(host).report(problem.what());
    } catch (...) {
      Host(host).report("an exception of unknown type");
    }
    return HSA_STATUS_ERROR;
  }
  static void unload(void* tool) { delete static_cast<T*>(tool); }

  static int32_t wants(void* tool, const hsatool_function_t* function) {
    if constexpr (requires(T & t) { t.wants(*function); }) return of(tool).wants(*function);
    return 1;
  }
  static int32_t enter(void* tool, hsatool_call_t* call) {
    if constexpr (requires(T & t) { t.enter(*call); }) {
      if constexpr (std::is_void_v<decltype(of(tool).enter(*call))>) {
        of(tool).enter(*call);
      } else {
        return of(tool).enter(*call) ? HSATOOL_ANSWERED : HSATOOL_GO_ON;
      }
    }
    return HSATOOL_GO_ON;
  }
  static void exit(void* tool, hsatool_call_t* call) {
    if constexpr (requires(T & t) { t.exit(*call); }) of(tool).exit(*call);
  }
  static int32_t wants_queue(void* tool, const hsatool_queue_t* queue) {
    if constexpr (requires(T & t) { t.wants_queue(*queue); }) return of(tool).wants_queue(*queue);
    return 1;
  }
  static void submit(void* tool, const hsatool_queue_t* queue, const void* packets, uint64_t count,
                     uint64_t index, const hsatool_writer_t* writer) {
    const std::span all(static_cast<const Packet*>(packets), static_cast<size_t>(count));
    if constexpr (requires(T & t) { t.submit(*queue, all, index, Writer(writer)); })
      of(tool).submit(*queue, all, index, Writer(writer));
  }
  static uint32_t activities(void* tool) {
    if constexpr (requires(T & t) { t.activities(); }) return of(tool).activities();
    return 0;
  }
  static void done(void* tool, const hsatool_activity_t* activity) {
    if constexpr (requires(T & t) { t.done(*activity); }) of(tool).done(*activity);
  }

  static void check(hsatool_str_t config, const hsatool_mistakes_t* mistakes) {
    if constexpr (requires { T::check(view(config), Mistakes(mistakes)); })
      T::check(view(config), Mistakes(mistakes));
  }

  static constexpr bool kChecks = requires(std::string_view config, Mistakes mistakes) {
    T::check(config, mistakes);
  };
  static constexpr bool kEnters = requires(T & t, hsatool_call_t& call) { t.enter(call); };
  static constexpr bool kExits = requires(T & t, hsatool_call_t& call) { t.exit(call); };
  static constexpr bool kSubmits =
      requires(T & t, const hsatool_queue_t& queue, std::span<const Packet> packets, Writer writer) {
    t.submit(queue, packets, uint64_t{}, writer);
  };
  static constexpr bool kDone = requires(T & t, const hsatool_activity_t& activity) { t.done(activity); };

  static constexpr hsatool_call_ops_t kCalls{sizeof(hsatool_call_ops_t), wants, kEnters ? enter : nullptr,
                                             kExits ? exit : nullptr};
  static constexpr hsatool_packet_ops_t kPackets{sizeof(hsatool_packet_ops_t), wants_queue, submit};
  static constexpr hsatool_activity_ops_t kActivities{sizeof(hsatool_activity_ops_t), activities, done};

  static const hsatool_plugin_t* query(uint32_t major, hsatool_str_t name, hsatool_str_t version) noexcept {
    if (major != HSATOOL_ABI_MAJOR) return nullptr;
    static const hsatool_plugin_t plugin{sizeof plugin,
                                         HSATOOL_ABI_MAJOR,
                                         HSATOOL_ABI_MINOR,
                                         name,
                                         version,
                                         HSABE_SANITIZER,
                                         0,
                                         load,
                                         unload,
                                         kEnters || kExits ? &kCalls : nullptr,
                                         kSubmits ? &kPackets : nullptr,
                                         kDone ? &kActivities : nullptr,
                                         kChecks ? check : nullptr};
    return &plugin;
  }
};

}  // namespace detail
}  // namespace hsatool

/// Exports the tool; used once in a module. `name` and `version` are string literals.
#define HSATOOL_PLUGIN(Class, name, version)                                                   \
  extern "C" __attribute__((visibility("default"))) const hsatool_plugin_t* hsa_tool_query_v1( \
      uint32_t host_abi_major, uint32_t) {                                                     \
    return hsatool::detail::Adapter<Class>::query(host_abi_major, hsatool::str(name),          \
                                                  hsatool::str(version));                      \
  }
