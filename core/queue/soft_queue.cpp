// A queue whose packets the application processes: a ring, two indices and the application's doorbell.
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <utility>

#include "core/queue/queue.hpp"

namespace rigel {
namespace {

constexpr size_t kPacketBytes = 64;

using Block = std::unique_ptr<void, std::function<void(void*)>>;

class SoftQueue final : public Queue {
 public:
  SoftQueue(const SoftQueueRequest& request, Block memory) : memory_(std::move(memory)) {
    amd_queue_ = new (request.memory) amd_queue_t{};
    auto* ring = static_cast<std::byte*>(request.memory) + sizeof(amd_queue_t);
    hsa_queue_t& queue = amd_queue_->hsa_queue;
    queue.type = request.type;
    queue.features = request.features;
    queue.base_address = ring;
    queue.doorbell_signal = request.doorbell;
    queue.size = request.size;
    amd_queue_->read_dispatch_id_field_base_byte_offset = offsetof(amd_queue_t, read_dispatch_id);
    // All slots start with an INVALID packet header.
    constexpr uint16_t kInvalid = HSA_PACKET_TYPE_INVALID << HSA_PACKET_HEADER_TYPE;
    std::memset(ring, 0, request.size * kPacketBytes);
    for (uint32_t i = 0; i < request.size; ++i)
      std::memcpy(ring + i * kPacketBytes, &kInvalid, sizeof kInvalid);
  }

  // The application consumes the packets, so stopping, profiling and priorities have no effect.
  Status inactivate() override { return HSA_STATUS_SUCCESS; }
  Status set_profiling(bool) override {
    return fail(HSA_STATUS_ERROR_INVALID_QUEUE, "soft queue: has no agent");
  }
  Status set_priority(uint32_t) override {
    return fail(HSA_STATUS_ERROR_INVALID_QUEUE, "soft queue: has no agent");
  }
  Status set_cu_mask(uint32_t, const uint32_t*) override {
    return fail(HSA_STATUS_ERROR_INVALID_QUEUE, "soft queue: has no agent");
  }
  Status get_cu_mask(uint32_t, uint32_t*) const override {
    return fail(HSA_STATUS_ERROR_INVALID_QUEUE, "soft queue: has no agent");
  }

 private:
  const Block memory_;
};

}  // namespace

size_t soft_queue_bytes(uint32_t packets) {
  return sizeof(amd_queue_t) + packets * kPacketBytes;
}

std::shared_ptr<Queue> create_soft_queue(const SoftQueueRequest& request,
                                         std::function<void(void*)> release) {
  Block memory(request.memory, std::move(release));
  return std::make_shared<SoftQueue>(request, std::move(memory));
}

}  // namespace rigel
