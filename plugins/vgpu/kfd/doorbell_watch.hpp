// Notices doorbells that a program rings by a plain store.
//
// Processors that are awake look at their doorbell slots themselves. Before one goes to sleep, the program's
// mappings of the GPU's doorbell page are made read-only. The next store ends in our handler of SIGSEGV
// (plugins/vgpu/cp/host_fault.hpp), on the thread that stores: it makes the page writable, wakes the
// processor whose doorbell that is, and the store is done again. Nobody else has to be given time by the
// scheduler before the program goes on, and one thread only before its packet is read. (A thread that waits
// for such stores, as userfaultfd needs one, is three hand-overs: to it, from it to the processor, and back
// to the program, which stands still until then. With one processor of the host taken by a program that
// spins, two of them wait for the next tick.)
//
// Hence the rule: while the page is writable, a processor of its GPU is awake or has been woken. It looks at
// the slots of all of them (Engine), and makes the page read-only when it goes to sleep.
//
// Where the handler is not wanted, or another has taken the place of ours, a thread looks at the slots every
// now and then, seldom enough to stay under one percent of a core.
//
// Threads: all functions from any thread that holds no lock of a processor. The handler takes the lock as
// well, which is sound because a thread that stores to a doorbell is not in here.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "plugins/vgpu/kfd/log.hpp"

namespace rigel::vgpu {

class DoorbellWatch {
 public:
  static constexpr uint32_t kAllEngines = ~0u;

  /// `wake(gpu, engine)` makes a processor of a GPU look at its doorbells, or all of them.
  DoorbellWatch(Log& log, std::function<void(uint32_t gpu, uint32_t engine)> wake, bool allow_signals);
  ~DoorbellWatch() { stop(); }
  DoorbellWatch(const DoorbellWatch&) = delete;
  DoorbellWatch& operator=(const DoorbellWatch&) = delete;

  /// A queue of `engine` whose doorbell is `bytes` (4 or 8) at `slot`, in the device's mapping, `offset` into
  /// the page.
  void add_slot(uint32_t gpu, uint32_t engine, const void* slot, uint64_t offset, uint32_t bytes);
  void remove_slot(uint32_t gpu, const void* slot);

  /// The program has mapped the doorbell page of a GPU at `address`, or has taken the mapping away.
  void add_mapping(uint32_t gpu, void* address, uint64_t bytes);
  void remove_mapping(void* address, uint64_t bytes);

  /// Ends the thread and forgets all mappings: the processors that are to be woken are about to go.
  void stop();

  /// A processor goes to sleep, having looked at its doorbells, which it does once more after this.
  void worker_sleeps(uint32_t gpu) noexcept;
  void worker_wakes(uint32_t gpu) noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kMaxGpus = 64;

  struct Slot {
    uint32_t engine;
    const void* address;
    uint64_t offset;
    uint32_t bytes;
  };
  struct MappedPages {
    std::byte* address;
    uint64_t bytes;
    bool by_signal;
  };
  struct Page {
    std::vector<Slot> slots;
    std::vector<MappedPages> mappings;
    uint32_t asleep = 0;       // processors
    bool armed = false;        // all mappings are read-only
    bool looked_at = false;    // stores cannot be stopped: the thread looks
    Clock::time_point rung{};  // when it last saw something
  };

  bool stored(std::byte* address);
  static bool protect(const MappedPages& pages, bool on) noexcept;
  bool disarm(Page& page) noexcept;
  bool arm(Page& page) noexcept;
  bool wake_rung(uint32_t gpu, Page& page);
  void look();

  Log& log_;
  const std::function<void(uint32_t, uint32_t)> wake_;
  const bool allow_signals_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<Page, kMaxGpus> pages_;  // by GPU
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace rigel::vgpu
