// The runtime's services for tests: real memory, signals on one condition variable, and stored errors.
//
// *Threads:* any thread, as in the backend ABI. *Lifetime:* must outlive the backend's devices.
#pragma once

#include <hsa/amd_hsa_signal.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <string>

#include <hsa_backend/hsa_backend.hpp>

#include "api/support/mutex.hpp"

namespace rigel::cpu::testing {

class FakeHost {
 public:
  FakeHost() = default;
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;

  const hsabe_host_t* table() const { return &table_; }

  /// Set before the device is opened.
  std::map<std::string, int64_t, std::less<>> options;

  uint64_t create_signal(int64_t value) {
    auto* const signal = static_cast<amd_signal_t*>(std::aligned_alloc(64, sizeof(amd_signal_t)));
    std::memset(static_cast<void*>(signal), 0, sizeof *signal);
    signal->kind = AMD_SIGNAL_KIND_USER;
    signal->value = value;
    live_signals_.fetch_add(1);
    return reinterpret_cast<uint64_t>(signal);
  }
  void destroy_signal(uint64_t signal) {
    if (signal == 0) return;
    live_signals_.fetch_sub(1);
    std::free(reinterpret_cast<void*>(signal));
  }
  static int64_t load(uint64_t signal) { return __atomic_load_n(value_of(signal), __ATOMIC_ACQUIRE); }
  void store(uint64_t signal, int64_t value) {
    __atomic_store_n(value_of(signal), value, __ATOMIC_SEQ_CST);
    wake();
  }
  void subtract(uint64_t signal, int64_t value) {
    __atomic_fetch_sub(value_of(signal), value, __ATOMIC_SEQ_CST);
    wake();
  }
  uint32_t wait_any(const hsabe_wait_t* waits, uint32_t count, uint64_t timeout_ns, uint64_t spin_ns) {
    uint32_t found = HSABE_WAIT_TIMED_OUT;
    const auto holds = [&] {
      found = check(waits, count);
      return found != HSABE_WAIT_TIMED_OUT;
    };
    const auto spin_until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(spin_ns);
    do {
      if (holds()) return found;
    } while (std::chrono::steady_clock::now() < spin_until);
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    {
      MutexLock lock(mutex_);
      if (timeout_ns == HSABE_WAIT_FOREVER) {
        while (!holds()) changed_.wait(lock);
      } else {
        const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(timeout_ns);
        while (!holds() && changed_.wait_until(lock, end) == std::cv_status::no_timeout) {
        }
        holds();
      }
    }
    sleepers_.fetch_sub(1);
    return found;
  }

  /// Waits until `signal` is `value`. Returns false after ten seconds.
  bool wait_equal(uint64_t signal, int64_t value) {
    const hsabe_wait_t wait{signal, value, HSA_SIGNAL_CONDITION_EQ, 0};
    return wait_any(&wait, 1, 10'000'000'000, 0) == 0;
  }

  /// Returns the error of the queue with this cookie; waits for it up to ten seconds.
  std::optional<hsabe_status_t> wait_for_error(uint64_t cookie) {
    MutexLock lock(mutex_);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!errors_.contains(cookie) && changed_.wait_until(lock, end) == std::cv_status::no_timeout) {
    }
    const auto found = errors_.find(cookie);
    return found == errors_.end() ? std::nullopt : std::optional(found->second);
  }
  size_t error_count() {
    const MutexLock lock(mutex_);
    return error_count_;
  }
  /// Returns and clears the backend's reports.
  std::string take_report() {
    const MutexLock lock(mutex_);
    return std::exchange(report_, {});
  }
  /// Returns and clears the backend's warnings, one per line.
  std::string take_warnings() {
    const MutexLock lock(mutex_);
    return std::exchange(warnings_, {});
  }
  int live_signals() const { return live_signals_.load(); }
  int live_allocations() const { return live_allocations_.load(); }
  std::atomic<bool> out_of_memory{false};

 private:
  static FakeHost& of(void* self) { return *static_cast<FakeHost*>(self); }
  static int64_t* value_of(uint64_t signal) {
    return const_cast<int64_t*>(&reinterpret_cast<amd_signal_t*>(signal)->value);
  }
  static uint32_t check(const hsabe_wait_t* waits, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      const int64_t value = load(waits[i].signal);
      const bool holds = waits[i].condition == HSA_SIGNAL_CONDITION_EQ   ? value == waits[i].value
                         : waits[i].condition == HSA_SIGNAL_CONDITION_NE ? value != waits[i].value
                         : waits[i].condition == HSA_SIGNAL_CONDITION_LT ? value < waits[i].value
                                                                         : value >= waits[i].value;
      if (holds) return i;
    }
    return HSABE_WAIT_TIMED_OUT;
  }
  void wake() {
    if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
    { const MutexLock lock(mutex_); }
    changed_.notify_all();
  }

  Mutex mutex_;
  Condition changed_;
  std::atomic<int> sleepers_{0};
  std::atomic<int> live_signals_{0};
  std::atomic<int> live_allocations_{0};
  std::map<uint64_t, hsabe_status_t> errors_ RIGEL_GUARDED_BY(mutex_);
  size_t error_count_ RIGEL_GUARDED_BY(mutex_) = 0;
  std::string report_ RIGEL_GUARDED_BY(mutex_);
  std::string warnings_ RIGEL_GUARDED_BY(mutex_);

  hsabe_host_log_t log_{sizeof(hsabe_host_log_t), [](void*, uint32_t) { return int32_t{0}; },
                        [](void* self, uint32_t level, hsabe_str_t text) {
                          const MutexLock lock(of(self).mutex_);
                          if (level <= HSABE_LOG_WARN) of(self).warnings_.append(hsabe::view(text)) += '\n';
                        }};
  hsabe_host_memory_t memory_{sizeof(hsabe_host_memory_t),
                              [](void* self, uint64_t size, void** out) -> hsabe_status_t {
                                if (of(self).out_of_memory) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
                                const uint64_t whole = (size + 4095) / 4096 * 4096;
                                *out = std::aligned_alloc(4096, whole);
                                std::memset(*out, 0, whole);
                                of(self).live_allocations_.fetch_add(1);
                                return HSA_STATUS_SUCCESS;
                              },
                              [](void* self, void* pointer) {
                                if (pointer) of(self).live_allocations_.fetch_sub(1);
                                std::free(pointer);
                              }};
  hsabe_host_signal_t signal_{
      sizeof(hsabe_host_signal_t),
      [](void* self, int64_t value, uint64_t* out) -> hsabe_status_t {
        *out = of(self).create_signal(value);
        return HSA_STATUS_SUCCESS;
      },
      [](void* self, uint64_t signal) { of(self).destroy_signal(signal); },
      [](void* self, uint64_t signal, int64_t value) { of(self).store(signal, value); },
      [](void* self, uint64_t signal, int64_t value) { of(self).subtract(signal, value); },
      [](void* self, const hsabe_wait_t* waits, uint32_t count, uint64_t timeout_ns, uint64_t spin_ns) {
        return of(self).wait_any(waits, count, timeout_ns, spin_ns);
      },
      nullptr,  // the CPU backend does not watch signals
      nullptr};
  hsabe_host_events_t events_{sizeof(hsabe_host_events_t),
                              [](void* self, uint64_t cookie, hsabe_status_t status) {
                                FakeHost& host = of(self);
                                const MutexLock lock(host.mutex_);
                                host.errors_[cookie] = status;
                                ++host.error_count_;
                                host.changed_.notify_all();
                              },
                              [](void* self, hsabe_str_t text) {
                                const MutexLock lock(of(self).mutex_);
                                of(self).report_ = hsabe::view(text);
                              },
                              nullptr};  // the CPU backend has no scratch memory
  hsabe_host_config_t config_{sizeof(hsabe_host_config_t),
                              [](void* self, hsabe_str_t key, int64_t fallback) {
                                const auto found = of(self).options.find(hsabe::view(key));
                                return found == of(self).options.end() ? fallback : found->second;
                              },
                              [](void*, hsabe_str_t, int32_t fallback) { return fallback; },
                              [](void*, hsabe_str_t, hsabe_str_t fallback) { return fallback; }};
  hsabe_host_t table_{sizeof(hsabe_host_t),
                      HSABE_ABI_MAJOR,
                      HSABE_ABI_MINOR,
                      this,
                      &log_,
                      &memory_,
                      &signal_,
                      &events_,
                      &config_,
                      nullptr};
};

}  // namespace rigel::cpu::testing
