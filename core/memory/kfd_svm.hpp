// Shared virtual memory: ordinary memory of the process that GPUs use by its own addresses, with attributes
// that say who may and where it shall be. The driver keeps them; here the API's are translated into its own.
//
// Functions are those of the API with `hsa_amd_svm_` before their name, with the statuses that
// <hsa/hsa_ext_amd.h> gives them. Any thread. Prefetches run one after the other on a thread of their own,
// started by the first; those that still wait for signals when this ends are dropped.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_set>

#include "api/support/mutex.hpp"
#include "core/base/status.hpp"
#include "core/memory/agents.hpp"
#include "core/memory/kfd_memory.hpp"
#include "core/signal/async_dispatcher.hpp"

namespace rigel {

class KfdSvm {
 public:
  /// Null if no GPU takes part.
  static std::unique_ptr<KfdSvm> create(const KfdAgents& gpus, const AgentDirectory& agents);
  ~KfdSvm();
  KfdSvm(const KfdSvm&) = delete;
  KfdSvm& operator=(const KfdSvm&) = delete;

  /// Whether all GPUs take part.
  bool complete() const noexcept { return complete_; }
  /// Whether they may use memory that nobody has said anything about.
  bool accessible_by_default() const { return complete_ && gpus_.kfd().xnack_enabled(); }

  Status attributes_set(void* ptr, size_t size, const hsa_amd_svm_attribute_pair_t* list, size_t count) const;
  Status attributes_get(void* ptr, size_t size, hsa_amd_svm_attribute_pair_t* list, size_t count) const;
  Status prefetch_async(void* ptr, size_t size, hsa_agent_t agent, uint32_t num_dep_signals,
                        const hsa_signal_t* dep_signals, hsa_signal_t completion_signal);

 private:
  class Prefetch;

  KfdSvm(const KfdAgents& gpus, const AgentDirectory& agents) : gpus_(gpus), agents_(agents) {}
  Result<uint32_t> location_of(uint64_t agent) const;
  uint64_t agent_at(uint32_t location) const;

  const KfdAgents& gpus_;
  const AgentDirectory& agents_;
  bool complete_ = false;

  Mutex mutex_;
  std::unordered_set<Prefetch*> prefetches_ RIGEL_GUARDED_BY(mutex_);
  AsyncDispatcher dispatcher_;
};

}  // namespace rigel
