// What a device copies and fills with: its copy engines where they serve, kernels where they do not.
//
// Engines and the queue for kernels are made when they are first needed. An engine that cannot be had (there
// are a handful, for all processes) is no error: kernels copy then, and the engine is asked for again now and
// then. Any thread, several at a time.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>

#include "backends/common/gpu_device.hpp"
#include "backends/common/sdma_queue.hpp"
#include "backends/common/service_queue.hpp"

namespace rigel::gfx {

class CopyEngines {
 public:
  explicit CopyEngines(Device& device);
  ~CopyEngines();
  CopyEngines(const CopyEngines&) = delete;

  // As hsabe_copy_ops_t has them.
  hsabe_status_t submit(const hsabe_copy_t& copy);
  hsabe_status_t fill(uint64_t destination, uint32_t value, uint64_t count, uint64_t completion);
  void engines(uint32_t* all, uint32_t* idle);

  /// Drops what processors have cached of code; returns when that is done.
  hsabe_status_t invalidate_code();

 private:
  static constexpr size_t kEngines = 2;  ///< one for each direction

  SdmaQueue* engine_for(const hsabe_copy_t& copy);
  SdmaQueue* engine(size_t number);
  hsabe_status_t service(ServiceQueue** out);
  hsabe_status_t by_engine(SdmaQueue& queue, const hsabe_copy_t& copy);
  hsabe_status_t by_kernel(const hsabe_copy_t& copy);

  Device& device_;
  const bool engines_usable_;

  std::mutex mutex_;  // guards the making of what follows
  std::array<std::atomic<SdmaQueue*>, kEngines> ready_{};
  std::array<std::unique_ptr<SdmaQueue>, kEngines> owned_;
  std::array<std::chrono::steady_clock::time_point, kEngines> asked_{};
  std::atomic<ServiceQueue*> service_ready_{};
  std::unique_ptr<ServiceQueue> service_;
  Block blit_code_;

  std::mutex control_mutex_;               // guards what follows
  std::unique_ptr<ServiceQueue> control_;  // where nothing waits for the program; made when needed
};

}  // namespace rigel::gfx
