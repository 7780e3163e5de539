// Serves the queues of one processor: the micro engine those with compute packets, each SDMA engine its copy
// queues.
//
// Threads: in threaded mode there is one worker, started with the first queue. It holds `mutex_` only between
// steps. A thread that changes a queue takes `mutex_` and waits until the queue is not being stepped. In
// manual mode step() does the worker's job.
//
// Waiting: after the last progress the worker spins for a moment (spin_time.hpp), then sleeps. If no queue
// polls memory, it sleeps until wake(). Otherwise it sleeps for a time that grows with the time without
// progress, up to one millisecond. While a kernel runs it sleeps for one millisecond at most: kernels may
// ring doorbells, and their stores do not go through the watched page. A worker that is awake also checks the
// doorbells of its sleeping peers, because stores to doorbells wake no thread while a worker of the GPU is
// awake.
//
// Memory order: wake() and the sleep are sequentially consistent. Either the worker sees the wake-up or the
// ring before it sleeps, or the waker sees that it sleeps (bell.hpp).
#pragma once

#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "api/support/mutex.hpp"
#include "plugins/vgpu/cp/hardware_queue.hpp"

namespace rigel::vgpu {

class Engine {
 public:
  /// `peers` are all engines of the GPU. Progress on one wakes the peers that poll.
  Engine(std::string name, QueueContext& context, const std::vector<std::unique_ptr<Engine>>& peers)
      : name_(std::move(name)), context_(context), peers_(peers), alarm_(take_alarm()) {}
  ~Engine();

  /// Ends the worker. All engines of a GPU stop before one is destroyed, because a worker wakes its peers.
  void stop();

  /// Starts the worker in threaded mode, unless it runs. Returns false if the process cannot create a thread.
  bool start();

  /// Adds a queue. Requires start().
  void add(std::shared_ptr<HardwareQueue> queue, bool suspended);

  /// Removes a queue. On return it is not being stepped and will not be stepped.
  void remove(const HardwareQueue& queue);

  /// Calls `change(queue)` while the queue is not being stepped, then suspends or resumes it.
  template <class Change>
  void change(const HardwareQueue& queue, bool suspended, Change&& change) {
    MutexLock lock(mutex_);
    if (const std::shared_ptr<Entry> entry = entry_at_rest(lock, queue)) {
      change(*entry->queue);
      if (entry->suspended && !suspended) entry->queue->remap();
      entry->suspended = suspended;
      sort();
    }
    lock.unlock();
    wake();
  }

  /// Calls `inspect(queue, suspended, outcome of its last step)` while the queue is not being stepped.
  template <class Inspect>
  void inspect(const HardwareQueue& queue, Inspect&& inspect) {
    MutexLock lock(mutex_);
    const std::shared_ptr<Entry> entry = entry_at_rest(lock, queue);
    if (entry == nullptr) return;
    inspect(*entry->queue, entry->suspended, entry->last);
    lock.unlock();
    wake();  // the worker may have skipped the queue
  }

  void wake() noexcept { alarm_.wake(); }
  /// The alarm that the bells of its queues ring.
  Alarm& alarm() const { return alarm_; }

  /// Manual mode: does one step of one queue. `random` selects among equal priorities.
  bool step(std::mt19937_64& random);

 private:
  struct Entry {
    std::shared_ptr<HardwareQueue> queue;
    bool suspended = false;
    bool removed = false;  // checked by a round that iterates over an older list
    // threads that wait until it is not being stepped; it is not stepped while there are any
    uint32_t waiting_threads = 0;
    Outcome last = Outcome::kIdle;
  };
  using Entries = std::vector<std::shared_ptr<Entry>>;
  using Clock = std::chrono::steady_clock;

  void work();
  /// Result of one round over the queues.
  struct Round {
    bool progress = false;
    bool polling = false;
  };
  Round round() RIGEL_REQUIRES(mutex_);
  static bool is_runnable(Entry& entry);
  bool lend_thread() RIGEL_REQUIRES(mutex_);
  void wake_peers() RIGEL_REQUIRES(mutex_);
  void wake_rung_peers() RIGEL_REQUIRES(mutex_);
  void wake_if_rung() noexcept;
  bool any_rung() const noexcept RIGEL_REQUIRES(mutex_);
  Outcome step_entry(Entry& entry, uint32_t budget) RIGEL_REQUIRES(mutex_);
  void sleep(uint32_t seen, bool polling, Clock::duration quiet) RIGEL_REQUIRES(mutex_);
  void nap(uint32_t seen) RIGEL_REQUIRES(mutex_);
  void wait_until_not_running(MutexLock& lock, Entry& entry) RIGEL_REQUIRES(mutex_);
  /// Returns the queue's entry, which is not stepped until the lock is released, or null if it is not in this
  /// engine.
  std::shared_ptr<Entry> entry_at_rest(MutexLock& lock, const HardwareQueue& queue) RIGEL_REQUIRES(mutex_);
  void sort() RIGEL_REQUIRES(mutex_);

  const std::string name_;
  QueueContext& context_;
  const std::vector<std::unique_ptr<Engine>>& peers_;

  Mutex mutex_;
  Condition stepped_;
  // replaced as a whole, so that a round can iterate over the old list
  Entries entries_ RIGEL_GUARDED_BY(mutex_);
  const Entry* running_ RIGEL_GUARDED_BY(mutex_) = nullptr;
  bool stop_ RIGEL_GUARDED_BY(mutex_) = false;
  uint32_t rounds_ = 0;  // used by the worker only
  std::thread worker_;   // under mutex_ until it runs

  Alarm& alarm_;
  std::atomic<bool> polling_{false};  // asleep, while a queue waits for memory that a peer may write
};

}  // namespace rigel::vgpu
