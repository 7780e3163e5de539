// An open GPU: its properties, and resources of its queues.
//
// *Lifetime:* created by open, destroyed by close after its queues and images.
// *Threads:* properties are constant; any thread may use the store of queue memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <hsa_plugin/kfd_abi.h>
#include <hsa_backend/hsa_backend.hpp>

#include "api/support/mutex.hpp"
#include "backends/common/chip.hpp"
#include "backends/common/node_facts.hpp"
#include "backends/common/save_area.hpp"
#include "backends/common/scratch_need.hpp"

namespace rigel::gfx {

class CopyEngines;
class ScratchKeeper;
class TrapHandler;

/// Memory from the runtime's driver service, freed by the destructor.
class Block {
 public:
  Block() = default;
  ~Block() { reset(); }
  Block(Block&& other) noexcept : host_(std::exchange(other.host_, nullptr)), block_(other.block_) {}
  Block& operator=(Block&& other) noexcept {
    std::swap(host_, other.host_);
    std::swap(block_, other.block_);
    return *this;
  }

  static hsabe_status_t allocate(const hsabe_host_t* host, uint32_t kind, uint32_t flags, uint64_t size,
                                 Block& out);
  static hsabe_status_t allocate_at(const hsabe_host_t* host, uint32_t kind, uint32_t flags, void* address,
                                    uint64_t size, Block& out);
  void reset();

  explicit operator bool() const { return host_ != nullptr; }
  std::byte* data() const { return static_cast<std::byte*>(block_.address); }
  uint64_t address() const { return reinterpret_cast<uint64_t>(block_.address); }
  uint64_t size() const { return block_.size; }

 private:
  const hsabe_host_t* host_ = nullptr;
  hsabe_block_t block_{};
};

/// The memory of one queue. Reused, because allocating it is the main cost of a queue.
struct QueueMemory {
  Block control;  // the amd_queue_t
  Block ring;
  Block end_of_pipe;
  Block save_area;
};

class Device {
 public:
  static hsabe_status_t open(const Family& family, const hsabe_host_t* host, const hsabe_node_t& node,
                             std::unique_ptr<Device>& out);
  ~Device();

  const hsabe_host_t* const host;
  const Family& family;
  const Chip& chip;
  const NodeFacts facts;
  const Quirks quirks;
  const hsabe_driver_facts_t driver;

  bool has_quirk(Quirks bit) const { return (quirks & bit) != 0; }
  int32_t ioctl(uint32_t number, void* argument, uint64_t size) const {
    return host->driver->ioctl(host->self, number, argument, size);
  }
  template <class T>
  int32_t ioctl(uint32_t number, T& arguments) const {
    return ioctl(number, &arguments, sizeof arguments);
  }

  hsabe_status_t read_clock(uint64_t* ticks, uint64_t* ticks_per_second);

  /// Returns memory for a queue whose ring has `ring_bytes`, reused or new.
  hsabe_status_t take_queue_memory(uint64_t ring_bytes, QueueMemory& out);
  void give_queue_memory(QueueMemory memory) noexcept;

  /// Allocates scratch of `size` bytes. On gfx8 it is in the device's pool of addresses, because the hardware
  /// uses offsets from its start.
  hsabe_status_t allocate_scratch(uint64_t size, Block& out);
  void free_scratch(Block block);
  ScratchKeeper& scratch() { return *scratch_; }
  /// The trap handler for its waves; null if not supported.
  TrapHandler* traps() { return traps_.get(); }

  CopyEngines& copies() { return *copies_; }

  uint64_t scratch_base() const { return reinterpret_cast<uint64_t>(scratch_pool_); }

 private:
  Device(const Family& device_family, const hsabe_host_t* device_host, const Chip& device_chip,
         const NodeFacts& node_facts);
  hsabe_status_t reserve_scratch_pool();

  Mutex mutex_;
  std::vector<QueueMemory> spare_ RIGEL_GUARDED_BY(mutex_);  // has room for all kept elements

  int32_t read_clocks_together(kfd_get_clock_counters& clocks) const;
  uint64_t measure_frequency() const;

  // First reading of the clocks; a second one measures the frequency.
  uint64_t first_ticks_ = 0;
  uint64_t first_ns_ = 0;
  uint64_t frequency_ = 0;

  void* scratch_pool_ = nullptr;  // gfx8
  struct Span {
    uint64_t begin;
    uint64_t size;
  };
  std::vector<Span> scratch_used_;  // used ranges of the pool, sorted

  std::unique_ptr<ScratchKeeper> scratch_;
  std::unique_ptr<TrapHandler> traps_;
  std::unique_ptr<CopyEngines> copies_;
};

/// Reports the formatted text and returns `status`.
[[gnu::format(printf, 3, 4)]] hsabe_status_t refuse(const hsabe_host_t* host, hsabe_status_t status,
                                                    const char* format, ...);

/// Its wave slots with scratch.
ScratchDevice scratch_device(const Device& device);

}  // namespace rigel::gfx
