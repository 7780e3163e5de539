// Global wave sync (GWS): the counters that waves of all work-groups meet at, and that cooperative launches
// are made of. One object for each GPU as a process sees it; its state outlives dispatches, as a small kernel
// sets a resource up before the one that uses it.
//
// Threads: any worker. Nothing waits in here: who has to, gives its turn up and asks again. What a wave wrote
// before it arrived is seen by all that pass the barrier after it.
#pragma once

#include <array>
#include <cstdint>

#include "api/support/mutex.hpp"

namespace rigel::vgpu::exec {

class GlobalWaveSync {
 public:
  static constexpr uint32_t kResources = 64;

  /// ds_gws_init: so many waves may arrive before the one that lets all go; or so many may pass the
  /// semaphore.
  void init(uint32_t resource, uint32_t count) {
    const MutexLock lock(mutex_);
    at(resource).count = count;
  }

  /// ds_gws_barrier: arrives. 0: this was the last one, and the next round begins with `count`. Else what to
  /// ask passed() with.
  uint64_t arrive(uint32_t resource, uint32_t count) {
    const MutexLock lock(mutex_);
    Resource& r = at(resource);
    if (r.count != 0) {
      --r.count;
      return r.round;
    }
    r.count = count;
    ++r.round;
    return 0;
  }

  /// Whether the round that a wave arrived in is over.
  bool passed(uint32_t resource, uint64_t round) {
    const MutexLock lock(mutex_);
    return at(resource).round != round;
  }

  /// ds_gws_sema_v, ds_gws_sema_br
  void add(uint32_t resource, uint32_t count) {
    const MutexLock lock(mutex_);
    at(resource).count += count;
  }

  /// ds_gws_sema_p: takes one, if there is one; else the wave is one of those that wait, until it gets one.
  /// `waits` is the caller's note of that.
  bool take(uint32_t resource, bool& waits) {
    const MutexLock lock(mutex_);
    Resource& r = at(resource);
    const bool taken = r.count != 0;
    if (taken) --r.count;
    if (waits == taken) taken ? --r.waiting : ++r.waiting;
    waits = !taken;
    return taken;
  }

  /// ds_gws_sema_release_all: one for each wave that waits.
  void release_all(uint32_t resource) {
    const MutexLock lock(mutex_);
    Resource& r = at(resource);
    r.count = r.waiting;
  }

 private:
  struct Resource {
    uint32_t count = 0;
    uint32_t waiting = 0;  // at a semaphore
    uint64_t round = 1;
  };
  Resource& at(uint32_t resource) RIGEL_REQUIRES(mutex_) { return resources_[resource % kResources]; }

  Mutex mutex_;
  std::array<Resource, kResources> resources_ RIGEL_GUARDED_BY(mutex_);
};

}  // namespace rigel::vgpu::exec
