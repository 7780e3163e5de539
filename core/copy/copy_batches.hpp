// Batches of copies that complete as one: hsa_amd_memory_async_batch_copy, with its checks of arguments.
//
// Any thread. Every operation is checked before the first copy begins.
#pragma once

#include <hsa/hsa_ext_amd.h>

#include <cstdint>
#include <list>

#include "api/support/mutex.hpp"
#include "core/base/status.hpp"
#include "core/memory/agents.hpp"
#include "core/signal/async_dispatcher.hpp"

namespace rigel {

class CopyBatches {
 public:
  /// How each copy begins: hsa_amd_memory_async_copy, as tools see it.
  using Begin = decltype(&hsa_amd_memory_async_copy);

  /// `dispatcher` tells when copies that complete as one are all done. No handler of the application holds it up.
  CopyBatches(const AgentDirectory& agents, AsyncDispatcher& dispatcher);
  /// The dispatcher has stopped, and no device copies any more. What has not ended never does.
  ~CopyBatches();

  Status copy(Begin begin, const hsa_amd_memory_copy_op_t* ops, uint32_t count, uint32_t dependency_count,
              const hsa_signal_t* dependencies);

 private:
  class Joint;

  Status check(const hsa_amd_memory_copy_op_t& op, uint32_t index) const;
  Status submit(Begin begin, const hsa_amd_memory_copy_op_t& op, uint32_t dependency_count,
                const hsa_signal_t* dependencies);
  Joint& remember(Signal& completion, uint32_t copies);
  void forget(Joint& joint) noexcept;

  const AgentDirectory& agents_;
  AsyncDispatcher& dispatcher_;
  Mutex mutex_;
  std::list<Joint> joints_ RIGEL_GUARDED_BY(mutex_);  // that have not ended
};

}  // namespace rigel
