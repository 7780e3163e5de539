// Copies of a device by the `copy` group of its backend.
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
  /// `make_stage` returns host memory of the given size that the device can access, or null; called once, on
  /// first use. Small copies and copies that cannot be pinned use this staging buffer if the device has no
  /// access to the memory.
  AgentCopier(const Agent& agent, Memory& memory, std::function<void*(size_t)> make_stage)
      : agent_(agent), memory_(memory), make_stage_(std::move(make_stage)) {}

  Status copy(void* destination, const void* source, size_t size) override;
  Status copy_box(const Box& box) override;
  Status fill(void* destination, uint32_t value, size_t count) override;
  /// Accepted if the device can wait for the dependencies without delaying other copies, as reported by the
  /// backend.
  Result<bool> submit(const DeviceCopyRequest& request) override;
  Result<bool> submit_row(void* destination, const void* source, size_t size, CopySides sides,
                          Signal& completion) override;
  Engines engines(hsa_agent_t destination, hsa_agent_t source) override;
  uint64_t to_system_time(uint64_t ticks) const override { return agent_.to_system_time(ticks); }

 private:
  /// Returns the device's address of the memory, or null without access.
  void* seen(void* ptr, size_t size) const;
  /// Describes a copy between addresses of the device.
  hsabe_copy_t plan(const Box& box, const CopySides& sides = {}) const;
  Status begin(hsabe_copy_t& copy, Signal& completion);
  Result<bool> hand_over(const hsabe_copy_t& copy);
  Status run(hsabe_copy_t& copy);
  Status copy_unpinned(Status why, hsabe_copy_t& copy, void* destination, const void* source, bool to_device);
  Status copy_staged(hsabe_copy_t& copy, void* destination, const void* source, bool to_device);

  const Agent& agent_;
  Memory& memory_;
  Mutex stage_mutex_;
  const std::function<void*(size_t)> make_stage_;
  void* stage_ RIGEL_GUARDED_BY(stage_mutex_) = nullptr;
};

}  // namespace rigel
