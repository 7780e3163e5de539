#include "backends/cpu/testing/bare_signal.hpp"

#include <hsa/amd_hsa_signal.h>

#include <atomic>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

struct Table {
  int64_t (*load)(hsa_signal_t);
  void (*store)(hsa_signal_t, int64_t);
};
int64_t* value_of(hsa_signal_t signal) {
  return const_cast<int64_t*>(&reinterpret_cast<amd_signal_t*>(signal.handle)->value);
}
constexpr Table kTable{
    [](hsa_signal_t s) { return __atomic_load_n(value_of(s), __ATOMIC_ACQUIRE); },
    [](hsa_signal_t s, int64_t v) { __atomic_store_n(value_of(s), v, __ATOMIC_RELEASE); },
};
constinit std::atomic<const Table*> table{&kTable};

}  // namespace

EXPORT int64_t bare_signal_load_scacquire(hsa_signal_t signal) {
  return table.load(std::memory_order_acquire)->load(signal);
}
EXPORT void bare_signal_store_screlease(hsa_signal_t signal, int64_t value) {
  table.load(std::memory_order_acquire)->store(signal, value);
}
