// Global wave sync (GWS): barriers and semaphores for waves of all work-groups. Cooperative launches use
// them. There is one object per GPU and process. Its state outlives dispatches, because one kernel
// initialises a resource and another uses it.
//
// Threads: any worker. No function blocks: a wave that must wait ends its time slice and calls again later.
// Memory order: a wave that passes a barrier sees all stores that precede the arrivals.
#pragma once

#include <array>
#include <cstdint>

#include "api/support/mutex.hpp"

namespace rigel::vgpu::exec {

class GlobalWaveSync {
 public:
  static constexpr uint32_t kResources = 64;

  /// ds_gws_init: sets the number of waves of a barrier minus one, or the value of a semaphore.
  void init(uint32_t resource, uint32_t count) {
    const MutexLock lock(mutex_);
    at(resource).count = count;
  }

  /// ds_gws_barrier: counts the arrival of a wave. Returns 0 if it is the last one of the round; the next
  /// round then starts and has `count` + 1 arrivals. Otherwise returns the round, with which the wave calls
  /// passed().
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

  /// Whether the round in which a wave has arrived is complete.
  bool passed(uint32_t resource, uint64_t round) {
    const MutexLock lock(mutex_);
    return at(resource).round != round;
  }

  /// ds_gws_sema_v, ds_gws_sema_br
  void add(uint32_t resource, uint32_t count) {
    const MutexLock lock(mutex_);
    at(resource).count += count;
  }

  /// ds_gws_sema_p: decrements the semaphore and returns true, or returns false if it is 0. `waits`: whether
  /// the wave is counted as waiting. The caller keeps it for the next call by the same wave; initially false.
  bool take(uint32_t resource, bool& waits) {
    const MutexLock lock(mutex_);
    Resource& r = at(resource);
    const bool taken = r.count != 0;
    if (taken) --r.count;
    if (waits == taken) taken ? --r.waiting : ++r.waiting;
    waits = !taken;
    return taken;
  }

  /// ds_gws_sema_release_all: sets the semaphore to the number of waiting waves.
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
