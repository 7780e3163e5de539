// A GPU with a driver transport, for tests of packets and kernels: shared memory, an AQL queue, a copy
// engine. The transport is the virtual GPU, but the tests use it as hardware: the device receives everything
// that hardware needs, sizes included.
//
// *Threads:* not thread-safe.
// *Errors:* failures throw std::runtime_error with the failing call.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <hsa_plugin/hsa_driver.h>

#include "api/support/mutex.hpp"
#include "backends/common/aql_ring.hpp"
#include "backends/common/chip.hpp"
#include "backends/common/sdma.hpp"
#include "backends/common/testing/nodes.hpp"

namespace rigel::gfx::testing {

class VirtualGpu {
 public:
  /// `board` is a name in the virtual GPU's configuration; `family` contains its chip.
  VirtualGpu(const std::string& board, const Family& family);
  ~VirtualGpu();
  VirtualGpu(const VirtualGpu&) = delete;

  const Family& family() const { return family_; }
  const Chip& chip() const { return *chip_; }
  const NodeFacts& facts() const { return facts_; }
  const hsabe_node_t& node() const { return node_->get(); }
  Quirks quirks() const { return find_quirks(family_.quirks, facts_); }

  /// Returns zeroed memory of whole pages, at the same address for host and GPU. Lives as long as the GPU.
  void* share(uint64_t bytes) { return share(bytes, bytes, 0); }
  template <class T>
  T* share_object() {
    return new (share(sizeof(T))) T{};
  }

  void set_trap_handler(const void* code, const void* data);

  template <class T>
  int32_t call(uint32_t number, T& arguments) const {
    return ops().ioctl(driver_, kfd_, request(number, sizeof(T)), &arguments);
  }
  int32_t call(uint32_t number, void* argument, uint64_t size) const {
    return ops().ioctl(driver_, kfd_, request(number, size), argument);
  }
  uint32_t gpu_id() const { return gpu_id_; }
  /// The same with the driver's additions: `more_flags` are KFD_MEM_ flags; the host maps `bytes` of
  /// `mapped_bytes`.
  void* share(uint64_t mapped_bytes, uint64_t bytes, uint32_t more_flags);
  /// Reserves addresses, and maps memory at some of them; the handle unmaps it from the GPU.
  void* reserve(uint64_t bytes);
  uint64_t share_at(void* address, uint64_t mapped_bytes, uint64_t bytes, uint32_t more_flags);
  void take_back(uint64_t handle);
  /// Returns the doorbell of a queue, from CREATE_QUEUE's results.
  std::byte* doorbell(uint64_t offset, uint32_t queue_id);
  hsabe_bell_t bell(void* doorbell);

 private:
  friend class VirtualAqlQueue;
  friend class VirtualSdmaQueue;

  const hsadrv_ops_t& ops() const { return *table_->ops; }
  static uint64_t request(uint32_t number, size_t size);
  std::byte* map_doorbells(uint64_t offset);
  void keep(void* at, uint64_t bytes);
  std::string read(const std::string& path) const;

  const Family& family_;
  const Chip* chip_ = nullptr;
  void* library_ = nullptr;
  const hsadrv_driver_t* table_ = nullptr;
  void* driver_ = nullptr;
  int32_t kfd_ = -1, render_ = -1;
  uint32_t gpu_id_ = 0;
  std::vector<std::string> names_;
  std::unique_ptr<Node> node_;
  NodeFacts facts_;
  Mutex mutex_;
  std::byte* doorbells_ RIGEL_GUARDED_BY(mutex_) = nullptr;
  std::vector<std::pair<void*, uint64_t>> shared_ RIGEL_GUARDED_BY(mutex_);
};

/// A signal without interrupts.
class VirtualSignal {
 public:
  VirtualSignal(VirtualGpu& gpu, int64_t value) : signal_(gpu.share_object<amd_signal_t>()) {
    signal_->kind = AMD_SIGNAL_KIND_USER;
    set(value);
  }
  uint64_t handle() const { return reinterpret_cast<uint64_t>(signal_); }
  uint64_t value_va() const { return reinterpret_cast<uint64_t>(&signal_->value); }
  int64_t value() const { return std::atomic_ref(raw()).load(std::memory_order_acquire); }
  void set(int64_t value) const { std::atomic_ref(raw()).store(value, std::memory_order_release); }
  amd_signal_t& get() const { return *signal_; }

 private:
  int64_t& raw() const { return const_cast<int64_t&>(signal_->value); }
  amd_signal_t* signal_;
};

class VirtualAqlQueue {
 public:
  VirtualAqlQueue(VirtualGpu& gpu, uint32_t packets);
  ~VirtualAqlQueue();
  VirtualAqlQueue(const VirtualAqlQueue&) = delete;

  amd_queue_t& amd() const { return *queue_; }
  uint32_t capacity() const { return layout_.packets; }
  /// Error codes of the processor and the trap handler.
  const VirtualSignal& inactive() const { return inactive_; }
  uint64_t read_index() const;

  /// Writes a slot, its first dword last, and rings. Returns its index.
  uint64_t submit(const std::array<uint32_t, 16>& slot);
  /// Runs PM4 from memory of the queue, in the generation's slot. Returns false after ten seconds.
  bool run_pm4(const std::vector<uint32_t>& words);
  /// Launches a one-dimensional kernel and waits for its end. Returns false after ten seconds or with an
  /// error.
  bool launch(const void* descriptor, uint32_t work_items, uint32_t group_size, const void* arguments);
  void launch_only(const void* descriptor, uint32_t work_items, uint32_t group_size, const void* arguments,
                   uint64_t completion);

 private:
  VirtualGpu& gpu_;
  AqlRing layout_;
  std::byte* ring_;
  amd_queue_t* queue_;
  VirtualSignal inactive_;
  uint32_t* pm4_;
  std::byte* doorbell_;
  uint32_t id_ = 0;
  uint64_t next_ = 0;
};

class VirtualSdmaQueue {
 public:
  explicit VirtualSdmaQueue(VirtualGpu& gpu);
  ~VirtualSdmaQueue();
  VirtualSdmaQueue(const VirtualSdmaQueue&) = delete;

  const SdmaEncoder& encoder() const { return encoder_; }
  void submit(const std::vector<uint32_t>& words);
  bool drained() const;

 private:
  VirtualGpu& gpu_;
  SdmaEncoder encoder_;
  SdmaRing indices_;
  std::byte* ring_;
  uint64_t* pointers_;  // read index, then write index
  std::byte* doorbell_;
  uint32_t id_ = 0;
  uint64_t written_ = 0;
};

/// Waits for an effect of the device; returns false after ten seconds.
bool eventually(const std::function<bool()>& condition);

}  // namespace rigel::gfx::testing
