// Notices doorbells that a program rings by a plain store.
//
// Processors that are awake look at their doorbell slots themselves. Before one goes to sleep, the program's
// mappings of the GPU's doorbell page are made read-only. The next store ends in our handler of SIGSEGV
// (plugins/vgpu/cp/host_fault.hpp), on the thread that stores: it makes the store in the program's place,
// through the device's mapping of the page, and wakes the processor whose doorbell that is. Nobody else has
// to be given time by the scheduler before the program goes on, and one thread only before its packet is
// read. (A thread that waits for such stores, as userfaultfd needs one, is three hand-overs: to it, from it
// to the processor, and back to the program, which stands still until then. With one processor of the host
// taken by a program that spins, two of them wait for the next tick.)
//
// To change what may be done with a page takes far longer than such a store (some 40 us against 5, in a
// virtual machine). So the page stays read-only for a few stores more: only a program that goes on storing
// while the processors are awake gets a page that can be written to, as does one whose store the handler does
// not know (stopped_store.hpp): that one is done again.
//
// Hence the rule: while the page is writable, a processor of its GPU is awake or has been woken. It looks at
// the slots of all of them (Engine), and makes the page read-only when it goes to sleep.
//
// Where the handler is not wanted, or another has taken the place of ours, a thread of ours looks at the
// slots once in a millisecond; and when nothing has been stored for a second, or never, userfaultfd makes the
// page read-only: a store waits until that thread, which sleeps until then, has let it go, has woken the
// processor and has begun to look again. That is slower, but it needs nothing of the program, and costs
// nothing as long as all rings are calls (bell.hpp), which do not come here. Where userfaultfd is not allowed
// (some containers) the looks become rarer, and do not end. Who stores to a doorbell soon waits for an event:
// that ioctl looks as well.
//
// Threads: all functions from any thread that holds no lock of a processor. The handler takes the lock as
// well, which is sound because a thread that stores to a doorbell is not in here.
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
#include "plugins/vgpu/kfd/memory_object.hpp"
#include "plugins/vgpu/kfd/vgpu_log.hpp"

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

  /// The program has mapped doorbells of a GPU at `address`, from `offset` of the page on, or has taken the
  /// mapping away. The device has the page at `device`.
  void add_mapping(uint32_t gpu, void* address, uint64_t bytes, uint64_t offset, std::byte* device);
  void remove_mapping(void* address, uint64_t bytes);

  /// Somebody is about to wait for what the processors do: doorbells that are looked at now and then are
  /// looked at now.
  void look_now() noexcept;

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
    uint64_t offset;    // of the page
    std::byte* device;  // the page
    bool by_signal;
    bool by_userfault = false;  // once it was tried and taken
    uint64_t offset_of(const std::byte* at) const { return offset + static_cast<uint64_t>(at - address); }
  };
  enum class Armed : uint8_t { kNo, kBySignal, kByUserfault };
  struct Page {
    std::vector<Slot> slots;
    std::vector<MappedPages> mappings;
    std::vector<MappedPages>::const_iterator at(const std::byte* address) const;
    std::atomic<uint32_t> asleep{0};  // processors
    Armed armed = Armed::kNo;         // all mappings are read-only
    uint32_t made = 0;                // stores by the handler, since a processor went to sleep
    bool looked_at = false;           // they are not, and no signal would come of it: the thread looks
    Clock::time_point rung{};         // when something was last seen to have been stored
  };

  bool stored(std::byte* address, StoppedStore store);
  static bool protect(const MappedPages& pages, bool on) noexcept;
  bool protect_by_userfault(const MappedPages& pages, bool on) noexcept;
  bool disarm(Page& page) noexcept;
  bool arm_by_signal(Page& page) noexcept;
  bool arm_by_userfault(Page& page) noexcept RIGEL_REQUIRES(mutex_);
  bool register_userfaults(MappedPages& pages) noexcept RIGEL_REQUIRES(mutex_);
  bool wake_rung(uint32_t gpu, Page& page);
  static uint32_t engine_at(const Page& page, uint64_t offset);
  void start_thread();
  void tell_thread() noexcept;
  void wait(Clock::duration longest) RIGEL_REQUIRES(mutex_);
  void take_userfaults() RIGEL_REQUIRES(mutex_);
  void look();

  Log& log_;
  const std::function<void(uint32_t, uint32_t)> wake_;
  const bool allow_signals_;

  Mutex mutex_;
  InternalFd userfaults_;  // if they can be had
  InternalFd kick_;        // an eventfd, which ends the thread's wait
  bool tried_userfaults_ RIGEL_GUARDED_BY(mutex_) = false;
  bool thread_waits_ RIGEL_GUARDED_BY(mutex_) = false;         // for as long as nobody kicks it
  std::array<Page, kMaxGpus> pages_ RIGEL_GUARDED_BY(mutex_);  // by GPU
  bool stop_ RIGEL_GUARDED_BY(mutex_) = false;
  std::thread thread_;              // made under mutex_, and by nobody once stop_ is set
  std::atomic<bool> looks_{false};  // there is, or was, that thread
};

}  // namespace rigel::vgpu
