// The agents, their ISAs and caches, and queries about them.
//
// Functions with names of the API implement those functions with their checks of arguments. The exported
// function checks that the runtime is open and catches exceptions.
//
// *Threads:* built by discovery on one thread; afterwards constant, except that ISAs without an agent are
// created on request. Any thread may call every function. Callbacks run on the calling thread, and may call
// these functions.
#pragma once

#include <hsa/hsa.h>

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "api/support/mutex.hpp"
#include "api/support/status.hpp"
#include "core/topology/agent.hpp"
#include "core/topology/agent_directory.hpp"
#include "core/topology/isa.hpp"

namespace rigel {

class Machine {
 public:
  Machine() = default;
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // During construction:

  /// Returns the ISA with this name; `caps` is used for the first agent with it.
  const Isa* intern_isa(std::string name, const hsabe_caps_t& caps);
  template <class... Arguments>
  Agent& add_agent(Arguments&&... arguments) {
    return agents_.emplace_back(std::forward<Arguments>(arguments)...);
  }
  void drop_last_agent() { agents_.pop_back(); }
  AgentDirectory& directory() { return directory_; }

  /// The agents by number, and links between their nodes.
  const AgentDirectory& directory() const { return directory_; }

  // Lookup of handles from programs: null if the handle is invalid.

  const std::deque<Agent>& agents() const { return agents_; }
  const Agent* find_agent(hsa_agent_t handle) const;
  const Isa* find_isa(hsa_isa_t handle) const;
  /// Returns the ISA of an agent, or of any AMD processor that the loader supports.
  const Isa* find_isa(std::string_view name) const;

  // Functions of the API:

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
  template <class Predicate>
  const Isa* first_isa(const Predicate& is_it) const RIGEL_REQUIRES(isas_mutex_);

  // Deques, because addresses are handles.
  mutable Mutex isas_mutex_;
  mutable std::deque<Isa> isas_ RIGEL_GUARDED_BY(isas_mutex_);
  std::deque<Agent> agents_;
  AgentDirectory directory_;
};

/// Result of a call with an invalid agent.
inline Failure no_such_agent(hsa_agent_t agent) {
  return fail(HSA_STATUS_ERROR_INVALID_AGENT, "agent {:#x}: invalid handle", agent.handle);
}

}  // namespace rigel
