// Batches of copies with one completion signal: hsa_amd_memory_async_batch_copy, with its checks of
// arguments. Every operation is checked before the first copy starts.
//
// *Threads:* any thread.
#pragma once

#include <hsa/hsa_ext_amd.h>

#include <cstdint>
#include <list>

#include "api/support/mutex.hpp"
#include "api/support/status.hpp"
#include "core/signal/async_dispatcher.hpp"
#include "core/topology/agent_directory.hpp"

namespace rigel {

class CopyBatches {
 public:
  /// Function that starts each copy: hsa_amd_memory_async_copy, as tools observe it.
  using Begin = decltype(&hsa_amd_memory_async_copy);

  /// `dispatcher` reports the end of copies. Handlers of the application never block it.
  explicit CopyBatches(AsyncDispatcher& dispatcher);
  /// Requires that the dispatcher has stopped and devices have stopped copying. Unfinished batches are
  /// dropped.
  ~CopyBatches();

  Status copy(const AgentDirectory& agents, Begin begin, const hsa_amd_memory_copy_op_t* ops, uint32_t count,
              uint32_t dependency_count, const hsa_signal_t* dependencies);

 private:
  class CompletionJoin;

  static Status check(const AgentDirectory& agents, const hsa_amd_memory_copy_op_t& op, uint32_t index);
  Status submit(Begin begin, const hsa_amd_memory_copy_op_t& op, uint32_t dependency_count,
                const hsa_signal_t* dependencies);
  CompletionJoin& remember(Signal& completion, uint32_t copies);
  void forget(CompletionJoin& joint) noexcept;

  AsyncDispatcher& dispatcher_;
  Mutex mutex_;
  std::list<CompletionJoin> joins_ RIGEL_GUARDED_BY(mutex_);  // not completed yet
};

}  // namespace rigel
