// Sessions of PC sampling (hsa_ven_amd_pc_sampling.h) on GPUs whose driver transport takes samples.
//
// Each function implements the API function of the same name with its checks of arguments.
//
// *Threads:* any. Each session has a thread that calls the client when a buffer is full; `flush` calls it on its
// own thread. Calls for one session never overlap.
// *Lifetime:* owned by the runtime, which ends the sessions before the objects that clients may use.
#pragma once

#include <hsa/hsa_ven_amd_pc_sampling.h>
#include <hsa_plugin/hsa_driver.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "api/support/mutex.hpp"
#include "api/support/status.hpp"
#include "core/topology/machine.hpp"

namespace rigel {

/// The sampling functions of a driver, with the driver's results.
class SamplingDriver {
 public:
  virtual ~SamplingDriver() = default;
  /// Returns the driver's number of the agent's GPU, or nothing if it cannot be sampled.
  virtual std::optional<uint32_t> find_gpu(const Agent& agent) const = 0;
  virtual int start(uint32_t gpu_id, const hsadrv_sampler_t& sampler) = 0;
  virtual int stop(uint32_t gpu_id) = 0;
};

class PcSampling {
 public:
  PcSampling(const Machine& machine, std::unique_ptr<SamplingDriver> driver);
  ~PcSampling() { end(); }
  PcSampling(const PcSampling&) = delete;
  PcSampling& operator=(const PcSampling&) = delete;

  /// Destroys all sessions. No client is called afterwards.
  void end();

  bool supports(const Agent& agent) const;

  Status iterate_configuration(hsa_agent_t agent, hsa_ven_amd_pcs_iterate_configuration_callback_t callback,
                               void* data) const;
  Status create(hsa_agent_t agent, hsa_ven_amd_pcs_method_kind_t method, hsa_ven_amd_pcs_units_t units,
                size_t interval, size_t latency, size_t buffer_size,
                hsa_ven_amd_pcs_data_ready_callback_t callback, void* data, hsa_ven_amd_pcs_t* session);
  Status create_from_id(uint32_t id, hsa_agent_t agent, hsa_ven_amd_pcs_method_kind_t method,
                        hsa_ven_amd_pcs_units_t units, size_t interval, size_t latency, size_t buffer_size,
                        hsa_ven_amd_pcs_data_ready_callback_t callback, void* data,
                        hsa_ven_amd_pcs_t* session);
  Status destroy(hsa_ven_amd_pcs_t session);
  Status start(hsa_ven_amd_pcs_t session);
  Status stop(hsa_ven_amd_pcs_t session);
  Status flush(hsa_ven_amd_pcs_t session);

 private:
  class Session;

  /// Returns the driver's number of the GPU: INVALID_AGENT if it is not a GPU, `if_unsupported` if the driver
  /// cannot sample it.
  Result<uint32_t> find_gpu(hsa_agent_t agent, Status if_unsupported) const;
  Result<std::shared_ptr<Session>> find(hsa_ven_amd_pcs_t session) const;

  const Machine& machine_;
  const std::unique_ptr<SamplingDriver> driver_;
  mutable Mutex mutex_;
  std::map<uint64_t, std::shared_ptr<Session>> sessions_ RIGEL_GUARDED_BY(mutex_);  // by handle
  uint64_t next_handle_ RIGEL_GUARDED_BY(mutex_) = 1;
};

}  // namespace rigel
