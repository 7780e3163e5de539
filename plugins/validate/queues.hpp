// The queues of the program, found by their doorbells in the hot path of every store to a signal.
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

/// A queue whose packets the tool sees. Lives as long as the tool; `queue` as long as the program's.
struct Queue {
  const hsa_queue_t* queue = nullptr;
  uint64_t id = 0;
  uint64_t doorbell = 0;
  const Agent* agent = nullptr;
  std::atomic<bool> stopped{false};   ///< it takes no packets any more, and has given up those that it had
  std::atomic<uint64_t> producer{0};  ///< the thread that is in a call of a producer's; 0: none

  rigel::Mutex mutex;
  std::vector<hsatool::Packet> copies RIGEL_GUARDED_BY(mutex);  // of packets that have been taken, by slot
  uint64_t taken RIGEL_GUARDED_BY(mutex) = 0;  // index of the first packet that has not been taken

  const hsatool::Packet* ring() const { return static_cast<const hsatool::Packet*>(queue->base_address); }
};

/// While a call destroys a queue, its memory and its doorbell may become those of another queue, or of a signal, before
/// the tool sees the call's end. From the call's beginning on the queue is therefore not found by them any more.
class Queues {
 public:
  Queue& add(const hsatool_queue_t& facts, const Agent* agent);
  /// A call is going to destroy it.
  void hide(Queue& queue);
  /// The call has failed.
  void show(Queue& queue);
  /// The call has destroyed it.
  static void end(Queue& queue);

  /// The queue that a signal is the doorbell of; null: of none. Takes no lock.
  Queue* of_doorbell(uint64_t signal) const;
  /// The same for a queue that lives.
  Queue* of(const hsa_queue_t* queue) const { return of_doorbell(queue->doorbell_signal.handle); }
  /// Null: there has never been one.
  Queue* of_id(uint64_t id) const;

 private:
  // By the handle of the doorbell: open addressing, with a slot that is left never becoming empty again.
  struct Slot {
    std::atomic<uint64_t> doorbell{0};
    std::atomic<Queue*> queue{nullptr};
  };
  static constexpr size_t kSlots = 8192;
  static constexpr uint64_t kLeft = 1;
  static size_t first_slot(uint64_t doorbell) { return (doorbell * 0x9e3779b97f4a7c15ull) >> 51; }

  void list(Queue& queue) RIGEL_REQUIRES(mutex_);

  std::array<Slot, kSlots> slots_;
  mutable rigel::SharedMutex mutex_;
  std::unordered_map<uint64_t, std::unique_ptr<Queue>> all_ RIGEL_GUARDED_BY(mutex_);  // by id
};

}  // namespace validate
