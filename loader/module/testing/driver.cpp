// A driver transport whose operations all fail; with RIGEL_TEST_INCOMPLETE, one is missing.
#include <hsa_plugin/hsa_driver.h>

#include <cerrno>

namespace {

constexpr hsadrv_ops_t kOps{
    .struct_size = sizeof(hsadrv_ops_t),
    .open = [](void*, const char*, int32_t) { return -ENOENT; },
    .close = [](void*, int32_t) { return -EBADF; },
    .dup = [](void*, int32_t, int32_t) { return -EBADF; },
#ifdef RIGEL_TEST_INCOMPLETE
    .ioctl = nullptr,
#else
    .ioctl = [](void*, int32_t, uint64_t, void*) { return -ENOTTY; },
#endif
    .mmap = [](void*, void*, uint64_t, int32_t, int32_t, int32_t, uint64_t, void**) { return -ENODEV; },
    .munmap = [](void*, void*, uint64_t) { return -EINVAL; },
    .read_file = [](void*, const char*, void*, uint64_t) -> int64_t { return -ENOENT; },
    .list_dir = [](void*, const char*, const hsadrv_dir_sink_t*) { return -ENOENT; },
};

constexpr hsadrv_driver_t kDriver{
    .struct_size = sizeof(hsadrv_driver_t),
    .abi_major = HSADRV_ABI_MAJOR,
    .abi_minor = HSADRV_ABI_MINOR,
    .name = {"nothing", 7},
    .version = {"0.1", 3},
    .open_driver = [](const hsadrv_host_t*, hsadrv_str_t, void**) { return -ENODEV; },
    .close_driver = [](void*) {},
    .ops = &kOps,
    .doorbell = nullptr,
    .lend_thread = nullptr,
    .sampling = nullptr,
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const hsadrv_driver_t* hsa_driver_query_v1(uint32_t,
                                                                                             uint32_t) {
  return &kDriver;
}
