// The accesses of launches to global memory, for the detection of data races (race_cells.hpp): within a
// work-group, between work-groups and between launches.
//
// Launches share this object if one starts before another has completed: nothing has ordered them. A launch
// that starts later is ordered after those that have completed by then.
//
// Threads: any worker of the launches. A worker locks the page that it accesses.
// Lifetime: pages live as long as the last launch.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "api/support/mutex.hpp"
#include "plugins/vgpu/cp/dispatch.hpp"
#include "plugins/vgpu/exec/check/race_cells.hpp"

namespace rigel::vgpu::exec {

class LaunchRaces {
 public:
  static constexpr uint64_t kPageBytes = 4096;
  static constexpr uint64_t kLineBytes = RaceLine::kDwords * 4;

  static constexpr uint64_t kLines = kPageBytes / kLineBytes;
  struct Page {
    std::atomic<bool> is_locked{false};  // through a LockedPage
    /// Settled lines (bits). Written under the lock. Reads of these lines need no lock.
    std::atomic<uint64_t> settled{0};
    uint64_t used = 0;        // lines (bits) that are accesses of this launch
    uint64_t with_cells = 0;  // lines (bits) that have cells, perhaps of an earlier launch
    uint32_t kept_cells = 0;  // the number of them when the launch started

    /// Only if locked.
    RaceLine& line(uint64_t index) {
      const uint64_t bit = uint64_t{1} << index;
      if ((used & bit) == 0) lines[index].clear();
      used |= bit;
      return lines[index];
    }

    std::array<RaceLine, kLines> lines;
  };
  /// The pages of 2 MiB.
  static constexpr uint64_t kChunkBytes = uint64_t{2} << 20;
  struct Chunk {
    std::array<std::atomic<Page*>, kChunkBytes / kPageBytes> pages{};
  };

  /// Holds the lock of one page at a time.
  class LockedPage {
   public:
    LockedPage() = default;
    LockedPage(const LockedPage&) = delete;
    LockedPage& operator=(const LockedPage&) = delete;
    ~LockedPage() { lock(nullptr); }
    /// Locks a page instead of the present one. Null: none.
    void lock(Page* page) {
      if (page == page_) return;
      if (page_ != nullptr) page_->is_locked.store(false, std::memory_order_release);
      page_ = page;
      if (page != nullptr && page->is_locked.exchange(true, std::memory_order_acquire)) wait();
    }

   private:
    void wait();

    Page* page_ = nullptr;
  };

  /// A launch whose work-groups access the pages.
  struct Member {
    Dispatch dispatch;
    uint64_t launch = 0;          ///< Launch::number()
    EarlierGroups::Range groups;  ///< Numbers of its work-groups in records
    EarlierGroups completed;      ///< When it started
    /// Perhaps the host or another launch has seen a value that it has stored, before it completed.
    std::atomic<bool> may_signal{false};
    std::atomic<bool> is_complete{false};
  };
  /// A launch starts. Returns null if records have no numbers for its work-groups. Throws std::bad_alloc.
  Member* join(const Dispatch& dispatch, uint64_t launch, uint64_t groups);
  /// Returns the launch of a work-group in a record.
  const Member& member_of(uint32_t group);
  bool is_shared() const { return is_shared_.load(std::memory_order_relaxed); }

  LaunchRaces() = default;
  LaunchRaces(const LaunchRaces&) = delete;
  LaunchRaces& operator=(const LaunchRaces&) = delete;
  ~LaunchRaces();

  /// Returns the chunk with number `va` / kChunkBytes. Null: the host has no memory.
  Chunk* chunk(uint64_t number);
  /// Returns a page of a chunk. Null: the host has no memory.
  static Page* page(Chunk& chunk, uint64_t index) {
    Page* const page = chunk.pages[index].load(std::memory_order_acquire);
    return page != nullptr ? page : new_page(chunk, index);
  }

  /// Returns the number of an instruction in records; kMostSites: there are too many.
  uint32_t site(uint64_t pc);
  /// Returns its address; 0: unknown.
  uint64_t pc_of_site(uint32_t site);
  /// Whether the instruction compares and swaps.
  bool compares(uint32_t site) const { return compares_[site].load(std::memory_order_relaxed); }
  void set_compares(uint32_t site) { compares_[site].store(true, std::memory_order_relaxed); }

 private:
  static Page* new_page(Chunk& chunk, uint64_t index);

  Mutex members_mutex_;
  std::deque<Member> members_ RIGEL_GUARDED_BY(members_mutex_);
  std::atomic<bool> is_shared_{false};

  Mutex chunks_mutex_;
  std::unordered_map<uint64_t, std::unique_ptr<Chunk>> chunks_ RIGEL_GUARDED_BY(chunks_mutex_);

  std::array<std::atomic<bool>, race::kMostSites + 1> compares_{};
  Mutex sites_mutex_;
  std::unordered_map<uint64_t, uint32_t> sites_ RIGEL_GUARDED_BY(sites_mutex_);
  std::vector<uint64_t> pcs_ RIGEL_GUARDED_BY(sites_mutex_);
};

}  // namespace rigel::vgpu::exec
