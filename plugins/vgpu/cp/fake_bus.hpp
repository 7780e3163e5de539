// A DeviceBus for tests, fuzzers and benchmarks: GPU addresses over ordinary memory, and a record of all
// reports. All functions are thread-safe.
#pragma once

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "plugins/vgpu/cp/device_bus.hpp"

namespace rigel::vgpu::testing {

constexpr uint64_t kPage = 4096;

/// Memory at GPU address `va` and host address `host`.
struct Buffer {
  uint64_t va = 0;
  std::byte* host = nullptr;
  uint64_t bytes = 0;

  template <class T>
  T* at(uint64_t offset = 0) const {
    return reinterpret_cast<T*>(host + offset);
  }
};

class FakeBus : public DeviceBus {
 public:
  struct Interrupt {
    InterruptSource source;
    uint32_t context_id;
    uint32_t queue_id;
  };

  /// Allocates zeroed memory in whole pages, with an unmapped page before and after it.
  Buffer allocate(uint64_t bytes, bool writable = true) {
    const Buffer buffer = map_at(next_va_, bytes, writable);
    next_va_ += buffer.bytes + kPage;
    return buffer;
  }

  /// Allocates memory at a given address.
  Buffer map_at(uint64_t va, uint64_t bytes, bool writable = true) {
    bytes = (bytes + kPage - 1) / kPage * kPage;
    auto* host = static_cast<std::byte*>(std::aligned_alloc(kPage, bytes));
    std::memset(host, 0, bytes);
    memory_.emplace_back(host, &std::free);
    std::unique_lock lock(mutex_);
    objects_[va] = Object{host, bytes, writable};
    return {va, host, bytes};
  }

  /// Maps memory that the test owns.
  void map_host(uint64_t va, std::byte* host, uint64_t bytes) {
    std::unique_lock lock(mutex_);
    objects_[va] = Object{host, bytes, true};
  }

  /// Maps the same memory a second time (a doubled ring).
  void alias(uint64_t va, const Buffer& buffer) {
    std::unique_lock lock(mutex_);
    objects_[va] = Object{buffer.host, buffer.bytes, true};
  }

  void unmap(const Buffer& buffer) {
    std::unique_lock lock(mutex_);
    objects_.erase(buffer.va);
    epoch_.fetch_add(1);
  }

  Translation translate(uint64_t va, uint64_t bytes, Access access) noexcept override {
    auto found = objects_.upper_bound(va);
    if (found == objects_.begin()) return {nullptr, 0, FaultReason::kNotPresent};
    --found;
    const uint64_t offset = va - found->first;
    if (offset >= found->second.bytes) return {nullptr, 0, FaultReason::kNotPresent};
    if (access == Access::kWrite && !found->second.writable) return {nullptr, 0, FaultReason::kReadOnly};
    const uint64_t left = found->second.bytes - offset;
    return {found->second.host + offset, bytes < left ? bytes : left, FaultReason::kNone};
  }
  uint32_t begin_translations() noexcept override {
    mutex_.lock_shared();
    scopes.fetch_add(1, std::memory_order_relaxed);
    return 0;
  }
  void end_translations(uint32_t) noexcept override { mutex_.unlock_shared(); }
  uint64_t translation_epoch() const noexcept override { return epoch_.load(); }

  void report_fault(const VmFault& fault) noexcept override {
    std::lock_guard lock(reports_mutex_);
    faults_.push_back(fault);
  }
  void raise_interrupt(InterruptSource source, uint32_t context_id, uint32_t queue_id) noexcept override {
    std::lock_guard lock(reports_mutex_);
    interrupts_.push_back({source, context_id, queue_id});
  }
  bool take_queue_error(uint32_t, QueueError error) noexcept override {
    std::lock_guard lock(reports_mutex_);
    errors_.push_back(error);
    return takes_errors;
  }
  void queue_stopped(uint32_t queue_id, std::string_view reason) noexcept override {
    std::lock_guard lock(reports_mutex_);
    stopped_[queue_id] = std::string(reason);
  }
  void report(Severity, std::optional<uint32_t>, std::string_view line) noexcept override {
    if (on_warning) on_warning();
    std::lock_guard lock(reports_mutex_);
    warnings_.emplace_back(line);
  }
  TrapHandler trap_handler() const noexcept override { return trap; }
  uint64_t gpu_clock() noexcept override { return clock_.fetch_add(1); }
  void watch_doorbells() noexcept override { watchers.fetch_add(1); }
  void doorbells_unwatched() noexcept override { watchers.fetch_sub(1); }
  bool trace_enabled(TraceTopic) const noexcept override { return traces; }
  void trace(TraceTopic, std::string_view line) noexcept override {
    std::lock_guard lock(reports_mutex_);
    lines_.emplace_back(line);
  }

  std::vector<VmFault> faults() const { return copy(faults_); }
  std::vector<Interrupt> interrupts() const { return copy(interrupts_); }
  std::vector<QueueError> errors() const { return copy(errors_); }
  std::vector<std::string> lines() const { return copy(lines_); }
  std::vector<std::string> warnings() const { return copy(warnings_); }
  /// Returns the reason for which a queue stopped; empty if it did not.
  std::string stopped(uint32_t queue_id) const {
    std::lock_guard lock(reports_mutex_);
    const auto found = stopped_.find(queue_id);
    return found == stopped_.end() ? std::string() : found->second;
  }

  TrapHandler trap;                  ///< Set before queues run.
  std::function<void()> on_warning;  ///< Set before queues run; called before a warning is recorded.
  bool takes_errors = false;
  bool traces = false;
  std::atomic<int> watchers{0};
  std::atomic<uint64_t> scopes{0};

 private:
  struct Object {
    std::byte* host;
    uint64_t bytes;
    bool writable;
  };

  template <class T>
  std::vector<T> copy(const std::vector<T>& list) const {
    std::lock_guard lock(reports_mutex_);
    return list;
  }

  std::shared_mutex mutex_;
  std::map<uint64_t, Object> objects_;  // under mutex_
  std::atomic<uint64_t> epoch_{0};
  std::vector<std::unique_ptr<std::byte, decltype(&std::free)>> memory_;
  uint64_t next_va_ = 0x10000000000;
  std::atomic<uint64_t> clock_{1000};

  mutable std::mutex reports_mutex_;
  std::vector<VmFault> faults_;
  std::vector<Interrupt> interrupts_;
  std::vector<QueueError> errors_;
  std::map<uint32_t, std::string> stopped_;
  std::vector<std::string> lines_, warnings_;
};

}  // namespace rigel::vgpu::testing
