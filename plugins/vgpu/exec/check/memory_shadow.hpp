// Which bytes of the program's device memory are undefined: nothing has written them since the allocation, or
// a kernel has stored undefined bits there.
//
// libvgpu_check.so fills new allocations with a value (check::Allocation::fill). A dword that still has this
// value when a checked kernel first accesses its page is undefined. After that, each undefined dword is noted
// with its content: if the memory has another content later, another writer has defined it. Thus
// stores by the host, copies, and kernels without checks need not be observed.
//
// Threads: any. Memory order: none; a race of the program may make memory count as defined.
// Lifetime: one object for each process, from the first use on.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "api/support/mutex.hpp"

namespace rigel::vgpu::exec {

class MemoryShadow {
 public:
  static constexpr uint64_t kPage = 4096;
  static constexpr uint32_t kDwords = kPage / 4;

  class Page {
   public:
    bool is_defined() const { return undefined_.load(std::memory_order_relaxed) == 0; }
    uint64_t allocation() const { return allocation_.load(std::memory_order_relaxed); }

    /// Returns the undefined bits of a dword with this content.
    uint32_t undefined(uint32_t dword, uint32_t content) const;
    /// Notes a store to the bits `written`. `content`, `next`: before and after the store.
    void store(uint32_t dword, uint32_t content, uint32_t next, uint32_t written, uint32_t undefined);

   private:
    friend class MemoryShadow;
    using Cells =
        std::array<std::atomic<uint64_t>, kDwords>;  // undefined bits, and the content in the upper half

    std::atomic<uint64_t> allocation_{0};  // serial number
    std::atomic<uint32_t> undefined_{0};   // dwords with undefined bits
    std::unique_ptr<Cells> cells_;         // null until a dword is undefined
    Mutex mutex_;                          // for the creation of cells_
    std::atomic<Cells*> published_{nullptr};
  };

  static MemoryShadow& of_process();
  /// Changes if a page that had no undefined bytes gets some.
  uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }

  /// Returns the page with number `va` / kPage of an allocation. At first, dwords of `contents` that have the
  /// value `fill` are undefined. `contents`: called if the page is new; returns the page's memory or null.
  template <class Contents>
  Page& page(uint64_t number, uint64_t allocation, uint32_t fill, Contents contents) {
    Shard& shard = shards_[number % kShards];
    const MutexLock lock(shard.mutex);
    std::unique_ptr<Page>& page = shard.pages[number];
    if (page == nullptr) page = std::make_unique<Page>();
    if (page->allocation() != allocation) start(*page, allocation, fill, contents());
    return *page;
  }

 private:
  static constexpr uint32_t kShards = 64;
  struct Shard {
    Mutex mutex;
    std::unordered_map<uint64_t, std::unique_ptr<Page>> pages RIGEL_GUARDED_BY(mutex);
  };

  static void start(Page& page, uint64_t allocation, uint32_t fill, const uint32_t* contents);

  Shard shards_[kShards];
  std::atomic<uint64_t> epoch_{1};
};

}  // namespace rigel::vgpu::exec
