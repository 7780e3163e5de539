// Arguments of kernels for tests.
#pragma once

#include <cstdint>

namespace rigel::cpu::testing {

struct ItemRecord {
  uint32_t visits;
  uint32_t local[3];
  uint32_t group[3];
  uint32_t size[3];
  uint32_t flat;
};

/// records[x + grid_x * (y + grid_y * z)]
struct RecordIdsArgs {
  ItemRecord* records;
};

struct CountArgs {
  uint64_t* items;
  uint64_t* groups;
};

/// Adds 1 to *entered, then waits in each work-group until *flag is not 0.
struct WaitForFlagArgs {
  const uint32_t* flag;
  uint32_t* entered;
};

/// Increments *next; order[previous value] = id.
struct AppendArgs {
  uint64_t* next;
  uint64_t* order;
  uint64_t id;
};

/// Each work-group reverses its part of `values` through dynamic group memory.
struct ReverseArgs {
  uint32_t* values;
  uint64_t* dynamic_size;
};

struct ExponentialArgs {
  double* values;
};

/// Writes past the end of the group segment.
struct OverrunArgs {
  uint64_t bytes;
};

/// Arguments of the entry.
struct DispatchRecord {
  uint64_t packet_id;
  uint32_t dimensions;
  uint32_t group_segment_size;
  uint64_t completion_signal;  // completion signal of the packet
  const void* queue;
  uint64_t private_segment;
  uint64_t group_segment;
};

struct RecordDispatchArgs {
  DispatchRecord* record;
};

}  // namespace rigel::cpu::testing
