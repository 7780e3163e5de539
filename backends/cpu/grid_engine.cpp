#include "backends/cpu/grid_engine.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "api/support/futex.hpp"
#include "api/support/mutex.hpp"
#include "api/support/page_size.hpp"

namespace rigel::cpu {
namespace {

// Waking a sleeping helper costs the owner a system call and the helper a scheduling delay; a polling helper
// finds the grid within a few cache-line transfers. This is the minimum; the actual cost on a virtual or busy
// machine is measured. Grids above some size are always shared.
constexpr double kWakeNs = 5'000;
constexpr double kNoticeNs = 500;
constexpr double kMostNs = 100'000;
// Duration of a chunk while the cost of the rest is unknown, and at the end of a shared grid. Long enough
// that threads rarely access the shared counter. Short enough that they end at about the same time.
constexpr double kMinChunkNs = 5'000;
// Duration of any other chunk. Threads that alternate on a memory stream every few microseconds slow each
// other down (on EPYC of Zen 4, two of them streamed slower than one). A cancelled grid ends after a chunk.
constexpr double kMaxChunkNs = 100'000;
// A chunk is this fraction of a thread's share of the rest.
constexpr uint64_t kChunksPerThread = 4;
constexpr uint32_t kOwnerSleeps = 1u << 31;

}  // namespace

uint64_t Grid::chunk_at(uint64_t first) const noexcept {
  const uint64_t left = groups - first;
  return std::min(std::clamp(left / parts_, shortest_chunk_, longest_chunk_), left);
}

uint64_t Grid::run_chunks(const hsa_cpu_worker_t* worker) noexcept {
  uint64_t done = 0;
  for (uint64_t first = next_.load(std::memory_order_relaxed); first < groups;) {
    const uint64_t count = chunk_at(first);
    if (!next_.compare_exchange_weak(first, first + count, std::memory_order_relaxed)) continue;
    entry(&dispatch, worker, first, count);
    done += count;
    if (is_cancelled()) next_.store(groups, std::memory_order_relaxed);
    first = next_.load(std::memory_order_relaxed);
  }
  drain_stores();
  return done;
}

// ---------------------------------------------------------------------------------------------------------

Worker::~Worker() {
  for (const Arena& arena : {group_, private_}) {
    if (arena.base) munmap(arena.base, arena.size + host_page_bytes());
  }
}

// The memory ends at an unmapped page, so that most overruns fault.
void* Worker::take(Arena& arena, uint64_t size) noexcept {
  constexpr uint64_t kStep = 64 * 1024, kAlignment = 64;
  if (size > arena.size) {
    const auto page = uint64_t{host_page_bytes()};
    const uint64_t grown = round_up(size, kStep);
    void* const memory = mmap(nullptr, grown + page, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    mprotect(static_cast<char*>(memory) + grown, page, PROT_NONE);
    if (arena.base) munmap(arena.base, arena.size + page);
    arena = {memory, grown};
  }
  return static_cast<char*>(arena.base) + (arena.size - (size + kAlignment - 1) / kAlignment * kAlignment);
}

bool Worker::prepare(uint64_t group_size, uint64_t private_size) noexcept {
  view_.group_segment = group_size ? take(group_, group_size) : nullptr;
  view_.private_segment = private_size ? take(private_, private_size) : nullptr;
  return (view_.group_segment || !group_size) && (view_.private_segment || !private_size);
}

void SharingCost::learn(double measured) noexcept {
  constexpr double kWeight = 0.25;
  const double now = ticks();
  ticks_.store(std::clamp(now + (measured - now) * kWeight, least_, most_), std::memory_order_relaxed);
}

void SharingCost::forget() noexcept {
  constexpr double kKept = 0.99;
  ticks_.store(std::max(ticks() * kKept, least_), std::memory_order_relaxed);
}

// ---------------------------------------------------------------------------------------------------------
// Functions of the owner.

Engine::Engine(const cpu_set_t& processors, uint32_t helpers, uint64_t spin_ticks)
    : processors_(processors),
      helper_count_(helpers),
      ticks_per_ns_(rigel::cpu::ticks_per_ns()),
      spin_ticks_(spin_ticks),
      wake_cost_(kWakeNs * ticks_per_ns_, kMostNs * ticks_per_ns_),
      notice_cost_(kNoticeNs * ticks_per_ns_, kMostNs * ticks_per_ns_) {
  threads_.reserve(helpers);
}

Engine::~Engine() {
  stop_.store(true, std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  futex_wake_all(&epoch_);
  for (const pthread_t thread : threads_) pthread_join(thread, nullptr);
}

bool Engine::run(Grid& grid, Worker& self, Cost& cost) noexcept {
  if (cost.per_group >= 0 && worth_sharing(cost.per_group * static_cast<double>(grid.groups - 1))) {
    return run_shared(grid, 0, cost.per_group, self, cost);
  }
  const uint64_t begin = ticks();
  // Without helpers, chunks only limit the delay of a cancellation.
  const double chunk_ns = helper_count_ == 0 ? kMaxChunkNs : kMinChunkNs;
  double per_group = cost.per_group;
  for (uint64_t done = 0;;) {
    const uint64_t count = per_group < 0 ? 1 : chunk_of(chunk_ns, per_group, grid.groups - done);
    grid.entry(&grid.dispatch, self.view(), done, count);
    done += count;
    per_group = static_cast<double>(ticks() - begin) / static_cast<double>(done);
    if (done == grid.groups) break;
    if (grid.is_cancelled()) return false;
    if (worth_sharing(per_group * static_cast<double>(grid.groups - done - 1))) {
      return run_shared(grid, done, per_group, self, cost);
    }
  }
  drain_stores();
  cost.add(per_group);
  return true;
}

uint64_t Engine::chunk_of(double ns, double ticks_per_group, uint64_t groups) const noexcept {
  const double chunk = ns * ticks_per_ns_ / std::max(ticks_per_group, 1e-3);
  return chunk >= static_cast<double>(groups) ? groups : std::max<uint64_t>(static_cast<uint64_t>(chunk), 1);
}

SharingCost& Engine::sharing_cost() noexcept {
  return looking_.load(std::memory_order_relaxed) > 0 ? notice_cost_ : wake_cost_;
}

bool Engine::worth_sharing(double ticks_left) noexcept {
  if (helper_count_ == 0) return false;
  SharingCost& cost = sharing_cost();
  if (ticks_left > 2 * cost.ticks()) return true;
  cost.forget();
  return false;
}

bool Engine::run_shared(Grid& grid, uint64_t done, double ticks_per_group, Worker& self,
                        Cost& cost) noexcept {
  SharingCost& sharing = sharing_cost();
  const uint64_t left = grid.groups - done;
  const double ticks_left = ticks_per_group * static_cast<double>(left);
  const double useful = std::min(ticks_left / sharing.ticks(), static_cast<double>(left - 1));
  const auto wanted = static_cast<uint32_t>(std::clamp(useful, 1.0, static_cast<double>(helper_count_)));

  grid.parts_ = (wanted + 1) * kChunksPerThread;
  grid.longest_chunk_ = chunk_of(kMaxChunkNs, ticks_per_group, left);
  const uint64_t fair = std::max<uint64_t>(left / grid.parts_, 1);
  grid.shortest_chunk_ = std::min(chunk_of(kMinChunkNs, ticks_per_group, left), fair);
  grid.next_.store(done, std::memory_order_relaxed);

  const uint64_t begin = ticks();
  publish(grid, wanted);
  const uint64_t work = ticks();
  const uint64_t own = grid.run_chunks(self.view());
  const uint64_t worked = ticks();
  retire(grid, self);
  if (grid.is_cancelled()) return false;

  // The helpers may have taken all work.
  const double per_group =
      own > 0 ? static_cast<double>(worked - work) / static_cast<double>(own) : ticks_per_group;
  if (own > 0) cost.add(per_group);
  const double ideal = per_group * static_cast<double>(left) / (wanted + 1);
  sharing.learn(static_cast<double>(ticks() - begin) - ideal);
  return true;
}

void Engine::publish(Grid& grid, uint32_t wanted) noexcept {
  {
    const MutexLock lock(mutex_);
    if (!started_) start_helpers();
    grid.next_shared_ = shared_;
    shared_ = &grid;
  }
  // Pairs with wait_for_work: either the helper sees the new epoch, or this thread sees that it sleeps.
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  const uint32_t looking = looking_.load(std::memory_order_relaxed);
  if (wanted > looking && sleeping_.load(std::memory_order_seq_cst) > 0)
    futex_wake(&epoch_, wanted - looking);
}

void Engine::retire(Grid& grid, Worker& self) noexcept {
  {
    const MutexLock lock(mutex_);
    Grid** link = &shared_;
    while (*link != &grid) link = &(*link)->next_shared_;
    *link = grid.next_shared_;
  }
  // From here on no thread can join. Waits for the threads inside.
  if (self.patience.wait([&grid] { return grid.inside_.load(std::memory_order_acquire) == 0; })) return;
  uint32_t inside = grid.inside_.fetch_or(kOwnerSleeps, std::memory_order_acquire) | kOwnerSleeps;
  while (inside != kOwnerSleeps) {
    futex_wait(grid.inside_, inside);
    inside = grid.inside_.load(std::memory_order_acquire);
  }
}

// ---------------------------------------------------------------------------------------------------------
// Functions of the helpers.

void Engine::start_helpers() noexcept {
  started_ = true;
  for (uint32_t i = 0; i < helper_count_; ++i) {
    pthread_t thread;
    const auto main = [](void* engine) -> void* {
      static_cast<Engine*>(engine)->help();
      return nullptr;
    };
    // continues with fewer helpers
    if (!start_thread(&thread, "rigel-cpu-", i, processors_, main, this)) return;
    threads_.push_back(thread);
  }
}

void Engine::help() noexcept {
  Worker self(spin_ticks_);
  for (;;) {
    const uint32_t seen = epoch_.load(std::memory_order_acquire);
    if (stop_.load(std::memory_order_relaxed)) return;
    if (Grid* const grid = join()) {
      const bool ready = self.prepare(grid->dispatch.group_segment_size, grid->private_size);
      if (ready) grid->run_chunks(self.view());
      leave(*grid);
      if (ready) continue;  // without memory, polls again only after a change
    }
    wait_for_work(seen, self);
  }
}

// Returns the grid with the highest priority that has work, and among those the one with the fewest threads.
Grid* Engine::join() noexcept {
  const MutexLock lock(mutex_);
  Grid* best = nullptr;
  for (Grid* grid = shared_; grid; grid = grid->next_shared_) {
    if (grid->next_.load(std::memory_order_relaxed) >= grid->groups) continue;
    const auto inside = [](const Grid* of) { return of->inside_.load(std::memory_order_relaxed); };
    if (!best || grid->priority > best->priority ||
        (grid->priority == best->priority && inside(grid) < inside(best))) {
      best = grid;
    }
  }
  if (best) best->inside_.fetch_add(1, std::memory_order_relaxed);
  return best;
}

void Engine::leave(Grid& grid) noexcept {
  // The grid may be destroyed after this thread leaves it; the wake-up needs its address only.
  const std::atomic<uint32_t>& inside = grid.inside_;
  if (grid.inside_.fetch_sub(1, std::memory_order_release) == (kOwnerSleeps | 1)) futex_wake_one(&inside);
}

void Engine::wait_for_work(uint32_t seen, Worker& self) noexcept {
  looking_.fetch_add(1, std::memory_order_relaxed);
  const bool found = self.patience.wait([&] { return epoch_.load(std::memory_order_acquire) != seen; });
  looking_.fetch_sub(1, std::memory_order_relaxed);
  if (found) return;
  sleeping_.fetch_add(1, std::memory_order_seq_cst);
  futex_wait(epoch_, seen);
  sleeping_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace rigel::cpu
