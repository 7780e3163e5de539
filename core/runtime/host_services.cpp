#include "core/runtime/host_services.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/log.hpp"
#include "core/runtime/runtime.hpp"
#include "core/signal/host_services.hpp"

namespace rigel {
namespace {

HostServices& services(void* self) {
  return *static_cast<HostServices*>(self);
}
std::string_view view(hsabe_str_t text) {
  return {text.data, static_cast<size_t>(text.size)};
}
hsabe_str_t str(std::string_view text) {
  return {text.data(), text.size()};
}

// A report is read by the core on the thread that made it, right after the call that failed. Plain bytes: a
// thread may end after the runtime has.
constexpr size_t kReportBytes = 1024;
constinit thread_local char report_text[kReportBytes];
constinit thread_local size_t report_size = 0;

// --- log -------------------------------------------------------------------------------------------------

LogLevel level_of(uint32_t level) {
  return static_cast<LogLevel>(std::min<uint32_t>(level, HSABE_LOG_DEBUG));
}

int32_t log_enabled_service(void*, uint32_t level) {
  return log_enabled(level_of(level), LogTopic::kModule);
}

void log_write(void* self, uint32_t level, hsabe_str_t text) {
  log_message(level_of(level), LogTopic::kModule, "{}: {}", services(self).backend(), view(text));
}

// --- memory ----------------------------------------------------------------------------------------------

hsabe_status_t memory_allocate(void* self, uint64_t size, void** out) {
  HostServices& host = services(self);
  const auto memory = host.runtime().allocate_system_memory(size, host.node());
  if (!memory) return memory.error();
  *out = *memory;
  return HSA_STATUS_SUCCESS;
}

void memory_release(void* self, void* pointer) {
  if (pointer != nullptr) services(self).runtime().free_system_memory(pointer);
}

// --- events and options ----------------------------------------------------------------------------------

void queue_error(void* self, uint64_t cookie, hsabe_status_t status) {
  services(self).runtime().queue_failed(cookie, static_cast<Status>(status));
}

void report(void*, hsabe_str_t text) {
  report_size = std::min<size_t>(text.size, kReportBytes);
  std::memcpy(report_text, text.data, report_size);
}

int64_t get_integer(void* self, hsabe_str_t key, int64_t fallback) {
  return services(self).options().integer(view(key), fallback);
}
int32_t get_boolean(void* self, hsabe_str_t key, int32_t fallback) {
  return services(self).options().boolean(view(key), fallback != 0);
}
hsabe_str_t get_string(void* self, hsabe_str_t key, hsabe_str_t fallback) {
  return str(services(self).options().string(view(key), view(fallback)));
}

constexpr hsabe_host_log_t kLog{sizeof kLog, log_enabled_service, log_write};
constexpr hsabe_host_memory_t kMemory{sizeof kMemory, memory_allocate, memory_release};
constexpr hsabe_host_events_t kEvents{sizeof kEvents, queue_error, report};
constexpr hsabe_host_config_t kConfig{sizeof kConfig, get_integer, get_boolean, get_string};

}  // namespace

HostServices::HostServices(Runtime& runtime, std::string backend, Options options, uint32_t node)
    : runtime_(runtime),
      backend_(std::move(backend)),
      options_(std::move(options)),
      node_(node),
      host_{sizeof host_, HSABE_ABI_MAJOR,         HSABE_ABI_MINOR, this,    &kLog,
            &kMemory,     &host_signal_services(), &kEvents,        &kConfig} {}

std::string HostServices::take_report() {
  std::string text(report_text, report_size);
  report_size = 0;
  return text;
}

}  // namespace rigel
