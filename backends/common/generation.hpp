// Functions and properties of a generation for queues and copies, in one table, so that code does not compare
// versions. Constant: backends/gfx*/generation.cpp. Pure; any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "backends/common/chip.hpp"
#include "backends/common/pm4.hpp"
#include "backends/common/scratch_need.hpp"

namespace rigel::gfx {

/// Maximum dwords of `invalidate_code` and `release` of any generation.
constexpr size_t kPm4PacketMax = 8;

/// Appends a packet; returns the end.
template <size_t kDwords>
uint32_t* put(uint32_t* to, const pm4::Packet<kDwords>& packet) {
  static_assert(kDwords <= kPm4PacketMax);
  return std::copy(packet.begin(), packet.end(), to);
}

/// Generation::invalidate_code and ::release by the function that makes the packet.
template <auto kPacket, class... Arguments>
uint32_t* put_packet(uint32_t* to, Arguments... arguments) {
  return put(to, kPacket(arguments...));
}

struct CounterGeneration;
struct ImageGeneration;

struct Generation {
  /// The kernels of blit.hpp.
  std::span<const uint32_t> (*blit_code)();
  /// The handler of trap.hpp; empty if the chip does not support it.
  std::span<const uint32_t> (*trap_code)(GfxVersion version, bool exceptions);

  /// PM4 that invalidates cached code and data; returns the end.
  uint32_t* (*invalidate_code)(uint32_t* to);
  /// PM4 that waits for earlier work and stores.
  uint32_t* (*release)(uint32_t* to, const pm4::Release& release);
  /// An AQL slot that runs PM4. See `pm4_completes`.
  pm4::Slot (*pm4_slot)(uint64_t va, uint32_t dwords, uint64_t completion_signal, uint32_t fences);
  /// Whether such a slot decrements a completion signal. If not, only the read index shows its end.
  bool pm4_completes;

  ScratchResource (*scratch_resource)(const ScratchMemory& memory, bool host_page_tables);
  TmpringLayout tmpring{};
  /// Flat scratch uses an offset from the pool of SET_SCRATCH_BACKING_VA instead of an address.
  bool scratch_by_pool;

  /// Whether a wave can read its queue's doorbell. If not, most of its errors cannot be attributed to a
  /// queue.
  bool waves_know_queues;

  /// Compute units work in pairs, which masks must respect.
  bool cu_pairs;

  const ImageGeneration* images;
  const CounterGeneration* counters;
};

}  // namespace rigel::gfx
