// Shared virtual memory: memory of the process that GPUs access at its addresses, with attributes for access
// and location. The driver stores them; this class translates those of the API.
//
// Functions implement those of the API with the prefix `hsa_amd_svm_`, with the statuses in
// <hsa/hsa_ext_amd.h>.
//
// *Threads:* any thread. Prefetches run one after the other on a dedicated thread that the first one starts;
// the destructor drops those that still wait for signals.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "api/support/status.hpp"
#include "core/memory/kfd_memory.hpp"
#include "core/signal/pending_operations.hpp"
#include "core/topology/agent_directory.hpp"

namespace rigel {

class KfdSvm {
 public:
  /// Returns null if no GPU supports it.
  static std::unique_ptr<KfdSvm> create(const KfdAgents& gpus, const AgentDirectory& agents);
  ~KfdSvm();
  KfdSvm(const KfdSvm&) = delete;
  KfdSvm& operator=(const KfdSvm&) = delete;

  bool complete() const noexcept { return complete_; }
  /// Whether GPUs may access memory without attributes.
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

  PendingOperations pending_;
};

}  // namespace rigel
