#include "backends/common/copy_queue.hpp"

#include <cstring>
#include <utility>

#include <hsa_plugin/kfd_abi.h>

namespace rigel::gfx {
namespace {

constexpr uint32_t kPriority = 7;

}  // namespace

CopyQueue::CopyQueue(Device& device)
    : device_(device),
      encoder_(device.family.sdma, device.chip.sdma_copy_max, device.quirks),
      plain_{SdmaPlainCopy(encoder_, false), SdmaPlainCopy(encoder_, true)},
      indices_{device.family.sdma, kRingBytes} {}

std::unique_ptr<CopyQueue> CopyQueue::create(Device& device, uint32_t queue_type) {
  std::unique_ptr<CopyQueue> queue(new CopyQueue(device));
  const hsabe_host_t* const host = device.host;
  const uint32_t flags = HSABE_BLOCK_COHERENT;
  if (Block::allocate(host, HSABE_BLOCK_HOST, flags | HSABE_BLOCK_EXECUTABLE, kRingBytes, queue->ring_) !=
          HSA_STATUS_SUCCESS ||
      Block::allocate(host, HSABE_BLOCK_HOST, flags, 4096, queue->pointers_) != HSA_STATUS_SUCCESS)
    return nullptr;
  std::memset(queue->pointers_.data(), 0, 4096);
  kfd_create_queue create{};
  create.ring_base_address = queue->ring_.address();
  create.ring_size = kRingBytes;
  create.read_pointer_address = queue->pointers_.address();
  create.write_pointer_address = queue->pointers_.address() + kWriteIndexAt;
  create.gpu_id = device.driver.gpu_id;
  create.queue_type = queue_type;
  create.queue_percentage = KFD_QUEUE_PERCENTAGE_MAX;
  create.queue_priority = kPriority;
  if (device.ioctl(KFD_NR_CREATE_QUEUE, create) != 0) return nullptr;
  queue->queue_id_ = create.queue_id;
  queue->created_ = true;
  void* const doorbell = host->driver->doorbell(host->self, create.doorbell_offset, create.queue_id);
  if (doorbell == nullptr) return nullptr;
  queue->doorbell_ = Doorbell(device.family.doorbell, doorbell, doorbell_call_of(host, doorbell));
  return queue;
}

CopyQueue::~CopyQueue() {
  stop();
}

void CopyQueue::stop() {
  if (!std::exchange(created_, false)) return;
  kfd_destroy_queue destroy{queue_id_, 0};
  device_.ioctl(KFD_NR_DESTROY_QUEUE, destroy);
}

uint64_t CopyQueue::read() {
  auto& index = *reinterpret_cast<uint64_t*>(pointers_.data());
  read_ = indices_.read_index(std::atomic_ref(index).load(std::memory_order_acquire), read_);
  return read_;
}

uint64_t CopyQueue::completed() {
  auto& position = *reinterpret_cast<uint32_t*>(pointers_.data() + kPositionAt);
  // The lower half; it is less than a ring away from the read index.
  const uint32_t low = std::atomic_ref(position).load(std::memory_order_acquire);
  const uint64_t index = read();
  const auto ahead = static_cast<int32_t>(low - static_cast<uint32_t>(index));
  return ahead > 0 ? index + static_cast<uint32_t>(ahead) : index;
}

uint32_t* CopyQueue::begin(size_t dwords) {
  return room_for((dwords + encoder_.padding_dwords(dwords)) * 4);
}

uint64_t CopyQueue::submit(size_t dwords) {
  const uint64_t begin = written_;
  const size_t padding = encoder_.padding_dwords(dwords);
  auto* const end = reinterpret_cast<uint32_t*>(ring_.data() + indices_.offset(written_)) + dwords;
  if (padding != 0) encoder_.nop(end, padding);
  publish((dwords + padding) * 4);
  return begin;
}

void CopyQueue::skip(uint64_t bytes) {
  encoder_.nop(reinterpret_cast<uint32_t*>(ring_.data() + indices_.offset(written_)), bytes / 4);
  written_ += bytes;
}

}  // namespace rigel::gfx
