// Runs grids of work-groups on the threads of a NUMA node.
//
// A grid is owned by one thread, the one that calls Engine::run. It starts on the work-groups itself. When
// what is left looks like more work than waking somebody costs, it shares the grid: the engine's helpers then
// take chunks of work-groups off one atomic counter, as the owner does, until none is left: long ones first,
// shorter ones towards the end (guided self-scheduling, Polychronopoulos and Kuck 1987). Small grids never
// leave their owner's core. What a work-group of a kernel costs is remembered by the caller (Cost); what
// sharing costs, the engine learns from how long shared grids took compared with what they ought to.
//
// Memory order: what the owner did before `run` happens before every work-group, through the mutex under
// which helpers find the grid. What work-groups wrote happens before `run` returns, through Grid::inside_.
// Locks: mutex_ guards the list of shared grids and nothing else; no kernel runs under it.
// Ownership: a Grid lives on its owner's stack; `run` returns only when no helper can touch it any more.
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

/// What a thread needs to run work-groups: its group and private memory. Each thread has its own.
class Worker {
 public:
  explicit Worker(uint64_t spin_ticks) noexcept : patience(spin_ticks) {}
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Gets ready for kernels with these segments, in bytes a work-group. False if there is no memory.
  bool prepare(uint64_t group_size, uint64_t private_size) noexcept;
  const hsa_cpu_worker_t* view() const noexcept { return &view_; }

  /// For the thread's waiting on others of the engine.
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

/// What one work-group of a kernel took lately, in ticks; below 0 while unknown. Belongs to one thread.
struct Cost {
  double per_group = -1;

  void add(double measured) noexcept {
    constexpr double kWeight = 0.25;
    per_group = per_group < 0 ? measured : per_group + (measured - per_group) * kWeight;
  }
};

/// What sharing a grid costs beyond the work itself, in ticks, as far as is known. Any thread; a lost update
/// does not matter.
class SharingCost {
 public:
  SharingCost(double least, double most) noexcept : least_(least), most_(most), ticks_(least) {}

  double ticks() const noexcept { return ticks_.load(std::memory_order_relaxed); }
  /// A grid was shared and took this much longer than its work divided by its threads.
  void learn(double measured) noexcept;
  /// A grid was not shared because of the cost: with time, it is worth another try.
  void forget() noexcept;

 private:
  const double least_;
  const double most_;
  std::atomic<double> ticks_;
};

/// One kernel dispatch on its way.
class Grid {
 public:
  hsa_cpu_dispatch_t dispatch{};
  hsa_cpu_entry_t entry = nullptr;
  uint64_t groups = 0;        // work-groups
  uint64_t private_size = 0;  // bytes for all work-items of a work-group
  uint32_t priority = 0;      // helpers take from the highest first
  /// Set by another thread to end the grid early, at the next chunk. May be null.
  const std::atomic<bool>* cancelled = nullptr;

 private:
  friend class Engine;

  bool is_cancelled() const noexcept { return cancelled && cancelled->load(std::memory_order_relaxed); }

  /// How many work-groups a thread takes where `first` is the next one.
  uint64_t chunk_at(uint64_t first) const noexcept;
  /// Until none is left. Says how many this thread has done.
  uint64_t run_chunks(const hsa_cpu_worker_t* worker) noexcept;

  uint64_t parts_ = 1;                               // of what is left, a thread takes one …
  uint64_t shortest_chunk_ = 1, longest_chunk_ = 1;  // … of these many work-groups
  Grid* next_shared_ = nullptr;                      // Engine::mutex_
  // Shared with helpers.
  alignas(64) std::atomic<uint64_t> next_{0};
  alignas(64) std::atomic<uint32_t> inside_{0};
};

class Engine {
 public:
  /// `spin_ticks`: how long, at most, an idle helper looks for work before it sleeps.
  Engine(const cpu_set_t& processors, uint32_t helpers, uint64_t spin_ticks);
  ~Engine();

  /// Runs all work-groups of `grid` on this thread and helpers. False if it was cancelled before the end.
  /// `self` has been prepared for the grid.
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
  SharingCost notice_cost_;  // while one is looking for work

  Mutex mutex_;
  Grid* shared_ RIGEL_GUARDED_BY(mutex_) =
      nullptr;                      // those with work left, and some whose owners are about to retire them
  std::vector<pthread_t> threads_;  // under mutex_ until all are started
  bool started_ RIGEL_GUARDED_BY(mutex_) = false;

  // Changes whenever there may be new work: what helpers look at, and sleep on.
  alignas(64) std::atomic<uint32_t> epoch_{0};
  std::atomic<uint32_t> looking_{0};
  std::atomic<uint32_t> sleeping_{0};
  std::atomic<bool> stop_{false};
};

}  // namespace rigel::cpu
