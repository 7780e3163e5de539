// The runtime's side of the backend ABI, as far as a device on the KFD bus needs it, over a VirtualGpu. For
// tests of devices, queues and copies without a runtime.
//
// Signals have no events: a thread looks at those that are watched.
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

  /// Compute units of the backend's own queues, before it is opened.
  void set_own_units(std::vector<uint32_t> units) { own_units_ = std::move(units); }
  /// From now on the driver's facts are those of ABI 1.3.
  void forget_own_units() { knows_own_units_ = false; }
  /// What SET_CU_MASK was last asked for; empty: nothing.
  std::vector<uint32_t> cu_mask() const;
  /// Queues have a signal for what the driver reports of them, before the backend is opened.
  void report_exceptions() { exceptions_ = 1; }
  /// Signals that are watched, in the order of that.
  std::vector<uint64_t> watched() const;
  /// The driver's interface, before the backend is opened. From 17 on UPDATE_QUEUE is refused with rings that are
  /// mapped twice.
  void set_interface(uint32_t minor) { interface_ = minor; }
  /// UPDATE_QUEUEs so far, and of these the ones that failed.
  int updates() const { return updates_; }
  int failed_updates() const { return failed_updates_; }
  /// Options of the backend, before it is opened.
  void set_option(const std::string& key, const std::string& value) { options_.emplace_back(key, value); }

  std::vector<std::pair<uint64_t, hsabe_status_t>> queue_errors() const;
  std::vector<hsabe_scratch_event_t> scratch_events() const;
  std::string last_report() const;
  /// Stores a value in every signal that is watched, as a processor does that stops its queues.
  void stop_queues(int64_t value);
  /// Stores it in one of them, and returns when its handler has been called.
  void stop_queue(uint64_t inactive_signal, int64_t value);
  /// Is called with what happens to scratch, by who is at it, as tools are.
  void set_on_scratch(std::function<void(const hsabe_scratch_event_t&)> call) {
    on_scratch_ = std::move(call);
  }
  /// Is called when the driver has destroyed the next queue, by who asked for that.
  void set_after_destroying(std::function<void()> call) { after_destroying_ = std::move(call); }
  /// Is called when the next block is about to be freed, by who asked for that.
  void set_before_freeing(std::function<void()> call) { before_freeing_ = std::move(call); }
  /// From now on CREATE_QUEUE fails for copy engines.
  void refuse_engines() { no_engines_ = true; }
  /// From now on there is no local memory for more than that at a time.
  void set_largest_block(uint64_t bytes) { largest_block_ = bytes; }
  /// From the `nth` next one on UPDATE_QUEUE fails.
  void refuse_updates(int nth = 1) { updates_left_ = nth - 1; }
  /// CREATE_QUEUEs of copy engines so far.
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
