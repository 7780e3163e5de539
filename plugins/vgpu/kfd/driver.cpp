// The virtual GPU as a driver transport: libhsa_driver_vgpu.so.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include <pthread.h>

#include "api/support/mutex.hpp"
#include "hsa_plugin/hsa_driver.h"
#include "plugins/vgpu/cp/host_fault.hpp"
#include "plugins/vgpu/cp/shared_copy.hpp"
#include "plugins/vgpu/kfd/system.hpp"

namespace rigel::vgpu {
namespace {

struct Driver {
  const hsadrv_host_t* host;
  std::unique_ptr<System> system;
};

System& system_of(void* driver) {
  return *static_cast<Driver*>(driver)->system;
}

// Drivers that the fork handlers must visit. Constant-initialised. The vector is leaked so that no destructor
// runs at exit.
constinit Mutex drivers_mutex;
constinit std::vector<Driver*>* drivers = nullptr;
constinit bool fork_handled = false;

void handle_fork(Driver* driver) {
  const MutexLock lock(drivers_mutex);
  if (drivers == nullptr) drivers = new std::vector<Driver*>;
  drivers->push_back(driver);
  if (fork_handled) return;
  fork_handled = true;
  pthread_atfork(
      []() RIGEL_ACQUIRE(drivers_mutex) {
        drivers_mutex.lock();
        for (Driver* d : *drivers) d->system->before_fork();
        host_faults_before_fork();
      },
      []() RIGEL_RELEASE(drivers_mutex) {
        host_faults_after_fork(false);
        for (Driver* d : *drivers) d->system->after_fork_in_parent();
        drivers_mutex.unlock();
      },
      []() RIGEL_RELEASE(drivers_mutex) {
        host_faults_after_fork(true);
        forget_shared_copies();
        for (Driver* d : *drivers) d->system->abandon_in_child();
        drivers->clear();
        drivers_mutex.unlock();
      });
}

void log_line(const hsadrv_host_t* host, uint32_t level, std::string_view text) {
  if (host != nullptr && host->log != nullptr) host->log(host->self, level, {text.data(), text.size()});
}

// Queue status reports are requested by the user, and shown at the runtime's default level.
uint32_t level_of(LogCategory category) {
  switch (category) {
    case LogCategory::kError:
      return HSADRV_LOG_ERROR;
    case LogCategory::kWarning:
    case LogCategory::kInfo:
    case LogCategory::kFault:
      return HSADRV_LOG_WARN;
    default:
      return HSADRV_LOG_DEBUG;
  }
}

LogSink log_of(const hsadrv_host_t* host) {
  if (host == nullptr || host->log == nullptr) return {};
  return {[](void* self, LogCategory category, std::string_view line) {
            log_line(static_cast<const hsadrv_host_t*>(self), level_of(category), line);
          },
          const_cast<hsadrv_host_t*>(host)};
}

int32_t open_driver(const hsadrv_host_t* host, hsadrv_str_t config, void** out) {
  try {
    auto driver = std::make_unique<Driver>();
    driver->host = host;
    Settings settings = Settings::from_environment();
    Diagnostics diagnostics;
    settings.read_options({config.data, config.size}, diagnostics);
    // In-process, the program's calls of sigaction and pthread_sigmask are not intercepted.
    const char* const signals = secure_getenv("VGPU_SIGNALS");
    settings.options.stop_stores = signals != nullptr && std::strcmp(signals, "1") == 0;
    driver->system = make_system(settings, diagnostics, log_of(host));
    if (!driver->system) {
      for (const auto& entry : diagnostics.entries()) log_line(host, HSADRV_LOG_ERROR, entry.text);
      return -EINVAL;
    }
    handle_fork(driver.get());
    *out = driver.release();
    return 0;
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  } catch (const std::exception& error) {
    log_line(host, HSADRV_LOG_ERROR, error.what());
    return -EIO;
  }
}

void close_driver(void* handle) {
  auto* const driver = static_cast<Driver*>(handle);
  {
    const MutexLock lock(drivers_mutex);
    std::erase(*drivers, driver);
  }
  delete driver;
}

int32_t op_open(void* driver, const char* path, int32_t flags) {
  try {
    System& system = system_of(driver);
    const std::string canonical = system.files().canonical(path);
    if (system.files().owns(canonical)) return system.open(canonical, flags);
    // All other files are the host's: /proc/cpuinfo, the CPU caches.
    const int fd = ::open(path, flags & ~O_CREAT);
    return fd < 0 ? -errno : fd;
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  }
}

int32_t op_close(void* driver, int32_t fd) {
  return system_of(driver).close(fd);
}

int32_t op_dup(void* driver, int32_t fd, int32_t minimum) {
  try {
    return system_of(driver).duplicate(fd, minimum);
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  }
}

int32_t op_ioctl(void* driver, int32_t fd, uint64_t request, void* argument) {
  return system_of(driver).ioctl(fd, request, argument);
}

int32_t op_mmap(void* driver, void* address, uint64_t size, int32_t protection, int32_t flags, int32_t fd,
                uint64_t offset, void** out) {
  return system_of(driver).mmap(address, size, protection, flags, fd, offset, out);
}

int32_t op_munmap(void* driver, void* address, uint64_t size) {
  return system_of(driver).munmap(address, size);
}

int64_t op_read_file(void* driver, const char* path, void* buffer, uint64_t capacity) {
  const int32_t fd = op_open(driver, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fd;
  uint64_t filled = 0;
  int64_t result = 0;
  while (filled < capacity) {
    const ssize_t bytes_read = ::read(fd, static_cast<char*>(buffer) + filled, capacity - filled);
    if (bytes_read < 0 && errno == EINTR) continue;
    if (bytes_read < 0) result = -errno;
    if (bytes_read <= 0) break;
    filled += static_cast<uint64_t>(bytes_read);
  }
  op_close(driver, fd);
  return result < 0 ? result : static_cast<int64_t>(filled);
}

int32_t op_list_dir(void* driver, const char* path, const hsadrv_dir_sink_t* sink) {
  try {
    const FileTree& tree = system_of(driver).files();
    const std::string canonical = tree.canonical(path);
    const FileNode* const node = tree.find(canonical);
    if (node == nullptr) return -ENOENT;
    if (node->kind != FileNode::Kind::kDirectory) return -ENOTDIR;
    for (const std::string& name : tree.list(canonical)) sink->entry(sink->self, {name.data(), name.size()});
    return 0;
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  }
}

int32_t op_attach(void* driver, void* doorbell, hsadrv_doorbell_t* out) {
  const auto hook = system_of(driver).process().attach_doorbell(doorbell);
  if (!hook) return -hook.error();
  *out = {sizeof *out, hook->ring, hook->context};
  return 0;
}

int32_t op_start_sampling(void* driver, uint32_t gpu_id, const hsadrv_sampler_t* sampler) {
  return system_of(driver).process().start_sampling(gpu_id, sampler);
}

int32_t op_stop_sampling(void* driver, uint32_t gpu_id) {
  return system_of(driver).process().stop_sampling(gpu_id);
}

constexpr hsadrv_ops_t kOps{sizeof(hsadrv_ops_t), op_open,    op_close, op_dup, op_ioctl, op_mmap, op_munmap,
                            op_read_file,         op_list_dir};
constexpr hsadrv_doorbell_ops_t kDoorbellOps{sizeof(hsadrv_doorbell_ops_t), op_attach};
constexpr hsadrv_sampling_ops_t kSamplingOps{sizeof(hsadrv_sampling_ops_t), op_start_sampling,
                                             op_stop_sampling};
constexpr hsadrv_driver_t kDriver{sizeof(hsadrv_driver_t),
                                  HSADRV_ABI_MAJOR,
                                  HSADRV_ABI_MINOR,
                                  {"vgpu", 4},
                                  {"1", 1},
                                  open_driver,
                                  close_driver,
                                  &kOps,
                                  &kDoorbellOps,
                                  lend_program_thread,
                                  &kSamplingOps};

}  // namespace
}  // namespace rigel::vgpu

extern "C" __attribute__((visibility("default"))) const hsadrv_driver_t* hsa_driver_query_v1(
    uint32_t host_abi_major, uint32_t) {
  return host_abi_major == HSADRV_ABI_MAJOR ? &rigel::vgpu::kDriver : nullptr;
}
