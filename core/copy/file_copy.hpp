// Copies between files and memory of agents through the host: hsa_amd_ais_file_*, with their checks of
// arguments.
//
// *Threads:* any thread. A copy is complete when the call returns.
#pragma once

#include <hsa/hsa_ext_amd.h>

#include <cstdint>

#include "api/support/status.hpp"
#include "core/copy/copy_engine.hpp"
#include "core/memory/pointer_map.hpp"

namespace rigel {

class FileCopies {
 public:
  FileCopies(const PointerMap& memory, CopyEngine& copies) : memory_(memory), copies_(copies) {}

  Status write(hsa_amd_ais_file_handle_t file, void* memory, uint64_t size, int64_t offset, uint64_t* copied,
               int32_t* problem);
  Status read(hsa_amd_ais_file_handle_t file, void* memory, uint64_t size, int64_t offset, uint64_t* copied,
              int32_t* problem);

 private:
  bool is_allocated(const void* pointer, uint64_t size) const;
  template <class Move>
  Status in_pieces(const char* name, hsa_amd_ais_file_handle_t file, void* memory, uint64_t size,
                   int64_t offset, uint64_t* copied, int32_t* problem, Move&& move);

  const PointerMap& memory_;
  CopyEngine& copies_;
};

}  // namespace rigel
