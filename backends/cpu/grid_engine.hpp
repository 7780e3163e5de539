// Runs grids of work-groups on the threads of a NUMA node.
//
// A grid is owned by the thread that calls Engine::run. The owner starts to run the work-groups itself. When
// the rest appears to cost more than waking a helper, it shares the grid: owner and helpers then take chunks
// of work-groups from an atomic counter. The first chunks are long, later ones shorter (guided
// self-scheduling, Polychronopoulos and Kuck 1987). Small grids never leave their owner's core. The caller
// stores the cost of a kernel's work-groups (Cost); the engine measures the cost of sharing from the
// durations of shared grids, compared with the expected ones.
//
// *Memory order:* what the owner did before `run` happens before every work-group, through the mutex under
// which helpers find the grid. Writes of work-groups happen before `run` returns, through Grid::inside_.
// *Threads:* mutex_ guards only the list of shared grids; no kernel runs under it.
// *Lifetime:* a Grid is on its owner's stack; `run` returns only when no helper can access it.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <hsa_cpu/abi.h>

#include "api/support/mutex.hpp"
#include "backends/cpu/threads.hpp"

namespace rigel::cpu {

/// Group and private memory of a thread that runs work-groups.
class Worker {
 public:
  explicit Worker(uint64_t spin_ticks) noexcept : patience(spin_ticks) {}
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Allocates for kernels with these segments, in bytes per work-group. Returns false if out of memory.
  bool prepare(uint64_t group_size, uint64_t private_size) noexcept;
  const hsa_cpu_worker_t* view() const noexcept { return &view_; }

  /// For waits of the thread on others of the engine.
  Patience patience;

 private:
  struct Arena {
    void* base = nullptr;
    uint64_t size = 0;
  };

  static void* take(Arena& arena, uint64_t size) noexcept;

  hsa_cpu_worker_t view_{sizeof(hsa_cpu_worker_t), nullptr, nullptr};
  Arena group_;
  Arena private_;
};

/// Recent duration of one work-group of a kernel, in ticks; negative if unknown. Belongs to one thread.
struct Cost {
  double per_group = -1;

  void add(double measured) noexcept {
    constexpr double kWeight = 0.25;
    per_group = per_group < 0 ? measured : per_group + (measured - per_group) * kWeight;
  }
};

/// Estimated cost of sharing a grid beyond its work, in ticks. Any thread; a lost update is harmless.
class SharingCost {
 public:
  SharingCost(double least, double most) noexcept : least_(least), most_(most), ticks_(least) {}

  double ticks() const noexcept { return ticks_.load(std::memory_order_relaxed); }
  /// Adds a measurement: the duration of a shared grid beyond its work divided by its threads.
  void learn(double measured) noexcept;
  /// Reduces the estimate because a grid was not shared due to it, so that sharing is tried again eventually.
  void forget() noexcept;

 private:
  const double least_;
  const double most_;
  std::atomic<double> ticks_;
};

class Grid {
 public:
  hsa_cpu_dispatch_t dispatch{};
  hsa_cpu_entry_t entry = nullptr;
  uint64_t groups = 0;        // work-groups
  uint64_t private_size = 0;  // bytes for all work-items of a work-group
  uint32_t priority = 0;      // helpers prefer the highest
  /// Another thread sets it to end the grid early, at the next chunk. May be null.
  const std::atomic<bool>* cancelled = nullptr;

 private:
  friend class Engine;

  bool is_cancelled() const noexcept { return cancelled && cancelled->load(std::memory_order_relaxed); }

  /// Returns the number of work-groups for a thread if `first` is the next one.
  uint64_t chunk_at(uint64_t first) const noexcept;
  /// Runs chunks until none is left. Returns the number of work-groups that this thread has run.
  uint64_t run_chunks(const hsa_cpu_worker_t* worker) noexcept;

  uint64_t parts_ = 1;                               // a thread takes this fraction of the rest …
  uint64_t shortest_chunk_ = 1, longest_chunk_ = 1;  // … within these limits in work-groups
  Grid* next_shared_ = nullptr;                      // guarded by Engine::mutex_
  // Shared with helpers:
  alignas(64) std::atomic<uint64_t> next_{0};
  alignas(64) std::atomic<uint32_t> inside_{0};
};

class Engine {
 public:
  /// `spin_ticks`: maximum time that an idle helper polls before it sleeps.
  Engine(const cpu_set_t& processors, uint32_t helpers, uint64_t spin_ticks);
  ~Engine();

  /// Runs all work-groups of `grid` on this thread and helpers. Returns false if it was cancelled. `self`
  /// must be prepared for the grid.
  bool run(Grid& grid, Worker& self, Cost& cost) noexcept;

  uint32_t helpers() const noexcept { return helper_count_; }

 private:
  uint64_t chunk_of(double ns, double ticks_per_group, uint64_t groups) const noexcept;
  SharingCost& sharing_cost() noexcept;
  bool worth_sharing(double ticks_left) noexcept;
  bool run_shared(Grid& grid, uint64_t done, double ticks_per_group, Worker& self, Cost& cost) noexcept;
  void publish(Grid& grid, uint32_t wanted) noexcept;
  void retire(Grid& grid, Worker& self) noexcept;

  void start_helpers() noexcept RIGEL_REQUIRES(mutex_);
  void help() noexcept;
  Grid* join() noexcept;
  static void leave(Grid& grid) noexcept;
  void wait_for_work(uint32_t seen, Worker& self) noexcept;

  const cpu_set_t processors_;
  const uint32_t helper_count_;
  const double ticks_per_ns_;
  const uint64_t spin_ticks_;
  SharingCost wake_cost_;    // while helpers sleep
  SharingCost notice_cost_;  // while one polls for work

  Mutex mutex_;
  Grid* shared_ RIGEL_GUARDED_BY(mutex_) =
      nullptr;                      // grids with work left, and some whose owners are about to remove them
  std::vector<pthread_t> threads_;  // under mutex_ until all are started
  bool started_ RIGEL_GUARDED_BY(mutex_) = false;

  // Changes when there may be new work: helpers poll it and sleep on it.
  alignas(64) std::atomic<uint32_t> epoch_{0};
  std::atomic<uint32_t> looking_{0};
  std::atomic<uint32_t> sleeping_{0};
  std::atomic<bool> stop_{false};
};

}  // namespace rigel::cpu
