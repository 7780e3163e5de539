// Translation of GPU addresses to host pointers for the waves of one worker, through a DeviceBus.
//
// There are two caches. A *site* is the instruction that makes an access, identified by a pointer, usually
// its MicroOp. The first cache holds the extent that each site used last. An instruction mostly walks one
// allocation, so a hit costs two comparisons. The second is a list of extents. They start with 2 MiB and are
// merged with contiguous ones, so one lookup serves a gather from a large buffer.
//
// Threads: one worker thread owns the object.
//
// Lifetime: pointers are valid inside a WaveMemory::Scope, which lasts for one time slice or a few. Mappings
// that other threads remove change the bus's epoch; the next scope then empties the caches.
//
// Checked launches restrict the first cache to parts of extents that contain one allocation (set_bounds()).
// An access that hits it is in bounds, so compiled code needs no other check of it.
//
// Atomicity: a naturally aligned element of 2, 4, 8 or 16 bytes of one lane is accessed in one piece. Of a
// 12-byte element each dword is. Other elements have no guarantee. load_element() and store_element()
// (memory_ops/rows.hpp) and KernelBuilder::load_quads() and store_quads() implement this. They rely on:
//  - x86-64: aligned 8 bytes are atomic. With AVX, 16 bytes are: Intel SDM 3A, Guaranteed Atomic Operations
//    (aligned moves); AMD APM 2, Access Atomicity (other moves too).
//  - No Intel manual guarantees it for MOVDQU at an aligned address. No manual does for the aligned parts of
//    moves of 32 and 64 bytes, and for elements of a gather. Measurements of hosts with AVX show it
//    (rigtorp.se/isatomic).
//  - Without AVX, 16 bytes have no guarantee. Most such hosts access them in one piece; AMD family 10h tears
//    them between sockets.
//  - AArch64: 16 bytes are atomic with LSE2.
//
// Memory order: waves use plain loads, stores and atomics of the host. x86-64 keeps loads in order, stores in
// order, and a store after each earlier load. Therefore waits and write-backs do nothing there; on other
// hosts a wait is a fence. A load may still pass an earlier store to another address. Sequentially consistent
// programs prevent that with
//  - read-modify-writes: full fences here;
//  - a wait, then a load with GLC (all loads of agent or system scope): a full fence before the load;
//  - a fence, which ends with a cache invalidation (buffer_wbinvl1*, buffer_gl1_inv): a full fence.
// Narrower scopes need nothing, because a work-group runs on one thread.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "plugins/vgpu/cp/device_bus.hpp"
#include "plugins/vgpu/exec/check/defined_ranges.hpp"
#include "plugins/vgpu/images/decoded_resources.hpp"

namespace rigel::vgpu::check {
class Allocations;
}  // namespace rigel::vgpu::check

namespace rigel::vgpu::exec {

/// The lanes in which a vector access failed.
struct LaneFaults {
  uint64_t lanes = 0;
  uint32_t bytes = 0;  ///< Size of each lane's access; 0: unknown
  uint64_t va[64];     ///< By lane in `lanes`: the first inaccessible byte

  void clear() { lanes = 0, bytes = 0; }
  void add(unsigned lane, uint64_t address) {
    lanes |= uint64_t{1} << lane;
    va[lane] = address;
  }
};

class WaveMemory {
 public:
  explicit WaveMemory(DeviceBus& bus) : bus_(bus) { clear_caches(); }
  WaveMemory(const WaveMemory&) = delete;
  WaveMemory& operator=(const WaveMemory&) = delete;

  class Scope {
   public:
    explicit Scope(WaveMemory& memory) : scope_(memory.bus_) { memory.refresh(); }

   private:
    TranslationScope scope_;
  };

  /// Returns the host address of [va, va + bytes), or null if it is not in one extent. Null is not always a
  /// fault: call run(). `site`: see above; may be null.
  [[gnu::always_inline]] std::byte* find(const void* site, uint64_t va, uint64_t bytes, Access access) {
    const Extent& extent = sites_[slot(site, access)];
    const uint64_t into = va - extent.begin;
    if (into < extent.bytes && bytes <= extent.bytes - into) [[likely]] {
      return extent.host + into;
    }
    return find_slow(site, va, bytes, access);
  }

  /// As find(), for compiled code: null also if the range is not within the bounds that checks have set.
  std::byte* find_in_bounds(const void* site, uint64_t va, uint64_t bytes, Access access);

  /// As find_in_bounds(), but the range may have undefined bytes.
  std::byte* find_undefined_in_bounds(const void* site, uint64_t va, uint64_t bytes, Access access);

  /// A site whose accesses need not be in an allocation. `site`: as above, aligned.
  static constexpr uintptr_t kUnbounded = 1;

  /// Sets the record of allocations that limit the first cache; null: no limits. Call inside a scope, before
  /// waves run.
  /// `filled`: the record of memory that may be undefined, which the cache then excludes, too; null: all
  /// memory is defined.
  void set_bounds(check::Allocations* bounds, check::Allocations* filled = nullptr);
  /// Memory has become undefined.
  void forget_defined();
  /// Compiled code may access memory outside of allocations without a call. It calls a handler before.
  void allow_unknown_memory() { allows_unknown_memory_ = true; }

  /// Contiguous memory: GPU address `begin` + i is host address `host` + i.
  struct Extent {
    uint64_t begin = 0;
    uint64_t bytes = 0;
    std::byte* host = nullptr;
  };

  const Extent& last_extent(const void* site, Access access) const { return sites_[slot(site, access)]; }

  static constexpr size_t kSites = 256;  ///< Cache entries for each kind of access; sites may share one

  static size_t slot(const void* site, Access access) {
    return reinterpret_cast<uintptr_t>(site) / 64 % kSites + static_cast<size_t>(access) * kSites;
  }

  /// As find(), but returns the whole cached extent that contains the range; `host` is null if find() fails,
  /// or if the range is not within the bounds that checks have set.
  [[gnu::always_inline]] Extent find_extent(const void* site, uint64_t va, uint64_t bytes, Access access) {
    if (find(site, va, bytes, access) == nullptr) return {};
    return sites_[slot(site, access)];
  }

  /// Returns the contiguous memory at `va`, at most `bytes`, or the reason of a fault.
  Translation run(uint64_t va, uint64_t bytes, Access access) {
    Translation found = bus_.translate(va, bytes, access);
    if (found.host == nullptr && found.reason == FaultReason::kNone) found.reason = FaultReason::kNotPresent;
    return found;
  }

  /// Copies of any length and alignment, across allocations. False: `fault` has the first inaccessible byte;
  /// the bytes below it have been copied.
  bool read(uint64_t va, void* to, uint64_t bytes, VmFault& fault);
  bool write(uint64_t va, const void* from, uint64_t bytes, VmFault& fault);

  /// Whether a host address belongs to memory of the GPU, for host faults (plugins/vgpu/cp/host_fault.hpp).
  /// May be called in a signal handler.
  bool is_gpu_memory(const std::byte* host);
  uint64_t address_of(const std::byte* host) const;

  images::DecodedResources& decoded_resources() { return *decoded_resources_; }

  /// The failed lanes of the last access. Handlers that stop a wave for such a fault fill it in.
  LaneFaults& lane_faults() { return lane_faults_; }
  /// Returns the first inaccessible byte of [va, va + bytes), if there is one.
  std::optional<uint64_t> first_fault(uint64_t va, uint64_t bytes, Access access);

 private:
  static constexpr size_t kExtents = 32;
  static constexpr size_t kKinds = 3;
  static constexpr uint64_t kRegionBytes = uint64_t{2} << 20;

  struct Extents {
    std::array<Extent, kExtents> list;
    size_t next = 0;  // to be replaced
  };

  void refresh() {
    const uint64_t now = bus_.translation_epoch();
    if (now == epoch_) return;
    clear_caches();
    epoch_ = now;
  }
  void clear_caches();
  static bool contains(const Extent& extent, uint64_t va, uint64_t bytes) {
    return va - extent.begin < extent.bytes && bytes <= extent.bytes - (va - extent.begin);
  }
  const Extent* extent_with(const std::byte* host) const;
  std::byte* find_slow(const void* site, uint64_t va, uint64_t bytes, Access access);
  /// Returns the part of `extent` around `va` that needs no check.
  Extent in_bounds(const Extent& extent, uint64_t va, bool is_unbounded);
  /// Returns the part of `part`, which is one of `extent`, around `va` that is defined.
  Extent defined_in(const Extent& part, const Extent& extent, uint64_t va);
  Extent* cover(uint64_t va, Access access);
  /// Returns an extent that contains the range, or null.
  Extent* cover_all(uint64_t va, uint64_t bytes, Access access);
  static uint64_t distance(const Extent& extent);
  static Extent* merge(Extents& extents, const Extent& found);

  DeviceBus& bus_;
  uint64_t epoch_ = ~uint64_t{0};
  std::array<Extent, kSites * kKinds> sites_;
  std::array<Extents, kKinds> extents_;

  // A range of addresses: an allocation's accessible bytes, or memory between allocations.
  struct Bound {
    uint64_t begin = 0;
    uint64_t end = 0;
    bool is_allocation = false;
  };
  static constexpr size_t kBounds = 64;
  check::Allocations* bounds_ = nullptr;
  uint64_t bounds_version_ = 0;
  std::array<Bound, kBounds> known_bounds_;  // those that were looked up last
  size_t next_bound_ = 0;                    // to be replaced
  bool allows_unknown_memory_ = false;
  DefinedRanges defined_;

  LaneFaults lane_faults_;
  std::unique_ptr<images::DecodedResources> decoded_resources_ = std::make_unique<images::DecodedResources>();
};

}  // namespace rigel::vgpu::exec
