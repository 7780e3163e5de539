#include "core/driver/transport.hpp"

#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "api/support/fence.hpp"
#include "api/support/log.hpp"
#include "loader/module/loaded_driver.hpp"

namespace rigel {
namespace {

constexpr size_t kMaxFileBytes = 64 << 10;

LogLevel level_of(uint32_t level) {
  return static_cast<LogLevel>(std::min<uint32_t>(level, HSADRV_LOG_DEBUG));
}

}  // namespace

Transport::Transport(std::string name, const hsadrv_ops_t& ops)
    : name_(std::move(name)),
      ops_(ops),
      host_{sizeof host_, HSADRV_ABI_MAJOR, HSADRV_ABI_MINOR, this, log_line} {}

Transport::~Transport() {
  if (close_driver_ != nullptr) close_driver_(driver_);
}

void Transport::log_line(void* self, uint32_t level, hsadrv_str_t text) {
  auto& transport = *static_cast<Transport*>(self);
  const std::string_view line(text.data, static_cast<size_t>(text.size));
  if (level == HSADRV_LOG_ERROR) {
    const MutexLock lock(transport.mutex_);
    if (transport.errors_ != nullptr) {
      try {
        transport.errors_->emplace_back(line);
        return;
      } catch (...) {  // the calling driver may be written in C
        status_of_exception(LogTopic::kModule);
      }
    }
  }
  log_message(level_of(level), LogTopic::kModule, "driver {}: {}", transport.name_, line);
}

std::unique_ptr<Transport> Transport::system() {
  std::unique_ptr<Transport> transport(new Transport("kfd", system_transport_ops()));
  // A preloaded virtual device may intercept the kernel's calls, which only these symbols show.
  transport->lend_thread_ =
      reinterpret_cast<hsa_driver_lend_thread_v1_fn>(dlsym(RTLD_DEFAULT, HSADRV_LEND_SYMBOL));
  const auto sampling =
      reinterpret_cast<hsa_driver_sampling_v1_fn>(dlsym(RTLD_DEFAULT, HSADRV_SAMPLING_SYMBOL));
  if (sampling != nullptr) {
    if (const auto table = read_sampling_table(sampling())) {
      transport->sampling_ = *table;
    } else {
      log_message(LogLevel::kWarn, LogTopic::kModule, "driver {}: {}: {}; PC sampling is not available",
                  transport->name_, HSADRV_SAMPLING_SYMBOL, table.error());
    }
  }
  return transport;
}

Result<std::unique_ptr<Transport>> Transport::start(const LoadedDriver& loaded, std::string_view config,
                                                    std::vector<std::string>& why) {
  std::unique_ptr<Transport> transport(new Transport(loaded.name, loaded.ops));
  // Before version 1.1, ringing a doorbell after its queue was destroyed was an error, which threads of the
  // program cannot exclude.
  if (loaded.has_doorbell() && loaded.abi_minor >= 1) transport->doorbell_ = loaded.doorbell;
  transport->sampling_ = loaded.sampling;
  const auto collect = [&](std::vector<std::string>* errors) {
    const MutexLock lock(transport->mutex_);
    transport->errors_ = errors;
  };
  collect(&why);
  const int32_t problem =
      loaded.table.open_driver(&transport->host_, {config.data(), config.size()}, &transport->driver_);
  collect(nullptr);
  if (problem != 0) {
    if (why.empty()) why.push_back(fmt::format("cannot be started: {}", std::strerror(-problem)));
    return error(problem == -ENOMEM ? HSA_STATUS_ERROR_OUT_OF_RESOURCES : HSA_STATUS_ERROR);
  }
  for (const std::string& line : why) {  // messages of a transport that has started nevertheless
    log_message(LogLevel::kError, LogTopic::kModule, "driver {}: {}", loaded.name, line);
  }
  why.clear();
  transport->close_driver_ = loaded.table.close_driver;
  transport->lend_thread_ = loaded.table.lend_thread;
  return transport;
}

int Transport::ioctl(int fd, uint64_t request, void* argument) const {
  int result;
  do {
    result = ops_.ioctl(driver_, fd, request, argument);
  } while (result == -EINTR || result == -EAGAIN);
  return result;
}

void* Transport::mmap(void* address, uint64_t size, int protection, int flags, int fd, uint64_t offset,
                      int* problem) const {
  void* mapped = nullptr;
  const int result = ops_.mmap(driver_, address, size, protection, flags, fd, offset, &mapped);
  if (problem != nullptr) *problem = result;
  return result < 0 ? nullptr : mapped;
}

void* Transport::mmap_buffer(void* address, uint64_t size, int protection, int fd, uint64_t offset,
                             int* problem) const {
  void* const mapped = mmap(address, size, protection, MAP_SHARED | MAP_FIXED, fd, offset, problem);
  if (mapped != nullptr) madvise(mapped, size, MADV_DONTFORK);
  return mapped;
}

bool Transport::attach(void* doorbell, hsadrv_doorbell_t& doorbell_call) const {
  doorbell_call = {sizeof doorbell_call, nullptr, nullptr};
  return doorbell_.attach != nullptr && doorbell_.attach(driver_, doorbell, &doorbell_call) == 0 &&
         doorbell_call.ring != nullptr;
}

int Transport::start_sampling(uint32_t gpu_id, const hsadrv_sampler_t& sampler) const {
  return has_sampling() ? sampling_.start(driver_, gpu_id, &sampler) : -ENOTSUP;
}

int Transport::stop_sampling(uint32_t gpu_id) const {
  return has_sampling() ? sampling_.stop(driver_, gpu_id) : -ENOTSUP;
}

std::string Transport::read_file(const std::string& path) const {
  std::string text(4096, '\0');
  for (;;) {
    const int64_t size = ops_.read_file(driver_, path.c_str(), text.data(), text.size());
    if (size < 0) return {};
    if (static_cast<size_t>(size) < text.size() || text.size() >= kMaxFileBytes) {
      text.resize(static_cast<size_t>(size));
      return text;
    }
    text.resize(text.size() * 4);
  }
}

std::vector<std::string> Transport::list_dir(const std::string& path) const {
  struct Found {
    std::vector<std::string> names;
    ExceptionCarrier carrier;
  } found;
  const hsadrv_dir_sink_t sink{
      &found, [](void* self, hsadrv_str_t name) {
        auto& own = *static_cast<Found*>(self);
        own.carrier.run([&own, name] { own.names.emplace_back(name.data, static_cast<size_t>(name.size)); });
      }};
  auto& names = found.names;
  if (ops_.list_dir(driver_, path.c_str(), &sink) != 0) names.clear();
  found.carrier.rethrow();
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  return names;
}

}  // namespace rigel
