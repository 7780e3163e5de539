// The queues of the program, with a fast lookup by doorbell, which every store to a signal needs.
#pragma once

#include <hsa_plugin/hsa_tool.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "api/support/mutex.hpp"
#include "plugins/validate/kernels.hpp"

namespace validate {

/// A queue that the tool observes. *Lifetime:* until the tool is unloaded. `queue` is valid until the
/// program destroys its queue.
struct Queue {
  const hsa_queue_t* queue = nullptr;
  uint64_t id = 0;
  uint64_t doorbell = 0;
  const Agent* agent = nullptr;
  std::atomic<bool> stopped{false};   ///< failed, inactivated or destroyed: its packets never complete
  std::atomic<uint64_t> producer{0};  ///< the thread inside a call that reserves or rings; 0: none

  rigel::Mutex mutex;
  std::vector<hsatool::Packet> copies RIGEL_GUARDED_BY(mutex);  // copies of consumed packets, by slot
  uint64_t taken RIGEL_GUARDED_BY(mutex) = 0;                   // index of the first packet not yet consumed

  const hsatool::Packet* ring() const { return static_cast<const hsatool::Packet*>(queue->base_address); }
};

/// While a call destroys a queue, another queue or signal may reuse its memory or its doorbell before the
/// tool observes the end of the call. `hide` therefore ends lookups by doorbell at the start of the call.
class Queues {
 public:
  Queue& add(const hsatool_queue_t& info, const Agent* agent);
  /// Called before a call destroys the queue.
  void hide(Queue& queue);
  /// Called if that call failed.
  void show(Queue& queue);
  /// Called if that call succeeded.
  static void end(Queue& queue);

  /// Returns the queue with this doorbell, or null. Takes no lock.
  Queue* of_doorbell(uint64_t signal) const;
  /// Returns a live queue.
  Queue* of(const hsa_queue_t* queue) const { return of_doorbell(queue->doorbell_signal.handle); }
  /// Returns null if no queue ever had this ID.
  Queue* of_id(uint64_t id) const;

 private:
  // Hash table by doorbell handle with open addressing. A removed slot becomes kRemoved, never empty.
  struct Slot {
    std::atomic<uint64_t> doorbell{0};
    std::atomic<Queue*> queue{nullptr};
  };
  static constexpr size_t kSlots = 8192;
  static constexpr uint64_t kRemoved = 1;
  static size_t first_slot(uint64_t doorbell) { return (doorbell * 0x9e3779b97f4a7c15ull) >> 51; }

  void insert_slot(Queue& queue) RIGEL_REQUIRES(mutex_);

  std::array<Slot, kSlots> slots_;
  mutable rigel::SharedMutex mutex_;
  std::unordered_map<uint64_t, std::unique_ptr<Queue>> all_ RIGEL_GUARDED_BY(mutex_);  // by ID
};

}  // namespace validate
