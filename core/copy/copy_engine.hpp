// Copies and fills of the HSA API: selection of the copying device, dependencies, and completion.
//
// Each function implements the API function of the same name. The exported function checks that the runtime
// is open and catches exceptions (std::bad_alloc: HSA_STATUS_ERROR_OUT_OF_RESOURCES).
//
// *Routes:* a copy runs on the device that its agents or memory name, otherwise on the host. Of two devices,
// it runs on the one that can access both sides; if neither can, each copies its side to or from the host.
// The host copies small blocks on the calling thread, in less time than waking a thread takes. It copies
// others on a few dedicated threads, so that asynchronous functions never wait for memory. It rejects memory
// that it may not access: virtual memory has permissions. A copy that waits for signals uses no thread: the
// signals notify one dispatcher.
// *Threads:* any thread.
// *Memory order:* a copy sees writes before its dependencies became 0 and before its submission, and happens
// before operations that see its completion. Only signals order copies.
// *Errors:* a negative dependency is an error, which is stored to the completion signal. Otherwise the
// completion signal is decremented by 1 when the copy completes, or set to a negative value when it fails.
// *Lifetime:* the runtime owns the engine and adds devices before the first copy. It destroys the engine
// before signals and memory, when no call is active. Running copies are then finished, and waiting ones are
// dropped.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "api/support/status.hpp"
#include "core/copy/box.hpp"
#include "core/copy/copy_threads.hpp"
#include "core/copy/device_copier.hpp"
#include "core/memory/pointer_map.hpp"
#include "core/signal/pending_operations.hpp"
#include "core/topology/agent_directory.hpp"

namespace rigel {

class CopyEngine {
 public:
  CopyEngine(const AgentDirectory& agents, const PointerMap& memory);
  ~CopyEngine();
  CopyEngine(const CopyEngine&) = delete;
  CopyEngine& operator=(const CopyEngine&) = delete;

  /// Makes `copier` copy for `agent`, which is a device. Called while the runtime starts.
  void add_device(hsa_agent_t agent, std::unique_ptr<DeviceCopier> copier);

  Status memory_copy(void* dst, const void* src, size_t size);
  /// The same for a box, which must be in one allocation on each side.
  Status memory_copy_box(const Box& box);
  Status memory_fill(void* ptr, uint32_t value, size_t count);

  Status memory_async_copy(void* dst, hsa_agent_t dst_agent, const void* src, hsa_agent_t src_agent,
                           size_t size, uint32_t num_dep_signals, const hsa_signal_t* dep_signals,
                           hsa_signal_t completion_signal);
  Status memory_async_copy_on_engine(void* dst, hsa_agent_t dst_agent, const void* src, hsa_agent_t src_agent,
                                     size_t size, uint32_t num_dep_signals, const hsa_signal_t* dep_signals,
                                     hsa_signal_t completion_signal, hsa_amd_sdma_engine_id_t engine_id,
                                     bool force_copy_on_sdma);
  Status memory_async_copy_rect(const hsa_pitched_ptr_t* dst, const hsa_dim3_t* dst_offset,
                                const hsa_pitched_ptr_t* src, const hsa_dim3_t* src_offset,
                                const hsa_dim3_t* range, hsa_agent_t copy_agent, hsa_amd_copy_direction_t dir,
                                uint32_t num_dep_signals, const hsa_signal_t* dep_signals,
                                hsa_signal_t completion_signal);

  Status memory_copy_engine_status(hsa_agent_t dst_agent, hsa_agent_t src_agent, uint32_t* engine_ids_mask);
  Status memory_get_preferred_copy_engine(hsa_agent_t dst_agent, hsa_agent_t src_agent,
                                          uint32_t* recommended_ids_mask);

  Status profiling_async_copy_enable(bool enable);
  /// Returns the times of a copy from its completion signal, in system time.
  Status profiling_get_async_copy_time(hsa_signal_t signal, hsa_amd_profiling_async_copy_time_t* time);

 private:
  class Job;

  bool is_agent(hsa_agent_t agent, hsa_agent_t owner) const noexcept;
  DeviceCopier* device_of(hsa_agent_t agent) const noexcept;
  struct Side {
    const void* start;
    size_t size;        ///< in bytes
    hsa_agent_t agent;  ///< 0: the owner of the memory
  };
  struct Route {
    DeviceCopier* device = nullptr;  ///< null: the host
    hsa_agent_t agent{};             ///< agent of `device`, if it can access both sides
    CopySides sides{};
    /// If not null, this device copies to a buffer of the host, and `device` copies from there: neither
    /// device can access both sides. Only for one row.
    DeviceCopier* reader = nullptr;
    ptrdiff_t destination_to_host = 0, source_to_host = 0;  ///< as in Placement
  };
  [[gnu::noinline]] bool reaches_both(hsa_agent_t agent, const Side& destination, const Side& source) const;
  Result<Route> find_route(Side destination, Side source, Status refusal) const;
  Result<Route> route(const Side& destination, const Side& source, Status refusal) const;
  Result<DeviceCopier*> copier_between(hsa_agent_t dst_agent, hsa_agent_t src_agent) const;
  bool may_be_reached(hsa_agent_t agent, const void* ptr, size_t size, const Placement& placement) const;

  /// The signals of an asynchronous copy: the caller's handles and the signals.
  struct Signals {
    const uint32_t count;
    const hsa_signal_t* const dependencies;
    const hsa_signal_t handle;
    Signal* completion = nullptr;
    bool ready = true;  ///< whether every dependency has been 0
  };
  static Status find(Signals& signals);
  Status submit_row(void* dst, const void* src, size_t size, const Route& route, uint32_t engines,
                    Signals& signals);
  Status submit(Box box, const Route& route, uint32_t engines, const Signals& signals);
  static Status copy_by_devices(const Route& route, void* dst, const void* src, size_t size);

  const AgentDirectory& agents_;
  const PointerMap& memory_;
  struct Device {
    hsa_agent_t agent;
    std::unique_ptr<DeviceCopier> copier;
  };
  std::vector<Device> devices_;  // constant after the start
  std::atomic<bool> profiling_{false};

  // In this order: the last operations that become ready submit to the threads.
  CopyThreads threads_;
  PendingOperations pending_;
};

}  // namespace rigel
