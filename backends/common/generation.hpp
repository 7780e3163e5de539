// What the code of queues and copies asks of a generation: functions and facts in one table for each, so that
// no code compares versions. Constant: backends/gfx*/generation.cpp. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "backends/common/chip.hpp"
#include "backends/common/pm4.hpp"
#include "backends/common/scratch_need.hpp"

namespace rigel::gfx {

/// The longest that `invalidate_code` or `release` of any generation writes.
constexpr size_t kPm4PacketMax = 8;

struct ImageGeneration;

struct Generation {
  /// The kernels of blit.hpp.
  std::span<const uint32_t> (*blit_code)();
  /// The handler of trap.hpp; empty if the chip has none of that kind.
  std::span<const uint32_t> (*trap_code)(GfxVersion version, bool exceptions);

  /// PM4 that drops cached code and data; returns where the next packet goes.
  uint32_t* (*invalidate_code)(uint32_t* to);
  /// PM4 that waits for what ran before and stores.
  uint32_t* (*release)(uint32_t* to, const pm4::Release& release);
  /// A slot of an AQL queue that runs PM4. See `pm4_completes`.
  pm4::Slot (*pm4_slot)(uint64_t va, uint32_t dwords, uint64_t completion_signal, uint32_t fences);
  /// Whether such a slot decrements a completion signal. Otherwise the read index passes it, and that is all.
  bool pm4_completes;

  ScratchResource (*scratch_resource)(const ScratchMemory& memory, bool host_page_tables);
  /// Flat scratch begins at an offset from the pool that SET_SCRATCH_BACKING_VA was told of, not at an
  /// address.
  bool scratch_by_pool;

  /// Whether a wave can ask for its queue's doorbell. Otherwise most of its errors name no queue.
  bool waves_know_queues;

  /// Compute units work in pairs, and masks take them so.
  bool cu_pairs;

  const ImageGeneration* images;
};

}  // namespace rigel::gfx
