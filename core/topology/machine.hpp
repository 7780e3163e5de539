// The machine: its agents, their ISAs and caches, and what programs ask about them.
//
// Discovery builds it, by one thread; from then on it is constant, but for ISAs that no agent has, which are made as
// programs ask for them. Every function may be called from any thread. A function with the name of the API's is that
// function, with its checks of arguments, but without the check that the runtime is open and the catching of
// exceptions, which the exported function does. Callbacks run on the calling thread, and may call back.
#pragma once

#include <hsa/hsa.h>

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "api/support/mutex.hpp"
#include "core/base/status.hpp"
#include "core/topology/agent.hpp"
#include "core/topology/isa.hpp"

namespace rigel {

class Machine {
 public:
  Machine() = default;
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // While it is built.

  /// The ISA of that name: `caps` are of the first agent that has it.
  const Isa* intern_isa(std::string name, const hsabe_caps_t& caps);
  template <class... Arguments>
  Agent& add_agent(Arguments&&... arguments) {
    return agents_.emplace_back(std::forward<Arguments>(arguments)...);
  }
  void drop_last_agent() { agents_.pop_back(); }

  // Handles come from outside: each is looked up, and null if there is nothing of the kind.

  const std::deque<Agent>& agents() const { return agents_; }
  const Agent* find_agent(hsa_agent_t handle) const;
  const Isa* find_isa(hsa_isa_t handle) const;
  /// An agent's, or that of any other AMD processor that the loader knows.
  const Isa* find_isa(std::string_view name) const;

  // The API's.

  Status iterate_agents(hsa_status_t (*callback)(hsa_agent_t, void*), void* data) const;
  Status agent_get_exception_policies(hsa_agent_t agent, hsa_profile_t profile, uint16_t* mask) const;
  Status agent_iterate_caches(hsa_agent_t agent, hsa_status_t (*callback)(hsa_cache_t, void*),
                              void* data) const;
  Status cache_get_info(hsa_cache_t cache, hsa_cache_info_t attribute, void* value) const;
  Status agent_set_async_scratch_limit(hsa_agent_t agent, size_t threshold) const;
  Status image_get_info_max_dim(hsa_agent_t agent, hsa_agent_info_t attribute, void* value) const;
  Status profiling_convert_tick_to_system_domain(hsa_agent_t agent, uint64_t tick, uint64_t* time) const;

  Status isa_from_name(const char* name, hsa_isa_t* isa) const;
  Status agent_iterate_isas(hsa_agent_t agent, hsa_status_t (*callback)(hsa_isa_t, void*), void* data) const;
  Status isa_get_info_alt(hsa_isa_t isa, hsa_isa_info_t attribute, void* value) const;
  Status isa_get_info(hsa_isa_t isa, hsa_isa_info_t attribute, uint32_t index, void* value) const;
  Status isa_get_exception_policies(hsa_isa_t isa, hsa_profile_t profile, uint16_t* mask) const;
  Status isa_get_round_method(hsa_isa_t isa, hsa_fp_type_t type, hsa_flush_mode_t flush_mode,
                              hsa_round_method_t* method) const;
  Status isa_iterate_wavefronts(hsa_isa_t isa, hsa_status_t (*callback)(hsa_wavefront_t, void*),
                                void* data) const;
  Status wavefront_get_info(hsa_wavefront_t wavefront, hsa_wavefront_info_t attribute, void* value) const;
  Status isa_compatible(hsa_isa_t code_object_isa, hsa_isa_t agent_isa, bool* result) const;

 private:
  /// The first that is so, or null.
  template <class Predicate>
  const Isa* first_isa(const Predicate& is_it) const RIGEL_REQUIRES(isas_mutex_);

  // Deques: addresses are handles.
  mutable Mutex isas_mutex_;
  mutable std::deque<Isa> isas_ RIGEL_GUARDED_BY(isas_mutex_);
  std::deque<Agent> agents_;
};

/// What a call answers whose agent is none.
inline Failure no_such_agent(hsa_agent_t agent) {
  return fail(HSA_STATUS_ERROR_INVALID_AGENT, "agent {:#x}: invalid handle", agent.handle);
}

}  // namespace rigel
