#include "core/runtime/host_services.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "api/support/backend_report.hpp"
#include "api/support/fence.hpp"
#include "api/support/log.hpp"
#include "api/support/undo.hpp"
#include "core/runtime/foundation.hpp"
#include "core/signal/backend_signals.hpp"
#include "core/signal/signal_api.hpp"

namespace rigel {
namespace {

// A service as in a table: no exception passes through the frames of a backend, which may be C. An exception
// is logged, and the service returns a status, null, 0 or nothing.
template <auto kFunction, class Type = decltype(kFunction)>
struct Service;
template <auto kFunction, class R, class... Args>
struct Service<kFunction, R (*)(Args...)> {
  static R call(Args... args) noexcept {
    try {
      return kFunction(args...);
    } catch (...) {
      [[maybe_unused]] const Status status = status_of_exception(LogTopic::kModule);
      if constexpr (std::is_same_v<R, hsabe_status_t>) {
        return status;
      } else {
        return R();
      }
    }
  }
};
template <auto kFunction>
constexpr auto kService = &Service<kFunction>::call;

HostServices& services(void* self) {
  return *static_cast<HostServices*>(self);
}
std::string_view view(hsabe_str_t text) {
  return {text.data, static_cast<size_t>(text.size)};
}
hsabe_str_t str(std::string_view text) {
  return {text.data(), text.size()};
}

// --- log -------------------------------------------------------------------------------------------------

LogLevel level_of(uint32_t level) {
  return static_cast<LogLevel>(std::min<uint32_t>(level, HSABE_LOG_DEBUG));
}

int32_t log_enabled_service(void* self, uint32_t level) {
  // The report contains warnings at every log level.
  if (level == HSABE_LOG_WARN && services(self).foundation().discovering.load(std::memory_order_relaxed))
    return 1;
  return log_enabled(level_of(level), LogTopic::kModule);
}

void log_write(void* self, uint32_t level, hsabe_str_t text) {
  HostServices& host = services(self);
  if (level == HSABE_LOG_WARN) return host.foundation().warn(Stage::kDevice, host.backend(), view(text));
  log_message(level_of(level), LogTopic::kModule, "{}: {}", host.backend(), view(text));
}

// --- memory ----------------------------------------------------------------------------------------------

hsabe_status_t memory_allocate(void* self, uint64_t size, void** out) {
  HostServices& host = services(self);
  const auto memory = host.foundation().memory.heaps.allocate_system(size, host.node());
  if (!memory) return memory.error();
  *out = *memory;
  return HSA_STATUS_SUCCESS;
}

void memory_release(void* self, void* pointer) {
  services(self).foundation().memory.heaps.free(pointer);
}

// --- signals ---------------------------------------------------------------------------------------------

hsabe_status_t signal_watch(void* self, const hsabe_wait_t* wait, hsa_amd_signal_handler handler,
                            void* argument) {
  hsa_signal_condition_t condition;
  static_assert(sizeof condition == sizeof wait->condition);
  std::memcpy(&condition, &wait->condition, sizeof condition);
  return signal_api::watch(services(self).foundation().driver_dispatcher, {wait->signal}, condition,
                           wait->value, handler, argument);
}

void signal_settle(void* self) {
  services(self).foundation().driver_dispatcher.quiesce();
}

hsabe_host_signal_t signal_services() {
  hsabe_host_signal_t group = host_signal_services();
  group.watch = kService<&signal_watch>;
  group.settle = kService<&signal_settle>;
  return group;
}

// --- the driver ------------------------------------------------------------------------------------------

Kfd& kfd(void* self) {
  return services(self).foundation().gpus->kfd();
}

void driver_facts(void* self, hsabe_driver_facts_t* facts) {
  const KfdGpu& gpu = *services(self).gpu();
  const Kfd& driver = kfd(self);
  const std::vector<uint32_t>& units = services(self).own_units();
  const hsabe_driver_facts_t own{.struct_size = sizeof own,
                                 .version_major = driver.version().major,
                                 .version_minor = driver.version().minor,
                                 .gpu_id = gpu.gpu_id,
                                 .host_sees_local = gpu.host_sees_all,
                                 .group_aperture = gpu.apertures.lds_base,
                                 .private_aperture = gpu.apertures.scratch_base,
                                 .address_limit = driver.address_limit(),
                                 .exceptions = driver.reports_exceptions(),
                                 .cu_mask = units.data(),
                                 .cu_mask_bits = units.size() * 32};
  const uint64_t size = std::min<uint64_t>(facts->struct_size, sizeof own);
  std::memcpy(facts, &own, size);
  facts->struct_size = size;
}

int32_t driver_ioctl(void* self, uint32_t number, void* argument, uint64_t size) {
  return kfd(self).call(number, argument, static_cast<size_t>(size));
}

uint32_t kfd_flags_of(uint32_t kind, uint32_t flags) {
  uint32_t result = KFD_MEM_WRITABLE | KFD_MEM_NO_SUBSTITUTE;
  result |= kind == HSABE_BLOCK_LOCAL ? KFD_MEM_VRAM : KFD_MEM_GTT;
  if (kind == HSABE_BLOCK_LOCAL && (flags & HSABE_BLOCK_HOST_ACCESS)) result |= KFD_MEM_PUBLIC;
  if (flags & HSABE_BLOCK_EXECUTABLE) result |= KFD_MEM_EXECUTABLE;
  if (flags & HSABE_BLOCK_COHERENT) result |= KFD_MEM_COHERENT;
  if (flags & HSABE_BLOCK_UNCACHED) result |= KFD_MEM_UNCACHED;
  if (flags & HSABE_BLOCK_TWICE) result |= KFD_MEM_AQL_QUEUE;
  return result;
}

hsabe_status_t allocate_block(void* self, uint32_t kind, uint32_t flags, void* address, uint64_t size,
                              uint64_t alignment, hsabe_block_t* out) {
  const KfdGpu& gpu = *services(self).gpu();
  if (kind != HSABE_BLOCK_HOST && kind != HSABE_BLOCK_LOCAL) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const bool seen = kind == HSABE_BLOCK_HOST || (flags & HSABE_BLOCK_HOST_ACCESS) != 0;
  if (seen && kind == HSABE_BLOCK_LOCAL && !gpu.host_sees_all) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const auto block = kfd(self).allocate(gpu, {.flags = kfd_flags_of(kind, flags),
                                              .size = size,
                                              .alignment = alignment,
                                              .host = seen ? HostAccess::kReadWrite : HostAccess::kNone,
                                              .address = address});
  if (!block) return block.error();
  Undo free([&] { kfd(self).free(*block); });
  const Status status = kfd(self).map(block->handle, {&gpu.gpu_id, 1});
  if (status != HSA_STATUS_SUCCESS) return status;
  free.cancel();
  *out = {sizeof *out, block->address, block->size, block->handle, block->at_reserved};
  return HSA_STATUS_SUCCESS;
}

hsabe_status_t driver_allocate(void* self, uint32_t kind, uint32_t flags, uint64_t size, uint64_t alignment,
                               hsabe_block_t* out) {
  return allocate_block(self, kind, flags, nullptr, size, alignment, out);
}

hsabe_status_t driver_allocate_at(void* self, uint32_t kind, uint32_t flags, void* address, uint64_t size,
                                  hsabe_block_t* out) {
  return allocate_block(self, kind, flags, address, size, 0, out);
}

void driver_release(void* self, const hsabe_block_t* block) {
  kfd(self).free({block->address, block->size, block->handle, block->at_reserved != 0});
}

hsabe_status_t driver_reserve(void* self, uint64_t size, uint64_t alignment, void** address) {
  *address = kfd(self).reserve(size, alignment);
  return *address == nullptr ? HSA_STATUS_ERROR_OUT_OF_RESOURCES : HSA_STATUS_SUCCESS;
}

void driver_release_addresses(void* self, void* address, uint64_t size) {
  kfd(self).release_addresses(address, size);
}

void* driver_doorbell(void* self, uint64_t offset, uint32_t queue_id) {
  if (services(self).foundation().gpus->listen() != HSA_STATUS_SUCCESS) return nullptr;
  return kfd(self).doorbell(*services(self).gpu(), offset, queue_id);
}

void* driver_registers(void* self) {
  return kfd(self).registers(*services(self).gpu());
}

void driver_doorbell_call(void* self, void* doorbell, hsabe_bell_t* bell) {
  hsadrv_doorbell_t attached;
  const bool calls = kfd(self).attach(doorbell, attached);
  *bell = {sizeof *bell, calls ? attached.ring : nullptr, calls ? attached.context : nullptr};
}

// --- events and options ----------------------------------------------------------------------------------

void queue_error(void* self, uint64_t cookie, hsabe_status_t status) {
  services(self).foundation().queue_failed(cookie, static_cast<Status>(status));
}

void scratch(void* self, hsabe_scratch_event_t* event) {
  services(self).foundation().scratch_event(*event);
}

void report(void*, hsabe_str_t text) {
  backend_report::keep(view(text));
}

/// Returns the result of `read` on the options, or `fallback` if it throws. Reports errors in the options.
template <class Value, class Read>
Value read_option(void* self, Value fallback, Read&& read) noexcept try {
  HostServices& host = services(self);
  std::string wrong;
  const auto value = read(host.options(), &wrong);
  if (!wrong.empty()) host.foundation().warn(Stage::kConfig, host.backend(), wrong);
  return value;
} catch (...) {
  status_of_exception(LogTopic::kModule);
  return fallback;
}

int64_t get_integer(void* self, hsabe_str_t key, int64_t fallback) {
  return read_option(self, fallback, [&](const ModuleOptions& options, std::string* wrong) {
    return options.integer(view(key), fallback, wrong);
  });
}
int32_t get_boolean(void* self, hsabe_str_t key, int32_t fallback) {
  return read_option(self, fallback, [&](const ModuleOptions& options, std::string* wrong) {
    return int32_t{options.boolean(view(key), fallback != 0, wrong)};
  });
}
hsabe_str_t get_string(void* self, hsabe_str_t key, hsabe_str_t fallback) {
  return read_option(self, fallback, [&](const ModuleOptions& options, std::string* wrong) {
    return str(options.string(view(key), view(fallback), wrong));
  });
}

constexpr hsabe_host_log_t kLog{sizeof kLog, kService<&log_enabled_service>, kService<&log_write>};
constexpr hsabe_host_memory_t kMemory{sizeof kMemory, kService<&memory_allocate>, kService<&memory_release>};
constexpr hsabe_host_events_t kEvents{sizeof kEvents, kService<&queue_error>, kService<&report>,
                                      kService<&scratch>};
constexpr hsabe_host_driver_t kDriver{.struct_size = sizeof kDriver,
                                      .facts = kService<&driver_facts>,
                                      .ioctl = kService<&driver_ioctl>,
                                      .allocate = kService<&driver_allocate>,
                                      .allocate_at = kService<&driver_allocate_at>,
                                      .release = kService<&driver_release>,
                                      .reserve = kService<&driver_reserve>,
                                      .release_addresses = kService<&driver_release_addresses>,
                                      .doorbell = kService<&driver_doorbell>,
                                      .registers = kService<&driver_registers>,
                                      .bell = kService<&driver_doorbell_call>};
constexpr hsabe_host_config_t kConfig{sizeof kConfig, get_integer, get_boolean, get_string};

}  // namespace

HostServices::HostServices(Foundation& foundation, std::string backend, ModuleOptions options, uint32_t node,
                           KfdGpu* gpu)
    : foundation_(foundation),
      backend_(std::move(backend)),
      options_(std::move(options)),
      node_(node),
      gpu_(gpu),
      signal_(signal_services()),
      host_{sizeof host_, HSABE_ABI_MAJOR, HSABE_ABI_MINOR, this,     &kLog,
            &kMemory,     &signal_,        &kEvents,        &kConfig, gpu == nullptr ? nullptr : &kDriver} {}

}  // namespace rigel
