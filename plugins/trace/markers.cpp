#include "plugins/trace/markers.hpp"

#include <dlfcn.h>

#include <atomic>

namespace trace {
namespace {

constinit std::atomic<Recorder*> listener{nullptr};

// The first fields of rocTX's roctx_api_data_t, for every operation.
struct MarkerData {
  const char* message;
  uint64_t range;
};

// rocTX's callback. The operations have the values of MarkerOperation.
int on_marker(uint32_t, uint32_t operation, void* data) {
  Recorder* const recorder = listener.load(std::memory_order_acquire);
  if (recorder == nullptr || operation > static_cast<uint32_t>(MarkerOperation::kStop)) return 0;
  const auto marker_operation = static_cast<MarkerOperation>(operation);
  const auto& marker = *static_cast<const MarkerData*>(data);
  const bool has_range =
      marker_operation == MarkerOperation::kStart || marker_operation == MarkerOperation::kStop;
  recorder->mark(marker_operation, marker.message, has_range ? marker.range : 0);
  return 0;
}

}  // namespace

void record_markers_to(Recorder* recorder) noexcept {
  for (const char* const name : {"libroctx64.so.4", "libroctx64.so.1", "libroctx64.so"}) {
    void* const library = ::dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    using Callback = int (*)(uint32_t, uint32_t, void*);
    if (auto* const register_callback =
            reinterpret_cast<void (*)(Callback)>(::dlsym(library, "roctxRegisterTracerCallback"))) {
      listener.store(recorder, std::memory_order_release);
      register_callback(recorder == nullptr ? nullptr : on_marker);
    }
    ::dlclose(library);
    return;
  }
}

}  // namespace trace
