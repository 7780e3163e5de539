#include "core/topology/machine.hpp"

#include <algorithm>
#include <utility>

namespace rigel {
namespace {

Failure no_such_isa(hsa_isa_t isa) {
  return fail(HSA_STATUS_ERROR_INVALID_ISA, "ISA {:#x}: invalid handle", isa.handle);
}

}  // namespace

template <class Predicate>
const Isa* Machine::first_isa(const Predicate& is_it) const {
  const auto found = std::find_if(isas_.begin(), isas_.end(), is_it);
  return found == isas_.end() ? nullptr : &*found;
}

const Isa* Machine::intern_isa(std::string name, const hsabe_caps_t& caps) {
  const MutexLock lock(isas_mutex_);
  if (const Isa* known = first_isa([&](const Isa& isa) { return isa.name() == name; })) return known;
  return &isas_.emplace_back(std::move(name), caps);
}

const Agent* Machine::find_agent(hsa_agent_t handle) const {
  for (const Agent& agent : agents_) {
    if (agent.handle().handle == handle.handle) return &agent;
  }
  return nullptr;
}

const Isa* Machine::find_isa(hsa_isa_t handle) const {
  const MutexLock lock(isas_mutex_);
  return first_isa([&](const Isa& isa) { return isa.handle().handle == handle.handle; });
}

const Isa* Machine::find_isa(std::string_view name) const {
  const MutexLock lock(isas_mutex_);
  if (const Isa* known = first_isa([&](const Isa& isa) { return isa.name() == name; })) return known;
  const auto target = parse_isa_name(name);
  return target ? &isas_.emplace_back(*target) : nullptr;
}

Status Machine::iterate_agents(hsa_status_t (*callback)(hsa_agent_t, void*), void* data) const {
  if (callback == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  for (const Agent& agent : agents_) {
    if (const Status status = callback(agent.handle(), data); status != HSA_STATUS_SUCCESS) return status;
  }
  return HSA_STATUS_SUCCESS;
}

Status Machine::agent_get_exception_policies(hsa_agent_t agent, hsa_profile_t profile, uint16_t* mask) const {
  if (find_agent(agent) == nullptr) return no_such_agent(agent);
  if (mask == nullptr || (profile != HSA_PROFILE_BASE && profile != HSA_PROFILE_FULL)) {
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  *mask = 0;  // agents can neither trap nor record floating-point exceptions for the application
  return HSA_STATUS_SUCCESS;
}

Status Machine::agent_iterate_caches(hsa_agent_t agent, hsa_status_t (*callback)(hsa_cache_t, void*),
                                     void* data) const {
  const Agent* found = find_agent(agent);
  if (found == nullptr) return no_such_agent(agent);
  if (callback == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  for (const Cache& cache : found->caches()) {
    const Status status = callback({reinterpret_cast<uint64_t>(&cache)}, data);
    if (status != HSA_STATUS_SUCCESS) return status;
  }
  return HSA_STATUS_SUCCESS;
}

Status Machine::cache_get_info(hsa_cache_t cache, hsa_cache_info_t attribute, void* value) const {
  for (const Agent& agent : agents_) {
    for (const Cache& one : agent.caches()) {
      if (reinterpret_cast<uint64_t>(&one) == cache.handle) return one.info(attribute, value);
    }
  }
  return fail(HSA_STATUS_ERROR_INVALID_CACHE, "cache {:#x}: invalid handle", cache.handle);
}

Status Machine::agent_set_async_scratch_limit(hsa_agent_t agent, size_t threshold) const {
  const Agent* found = find_agent(agent);
  return found == nullptr ? no_such_agent(agent) : found->set_scratch_limit(threshold);
}

Status Machine::image_get_info_max_dim(hsa_agent_t agent, hsa_agent_info_t attribute, void* value) const {
  const Agent* found = find_agent(agent);
  return found == nullptr ? no_such_agent(agent) : found->image_info(static_cast<uint32_t>(attribute), value);
}

Status Machine::profiling_convert_tick_to_system_domain(hsa_agent_t agent, uint64_t tick,
                                                        uint64_t* time) const {
  const Agent* found = find_agent(agent);
  if (found == nullptr) return no_such_agent(agent);
  if (time == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  *time = found->to_system_time(tick);
  return HSA_STATUS_SUCCESS;
}

Status Machine::isa_from_name(const char* name, hsa_isa_t* isa) const {
  if (name == nullptr || isa == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const Isa* found = find_isa(name);
  if (found == nullptr) return fail(HSA_STATUS_ERROR_INVALID_ISA_NAME, "unknown ISA '{}'", name);
  *isa = found->handle();
  return HSA_STATUS_SUCCESS;
}

Status Machine::agent_iterate_isas(hsa_agent_t agent, hsa_status_t (*callback)(hsa_isa_t, void*),
                                   void* data) const {
  const Agent* found = find_agent(agent);
  if (found == nullptr) return no_such_agent(agent);
  if (callback == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  for (const Isa* isa : found->isas()) {
    if (const Status status = callback(isa->handle(), data); status != HSA_STATUS_SUCCESS) return status;
  }
  return HSA_STATUS_SUCCESS;
}

Status Machine::isa_get_info_alt(hsa_isa_t isa, hsa_isa_info_t attribute, void* value) const {
  const Isa* found = find_isa(isa);
  return found == nullptr ? no_such_isa(isa) : found->info(attribute, value);
}

Status Machine::isa_get_info(hsa_isa_t isa, hsa_isa_info_t attribute, uint32_t index, void* value) const {
  const Isa* found = find_isa(isa);
  if (found == nullptr) return no_such_isa(isa);
  // The index selects a call convention, and there is only one. As in ROCr, it must be valid for all
  // attributes.
  if (index != 0) return HSA_STATUS_ERROR_INVALID_INDEX;
  return found->info(attribute, value);
}

Status Machine::isa_get_exception_policies(hsa_isa_t isa, hsa_profile_t profile, uint16_t* mask) const {
  const Isa* found = find_isa(isa);
  return found == nullptr ? no_such_isa(isa) : found->exception_policies(profile, mask);
}

Status Machine::isa_get_round_method(hsa_isa_t isa, hsa_fp_type_t type, hsa_flush_mode_t flush_mode,
                                     hsa_round_method_t* method) const {
  const Isa* found = find_isa(isa);
  return found == nullptr ? no_such_isa(isa) : found->round_method(type, flush_mode, method);
}

Status Machine::isa_iterate_wavefronts(hsa_isa_t isa, hsa_status_t (*callback)(hsa_wavefront_t, void*),
                                       void* data) const {
  const Isa* found = find_isa(isa);
  if (found == nullptr) return no_such_isa(isa);
  if (callback == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  return callback(found->wavefront(), data);
}

Status Machine::wavefront_get_info(hsa_wavefront_t wavefront, hsa_wavefront_info_t attribute,
                                   void* value) const {
  const MutexLock lock(isas_mutex_);
  const Isa* isa = first_isa([&](const Isa& one) { return one.wavefront().handle == wavefront.handle; });
  if (isa != nullptr) return isa->wavefront_info(attribute, value);
  return fail(HSA_STATUS_ERROR_INVALID_WAVEFRONT, "wavefront {:#x}: invalid handle", wavefront.handle);
}

Status Machine::isa_compatible(hsa_isa_t code_object_isa, hsa_isa_t agent_isa, bool* result) const {
  const Isa* code = find_isa(code_object_isa);
  const Isa* agent = find_isa(agent_isa);
  if (code == nullptr) return no_such_isa(code_object_isa);
  if (agent == nullptr) return no_such_isa(agent_isa);
  if (result == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  *result = code->runs_on(*agent);
  return HSA_STATUS_SUCCESS;
}

}  // namespace rigel
