#include "backends/common/service_queue.hpp"

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include <hsa/hsa.h>

#include "api/support/mutex.hpp"
#include "api/support/packet_ring.hpp"
#include "backends/common/aql_ring.hpp"

namespace rigel::gfx {
namespace {

constexpr uint64_t kNoCookie = 0;  // not the cookie of a queue of the runtime
/// A kernel has read its arguments when the next barrier bit is passed: see submit().
constexpr uint64_t kBarrierEvery = 64;
constexpr uint32_t kBarrierBit = 1u << HSA_PACKET_HEADER_BARRIER;
constexpr size_t kPlaceLaps = 2;

/// Spins, then yields, then sleeps: room appears within microseconds, or only after a long copy.
class Patience {
 public:
  void wait() {
    ++turns_;
    if (turns_ < 200) return;
    if (turns_ < 400) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

 private:
  uint32_t turns_ = 0;
};

}  // namespace

static_assert(ServiceQueue::kLag >= 2 * kBarrierEvery);

hsabe_status_t ServiceQueue::create(Device& device, Stopped stopped, std::shared_ptr<ServiceQueue>& out) {
  std::shared_ptr<ServiceQueue> queue(new ServiceQueue(device));
  const hsabe_host_t* const host = device.host;
  hsabe_status_t status = host->signal->create(host->self, 0, &queue->doorbell_signal_);
  if (status != HSA_STATUS_SUCCESS) return status;
  status = Block::allocate(host, HSABE_BLOCK_HOST, HSABE_BLOCK_COHERENT | HSABE_BLOCK_EXECUTABLE,
                           kPackets * kPlaceLaps * kArgumentBytes, queue->places_);
  if (status != HSA_STATUS_SUCCESS)
    return refuse(host, status, "out of memory for the arguments of copy kernels");
  hsabe_queue_desc_t desc{};
  desc.struct_size = sizeof(desc);
  desc.cookie = kNoCookie;
  desc.doorbell_signal = queue->doorbell_signal_;
  desc.packets = kPackets;
  desc.type = HSA_QUEUE_TYPE_MULTI;
  desc.private_segment_size = 0;
  desc.group_segment_size = 0;
  hsabe_queue_info_t info{};
  info.struct_size = sizeof(info);
  status = DispatchQueue::create(device, desc, &info, std::move(stopped));
  if (status != HSA_STATUS_SUCCESS) return status;
  queue->queue_.reset(static_cast<DispatchQueue*>(info.queue));
  queue->queue_->set_profiling(true);  // for queries of completion signals' end times
  queue->amd_ = static_cast<amd_queue_t*>(info.amd_queue);
  queue->doorbell_ = Doorbell(device.family.doorbell, info.doorbell, info.bell);
  if (const auto bits = static_cast<uint32_t>(device.driver.cu_mask_bits); bits != 0) {
    status = queue->queue_->set_cu_mask(bits, device.driver.cu_mask);
    if (status != HSA_STATUS_SUCCESS) return status;
  }
  out = std::move(queue);
  return HSA_STATUS_SUCCESS;
}

ServiceQueue::~ServiceQueue() {
  queue_.reset();
  if (doorbell_signal_ != 0) device_.host->signal->destroy(device_.host->self, doorbell_signal_);
}

uint64_t ServiceQueue::read_index() const {
  return std::atomic_ref(const_cast<uint64_t&>(amd_->read_dispatch_id)).load(std::memory_order_acquire);
}

bool ServiceQueue::failed() const {
  return queue_->stopped();
}

bool ServiceQueue::has_room(size_t slots) const {
  if (failed()) return true;
  const MutexLock lock(mutex_);
  return next_ + slots <= kPackets + read_index();
}

bool ServiceQueue::idle() const {
  return read_index() ==
         std::atomic_ref(const_cast<uint64_t&>(amd_->write_dispatch_id)).load(std::memory_order_acquire);
}

hsabe_status_t ServiceQueue::wait_for_read(uint64_t index) const {
  Patience patience;
  while (read_index() < index) {
    if (failed())
      return refuse(device_.host, HSA_STATUS_ERROR, "the internal queue of the device has stopped");
    patience.wait();
  }
  return HSA_STATUS_SUCCESS;
}

hsabe_status_t ServiceQueue::submit(size_t slots, bool only_if_idle, const std::function<void(Entry)>& fill,
                                    uint64_t* end) {
  if (slots == 0 || slots > kSlotsMax) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const MutexLock lock(mutex_);
  const uint64_t first = next_;
  if (only_if_idle && read_index() != first) return HSA_STATUS_SUCCESS;
  if (first + slots > kPackets) {
    const hsabe_status_t status = wait_for_read(first + slots - kPackets);
    if (status != HSA_STATUS_SUCCESS) return status;
  }
  if (failed()) return refuse(device_.host, HSA_STATUS_ERROR, "the internal queue of the device has stopped");

  // From the last slot to the first: the processor, which may be waiting at the first, sees all reachable
  // slots or none.
  std::array<uint32_t, kSlotsMax> headers;
  for (size_t i = 0; i < slots; ++i) {
    pm4::Slot slot{};
    fill({i, slot, places_.data() + (first + i) % (kPackets * kPlaceLaps) * kArgumentBytes});
    // At intervals a packet waits for all earlier ones, so that their places are free one lap later.
    const bool aql = slot[0] >> 30 != 3;
    if (aql && (first + i) % kBarrierEvery < slots) slot[0] |= kBarrierBit;
    AqlPacket& packet = packet_slot(&amd_->hsa_queue, first + i);
    std::memcpy(packet.rest, slot.data() + 1, sizeof packet.rest);
    headers[i] = slot[0];
  }
  next_ = first + slots;
  if (end != nullptr) *end = next_;
  write_index(&amd_->hsa_queue).store(next_, std::memory_order_release);
  for (size_t i = slots; i-- != 0;) publish_packet(packet_slot(&amd_->hsa_queue, first + i), headers[i]);

  const uint64_t last = next_ - 1;
  const uint32_t kind = aql_doorbell(device_.family, device_.facts);
  if (kind != HSABE_DOORBELL_INDEX64) {
    std::atomic_ref(const_cast<uint64_t&>(amd_->max_legacy_doorbell_dispatch_id_plus_1))
        .store(last + 1, std::memory_order_release);
  }
  doorbell_.ring(doorbell_value(kind, kPackets, last));
  return HSA_STATUS_SUCCESS;
}

hsabe_status_t ServiceQueue::run_pm4(std::span<const uint32_t> words, bool only_if_idle, bool* busy) {
  *busy = only_if_idle;
  if (words.size_bytes() > kArgumentBytes) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const hsabe_host_t* const host = device_.host;
  const Generation& generation = *device_.family.generation;
  uint64_t done = 0;
  if (generation.pm4_completes) {
    const hsabe_status_t status = host->signal->create(host->self, 1, &done);
    if (status != HSA_STATUS_SUCCESS) return status;
  }
  uint64_t index = 0;
  const auto fill = [&](Entry entry) RIGEL_REQUIRES(mutex_) {
    std::memcpy(entry.place, words.data(), words.size_bytes());
    entry.slot = generation.pm4_slot(reinterpret_cast<uint64_t>(entry.place),
                                     static_cast<uint32_t>(words.size()), done, kBarrierBit);
    index = next_;
    *busy = false;
  };
  hsabe_status_t status = submit(1, only_if_idle, fill, nullptr);
  if (*busy) {
    if (done != 0) host->signal->destroy(host->self, done);
    return status;
  }
  if (status == HSA_STATUS_SUCCESS && !generation.pm4_completes) status = wait_for_read(index + 1);
  if (status == HSA_STATUS_SUCCESS && generation.pm4_completes) {
    constexpr uint64_t kSpinNs = 20'000, kLookNs = 100'000'000;
    const hsabe_wait_t wait{done, 0, HSA_SIGNAL_CONDITION_EQ, 0};
    while (host->signal->wait_any(host->self, &wait, 1, kLookNs, kSpinNs) == HSABE_WAIT_TIMED_OUT) {
      if (!failed()) continue;
      status = refuse(host, HSA_STATUS_ERROR, "the internal queue of the device has stopped");
      break;
    }
  }
  if (done != 0) host->signal->destroy(host->self, done);
  return status;
}

}  // namespace rigel::gfx
