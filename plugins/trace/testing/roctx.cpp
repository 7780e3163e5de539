// A stand-in for rocTX with its public functions and the registration of a listener.
#include <atomic>
#include <cstdint>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

struct Data {
  const char* message;
  uint64_t range;
};
std::atomic<int (*)(uint32_t, uint32_t, void*)> listener{nullptr};
std::atomic<uint64_t> ranges{1};

void notify(uint32_t operation, const char* message, uint64_t range = 0) {
  constexpr uint32_t kDomain = 5;  // ACTIVITY_DOMAIN_ROCTX
  Data data{message, range};
  if (auto* const function = listener.load()) function(kDomain, operation, &data);
}

}  // namespace

EXPORT void roctxMarkA(const char* message) {
  notify(0, message);
}
EXPORT int roctxRangePushA(const char* message) {
  notify(1, message);
  return 0;
}
EXPORT int roctxRangePop() {
  notify(2, nullptr);
  return 0;
}
EXPORT uint64_t roctxRangeStartA(const char* message) {
  const uint64_t range = ranges++;
  notify(3, message, range);
  return range;
}
EXPORT void roctxRangeStop(uint64_t range) {
  notify(4, nullptr, range);
}
EXPORT void roctxRegisterTracerCallback(int (*function)(uint32_t, uint32_t, void*)) {
  listener = function;
}
