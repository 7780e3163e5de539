// Wakes sleeping engines when the program rings a doorbell by a plain store.
//
// Engines that are awake poll their doorbell slots. Before an engine sleeps, the program's mappings of the
// GPU's doorbell page become read-only. The next store raises SIGSEGV. On the storing thread, the handler
// (plugins/vgpu/cp/host_fault.hpp) executes the store through the device's mapping and wakes the engine.
//
// Changing the protection of a page takes longer than such a store: about 40 us against 5 us in a virtual
// machine. The page therefore stays read-only for the first stores. It becomes writable if the program stores
// repeatedly while engines are awake, or if the handler cannot decode the instruction (stopped_store.hpp);
// the program then repeats the store.
//
// Invariant: while the page is writable, an engine of its GPU is awake or has been woken. That engine polls
// all slots of the GPU (Engine) and makes the page read-only before it sleeps.
//
// If signals are not allowed, or another handler has replaced this one, the thread `vgpu-doorbells` polls the
// slots while engines sleep, at intervals from 1 to 32 ms. A program that rings a doorbell usually waits for
// an event next; that ioctl polls as well.
//
// Threads: all functions from any thread that holds no lock of an engine. The signal handler takes mutex_ as
// well; this cannot deadlock, because no thread stores to a doorbell while it holds mutex_.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "api/support/mutex.hpp"
#include "plugins/vgpu/cp/stopped_store.hpp"
#include "plugins/vgpu/kfd/vgpu_log.hpp"

namespace rigel::vgpu {

class DoorbellWatch {
 public:
  static constexpr uint32_t kAllEngines = ~0u;

  /// `wake(gpu, engine)` makes one engine of a GPU, or kAllEngines, poll the doorbells.
  DoorbellWatch(Log& log, std::function<void(uint32_t gpu, uint32_t engine)> wake, bool allow_signals);
  ~DoorbellWatch() { stop(); }
  DoorbellWatch(const DoorbellWatch&) = delete;
  DoorbellWatch& operator=(const DoorbellWatch&) = delete;

  /// Adds a doorbell of `bytes` (4 or 8) of a queue on `engine`. `slot` is its address in the device's
  /// mapping, `offset` its offset in the page.
  void add_slot(uint32_t gpu, uint32_t engine, const void* slot, uint64_t offset, uint32_t bytes);
  void remove_slot(uint32_t gpu, const void* slot);

  /// The program has mapped the doorbell page of a GPU at `address`, starting at `offset` of the page, or has
  /// unmapped it. `device` is the device's mapping of the page.
  void add_mapping(uint32_t gpu, void* address, uint64_t bytes, uint64_t offset, std::byte* device);
  void remove_mapping(void* address, uint64_t bytes);

  /// Polls the doorbells that the thread polls at intervals. Called before a thread waits for the engines.
  void poll_now() noexcept;

  /// Ends the thread and forgets all mappings. Called before the engines are destroyed.
  void stop();

  /// An engine is about to sleep. It has polled its doorbells and polls them once more after this.
  void engine_sleeps(uint32_t gpu) noexcept;
  void engine_wakes(uint32_t gpu) noexcept;

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
    uint64_t offset;    // offset of the mapping in the page
    std::byte* device;  // the device's mapping of the page
    bool by_signal;
    uint64_t offset_of(const std::byte* find_mapping) const {
      return offset + static_cast<uint64_t>(find_mapping - address);
    }
  };
  struct Page {
    std::vector<Slot> slots;
    std::vector<MappedPages> mappings;
    std::vector<MappedPages>::const_iterator find_mapping(const std::byte* address) const;
    std::atomic<uint32_t> asleep{0};  // number of engines
    bool armed = false;               // all mappings are read-only
    uint32_t executed_stores = 0;     // stores that the handler has executed since an engine went to sleep
    bool polled = false;              // the page is writable and stores raise no signal: the thread polls it
    Clock::time_point last_store{};   // when a store was last noticed
  };

  bool execute_store(std::byte* address, StoppedStore store);
  static bool protect(const MappedPages& pages, bool read_only) noexcept;
  static bool disarm(Page& page) noexcept;
  static bool arm(Page& page) noexcept;
  bool wake_rung_engines(uint32_t gpu, Page& page);
  static uint32_t engine_at(const Page& page, uint64_t offset);
  void start_thread();
  void poll_loop();

  Log& log_;
  const std::function<void(uint32_t, uint32_t)> wake_;
  const bool allow_signals_;

  Mutex mutex_;
  Condition has_work_;                                  // notifies the thread if it waits without limit
  bool thread_waits_ RIGEL_GUARDED_BY(mutex_) = false;  // the thread waits without limit
  std::array<Page, kMaxGpus> pages_ RIGEL_GUARDED_BY(mutex_);  // by GPU
  bool stop_ RIGEL_GUARDED_BY(mutex_) = false;
  std::thread thread_;                       // created under mutex_, and only while stop_ is false
  std::atomic<bool> thread_started_{false};  // the thread has been started
};

}  // namespace rigel::vgpu
