// One open GPU: the facts about it, and what its queues are made of.
//
// Made by open, destroyed by close, when its queues and images are gone. Facts are constant; the store of
// queue memory may be used from any thread.
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

namespace rigel::gfx {

class CopyEngines;
class ScratchKeeper;
class TrapHandler;

/// Memory that the runtime's driver service has given, freed with the object.
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

/// The memory of one queue. Making it is what makes queues dear, so it is used again.
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

  /// The device's clock and its frequency.
  hsabe_status_t read_clock(uint64_t* ticks, uint64_t* ticks_per_second);

  /// Memory for a queue whose ring has `ring_bytes`: used before, or new.
  hsabe_status_t take_queue_memory(uint64_t ring_bytes, QueueMemory& out);
  void give_queue_memory(QueueMemory memory) noexcept;

  /// Scratch of `size` bytes. On gfx8 it lies in the device's pool of addresses, from whose begin the
  /// hardware counts.
  hsabe_status_t allocate_scratch(uint64_t size, Block& out);
  void free_scratch(Block block);
  /// Who has it.
  ScratchKeeper& scratch() { return *scratch_; }
  /// What catches the errors of its waves; null if nothing can.
  TrapHandler* traps() { return traps_.get(); }

  /// What it copies with.
  CopyEngines& copies() { return *copies_; }

  uint64_t scratch_base() const { return reinterpret_cast<uint64_t>(scratch_pool_); }

 private:
  Device(const Family& device_family, const hsabe_host_t* device_host, const Chip& device_chip,
         const NodeFacts& node_facts);
  hsabe_status_t reserve_scratch_pool();

  Mutex mutex_;
  std::vector<QueueMemory> spare_ RIGEL_GUARDED_BY(mutex_);  // has room for all that are kept

  int32_t read_clocks_together(kfd_get_clock_counters& clocks) const;
  uint64_t measure_frequency() const;

  // Where clocks were first read, to learn the frequency from a second reading.
  uint64_t first_ticks_ = 0;
  uint64_t first_ns_ = 0;
  uint64_t frequency_ = 0;

  void* scratch_pool_ = nullptr;  // gfx8
  struct Span {
    uint64_t begin;
    uint64_t size;
  };
  std::vector<Span> scratch_used_;  // of the pool, sorted

  std::unique_ptr<ScratchKeeper> scratch_;
  std::unique_ptr<TrapHandler> traps_;
  std::unique_ptr<CopyEngines> copies_;
};

/// Reports the formatted text and returns `status`.
[[gnu::format(printf, 3, 4)]] hsabe_status_t refuse(const hsabe_host_t* host, hsabe_status_t status,
                                                    const char* format, ...);

}  // namespace rigel::gfx
