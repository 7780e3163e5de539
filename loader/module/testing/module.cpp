// Valid and invalid backends without devices. CMakeLists.txt compiles this file once for each variant, with
// RIGEL_TEST_<variant> defined.
#include <hsa_backend/hsa_backend.hpp>

#include <stdexcept>

namespace {

[[maybe_unused]] hsabe_status_t select(const hsabe_host_t*, const hsabe_node_t*, hsabe_caps_t*) {
  return HSA_STATUS_SUCCESS;
}
[[maybe_unused]] hsabe_status_t open(const hsabe_host_t*, const hsabe_node_t*, void**) {
  return HSA_STATUS_ERROR;
}
[[maybe_unused]] void close(void*) {}
[[maybe_unused]] hsabe_status_t enumerate(const hsabe_host_t*, const hsabe_node_sink_t*) {
  return HSA_STATUS_SUCCESS;
}

[[maybe_unused]] constexpr hsabe_device_ops_t kDevice{
    .struct_size =
#ifdef RIGEL_TEST_SHORT_GROUP
        HSABE_END(hsabe_device_ops_t, select),
#else
        sizeof(hsabe_device_ops_t),
#endif
    .enumerate =
#ifdef RIGEL_TEST_OWN_BUS
        enumerate,
#else
        nullptr,
#endif
    .select = select,
    .open = open,
#ifdef RIGEL_TEST_NO_CLOSE
    .close = nullptr,
#else
    .close = close,
#endif
    .read_clock = nullptr,
    .trim = nullptr,
    .set_scratch_limit = nullptr,
    .scratch_limits = nullptr,
};

#ifdef RIGEL_TEST_NO_DESTROY
hsabe_status_t create(void*, const hsabe_queue_desc_t*, hsabe_queue_info_t*) {
  return HSA_STATUS_ERROR;
}
hsabe_status_t inactivate(void*) {
  return HSA_STATUS_SUCCESS;
}

constexpr hsabe_queue_ops_t kQueue{
    .struct_size = sizeof(hsabe_queue_ops_t),
    .create = create,
    .destroy = nullptr,
    .inactivate = inactivate,
    .set_profiling = nullptr,
    .set_priority = nullptr,
    .set_cu_mask = nullptr,
};
#endif

// For a backend table of an earlier minor version, whose struct_size ends before `image`. The loader must
// ignore the field, although it contains a pointer.
#ifdef RIGEL_TEST_BEFORE_IMAGES
constexpr hsabe_image_ops_t kNoImageFunctions{.struct_size = sizeof(hsabe_image_ops_t),
                                              .limits = nullptr,
                                              .format = nullptr,
                                              .lay_out = nullptr,
                                              .describe = nullptr,
                                              .describe_foreign = nullptr,
                                              .describe_sampler = nullptr};
#endif

// The next minor version of the table, as a newer backend would return it.
struct Table {
  hsabe_backend_t known;
  uint64_t later_field;
};

[[maybe_unused]] constexpr Table kTable{
    .known =
        {
#if defined(RIGEL_TEST_SHORT_TABLE)
            .struct_size = HSABE_END(hsabe_backend_t, device),
#elif defined(RIGEL_TEST_BEFORE_IMAGES)
            .struct_size = HSABE_END(hsabe_backend_t, copy),
#elif defined(RIGEL_TEST_NEWER_MINOR)
            .struct_size = sizeof(Table),
#else
            .struct_size = sizeof(hsabe_backend_t),
#endif
#ifdef RIGEL_TEST_WRONG_MAJOR
            .abi_major = HSABE_ABI_MAJOR + 1,
#else
            .abi_major = HSABE_ABI_MAJOR,
#endif
#if defined(RIGEL_TEST_NEWER_MINOR)
            .abi_minor = HSABE_ABI_MINOR + 1,
#elif defined(RIGEL_TEST_BEFORE_IMAGES)
            .abi_minor = 3,
#else
            .abi_minor = HSABE_ABI_MINOR,
#endif
#ifdef RIGEL_TEST_BAD_NAME
            .name = {nullptr, 4},
#else
            .name = hsabe::str("test"),
#endif
            .version = hsabe::str("1.2.3"),
            .build_id = hsabe::str("cafe"),
#ifdef RIGEL_TEST_SANITIZER
            .sanitizer =
                HSABE_SANITIZER == HSABE_SANITIZER_MEMORY ? HSABE_SANITIZER_THREAD : HSABE_SANITIZER_MEMORY,
#else
            .sanitizer = HSABE_SANITIZER,
#endif
            .reserved0 = 0,
#ifdef RIGEL_TEST_NO_DEVICE
            .device = nullptr,
#else
            .device = &kDevice,
#endif
#ifdef RIGEL_TEST_NO_DESTROY
            .queue = &kQueue,
#else
            .queue = nullptr,
#endif
            .code = nullptr,
            .memory = nullptr,
            .extensions = nullptr,
            .extension_count = 0,
            .copy = nullptr,
#ifdef RIGEL_TEST_BEFORE_IMAGES
            .image = &kNoImageFunctions,
#else
            .image = nullptr,
#endif
            .counters = nullptr,
        },
    .later_field = 0x1234,
};

}  // namespace

#ifdef RIGEL_TEST_UNDEFINED
extern "C" int rigel_test_function_that_nobody_defines();
#endif

#ifndef RIGEL_TEST_NO_QUERY
HSABE_EXPORT const hsabe_backend_t* hsa_backend_query_v1([[maybe_unused]] uint32_t host_major,
                                                         [[maybe_unused]] uint32_t host_minor) {
#if defined(RIGEL_TEST_THROWS)
  throw std::runtime_error("the moon is full");
#elif defined(RIGEL_TEST_NULL)
  return nullptr;
#elif defined(RIGEL_TEST_UNDEFINED)
  return rigel_test_function_that_nobody_defines() == 0 ? &kTable.known : nullptr;
#else
  return host_major == HSABE_ABI_MAJOR ? &kTable.known : nullptr;
#endif
}
#endif
