#include "plugins/vgpu/exec/check/launch_races.hpp"

#include <new>
#include <thread>

namespace rigel::vgpu::exec {
namespace {

// Pages of earlier launches, for the next one: new memory costs page faults.
constexpr size_t kMostSparePages = 16384;

struct SparePages {
  Mutex mutex;  // Only tried: after fork, a thread that does not exist may hold it.
  std::vector<LaunchRaces::Page*> pages RIGEL_GUARDED_BY(mutex);
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
    }
  }
  if (page == nullptr) return new (std::nothrow) LaunchRaces::Page;
  for (RaceLine& line : page->lines) line.clear();
  return page;
}

void recycle(LaunchRaces::Page* page) {
  SparePages& spare = spare_pages();
  if (spare.mutex.try_lock()) {
    const MutexLock lock(spare.mutex, std::adopt_lock);
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
