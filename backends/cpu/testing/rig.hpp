// A device on a fake host, with code objects loaded by the dynamic linker instead of the runtime's loader,
// and queues for packets of an application.
#pragma once

#include <hsa/amd_hsa_queue.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/backend.hpp"
#include "backends/cpu/testing/fake_host.hpp"

namespace rigel::cpu::testing {

hsabe_node_t node_facts(uint32_t node_id = 0);

std::vector<std::byte> read_file(const std::string& path);

/// One open device. The options are those of the manifest.
class Rig {
 public:
  explicit Rig(std::initializer_list<std::pair<const char*, int64_t>> options = {});
  ~Rig();
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;

  void* device() { return device_; }
  const hsabe_backend_t& backend() const { return kBackend; }

  /// Loads the code object at `path` and returns its image's number.
  size_t load(const std::string& path);
  /// Loads a code object and returns the backend's status. The backend creates *image.
  hsabe_status_t try_load(const std::string& path, void** image);
  void unload(size_t image);
  uint64_t kernel(const std::string& kernel) const;

  FakeHost host;

 private:
  struct Loaded {
    void* library;
    void* image;  // null once unloaded
  };

  void* device_ = nullptr;
  std::vector<Loaded> loaded_;
};

/// A packet of any type, all bytes 0.
union Packet {
  uint16_t header;
  hsa_kernel_dispatch_packet_t kernel;
  hsa_agent_dispatch_packet_t agent;
  hsa_barrier_and_packet_t barrier_and;
  hsa_barrier_or_packet_t barrier_or;
  hsa_amd_barrier_value_packet_t barrier_value;
  std::byte bytes[64];
};

/// Returns a header for packets of `type`, with system scope fences and the barrier bit.
uint16_t header_of(hsa_packet_type_t type);

struct Extent {
  uint32_t x = 1, y = 1, z = 1;
};

/// Returns a dispatch of `kernel_object` over `grid` in work-groups of `group`.
Packet kernel_packet(uint64_t kernel_object, const void* args, Extent grid, Extent group = {},
                     uint64_t completion = 0);

class TestQueue {
 public:
  explicit TestQueue(Rig& rig, uint32_t packets = 64, uint32_t type = HSA_QUEUE_TYPE_MULTI);
  ~TestQueue();
  TestQueue(const TestQueue&) = delete;
  TestQueue& operator=(const TestQueue&) = delete;

  void destroy();
  void* handle() { return info_.queue; }
  uint64_t cookie() const { return cookie_; }
  amd_queue_v2_t& amd() { return *static_cast<amd_queue_v2_t*>(info_.amd_queue); }
  uint64_t read_index() { return __atomic_load_n(&amd().read_dispatch_id, __ATOMIC_ACQUIRE); }
  Packet& slot(uint64_t index) {
    return static_cast<Packet*>(amd().hsa_queue.base_address)[index & (amd().hsa_queue.size - 1)];
  }

  /// Reserves a slot, and waits until it is free.
  uint64_t reserve();
  /// Writes the packet to the slot, its header last.
  void write(uint64_t index, const Packet& packet);
  void ring(uint64_t index);
  /// Reserves, writes and rings, on any thread. Returns the index.
  uint64_t submit(const Packet& packet);
  /// Submits with a separate completion signal and waits. Returns false if it does not complete.
  bool run(Packet packet);
  bool run(uint64_t kernel_object, const void* args, Extent grid, Extent group = {}) {
    return run(kernel_packet(kernel_object, args, grid, group));
  }

 private:
  Rig& rig_;
  const uint64_t cookie_;
  uint64_t doorbell_;
  hsabe_queue_info_t info_{};
};

}  // namespace rigel::cpu::testing
