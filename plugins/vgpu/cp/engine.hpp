// An engine serves queues in turns: the micro engine those with compute packets, each SDMA engine its own.
//
// Threads. In threaded mode one worker, started with the first queue. The worker holds `mutex_` only between
// steps; whoever changes a queue takes it and waits until that queue is not being stepped. In manual mode
// step() does what the worker would.
//
// Waiting. After the last progress the worker spins for a moment (spin_time.hpp). Then it sleeps: until
// wake() if nothing is to be polled, otherwise for a time that grows with how long nothing has happened, up
// to a millisecond, so that an idle GPU costs nothing and a dependency that has just been stored is seen at
// once. While a kernel runs it sleeps for a millisecond at most: kernels may ring doorbells, where nobody
// watches. Doorbells that are stored to wake nobody while a worker of the GPU is awake: it looks at those of
// its peers that sleep.
//
// Memory order: wake() and sleeping are sequentially consistent with each other: either the worker sees
// that it was woken, or that a bell was rung, before it sleeps, or the waker sees that it sleeps (bell.hpp).
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
  /// `peers` are all engines of the GPU; progress on one wakes those that poll.
  Engine(std::string name, QueueContext& context, const std::vector<std::unique_ptr<Engine>>& peers)
      : name_(std::move(name)), context_(context), peers_(peers), alarm_(take_alarm()) {}
  ~Engine();

  /// Ends the worker. All engines of a GPU stop before any of them goes: a worker wakes its peers.
  void stop();

  /// The worker, in threaded mode, if it is not there yet. False: the process may not have another thread.
  bool start();

  /// After start().
  void add(std::shared_ptr<HardwareQueue> queue, bool suspended);

  /// On return the queue is not stepped any more.
  void remove(const HardwareQueue& queue);

  /// Calls `change(queue)` while the queue is not being stepped, then suspends or resumes it.
  template <class Change>
  void change(const HardwareQueue& queue, bool suspended, Change&& change) {
    MutexLock lock(mutex_);
    if (const std::shared_ptr<Entry> entry = at_rest(lock, queue)) {
      change(*entry->queue);
      if (entry->suspended && !suspended) entry->queue->remap();
      entry->suspended = suspended;
      sort();
    }
    lock.unlock();
    wake();
  }

  /// Calls `look(queue, suspended, outcome of its last step)` while the queue is not being stepped.
  template <class Look>
  void look(const HardwareQueue& queue, Look&& look) {
    MutexLock lock(mutex_);
    const std::shared_ptr<Entry> entry = at_rest(lock, queue);
    if (entry == nullptr) return;
    look(*entry->queue, entry->suspended, entry->last);
    lock.unlock();
    wake();  // it may have passed over the queue
  }

  void wake() noexcept { alarm_.wake(); }
  /// What bells of its queues ring.
  Alarm& alarm() const { return alarm_; }

  /// Manual mode: one step of one queue, in an order that `random` chooses among equal priorities.
  bool step(std::mt19937_64& random);

 private:
  struct Entry {
    std::shared_ptr<HardwareQueue> queue;
    bool suspended = false;
    bool removed = false;    // for a round that goes over an older list
    uint32_t wanted_by = 0;  // threads that wait until it is not being stepped: it gets no turn before them
    Outcome last = Outcome::kIdle;
  };
  using Entries = std::vector<std::shared_ptr<Entry>>;
  using Clock = std::chrono::steady_clock;

  void work();
  /// One turn of the queues; says whether something was done, and whether something has to be polled.
  struct Round {
    bool progress = false;
    bool polling = false;
  };
  Round round() RIGEL_REQUIRES(mutex_);
  static bool has_turn(Entry& entry);
  bool lend_thread() RIGEL_REQUIRES(mutex_);
  void wake_peers() RIGEL_REQUIRES(mutex_);
  void look_at_peers() RIGEL_REQUIRES(mutex_);
  void wake_if_rung() noexcept;
  bool any_rung() const noexcept RIGEL_REQUIRES(mutex_);
  Outcome step_entry(Entry& entry, uint32_t budget) RIGEL_REQUIRES(mutex_);
  void sleep(uint32_t seen, bool polling, Clock::duration quiet) RIGEL_REQUIRES(mutex_);
  void nap(uint32_t seen) RIGEL_REQUIRES(mutex_);
  void wait_until_not_running(MutexLock& lock, Entry& entry) RIGEL_REQUIRES(mutex_);
  /// The queue's entry; the queue is not being stepped until the lock is given back. Null: it is none of the engine's.
  std::shared_ptr<Entry> at_rest(MutexLock& lock, const HardwareQueue& queue) RIGEL_REQUIRES(mutex_);
  void sort() RIGEL_REQUIRES(mutex_);

  const std::string name_;
  QueueContext& context_;
  const std::vector<std::unique_ptr<Engine>>& peers_;

  Mutex mutex_;
  Condition stepped_;
  Entries entries_ RIGEL_GUARDED_BY(mutex_);  // replaced whole, so that a round can go on over the old one
  const Entry* running_ RIGEL_GUARDED_BY(mutex_) = nullptr;
  bool stop_ RIGEL_GUARDED_BY(mutex_) = false;
  uint32_t rounds_ = 0;  // the worker's
  std::thread worker_;   // under mutex_ until it runs

  Alarm& alarm_;
  std::atomic<bool> polling_{false};  // asleep, but a queue waits for memory that a peer may write
};

}  // namespace rigel::vgpu
