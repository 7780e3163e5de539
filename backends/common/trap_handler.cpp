#include "backends/common/trap_handler.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include <hsa_plugin/kfd_abi.h>

#include "api/support/mutex.hpp"
#include "backends/common/dispatch_queue.hpp"
#include "backends/common/generation.hpp"
#include "backends/common/queue_error.hpp"

namespace rigel::gfx {

std::unique_ptr<TrapHandler> TrapHandler::install(Device& device) {
  // Without the driver's handler, which saves waves, the calling convention would differ.
  if (device.has_quirk(kQuirkNoWaveSave)) return nullptr;
  const hsabe_host_t* const host = device.host;
  const Generation& generation = *device.family.generation;
  const auto code = generation.trap_code(device.facts.version, false);
  std::unique_ptr<TrapHandler> handler(new TrapHandler(device));
  constexpr uint32_t kFlags = HSABE_BLOCK_COHERENT;
  if (Block::allocate(host, HSABE_BLOCK_HOST, kFlags | HSABE_BLOCK_EXECUTABLE, code.size_bytes(),
                      handler->code_) != HSA_STATUS_SUCCESS ||
      Block::allocate(host, HSABE_BLOCK_HOST, kFlags, sizeof(TrapData), handler->data_) != HSA_STATUS_SUCCESS)
    return nullptr;
  std::memcpy(handler->code_.data(), code.data(), code.size_bytes());
  std::memset(handler->data_.data(), 0, sizeof(TrapData));
  kfd_set_trap_handler arguments{handler->code_.address(), handler->data_.address(), device.driver.gpu_id, 0};
  if (device.ioctl(KFD_NR_SET_TRAP_HANDLER, arguments) != 0) return nullptr;
  return handler;
}

bool TrapHandler::waves_know_queues() const {
  return device_.family.generation->waves_know_queues;
}

TrapHandler::~TrapHandler() {
  const hsabe_host_t* const host = device_.host;
  kfd_set_trap_handler none{0, 0, device_.driver.gpu_id, 0};
  device_.ioctl(KFD_NR_SET_TRAP_HANDLER, none);
  uint64_t signal = 0;
  {
    const MutexLock lock(mutex_);
    std::swap(signal, unattributed_);
  }
  if (signal == 0) return;
  host->signal->destroy(host->self, signal);
  host->signal->settle(host->self);
}

hsabe_status_t TrapHandler::watch_unattributed() {
  const hsabe_host_t* const host = device_.host;
  hsabe_status_t status = host->signal->create(host->self, 0, &unattributed_);
  if (status != HSA_STATUS_SUCCESS) return status;
  const hsabe_wait_t any{unattributed_, 0, HSA_SIGNAL_CONDITION_NE, 0};
  status = host->signal->watch(host->self, &any, on_unattributed, this);
  if (status != HSA_STATUS_SUCCESS) {
    host->signal->destroy(host->self, unattributed_);
    unattributed_ = 0;
    return status;
  }
  auto& data = *reinterpret_cast<TrapDataGfx8*>(data_.data());
  std::atomic_ref(data.unattributed_signal).store(unattributed_, std::memory_order_release);
  return HSA_STATUS_SUCCESS;
}

hsabe_status_t TrapHandler::add(DispatchQueue& queue, amd_queue_t* amd_queue, uint64_t doorbell_offset) {
  const MutexLock lock(mutex_);
  const uint32_t doorbell = trap_doorbell_index(doorbell_offset);
  if (!waves_know_queues() && unattributed_ == 0) {
    if (const hsabe_status_t status = watch_unattributed(); status != HSA_STATUS_SUCCESS) return status;
  }
  queues_.push_back({&queue, doorbell});
  if (waves_know_queues()) {
    auto& table = *reinterpret_cast<TrapData*>(data_.data());
    std::atomic_ref(table.queues[doorbell]).store(amd_queue, std::memory_order_release);
  }
  return HSA_STATUS_SUCCESS;
}

void TrapHandler::remove(DispatchQueue& queue) {
  const MutexLock lock(mutex_);
  const auto found =
      std::find_if(queues_.begin(), queues_.end(), [&](const Entry& entry) { return entry.queue == &queue; });
  if (found == queues_.end()) return;
  if (waves_know_queues()) {
    auto& table = *reinterpret_cast<TrapData*>(data_.data());
    std::atomic_ref(table.queues[found->doorbell]).store(nullptr, std::memory_order_release);
  }
  queues_.erase(found);
}

bool TrapHandler::on_unattributed(hsa_signal_value_t code, void* self) {
  auto& handler = *static_cast<TrapHandler*>(self);
  const hsabe_host_t* const host = handler.device_.host;
  const MutexLock lock(handler.mutex_);
  if (handler.unattributed_ == 0) return false;  // the device is being closed
  const hsa_status_t status = error_of_inactive_code(static_cast<uint64_t>(code)).status;
  for (const Entry& entry : handler.queues_) entry.queue->stop_with(status);
  host->signal->store(host->self, handler.unattributed_, 0);
  return true;
}

}  // namespace rigel::gfx
