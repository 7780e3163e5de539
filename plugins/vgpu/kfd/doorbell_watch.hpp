// Notices doorbells that a program rings by a plain store while the processors sleep.
//
// Processors that are awake look at their doorbell slots themselves. When one goes to sleep, this thread
// takes over: it write-protects the program's mappings of the doorbell pages by userfaultfd, so that the next
// store stops for as long as it takes to wake the processor; until then nothing runs. Where userfaultfd is
// not allowed the pages are made read-only, and the next store ends in our handler of SIGSEGV
// (plugins/vgpu/cp/host_fault.hpp), which makes them writable and wakes the processor. Where that is not
// wanted either, or another handler has taken the place of ours, the slots are looked at every now and then,
// seldom enough to stay under one percent of a core.
//
// A store that was stopped is repeated by the processor of the host after the protection is gone. So the page
// stays unprotected until the store has been seen, and for a while after it: protecting it at once could stop
// the same store for ever.
//
// Threads: all functions from any thread; worker_sleeps() and worker_wakes() are called by processors that
// hold no lock. Slots and mappings are registered by the process. The thread is started with the first slot.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "plugins/vgpu/kfd/log.hpp"
#include "plugins/vgpu/kfd/memory_object.hpp"

namespace rigel::vgpu {

class DoorbellWatch {
 public:
  /// `wake(gpu)` makes the processors of a GPU look at their doorbells.
  DoorbellWatch(Log& log, std::function<void(uint32_t gpu)> wake, bool allow_userfaultfd, bool allow_signals);
  ~DoorbellWatch();
  DoorbellWatch(const DoorbellWatch&) = delete;
  DoorbellWatch& operator=(const DoorbellWatch&) = delete;

  /// A queue whose doorbell is `bytes` (4 or 8) at `slot`, in the device's mapping. A queue on a worker that
  /// has none yet adds to the number of workers that can sleep.
  void add_slot(uint32_t gpu, const void* slot, uint32_t bytes);
  void remove_slot(uint32_t gpu, const void* slot);

  /// The program has mapped the doorbell page of a GPU at `address`, or has taken the mapping away.
  void add_mapping(uint32_t gpu, void* address, uint64_t bytes);
  void remove_mapping(void* address, uint64_t bytes);

  /// Ends the thread: before the processors that it wakes go away.
  void stop();

  void worker_sleeps(uint32_t gpu) noexcept;
  void worker_wakes(uint32_t gpu) noexcept;

 private:
  struct Slot {
    uint32_t gpu;
    const void* address;
    uint32_t bytes;
  };
  enum class How : uint8_t { kPolled, kUserfault, kSignal };
  struct MappedPages {
    DoorbellWatch* watch;
    uint32_t gpu;
    std::byte* address;
    uint64_t bytes;
    How how = How::kPolled;
    void protect_by_hand(bool on) const noexcept;
  };

  void run();
  bool open_userfaultfd();
  How prepare(MappedPages& mapping);
  static bool stored(void* mapping, std::byte* address);
  bool all_protectable() const;
  bool wanted() const;
  bool scan();
  void protect(bool on);
  void wait_for_fault(std::unique_lock<std::mutex>& lock);
  void kick() noexcept;

  Log& log_;
  const std::function<void(uint32_t)> wake_;
  const bool allow_userfaultfd_;
  const bool allow_signals_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Slot> slots_;
  std::vector<std::unique_ptr<MappedPages>> mappings_;
  std::vector<std::unique_ptr<MappedPages>> former_;  // a handler may still have one
  std::vector<uint32_t> sleeping_;                    // workers asleep, by GPU
  bool stop_ = false;
  bool armed_ = false;
  bool waiting_for_fault_ = false;
  std::atomic<bool> stored_{false};  // the handler has seen a store
  bool uffd_tried_ = false;
  InternalFd uffd_;
  InternalFd kick_;  // an eventfd that ends the wait for a fault
  std::thread thread_;
};

}  // namespace rigel::vgpu
