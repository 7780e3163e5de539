#include "core/runtime/testing/faulty_driver.hpp"

#include <dlfcn.h>
#include <hsa_plugin/hsa_driver.h>
#include <hsa_plugin/kfd_abi.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

// In the module's directory, where its loader finds the real one.
extern "C" [[gnu::visibility("default")]] rigel::testing::FaultyDriver faulty_driver;
rigel::testing::FaultyDriver faulty_driver{};

namespace {

const hsadrv_driver_t* real() {
  static const hsadrv_driver_t* const table = [] {
    void* const module = dlopen(RIGEL_REAL_DRIVER, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const auto query = module == nullptr
                           ? nullptr
                           : reinterpret_cast<hsa_driver_query_v1_fn>(dlsym(module, HSADRV_ENTRY_SYMBOL));
    return query == nullptr ? nullptr : query(HSADRV_ABI_MAJOR, HSADRV_ABI_MINOR);
  }();
  return table;
}

bool may_fail(uint32_t number) {
  switch (number) {
    case KFD_NR_DESTROY_QUEUE:
    case KFD_NR_DESTROY_EVENT:
    case KFD_NR_FREE_MEMORY:
    case KFD_NR_UNMAP_MEMORY:
    case KFD_NR_SET_EVENT:
      return false;
    case KFD_NR_WAIT_EVENTS:
      return faulty_driver.only == number;
    default:
      return true;
  }
}

int32_t open_file(void* driver, const char* path, int32_t flags) {
  if (faulty_driver.fails(rigel::testing::FaultyDriver::kOpen)) return -faulty_driver.problem;
  return real()->ops->open(driver, path, flags);
}

int32_t control(void* driver, int32_t fd, uint64_t request, void* argument) {
  const auto number = static_cast<uint32_t>(_IOC_NR(request));
  if (_IOC_TYPE(request) == 'K' && number == KFD_NR_CREATE_QUEUE &&
      static_cast<kfd_create_queue*>(argument)->queue_type == KFD_QUEUE_SDMA)
    ++faulty_driver.copy_queues;
  if (_IOC_TYPE(request) == 'K' && number == KFD_NR_ALLOC_MEMORY)
    faulty_driver.memory_flags = static_cast<kfd_alloc_memory*>(argument)->flags;
  if (_IOC_TYPE(request) == 'K' && may_fail(number) && faulty_driver.fails(number))
    return -faulty_driver.problem;
  if (_IOC_TYPE(request) == 'K' && number == KFD_NR_SET_XNACK_MODE && faulty_driver.can_retry != 0) {
    int32_t& mode = static_cast<kfd_set_xnack_mode*>(argument)->xnack_enabled;
    if (mode >= 0) faulty_driver.retries = mode != 0;
    mode = faulty_driver.retries;
    return 0;
  }
  return real()->ops->ioctl(driver, fd, request, argument);
}

int64_t read_file(void* driver, const char* path, void* buffer, uint64_t capacity) {
  const int64_t size = real()->ops->read_file(driver, path, buffer, capacity);
  if (size <= 0 || faulty_driver.lacks_atomics == 0 || std::strstr(path, "/io_links/") == nullptr)
    return size;
  constexpr std::string_view kSound = "flags 1\n", kLacking = "flags 9\n";
  std::string text(static_cast<const char*>(buffer), static_cast<size_t>(size));
  const size_t at = text.find(kSound);
  if (at == text.npos) return -EIO;  // otherwise the test would have no effect
  text.replace(at, kSound.size(), kLacking);
  std::memcpy(buffer, text.data(), text.size());
  return size;
}

int32_t map(void* driver, void* address, uint64_t size, int32_t protection, int32_t flags, int32_t fd,
            uint64_t offset, void** out) {
  if (faulty_driver.fails(rigel::testing::FaultyDriver::kMap)) return -faulty_driver.problem;
  return real()->ops->mmap(driver, address, size, protection, flags, fd, offset, out);
}

}  // namespace

extern "C" [[gnu::visibility("default")]] const hsadrv_driver_t* hsa_driver_query_v1(uint32_t major,
                                                                                     uint32_t) {
  if (major != HSADRV_ABI_MAJOR || real() == nullptr) return nullptr;
  static const hsadrv_ops_t ops = [] {
    hsadrv_ops_t all = *real()->ops;
    all.open = open_file;
    all.ioctl = control;
    all.mmap = map;
    all.read_file = read_file;
    return all;
  }();
  static const hsadrv_sampling_ops_t sampling{
      .struct_size = sizeof sampling,
      .start = [](void* driver, uint32_t gpu_id, const hsadrv_sampler_t* sampler) -> int32_t {
        faulty_driver.sampler = *sampler;
        return real()->sampling->start(driver, gpu_id, sampler);
      },
      .stop = real()->sampling->stop,
  };
  static const hsadrv_driver_t table = [] {
    hsadrv_driver_t driver = *real();
    driver.ops = &ops;
    driver.sampling = &sampling;
    return driver;
  }();
  return &table;
}
