// Batches of copies that complete as one: hsa_amd_memory_async_batch_copy, with its checks of arguments.
//
// Any thread. Every operation is checked before the first copy begins.
#pragma once

#include <hsa/hsa_ext_amd.h>

#include <cstdint>

#include "core/base/status.hpp"
#include "core/memory/agents.hpp"
#include "core/signal/async_dispatcher.hpp"

namespace rigel {

class CopyBatches {
 public:
  /// How each copy begins: hsa_amd_memory_async_copy, as tools see it.
  using Begin = decltype(&hsa_amd_memory_async_copy);

  /// `dispatcher` tells when copies that complete as one are all done. No handler of the application holds it up.
  CopyBatches(const AgentDirectory& agents, AsyncDispatcher& dispatcher, Begin begin)
      : agents_(agents), dispatcher_(dispatcher), begin_(begin) {}

  Status copy(const hsa_amd_memory_copy_op_t* ops, uint32_t count, uint32_t dependency_count,
              const hsa_signal_t* dependencies);

 private:
  Status check(const hsa_amd_memory_copy_op_t& op, uint32_t index) const;
  Status submit(const hsa_amd_memory_copy_op_t& op, uint32_t dependency_count,
                const hsa_signal_t* dependencies);

  const AgentDirectory& agents_;
  AsyncDispatcher& dispatcher_;
  const Begin begin_;
};

}  // namespace rigel
