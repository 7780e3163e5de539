// A backend for a device with queues that is not on amdkfd: an accelerator that computes the CRC-32 of
// memory. The device is software, a thread for each queue. For a physical device, open, create and destroy
// would call its driver.
//
// The accelerator supports agent dispatch packets of one function (accelerator.hpp) and barrier packets. Its
// doorbells are signals. It has no kernels, so the group `code` is absent. It has no memory, so the group
// `memory` is absent: programs pass host memory. docs/extend/backend.md explains each part.
#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <hsa_backend/hsa_backend.hpp>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <thread>

#include "accelerator.hpp"

namespace {

using hsabe::str;

constexpr uint32_t kMaxPackets = 1024;
constexpr uint64_t kSpinNs = 20'000;  // before a thread sleeps

// An open device. The runtime stores it as an opaque pointer.
struct Device {
  const hsabe_host_t* host;
};

// --- The device ------------------------------------------------------------------------------------------

uint32_t crc32(const uint8_t* bytes, uint64_t count) {
  uint32_t crc = ~0u;
  for (uint64_t i = 0; i < count; ++i) {
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

union Packet {
  uint16_t header;
  hsa_agent_dispatch_packet_t dispatch;
  hsa_barrier_and_packet_t barrier;  // a barrier-OR packet has the same fields
};
static_assert(sizeof(Packet) == 64);

uint32_t type_of(uint16_t header) {
  return header >> HSA_PACKET_HEADER_TYPE & ((1u << HSA_PACKET_HEADER_WIDTH_TYPE) - 1);
}

int64_t* value_of(uint64_t signal) {
  return const_cast<int64_t*>(&reinterpret_cast<amd_signal_t*>(signal)->value);
}

// A queue: the ring, the structure that programs use, and the thread that processes packets. The thread
// completes each packet before it starts the next one, so it can ignore the barrier bit.
class Queue {
 public:
  Queue(const hsabe_host_t* host, const hsabe_queue_desc_t& desc)
      : host_(host), cookie_(desc.cookie), doorbell_(desc.doorbell_signal), mask_(desc.packets - 1) {}
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // Waits for the packet in progress. Later packets are dropped.
  ~Queue() {
    if (thread_.joinable()) {
      stop();
      thread_.join();
    }
    if (stop_signal_ != 0) host_->signal->destroy(host_->self, stop_signal_);
    host_->memory->release(host_->self, memory_);
  }

  hsabe_status_t start(const hsabe_queue_desc_t& desc) {
    const uint64_t ring_bytes = uint64_t{desc.packets} * sizeof(Packet);
    hsabe_status_t status =
        host_->memory->allocate(host_->self, ring_bytes + sizeof(amd_queue_v2_t), &memory_);
    if (status == HSA_STATUS_SUCCESS) status = host_->signal->create(host_->self, 0, &stop_signal_);
    if (status != HSA_STATUS_SUCCESS) return hsabe::fail(host_, status, "no memory for a queue");

    ring_ = static_cast<Packet*>(memory_);
    for (uint32_t i = 0; i < desc.packets; ++i) ring_[i].header = HSA_PACKET_TYPE_INVALID;
    amd_queue_ = new (static_cast<std::byte*>(memory_) + ring_bytes) amd_queue_v2_t{};
    hsa_queue_t& queue = amd_queue_->hsa_queue;
    queue.type = desc.type;
    queue.features = HSA_QUEUE_FEATURE_AGENT_DISPATCH;
    queue.base_address = ring_;
    queue.doorbell_signal.handle = doorbell_;
    queue.size = desc.packets;
    queue.id = desc.cookie;
    amd_queue_->read_dispatch_id_field_base_byte_offset = offsetof(amd_queue_v2_t, read_dispatch_id);
    amd_queue_->queue_properties = AMD_QUEUE_PROPERTIES_IS_PTR64;

    // Signals to the process are for threads of the program.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      thread_ = std::thread(&Queue::run, this);
    } catch (...) {
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      throw;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return HSA_STATUS_SUCCESS;
  }

  // Wakes the thread from any wait.
  void stop() {
    stopping_.store(true);
    host_->signal->store(host_->self, stop_signal_, 1);
  }

  void* amd_queue() const { return amd_queue_; }

 private:
  void run() noexcept {
    for (uint64_t index = 0; wait_for_packet(index); ++index) {
      Packet packet;
      std::memcpy(&packet, &ring_[index & mask_], sizeof packet);
      if (!process(packet, index)) return;
      // The completion signal has the same offset in all packets.
      const uint64_t completion = packet.dispatch.completion_signal.handle;
      if (completion != 0) host_->signal->subtract(host_->self, completion, 1);
    }
  }

  // Returns false if the queue must stop. Before the thread sleeps, it writes a value to the doorbell that is
  // never an index. The next ring then changes the value, even if several producers ring in any order.
  bool wait_for_packet(uint64_t index) {
    constexpr int64_t kAsleep = INT64_MIN;
    const uint16_t& header = ring_[index & mask_].header;
    for (;;) {
      __atomic_exchange_n(value_of(doorbell_), kAsleep, __ATOMIC_SEQ_CST);
      if (stopping_) return false;
      if (type_of(__atomic_load_n(&header, __ATOMIC_ACQUIRE)) != HSA_PACKET_TYPE_INVALID) return true;
      const hsabe_wait_t waits[] = {{doorbell_, kAsleep, HSA_SIGNAL_CONDITION_NE, 0},
                                    {stop_signal_, 0, HSA_SIGNAL_CONDITION_NE, 0}};
      host_->signal->wait_any(host_->self, waits, 2, HSABE_WAIT_FOREVER, kSpinNs);
    }
  }

  // Returns false if the packet is not complete: it is invalid, or the queue must stop.
  bool process(const Packet& packet, uint64_t index) {
    switch (type_of(packet.header)) {
      case HSA_PACKET_TYPE_AGENT_DISPATCH:
        if (packet.dispatch.type != kCrc32)
          return reject("unknown function " + std::to_string(packet.dispatch.type));
        release_slot(index);
        *static_cast<uint32_t*>(packet.dispatch.return_address) =
            crc32(reinterpret_cast<const uint8_t*>(packet.dispatch.arg[0]), packet.dispatch.arg[1]);
        return true;
      case HSA_PACKET_TYPE_BARRIER_AND:
        release_slot(index);
        return std::all_of(std::begin(packet.barrier.dep_signal), std::end(packet.barrier.dep_signal),
                           [this](const hsa_signal_t& signal) { return wait_for_zero(&signal, 1); });
      case HSA_PACKET_TYPE_BARRIER_OR:
        release_slot(index);
        return wait_for_zero(packet.barrier.dep_signal, 5);
      default:
        return reject("invalid packet type " + std::to_string(type_of(packet.header)));
    }
  }

  // Stops the queue with an error: the program's callback receives the status, and the log the text. The
  // packet stays in the ring.
  bool reject(const std::string& why) {
    const hsabe_status_t status = hsabe::fail(host_, HSA_STATUS_ERROR_INVALID_PACKET_FORMAT, why);
    host_->events->queue_error(host_->self, cookie_, status);
    return false;
  }

  // Returns the slot to producers. The header is written first: after the store to the read index, producers
  // own the slot.
  void release_slot(uint64_t index) {
    __atomic_store_n(&ring_[index & mask_].header, uint16_t{HSA_PACKET_TYPE_INVALID}, __ATOMIC_RELEASE);
    __atomic_store_n(&amd_queue_->read_dispatch_id, index + 1, __ATOMIC_RELEASE);
  }

  // Waits until one of the signals is 0. Skips null signals; if all are null, returns at once. Returns false
  // if the queue must stop.
  bool wait_for_zero(const hsa_signal_t* signals, int count) {
    hsabe_wait_t waits[6] = {{stop_signal_, 0, HSA_SIGNAL_CONDITION_NE, 0}};
    uint32_t used = 1;
    for (int i = 0; i < count; ++i) {
      if (signals[i].handle != 0) waits[used++] = {signals[i].handle, 0, HSA_SIGNAL_CONDITION_EQ, 0};
    }
    if (used > 1) host_->signal->wait_any(host_->self, waits, used, HSABE_WAIT_FOREVER, kSpinNs);
    return !stopping_;
  }

  const hsabe_host_t* const host_;
  const uint64_t cookie_;
  const uint64_t doorbell_;
  const uint64_t mask_;
  void* memory_ = nullptr;  // the ring, and after it the structure
  Packet* ring_ = nullptr;
  amd_queue_v2_t* amd_queue_ = nullptr;
  uint64_t stop_signal_ = 0;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

// --- The group `device` ----------------------------------------------------------------------------------

// A backend for physical devices asks its driver for their number.
hsabe_status_t enumerate(const hsabe_host_t*, const hsabe_node_sink_t* sink) {
  hsabe_node_t node{};
  node.struct_size = sizeof node;
  node.bus = HSABE_BUS_OWN;
  node.name = str("accelerator");
  sink->add(sink->self, &node);
  return HSA_STATUS_SUCCESS;
}

// Computes the capabilities from the properties of the node, without other effects.
hsabe_status_t select(const hsabe_host_t*, const hsabe_node_t*, hsabe_caps_t* caps) {
  caps->name = str("accelerator");
  caps->vendor_name = str("Example");
  caps->product_name = str("CRC accelerator");
  caps->device_type = HSA_DEVICE_TYPE_DSP;
  caps->features = HSABE_FEATURE_AGENT_DISPATCH;
  caps->doorbell = HSABE_DOORBELL_SIGNAL;
  caps->profile = HSA_PROFILE_BASE;
  caps->float_rounding = HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR;
  caps->compute_units = 1;
  caps->queues_max = 8;
  caps->queue_min_size = 1;
  caps->queue_max_size = kMaxPackets;
  caps->queue_types = 1u << HSA_QUEUE_TYPE_MULTI | 1u << HSA_QUEUE_TYPE_SINGLE;
  return HSA_STATUS_SUCCESS;
}

// `guarded` converts exceptions to a status and a line of the report.
hsabe_status_t open(const hsabe_host_t* host, const hsabe_node_t*, void** device) {
  return hsabe::guarded(host, [&]() -> hsabe_status_t {
    *device = new Device{host};
    return HSA_STATUS_SUCCESS;
  });
}

void close(void* device) {
  delete static_cast<Device*>(device);
}

// --- The group `queue` -----------------------------------------------------------------------------------

hsabe_status_t create(void* device, const hsabe_queue_desc_t* desc, hsabe_queue_info_t* info) {
  const hsabe_host_t* const host = static_cast<Device*>(device)->host;
  return hsabe::guarded(host, [&]() -> hsabe_status_t {
    auto queue = std::make_unique<Queue>(host, *desc);
    const hsabe_status_t status = queue->start(*desc);
    if (status != HSA_STATUS_SUCCESS) return status;
    info->amd_queue = queue->amd_queue();
    info->doorbell = nullptr;  // it is a signal
    info->queue = queue.release();
    return HSA_STATUS_SUCCESS;
  });
}

void destroy(void* queue) {
  delete static_cast<Queue*>(queue);
}

hsabe_status_t inactivate(void* queue) {
  static_cast<Queue*>(queue)->stop();
  return HSA_STATUS_SUCCESS;
}

// --- The table -------------------------------------------------------------------------------------------

constexpr hsabe_device_ops_t kDevice{
    sizeof(hsabe_device_ops_t), enumerate, select, open, close, nullptr, nullptr, nullptr, nullptr};
constexpr hsabe_queue_ops_t kQueue{
    sizeof(hsabe_queue_ops_t), create, destroy, inactivate, nullptr, nullptr, nullptr};
constexpr hsabe_backend_t kBackend{sizeof(hsabe_backend_t),
                                   HSABE_ABI_MAJOR,
                                   HSABE_ABI_MINOR,
                                   str("accelerator"),
                                   str("1.0"),
                                   str(""),
                                   HSABE_SANITIZER,
                                   0,
                                   &kDevice,
                                   &kQueue,
                                   nullptr,  // no kernels
                                   nullptr,  // no memory
                                   nullptr,
                                   0,
                                   nullptr,   // no copies
                                   nullptr,   // no images
                                   nullptr};  // no images

}  // namespace

HSABE_EXPORT const hsabe_backend_t* hsa_backend_query_v1(uint32_t host_abi_major, uint32_t) {
  return host_abi_major == HSABE_ABI_MAJOR ? &kBackend : nullptr;
}
