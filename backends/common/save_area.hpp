// The memory that a queue needs so that its waves can be saved when the queue is switched out, and the
// end-of-pipe buffer: sizes that amdkfd checks to the byte.
#pragma once

#include "backends/common/chip.hpp"

namespace rigel::gfx {

/// What stands at the start of the save area of each XCC, as amdkfd and the debugger read it.
struct SaveAreaHeader {
  uint32_t control_stack_offset;
  uint32_t control_stack_bytes;
  uint32_t wave_state_offset;
  uint32_t wave_state_bytes;
  uint32_t debug_offset;  ///< from the start of this header to the debugger's memory
  uint32_t debug_bytes;
  uint64_t error_reason_va;  ///< where the driver sets the bit (1 << code - 1) of an exception; 0: nowhere
  uint32_t error_event_id;   ///< event that it then sets
  uint32_t reserved;
};
static_assert(sizeof(SaveAreaHeader) == 40);

struct SaveArea {
  uint32_t control_stack_bytes = 0;  ///< of one XCC, as CREATE_QUEUE takes it
  uint32_t area_bytes = 0;           ///< of one XCC: control stack and waves, as CREATE_QUEUE takes it
  uint32_t debug_bytes = 0;          ///< of one XCC, behind the areas of all XCCs
  uint64_t allocation_bytes = 0;     ///< of all XCCs, whole pages
};

/// Chips with kQuirkNoWaveSave do without, but from 6.12 on amdkfd wants it of their queues as well.
SaveArea save_area(const Family& family, const Chip& chip, const NodeFacts& facts);

/// Bytes of the end-of-pipe buffer of a compute queue.
uint32_t end_of_pipe_bytes(const Family& family, const NodeFacts& facts);

/// The doorbells of one process: what ALLOC_MEMORY_OF_GPU and mmap take, bytes.
constexpr uint64_t doorbell_slice_bytes(const Family& family) {
  return family.doorbell == HSABE_DOORBELL_INDEX64 ? 8192 : 4096;
}

}  // namespace rigel::gfx
