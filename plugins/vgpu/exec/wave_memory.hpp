// Memory as the waves of one worker see it: GPU addresses to host pointers, over a DeviceBus.
//
// One worker thread owns the object and uses it inside a WaveMemory::Scope: a turn of a wave, or a few.
// The scope keeps pointers valid. What other threads unmap shows as a new epoch when the next scope
// begins.
//
// The first table is indexed by the instruction that asks. It walks one object, so the extent that it used
// last is nearly always the one it needs, for two comparisons. Behind it lies a list of extents, which
// grow from 2 MiB on where neighbours are contiguous: one lookup serves a gather over a large buffer.
//
// Elements. A naturally aligned element of 2, 4, 8 or 16 bytes of one lane is accessed in one piece; of 12
// bytes each dword is. Other elements are promised nothing. load_element() and store_element() do it
// (memory_ops/rows.hpp), and in compiled code KernelBuilder::load_quads() and store_quads(). They rely on:
//  - x86-64 keeps aligned 8 bytes whole. With AVX it keeps 16 bytes whole: Intel SDM 3A, Guaranteed Atomic
//    Operations, of aligned moves; AMD APM 2, Access Atomicity, of others too.
//  - No manual says so of MOVDQU at an aligned address at Intel's, of the aligned parts of moves of 32 and 64
//    bytes, and of the elements of a gather. Measurements of hosts with AVX show it (rigtorp.se/isatomic).
//  - Without AVX nothing is promised for 16 bytes. Most such hosts keep them whole; AMD's family 10h tears
//    them between sockets.
//  - AArch64 keeps 16 bytes whole with LSE2.
//
// Order. Waves use ordinary loads, stores and atomics of the host. x86-64 keeps loads in order, stores in
// order, and a store behind each earlier load. So waits and write-backs do nothing there; on other hosts a
// wait is a fence. A load may still pass an earlier store to another place. Sequentially consistent code
// rules it out by
//  - read-modify-writes: full fences here;
//  - a wait and then a load with GLC, as all loads of agent or system scope are: these fence before they
//    load;
//  - a fence, which ends in an invalidation of caches (buffer_wbinvl1*, buffer_gl1_inv): a full fence
//    here.
// A work-group runs on one thread, so nothing narrower can be out of order.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "plugins/vgpu/cp/device_bus.hpp"
#include "plugins/vgpu/images/decoded_resources.hpp"

namespace rigel::vgpu::exec {

/// Which lanes of a wave could not do a vector access, and at which address each.
struct LaneFaults {
  uint64_t lanes = 0;
  uint32_t bytes = 0;  ///< Of each lane's access; 0: unknown.
  uint64_t va[64];     ///< The first byte that could not be accessed; only those of `lanes` count.

  void clear() { lanes = 0, bytes = 0; }
  void add(unsigned lane, uint64_t address) {
    lanes |= uint64_t{1} << lane;
    va[lane] = address;
  }
};

class WaveMemory {
 public:
  explicit WaveMemory(DeviceBus& bus) : bus_(bus) { forget(); }
  WaveMemory(const WaveMemory&) = delete;
  WaveMemory& operator=(const WaveMemory&) = delete;

  class Scope {
   public:
    explicit Scope(WaveMemory& memory) : scope_(memory.bus_) { memory.refresh(); }

   private:
    TranslationScope scope_;
  };

  /// Host address of [va, va + bytes) if all of it may be accessed and lies in one piece; else null, which is
  /// not yet a fault: ask run(). `site` tells instructions apart; any pointer will do, or none.
  [[gnu::always_inline]] std::byte* find(const void* site, uint64_t va, uint64_t bytes, Access access) {
    const Extent& extent = sites_[slot(site, access)];
    const uint64_t into = va - extent.begin;
    if (into < extent.bytes && bytes <= extent.bytes - into) [[likely]] {
      return extent.host + into;
    }
    return find_slow(site, va, bytes, access);
  }

  /// A piece of memory: GPU addresses from `begin` on are host addresses from `host` on.
  struct Extent {
    uint64_t begin = 0;
    uint64_t bytes = 0;
    std::byte* host = nullptr;
  };

  /// The extent that an instruction used last.
  const Extent& last_extent(const void* site, Access access) const { return sites_[slot(site, access)]; }

  static constexpr size_t kSites = 256;  ///< for each kind of access

  static size_t slot(const void* site, Access access) {
    return reinterpret_cast<uintptr_t>(site) / 64 % kSites + static_cast<size_t>(access) * kSites;
  }

  /// The extent that [va, va + bytes) lies in, as far as it is known; `host` is null where find()'s would be.
  [[gnu::always_inline]] Extent find_extent(const void* site, uint64_t va, uint64_t bytes, Access access) {
    if (find(site, va, bytes, access) == nullptr) return {};
    return sites_[slot(site, access)];
  }

  /// What lies at `va` in one piece, `bytes` of it at most, or why it cannot be accessed.
  Translation run(uint64_t va, uint64_t bytes, Access access) {
    Translation found = bus_.translate(va, bytes, access);
    if (found.host == nullptr && found.reason == FaultReason::kNone) found.reason = FaultReason::kNotPresent;
    return found;
  }

  /// Copies, of any length and alignment, across objects. False: `fault` has the first byte that cannot be
  /// accessed; what lies before it has been copied.
  bool read(uint64_t va, void* to, uint64_t bytes, VmFault& fault);
  bool write(uint64_t va, const void* from, uint64_t bytes, VmFault& fault);

  /// Whether a host address is one that find() gave, and which address of the GPU it is: for faults of the
  /// host (plugins/vgpu/cp/host_fault.hpp). knows() may be called by the handler of a signal.
  bool knows(const std::byte* host);
  uint64_t address_of(const std::byte* host) const;

  /// Of this worker's waves.
  images::DecodedResources& decoded_resources() { return *decoded_resources_; }

  /// Of the wave that ran last, if an access of its lanes failed: whoever stops a wave for that fills it in.
  LaneFaults& lane_faults() { return lane_faults_; }
  /// The first byte of [va, va + bytes) that cannot be accessed; nothing if all can.
  std::optional<uint64_t> first_fault(uint64_t va, uint64_t bytes, Access access);

 private:
  static constexpr size_t kExtents = 32;
  static constexpr size_t kKinds = 3;
  static constexpr uint64_t kRegionBytes = uint64_t{2} << 20;

  struct Extents {
    std::array<Extent, kExtents> list;
    size_t next = 0;  // the one that gives way
  };

  void refresh() {
    const uint64_t now = bus_.translation_epoch();
    if (now == epoch_) return;
    forget();
    epoch_ = now;
  }
  void forget();
  const Extent* extent_with(const std::byte* host) const;
  std::byte* find_slow(const void* site, uint64_t va, uint64_t bytes, Access access);
  Extent* cover(uint64_t va, Access access);
  static uint64_t distance(const Extent& extent);
  static Extent* merge(Extents& extents, const Extent& found);

  DeviceBus& bus_;
  uint64_t epoch_ = ~uint64_t{0};
  std::array<Extent, kSites * kKinds> sites_;
  std::array<Extents, kKinds> extents_;
  LaneFaults lane_faults_;
  std::unique_ptr<images::DecodedResources> decoded_resources_ = std::make_unique<images::DecodedResources>();
};

}  // namespace rigel::vgpu::exec
