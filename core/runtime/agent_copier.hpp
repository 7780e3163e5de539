// Copies of a device by the functions of its backend in hsabe_copy_ops_t.
//
// *Threads:* any thread, also concurrently.
#pragma once

#include <functional>
#include <utility>

#include "api/support/mutex.hpp"
#include "core/copy/device_copier.hpp"
#include "core/memory/memory_services.hpp"
#include "core/topology/agent.hpp"

namespace rigel {

class AgentCopier final : public DeviceCopier {
 public:
  /// `make_stage` allocates the staging buffer: host memory of the given size that the device can access. It
  /// returns null if there is none, and is called again for the next copy that needs the buffer. Memory that
  /// the device cannot access is copied through the buffer if the copy is small or the memory cannot be
  /// pinned.
  AgentCopier(const Agent& agent, Memory& memory, std::function<void*(size_t)> make_stage)
      : agent_(agent), memory_(memory), make_stage_(std::move(make_stage)) {}

  Status copy(void* destination, const void* source, size_t size) override;
  Status copy_box(const Box& box) override;
  Status fill(void* destination, uint32_t value, size_t count) override;
  /// Returns false if the backend has no queue in which the copy can wait for its dependencies without
  /// delaying unrelated copies.
  Result<bool> submit(const DeviceCopyRequest& request) override;
  Result<bool> submit_row(void* destination, const void* source, size_t size, CopySides sides,
                          Signal& completion) override;
  Engines engines(hsa_agent_t destination, hsa_agent_t source) override;
  uint64_t to_system_time(uint64_t ticks) const override { return agent_.to_system_time(ticks); }

 private:
  /// Returns the address at which the device accesses the memory. Returns `ptr` itself if the runtime knows
  /// of no access.
  void* seen(void* ptr, size_t size) const;
  /// Describes a copy for the backend, with addresses of the device.
  hsabe_copy_t plan(const Box& box, const CopySides& sides = {}) const;
  /// Submits a copy that decrements `completion`. Fails if the backend rejects it.
  Status begin(hsabe_copy_t& copy, Signal& completion);
  /// Submits an asynchronous copy. Returns false if the backend lacks resources for it; fails with other
  /// errors.
  Result<bool> hand_over(const hsabe_copy_t& copy);
  /// Submits a copy and waits for its end.
  Status run(hsabe_copy_t& copy);
  /// Copies through the staging buffer if the host memory is mapped, otherwise returns `why`.
  Status copy_unpinned(Status why, hsabe_copy_t& copy, void* destination, const void* source, bool to_device);
  Status copy_staged(hsabe_copy_t& copy, void* destination, const void* source, bool to_device);

  const Agent& agent_;
  Memory& memory_;
  Mutex stage_mutex_;
  const std::function<void*(size_t)> make_stage_;
  void* stage_ RIGEL_GUARDED_BY(stage_mutex_) = nullptr;
};

}  // namespace rigel
