// The runtime's services of the backend ABI for a device on the KFD bus, with a VirtualGpu. For tests of
// devices, queues and copies without a runtime.
//
// Signals have no events: a thread polls watched signals.
#pragma once

#include <atomic>
#include <climits>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <hsa_backend/hsa_backend.hpp>

#include "api/support/mutex.hpp"
#include "backends/common/testing/virtual_gpu.hpp"

namespace rigel::gfx::testing {

class BackendHost {
 public:
  explicit BackendHost(VirtualGpu& gpu);
  ~BackendHost();
  BackendHost(const BackendHost&) = delete;

  const hsabe_host_t* get() const { return &host_; }
  VirtualGpu& gpu() { return gpu_; }

  /// Sets the compute units of the backend's own queues. Call before it is opened.
  void set_own_units(std::vector<uint32_t> units) { own_units_ = std::move(units); }
  /// Makes the driver's services those of ABI 1.3.
  void forget_own_units() { knows_own_units_ = false; }
  /// The last mask of SET_CU_MASK; empty: none.
  std::vector<uint32_t> cu_mask() const;
  /// Gives queues a signal for exceptions of the driver. Call before the backend is opened.
  void report_exceptions() { exceptions_ = 1; }
  /// Returns the watched signals in the order of watching.
  std::vector<uint64_t> watched() const;
  /// Sets the driver's interface version, before the backend is opened. From 17 on, UPDATE_QUEUE is rejected
  /// for rings that are mapped twice.
  void set_interface(uint32_t minor) { interface_ = minor; }
  /// Number of UPDATE_QUEUE calls, and of those that failed.
  int updates() const { return updates_; }
  int failed_updates() const { return failed_updates_; }
  void set_option(const std::string& key, const std::string& value) { options_.emplace_back(key, value); }

  std::vector<std::pair<uint64_t, hsabe_status_t>> queue_errors() const;
  std::vector<hsabe_scratch_event_t> scratch_events() const;
  std::string last_report() const;
  /// Stores a value in every watched signal, as a processor does that stops its queues.
  void stop_queues(int64_t value);
  /// Stores it in one of them, and returns after the call of its handler.
  void stop_queue(uint64_t inactive_signal, int64_t value);
  /// Sets a callback for scratch events, on the thread that causes them, as for tools.
  void set_on_scratch(std::function<void(const hsabe_scratch_event_t&)> call) {
    on_scratch_ = std::move(call);
  }
  /// Sets a callback for the next destroyed queue, on the calling thread.
  void set_after_destroying(std::function<void()> call) { after_destroying_ = std::move(call); }
  /// Sets a callback before the next block is freed, on the calling thread.
  void set_before_freeing(std::function<void()> call) { before_freeing_ = std::move(call); }
  void refuse_engines() { no_engines_ = true; }
  /// Limits allocations of local memory to `bytes` each.
  void set_largest_block(uint64_t bytes) { largest_block_ = bytes; }
  /// Makes UPDATE_QUEUE fail from the `nth` next call on.
  void refuse_updates(int nth = 1) { updates_left_ = nth - 1; }
  /// Number of CREATE_QUEUE calls for copy engines.
  int engine_requests() const { return engine_requests_; }

 private:
  struct Watch {
    hsabe_wait_t wait;
    hsa_amd_signal_handler handler;
    void* argument;
    uint64_t number;
  };
  static BackendHost& of(void* self) { return *static_cast<BackendHost*>(self); }
  void look();
  int32_t update_queue(void* argument, uint64_t size);

  VirtualGpu& gpu_;
  hsabe_host_t host_;
  std::vector<std::pair<std::string, std::string>> options_;
  std::vector<uint32_t> own_units_;
  uint64_t exceptions_ = 0;
  uint32_t interface_ = 12;
  std::atomic<int> updates_{0}, failed_updates_{0};
  bool knows_own_units_ = true;
  std::function<void()> after_destroying_;
  std::function<void()> before_freeing_;
  std::function<void(const hsabe_scratch_event_t&)> on_scratch_;
  std::atomic<bool> no_engines_{false};
  std::atomic<int> engine_requests_{0};
  std::atomic<int> updates_left_{INT_MAX};
  std::atomic<uint64_t> largest_block_{UINT64_MAX};
  std::atomic<bool> ending_{false};
  mutable Mutex mutex_;
  Mutex handling_;  // held while a handler runs
  uint64_t watches_made_ RIGEL_GUARDED_BY(mutex_) = 0;
  std::vector<uint64_t> mapped_twice_ RIGEL_GUARDED_BY(mutex_);
  std::vector<Watch> watches_ RIGEL_GUARDED_BY(mutex_);
  std::vector<std::pair<uint64_t, hsabe_status_t>> errors_ RIGEL_GUARDED_BY(mutex_);
  std::vector<hsabe_scratch_event_t> scratch_events_ RIGEL_GUARDED_BY(mutex_);
  std::string report_ RIGEL_GUARDED_BY(mutex_);
  std::vector<uint32_t> cu_mask_ RIGEL_GUARDED_BY(mutex_);
  std::thread thread_;

  friend struct BackendHostServices;
};

}  // namespace rigel::gfx::testing
