// Instruction sets: the target of an agent's kernels, and its wavefronts. Agents with the same ISA name share
// one object, whose address is the handle. Constant.
#pragma once

#include <hsa_backend/hsa_backend.h>

#include <cstdint>
#include <optional>
#include <string>

#include "api/support/status.hpp"
#include "loader/code_object/target_id.hpp"

namespace rigel {

class Isa {
 public:
  Isa(std::string name, const hsabe_caps_t& agent);
  /// For a processor without an agent.
  explicit Isa(const TargetId& target);
  Isa(const Isa&) = delete;
  Isa& operator=(const Isa&) = delete;

  const std::string& name() const { return name_; }
  hsa_isa_t handle() const { return {reinterpret_cast<uint64_t>(this)}; }
  /// Returns the only wavefront size of the ISA's agents. The handle is the address of the size.
  hsa_wavefront_t wavefront() const { return {reinterpret_cast<uint64_t>(&wavefront_size_)}; }

  Status info(hsa_isa_info_t attribute, void* value) const;
  Status exception_policies(hsa_profile_t profile, uint16_t* mask) const;
  Status round_method(hsa_fp_type_t type, hsa_flush_mode_t flush_mode, hsa_round_method_t* method) const;
  Status wavefront_info(hsa_wavefront_info_t attribute, void* value) const;

  /// Whether code for this ISA runs on an agent with `other`.
  bool runs_on(const Isa& other) const;

 private:
  const std::string name_;
  const std::optional<TargetId> target_;  // for an AMD GPU; refers to name_
  const uint32_t profile_;
  const uint32_t float_rounding_;
  const bool fast_f16_;
  const uint32_t wavefront_size_;
  uint16_t workgroup_max_dim_[3];
  const uint32_t workgroup_max_size_;
  hsa_dim3_t grid_max_dim_;
  const uint64_t grid_max_size_;
  const uint32_t fbarrier_max_size_;
};

}  // namespace rigel
