#include "core/topology/isa.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "api/support/query.hpp"

namespace rigel {
namespace {

// One bit of hsa_exception_policy_t per profile. Traps need a trap handler that an application can install.
// These agents do not support it, so only the default policy, without detection, is available.
constexpr uint16_t kNoExceptionPolicies = 0;

/// 9 for gfx90a and gfx9-generic, 10 for gfx1030: the number before the dash, or without the digits of minor
/// version and stepping.
uint32_t major_version(std::string_view processor) {
  processor.remove_prefix(std::string_view("gfx").size());
  const std::string_view digits = processor.substr(0, std::min(processor.find('-'), processor.size() - 2));
  uint32_t version = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), version);
  return version;
}

/// ROCr's values for the ISA, independent of an agent.
hsabe_caps_t limits_of(std::string_view processor) {
  const uint32_t version = major_version(processor);
  hsabe_caps_t limits{};
  limits.profile = HSA_PROFILE_BASE;
  limits.float_rounding = HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR;
  limits.fast_f16 = version >= 8 ? 1 : 0;
  limits.wavefront_size = version >= 10 ? 32 : 64;
  std::fill(std::begin(limits.workgroup_max_dim), std::end(limits.workgroup_max_dim), 1024);
  limits.workgroup_max_size = 1024;
  std::fill(std::begin(limits.grid_max_dim), std::end(limits.grid_max_dim), UINT32_MAX);
  limits.grid_max_size = UINT64_MAX;
  limits.fbarrier_max_size = 32;
  return limits;
}

}  // namespace

Isa::Isa(const TargetId& target)
    : Isa(std::string(kAmdIsaPrefix) + to_string(target), limits_of(target.processor)) {}

Isa::Isa(std::string name, const hsabe_caps_t& agent)
    : name_(std::move(name)),
      target_(parse_isa_name(name_)),
      profile_(agent.profile),
      float_rounding_(agent.float_rounding),
      fast_f16_(agent.fast_f16 != 0),
      wavefront_size_(agent.wavefront_size),
      workgroup_max_dim_{static_cast<uint16_t>(std::min(agent.workgroup_max_dim[0], 0xffffu)),
                         static_cast<uint16_t>(std::min(agent.workgroup_max_dim[1], 0xffffu)),
                         static_cast<uint16_t>(std::min(agent.workgroup_max_dim[2], 0xffffu))},
      workgroup_max_size_(agent.workgroup_max_size),
      grid_max_dim_{agent.grid_max_dim[0], agent.grid_max_dim[1], agent.grid_max_dim[2]},
      grid_max_size_(agent.grid_max_size),
      fbarrier_max_size_(agent.fbarrier_max_size) {}

Status Isa::info(hsa_isa_info_t attribute, void* value) const {
  if (value == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  switch (static_cast<uint32_t>(attribute)) {
    case HSA_ISA_INFO_NAME_LENGTH:
      return answer(value, static_cast<uint32_t>(name_.size() + 1));
    case HSA_ISA_INFO_NAME:
      return answer_name(value, name_);
    case HSA_ISA_INFO_CALL_CONVENTION_COUNT:
      return answer(value, uint32_t{1});
    case HSA_ISA_INFO_CALL_CONVENTION_INFO_WAVEFRONT_SIZE:
      return answer(value, wavefront_size_);
    case HSA_ISA_INFO_CALL_CONVENTION_INFO_WAVEFRONTS_PER_COMPUTE_UNIT: {
      const uint32_t waves = (workgroup_max_size_ + wavefront_size_ - 1) / std::max(wavefront_size_, 1u);
      return answer(value, waves);
    }
    case HSA_ISA_INFO_MACHINE_MODELS: {
      const bool models[2] = {false, true};  // small, large
      return answer(value, models);
    }
    case HSA_ISA_INFO_PROFILES: {
      const bool profiles[2] = {profile_ == HSA_PROFILE_BASE, profile_ == HSA_PROFILE_FULL};
      return answer(value, profiles);
    }
    case HSA_ISA_INFO_DEFAULT_FLOAT_ROUNDING_MODES: {
      const bool modes[3] = {false, float_rounding_ == HSA_DEFAULT_FLOAT_ROUNDING_MODE_ZERO,
                             float_rounding_ == HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR};
      return answer(value, modes);
    }
    case HSA_ISA_INFO_BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES: {
      const bool modes[3] = {false, false, float_rounding_ == HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR};
      return answer(value, modes);
    }
    case HSA_ISA_INFO_FAST_F16_OPERATION:
      return answer(value, fast_f16_);
    case HSA_ISA_INFO_WORKGROUP_MAX_DIM:
      return answer(value, workgroup_max_dim_);
    case HSA_ISA_INFO_WORKGROUP_MAX_SIZE:
      return answer(value, workgroup_max_size_);
    case HSA_ISA_INFO_GRID_MAX_DIM:
      return answer(value, grid_max_dim_);
    case HSA_ISA_INFO_GRID_MAX_SIZE:
      return answer(value, grid_max_size_);
    case HSA_ISA_INFO_FBARRIER_MAX_SIZE:
      return answer(value, fbarrier_max_size_);
  }
  return HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

bool Isa::runs_on(const Isa& other) const {
  if (this == &other) return true;
  return target_ && other.target_ && rigel::runs_on(*target_, *other.target_);
}

Status Isa::exception_policies(hsa_profile_t profile, uint16_t* mask) const {
  if (mask == nullptr || (profile != HSA_PROFILE_BASE && profile != HSA_PROFILE_FULL)) {
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  *mask = kNoExceptionPolicies;
  return HSA_STATUS_SUCCESS;
}

Status Isa::round_method(hsa_fp_type_t type, hsa_flush_mode_t flush_mode, hsa_round_method_t* method) const {
  const bool type_known = type == HSA_FP_TYPE_16 || type == HSA_FP_TYPE_32 || type == HSA_FP_TYPE_64;
  const bool mode_known = flush_mode == HSA_FLUSH_MODE_FTZ || flush_mode == HSA_FLUSH_MODE_NON_FTZ;
  if (method == nullptr || !type_known || !mode_known) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  // Fused operations round once on all supported agents.
  *method = HSA_ROUND_METHOD_SINGLE;
  return HSA_STATUS_SUCCESS;
}

Status Isa::wavefront_info(hsa_wavefront_info_t attribute, void* value) const {
  if (value == nullptr || attribute != HSA_WAVEFRONT_INFO_SIZE) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  return answer(value, wavefront_size_);
}

}  // namespace rigel
