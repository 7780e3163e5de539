// Sizes of a queue's memory for saving waves when the queue is switched out, and of the end-of-pipe buffer.
// amdkfd checks both to the byte.
#pragma once

#include "backends/common/chip.hpp"

namespace rigel::gfx {

/// Header of the save area of each XCC, for amdkfd and the debugger.
struct SaveAreaHeader {
  uint32_t control_stack_offset;
  uint32_t control_stack_bytes;
  uint32_t wave_state_offset;
  uint32_t wave_state_bytes;
  uint32_t debug_offset;  ///< offset of the debugger's memory from the start of this header
  uint32_t debug_bytes;
  /// Address of a mask in which the driver sets the bit (1 << code - 1) of an exception. 0: none.
  uint64_t error_reason_va;
  uint32_t error_event_id;  ///< event that the driver then sets
  uint32_t reserved;
};
static_assert(sizeof(SaveAreaHeader) == 40);

struct SaveArea {
  uint32_t control_stack_bytes = 0;  ///< size for one XCC, as CREATE_QUEUE expects it
  uint32_t area_bytes = 0;        ///< size of control stack and waves of one XCC, as CREATE_QUEUE expects it
  uint32_t debug_bytes = 0;       ///< size for one XCC; follows the areas of all XCCs
  uint64_t allocation_bytes = 0;  ///< size for all XCCs, in whole pages
};

/// Chips with kQuirkNoWaveSave do not use it, but amdkfd requires it for their queues from 6.12 on.
SaveArea save_area(const Family& family, const Chip& chip, const NodeFacts& facts);

uint32_t end_of_pipe_bytes(const Family& family, const NodeFacts& facts);

/// Size of a process's doorbells for ALLOC_MEMORY_OF_GPU and mmap, in bytes.
constexpr uint64_t doorbell_slice_bytes(const Family& family) {
  return family.doorbell == HSABE_DOORBELL_INDEX64 ? 8192 : 4096;
}

}  // namespace rigel::gfx
