#include "plugins/vgpu/exec/check/launch_races.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <thread>
#include <utility>

namespace rigel::vgpu::exec {
namespace {

// Pages of earlier launches, for the next one: new memory costs page faults.
constexpr size_t kMostSparePages = 16384;
// Lines of reused pages that keep their cells. Making them costs time, too.
constexpr size_t kMostKeptCells = 131072;

// A chain of launches that overlap ends here: the next one has separate pages.
constexpr size_t kMostMembers = 4096;

struct SparePages {
  Mutex mutex;  // Only tried: after fork, a thread that does not exist may hold it.
  std::vector<LaunchRaces::Page*> pages RIGEL_GUARDED_BY(mutex);
  size_t kept_cells RIGEL_GUARDED_BY(mutex) = 0;
};

SparePages& spare_pages() {
  static SparePages* const spare = [] {
    auto* const made = new SparePages;
    const MutexLock lock(made->mutex);
    made->pages.reserve(kMostSparePages);
    return made;
  }();
  return *spare;
}

LaunchRaces::Page* take_page() {
  SparePages& spare = spare_pages();
  LaunchRaces::Page* page = nullptr;
  if (spare.mutex.try_lock()) {
    const MutexLock lock(spare.mutex, std::adopt_lock);
    if (!spare.pages.empty()) {
      page = spare.pages.back();
      spare.pages.pop_back();
      if (spare.kept_cells >= kMostKeptCells) {
        for (uint64_t rest = std::exchange(page->with_cells, 0); rest != 0; rest &= rest - 1)
          page->lines[static_cast<size_t>(std::countr_zero(rest))].release();
      }
      page->used = 0;
      page->settled.store(0, std::memory_order_relaxed);
      page->kept_cells = static_cast<uint32_t>(std::popcount(page->with_cells));
      spare.kept_cells += page->kept_cells;
    }
  }
  return page != nullptr ? page : new (std::nothrow) LaunchRaces::Page;
}

void recycle(LaunchRaces::Page* page) {
  SparePages& spare = spare_pages();
  if (spare.mutex.try_lock()) {
    const MutexLock lock(spare.mutex, std::adopt_lock);
    spare.kept_cells -= std::exchange(page->kept_cells, 0);
    if (spare.pages.size() < spare.pages.capacity()) return spare.pages.push_back(page);
  }
  delete page;
}

}  // namespace

LaunchRaces::~LaunchRaces() {
  const MutexLock lock(chunks_mutex_);
  for (const auto& [number, chunk] : chunks_) {
    for (const std::atomic<Page*>& page : chunk->pages) {
      if (Page* const used = page.load(std::memory_order_relaxed)) recycle(used);
    }
  }
}

LaunchRaces::Member* LaunchRaces::join(const Dispatch& dispatch, uint64_t launch, uint64_t groups) {
  const MutexLock lock(members_mutex_);
  const uint32_t first = members_.empty() ? 0 : members_.back().groups.end;
  if (groups > race::kMostGroups - first || members_.size() == kMostMembers) return nullptr;
  EarlierGroups completed;
  for (const Member& member : members_) {
    if (!member.is_complete.load(std::memory_order_relaxed)) continue;
    if (!completed.ranges.empty() && completed.ranges.back().end == member.groups.begin) {
      completed.ranges.back().end = member.groups.end;
    } else {
      completed.ranges.push_back(member.groups);
    }
  }
  Member& member = members_.emplace_back();
  member.dispatch = dispatch;
  member.launch = launch;
  member.groups = {first, first + static_cast<uint32_t>(groups)};
  member.completed = std::move(completed);
  is_shared_.store(members_.size() > 1, std::memory_order_relaxed);
  return &member;
}

const LaunchRaces::Member& LaunchRaces::member_of(uint32_t group) {
  const MutexLock lock(members_mutex_);
  const auto contains = [&](const Member& member) { return group < member.groups.end; };
  return *std::find_if(members_.begin(), members_.end(), contains);
}

LaunchRaces::Chunk* LaunchRaces::chunk(uint64_t number) {
  const MutexLock lock(chunks_mutex_);
  try {
    std::unique_ptr<Chunk>& chunk = chunks_[number];
    if (chunk == nullptr) chunk = std::make_unique<Chunk>();
    return chunk.get();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

LaunchRaces::Page* LaunchRaces::new_page(Chunk& chunk, uint64_t index) {
  Page* const page = take_page();
  Page* present = nullptr;
  if (page == nullptr || chunk.pages[index].compare_exchange_strong(present, page)) return page;
  recycle(page);
  return present;
}

void LaunchRaces::LockedPage::wait() {
  do {
    while (page_->is_locked.load(std::memory_order_relaxed)) std::this_thread::yield();
  } while (page_->is_locked.exchange(true, std::memory_order_acquire));
}

uint32_t LaunchRaces::site(uint64_t pc) {
  const MutexLock lock(sites_mutex_);
  const auto known = sites_.find(pc);
  if (known != sites_.end()) return known->second;
  if (pcs_.size() == race::kMostSites) return race::kMostSites;
  const auto number = static_cast<uint32_t>(pcs_.size());
  pcs_.push_back(pc);
  sites_.emplace(pc, number);
  return number;
}

uint64_t LaunchRaces::pc_of_site(uint32_t site) {
  const MutexLock lock(sites_mutex_);
  return site < pcs_.size() ? pcs_[site] : 0;
}

}  // namespace rigel::vgpu::exec
